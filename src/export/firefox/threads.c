/* threads.c: a thread of the firefox format, with the tables that its samples and markers refer to.
 *
 * Tables are stored by column, and rows are numbered as samples first use them: a stack is a frame below another stack,
 * a frame is a line in a function, and a function belongs to a module. Tables belong to the thread, so they are built
 * for one thread at a time, in memory that grows with its distinct stacks.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "export/firefox/rows.h"
#include "export/stacks.h"
#include "util/error.h"
#include "util/map.h"

#define NONE UINT32_MAX

enum { RESOURCE_LIBRARY = 1 };

struct stack {
	uint32_t parent, frame; /* parent NONE = outermost */
};

struct frame {
	uint32_t function, line, depth, category; /* function: row; depth: of inlining, 0 = outermost */
	uint64_t address;                         /* UINT64_MAX = none */
};

struct function {
	uint32_t id, resource, name, file; /* resource NONE = no module; name, file: indices of texts */
};

/* A growing array of rows of one of the types above. */
struct rows {
	void *at;
	size_t count, cap;
};

struct tables {
	struct sonde_firefox *firefox;
	struct rows stacks, frames, functions, resources; /* resources: module ids */
	struct sonde_map by_node, by_line, by_function, by_module;
	struct sonde_intern strings;
	struct sonde_stack_path path; /* from a node up to one that has a row */
};

/* Appends a row to be filled in; NULL when out of memory. */
static void *add(struct tables *tables, struct rows *rows, size_t row_b, uint32_t *number)
{
	if (rows->count == rows->cap) {
		size_t cap = rows->cap ? 2 * rows->cap : 256;
		void *at = cap < NONE ? realloc(rows->at, cap * row_b) : NULL;
		if (!at) {
			tables->firefox->error = sonde_error(ENOMEM, "out of memory for %zu stacks of a thread", cap);
			return NULL;
		}
		rows->at = at;
		rows->cap = cap;
	}
	*number = (uint32_t)rows->count++;
	return (char *)rows->at + *number * row_b;
}

/* Returns the row that a map stores (as row + 1); NONE = not found. */
static uint32_t find(const struct sonde_map *map, uint64_t hash)
{
	uint32_t row = sonde_map_find(map, hash, NULL, NULL);
	return row ? row - 1 : NONE;
}

static void remember(struct tables *tables, struct sonde_map *map, uint64_t hash, uint32_t row)
{
	if (!tables->firefox->error && sonde_map_add(map, hash, row + 1))
		tables->firefox->error = sonde_error(ENOMEM, "out of memory for the stacks of a thread");
}

static uint32_t string_of(struct tables *tables, const char *text)
{
	return sonde_intern(&tables->strings, text, &tables->firefox->error);
}

static uint32_t resource_of(struct tables *tables, uint32_t module)
{
	uint32_t row = find(&tables->by_module, sonde_hash_mix(module));
	uint32_t *id = row == NONE ? add(tables, &tables->resources, sizeof *id, &row) : NULL;
	if (!id)
		return row;
	*id = module;
	string_of(tables, sonde_session_module(tables->firefox->session, module)->name);
	remember(tables, &tables->by_module, sonde_hash_mix(module), row);
	return row;
}

static uint32_t function_of(struct tables *tables, uint32_t id)
{
	const struct sonde_session *session = tables->firefox->session;
	const struct sonde_function *function = sonde_session_function(session, id);
	uint32_t row = find(&tables->by_function, sonde_hash_mix(id));
	struct function *new = row == NONE ? add(tables, &tables->functions, sizeof *new, &row) : NULL;
	if (!new)
		return row;
	int has_module = function && sonde_session_module(session, function->module);
	*new = (struct function){.id = id, .resource = has_module ? resource_of(tables, function->module) : NONE};
	new->name = string_of(tables, sonde_stack_function_name(session, id));
	new->file = function ? string_of(tables, function->file) : 0;
	remember(tables, &tables->by_function, sonde_hash_mix(id), row);
	return row;
}

static enum sonde_firefox_category category_of(const struct sonde_session *session, const struct sonde_frame *frame,
					       uint32_t function)
{
	const struct sonde_module *module = frame ? sonde_session_module(session, frame->module) : NULL;
	int in_kernel =
	    module ? (module->flags & SONDE_MODULE_KERNEL) != 0 : function == sonde_stack_kernel_id(session);
	return in_kernel ? SONDE_FIREFOX_KERNEL : frame ? SONDE_FIREFOX_USER : SONDE_FIREFOX_OTHER;
}

/* Returns the frame for location `at` (of several, if functions are inlined) of the frame `index`; `index` NONE = a
 * function without an address. */
static uint32_t frame_of(struct tables *tables, uint32_t index, uint32_t at, uint32_t function)
{
	const struct sonde_session *session = tables->firefox->session;
	const struct sonde_frame *frame = sonde_session_frame(session, index);
	uint64_t hash = sonde_hash_pair((uint64_t)index << 32 | at, function);
	uint32_t row = find(&tables->by_line, hash);
	struct frame *new = row == NONE ? add(tables, &tables->frames, sizeof *new, &row) : NULL;
	if (!new)
		return row;
	*new = (struct frame){.category = category_of(session, frame, function), .address = UINT64_MAX};
	if (frame) {
		new->line = frame->locations[at].line;
		new->depth = frame->location_count - 1 - at;
		new->address = frame->address;
	}
	new->function = function_of(tables, function);
	remember(tables, &tables->by_line, hash, row);
	return row;
}

static uint32_t stack_below(struct tables *tables, uint32_t parent, uint32_t frame)
{
	uint32_t row = parent;
	struct stack *new = add(tables, &tables->stacks, sizeof *new, &row);
	if (new)
		*new = (struct stack){parent, frame};
	return row;
}

/* Adds the lines of a trie node, outermost first. */
static uint32_t node_below(struct tables *tables, uint32_t parent, uint32_t node_id)
{
	const struct sonde_session *session = tables->firefox->session;
	const struct sonde_node *node = sonde_session_node(session, node_id);
	const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
	for (uint32_t i = frame ? frame->location_count : 0; i > 0; i--) {
		uint32_t function = frame->locations[i - 1].function;
		if (!sonde_session_function(session, function))
			function = sonde_stack_unknown_id(session);
		parent = stack_below(tables, parent, frame_of(tables, node->frame, i - 1, function));
	}
	if (!frame)
		parent = stack_below(tables, parent, frame_of(tables, NONE, 0, sonde_stack_unknown_id(session)));
	return parent;
}

/* Returns the row of a node, + 1; 0 = none. */
static uint32_t row_of_node(const void *context, uint32_t node)
{
	const struct tables *tables = context;
	return sonde_map_find(&tables->by_node, sonde_hash_pair(node, 0), NULL, NULL);
}

/* Returns the row of a sample's stack, after adding rows that are missing. */
static uint32_t stack_of(struct tables *tables, uint32_t node, uint32_t leaf)
{
	const struct sonde_session *session = tables->firefox->session;
	const struct sonde_stack_path *path = &tables->path;
	int *error = &tables->firefox->error;
	uint32_t row = find(&tables->by_node, sonde_hash_pair(node, leaf)), above = 0;
	if (row != NONE)
		return row;
	if (!*error)
		*error = sonde_stack_path_up(&tables->path, session, node, row_of_node, tables, &above);
	row = above ? above - 1 : NONE;
	for (size_t depth = path->count; depth > 0 && !*error; depth--) {
		row = node_below(tables, row, path->nodes[depth - 1]);
		remember(tables, &tables->by_node, sonde_hash_pair(path->nodes[depth - 1], 0), row);
	}
	if (!*error && (leaf || !node)) {
		uint32_t function = leaf ? sonde_stack_kernel_id(session) : sonde_stack_none_id(session);
		row = stack_below(tables, row, frame_of(tables, NONE, 0, function));
		remember(tables, &tables->by_node, sonde_hash_pair(node, leaf), row);
	}
	return row;
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

static void put_number(struct sonde_json *json, uint32_t number, const char *none)
{
	if (number == NONE)
		sonde_json_raw(json, none);
	else
		sonde_json_uint(json, number);
}

/* Writes a column of `count` equal values. */
static void put_same(struct sonde_json *json, const char *key, size_t count, const char *value)
{
	sonde_json_put_array(json, key);
	for (size_t i = 0; i < count; i++)
		sonde_json_raw(json, value);
	sonde_json_end(json);
}

#define COLUMN(json, key, count, write)                \
	do {                                           \
		sonde_json_key(json, key);             \
		sonde_json_array(json);                \
		for (size_t i = 0; i < (count); i++) { \
			write;                         \
		}                                      \
		sonde_json_end(json);                  \
	} while (0)

static void put_stacks(const struct tables *tables, struct sonde_json *json)
{
	const struct stack *stacks = tables->stacks.at;
	const struct frame *frames = tables->frames.at;
	size_t count = tables->stacks.count;
	sonde_json_put_object(json, "stackTable");
	sonde_json_put_uint(json, "length", count);
	COLUMN(json, "prefix", count, put_number(json, stacks[i].parent, "null"));
	COLUMN(json, "frame", count, put_number(json, stacks[i].frame, "null"));
	COLUMN(json, "category", count, put_number(json, frames[stacks[i].frame].category, "0"));
	put_same(json, "subcategory", count, "0");
	sonde_json_end(json);
}

static void put_address(struct sonde_json *json, uint64_t address)
{
	if (address > (uint64_t)1 << 53)
		sonde_json_raw(json, "-1");
	else
		sonde_json_uint(json, address);
}

static void put_frames(const struct tables *tables, struct sonde_json *json)
{
	const struct frame *frames = tables->frames.at;
	size_t count = tables->frames.count;
	sonde_json_put_object(json, "frameTable");
	sonde_json_put_uint(json, "length", count);
	COLUMN(json, "address", count, put_address(json, frames[i].address));
	COLUMN(json, "inlineDepth", count, sonde_json_uint(json, frames[i].depth));
	COLUMN(json, "category", count, sonde_json_uint(json, frames[i].category));
	put_same(json, "subcategory", count, "0");
	COLUMN(json, "func", count, sonde_json_uint(json, frames[i].function));
	put_same(json, "nativeSymbol", count, "null");
	put_same(json, "innerWindowID", count, "null");
	put_same(json, "implementation", count, "null");
	COLUMN(json, "line", count, put_number(json, frames[i].line ? frames[i].line : NONE, "null"));
	put_same(json, "column", count, "null");
	sonde_json_end(json);
}

static void put_functions(const struct tables *tables, struct sonde_json *json)
{
	const struct sonde_session *session = tables->firefox->session;
	const struct function *functions = tables->functions.at;
	size_t count = tables->functions.count;
	sonde_json_put_object(json, "funcTable");
	sonde_json_put_uint(json, "length", count);
	COLUMN(json, "name", count, sonde_json_uint(json, functions[i].name));
	put_same(json, "isJS", count, "false");
	put_same(json, "relevantForJS", count, "false");
	COLUMN(json, "resource", count, put_number(json, functions[i].resource, "-1"));
	COLUMN(json, "fileName", count, put_number(json, functions[i].file ? functions[i].file : NONE, "null"));
	COLUMN(json, "lineNumber", count, {
		const struct sonde_function *function = sonde_session_function(session, functions[i].id);
		put_number(json, function && function->line ? function->line : NONE, "null");
	});
	put_same(json, "columnNumber", count, "null");
	sonde_json_end(json);
}

static void put_resources(struct tables *tables, struct sonde_json *json)
{
	const struct sonde_session *session = tables->firefox->session;
	const uint32_t *modules = tables->resources.at;
	size_t count = tables->resources.count;
	sonde_json_put_object(json, "resourceTable");
	sonde_json_put_uint(json, "length", count);
	COLUMN(json, "lib", count, sonde_json_uint(json, modules[i] - 1));
	COLUMN(json, "name", count,
	       sonde_json_uint(json, string_of(tables, sonde_session_module(session, modules[i])->name)));
	put_same(json, "host", count, "null");
	COLUMN(json, "type", count, sonde_json_uint(json, RESOURCE_LIBRARY));
	sonde_json_end(json);
	sonde_json_put_object(json, "nativeSymbols");
	sonde_json_put_uint(json, "length", 0);
	static const char *const empty[] = {"libIndex", "address", "name", "functionSize"};
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
		put_same(json, empty[i], 0, "null");
	sonde_json_end(json);
}

static void put_samples(struct tables *tables, struct sonde_json *json, struct sonde_spool_row *rows, size_t count)
{
	const struct sonde_firefox *firefox = tables->firefox;
	for (size_t i = 0; i < count && !firefox->error; i++)
		rows[i].name = stack_of(tables, rows[i].name, rows[i].kind);
	sonde_json_put_object(json, "samples");
	sonde_json_put_uint(json, "length", count);
	COLUMN(json, "stack", count, put_number(json, rows[i].name, "null"));
	COLUMN(json, "time", count, sonde_firefox_ms(json, sonde_firefox_after(firefox, rows[i].time)));
	COLUMN(json, "weight", count, sonde_firefox_ms(json, rows[i].value));
	sonde_json_put_text(json, "weightType", "tracing-ms");
	COLUMN(json, "threadCPUDelta", count, sonde_json_uint(json, rows[i].value));
	sonde_json_end(json);
}

static void put_data(struct sonde_firefox *firefox, const struct sonde_spool_row *row)
{
	const char *text = sonde_spool_text(&firefox->markers, row);
	if (!text && !firefox->error)
		firefox->error = sonde_error(EIO, "the temporary output cannot be read again");
	sonde_json_raw(&firefox->json, text ? text : "null");
}

static void put_markers(struct tables *tables, struct sonde_json *json, const struct sonde_spool_row *rows,
			size_t count)
{
	struct sonde_firefox *firefox = tables->firefox;
	sonde_json_put_object(json, "markers");
	sonde_json_put_uint(json, "length", count);
	COLUMN(json, "name", count,
	       sonde_json_uint(json, rows[i].name ? string_of(tables, firefox->names.texts[rows[i].name - 1]) : 0));
	COLUMN(json, "startTime", count, sonde_firefox_ms(json, sonde_firefox_after(firefox, rows[i].time)));
	COLUMN(json, "endTime", count, {
		if (rows[i].value)
			sonde_firefox_ms(json, sonde_firefox_after(firefox, rows[i].value));
		else
			sonde_json_null(json);
	});
	COLUMN(json, "phase", count, sonde_json_uint(json, rows[i].value != 0));
	COLUMN(json, "category", count, sonde_json_uint(json, rows[i].kind));
	COLUMN(json, "data", count, put_data(firefox, &rows[i]));
	sonde_json_end(json);
}

static void put_strings(const struct tables *tables, struct sonde_json *json)
{
	sonde_json_put_array(json, "stringArray");
	sonde_json_text(json, "");
	for (size_t i = 0; i < tables->strings.count; i++)
		sonde_json_text(json, tables->strings.texts[i]);
	sonde_json_end(json);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void put_time(struct sonde_firefox *firefox, const char *key, uint64_t time_ns)
{
	sonde_json_key(&firefox->json, key);
	if (time_ns)
		sonde_firefox_ms(&firefox->json, sonde_firefox_after(firefox, time_ns));
	else
		sonde_json_null(&firefox->json);
}

static void put_head(struct sonde_firefox *firefox, const struct sonde_thread *thread)
{
	struct sonde_json *json = &firefox->json;
	const struct sonde_process *process = sonde_session_process(firefox->session, thread->process);
	char pid[24];
	snprintf(pid, sizeof pid, "%u", process ? process->pid : 0);
	sonde_json_put_text(json, "processType", "default");
	sonde_json_put_text(json, "processName", process ? process->name : "");
	put_time(firefox, "processStartupTime", process ? process->start_ns : thread->start_ns);
	put_time(firefox, "processShutdownTime", process ? process->end_ns : 0);
	put_time(firefox, "registerTime", thread->start_ns);
	put_time(firefox, "unregisterTime", thread->end_ns);
	sonde_json_put_array(json, "pausedRanges");
	sonde_json_end(json);
	sonde_json_put_text(json, "name", thread->name);
	sonde_json_put_bool(json, "isMainThread", process && process->pid == thread->tid);
	sonde_json_put_text(json, "pid", pid);
	sonde_json_put_uint(json, "tid", thread->tid);
}

static void tables_fini(struct tables *tables)
{
	struct rows *const rows[] = {&tables->stacks, &tables->frames, &tables->functions, &tables->resources};
	struct sonde_map *const maps[] = {&tables->by_node, &tables->by_line, &tables->by_function, &tables->by_module};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		free(rows[i]->at);
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		sonde_map_fini(maps[i]);
	sonde_intern_fini(&tables->strings);
	sonde_stack_path_fini(&tables->path);
}

int sonde_firefox_thread(struct sonde_firefox *firefox, const struct sonde_thread *thread)
{
	struct tables tables = {.firefox = firefox};
	struct sonde_json *json = &firefox->json;
	const struct sonde_spool *samples = &firefox->samples, *markers = &firefox->markers;
	struct sonde_spool_row *rows = samples->rows ? samples->rows + samples->begins[thread->id] : NULL;
	putc('\n', json->out);
	sonde_json_object(json);
	put_head(firefox, thread);
	put_samples(&tables, json, rows, rows ? samples->counts[thread->id] : 0);
	rows = markers->rows ? markers->rows + markers->begins[thread->id] : NULL;
	put_markers(&tables, json, rows, rows ? markers->counts[thread->id] : 0);
	put_stacks(&tables, json);
	put_frames(&tables, json);
	put_functions(&tables, json);
	put_resources(&tables, json);
	put_strings(&tables, json);
	sonde_json_end(json);
	tables_fini(&tables);
	return firefox->error;
}
