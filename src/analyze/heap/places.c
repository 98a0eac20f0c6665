/* places.c: sums allocations by function or by source line. */
#include "analyze/heap/places.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/error.h"
#include "util/map.h"

enum { CALLERS_MAX = 5, TEXT_MAX_B = 4096 };

/* --- the frame that names a stack -------------------------------------------------------------------------------- */

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
	/* "void std::vector<int>::push_back": skip the return type of a template */
	const char *after = name + strcspn(name, " (<");
	after = *after == ' ' ? after + 1 : name;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (!strncmp(name, starts[i], strlen(starts[i])) || !strncmp(after, starts[i], strlen(starts[i])))
			return 1;
	size_t name_b = strcspn(name, "(<"); /* ignore arguments: vector<int, allocator<int>>::push_back */
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (contains(name, name_b, words[i]))
			return 1;
	return 0;
}

/* A location on a stack: `index` within the frame of `node`, 0 = innermost. */
struct spot {
	uint32_t node, index;
	const struct sonde_location *location; /* NULL: past the outermost */
};

static struct spot spot_at(const struct sonde_session *session, uint32_t stack)
{
	const struct sonde_node *node = sonde_session_node(session, stack);
	const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
	return (struct spot){stack, 0, frame && frame->location_count ? frame->locations : NULL};
}

/* Moves one location outwards, to the caller. */
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

/* Classification of functions, cached by function id because many stacks share functions. For a few queries, the cache
 * may be NULL. */
enum { NOT_KNOWN, SAYS_LITTLE, SAYS_ENOUGH };

static int function_says_little(const struct sonde_function *function, uint8_t *known)
{
	if (!known)
		return says_little(function->name);
	if (known[function->id] == NOT_KNOWN)
		known[function->id] = says_little(function->name) ? SAYS_LITTLE : SAYS_ENOUGH;
	return known[function->id] == SAYS_LITTLE;
}

/* Finds the location that names a stack. An unnamed function called by an allocator function counts as part of the
 * allocator. */
static struct spot spot_find(const struct sonde_session *session, uint32_t stack, uint8_t *known)
{
	struct spot first = spot_at(session, stack);
	for (struct spot spot = first; spot.location; spot = spot_outward(session, spot)) {
		const struct sonde_function *function = function_at(session, spot), *caller;
		if (!function || function_says_little(function, known))
			continue;
		caller = function->unnamed ? function_at(session, spot_outward(session, spot)) : NULL;
		if (!caller || !function_says_little(caller, known))
			return spot;
	}
	return first;
}

static struct spot spot_of(const struct sonde_session *session, uint32_t stack)
{
	return spot_find(session, stack, NULL);
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

/* Places are found by hash: there are many sites and few places. */
struct gathering {
	const struct sonde_heap_pass *pass;
	int by_line;
	enum sonde_heap_order order;
	uint8_t *known; /* by function id */
	struct sonde_map map;
	struct sonde_heap_places *out;
	size_t capacity;
};

struct sought {
	const struct sonde_heap_place *rows, *place;
};

static int is_same(const void *context, uint32_t value)
{
	const struct sought *sought = context;
	return !compare_keys(&sought->rows[value - 1], sought->place);
}

/* Returns the place of a site with only its key fields set. */
static struct sonde_heap_place place_of(const struct gathering *gathering, uint32_t id)
{
	static const struct sonde_heap nobody = {.kind = SONDE_HEAP_MALLOC, .name = ""};
	const struct sonde_session *session = gathering->pass->session;
	const struct sonde_heap_site *site = sonde_session_heap_site(session, id);
	const struct sonde_heap *heap = site ? sonde_session_heap(session, site->heap) : NULL;
	struct spot spot = site ? spot_find(session, site->stack, gathering->known) : (struct spot){0};
	struct sonde_heap_place place = {.file = "", .heap = heap ? heap : &nobody, .stack = site ? site->stack : 0};
	if (!spot.location)
		return place;
	const struct sonde_function *function = sonde_session_function(session, spot.location->function);
	place.function = spot.location->function;
	place.line = gathering->by_line ? spot.location->line : 0;
	place.file = gathering->by_line ? spot.location->file : function ? function->file : "";
	return place;
}

static struct sonde_heap_place *place_add(struct gathering *gathering, const struct sonde_heap_place *place,
					  uint64_t hash)
{
	struct sonde_heap_places *out = gathering->out;
	if (SONDE_ARRAY_RESERVE(out->rows, gathering->capacity, out->count + 1))
		return NULL;
	if (sonde_map_add(&gathering->map, hash, (uint32_t)out->count + 1))
		return NULL;
	out->rows[out->count] = *place;
	return &out->rows[out->count++];
}

static int site_add(struct gathering *gathering, uint32_t id, const struct sonde_heap_sum *sum)
{
	struct sonde_heap_place place = place_of(gathering, id), *row;
	uint64_t hash = sonde_hash_pair(place.function, (uint64_t)place.line << 32 | place.heap->kind);
	struct sought sought = {gathering->out->rows, &place};
	uint32_t found = sonde_map_find(&gathering->map, hash, is_same, &sought);
	uint64_t has = value_of(sum, gathering->order);
	if (!found) {
		row = place_add(gathering, &place, hash);
		if (!row)
			return -ENOMEM;
		row->sum = *sum;
		row->stack_has = has;
		return 0;
	}
	row = &gathering->out->rows[found - 1];
	sonde_heap_sum_add(&row->sum, sum);
	if (has > row->stack_has) {
		row->stack = place.stack;
		row->stack_has = has;
	}
	return 0;
}

/* Skips sites that neither allocated nor held anything. */
int sonde_heap_places_make(struct sonde_heap_places *out, const struct sonde_heap_pass *pass, int by_line,
			   enum sonde_heap_order order)
{
	size_t sites = sonde_session_heap_site_count(pass->session);
	struct gathering gathering = {.pass = pass, .by_line = by_line, .order = order, .out = out};
	*out = (struct sonde_heap_places){0};
	gathering.known = calloc(sonde_session_function_count(pass->session) + 1, 1);
	int rc = gathering.known ? 0 : -ENOMEM;
	for (uint32_t id = 0; !rc && id <= sites; id++) {
		const struct sonde_heap_sum *sum = &pass->sums.sites[id];
		if (sum->begins || sum->ends || sum->peak_b || sum->left_b)
			rc = site_add(&gathering, id, sum);
	}
	sonde_map_fini(&gathering.map);
	free(gathering.known);
	if (rc) {
		sonde_heap_places_free(out);
		return sonde_error(ENOMEM, "out of memory for %zu places that allocate", sites);
	}
	if (out->count)
		qsort_r(out->rows, out->count, sizeof *out->rows, compare_values, &order);
	return 0;
}

void sonde_heap_places_free(struct sonde_heap_places *places)
{
	free(places->rows);
	*places = (struct sonde_heap_places){0};
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_function *function = sonde_session_function(session, id);
	return function ? function->name : "(unknown)";
}

const struct sonde_location *sonde_heap_location(const struct sonde_session *session, uint32_t stack, uint8_t *known)
{
	return spot_find(session, stack, known).location;
}

const char *sonde_heap_place_name(const struct sonde_heap_pass *pass, const struct sonde_heap_place *place)
{
	/* without preloaded hooks, blocks of a pool have no stack */
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

/* Moves the text from `buf` into the report. A text longer than TEXT_MAX_B was truncated in `buf`. */
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
		return "an unknown call site";
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
