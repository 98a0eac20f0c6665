/* roofline_calls.c: calls of zones that contain work, summed by site.
 *
 * A zone that calls another with work contains that work, too; only the reports charged to it are its own. Calls of one
 * site on one thread at one depth never overlap, so a report finds its call by time.
 */
#include "analyze/work/roofline_calls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/cpu/samples.h"
#include "base/order.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define CALLS_MAX ((size_t)8 << 20) /* 320 MB */

int sonde_roofline_calls_init(struct sonde_roofline_calls *calls, struct sonde_session *session,
			      const struct sonde_pass_options *options)
{
	*calls = (struct sonde_roofline_calls){
	    .session = session, .options = *options, .sites = sonde_session_site_count(session) + 1};
	calls->all = calloc(calls->sites, sizeof *calls->all);
	if (!calls->all)
		return sonde_error(ENOMEM, "out of memory for zones");
	return sonde_works_read(&calls->works, session, SONDE_WORKS_MOST);
}

void sonde_roofline_calls_fini(struct sonde_roofline_calls *calls)
{
	sonde_works_fini(&calls->works);
	free(calls->calls);
	free(calls->all);
	free(calls->work);
}

static int call_add(struct sonde_roofline_calls *calls, const struct sonde_roofline_call *call)
{
	if (calls->count >= CALLS_MAX || SONDE_ARRAY_RESERVE(calls->calls, calls->cap, calls->count + 1))
		return sonde_error(ENOMEM, "more than %zu calls with work: leave some out with --from and --to",
				   calls->cap);
	calls->calls[calls->count++] = *call;
	return 0;
}

/* True if the thread reported work between start_ns and end_ns. */
static int has_work(const struct sonde_works *works, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	size_t end = works->first[thread + 1];
	size_t first = SONDE_SEARCH(i, works->first[thread], end, works->works[i].time_ns < start_ns);
	return first < end && works->works[first].time_ns <= end_ns;
}

int sonde_roofline_calls_feed(struct sonde_roofline_calls *calls, const struct sonde_batch *batch)
{
	struct sonde_works *works = &calls->works;
	if (batch->type != SONDE_CHUNK_ZONES || !works->count || batch->thread >= works->threads)
		return 0;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		const struct sonde_roofline_call call = {
		    .start_ns = batch->zones.start_ns[i],
		    .end_ns = batch->zones.start_ns[i] + batch->zones.dur_ns[i],
		    .site = batch->zones.site[i] < calls->sites ? batch->zones.site[i] : 0,
		    .thread = batch->thread,
		    .depth = batch->zones.depth[i]};
		if (!sonde_pass_takes(&calls->options, call.start_ns, call.thread))
			continue;
		calls->all[call.site]++;
		if (has_work(works, call.thread, call.start_ns, call.end_ns))
			rc = call_add(calls, &call);
	}
	sonde_works_charge(works, batch);
	return rc;
}

int sonde_roofline_calls_merge(struct sonde_roofline_calls *calls, const struct sonde_roofline_calls *other)
{
	int rc = 0;
	for (size_t i = 0; i < other->count && !rc; i++)
		rc = call_add(calls, &other->calls[i]);
	for (size_t i = 0; i < calls->sites && i < other->sites; i++)
		calls->all[i] += other->all[i];
	sonde_works_merge(&calls->works, &other->works);
	return rc;
}

/* --- finishing ---------------------------------------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
	const struct sonde_roofline_call *a = left, *b = right;
	int by = sonde_order(a->site, b->site);
	by = by ? by : sonde_order(a->thread, b->thread);
	by = by ? by : sonde_order(a->depth, b->depth);
	return by ? by : sonde_order(a->start_ns, b->start_ns);
}

static int by_site_and_start(const void *left, const void *right)
{
	const struct sonde_roofline_call *a = left, *b = right;
	int by = sonde_order(a->site, b->site);
	return by ? by : sonde_order(a->start_ns, b->start_ns);
}

static int by_start(const void *left, const void *right)
{
	return sonde_order(((const struct sonde_roofline_call *)left)->start_ns,
			   ((const struct sonde_roofline_call *)right)->start_ns);
}

/* The call that a report belongs to; NULL if the selected range excludes it. */
static struct sonde_roofline_call *call_of(struct sonde_roofline_calls *calls, const struct sonde_work *work)
{
	const struct sonde_roofline_call wanted = {
	    .start_ns = work->time_ns, .site = work->site, .thread = work->thread, .depth = work->depth - 1};
	size_t after = SONDE_SEARCH(i, (size_t)0, calls->count, by_place(&calls->calls[i], &wanted) <= 0);
	struct sonde_roofline_call *call = after ? &calls->calls[after - 1] : NULL;
	if (!call || call->site != wanted.site || call->thread != wanted.thread || call->depth != wanted.depth ||
	    call->end_ns < work->time_ns)
		return NULL;
	return call;
}

/* Adds a value, if it is positive and the sum stays finite: programs can report any value. */
static void add(double *sum, double value)
{
	if (value > 0 && isfinite(*sum + value))
		*sum += value;
}

/* Assigns reports to their calls and sums them by site: sums[site]. */
static void sum_works(struct sonde_roofline_calls *calls, struct sonde_roofline_work *sums)
{
	if (calls->count)
		qsort(calls->calls, calls->count, sizeof *calls->calls, by_place);
	for (size_t i = 0; i < calls->works.count; i++) {
		const struct sonde_work *work = &calls->works.works[i];
		if (!work->depth) {
			calls->outside +=
			    (uint64_t)(sonde_pass_takes(&calls->options, work->time_ns, work->thread) != 0);
			continue;
		}
		struct sonde_roofline_call *call = call_of(calls, work);
		if (!call)
			continue;
		struct sonde_roofline_work *sum = &sums[call->site];
		sum->site = call->site;
		sum->calls += !call->reported;
		add(&sum->flop, work->flop);
		add(&sum->bytes, work->bytes);
		call->reported = 1;
	}
}

static void keep_reported(struct sonde_roofline_calls *calls)
{
	size_t kept = 0;
	for (size_t i = 0; i < calls->count; i++)
		if (calls->calls[i].reported)
			calls->calls[kept++] = calls->calls[i];
	calls->count = kept;
}

/* How long at least one call of a group of similar calls, from `from` on, was active; *end is the first call after the
 * group. */
static uint64_t cover(const struct sonde_roofline_calls *calls, size_t from, size_t *end,
		      int (*is_alike)(const struct sonde_roofline_call *, const struct sonde_roofline_call *))
{
	uint64_t covered_ns = 0, up_to_ns = 0;
	size_t i = from;
	for (; i < calls->count && is_alike(&calls->calls[from], &calls->calls[i]); i++) {
		const struct sonde_roofline_call *call = &calls->calls[i];
		uint64_t start_ns = call->start_ns > up_to_ns ? call->start_ns : up_to_ns;
		if (call->end_ns > start_ns)
			covered_ns += call->end_ns - start_ns;
		up_to_ns = call->end_ns > up_to_ns ? call->end_ns : up_to_ns;
	}
	*end = i;
	return covered_ns;
}

static int is_site(const struct sonde_roofline_call *a, const struct sonde_roofline_call *b)
{
	return a->site == b->site;
}

static int is_site_and_thread(const struct sonde_roofline_call *a, const struct sonde_roofline_call *b)
{
	return a->site == b->site && a->thread == b->thread;
}

static int is_any(const struct sonde_roofline_call *a, const struct sonde_roofline_call *b)
{
	(void)a;
	(void)b;
	return 1;
}

static int by_thread_and_start(const void *left, const void *right)
{
	const struct sonde_roofline_call *a = left, *b = right;
	int by = sonde_order(a->site, b->site);
	by = by ? by : sonde_order(a->thread, b->thread);
	return by ? by : sonde_order(a->start_ns, b->start_ns);
}

/* Sums the times of calls. A call nested in a call of the same site adds nothing, because both cover the same time. */
static void sum_times(struct sonde_roofline_calls *calls, struct sonde_roofline_work *sums)
{
	size_t end;
	if (!calls->count)
		return;
	qsort(calls->calls, calls->count, sizeof *calls->calls, by_thread_and_start);
	for (size_t i = 0; i < calls->count; i = end)
		sums[calls->calls[i].site].thread_ns += cover(calls, i, &end, is_site_and_thread);
	qsort(calls->calls, calls->count, sizeof *calls->calls, by_site_and_start);
	for (size_t i = 0; i < calls->count; i = end)
		sums[calls->calls[i].site].wall_ns = cover(calls, i, &end, is_site);
	qsort(calls->calls, calls->count, sizeof *calls->calls, by_start);
	calls->covered_ns = cover(calls, 0, &end, is_any);
}

int sonde_roofline_calls_finish(struct sonde_roofline_calls *calls)
{
	struct sonde_roofline_work *sums = calloc(calls->sites, sizeof *sums);
	if (!sums)
		return sonde_error(ENOMEM, "out of memory for zones");
	sum_works(calls, sums);
	keep_reported(calls);
	sum_times(calls, sums);
	for (size_t site = 0; site < calls->sites; site++) {
		if (!sums[site].calls)
			continue;
		sums[site].silent = calls->all[site] - sums[site].calls;
		sums[calls->work_count++] = sums[site];
	}
	calls->work = sums;
	return 0;
}
