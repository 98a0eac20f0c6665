/* zones.c: the statistics of zones by site.
 *
 * The statistics are computed in one of two ways. Every zone is decoded if that is cheap, if the section was requested,
 * or if a range or thread was selected: then there are percentiles and a standard deviation. Otherwise the totals in
 * the chunk summaries are added without decoding anything: ten million zones in milliseconds.
 *
 * A zone nested in one of the same site adds nothing to the site's total, so that no total counts time twice; in
 * everything else it counts as a call of its own. A zone that never ended counts in calls, total and self up to the end
 * of the recording; its duration is unknown and left out of mean, spread and percentiles.
 */
#include "analyze/zone/durations.h"
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"
#include "analyze/window.h"
#include "analyze/work/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

#define ZONES "--section zones"

enum { DEFAULT_ROWS = 20, DECODE_MAX = 4000000 };
enum { NAME, CALLS, SELF_SHARE, SELF_NS, TOTAL_NS, MEAN, FILE_NAME = MEAN + SONDE_DURATION_CELLS, LINE, COLUMNS };
enum { FLOP = COLUMNS, FLOP_RATE, BYTES_RATE, ITEMS_RATE, WORK_COLUMNS };

static const struct sonde_column columns[WORK_COLUMNS] = {
    [NAME] = {SONDE_COLUMN_KEY(zones, zone), "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [CALLS] = {SONDE_COLUMN_KEY(zones, calls), "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [SELF_SHARE] = {"self_share", "of the run", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SELF_NS] = {SONDE_COLUMN_KEY(zones, self_ns), "self", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL_NS] = {SONDE_COLUMN_KEY(zones, total_ns), "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    SONDE_DURATION_COLUMNS(MEAN),
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 6},
    [LINE] = {"line", "line", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 6},
    [FLOP] = {"flop", "FLOP", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 5},
    [FLOP_RATE] = {"flop_per_sec", "FLOP/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 5},
    [BYTES_RATE] = {"bytes_per_sec", "B/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 5},
    [ITEMS_RATE] = {"items_per_sec", "items/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 5},
};

struct zone {
	uint64_t count, total_ns, self_ns, unfinished;
	uint64_t share_ns; /* self time within the window */
	struct sonde_durations durations;
	double flop, bytes, items;
};

struct zones {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct zone *rows; /* by site id; 0 = unknown site */
	size_t sites;
	int decode;
	struct sonde_works works;
	struct sonde_window window;
};

static void zones_end(void *state)
{
	struct zones *zones = state;
	for (size_t i = 0; zones->rows && i < zones->sites; i++)
		sonde_durations_fini(&zones->rows[i].durations);
	free(zones->rows);
	sonde_works_fini(&zones->works);
}

/* Adds the totals of the chunk summaries; `all`: the total number of zones. */
static int sums_read(struct zones *zones, uint64_t *all)
{
	struct sonde_zone_stat *stats = calloc(zones->sites, sizeof *stats);
	int rc =
	    stats ? sonde_session_zone_stats(zones->session, stats) : sonde_error(ENOMEM, "out of memory for zones");
	if (stats && rc != -ENOMEM) /* unreadable chunks are skipped, which the report notes */
		rc = 0;
	for (size_t i = 0; rc == 0 && i < zones->sites; i++) {
		struct zone *zone = &zones->rows[i];
		*all += stats[i].count;
		zone->count = stats[i].count;
		zone->total_ns = stats[i].total_ns;
		zone->self_ns = zone->share_ns = stats[i].self_ns;
		zone->durations.min = stats[i].min_ns;
		zone->durations.max = stats[i].max_ns;
	}
	free(stats);
	return rc;
}

static int zones_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct zones *zones = state;
	uint64_t all = 0;
	zones->session = session;
	zones->options = *options;
	zones->window = sonde_window_of(session, options);
	zones->sites = sonde_session_site_count(session) + 1;
	zones->rows = calloc(zones->sites, sizeof *zones->rows);
	int rc = zones->rows ? sums_read(zones, &all) : sonde_error(ENOMEM, "out of memory for zones");
	if (rc == 0 && (options->requested || options->selection.from_ns || options->selection.to_ns ||
			options->selection.thread || all <= DECODE_MAX)) {
		zones->decode = 1;
		memset(zones->rows, 0, zones->sites * sizeof *zones->rows);
		rc = sonde_works_read(&zones->works, session, SONDE_WORKS_MOST);
	}
	return rc;
}

static uint32_t zones_wants(const void *state)
{
	return ((const struct zones *)state)->decode ? 1u << SONDE_CHUNK_ZONES : 0;
}

/* A flight recording contains zones that began before its first event, or ended after its last. */
static uint64_t self_in_window(const struct zones *zones, const struct sonde_batch *batch, size_t i)
{
	uint64_t from_ns = batch->zones.start_ns[i], to_ns = from_ns + batch->zones.dur_ns[i];
	if (!zones->window.held)
		return batch->zones.self_ns[i];
	from_ns = from_ns > zones->window.from_ns ? from_ns : zones->window.from_ns;
	to_ns = to_ns < zones->window.to_ns ? to_ns : zones->window.to_ns;
	uint64_t within_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	return within_ns < batch->zones.self_ns[i] ? within_ns : batch->zones.self_ns[i];
}

/* Adds the consecutive zones from `from` on with the same site and flags; returns their number, or a negative errno. */
static ssize_t add_alike(struct zones *zones, const struct sonde_batch *batch, size_t from)
{
	uint32_t site = batch->zones.site[from];
	unsigned flags = batch->zones.flags[from];
	struct zone *zone = &zones->rows[site < zones->sites ? site : 0];
	uint64_t self_ns = 0, dur_ns = 0, share_ns = 0;
	size_t end = from;
	for (; end < batch->count && batch->zones.site[end] == site && batch->zones.flags[end] == flags; end++) {
		self_ns += batch->zones.self_ns[end];
		share_ns += self_in_window(zones, batch, end);
		dur_ns += batch->zones.dur_ns[end];
	}
	zone->count += end - from;
	zone->self_ns += self_ns;
	zone->share_ns += share_ns;
	zone->total_ns += flags & SONDE_ZONE_RECURSIVE ? 0 : dur_ns;
	if (flags & SONDE_ZONE_UNFINISHED)
		zone->unfinished += end - from;
	else if (sonde_durations_add_all(&zone->durations, batch->zones.dur_ns + from, end - from))
		return -ENOMEM;
	return (ssize_t)(end - from);
}

/* Adds every zone of a batch. */
static int feed_all(struct zones *zones, const struct sonde_batch *batch)
{
	ssize_t added = 0;
	for (size_t i = 0; i < batch->count && added >= 0; i += (size_t)added)
		added = add_alike(zones, batch, i);
	return added < 0 ? (int)added : 0;
}

static int zones_feed(void *state, const struct sonde_batch *batch)
{
	struct zones *zones = state;
	const struct sonde_pass_options *options = &zones->options;
	int all = !options->selection.from_ns && !options->selection.to_ns && !options->selection.thread, rc = 0;
	if (batch->type != SONDE_CHUNK_ZONES)
		return 0;
	if (all)
		rc = feed_all(zones, batch);
	for (size_t i = 0; !all && i < batch->count && rc == 0; i++) {
		struct zone *zone = &zones->rows[batch->zones.site[i] < zones->sites ? batch->zones.site[i] : 0];
		unsigned flags = batch->zones.flags[i];
		if (!sonde_pass_takes(options, batch->zones.start_ns[i], batch->thread))
			continue;
		zone->count++;
		zone->self_ns += batch->zones.self_ns[i];
		zone->share_ns += self_in_window(zones, batch, i);
		zone->total_ns += flags & SONDE_ZONE_RECURSIVE ? 0 : batch->zones.dur_ns[i];
		if (flags & SONDE_ZONE_UNFINISHED)
			zone->unfinished++;
		else
			rc = sonde_durations_add(&zone->durations, batch->zones.dur_ns[i]);
	}
	sonde_works_charge(&zones->works, batch);
	return rc < 0 ? sonde_error(-rc, "out of memory for zones") : 0;
}

static int zones_merge(void *state, void *other_state)
{
	struct zones *zones = state, *other = other_state;
	if (!zones->decode)
		return 0;
	for (size_t i = 0; i < zones->sites && i < other->sites; i++) {
		struct zone *zone = &zones->rows[i], *more = &other->rows[i];
		zone->count += more->count;
		zone->total_ns += more->total_ns;
		zone->self_ns += more->self_ns;
		zone->share_ns += more->share_ns;
		zone->unfinished += more->unfinished;
		sonde_durations_merge(&zone->durations, &more->durations);
	}
	sonde_works_merge(&zones->works, &other->works);
	return 0;
}

/* Adds the work to its zones; returns the number of reports outside of any zone. */
static uint64_t work_add(struct zones *zones)
{
	uint64_t outside = 0;
	for (size_t i = 0; i < zones->works.count; i++) {
		const struct sonde_work *work = &zones->works.works[i];
		if (!sonde_pass_takes(&zones->options, work->time_ns, work->thread))
			continue;
		if (!work->depth || work->site >= zones->sites) {
			outside++;
			continue;
		}
		zones->rows[work->site].flop += work->flop;
		zones->rows[work->site].bytes += work->bytes;
		zones->rows[work->site].items += work->items;
	}
	return outside;
}

static int compare(const void *left, const void *right, void *state)
{
	const struct zones *zones = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct zone *x = &zones->rows[a], *y = &zones->rows[b];
	const struct sonde_site *s = sonde_session_site(zones->session, a), *t = sonde_session_site(zones->session, b);
	int by = 0;
	if (zones->options.sort == SONDE_SORT_TOTAL)
		by = (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
	else if (zones->options.sort == SONDE_SORT_COUNT)
		by = (x->count < y->count) - (x->count > y->count);
	else if (zones->options.sort == SONDE_SORT_NAME && s && t)
		by = strcmp(s->name, t->name);
	if (by == 0)
		by = (x->self_ns < y->self_ns) - (x->self_ns > y->self_ns);
	return by ? by : (a > b) - (a < b);
}

static void cells_sums(const struct zone *zone, struct sonde_cell *cells)
{
	for (int i = 0; i < SONDE_DURATION_CELLS; i++)
		cells[i] = sonde_cell_absent("not computed: --section zones");
	cells[0] = sonde_cell_real(sonde_stats_share((double)zone->total_ns, (double)zone->count), 0);
	cells[2] = sonde_cell_int(zone->durations.min);
	cells[6] = sonde_cell_int(zone->durations.max);
}

static struct sonde_cell rate(double work, const struct zone *zone)
{
	if (work <= 0 || !zone->total_ns)
		return sonde_cell_absent("no work reported");
	return sonde_cell_real(work / ((double)zone->total_ns / 1e9), 0);
}

static void row_add(const struct zones *zones, uint32_t id, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_site *site = sonde_session_site(zones->session, id);
	const struct zone *zone = &zones->rows[id];
	row[NAME] = sonde_cell_text(site ? site->name : "(unknown)");
	row[CALLS] = sonde_cell_int(zone->count);
	row[SELF_SHARE] =
	    sonde_cell_real(sonde_stats_share((double)zone->share_ns / 1e9, sonde_window_s(&zones->window)), 0);
	row[SELF_NS] = sonde_cell_int(zone->self_ns);
	row[TOTAL_NS] = sonde_cell_int(zone->total_ns);
	if (zones->decode)
		sonde_durations_cells(&zone->durations, &row[MEAN]);
	else
		cells_sums(zone, &row[MEAN]);
	if (site && *site->file) {
		row[FILE_NAME] = sonde_cell_text(site->file);
		row[LINE] = sonde_cell_int(site->line);
	}
	if (section->table.column_count == COLUMNS)
		return;
	row[FLOP] = zone->flop > 0 ? sonde_cell_real(zone->flop, 0) : sonde_cell_absent("no work reported");
	row[FLOP_RATE] = rate(zone->flop, zone);
	row[BYTES_RATE] = rate(zone->bytes, zone);
	row[ITEMS_RATE] = rate(zone->items, zone);
}

static void notes_add(const struct zones *zones, uint64_t outside, struct sonde_report *report,
		      struct sonde_section *section)
{
	int selected = zones->options.selection.from_ns || zones->options.selection.to_ns;
	uint64_t unfinished = 0, fewest = UINT64_MAX;
	for (size_t i = 0; i < zones->sites; i++) {
		unfinished += zones->rows[i].unfinished;
		if (zones->rows[i].count && zones->rows[i].durations.count < fewest)
			fewest = zones->rows[i].durations.count;
	}
	sonde_report_note(
	    report, section, 0, "shares: self time%s ÷ %.3f s of %s; parallel threads can add up to more than 100 %%",
	    selected ? " of the zones that started in it" : "", sonde_window_s(&zones->window), zones->window.what);
	if (zones->decode)
		sonde_durations_note(fewest, report, section);
	else {
		sonde_report_note(report, section, 0, "from the recorder's sums; std and percentiles: " ZONES);
		sonde_report_advise(report, section, SONDE_ACTION_SECTION, ZONES);
	}
	if (unfinished)
		sonde_report_note(
		    report, section, 1,
		    "%llu zone%s %s: counted up to %s in calls, self and total, but not in means and percentiles",
		    (unsigned long long)unfinished, sonde_plural(unfinished),
		    zones->window.held ? "had not ended when the flight recorder was saved" : "never ended",
		    zones->window.held ? "then" : "the end of the recording");
	if (outside)
		sonde_report_note(report, section, 1, "%llu report%s of work came from outside every zone",
				  (unsigned long long)outside, sonde_plural(outside));
	sonde_works_note(&zones->works, report, section);
	if (section->table.column_count > COLUMNS)
		sonde_report_note(report, section, 0,
				  "rates: Σ work ÷ Σ total time of the zone, as reported by the program");
}

static int zones_finish(void *state, struct sonde_report *report)
{
	struct zones *zones = state;
	size_t limit = zones->options.limit ? zones->options.limit : DEFAULT_ROWS, count = 0;
	uint64_t outside = work_add(zones);
	uint32_t *ids = malloc(zones->sites * sizeof *ids);
	int rc = ids ? 0 : sonde_error(ENOMEM, "out of memory for zones");
	for (uint32_t id = 0; ids && id < zones->sites; id++)
		if (zones->rows[id].count)
			ids[count++] = id;
	if (rc == 0 && count == 0) {
		free(ids);
		return sonde_pass_nothing(&zones->options, report, "zones", "Zones",
					  sonde_session_event_count(zones->session, SONDE_CHUNK_ZONES)
					      ? "no zones in the selected time and threads"
					      : "no zones: mark scopes with SONDE_ZONE(\"name\") (sonde/sonde.h)");
	}
	struct sonde_section *section =
	    sonde_report_table(report, "zones", "Zones", columns, zones->works.count ? WORK_COLUMNS : COLUMNS);
	if (ids)
		qsort_r(ids, count, sizeof *ids, compare, zones);
	if (rc == 0 && !section)
		rc = sonde_error(ENOMEM, "out of memory for zones");
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		row_add(zones, ids[i], report, section);
	free(ids);
	if (rc < 0)
		return rc;
	section->table.omitted = count > limit ? count - limit : 0;
	notes_add(zones, outside, report, section);
	return 0;
}

const struct sonde_pass sonde_pass_zones = {
    .name = "zones",
    .needs = SONDE_NEEDS(API),
    .has = sonde_has_zones,
    .title = "zones: calls, self, total, mean, percentiles, work",
    .types = 1u << SONDE_CHUNK_ZONES,
    .standard = 1,
    .state_b = sizeof(struct zones),
    .begin = zones_begin,
    .wants = zones_wants,
    .feed = zones_feed,
    .merge = zones_merge,
    .finish = zones_finish,
    .end = zones_end,
};
