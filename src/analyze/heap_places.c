/* heap_places.c: allocations summed by function, or by source line. */
#include "analyze/heap_places.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/error.h"

enum { CALLERS_MAX = 5, TEXT_MAX_B = 4096 };

/* --- what a stack is named by ------------------------------------------------------------------------------------ */

static int contains(const char *name, size_t name_b, const char *word)
{
	size_t word_b = strlen(word);
	for (size_t i = 0; i + word_b <= name_b; i++) {
		size_t k = 0;
		while (k < word_b && tolower((unsigned char)name[i + k]) == word[k])
			k++;
		if (k == word_b)
			return 1;
	}
	return 0;
}

static int says_little(const char *name)
{
	static const char *const starts[] = {
	    "operator new", "_Zn", "std::", "__gnu_cxx::", "alloc::", "<alloc::", "__rust_"};
	static const char *const words[] = {"alloc", "strdup", "strndup", "asprintf"};
	const char *after = name + strcspn(name, " (<"); /* "void std::vector<int>::push_back": a template's result */
	after = *after == ' ' ? after + 1 : name;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (!strncmp(name, starts[i], strlen(starts[i])) || !strncmp(after, starts[i], strlen(starts[i])))
			return 1;
	size_t name_b = strcspn(name, "(<"); /* not its arguments: vector<int, allocator<int>>::push_back */
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (contains(name, name_b, words[i]))
			return 1;
	return 0;
}

/* A location of a stack: `node`'s, `index` in its frame, 0 = innermost. */
struct spot {
	uint32_t node, index;
	const struct sonde_location *location; /* NULL: no more */
};

static struct spot spot_at(const struct sonde_session *session, uint32_t stack)
{
	const struct sonde_node *node = sonde_session_node(session, stack);
	const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
	return (struct spot){stack, 0, frame && frame->location_count ? frame->locations : NULL};
}

/* The caller's. */
static struct spot spot_outward(const struct sonde_session *session, struct spot spot)
{
	const struct sonde_node *node = sonde_session_node(session, spot.node);
	const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
	if (frame && spot.index + 1 < frame->location_count)
		return (struct spot){spot.node, spot.index + 1, &frame->locations[spot.index + 1]};
	return spot_at(session, node ? node->parent : 0);
}

static const struct sonde_function *function_at(const struct sonde_session *session, struct spot spot)
{
	return spot.location ? sonde_session_function(session, spot.location->function) : NULL;
}

/* A function without a name that one with an allocator's calls is a part of it. */
static struct spot spot_of(const struct sonde_session *session, uint32_t stack)
{
	struct spot first = spot_at(session, stack);
	for (struct spot spot = first; spot.location; spot = spot_outward(session, spot)) {
		const struct sonde_function *function = function_at(session, spot), *caller;
		if (!function || says_little(function->name))
			continue;
		caller = function->unnamed ? function_at(session, spot_outward(session, spot)) : NULL;
		if (!caller || !says_little(caller->name))
			return spot;
	}
	return first;
}

/* --- places ------------------------------------------------------------------------------------------------------ */

void sonde_heap_sum_add(struct sonde_heap_sum *into, const struct sonde_heap_sum *from)
{
	into->begins += from->begins;
	into->begun_b += from->begun_b;
	into->ends += from->ends;
	into->ended_b += from->ended_b;
	into->temporary += from->temporary;
	into->peak_blocks += from->peak_blocks;
	into->peak_b += from->peak_b;
	into->left_blocks += from->left_blocks;
	into->left_b += from->left_b;
	into->largest_b = from->largest_b > into->largest_b ? from->largest_b : into->largest_b;
	into->begun_variance += from->begun_variance;
	into->ended_variance += from->ended_variance;
	into->peak_variance += from->peak_variance;
	into->left_variance += from->left_variance;
}

static int compare_keys(const void *left, const void *right)
{
	const struct sonde_heap_place *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	int by = strcmp(a->file, b->file);
	if (by || sonde_heap_alike(a->heap, b->heap))
		return by;
	if (a->heap->kind != b->heap->kind)
		return a->heap->kind < b->heap->kind ? -1 : 1;
	return strcmp(a->heap->name, b->heap->name);
}

static uint64_t value_of(const struct sonde_heap_sum *sum, enum sonde_heap_order order)
{
	return order == SONDE_HEAP_BY_PEAK        ? sum->peak_b
	       : order == SONDE_HEAP_BY_TEMPORARY ? sum->temporary
						  : sum->begun_b;
}

static int compare_values(const void *left, const void *right, void *state)
{
	const struct sonde_heap_place *a = left, *b = right;
	enum sonde_heap_order order = *(const enum sonde_heap_order *)state;
	uint64_t of_a = value_of(&a->sum, order), of_b = value_of(&b->sum, order);
	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	if (a->sum.begun_b != b->sum.begun_b)
		return a->sum.begun_b < b->sum.begun_b ? 1 : -1;
	return compare_keys(left, right);
}

/* Sites that did nothing and held nothing are left out. */
static size_t sites_take(struct sonde_heap_place *rows, const struct sonde_heap_pass *pass, int by_line,
			 enum sonde_heap_order order)
{
	static const struct sonde_heap nobody = {.kind = SONDE_HEAP_MALLOC, .name = ""};
	size_t count = 0;
	for (uint32_t id = 0; id <= sonde_session_heap_site_count(pass->session); id++) {
		const struct sonde_heap_sum *sum = &pass->sums.sites[id];
		if (!sum->begins && !sum->ends && !sum->peak_b && !sum->left_b)
			continue;
		const struct sonde_heap_site *site = sonde_session_heap_site(pass->session, id);
		const struct sonde_heap *heap = site ? sonde_session_heap(pass->session, site->heap) : NULL;
		struct spot spot = site ? spot_of(pass->session, site->stack) : (struct spot){0};
		struct sonde_heap_place *row = &rows[count++];
		*row = (struct sonde_heap_place){.file = "", .heap = heap ? heap : &nobody, .sum = *sum};
		row->stack = site ? site->stack : 0;
		row->stack_has = value_of(sum, order);
		if (!spot.location)
			continue;
		const struct sonde_function *function = sonde_session_function(pass->session, spot.location->function);
		row->function = spot.location->function;
		row->line = by_line ? spot.location->line : 0;
		row->file = by_line ? spot.location->file : function ? function->file : "";
	}
	return count;
}

int sonde_heap_places_make(struct sonde_heap_places *out, const struct sonde_heap_pass *pass, int by_line,
			   enum sonde_heap_order order)
{
	size_t sites = sonde_session_heap_site_count(pass->session);
	struct sonde_heap_place *rows = calloc(sites + 1, sizeof *rows);
	if (!rows)
		return sonde_error(ENOMEM, "out of memory for %zu places that allocate", sites);
	size_t count = sites_take(rows, pass, by_line, order);
	*out = (struct sonde_heap_places){.rows = rows};
	qsort(rows, count, sizeof *rows, compare_keys);
	for (size_t i = 0; i < count; i++) {
		struct sonde_heap_place *last = out->count ? &rows[out->count - 1] : NULL;
		if (!last || compare_keys(last, &rows[i])) {
			rows[out->count++] = rows[i];
			continue;
		}
		sonde_heap_sum_add(&last->sum, &rows[i].sum);
		if (rows[i].stack_has > last->stack_has) {
			last->stack = rows[i].stack;
			last->stack_has = rows[i].stack_has;
		}
	}
	qsort_r(rows, out->count, sizeof *rows, compare_values, &order);
	return 0;
}

void sonde_heap_places_free(struct sonde_heap_places *places)
{
	free(places->rows);
	*places = (struct sonde_heap_places){0};
}

/* --- words ------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_function *function = sonde_session_function(session, id);
	return function ? function->name : "(unknown)";
}

const struct sonde_location *sonde_heap_location(const struct sonde_session *session, uint32_t stack)
{
	return spot_of(session, stack).location;
}

const char *sonde_heap_place_name(const struct sonde_heap_pass *pass, const struct sonde_heap_place *place)
{
	/* a pool's blocks where the hooks are not preloaded */
	return place->function || place->stack ? name_of(pass->session, place->function) : "(no stack)";
}

const char *sonde_heap_caller(const struct sonde_heap_pass *pass, uint32_t stack)
{
	struct spot spot = spot_of(pass->session, stack);
	if (spot.location)
		spot = spot_outward(pass->session, spot);
	return spot.location ? name_of(pass->session, spot.location->function) : "";
}

static void put_callers(struct sonde_buf *out, const struct sonde_session *session, struct spot spot)
{
	size_t count = 0;
	while (spot.location && (spot = spot_outward(session, spot)).location) {
		if (count++ == CALLERS_MAX) {
			sonde_buf_text(out, " < …");
			return;
		}
		sonde_buf_printf(out, "%s%s", count > 1 ? " < " : "", name_of(session, spot.location->function));
	}
}

/* What was written; a text that would be longer than TEXT_MAX_B ends before. */
static const char *text_take(struct sonde_buf *buf, struct sonde_report *report)
{
	const char *text = sonde_arena_strndup(&report->arena, buf->len_b ? (const char *)buf->data : "", buf->len_b);
	sonde_buf_fini(buf);
	return text;
}

const char *sonde_heap_called_from(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t stack)
{
	struct sonde_buf text;
	sonde_buf_init(&text, TEXT_MAX_B);
	put_callers(&text, pass->session, spot_of(pass->session, stack));
	return text_take(&text, report);
}

const char *sonde_heap_stack_text(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t stack)
{
	struct spot spot = spot_of(pass->session, stack);
	struct sonde_buf text;
	if (!spot.location)
		return "an unknown place";
	sonde_buf_init(&text, TEXT_MAX_B);
	sonde_buf_text(&text, name_of(pass->session, spot.location->function));
	const char *file = strrchr(spot.location->file, '/');
	file = file ? file + 1 : spot.location->file;
	if (*file && spot.location->line)
		sonde_buf_printf(&text, " (%s:%u)", file, spot.location->line);
	if (spot_outward(pass->session, spot).location)
		sonde_buf_text(&text, ", called from ");
	put_callers(&text, pass->session, spot);
	return text_take(&text, report);
}
