/* energy_zones.c: estimates each zone's share of the processes' energy, by the CPU time sampled in it
 * (resource/energy_rates.h).
 *
 * A zone's duration is measured, but not how long its thread was on a CPU: that follows from the thread's samples
 * between the zone's begin and end. Samples are kept (32 bytes each) and sorted by thread and time; zones are then read
 * once. A zone's total is the time of all samples in it, and its self time is the time of the samples in it that no
 * deeper zone has claimed. So the self times of all zones add up to the time of all samples inside any zone. CPU time
 * that is known only per thread, without a time (measured by clocks but not sampled), is added to no zone, although any
 * part of it, or all, may have been spent in one.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/resource/energy_rates.h"
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define ID "energy-zones"
#define TITLE "Energy by zone"
#define NS_A_S 1e9

enum { DEFAULT_ROWS = 20, SAMPLES_MAX = 1 << 23 };
enum { SELF, SELF_LOW, SELF_HIGH, TOTAL, CALL, CALLS, SELF_NS, TOTAL_NS, ZONE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SELF] = {"self_j", "self", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 0},
    [SELF_LOW] = {"self_low_j", "at least", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 1},
    [SELF_HIGH] = {"self_high_j", "at most", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 1},
    [TOTAL] = {"total_j", "total", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 0},
    [CALL] = {"total_per_call_j", "per call", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 0},
    [CALLS] = {"calls", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [SELF_NS] = {"self_cpu_ns", "self CPU time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [TOTAL_NS] = {"total_cpu_ns", "CPU time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [ZONE] = {"zone", "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
};

struct sample {
	uint64_t time_ns, weight_ns;
	uint32_t thread;
	uint32_t site;  /* innermost zone that contains the sample, of those read so far; 0 = none, or unknown */
	uint32_t depth; /* depth of that zone + 1; 0 = in no zone */
};

struct zone {
	uint64_t calls, self_ns, total_ns;
};

struct energy_zones {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_energy_rates rates;
	struct sample *samples;
	size_t count, cap;
	uint64_t beyond;        /* number of samples that were not kept */
	uint64_t momentless_ns; /* CPU time of rows without a time */
	size_t *begins;         /* by thread id: its first sample; [threads + 1] = count */
	struct zone *zones;     /* by site id */
	int unread;
};

static int zones_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct energy_zones *zones = state;
	zones->session = session;
	zones->options = *options;
	return sonde_energy_rates_init(&zones->rates, session);
}

static void zones_end(void *state)
{
	struct energy_zones *zones = state;
	sonde_energy_rates_fini(&zones->rates);
	free(zones->samples);
	free(zones->begins);
	free(zones->zones);
}

static int has_zones(const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_site_count(session); id++)
		if (sonde_session_site(session, id)->kind == SONDE_SITE_ZONE)
			return 1;
	return 0;
}

static uint32_t zones_wants(const void *state)
{
	const struct energy_zones *zones = state;
	int has_all = sonde_energy_points_has(&zones->rates.points) && has_zones(zones->session);
	return has_all ? 1u << SONDE_CHUNK_SERIES | 1u << SONDE_CHUNK_SAMPLES : 0;
}

/* --- samples ----------------------------------------------------------------------------------------------------- */

static int keep(struct energy_zones *zones, struct sample sample)
{
	if (zones->count == SAMPLES_MAX) {
		zones->beyond++;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(zones->samples, zones->cap, zones->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu samples", zones->count + 1);
	zones->samples[zones->count++] = sample;
	return 0;
}

static int zones_feed(void *state, const struct sonde_batch *batch)
{
	struct energy_zones *zones = state;
	int rc = 0;
	if (batch->type == SONDE_CHUNK_SERIES)
		return sonde_energy_points_feed(&zones->rates.points, batch);
	for (size_t i = 0; rc == 0 && i < batch->count; i++) {
		if (!sonde_pass_takes(&zones->options, batch->samples.time_ns[i], batch->samples.thread[i]))
			continue;
		if (sonde_sample_counts(batch->samples.status[i]))
			rc = keep(zones, (struct sample){.time_ns = batch->samples.time_ns[i],
							 .weight_ns = batch->samples.weight_ns[i],
							 .thread = batch->samples.thread[i]});
		else
			zones->momentless_ns += batch->samples.weight_ns[i];
	}
	return rc;
}

static int compare_samples(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int sort_samples(struct energy_zones *zones)
{
	size_t threads = sonde_session_thread_count(zones->session) + 2;
	zones->begins = calloc(threads, sizeof *zones->begins);
	if (!zones->begins)
		return sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	if (zones->count)
		qsort(zones->samples, zones->count, sizeof *zones->samples, compare_samples);
	for (size_t i = 0; i < zones->count; i++)
		zones->begins[zones->samples[i].thread + 1]++;
	for (size_t id = 1; id < threads; id++)
		zones->begins[id] += zones->begins[id - 1];
	return 0;
}

/* --- zones ------------------------------------------------------------------------------------------------------- */

/* The first sample of a thread at or after a time. */
static size_t first_from(const struct energy_zones *zones, uint32_t thread, uint64_t time_ns)
{
	return SONDE_SEARCH(i, zones->begins[thread], zones->begins[thread + 1], zones->samples[i].time_ns < time_ns);
}

static void add_zone(struct energy_zones *zones, const struct sonde_batch *batch, size_t i)
{
	const struct sonde_pass_options *options = &zones->options;
	uint64_t start_ns = batch->zones.start_ns[i], end_ns = start_ns + batch->zones.dur_ns[i];
	struct zone *zone = &zones->zones[batch->zones.site[i]];
	if (end_ns < options->selection.from_ns || (options->selection.to_ns && start_ns >= options->selection.to_ns))
		return;
	zone->calls++;
	for (size_t at = first_from(zones, batch->thread, end_ns); at > zones->begins[batch->thread]; at--) {
		struct sample *sample = &zones->samples[at - 1];
		if (sample->time_ns < start_ns)
			return;
		if (!(batch->zones.flags[i] & SONDE_ZONE_RECURSIVE)) /* the outermost zone of a site includes it */
			zone->total_ns += sample->weight_ns;
		if (batch->zones.depth[i] + 1u > sample->depth) {
			sample->depth = batch->zones.depth[i] + 1u;
			sample->site = batch->zones.site[i];
		}
	}
}

static int read_zones(struct energy_zones *zones)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, zones->session, 1u << SONDE_CHUNK_ZONES);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM) {
		zones->unread |= rc < 0;
		int is_wanted =
		    rc > 0 && (!zones->options.selection.thread || zones->options.selection.thread[batch->thread]);
		for (size_t i = 0; is_wanted && i < batch->count; i++)
			add_zone(zones, batch, i);
	}
	sonde_cursor_close(cursor);
	for (size_t i = 0; i < zones->count; i++)
		if (zones->samples[i].depth)
			zones->zones[zones->samples[i].site].self_ns += zones->samples[i].weight_ns;
	return rc;
}

/* --- the section ------------------------------------------------------------------------------------------------- */

static int compare_zones(const void *left, const void *right, void *state)
{
	const struct zone *zones = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t of_a = zones[a].self_ns, of_b = zones[b].self_ns;
	return of_a != of_b ? (of_a < of_b ? 1 : -1) : (a > b) - (a < b);
}

static struct sonde_cell self_cell(const struct energy_zones *zones, int which, uint64_t self_ns)
{
	return self_ns >= SONDE_ENERGY_LEAST_CPU_NS
		   ? sonde_energy_rates_cell(&zones->rates, which, self_ns)
		   : sonde_cell_absent("too short to measure: less than 100 ms of CPU time outside nested zones");
}

static void row_add(const struct energy_zones *zones, uint32_t id, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct zone *zone = &zones->zones[id];
	const struct sonde_site *site = sonde_session_site(zones->session, id);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[SELF] = self_cell(zones, SONDE_ENERGY_LIKELY, zone->self_ns);
	row[SELF_LOW] = self_cell(zones, SONDE_ENERGY_LOW, zone->self_ns);
	row[SELF_HIGH] =
	    row[SELF].kind == SONDE_CELL_ABSENT
		? row[SELF]
		: sonde_energy_rates_cell(&zones->rates, SONDE_ENERGY_HIGH, zone->self_ns + zones->momentless_ns);
	row[TOTAL] = sonde_energy_rates_cell(&zones->rates, SONDE_ENERGY_LIKELY, zone->total_ns);
	row[CALL] = zones->options.selection.from_ns || zones->options.selection.to_ns
			? sonde_cell_absent("calls cut by the selection are known only in part")
			: sonde_cell_real(row[TOTAL].real / (double)zone->calls, 0);
	row[CALLS] = sonde_cell_int(zone->calls);
	row[SELF_NS] = sonde_cell_int(zone->self_ns);
	row[TOTAL_NS] = sonde_cell_int(zone->total_ns);
	row[ZONE] = sonde_cell_text(site ? site->name : "(unknown)");
}

static void notes_add(const struct energy_zones *zones, size_t too_short, struct sonde_report *report,
		      struct sonde_section *section)
{
	uint64_t inside_ns = 0, all_ns = 0;
	for (size_t i = 0; i < zones->count; i++) {
		all_ns += zones->samples[i].weight_ns;
		inside_ns += zones->samples[i].depth ? zones->samples[i].weight_ns : 0;
	}
	sonde_energy_rates_notes(&zones->rates, "zone", too_short, report, section);
	sonde_report_note(report, section, 0,
			  "%.3f s of %.3f s of sampled CPU time was in zones (of the sampled thread itself)",
			  (double)inside_ns / NS_A_S, (double)all_ns / NS_A_S);
	if (zones->momentless_ns)
		sonde_report_note(report, section, 1,
				  "%.3f s more of unsampled CPU time are in no zone, but in \"at most\"",
				  (double)zones->momentless_ns / NS_A_S);
	if (zones->beyond) {
		sonde_report_note(report, section, 1,
				  "%llu samples beyond the first %d were left out: " SONDE_CHOOSE_TIME,
				  (unsigned long long)zones->beyond, SAMPLES_MAX);
		sonde_report_advise(report, section, SONDE_ACTION_TIME, SONDE_CHOOSE_TIME);
	}
	if (zones->unread)
		sonde_report_note(report, section, 1,
				  "some zones could not be read: their energy is in the zones around them, or in none");
}

static int section_add(const struct energy_zones *zones, struct sonde_report *report)
{
	size_t limit = zones->options.limit ? zones->options.limit : DEFAULT_ROWS, count = 0, too_short = 0;
	size_t sites = sonde_session_site_count(zones->session) + 1;
	uint32_t *ids = malloc(sites * sizeof *ids);
	const struct sonde_column *own = sonde_energy_columns(&zones->rates.sums, report, columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, ID, TITLE, own, COLUMNS);
	int rc = ids ? 0 : sonde_error(ENOMEM, "out of memory for energy by zone");
	for (uint32_t id = 0; ids && id < sites; id++) {
		if (zones->zones[id].total_ns >= SONDE_ENERGY_LEAST_CPU_NS)
			ids[count++] = id;
		else
			too_short += zones->zones[id].total_ns ? 1u : 0u;
	}
	if (ids)
		qsort_r(ids, count, sizeof *ids, compare_zones, zones->zones);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		row_add(zones, ids[i], report, section);
	if (rc == 0)
		section->table.omitted = count > limit ? count - limit : 0;
	free(ids);
	if (!rc)
		notes_add(zones, too_short, report, section);
	return rc;
}

static int zones_finish(void *state, struct sonde_report *report)
{
	struct energy_zones *zones = state;
	const char *why = NULL, *missing;
	if (!sonde_energy_points_has(&zones->rates.points))
		why = "energy was not recorded: sonde record --energy";
	else if ((missing = sonde_pass_missing(zones->session, SONDE_NEEDS(API), report)))
		why = missing;
	else if (!has_zones(zones->session))
		why = "no zones: mark them with SONDE_ZONE() (sonde/sonde.h)";
	else if (!zones->count)
		why = sonde_samples_why_none(zones->session, &zones->options);
	int rc = why ? 0 : sonde_energy_rates_finish(&zones->rates, &zones->options, &why);
	if (rc)
		return rc;
	if (why)
		return sonde_pass_nothing(&zones->options, report, ID, TITLE, why);
	zones->zones = calloc(sonde_session_site_count(zones->session) + 1, sizeof *zones->zones);
	if (!zones->zones)
		return sonde_error(ENOMEM, "out of memory for energy by zone");
	rc = sort_samples(zones);
	rc = rc ? rc : read_zones(zones);
	return rc ? rc : section_add(zones, report);
}

const struct sonde_pass sonde_pass_energy_zones = {
    .name = ID,
    .needs = SONDE_NEEDS(ENERGY),
    .has = sonde_has_energy_and_samples,
    .title = "energy by zone: each process's energy, split by CPU time sampled in zones",
    .types = 1u << SONDE_CHUNK_SERIES | 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .state_b = sizeof(struct energy_zones),
    .begin = zones_begin,
    .wants = zones_wants,
    .feed = zones_feed,
    .finish = zones_finish,
    .end = zones_end,
};
