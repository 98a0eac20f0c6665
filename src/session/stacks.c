/* stacks.c: reads STACKS chunks and SYMBOL records into nodes, frames and functions.
 *
 * A node's parent has a smaller id by construction of the format (the delta is at least 1), so chains are finite in any
 * file. Frames are interned by (module, address), functions by (module, name) or, if unnamed, by (module, start). Code
 * without any information is one function per module, rather than one per address.
 */
#include "session/stacks.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "format/bodies.h"
#include "trace/columns_read.h"
#include "session/state.h"
#include "symbol/symbol.h"

#define PLACES_MAX 1024 /* inlined functions at one address; longer chains lose their outer end */
#define RECENT_BITS 12u

/* A SYMBOL record used only if no better information is found. */
struct names_only {
	size_t frame, count;
	const struct sonde_symbol_location *places;
};

void sonde_session_stacks_init(struct sonde_stacks *stacks)
{
	*stacks = (struct sonde_stacks){
	    .nodes = {.row_b = sizeof(struct sonde_node)},
	    .frames = {.row_b = sizeof(struct sonde_frame)},
	    .functions = {.row_b = sizeof(struct sonde_function)},
	    .names = {.row_b = sizeof(struct names_only)},
	};
}

void sonde_session_stacks_fini(struct sonde_stacks *stacks)
{
	sonde_rows_fini(&stacks->nodes);
	sonde_rows_fini(&stacks->frames);
	sonde_rows_fini(&stacks->functions);
	sonde_rows_fini(&stacks->names);
	free(stacks->recent);
	sonde_map_fini(&stacks->frame_of);
	sonde_map_fini(&stacks->function_of);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

struct frame_key {
	const struct sonde_rows *frames;
	uint32_t module;
	uint64_t address;
};

static int same_frame(const void *context, uint32_t value)
{
	const struct frame_key *key = context;
	const struct sonde_frame *frame = sonde_rows_at(key->frames, value - 1);
	return frame->module == key->module && frame->address == key->address;
}

static int intern_frame(size_t *out, struct sonde_stacks *stacks, uint32_t module, uint64_t address)
{
	struct frame_key key = {&stacks->frames, module, address};
	uint64_t hash = sonde_hash_pair(address, module);
	uint32_t value = sonde_map_find(&stacks->frame_of, hash, same_frame, &key);
	if (!value) {
		struct sonde_frame frame = {.module = module, .address = address};
		if (stacks->frames.count >= UINT32_MAX - 1 || !sonde_rows_add(&stacks->frames, &frame))
			return -ENOMEM;
		value = (uint32_t)stacks->frames.count;
		if (sonde_map_add(&stacks->frame_of, hash, value))
			return -ENOMEM;
	}
	*out = value - 1;
	return 0;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* A damaged file may lack nodes: fills the gap with roots of unknown code. */
static int fill_gap(struct sonde_stacks *stacks, uint32_t first)
{
	size_t frame;
	if (first - 1 == stacks->nodes.count)
		return 0;
	if (intern_frame(&frame, stacks, 0, 0))
		return -ENOMEM;
	struct sonde_node unknown = {.parent = 0, .frame = (uint32_t)frame};
	return sonde_rows_grow(&stacks->nodes, first - 1, &unknown);
}

/* Many stacks share callers, so recently used frames are cached. */
static int find_frame(size_t *out, struct sonde_stacks *stacks, uint32_t module, uint64_t address)
{
	uint64_t hash = (address + module) * 0x9e3779b97f4a7c15u;
	struct sonde_recent_frame *slot = &stacks->recent[hash >> (64 - RECENT_BITS)];
	if (slot->frame && slot->address == address && slot->module == module) {
		*out = slot->frame - 1;
		return 0;
	}
	int rc = intern_frame(out, stacks, module, address);
	*slot = (struct sonde_recent_frame){address, module, rc ? 0 : (uint32_t)*out + 1};
	return rc;
}

static int add_nodes(struct sonde_session *session, uint32_t first, size_t count, struct sonde_column *columns)
{
	struct sonde_stacks *stacks = &session->stacks;
	uint64_t address = 0;
	if (!count)
		return 0;
	if (!stacks->recent)
		stacks->recent = calloc((size_t)1 << RECENT_BITS, sizeof *stacks->recent);
	if (!stacks->recent || sonde_rows_reserve(&stacks->nodes, first - 1 + count))
		return -ENOMEM;
	struct sonde_node *nodes = (struct sonde_node *)stacks->nodes.data + first - 1;
	for (size_t i = 0; i < count; i++) {
		uint64_t delta, module, step;
		if (sonde_column_next(&columns[SONDE_STACKS_COLUMN_PARENT], &delta) ||
		    sonde_column_next(&columns[SONDE_STACKS_COLUMN_MODULE], &module) ||
		    sonde_column_next(&columns[SONDE_STACKS_COLUMN_ADDRESS], &step))
			return -EBADMSG;
		uint32_t id = first + (uint32_t)i;
		address += (uint64_t)sonde_varint_unzigzag(step);
		size_t frame;
		uint32_t known = module <= session->modules.count ? (uint32_t)module : 0;
		int rc = find_frame(&frame, stacks, known, address);
		if (rc)
			return rc;
		nodes[i] = (struct sonde_node){.parent = delta && delta < id ? id - (uint32_t)delta : 0,
					       .frame = (uint32_t)frame};
	}
	stacks->nodes.count += count;
	return 0;
}

int sonde_session_stacks_load(struct sonde_session *session, const struct sonde_chunk_data *data)
{
	struct sonde_stacks *stacks = &session->stacks;
	struct sonde_stacks_summary summary;
	struct sonde_column columns[SONDE_STACKS_COLUMNS];
	size_t count = data->head->count;
	if (data->head->summary_b < sizeof summary)
		return -EBADMSG;
	memcpy(&summary, data->summary, sizeof summary);
	uint32_t first = summary.first_node;
	if (first <= stacks->nodes.count || first - 1 - stacks->nodes.count > session->id_max ||
	    count > UINT32_MAX - first)
		return -EBADMSG;
	if (sonde_columns_split(columns, SONDE_STACKS_COLUMNS, data) ||
	    count > sonde_column_b(&columns[SONDE_STACKS_COLUMN_PARENT]))
		return -EBADMSG;
	int rc = fill_gap(stacks, first);
	if (rc)
		return rc;
	return add_nodes(session, first, count, columns);
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

struct function_key {
	const struct sonde_rows *functions;
	uint32_t module;
	const char *name; /* NULL = unnamed */
	uint64_t start;   /* start address of an unnamed function */
};

static int same_function(const void *context, uint32_t value)
{
	const struct function_key *key = context;
	const struct sonde_function *function = sonde_rows_at(key->functions, value - 1);
	if (function->module != key->module || function->unnamed != !key->name)
		return 0;
	return key->name ? strcmp(function->name, key->name) == 0 : function->start == key->start;
}

static const char *unnamed(struct sonde_session *session, uint32_t module, uint64_t start)
{
	const struct sonde_module *row = sonde_session_module(session, module);
	const char *name = row ? row->name : "[unknown]";
	if (start)
		return sonde_arena_printf(&session->arena, "%s+0x%" PRIx64, name, start);
	return *name == '[' ? name : sonde_arena_printf(&session->arena, "[%s]", name);
}

/* The id of the function that `place` names, 0 when out of memory. `outer`: the function contains the code, so `start`
 * is its own start. */
static uint32_t intern_function(struct sonde_session *session, uint32_t module,
				const struct sonde_symbol_location *place, int outer)
{
	struct sonde_stacks *stacks = &session->stacks;
	const char *name = place->function && *place->function ? place->function : NULL;
	struct function_key key = {&stacks->functions, module, name, place->start};
	uint64_t hash =
	    sonde_hash_pair(name ? sonde_hash_bytes(name, strlen(name)) : place->start, (uint64_t)module << 1 | !name);
	uint32_t id = sonde_map_find(&stacks->function_of, hash, same_function, &key);
	if (!id) {
		struct sonde_function row = {
		    .id = (uint32_t)stacks->functions.count + 1,
		    .module = module,
		    .name = name ? name : unnamed(session, module, place->start),
		    .file = "",
		    .unnamed = !name,
		};
		id = row.id;
		if (!row.name || !sonde_rows_add(&stacks->functions, &row) ||
		    sonde_map_add(&stacks->function_of, hash, id))
			return 0;
	}
	struct sonde_function *function = sonde_rows_at(&stacks->functions, id - 1);
	if (!function->start && outer)
		function->start = place->start;
	if (!*function->file && place->file)
		function->file = place->file;
	if (!function->line)
		function->line = place->start_line;
	return id;
}

int sonde_session_stacks_locate(struct sonde_session *session, size_t frame, const struct sonde_symbol_location *places,
				size_t count)
{
	static const struct sonde_symbol_location nothing;
	if (!count) {
		places = &nothing;
		count = 1;
	}
	struct sonde_frame *row = sonde_rows_at(&session->stacks.frames, frame);
	struct sonde_location *locations = sonde_arena_alloc(&session->arena, count * sizeof *locations);
	if (!locations)
		return sonde_error(ENOMEM, "out of memory for symbols");
	for (size_t i = 0; i < count; i++) {
		locations[i] = (struct sonde_location){
		    .function = intern_function(session, row->module, &places[i], i + 1 == count),
		    .file = places[i].file ? places[i].file : "",
		    .line = places[i].line,
		};
		if (!locations[i].function)
			return sonde_error(ENOMEM, "out of memory for symbols");
	}
	row->locations = locations;
	row->location_count = (uint32_t)count;
	return 0;
}

static int keep_names(struct sonde_session *session, size_t frame, const struct sonde_symbol_location *places,
		      size_t count)
{
	struct sonde_symbol_location *kept = sonde_arena_alloc(&session->arena, count * sizeof *kept);
	if (!kept)
		return sonde_error(ENOMEM, "out of memory for symbols");
	memcpy(kept, places, count * sizeof *kept);
	struct names_only row = {.frame = frame, .count = count, .places = kept};
	return sonde_rows_add(&session->stacks.names, &row) ? 0 : -ENOMEM;
}

int sonde_session_stacks_symbol(struct sonde_session *session, const struct sonde_meta_symbol *symbol,
				const uint8_t *locations)
{
	struct sonde_symbol_location places[PLACES_MAX];
	size_t count = symbol->count < PLACES_MAX ? symbol->count : PLACES_MAX;
	for (size_t i = 0; i < count; i++) {
		struct sonde_meta_location from;
		memcpy(&from, locations + i * sizeof from, sizeof from);
		places[i] = (struct sonde_symbol_location){
		    .function = sonde_session_string(session, from.function),
		    .file = sonde_session_string(session, from.file),
		    .line = from.line,
		    .start_line = from.start_line,
		    .start = from.start,
		};
	}
	size_t frame;
	uint32_t module = symbol->module <= session->modules.count ? symbol->module : 0;
	int rc = intern_frame(&frame, &session->stacks, module, symbol->address);
	if (!rc && symbol->head.reserved & SONDE_SYMBOL_NAMES_ONLY && count)
		return keep_names(session, frame, places, count);
	return rc ? rc : sonde_session_stacks_locate(session, frame, places, count);
}

static int has_name(const struct sonde_session *session, const struct sonde_frame *frame)
{
	if (!frame->location_count)
		return 0;
	const struct sonde_location *outer = &frame->locations[frame->location_count - 1];
	return !sonde_session_function(session, outer->function)->unnamed;
}

static int settle_names(struct sonde_session *session)
{
	struct sonde_rows *names = &session->stacks.names;
	int rc = 0;
	for (size_t i = 0; !rc && i < names->count; i++) {
		const struct names_only *row = sonde_rows_at(names, i);
		if (!has_name(session, sonde_rows_at(&session->stacks.frames, row->frame)))
			rc = sonde_session_stacks_locate(session, row->frame, row->places, row->count);
	}
	names->count = 0;
	return rc;
}

int sonde_session_stacks_settle(struct sonde_session *session)
{
	struct sonde_stacks *stacks = &session->stacks;
	int failed = settle_names(session);
	if (failed)
		return failed;
	for (; stacks->settled < stacks->frames.count; stacks->settled++) {
		const struct sonde_frame *frame = sonde_rows_at(&stacks->frames, stacks->settled);
		int rc = frame->location_count ? 0 : sonde_session_stacks_locate(session, stacks->settled, NULL, 0);
		if (rc)
			return rc;
	}
	return 0;
}
