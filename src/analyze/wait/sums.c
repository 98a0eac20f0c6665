/* sums.c: blocking calls, summed by kind, stack and object (wait/sums.h). */
#include "analyze/wait/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/array.h"
#include "util/error.h"

void sonde_wait_sum_add(struct sonde_wait_sum *into, const struct sonde_wait_sum *from)
{
	into->calls += from->calls;
	into->total_ns += from->total_ns;
	into->begun_ns += from->begun_ns;
	into->amount += from->amount;
	into->variance += from->variance;
	into->longest_ns = from->longest_ns > into->longest_ns ? from->longest_ns : into->longest_ns;
}

struct sonde_cell sonde_wait_sum_mean(const struct sonde_wait_sum *sum)
{
	return sum->calls ? sonde_cell_int(sum->begun_ns / sum->calls)
			  : sonde_cell_absent("started before the selected time");
}

/* --- feeding ----------------------------------------------------------------------------------------------------- */

int sonde_wait_sums_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_wait_sums *sums = state;
	sums->session = session;
	sums->options = *options;
	sums->window = sonde_window_of(session, options);
	sums->all = sonde_weigh_range(session, &(struct sonde_selection){0});
	return 0;
}

void sonde_wait_sums_end(void *state)
{
	struct sonde_wait_sums *sums = state;
	for (size_t i = 0; i < SONDE_WAIT_KINDS; i++)
		sonde_durations_fini(&sums->kinds[i]);
	sonde_map_fini(&sums->measured.map);
	sonde_map_fini(&sums->party_map);
	sonde_map_fini(&sums->sampled.map);
	free(sums->sampled.rows);
	free(sums->measured.rows);
	free(sums->parties);
}

struct sought {
	const void *rows;
	uint32_t a, b, c;
};

static int is_cell(const void *context, uint32_t value)
{
	const struct sought *sought = context;
	const struct sonde_wait_cell *cell = &((const struct sonde_wait_cell *)sought->rows)[value - 1];
	return cell->kind == sought->a && cell->stack == sought->b && cell->object == sought->c;
}

static int is_party(const void *context, uint32_t value)
{
	const struct sought *sought = context;
	const struct sonde_wait_party *party = &((const struct sonde_wait_party *)sought->rows)[value - 1];
	return party->object == sought->a && party->thread == sought->b && party->held == (int)sought->c;
}

static int cell_add(struct sonde_wait_cells *cells, const struct sonde_wait_cell *cell)
{
	uint64_t hash = sonde_hash_pair((uint64_t)cell->kind << 32 | cell->stack, cell->object);
	struct sought sought = {cells->rows, cell->kind, cell->stack, cell->object};
	uint32_t found = sonde_map_find(&cells->map, hash, is_cell, &sought);
	if (found) {
		sonde_wait_sum_add(&cells->rows[found - 1].sum, &cell->sum);
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(cells->rows, cells->cap, cells->count + 1) ||
	    sonde_map_add(&cells->map, hash, (uint32_t)cells->count + 1))
		return -ENOMEM;
	cells->rows[cells->count++] = *cell;
	return 0;
}

static int party_add(struct sonde_wait_sums *sums, const struct sonde_wait_party *party)
{
	uint64_t hash = sonde_hash_pair((uint64_t)party->object << 32 | party->thread, (uint64_t)party->held);
	struct sought sought = {sums->parties, party->object, party->thread, (uint32_t)party->held};
	uint32_t found = sonde_map_find(&sums->party_map, hash, is_party, &sought);
	if (found) {
		sums->parties[found - 1].total_ns += party->total_ns;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(sums->parties, sums->party_cap, sums->party_count + 1) ||
	    sonde_map_add(&sums->party_map, hash, (uint32_t)sums->party_count + 1))
		return -ENOMEM;
	sums->parties[sums->party_count++] = *party;
	return 0;
}

/* Adds a sampled wait. Each sample represents a slice of time; it is unknown where within that slice a wait begins or
 * ends. */
static int wait_add_sampled(struct sonde_wait_sums *sums, struct sonde_wait_cell *cell, const struct sonde_batch *batch,
			    size_t i)
{
	unsigned reason = sonde_sample_status(batch->waits.status[i]);
	double part_ns = (double)batch->waits.dur_ns[i] / (double)(batch->waits.amount[i] ? batch->waits.amount[i] : 1);
	const struct sonde_selection window = {.from_ns = sums->window.from_ns, .to_ns = sums->window.to_ns};
	cell->sum.total_ns = sonde_weigh_sampled(&sums->all, &window, batch->waits.start_ns[i], batch->waits.dur_ns[i]);
	cell->sum.variance = part_ns * part_ns;
	sums->sampled_bare += !cell->stack;
	sums->sampled_cut += cell->stack && !sonde_stack_is_complete(reason);
	return cell_add(&sums->sampled, cell);
}

static int wait_add(struct sonde_wait_sums *sums, const struct sonde_batch *batch, size_t i)
{
	uint64_t from_ns = batch->waits.start_ns[i], to_ns = from_ns + batch->waits.dur_ns[i];
	int begins = from_ns >= sums->window.from_ns && from_ns <= sums->window.to_ns;
	from_ns = from_ns > sums->window.from_ns ? from_ns : sums->window.from_ns;
	to_ns = to_ns < sums->window.to_ns ? to_ns : sums->window.to_ns;
	if (from_ns > to_ns)
		return 0;
	enum sonde_wait_group group = sonde_wait_row(batch->waits.kind[i])->group;
	if (group == SONDE_WAIT_GROUP_HELD && !batch->waits.dur_ns[i]) /* a post or signal: nothing was held */
		return 0;
	struct sonde_wait_cell cell = {
	    .kind = batch->waits.kind[i],
	    .stack = batch->waits.stack[i],
	    .object = batch->waits.object[i],
	    .sum = {.calls = (uint64_t)begins,
		    .total_ns = to_ns - from_ns,
		    .begun_ns = begins ? to_ns - from_ns : 0,
		    .longest_ns = to_ns - from_ns,
		    .amount = begins && group != SONDE_WAIT_GROUP_LOCK ? batch->waits.amount[i] : 0}};
	if (batch->waits.status[i] & SONDE_WAIT_SAMPLED) {
		cell.sum.amount = begins ? batch->waits.amount[i] : 0;
		return wait_add_sampled(sums, &cell, batch, i);
	}
	int held = cell.kind == SONDE_WAIT_HELD;
	struct sonde_wait_party party = {batch->waits.object[i], batch->waits.thread[i], held, to_ns - from_ns};
	int rc = cell_add(&sums->measured, &cell);
	if (!rc && party.object)
		rc = party_add(sums, &party);
	if (!rc && begins)
		rc = sonde_durations_add(&sums->kinds[cell.kind], batch->waits.dur_ns[i]);
	sums->cut += !sonde_stack_is_complete(batch->waits.status[i]);
	return rc;
}

int sonde_wait_sums_feed(void *state, const struct sonde_batch *batch)
{
	struct sonde_wait_sums *sums = state;
	const uint8_t *wanted = sums->options.selection.thread;
	for (size_t i = 0; i < batch->count; i++) {
		if ((wanted && !wanted[batch->waits.thread[i]]) || !sonde_wait_row(batch->waits.kind[i])->name)
			continue;
		if (wait_add(sums, batch, i))
			return sonde_error(ENOMEM, "out of memory for waits");
	}
	return 0;
}

int sonde_wait_sums_merge(void *state, void *other_state)
{
	struct sonde_wait_sums *sums = state, *other = other_state;
	int rc = 0;
	for (size_t i = 0; !rc && i < other->measured.count; i++)
		rc = cell_add(&sums->measured, &other->measured.rows[i]);
	for (size_t i = 0; !rc && i < other->party_count; i++)
		rc = party_add(sums, &other->parties[i]);
	for (size_t i = 0; i < SONDE_WAIT_KINDS; i++)
		if (other->kinds[i].count)
			sonde_durations_merge(&sums->kinds[i], &other->kinds[i]);
	for (size_t i = 0; !rc && i < other->sampled.count; i++)
		rc = cell_add(&sums->sampled, &other->sampled.rows[i]);
	sums->cut += other->cut;
	sums->sampled_cut += other->sampled_cut;
	sums->sampled_bare += other->sampled_bare;
	return rc ? sonde_error(ENOMEM, "out of memory for waits") : 0;
}

/* --- call sites --------------------------------------------------------------------------------------------------- */

/* True for the C library, its loader and the C++ library, by module name. */
static int is_library(const struct sonde_session *session, const struct sonde_frame *frame)
{
	static const char *const names[] = {"libc.so",   "libc-",    "libc.musl",   "libpthread",
					    "ld-linux",  "ld-musl",  "librt.so",    "libstdc++.",
					    "libc++.so", "libsonde", "libgcc_s.so", "libuv.so"};
	const struct sonde_module *module = sonde_session_module(session, frame->module);
	for (size_t i = 0; module && i < sizeof names / sizeof *names; i++)
		if (!strncmp(module->name, names[i], strlen(names[i])))
			return 1;
	return module && module->flags & SONDE_MODULE_KERNEL;
}

/* True for inlined library code, such as std::mutex::lock() in a program, and for Go's runtime, which is part of each
 * program. */
static int is_standard(const struct sonde_session *session, const struct sonde_location *location)
{
	static const char *const starts[] = {"std::",    "__gthread_",        "__gnu_cxx::",    "runtime.",
					     "syscall.", "internal/runtime/", "internal/poll.", "internal/syscall/"};
	const struct sonde_function *function = sonde_session_function(session, location->function);
	for (size_t i = 0; function && i < sizeof starts / sizeof *starts; i++)
		if (!strncmp(function->name, starts[i], strlen(starts[i])))
			return 1;
	return 0;
}

/* Returns the innermost location from `id` on that has a source file; `found` if there is none in its module. This is
 * for static programs, where the C library is the part without debug information. */
static const struct sonde_location *outside_library(const struct sonde_session *session, uint32_t id,
						    const struct sonde_location *found)
{
	const struct sonde_node *node = sonde_session_node(session, id);
	const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
	uint32_t module = frame ? frame->module : 0;
	for (; *found->file == '\0' && (node = sonde_session_node(session, id)); id = node->parent) {
		frame = sonde_session_frame(session, node->frame);
		if (frame && frame->module == module && frame->location_count && *frame->locations->file)
			return frame->locations;
	}
	return found;
}

/* The innermost location of a stack outside the C and C++ libraries, whose functions tell how a thread waits, not
 * where; if there is none, the innermost location. NULL if the stack is empty. */
static const struct sonde_location *place_of(const struct sonde_session *session, uint32_t stack)
{
	const struct sonde_location *first = NULL;
	const struct sonde_node *node;
	for (uint32_t id = stack; (node = sonde_session_node(session, id)); id = node->parent) {
		const struct sonde_frame *frame = sonde_session_frame(session, node->frame);
		if (!frame || !frame->location_count)
			continue;
		int is_leaf = !first;
		first = first ? first : frame->locations;
		if (is_library(session, frame))
			continue;
		for (uint32_t i = 0; i < frame->location_count; i++)
			if (!is_standard(session, &frame->locations[i]))
				return is_leaf ? outside_library(session, id, &frame->locations[i])
					       : &frame->locations[i];
	}
	return first;
}

const char *sonde_wait_place_text(const struct sonde_wait_sums *sums, struct sonde_report *report, uint32_t stack)
{
	const struct sonde_location *place = place_of(sums->session, stack);
	const struct sonde_function *function = place ? sonde_session_function(sums->session, place->function) : NULL;
	if (!function)
		return "(no stack)";
	const char *file = strrchr(place->file, '/');
	file = file ? file + 1 : place->file;
	if (!*file || !place->line)
		return function->name;
	return sonde_report_text(report, "%s (%s:%u)", function->name, file, place->line);
}

static int compare_keys(const void *left, const void *right)
{
	const struct sonde_wait_place_row *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_times(const void *left, const void *right)
{
	const struct sonde_wait_place_row *a = left, *b = right;
	if (a->sum.total_ns != b->sum.total_ns)
		return a->sum.total_ns < b->sum.total_ns ? 1 : -1;
	return compare_keys(left, right);
}

static ptrdiff_t places_make(struct sonde_wait_place_row **out, const struct sonde_wait_sums *sums,
			     const struct sonde_wait_cells *cells, uint32_t groups, uint32_t of)
{
	struct sonde_wait_place_row *rows = calloc(cells->count + 1, sizeof *rows);
	size_t count = 0, kept = 0;
	if (!rows)
		return -1;
	for (size_t i = 0; i < cells->count; i++) {
		const struct sonde_wait_cell *cell = &cells->rows[i];
		if (!(groups & 1u << sonde_wait_group_of(cell)) || (of && cell->object != of))
			continue;
		const struct sonde_location *place = place_of(sums->session, cell->stack);
		rows[count++] = (struct sonde_wait_place_row){.function = place ? place->function : 0,
							      .kind = cell->kind,
							      .stack = cell->stack,
							      .stack_ns = cell->sum.total_ns,
							      .sum = cell->sum};
	}
	qsort(rows, count, sizeof *rows, compare_keys);
	for (size_t i = 0; i < count; i++) {
		struct sonde_wait_place_row *last = kept ? &rows[kept - 1] : NULL;
		if (!last || compare_keys(last, &rows[i])) {
			rows[kept++] = rows[i];
			continue;
		}
		sonde_wait_sum_add(&last->sum, &rows[i].sum);
		if (rows[i].stack_ns > last->stack_ns) {
			last->stack = rows[i].stack;
			last->stack_ns = rows[i].stack_ns;
		}
	}
	qsort(rows, kept, sizeof *rows, compare_times);
	*out = rows;
	return (ptrdiff_t)kept;
}

ptrdiff_t sonde_wait_places(struct sonde_wait_place_row **out, const struct sonde_wait_sums *sums, uint32_t groups,
			    uint32_t of)
{
	return places_make(out, sums, &sums->measured, groups, of);
}

ptrdiff_t sonde_wait_places_sampled(struct sonde_wait_place_row **out, const struct sonde_wait_sums *sums,
				    uint32_t groups)
{
	return places_make(out, sums, &sums->sampled, groups, 0);
}

uint32_t sonde_wait_object_sampled(const struct sonde_wait_sums *sums, uint32_t function, uint32_t kind)
{
	uint32_t most = 0;
	uint64_t most_ns = 0;
	for (size_t i = 0; i < sums->sampled.count; i++) {
		const struct sonde_wait_cell *cell = &sums->sampled.rows[i];
		const struct sonde_location *place = place_of(sums->session, cell->stack);
		if (cell->kind != kind || (place ? place->function : 0) != function || cell->sum.total_ns <= most_ns)
			continue;
		most = cell->object;
		most_ns = cell->sum.total_ns;
	}
	return most;
}

const char *sonde_wait_object_name(const struct sonde_wait_sums *sums, struct sonde_report *report, uint32_t object)
{
	const struct sonde_object *row = sonde_session_object(sums->session, object);
	if (!row)
		return "(unknown)";
	if (*row->name)
		return row->name;
	return sonde_report_text(report, "0x%" PRIx64, row->address);
}
