/* phases.c: the phases of a run: the zones of the thread that spends the most time in zones, level by level.
 *
 * A thread's zones nest as a tree of sites. Phases are its outermost zones in the order in which they first begin, and
 * the time outside of any. If one of them covers nearly everything (an iteration, an epoch), its own parts are the
 * phases. Shares of a thread's time add up to 1.
 *
 * Zones arrive in the order in which they end, so a parent arrives after its children. Each depth has a list of ended
 * zones, which wait there until their parent ends and adopts them. If a waiting zone began before that parent did, its
 * own parent could not be read. Lists are short, so that a zone costs little: a list with very many sites merges the
 * rest into "(others)".
 */
#include "analyze/marks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/statistics/stats.h"
#include "analyze/window.h"
#include "analyze/words.h"
#include "session/intervals.h"
#include "util/array.h"
#include "util/error.h"

#define THREAD "--thread"
#define TITLE "Phases of the run"
#define NEARLY_ALL 0.80 /* a zone with this share of the time in zones is replaced by its parts */

enum { DEPTHS = 6, DEFAULT_ROWS = 30 }; /* deeper zones count in their parents */
enum { SITES_MAX = 256, POOL_MAX = 1000000 };
#define OTHERS UINT32_MAX /* used in place of a site */

enum { PHASE, CALLS, TOTAL, SHARE, MEAN, BEGINS, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [PHASE] = {"phase", "phase", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [CALLS] = {"calls", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL] = {"total_ns", "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {"share", "of the thread", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {"mean_ns", "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [BEGINS] = {"first_ns", "first after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
};

/* All zones of one site within those of another. Indices start at 1: 0 is none. */
struct phase {
	uint32_t site, next, first_child;
	uint64_t calls, ns, first_ns;
};

struct lane {
	uint32_t ended[DEPTHS];   /* [0]: the outermost; deeper ones until their parent ends */
	uint64_t from_ns[DEPTHS]; /* when the first zone in that list began */
	uint64_t ns;              /* total duration of the thread's outermost zones */
};

struct phases {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	struct lane *lanes; /* by thread id */
	size_t threads;
	struct phase *pool;
	size_t cap;
	uint32_t count, unused; /* unused: a list of entries whose contents were adopted */
	uint64_t orphans;       /* lists whose enclosing zone could not be read */
};

static void phases_end(void *state)
{
	struct phases *phases = state;
	free(phases->lanes);
	free(phases->pool);
}

static int phases_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct phases *phases = state;
	phases->session = session;
	phases->options = *options;
	phases->window = sonde_window_of(session, options);
	phases->threads = sonde_session_thread_count(session) + 1;
	phases->lanes = calloc(phases->threads, sizeof *phases->lanes);
	return phases->lanes ? 0 : sonde_error(ENOMEM, "out of memory for %zu threads", phases->threads);
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

/* 0: out of memory, or at the limit. */
static uint32_t phase_new(struct phases *phases)
{
	uint32_t at = phases->unused;
	if (at) {
		phases->unused = phases->pool[at].next;
		return at;
	}
	if (phases->count == POOL_MAX)
		return 0;
	if (SONDE_ARRAY_RESERVE(phases->pool, phases->cap, phases->count + 2))
		return 0;
	return ++phases->count;
}

static void add(struct phase *to, const struct phase *from)
{
	to->first_ns = !to->calls || from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	to->calls += from->calls;
	to->ns += from->ns;
}

/* A site's phase in a list, or 0. *out_site: the key used there, OTHERS if the list is full. */
static uint32_t find(const struct phases *phases, uint32_t list, uint32_t site, uint32_t *out_site)
{
	size_t length = 0;
	uint32_t others = 0;
	*out_site = site;
	for (; list; list = phases->pool[list].next, length++) {
		if (phases->pool[list].site == site)
			return list;
		if (phases->pool[list].site == OTHERS)
			others = list;
	}
	if (length < SITES_MAX)
		return 0;
	*out_site = OTHERS;
	return others;
}

/* Merges list `from` into list `to`, combining common sites. Lists are at most DEPTHS deep. */
static uint32_t take_over(struct phases *phases, uint32_t to, uint32_t from) // NOLINT(misc-no-recursion)
{
	struct phase *pool = phases->pool;
	while (from) {
		uint32_t at = from, same = find(phases, to, pool[at].site, &pool[at].site);
		from = pool[at].next;
		if (same) {
			add(&pool[same], &pool[at]);
			pool[same].first_child = take_over(phases, pool[same].first_child, pool[at].first_child);
			pool[at].next = phases->unused;
			phases->unused = at;
		} else {
			pool[at].next = to;
			to = at;
		}
	}
	return to;
}

/* Moves the zones that ended at `depth` into the zone `at` that encloses them, which began at from_ns. */
static void adopt(struct phases *phases, struct lane *lane, uint32_t at, unsigned depth, uint64_t from_ns)
{
	if (!lane->ended[depth])
		return;
	if (lane->from_ns[depth] < from_ns)
		phases->orphans++;
	else
		phases->pool[at].first_child = take_over(phases, phases->pool[at].first_child, lane->ended[depth]);
	lane->ended[depth] = 0;
}

/* `from_ns`: start of the zone, possibly before the window. */
static int zone_add(struct phases *phases, struct lane *lane, const struct phase *zone, unsigned depth,
		    uint64_t from_ns)
{
	uint32_t site, at = find(phases, lane->ended[depth], zone->site, &site);
	if (!lane->ended[depth] || from_ns < lane->from_ns[depth])
		lane->from_ns[depth] = from_ns;
	if (!at) {
		at = phase_new(phases);
		if (!at && phases->count < POOL_MAX)
			return sonde_error(ENOMEM, "out of memory for phases");
		if (!at) /* counts in its parent, outside of the parts */
			return 0;
		phases->pool[at] = (struct phase){.site = site, .next = lane->ended[depth]};
		lane->ended[depth] = at;
	}
	add(&phases->pool[at], zone);
	if (depth == 0)
		lane->ns += zone->ns;
	if (depth + 1 < DEPTHS)
		adopt(phases, lane, at, depth + 1, from_ns);
	return 0;
}

/* True for a zone that only touches the selected time. */
static int is_outside(const struct phases *phases, uint64_t from_ns, uint64_t to_ns)
{
	const struct sonde_pass_options *options = &phases->options;
	return (options->selection.to_ns && from_ns >= options->selection.to_ns) ||
	       (options->selection.from_ns && to_ns <= options->selection.from_ns && from_ns < to_ns);
}

static int phases_feed(void *state, const struct sonde_batch *batch)
{
	struct phases *phases = state;
	const struct sonde_window *window = &phases->window;
	if (batch->type != SONDE_CHUNK_ZONES || batch->thread >= phases->threads ||
	    (phases->options.selection.thread && !phases->options.selection.thread[batch->thread]))
		return 0;
	for (size_t i = 0; i < batch->count; i++) {
		uint64_t from_ns = batch->zones.start_ns[i], to_ns = from_ns + batch->zones.dur_ns[i];
		from_ns = from_ns > window->from_ns ? from_ns : window->from_ns;
		to_ns = to_ns < window->to_ns ? to_ns : window->to_ns;
		if (batch->zones.depth[i] >= DEPTHS || to_ns < from_ns ||
		    is_outside(phases, batch->zones.start_ns[i], batch->zones.start_ns[i] + batch->zones.dur_ns[i]))
			continue;
		struct phase zone = {
		    .site = batch->zones.site[i], .calls = 1, .ns = to_ns - from_ns, .first_ns = from_ns};
		int rc = zone_add(phases, &phases->lanes[batch->thread], &zone, batch->zones.depth[i],
				  batch->zones.start_ns[i]);
		if (rc)
			return rc;
	}
	return 0;
}

/* --- the section -------------------------------------------------------------------------------------------------- */

static uint32_t most_of(const struct phases *phases, uint32_t list)
{
	uint32_t most = list;
	for (; list; list = phases->pool[list].next)
		most = phases->pool[list].ns > phases->pool[most].ns ? list : most;
	return most;
}

/* The list whose members are the phases; the enclosing ones go to `around`, outermost first. */
static uint32_t choose_level(const struct phases *phases, const struct lane *lane, uint32_t *around, size_t *count)
{
	uint32_t list = lane->ended[0];
	*count = 0;
	for (;;) {
		uint32_t most = most_of(phases, list);
		if (!phases->pool[most].first_child || (double)phases->pool[most].ns < NEARLY_ALL * (double)lane->ns)
			return list;
		around[(*count)++] = most;
		list = phases->pool[most].first_child;
	}
}

static const char *name_of(const struct phases *phases, uint32_t site)
{
	const struct sonde_site *row = sonde_session_site(phases->session, site);
	if (site == OTHERS)
		return "(others)";
	return row && *row->name ? row->name : "(unnamed)";
}

static void row_add(const struct phases *phases, const struct phase *phase, const char *name, uint64_t span_ns,
		    struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	row[PHASE] = sonde_cell_text(name);
	row[TOTAL] = sonde_cell_int(phase->ns);
	row[SHARE] = sonde_cell_real(sonde_stats_share((double)phase->ns, (double)span_ns), 0);
	row[CALLS] = row[MEAN] = row[BEGINS] = sonde_cell_absent("in no phase");
	if (phase->calls) {
		row[CALLS] = sonde_cell_int(phase->calls);
		row[MEAN] = sonde_cell_real((double)phase->ns / (double)phase->calls, 0);
		row[BEGINS] = sonde_cell_int(phase->first_ns - sonde_session_run(phases->session)->start_ns);
	}
}

static int by_begin(const void *left, const void *right)
{
	const struct phase *a = left, *b = right;
	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return (a->ns < b->ns) - (a->ns > b->ns);
}

static int by_length(const void *left, const void *right)
{
	const struct phase *a = left, *b = right;
	return a->ns != b->ns ? (a->ns < b->ns) - (a->ns > b->ns) : by_begin(a, b);
}

/* Adds the longest entries of a list except `except`, in the order in which they first began, and one row for the
 * others. */
static void list_add(const struct phases *phases, uint32_t list, uint32_t except, uint64_t span_ns,
		     struct sonde_report *report, struct sonde_section *section)
{
	size_t limit = phases->options.limit ? phases->options.limit : DEFAULT_ROWS, count = 0;
	struct phase rows[SITES_MAX + 1], others = {0};
	for (; list; list = phases->pool[list].next)
		if (list != except && count < SITES_MAX + 1)
			rows[count++] = phases->pool[list];
	qsort(rows, count, sizeof *rows, by_length);
	for (size_t i = limit; i < count; i++)
		add(&others, &rows[i]);
	size_t shown = count < limit ? count : limit;
	qsort(rows, shown, sizeof *rows, by_begin);
	for (size_t i = 0; i < shown; i++)
		row_add(phases, &rows[i], name_of(phases, rows[i].site), span_ns, report, section);
	if (!others.calls)
		return;
	const char *name = sonde_report_text(report, "(%zu others)", count - shown);
	row_add(phases, &others, name, span_ns, report, section);
}

/* Adds what the enclosing zones contain besides the phases: for each of these zones, its time outside of its parts, and
 * its siblings. */
static void remainder_add(const struct phases *phases, const struct lane *lane, const uint32_t *around, size_t count,
			  uint64_t span_ns, struct sonde_report *report, struct sonde_section *section)
{
	uint32_t siblings = lane->ended[0];
	for (size_t i = 0; i < count; i++) {
		const struct phase *phase = &phases->pool[around[i]];
		struct phase own = {.ns = phase->ns};
		for (uint32_t at = phase->first_child; at; at = phases->pool[at].next)
			own.ns -= own.ns < phases->pool[at].ns ? own.ns : phases->pool[at].ns;
		const char *text = sonde_report_text(report, "(%s, outside its parts)", name_of(phases, phase->site));
		if (own.ns)
			row_add(phases, &own, text, span_ns, report, section);
		list_add(phases, siblings, around[i], span_ns, report, section);
		siblings = phase->first_child;
	}
	struct phase none = {.ns = span_ns > lane->ns ? span_ns - lane->ns : 0};
	if (none.ns)
		row_add(phases, &none, "(in no zone)", span_ns, report, section);
}

static void notes_add(const struct phases *phases, uint32_t thread, uint64_t span_ns, struct sonde_report *report,
		      struct sonde_section *section)
{
	const struct sonde_thread *row = sonde_session_thread(phases->session, thread);
	const struct lane *lane = &phases->lanes[thread];
	size_t others = 0;
	for (size_t i = 1; i < phases->threads; i++)
		others += i != thread && phases->lanes[i].ns;
	sonde_report_note(report, section, 0, "100 %% = %.6f s of %s (tid %u); zones cover %.1f %% of it",
			  (double)span_ns / 1e9, row->name, row->tid,
			  100 * sonde_stats_share((double)lane->ns, (double)span_ns));
	if (phases->orphans)
		sonde_report_note(report, section, 1,
				  "the contents of %llu zone%s are unknown: some zone ends could not be read",
				  (unsigned long long)phases->orphans, sonde_plural(phases->orphans));
	if (!others)
		return;
	sonde_report_note(report, section, 0, "%zu other thread%s with zones: " THREAD " shows %s", others,
			  sonde_plural(others), sonde_word(others, "it", "one of them"));
	sonde_report_advise(report, section, SONDE_ACTION_THREAD, THREAD);
}

static void section_add(const struct phases *phases, uint32_t thread, struct sonde_report *report)
{
	const struct lane *lane = &phases->lanes[thread];
	uint32_t around[DEPTHS], list;
	uint64_t from_ns, to_ns;
	size_t levels;
	list = choose_level(phases, lane, around, &levels);
	sonde_interval_life(phases->session, sonde_session_thread(phases->session, thread), &from_ns, &to_ns);
	from_ns = from_ns > phases->window.from_ns ? from_ns : phases->window.from_ns;
	to_ns = to_ns < phases->window.to_ns ? to_ns : phases->window.to_ns;
	uint64_t span_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	struct sonde_section *section = sonde_report_table(report, "phases", TITLE, columns, COLUMNS);
	list_add(phases, list, 0, span_ns, report, section);
	remainder_add(phases, lane, around, levels, span_ns, report, section);
	notes_add(phases, thread, span_ns, report, section);
}

static int phases_finish(void *state, struct sonde_report *report)
{
	const struct phases *phases = state;
	uint32_t most = 0;
	for (uint32_t i = 1; i < phases->threads; i++)
		if (phases->lanes[i].ns && (!most || phases->lanes[i].ns > phases->lanes[most].ns))
			most = i;
	if (!most)
		return sonde_pass_nothing(&phases->options, report, "phases", TITLE,
					  "no thread has zones in this time");
	section_add(phases, most, report);
	return 0;
}

const struct sonde_pass sonde_pass_phases = {
    .name = "phases",
    .needs = SONDE_NEEDS(API),
    .has = sonde_has_zones,
    .title = "phases of the run, and how much of it zones cover",
    .types = 1u << SONDE_CHUNK_ZONES,
    .state_b = sizeof(struct phases),
    .begin = phases_begin,
    .feed = phases_feed,
    .finish = phases_finish,
    .end = phases_end,
};
