/* flop.c: FLOP and bytes by zone: from library calls (sonde record --blas), and as reported by programs.
 *
 * Reports are charged to their innermost zone (work/work.h). Then all zones are read again, to determine the time of
 * counted zones and the CPU time sampled in them: the section always shows which share of the run its figures cover.
 * The FLOP of library calls follow from their sizes and are exact. Their bytes are a model in which each operand moves
 * once. No cache can do with fewer bytes, so intensities based on this model are upper bounds (docs/WORK.md).
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/work/flop.h"
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

enum { SHORT_NS = 10000 };

static int flop_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_flop *flop = state;
	flop->session = session;
	flop->options = *options;
	flop->sites = sonde_session_site_count(session) + 1;
	int rc = sonde_flop_counted_read(&flop->counted, session);
	rc = rc ? rc : sonde_works_read(&flop->works, session, SONDE_WORKS_MOST);
	return rc < 0 || !flop->works.count ? rc : sonde_flop_reports_read(&flop->reports, session, SONDE_WORKS_MOST);
}

static void flop_end(void *state)
{
	struct sonde_flop *flop = state;
	sonde_works_fini(&flop->works);
	sonde_flop_reports_fini(&flop->reports);
	free(flop->samples);
	free(flop->begins);
	free(flop->zones);
	free(flop->charged);
	free(flop->spans);
}

/* True if there are reports, or calls of which none could be counted. */
static int has_any(const struct sonde_flop *flop)
{
	int found = flop->works.count > 0;
	for (uint32_t id = 1; id < flop->sites && !found; id++)
		found = sonde_flop_is_library(sonde_session_site(flop->session, id));
	return found;
}

static uint32_t flop_wants(const void *state)
{
	const struct sonde_flop *flop = state;
	return has_any(flop) ? 1u << SONDE_CHUNK_ZONES | 1u << SONDE_CHUNK_SAMPLES : 0;
}

/* --- samples ----------------------------------------------------------------------------------------------------- */

static int keep(struct sonde_flop *flop, struct sonde_flop_sample sample)
{
	flop->sampled_ns += sample.weight_ns;
	if (flop->sample_count == SONDE_FLOP_SAMPLES_MAX) {
		flop->beyond++;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(flop->samples, flop->sample_cap, flop->sample_count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu samples", flop->sample_count + 1);
	flop->samples[flop->sample_count++] = sample;
	return 0;
}

static int flop_feed(void *state, const struct sonde_batch *batch)
{
	struct sonde_flop *flop = state;
	int rc = 0;
	if (batch->type == SONDE_CHUNK_ZONES) {
		sonde_works_charge(&flop->works, batch);
		return 0;
	}
	for (size_t i = 0; rc == 0 && i < batch->count; i++)
		if (sonde_pass_takes(&flop->options, batch->samples.time_ns[i], batch->samples.thread[i]))
			rc = keep(flop, (struct sonde_flop_sample){.time_ns = batch->samples.time_ns[i],
								   .weight_ns = batch->samples.weight_ns[i],
								   .thread = batch->samples.thread[i]});
	return rc;
}

static int compare_samples(const void *left, const void *right)
{
	const struct sonde_flop_sample *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int samples_sort(struct sonde_flop *flop)
{
	size_t threads = sonde_session_thread_count(flop->session) + 2;
	flop->begins = calloc(threads, sizeof *flop->begins);
	if (!flop->begins)
		return sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	if (flop->sample_count)
		qsort(flop->samples, flop->sample_count, sizeof *flop->samples, compare_samples);
	for (size_t i = 0; i < flop->sample_count; i++)
		flop->begins[flop->samples[i].thread + 1]++;
	for (size_t id = 1; id < threads; id++)
		flop->begins[id] += flop->begins[id - 1];
	return 0;
}

/* --- reports ----------------------------------------------------------------------------------------------------- */

static int compare_charged(const void *left, const void *right)
{
	const struct sonde_flop_charged *a = left, *b = right;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return (a->report->flop > b->report->flop) - (a->report->flop < b->report->flop);
}

/* Assigns each report to the zone that it was charged to. Both lists contain the same events, by thread and time. */
static int reports_charge(struct sonde_flop *flop)
{
	flop->charged = malloc((flop->works.count + 1) * sizeof *flop->charged);
	if (!flop->charged)
		return sonde_error(ENOMEM, "out of memory for %zu reports of work", flop->works.count);
	for (size_t i = 0; i < flop->works.count && i < flop->reports.count; i++) {
		const struct sonde_work *work = &flop->works.works[i];
		const struct sonde_flop_report *report = &flop->reports.row[i];
		if (!sonde_pass_takes(&flop->options, work->time_ns, work->thread))
			continue;
		if (!work->depth || work->site >= flop->sites) {
			flop->outside++;
			continue;
		}
		struct sonde_flop_zone *zone = &flop->zones[work->site];
		zone->reports++;
		zone->flop += report->flop;
		zone->bytes += report->bytes;
		flop->charged[flop->charged_count++] = (struct sonde_flop_charged){work->site, report};
	}
	if (flop->charged_count)
		qsort(flop->charged, flop->charged_count, sizeof *flop->charged, compare_charged);
	for (size_t i = flop->charged_count; i > 0; i--)
		flop->zones[flop->charged[i - 1].site].first = i - 1;
	return 0;
}

/* --- zones ------------------------------------------------------------------------------------------------------- */

static int is_counted(const struct sonde_flop *flop, uint32_t site)
{
	return flop->zones[site].reports || sonde_flop_is_library_id(flop, site);
}

static int span_add(struct sonde_flop *flop, struct sonde_flop_span span)
{
	if (SONDE_ARRAY_RESERVE(flop->spans, flop->span_cap, flop->span_count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu zones", flop->span_count + 1);
	flop->spans[flop->span_count++] = span;
	return 0;
}

static int zone_add(struct sonde_flop *flop, const struct sonde_batch *batch, size_t i)
{
	uint64_t start_ns = batch->zones.start_ns[i], end_ns = start_ns + batch->zones.dur_ns[i];
	uint32_t thread = batch->thread, site = batch->zones.site[i] < flop->sites ? batch->zones.site[i] : 0;
	struct sonde_flop_zone *zone = &flop->zones[site];
	if (!is_counted(flop, site) || !sonde_pass_takes(&flop->options, start_ns, thread))
		return 0;
	zone->calls++;
	zone->total_ns += batch->zones.flags[i] & SONDE_ZONE_RECURSIVE ? 0 : batch->zones.dur_ns[i];
	zone->short_calls += batch->zones.dur_ns[i] < SHORT_NS;
	size_t at =
	    SONDE_SEARCH(s, flop->begins[thread], flop->begins[thread + 1], flop->samples[s].time_ns < start_ns);
	for (; at < flop->begins[thread + 1] && flop->samples[at].time_ns <= end_ns; at++)
		flop->samples[at].is_covered = 1;
	return span_add(flop, (struct sonde_flop_span){start_ns, end_ns, thread});
}

static int compare_spans(const void *left, const void *right)
{
	const struct sonde_flop_span *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Time of threads inside any counted zone: nested ones add nothing. */
static void spans_cover(struct sonde_flop *flop)
{
	uint64_t covered_to_ns = 0;
	if (flop->span_count)
		qsort(flop->spans, flop->span_count, sizeof *flop->spans, compare_spans);
	for (size_t i = 0; i < flop->span_count; i++) {
		const struct sonde_flop_span *span = &flop->spans[i];
		uint64_t from_ns = span->start_ns;
		if (i && span->thread == flop->spans[i - 1].thread && covered_to_ns > from_ns)
			from_ns = covered_to_ns;
		else
			covered_to_ns = 0;
		flop->covered_ns += span->end_ns > from_ns ? span->end_ns - from_ns : 0;
		covered_to_ns = span->end_ns > covered_to_ns ? span->end_ns : covered_to_ns;
	}
}

static int zones_read(struct sonde_flop *flop)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, flop->session, 1u << SONDE_CHUNK_ZONES);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM) {
		flop->unread |= rc < 0;
		for (size_t i = 0; rc > 0 && i < batch->count; i++) {
			rc = zone_add(flop, batch, i);
			if (rc < 0) {
				sonde_cursor_close(cursor);
				return rc;
			}
			rc = 1;
		}
	}
	sonde_cursor_close(cursor);
	spans_cover(flop);
	return rc;
}

int sonde_flop_has_work(const struct sonde_session *session)
{
	int found = sonde_weigh_has(session, SONDE_CHUNK_EVENTS);
	for (uint32_t id = 1; id <= sonde_session_site_count(session) && !found; id++)
		found = sonde_flop_is_library(sonde_session_site(session, id));
	return found && sonde_weigh_has(session, SONDE_CHUNK_ZONES);
}

static int flop_finish(void *state, struct sonde_report *report)
{
	struct sonde_flop *flop = state;
	flop->has_any = has_any(flop);
	const char *missing = flop->has_any ? NULL : sonde_pass_missing(flop->session, SONDE_NEEDS(API), report);
	if (!flop->has_any && !flop->counted.why)
		return missing
			   ? sonde_pass_nothing(&flop->options, report, SONDE_FLOP_ID, SONDE_FLOP_TITLE, missing)
			   : sonde_pass_nothing(&flop->options, report, SONDE_FLOP_ID, SONDE_FLOP_TITLE,
						"no FLOP or bytes were counted: use sonde record --blas or --flop, or "
						"SONDE_ZONE_WORK() (sonde/sonde.h)");
	flop->zones = calloc(flop->sites, sizeof *flop->zones);
	if (!flop->zones)
		return sonde_error(ENOMEM, "out of memory for FLOP");
	int rc = flop->has_any ? samples_sort(flop) : 0;
	rc = rc || !flop->has_any ? rc : reports_charge(flop);
	rc = rc || !flop->has_any ? rc : zones_read(flop);
	return rc ? rc : sonde_flop_section_add(flop, report);
}

const struct sonde_pass sonde_pass_flop = {
    .name = SONDE_FLOP_ID,
    .has = sonde_flop_has_work,
    .title = "FLOP, FLOP/s, bytes and intensity of library calls and zones",
    .types = 1u << SONDE_CHUNK_ZONES | 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .state_b = sizeof(struct sonde_flop),
    .begin = flop_begin,
    .wants = flop_wants,
    .feed = flop_feed,
    .finish = flop_finish,
    .end = flop_end,
};
