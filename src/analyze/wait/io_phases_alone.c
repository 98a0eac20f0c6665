/* io_phases_alone.c: what else ran while a process read its files (wait/io_phases_find.h).
 *
 * A thread's time on a CPU within a phase and outside its own calls is a span; the union of a phase's spans is
 * subtracted from its reading time, segment by segment.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/wait/io_phases_find.h"
#include "session/intervals.h"
#include "util/array.h"
#include "util/search.h"

#define SPANS_MAX (1u << 22) /* most spans of other threads; with more, the result is unknown */

/* The thread's first burst that ends after this time. */
static const struct sonde_io_burst *burst_after(const struct sonde_io_bursts *bursts, uint32_t thread, uint64_t time_ns)
{
	size_t next = SONDE_SEARCH(i, 0, bursts->count,
				   bursts->rows[i].thread < thread ||
				       (bursts->rows[i].thread == thread && bursts->rows[i].to_ns <= time_ns));
	return next < bursts->count && bursts->rows[next].thread == thread ? &bursts->rows[next] : NULL;
}

static int span_add(struct sonde_io_finding *finding, size_t phase, uint64_t from_ns, uint64_t to_ns)
{
	finding->too_many |= finding->span_count >= SPANS_MAX && from_ns < to_ns;
	if (from_ns >= to_ns || finding->too_many)
		return 0;
	if (SONDE_ARRAY_RESERVE(finding->spans, finding->span_cap, finding->span_count + 1))
		return -ENOMEM;
	finding->spans[finding->span_count++] = (struct sonde_io_span){phase, from_ns, to_ns};
	return 0;
}

/* Adds a thread's time on a CPU within a phase, outside its own calls. */
static int spans_add(struct sonde_io_finding *finding, size_t phase, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct sonde_io_burst *end = finding->bursts->rows + finding->bursts->count;
	const struct sonde_io_burst *burst = burst_after(finding->bursts, thread, from_ns);
	int rc = 0;
	for (; !rc && burst && burst < end && burst->thread == thread && burst->from_ns < to_ns; burst++) {
		rc = span_add(finding, phase, from_ns, burst->from_ns);
		from_ns = burst->to_ns > from_ns ? burst->to_ns : from_ns;
	}
	return rc ? rc : span_add(finding, phase, from_ns, to_ns);
}

static int take_interval(void *context, const struct sonde_interval *interval)
{
	struct sonde_io_finding *finding = context;
	const struct sonde_thread *thread = sonde_session_thread(finding->bursts->session, interval->thread);
	int rc = 0;
	if (interval->state != SONDE_INTERVAL_ON_CPU || !thread)
		return 0;
	for (size_t i = sonde_io_phase_after(finding, thread->process, interval->from_ns);
	     !rc && i < finding->phase_count; i++) {
		const struct sonde_io_phase *phase = &finding->phases[i];
		if (phase->process != thread->process || phase->from_ns >= interval->to_ns)
			break;
		rc = spans_add(finding, i, interval->thread,
			       interval->from_ns > phase->from_ns ? interval->from_ns : phase->from_ns,
			       interval->to_ns < phase->to_ns ? interval->to_ns : phase->to_ns);
	}
	return rc;
}

static int compare_spans(const void *left, const void *right)
{
	const struct sonde_io_span *a = left, *b = right;
	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Merges overlapping spans of a phase, in place. */
static void spans_join(struct sonde_io_finding *finding)
{
	size_t kept = 0;
	if (finding->span_count)
		qsort(finding->spans, finding->span_count, sizeof *finding->spans, compare_spans);
	for (size_t i = 0; i < finding->span_count; i++) {
		struct sonde_io_span *last = kept ? &finding->spans[kept - 1] : NULL, next = finding->spans[i];
		if (last && last->phase == next.phase && next.from_ns <= last->to_ns)
			last->to_ns = next.to_ns > last->to_ns ? next.to_ns : last->to_ns;
		else
			finding->spans[kept++] = next;
	}
	finding->span_count = kept;
}

/* Reading time is spread evenly over its segment: gaps within are short. */
static uint64_t alone_of(const struct sonde_io_finding *finding, size_t phase, size_t *span)
{
	double alone_ns = 0;
	while (*span < finding->span_count && finding->spans[*span].phase < phase)
		++*span;
	size_t at = *span;
	for (size_t i = finding->within[phase][0]; i < finding->within[phase][1]; i++) {
		const struct sonde_io_segment *segment = &finding->segments[i];
		uint64_t whole_ns = segment->to_ns - segment->from_ns, both_ns = 0;
		while (at < finding->span_count && finding->spans[at].phase == phase &&
		       finding->spans[at].to_ns <= segment->from_ns)
			at++;
		for (size_t k = at; k < finding->span_count && finding->spans[k].phase == phase &&
				    finding->spans[k].from_ns < segment->to_ns;
		     k++) {
			const struct sonde_io_span *other = &finding->spans[k];
			uint64_t from_ns = other->from_ns > segment->from_ns ? other->from_ns : segment->from_ns;
			both_ns += (other->to_ns < segment->to_ns ? other->to_ns : segment->to_ns) - from_ns;
		}
		if (whole_ns)
			alone_ns += (double)segment->reading_ns * (1 - (double)both_ns / (double)whole_ns);
	}
	return (uint64_t)(alone_ns + 0.5);
}

int sonde_io_alone_find(struct sonde_io_finding *finding)
{
	struct sonde_session *session = finding->bursts->session;
	uint32_t *threads = calloc(sonde_session_process_count(session) + 1, sizeof *threads);
	struct sonde_intervals intervals = {0};
	size_t span = 0;
	int crowded = 0, rc = threads ? 0 : -ENOMEM;
	for (uint32_t id = 1; !rc && id <= sonde_session_thread_count(session); id++)
		threads[sonde_session_thread(session, id)->process]++;
	for (size_t i = 0; !rc && i < finding->phase_count; i++)
		crowded |= threads[finding->phases[i].process] > 1;
	if (!rc && crowded) {
		sonde_io_bursts_sort(finding->bursts);
		rc = sonde_intervals_walk(&intervals, session, take_interval, finding);
		spans_join(finding);
	}
	for (size_t i = 0; !rc && i < finding->phase_count; i++) {
		struct sonde_io_phase *phase = &finding->phases[i];
		phase->alone_known = threads[phase->process] <= 1 || (intervals.has_switches && !finding->too_many);
		phase->alone_ns = phase->alone_known ? alone_of(finding, i, &span) : 0;
	}
	free(threads);
	return rc;
}
