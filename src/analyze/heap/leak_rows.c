/* leak_rows.c: sums live and growing memory by allocation site (heap/leak_rows.h). */
#include "analyze/heap/leak_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/heap/suppressions.h"
#include "base/hash.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

enum { MARKS = 64, WARM_UP = 5, ENDING = 10 };
#define RISE_B 1024.0 /* growth below this is not worth a row */

struct place {
	struct sonde_leak_row row; /* only its key fields are set */
	uint32_t found;            /* index of this place, + 1 */
	double *live;              /* live bytes at each mark; at first the change since the previous mark */
	uint64_t last_b, last_blocks;
	double last_variance;
};

struct making {
	const struct sonde_heap_pass *pass;
	struct sonde_leak_rows *out;
	size_t cap;
	struct place *places; /* sorted by key */
	size_t place_count, place_cap, site_count;
	uint32_t *place_of; /* by site id */
	uint64_t marks_ns[MARKS];
	double *live;
	uint64_t *alive_b; /* by site id */
	uint64_t *ends_ns; /* by heap id: its end; 0 = none */
	size_t *end_of;    /* by heap id: end_mark() */
};

/* --- allocation sites -------------------------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
	const struct sonde_leak_row *a = &((const struct place *)left)->row, *b = &((const struct place *)right)->row;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	int by = strcmp(a->file, b->file);
	if (by || a->heap->kind != b->heap->kind)
		return by ? by : a->heap->kind < b->heap->kind ? -1 : 1;
	return strcmp(a->heap->name, b->heap->name);
}

static int is_same(const void *context, uint32_t value)
{
	const struct making *making = context; /* the place to find is stored after all others */
	return !compare_places(&making->places[value - 1], &making->places[making->place_count]);
}

static struct sonde_leak_row key_of(const struct sonde_session *session, uint32_t id, uint8_t *known)
{
	static const struct sonde_heap nobody = {.kind = SONDE_HEAP_MALLOC, .name = ""};
	const struct sonde_heap_site *site = sonde_session_heap_site(session, id);
	const struct sonde_heap *heap = site ? sonde_session_heap(session, site->heap) : NULL;
	const struct sonde_location *location = site ? sonde_heap_location(session, site->stack, known) : NULL;
	struct sonde_leak_row row = {.heap = heap ? heap : &nobody, .file = "", .stack = site ? site->stack : 0};
	if (location) {
		row.function = location->function;
		row.line = location->line;
		row.file = location->file;
	}
	return row;
}

/* Returns the index, + 1, of the site's place, which is added if it is new; 0 if out of memory. */
static uint32_t place_find(struct making *making, struct sonde_map *map, uint32_t site, uint8_t *known)
{
	if (SONDE_ARRAY_RESERVE(making->places, making->place_cap, making->place_count + 1))
		return 0;
	struct place *place = &making->places[making->place_count];
	*place = (struct place){.row = key_of(making->pass->session, site, known)};
	uint64_t hash = sonde_hash_pair(place->row.function, (uint64_t)place->row.line << 32 | place->row.heap->kind);
	uint32_t found = sonde_map_find(map, hash, is_same, making);
	if (found)
		return found;
	place->found = (uint32_t)++making->place_count;
	return sonde_map_add(map, hash, place->found) ? 0 : place->found;
}

/* Collects places through a hash table, since there are many sites and few places, then sorts them. */
static int places_make(struct making *making)
{
	const struct sonde_session *session = making->pass->session;
	struct sonde_map map = {0};
	making->site_count = sonde_session_heap_site_count(session);
	making->place_of = calloc(making->site_count + 1, sizeof *making->place_of);
	uint8_t *known = calloc(sonde_session_function_count(session) + 1, 1);
	int is_whole = making->place_of && known;
	for (uint32_t id = 0; is_whole && id <= making->site_count; id++)
		is_whole = (making->place_of[id] = place_find(making, &map, id, known)) != 0;
	sonde_map_fini(&map);
	free(known);
	uint32_t *now = is_whole ? calloc(making->place_count + 1, sizeof *now) : NULL;
	if (!now)
		return sonde_error(ENOMEM, "out of memory for %zu places that allocate", making->site_count);
	qsort(making->places, making->place_count, sizeof *making->places, compare_places);
	for (size_t i = 0; i < making->place_count; i++)
		now[making->places[i].found] = (uint32_t)i;
	for (uint32_t id = 0; id <= making->site_count; id++)
		making->place_of[id] = now[making->place_of[id]];
	free(now);
	return 0;
}

static struct sonde_leak_row *row_add(struct making *making, const struct place *place, enum sonde_leak_class class)
{
	struct sonde_leak_rows *out = making->out;
	if (SONDE_ARRAY_RESERVE(out->rows, making->cap, out->count + 1))
		return NULL;
	out->rows[out->count] = place->row;
	out->rows[out->count].class = class;
	return &out->rows[out->count++];
}

/* --- live at exit ------------------------------------------------------------------------------------------------ */

static int class_of(uint32_t kind)
{
	return kind == SONDE_HEAP_UNREACHABLE ? SONDE_LEAK_UNREACHABLE
	       : kind == SONDE_HEAP_REACHABLE ? SONDE_LEAK_REACHABLE
					      : SONDE_LEAK_NOT_KNOWN;
}

static int is_selected(const struct sonde_heap_pass *pass, const struct sonde_heap_site *site)
{
	return !pass->range.thread || pass->range.thread[site->thread];
}

/* Adds memory live at exit to the row of its place and class. `at`: the row's index + 1, by place and class; 0 = no row
 * yet. */
static int remainder_add(struct making *making, const struct sonde_heap_remainder *remainder, uint32_t (*at)[4],
			 const char *text)
{
	const struct sonde_session *session = making->pass->session;
	const struct sonde_heap_site *site = sonde_session_heap_site(session, remainder->site);
	const struct sonde_heap *heap = site ? sonde_session_heap(session, site->heap) : NULL;
	if (!heap || heap->kind != SONDE_HEAP_MALLOC || !is_selected(making->pass, site))
		return 0;
	int indirect = remainder->kind == SONDE_HEAP_INDIRECT;
	int class = indirect ? SONDE_LEAK_UNREACHABLE : class_of(remainder->kind);
	if (class == SONDE_LEAK_UNREACHABLE && sonde_suppressions_take(session, text, site->stack)) {
		making->out->suppressed += indirect ? 0 : remainder->blocks;
		making->out->suppressed_b += indirect ? 0 : remainder->size_b;
		return 0;
	}
	uint32_t place = making->place_of[remainder->site], *index = &at[place][class];
	if (!*index && !row_add(making, &making->places[place], (enum sonde_leak_class) class))
		return sonde_error(ENOMEM, "out of memory for what was left");
	*index = *index ? *index : (uint32_t)making->out->count;
	struct sonde_leak_row *row = &making->out->rows[*index - 1];
	if (indirect) {
		row->direct_blocks -= remainder->blocks;
		return 0;
	}
	row->blocks += remainder->blocks;
	row->size_b += remainder->size_b;
	row->variance += remainder->variance;
	row->direct_blocks += class == SONDE_LEAK_UNREACHABLE ? remainder->blocks : 0;
	if (remainder->size_b >= row->stack_has_b) {
		row->stack_has_b = remainder->size_b;
		row->stack = site->stack;
	}
	return 0;
}

static int rests_add(struct making *making)
{
	const struct sonde_session *session = making->pass->session;
	const char *text = sonde_session_info(session, SONDE_SUPPRESSIONS_INFO);
	uint32_t(*at)[4] = calloc(making->place_count + 1, sizeof *at);
	int rc = at ? 0 : sonde_error(ENOMEM, "out of memory for what was left");
	for (size_t i = 0; rc == 0 && i < sonde_session_heap_remainder_count(session); i++)
		rc = remainder_add(making, sonde_session_heap_remainder(session, i), at, text);
	free(at);
	return rc;
}

/* --- growth ------------------------------------------------------------------------------------------------------ */

/* The first mark at which a heap is gone; MARKS if there is none. */
static size_t end_mark(const struct making *making, uint32_t heap)
{
	uint64_t end_ns = heap <= sonde_session_heap_count(making->pass->session) ? making->ends_ns[heap] : 0;
	size_t mark = 0;
	while (end_ns && mark < MARKS && making->marks_ns[mark] < end_ns)
		mark++;
	return end_ns ? mark : MARKS;
}

/* Changes a place's live bytes from a mark on until the heap is gone. */
static void change_add(void *state, uint32_t id, size_t mark, const struct sonde_heap_alive *change)
{
	struct making *making = state;
	const struct sonde_heap_site *site = sonde_session_heap_site(making->pass->session, id);
	struct place *place = &making->places[making->place_of[id]];
	size_t end = site && sonde_session_heap(making->pass->session, site->heap) ? making->end_of[site->heap] : 0;
	if (mark >= end || !is_selected(making->pass, site))
		return;
	place->live[mark] += (double)(int64_t)change->size_b;
	if (end < MARKS) {
		place->live[end] -= (double)(int64_t)change->size_b;
	} else {
		place->last_b += change->size_b;
		place->last_blocks += change->blocks;
		place->last_variance += change->variance;
	}
	making->alive_b[id] += change->size_b;
	if ((int64_t)making->alive_b[id] > 0 && making->alive_b[id] >= place->row.stack_has_b) {
		place->row.stack_has_b = making->alive_b[id];
		place->row.stack = site->stack;
	}
}

/* Turns changes into live bytes. A sum can be negative if some allocations of the place were unreadable: it becomes
 * 0. */
static void changes_sum(struct making *making)
{
	for (size_t i = 0; i < making->place_count; i++) {
		struct place *place = &making->places[i];
		double sum = 0;
		for (size_t mark = 0; mark < MARKS; mark++) {
			sum += place->live[mark];
			place->live[mark] = sum > 0 ? sum : 0;
		}
		if ((int64_t)place->last_b < 0)
			place->last_b = place->last_blocks = 0;
	}
}

/* Tests whether a place grows between its warm-up and the end. */
static struct sonde_growth growth_of(const struct place *place)
{
	const double *live = place->live;
	size_t from = 0, to = MARKS, highest = 0;
	while (from < MARKS && live[from] <= 0)
		from++;
	from += (MARKS - from) / WARM_UP;
	for (size_t i = from; i < MARKS; i++)
		highest = i == from || live[i] >= live[highest] ? i : highest;
	if (highest + 1 + (MARKS - from) / ENDING >= MARKS)
		to = highest + 1;
	if (from >= to || live[to - 1] - live[from] < RISE_B)
		return (struct sonde_growth){0};
	return sonde_growth_of(live + from, to - from);
}

static int growth_add(struct making *making, double step_s)
{
	for (size_t i = 0; i < making->place_count; i++) {
		const struct place *place = &making->places[i];
		struct sonde_growth growth = growth_of(place);
		if (!growth.grows)
			continue;
		struct sonde_leak_row *row = row_add(making, place, SONDE_LEAK_GROWING);
		if (!row)
			return sonde_error(ENOMEM, "out of memory for what grew");
		growth.slope /= step_s;
		growth.low /= step_s;
		growth.high /= step_s;
		row->growth = growth;
		row->size_b = place->last_b;
		row->blocks = place->last_blocks;
		row->variance = place->last_variance;
	}
	return 0;
}

static int tables_make(struct making *making)
{
	size_t heaps = sonde_session_heap_count(making->pass->session);
	making->live = calloc(making->place_count * MARKS + 1, sizeof *making->live);
	making->alive_b = calloc(making->site_count + 1, sizeof *making->alive_b);
	making->ends_ns = calloc(heaps + 1, sizeof *making->ends_ns);
	making->end_of = calloc(heaps + 1, sizeof *making->end_of);
	if (!making->live || !making->alive_b || !making->ends_ns || !making->end_of)
		return sonde_error(ENOMEM, "out of memory for what grew");
	for (size_t i = 0; i < making->place_count; i++)
		making->places[i].live = &making->live[i * MARKS];
	return 0;
}

static int marks_take(struct making *making, double growth_s)
{
	struct sonde_session *session = making->pass->session;
	const struct sonde_window *window = &making->pass->window;
	double seconds = sonde_window_s(window), step_s = seconds / (MARKS + 1);
	struct sonde_heap_marks marks = {making->marks_ns, MARKS, change_add, making};
	if (seconds < growth_s)
		return 0;
	making->out->growth_s = seconds;
	for (size_t i = 0; i < MARKS; i++)
		making->marks_ns[i] = window->from_ns + (uint64_t)((double)(i + 1) * step_s * 1e9);
	int rc = tables_make(making);
	rc = rc ? rc : sonde_session_heap_ends(session, making->ends_ns);
	if (rc < 0)
		return rc;
	for (uint32_t id = 0; id <= sonde_session_heap_count(session); id++)
		making->end_of[id] = end_mark(making, id);
	if (sonde_session_heap_marks(session, &marks) == -ENOMEM)
		return -ENOMEM;
	changes_sum(making);
	return growth_add(making, step_s);
}

/* --- all --------------------------------------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
	const struct sonde_leak_row *a = left, *b = right;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->class == SONDE_LEAK_GROWING && a->growth.slope != b->growth.slope)
		return a->growth.slope < b->growth.slope ? 1 : -1;
	if (a->size_b != b->size_b)
		return a->size_b < b->size_b ? 1 : -1;
	if (a->blocks != b->blocks)
		return a->blocks < b->blocks ? 1 : -1;
	return a->function != b->function ? (a->function > b->function) - (a->function < b->function)
					  : (a->line > b->line) - (a->line < b->line);
}

int sonde_leak_rows_make(struct sonde_leak_rows *out, const struct sonde_heap_pass *pass, double growth_s)
{
	struct making making = {.pass = pass, .out = out};
	*out = (struct sonde_leak_rows){0};
	int rc = places_make(&making);
	rc = rc ? rc : rests_add(&making);
	rc = rc ? rc : marks_take(&making, growth_s);
	if (rc == 0 && out->count)
		qsort(out->rows, out->count, sizeof *out->rows, compare_rows);
	free(making.places);
	free(making.place_of);
	free(making.live);
	free(making.alive_b);
	free(making.ends_ns);
	free(making.end_of);
	if (rc < 0)
		sonde_leak_rows_free(out);
	return rc;
}

void sonde_leak_rows_free(struct sonde_leak_rows *rows)
{
	free(rows->rows);
	*rows = (struct sonde_leak_rows){0};
}
