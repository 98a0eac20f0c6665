/* launch_stacks.c: where kernels, copies and allocations were requested: by operation and call chain.
 *
 * An API call and the device work that it starts share a correlation, which is unique in the process; at level `full`
 * the call's stack is recorded with it (CALL_STACKS). Both arrive in any order, so both are kept until everything has
 * arrived, up to a limit; the excess is counted. The innermost frames of a stack are those of the driver and of the
 * recording hooks: the chain starts at the first function that belongs to neither.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/device/rows.h"
#include "analyze/marks.h"
#include "analyze/pass.h"
#include "analyze/window.h"
#include "base/hash.h"
#include "base/order.h"
#include "format/device.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

enum { DEFAULT_ROWS = 20, CHAIN = 6, FRAMES_MAX = 1024 };
enum { TOTAL, CALLS, BYTES, NAME, KIND, WHERE, FROM, COLUMNS };

#define TITLE "Call sites of kernels, copies and allocations"
#define NOT_FOLLOWED UINT32_MAX
#define KEPT_MAX ((size_t)16 << 20) /* limit for calls and for work: 24 and 40 bytes each */

static const struct sonde_column columns[COLUMNS] = {
    [TOTAL] = {"total_ns", "on the GPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [CALLS] = {"calls", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [BYTES] = {"size_b", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [NAME] = {"operation", "operation", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [KIND] = {"kind", "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [WHERE] = {"launched_in", "call site", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [FROM] = {"called_from", "called from", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
};

struct call {
	uint64_t correlation, time_ns;
	uint32_t process, stack; /* stack, or NOT_FOLLOWED: recorded, but could not be unwound */
};

/* A piece of device work, limited to its part in the selected time. */
struct work {
	uint64_t correlation, dur_ns, size_b;
	uint32_t operation, process;
};

struct kept {
	void *rows;
	size_t count, cap;
	uint64_t left_out;
};

struct launches {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	struct kept calls, works;
	uint64_t cut; /* calls with an incomplete stack */
};

static int begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct launches *launches = state;
	launches->session = session;
	launches->options = *options;
	launches->window = sonde_window_of(session, options);
	return 0;
}

static void end(void *state)
{
	struct launches *launches = state;
	free(launches->calls.rows);
	free(launches->works.rows);
}

/* --- feeding ----------------------------------------------------------------------------------------------------- */

/* Keeps a row. Returns 1; 0 if the limit is reached; -ENOMEM with a message. */
static int keep(struct kept *kept, const void *row, size_t row_b)
{
	if (kept->count >= KEPT_MAX) {
		kept->left_out++;
		return 0;
	}
	if (sonde_array_reserve(&kept->rows, &kept->cap, kept->count + 1, row_b))
		return sonde_error(ENOMEM, "out of memory for %zu calls for devices", kept->count + 1);
	memcpy((char *)kept->rows + kept->count++ * row_b, row, row_b);
	return 1;
}

static uint32_t process_of(const struct sonde_session *session, uint32_t thread)
{
	const struct sonde_thread *row = sonde_session_thread(session, thread);
	return row ? row->process : 0;
}

static int feed_calls(struct launches *launches, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct call call = {batch->call_stacks.correlation[i], batch->call_stacks.time_ns[i],
				    process_of(launches->session, batch->call_stacks.thread[i]),
				    batch->call_stacks.stack[i]};
		unsigned status = sonde_sample_status(batch->call_stacks.status[i]);
		unsigned is_cut = !sonde_stack_is_complete(status);
		launches->cut += is_cut;
		if (!call.stack && is_cut && status < SONDE_STACK_STATUS_COUNT)
			call.stack = NOT_FOLLOWED;
		if (keep(&launches->calls, &call, sizeof call) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int is_wanted(uint32_t kind)
{
	const uint32_t kinds = 1u << SONDE_ACTIVITY_KERNEL | 1u << SONDE_ACTIVITY_COPY | 1u << SONDE_ACTIVITY_FILL |
			       1u << SONDE_ACTIVITY_MAP | 1u << SONDE_ACTIVITY_GRAPH | 1u << SONDE_ACTIVITY_ALLOC;
	return kind < SONDE_ACTIVITY_KINDS && kinds >> kind & 1;
}

static int feed_works(struct launches *launches, const struct sonde_batch *batch)
{
	const struct sonde_window *window = &launches->window;
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_operation *operation =
		    sonde_session_operation(launches->session, batch->activities.operation[i]);
		uint64_t from_ns = batch->activities.start_ns[i], to_ns = from_ns + batch->activities.dur_ns[i];
		if (!operation || !is_wanted(operation->kind) || to_ns < window->from_ns || from_ns > window->to_ns ||
		    (launches->options.selection.thread &&
		     !launches->options.selection.thread[batch->activities.thread[i]]))
			continue;
		from_ns = from_ns > window->from_ns ? from_ns : window->from_ns;
		to_ns = to_ns < window->to_ns ? to_ns : window->to_ns;
		if (from_ns == to_ns &&
		    batch->activities.dur_ns[i]) /* it only touches the window: one ends where the other begins */
			continue;
		struct work work = {batch->activities.correlation[i], to_ns - from_ns, batch->activities.size_b[i],
				    batch->activities.operation[i], operation->process};
		if (keep(&launches->works, &work, sizeof work) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int feed(void *state, const struct sonde_batch *batch)
{
	return batch->type == SONDE_CHUNK_CALL_STACKS ? feed_calls(state, batch) : feed_works(state, batch);
}

static int add_all(struct kept *to, const struct kept *from, size_t row_b)
{
	int rc = 0;
	to->left_out += from->left_out;
	for (size_t i = 0; rc >= 0 && i < from->count; i++)
		rc = keep(to, (const char *)from->rows + i * row_b, row_b);
	return rc < 0 ? rc : 0;
}

static int merge(void *state, void *other)
{
	struct launches *to = state;
	const struct launches *from = other;
	to->cut += from->cut;
	int rc = add_all(&to->calls, &from->calls, sizeof(struct call));
	return rc ? rc : add_all(&to->works, &from->works, sizeof(struct work));
}

/* --- correlation to stack ---------------------------------------------------------------------------------------- */

static int compare_keys(const struct call *a, const struct call *b)
{
	int by = sonde_order(a->process, b->process);
	return by ? by : sonde_order(a->correlation, b->correlation);
}

static int compare_calls(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	int by = compare_keys(a, b);
	by = by ? by : sonde_order(a->time_ns, b->time_ns);
	return by ? by : sonde_order(a->stack, b->stack);
}

/* Of several calls with the same correlation, the outermost wins; it is recorded first. */
static void sort_calls(struct kept *calls)
{
	struct call *rows = calls->rows;
	size_t count = 0;
	if (calls->count)
		qsort(rows, calls->count, sizeof *rows, compare_calls);
	for (size_t i = 0; i < calls->count; i++)
		if (!count || compare_keys(&rows[count - 1], &rows[i]))
			rows[count++] = rows[i];
	calls->count = count;
}

/* The stack of the call that requested the work; 0 = unknown. */
static uint32_t stack_of(const struct launches *launches, const struct work *work)
{
	const struct call *rows = launches->calls.rows,
			  sought = {.correlation = work->correlation, .process = work->process};
	size_t low = 0, high = launches->calls.count;
	while (work->correlation && low < high) {
		size_t middle = low + (high - low) / 2;
		int by = compare_keys(&rows[middle], &sought);
		if (!by)
			return rows[middle].stack;
		*(by < 0 ? &low : &high) = by < 0 ? middle + 1 : middle;
	}
	return 0;
}

/* --- chains of functions ----------------------------------------------------------------------------------------- */

static int begins(const char *text, const char *const *starts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(text, starts[i], strlen(starts[i])))
			return 1;
	return 0;
}

/* True for functions of the CUDA runtime such as cudaLaunchKernel. They are recognised by name because the runtime may
 * be linked into the program. */
static int is_runtime_call(const char *name)
{
	static const char *const starts[] = {"cudart::", "libcudart_static", "__device_stub__", "__cudart"};
	return begins(name, starts, sizeof starts / sizeof *starts) ||
	       (!strncmp(name, "cuda", 4) && name[4] >= 'A' && name[4] <= 'Z');
}

static int is_driver(const struct sonde_session *session, const struct sonde_frame *frame, uint32_t function)
{
	static const char *const starts[] = {"libsonde", "libOpenCL.so",    "libcuda.so", "libcudart",
					     "libcupti", "libcudadebugger", "libnvidia-", "libpocl"};
	const struct sonde_module *module = sonde_session_module(session, frame->module);
	const struct sonde_function *row = sonde_session_function(session, function);
	return (module && begins(module->name, starts, sizeof starts / sizeof *starts)) ||
	       (row && !row->unnamed && is_runtime_call(row->name));
}

/* Stores the innermost functions outside the driver; returns their number. */
static uint32_t chain_of(const struct sonde_session *session, uint32_t stack, uint32_t chain[CHAIN])
{
	uint32_t count = 0, frames = 0;
	for (const struct sonde_node *node = sonde_session_node(session, stack); node && frames < FRAMES_MAX;
	     node = sonde_session_node(session, node->parent), frames++) {
		const struct sonde_frame *frame = sonde_session_frame(session, node->frame);
		for (uint32_t i = 0; frame && i < frame->location_count && count < CHAIN; i++) {
			uint32_t function = frame->locations[i].function;
			if (count || !is_driver(session, frame, function))
				chain[count++] = function;
		}
		if (count == CHAIN)
			break;
	}
	return count;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

struct row {
	const struct sonde_operation *operation; /* any operation of this kind and name */
	int has_stack, is_not_followed;
	uint32_t count, chain[CHAIN];
	uint64_t total_ns, calls, size_b;
};

struct rows {
	struct row *all;
	size_t count, cap;
	struct sonde_map map;
};

struct sought {
	const struct rows *rows;
	const struct row *row;
};

static int compare_places(const struct row *a, const struct row *b)
{
	int by = sonde_order(a->operation->kind, b->operation->kind);
	by = by ? by : strcmp(a->operation->name, b->operation->name);
	by = by ? by : a->has_stack - b->has_stack;
	by = by ? by : a->is_not_followed - b->is_not_followed;
	by = by ? by : sonde_order(a->count, b->count);
	for (uint32_t i = 0; !by && i < a->count; i++)
		by = sonde_order(a->chain[i], b->chain[i]);
	return by;
}

static int is_same(const void *context, uint32_t value)
{
	const struct sought *sought = context;
	return !compare_places(&sought->rows->all[value - 1], sought->row);
}

static uint64_t hash_of(const struct row *row)
{
	uint64_t hash = sonde_hash_pair(sonde_hash_bytes(row->operation->name, strlen(row->operation->name)),
					(uint64_t)row->operation->kind << 1 | (uint64_t)row->has_stack);
	for (uint32_t i = 0; i < row->count; i++)
		hash = sonde_hash_pair(hash, row->chain[i]);
	return hash;
}

static int row_put(struct rows *rows, const struct row *row)
{
	struct sought sought = {rows, row};
	uint64_t hash = hash_of(row);
	uint32_t found = sonde_map_find(&rows->map, hash, is_same, &sought);
	if (found) {
		struct row *into = &rows->all[found - 1];
		into->total_ns += row->total_ns;
		into->calls += row->calls;
		into->size_b += row->size_b;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(rows->all, rows->cap, rows->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu places", rows->count + 1);
	rows->all[rows->count++] = *row;
	return sonde_map_add(&rows->map, hash, (uint32_t)rows->count) ? sonde_error(ENOMEM, "out of memory for places")
								      : 0;
}

/* Sorts work by stack, so that each chain is looked up once. */
static int compare_works(const void *left, const void *right)
{
	const struct work *a = left, *b = right;
	int by = sonde_order(a->correlation, b->correlation);
	return by ? by : sonde_order(a->operation, b->operation);
}

/* Replaces correlations by stacks. */
static int rows_make(struct rows *rows, struct launches *launches)
{
	struct work *works = launches->works.rows;
	size_t count = launches->works.count;
	int rc = 0;
	for (size_t i = 0; i < count; i++)
		works[i].correlation = stack_of(launches, &works[i]);
	if (count)
		qsort(works, count, sizeof *works, compare_works);
	for (size_t i = 0; !rc && i < count;) {
		struct row row = {.operation = sonde_session_operation(launches->session, works[i].operation),
				  .has_stack = works[i].correlation && works[i].correlation != NOT_FOLLOWED,
				  .is_not_followed = works[i].correlation == NOT_FOLLOWED};
		/* 0 if no function is known */
		row.count = chain_of(launches->session, (uint32_t)works[i].correlation, row.chain);
		size_t first = i;
		for (; i < count && !compare_works(&works[first], &works[i]); i++) {
			row.total_ns += row.operation->kind == SONDE_ACTIVITY_ALLOC ? 0 : works[i].dur_ns;
			row.calls++;
			row.size_b += works[i].size_b;
		}
		rc = row_put(rows, &row);
	}
	return rc;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int by = sonde_order(b->total_ns, a->total_ns);
	by = by ? by : sonde_order(b->size_b, a->size_b);
	by = by ? by : sonde_order(b->calls, a->calls);
	return by ? by : compare_places(a, b);
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct sonde_session *session, uint32_t function)
{
	const struct sonde_function *row = sonde_session_function(session, function);
	return row ? row->name : "(unknown)";
}

/* "run < main"; "" = no caller. NULL without memory. */
static const char *callers_text(const struct sonde_session *session, const struct row *row, struct sonde_report *report)
{
	const char *text = row->count > 1 ? name_of(session, row->chain[1]) : "";
	for (uint32_t i = 2; text && i < row->count; i++)
		text = sonde_report_text(report, "%s < %s", text, name_of(session, row->chain[i]));
	return text;
}

static void row_add(const struct launches *launches, const struct row *row, struct sonde_report *report,
		    struct sonde_section *section)
{
	const char *nowhere =
	    row->is_not_followed ? "the stack of its call is incomplete" : "no stack of its call was recorded";
	struct sonde_cell *cells = sonde_report_row(report, section);
	const char *from = callers_text(launches->session, row, report);
	cells[TOTAL] = row->operation->kind == SONDE_ACTIVITY_ALLOC ? sonde_cell_absent("it runs on the host")
								    : sonde_cell_int(row->total_ns);
	cells[CALLS] = sonde_cell_int(row->calls);
	cells[BYTES] = row->size_b ? sonde_cell_int(row->size_b) : sonde_cell_absent("it has no size");
	cells[NAME] = sonde_cell_text(row->operation->name);
	cells[KIND] = sonde_cell_text(sonde_activity_row(row->operation->kind)->name);
	cells[WHERE] = cells[FROM] = sonde_cell_absent(nowhere);
	if (row->has_stack && row->count) {
		cells[WHERE] = sonde_cell_text(name_of(launches->session, row->chain[0]));
		cells[FROM] = row->count > 1 ? sonde_cell_text(from) : sonde_cell_absent("the call site has no caller");
	} else if (row->has_stack) {
		cells[WHERE] = cells[FROM] = sonde_cell_absent("all frames of its stack are in the driver");
	}
}

static void notes_add(const struct launches *launches, const struct rows *rows, struct sonde_report *report,
		      struct sonde_section *section)
{
	uint64_t all = 0, nowhere = 0, left_out = launches->calls.left_out + launches->works.left_out;
	for (size_t i = 0; i < rows->count; i++) {
		all += rows->all[i].calls;
		nowhere += rows->all[i].has_stack ? 0 : rows->all[i].calls;
	}
	sonde_report_note(report, section, 0,
			  "%llu of %llu kernels, copies and allocations have a stack; stacks start outside the driver",
			  (unsigned long long)(all - nowhere), (unsigned long long)all);
	if (launches->cut)
		sonde_report_note(report, section, 0, "%llu stacks are incomplete: outer functions are missing",
				  (unsigned long long)launches->cut);
	if (left_out)
		sonde_report_note(report, section, 1,
				  "%llu calls and activities exceeded the limit and are left "
				  "out",
				  (unsigned long long)left_out);
}

static void table_fill(struct launches *launches, struct rows *rows, struct sonde_report *report)
{
	size_t limit = launches->options.limit ? launches->options.limit : DEFAULT_ROWS;
	struct sonde_section *section = sonde_report_table(report, "launch-stacks", TITLE, columns, COLUMNS);
	qsort(rows->all, rows->count, sizeof *rows->all, compare_rows);
	for (size_t i = 0; i < rows->count && i < limit; i++)
		row_add(launches, &rows->all[i], report, section);
	section->table.omitted = rows->count > limit ? rows->count - limit : 0;
	notes_add(launches, rows, report, section);
}

static int finish(void *state, struct sonde_report *report)
{
	struct launches *launches = state;
	struct rows rows = {0};
	int rc = 0;
	sort_calls(&launches->calls);
	if (launches->calls.count)
		rc = rows_make(&rows, launches);
	if (!rc && rows.count)
		table_fill(launches, &rows, report);
	else if (!rc)
		rc = sonde_pass_nothing(&launches->options, report, "launch-stacks", TITLE,
					launches->calls.count ? "no GPU work was submitted in it"
							      : sonde_device_none(launches->session, report,
										  "stack of a GPU call", "full"));
	sonde_map_fini(&rows.map);
	free(rows.all);
	return rc;
}

const struct sonde_pass sonde_pass_launch_stacks = {
    .name = "launch-stacks",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "call sites of kernels, copies and allocations (--gpu=full)",
    .types = 1u << SONDE_CHUNK_CALL_STACKS | 1u << SONDE_CHUNK_ACTIVITIES,
    .state_b = sizeof(struct launches),
    .begin = begin,
    .feed = feed,
    .merge = merge,
    .finish = finish,
    .end = end,
};
