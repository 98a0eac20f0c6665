/* histogram.c: durations of the instances of one zone or span: statistics, and counts on a logarithmic scale.
 *
 * Durations are counted in 32 bars per octave, with edges at whole ns. Bars are then merged until there are no more
 * than requested: counts stay exact, and a bar's edges tell which instances are in it. A zone is selected by name,
 * wherever in the source it begins; an instance that never ended has no duration and is in no bar. By default, the zone
 * with the largest total time is shown; if there are no zones, the span.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/zone/durations.h"
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"
#include "analyze/zone/span_pairs.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"
#include "util/search.h"

enum { DEFAULT_ROWS = 40, FINEST = 32, EDGES = 64 * FINEST + 1, BARS = EDGES + 1 };
enum { FROM, TO, COUNT, SHARE, BELOW, TOTAL_NS, TOTAL_SHARE, COLUMNS };
enum { NAME, INSTANCES, ALL_NS, MEAN, ONE_COLUMNS = MEAN + SONDE_DURATION_CELLS };

static const struct sonde_column columns[COLUMNS] = {
    [FROM] = {"from_ns", "from", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [TO] = {"to_ns", "to less than", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [COUNT] = {"count", "count", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {"share", "of all", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [BELOW] = {"cumulative_share", "cumulative", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
    [TOTAL_NS] = {"total_ns", "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL_SHARE] = {"total_share", "of the time", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
};

static const struct sonde_column one_columns[ONE_COLUMNS] = {
    [NAME] = {"zone", "zone or span", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [INSTANCES] = {"count", "ended", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [ALL_NS] = {"total_ns", "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    SONDE_DURATION_COLUMNS(MEAN),
};

/* Bar 0 counts durations below 1 ns, bar i those from edge i − 1 up to edge i. */
struct bar {
	uint64_t count, total_ns;
};

struct histogram {
	struct sonde_session *session;
	struct sonde_pass_options options;
	const char *name; /* NULL: there are neither zones nor spans */
	uint8_t *wanted;  /* by site id */
	size_t sites;
	int of_spans; /* the name is a span's */
	struct sonde_annotations marks;
	uint64_t unfinished, total_ns;
	struct sonde_durations durations;
	uint64_t edge[EDGES]; /* ascending; adjacent edges are equal where there is no whole ns between them */
	struct bar bars[BARS];
};

static uint64_t edge_at(size_t i)
{
	if (i >= EDGES - 1)
		return UINT64_MAX;
	if (i % FINEST == 0)
		return 1ull << (i / FINEST);
	return (uint64_t)ceil(ldexp(exp2((double)(i % FINEST) / FINEST), (int)(i / FINEST)));
}

static int histogram_add(struct histogram *histogram, uint64_t dur_ns)
{
	unsigned octave = dur_ns ? 63u - (unsigned)__builtin_clzll(dur_ns) : 0;
	size_t from = octave * FINEST;
	size_t at = dur_ns ? SONDE_SEARCH(i, from, from + FINEST, histogram->edge[i] <= dur_ns) : 0;
	histogram->bars[at].count++;
	histogram->bars[at].total_ns += dur_ns;
	histogram->total_ns += dur_ns;
	return sonde_durations_add(&histogram->durations, dur_ns) ? sonde_error(ENOMEM, "out of memory for durations")
								  : 0;
}

/* --- selection ---------------------------------------------------------------------------------------------------- */

/* The name of the zone with the largest total time. */
static int pick_zone(struct histogram *histogram)
{
	struct sonde_zone_stat *stats = calloc(histogram->sites, sizeof *stats);
	uint64_t most_ns = 0;
	int rc = stats ? sonde_session_zone_stats(histogram->session, stats)
		       : sonde_error(ENOMEM, "out of memory for zones");
	if (stats && rc != -ENOMEM) /* unreadable chunks are skipped, which the report notes */
		rc = 0;
	for (uint32_t id = 1; rc == 0 && id < histogram->sites; id++) {
		const struct sonde_site *site = sonde_session_site(histogram->session, id);
		if (site->kind != SONDE_SITE_ZONE || !stats[id].count ||
		    (histogram->name && stats[id].total_ns <= most_ns))
			continue;
		most_ns = stats[id].total_ns;
		histogram->name = site->name;
	}
	free(stats);
	for (uint32_t id = 1; rc == 0 && !histogram->name && id < histogram->sites; id++)
		if (sonde_session_site(histogram->session, id)->kind == SONDE_SITE_SPAN)
			histogram->name = sonde_session_site(histogram->session, id)->name;
	return rc;
}

/* Marks all sites of the name as wanted: those of zones or, if there are none, those of spans. */
static void want_sites(struct histogram *histogram)
{
	static const uint32_t kinds[] = {SONDE_SITE_ZONE, SONDE_SITE_SPAN};
	size_t count = 0;
	for (size_t k = 0; k < 2 && !count; k++) {
		for (uint32_t id = 1; id < histogram->sites; id++) {
			const struct sonde_site *site = sonde_session_site(histogram->session, id);
			histogram->wanted[id] = site->kind == kinds[k] && strcmp(site->name, histogram->name) == 0;
			count += histogram->wanted[id];
		}
		histogram->of_spans = k == 1 && count;
	}
}

static int histogram_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct histogram *histogram = state;
	histogram->session = session;
	histogram->options = *options;
	histogram->name = options->focus;
	histogram->sites = sonde_session_site_count(session) + 1;
	sonde_marks_init(&histogram->marks, session, options,
			 1u << SONDE_EVENT_SPAN_BEGIN | 1u << SONDE_EVENT_SPAN_END);
	histogram->wanted = calloc(histogram->sites, 1);
	for (size_t i = 0; i < EDGES; i++)
		histogram->edge[i] = edge_at(i);
	int rc = histogram->wanted ? 0 : sonde_error(ENOMEM, "out of memory for a histogram");
	if (rc == 0 && !histogram->name)
		rc = pick_zone(histogram);
	if (rc == 0 && histogram->name)
		want_sites(histogram);
	return rc;
}

static void histogram_end(void *state)
{
	struct histogram *histogram = state;
	sonde_marks_end(&histogram->marks);
	sonde_durations_fini(&histogram->durations);
	free(histogram->wanted);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static uint32_t histogram_wants(const void *state)
{
	const struct histogram *histogram = state;
	return !histogram->name ? 0 : histogram->of_spans ? 1u << SONDE_CHUNK_EVENTS : 1u << SONDE_CHUNK_ZONES;
}

static int histogram_feed(void *state, const struct sonde_batch *batch)
{
	struct histogram *histogram = state;
	int rc = 0;
	if (histogram->of_spans)
		return sonde_marks_feed(&histogram->marks, batch);
	for (size_t i = 0; i < batch->count && rc == 0; i++) {
		if (batch->zones.site[i] >= histogram->sites || !histogram->wanted[batch->zones.site[i]] ||
		    !sonde_pass_takes(&histogram->options, batch->zones.start_ns[i], batch->thread))
			continue;
		if (batch->zones.flags[i] & SONDE_ZONE_UNFINISHED)
			histogram->unfinished++;
		else
			rc = histogram_add(histogram, batch->zones.dur_ns[i]);
	}
	return rc;
}

static int histogram_merge(void *state, void *other_state)
{
	struct histogram *histogram = state, *other = other_state;
	for (size_t i = 0; i < BARS; i++) {
		histogram->bars[i].count += other->bars[i].count;
		histogram->bars[i].total_ns += other->bars[i].total_ns;
	}
	histogram->unfinished += other->unfinished;
	histogram->total_ns += other->total_ns;
	sonde_durations_merge(&histogram->durations, &other->durations);
	return histogram->of_spans ? sonde_marks_merge(&histogram->marks, &other->marks) : 0;
}

static int take_span(void *context, const struct sonde_mark *begin, uint64_t dur_ns)
{
	struct histogram *histogram = context;
	if (begin->site >= histogram->sites || !histogram->wanted[begin->site])
		return 0;
	if (dur_ns != SONDE_SPAN_OPEN)
		return histogram_add(histogram, dur_ns);
	histogram->unfinished++;
	return 0;
}

/* --- the sections ------------------------------------------------------------------------------------------------- */

static int one_add(const struct histogram *histogram, struct sonde_report *report)
{
	struct sonde_section *section =
	    sonde_report_table(report, "zone-durations", "Instances of a zone or span", one_columns, ONE_COLUMNS);
	struct sonde_cell *row = section ? sonde_report_row(report, section) : NULL;
	if (!row)
		return sonde_error(ENOMEM, "out of memory for a histogram");
	row[NAME] = sonde_cell_text(histogram->name);
	row[INSTANCES] = sonde_cell_int(histogram->durations.count);
	row[ALL_NS] = sonde_cell_int(histogram->total_ns);
	sonde_durations_cells(&histogram->durations, &row[MEAN]);
	sonde_durations_note(histogram->durations.count, report, section);
	if (!histogram->unfinished)
		return 0;
	sonde_report_note(report, section, 1, "%llu that never ended %s left out",
			  (unsigned long long)histogram->unfinished, sonde_word(histogram->unfinished, "is", "are"));
	return 0;
}

/* Merges `step` finest bars, starting at `first`. */
static struct bar bar_of(const struct histogram *histogram, size_t first, size_t step)
{
	struct bar sum = {0};
	for (size_t i = first; i < first + step && i < BARS; i++) {
		sum.count += histogram->bars[i].count;
		sum.total_ns += histogram->bars[i].total_ns;
	}
	return sum;
}

static void row_add(const struct histogram *histogram, struct sonde_report *report, struct sonde_section *section,
		    size_t first, size_t step, uint64_t *below)
{
	struct bar bar = bar_of(histogram, first, step);
	size_t end = first + step - 1 < EDGES ? first + step - 1 : EDGES - 1;
	uint64_t from_ns = first ? histogram->edge[first - 1] : 0, to_ns = first ? histogram->edge[end] : 1;
	double all = (double)histogram->durations.count;
	if (from_ns == to_ns) /* contains no whole ns */
		return;
	struct sonde_cell *row = sonde_report_row(report, section);
	*below += bar.count;
	row[FROM] = sonde_cell_int(from_ns);
	row[TO] = sonde_cell_int(to_ns);
	row[COUNT] = sonde_cell_int(bar.count);
	row[SHARE] = sonde_cell_real(sonde_stats_share((double)bar.count, all), 0);
	row[BELOW] = sonde_cell_real(sonde_stats_share((double)*below, all), 0);
	row[TOTAL_NS] = sonde_cell_int(bar.total_ns);
	row[TOTAL_SHARE] = sonde_cell_real(sonde_stats_share((double)bar.total_ns, (double)histogram->total_ns), 0);
}

/* Start of the merged bar that contains a finest bar; bar 0 stays separate. */
static size_t first_of(size_t at, size_t step)
{
	return at ? (at - 1) / step * step + 1 : 0;
}

static void bars_add(const struct histogram *histogram, struct sonde_report *report)
{
	struct sonde_section *section =
	    sonde_report_table(report, "zone-histogram", "Durations, on a logarithmic scale", columns, COLUMNS);
	size_t limit = histogram->options.limit ? histogram->options.limit : DEFAULT_ROWS;
	size_t low = 0, high = BARS, step = 1;
	uint64_t below = 0;
	while (low < BARS - 1 && !histogram->bars[low].count)
		low++;
	while (high > low + 1 && !histogram->bars[high - 1].count)
		high--;
	while ((high - low + step - 1) / step + 1 > limit && step < FINEST * 64)
		step *= 2;
	for (size_t at = first_of(low, step); at < high; at += at ? step : 1)
		row_add(histogram, report, section, at, at ? step : 1, &below);
	if (step <= FINEST)
		sonde_report_note(report, section, 0, "%zu bar%s per doubling", FINEST / step,
				  sonde_plural(FINEST / step));
	else
		sonde_report_note(report, section, 0, "%zu doublings per bar", step / FINEST);
}

static int histogram_finish(void *state, struct sonde_report *report)
{
	struct histogram *histogram = state;
	uint64_t unmatched;
	int rc = histogram->of_spans ? sonde_span_pairs(&histogram->marks, take_span, histogram, &unmatched) : 0;
	if (rc)
		return rc;
	if (!histogram->name)
		return sonde_pass_nothing(&histogram->options, report, "zone-histogram", "Histogram of a zone",
					  "no zones: mark scopes with SONDE_ZONE(\"name\") (sonde/sonde.h)");
	if (!histogram->durations.count) {
		const char *why =
		    sonde_report_text(report, "nothing named %s ended in this %s", histogram->name,
				      sonde_pass_selects(&histogram->options) ? "selection" : "recording");
		return sonde_pass_nothing(&histogram->options, report, "zone-histogram", "Histogram of a zone", why);
	}
	rc = one_add(histogram, report);
	if (!rc)
		bars_add(histogram, report);
	return rc;
}

const struct sonde_pass sonde_pass_zone_histogram = {
    .name = "zone-histogram",
    .needs = SONDE_NEEDS(API),
    .has = sonde_has_zones_or_spans,
    .title = "durations of one zone or span (--focus NAME)",
    .types = 1u << SONDE_CHUNK_ZONES | 1u << SONDE_CHUNK_EVENTS,
    .state_b = sizeof(struct histogram),
    .begin = histogram_begin,
    .wants = histogram_wants,
    .feed = histogram_feed,
    .merge = histogram_merge,
    .finish = histogram_finish,
    .end = histogram_end,
};
