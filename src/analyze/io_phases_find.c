/* io_phases_find.c: finds phases in bursts of reads; and what else ran in them, and what zones they are (io_phases.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/io_phases.h"
#include "session/intervals.h"

#define PART_GAP_NS 1000000u /* ends a part */
#define STALL_NS 200000u     /* shorter waits for a CPU change nothing */
#define LEAST_NS 1000000u    /* of a phase */
#define READING_WEIGHS 3     /* against what is no reading: a quarter of the time */
#define GAP_PART 5u          /* of the shorter neighbour: phases that are interrupted for so little are one */
#define SPANS_MAX (1u << 22) /* of other threads; of more nothing is said */
#define ZONE_LEAST 0.5       /* time of both ÷ time of either */

/* Some thread of a process reads: the union of bursts. */
struct segment {
	uint64_t from_ns, to_ns, reading_ns;
	uint64_t read_b, reads, most_b;
	uint32_t process, stack, object;
};

/* Segments first … last; sums of scores before it and up to its end. */
struct part {
	size_t first, last;
	int64_t before, after;
	size_t below; /* the nearest part under it with a smaller `before`, + 1 */
};

/* A thread that reads waited for a CPU; `sum_ns`: all of its process's up to its end. */
struct stall {
	uint64_t from_ns, to_ns, sum_ns;
	uint32_t process;
};

/* A thread of the process ran in a phase, in no call that loads. */
struct span {
	size_t phase;
	uint64_t from_ns, to_ns;
};

struct finding {
	struct sonde_io_bursts *bursts;
	struct segment *segments;
	size_t segment_count;
	struct stall *stalls;
	size_t stall_count, stall_cap;
	struct part *parts;
	size_t part_count;
	struct sonde_io_phase *phases;
	size_t (*within)[2]; /* by phase: its segments, and one past them */
	size_t phase_count;
	struct span *spans;
	size_t span_count, span_cap;
	int too_many;
};

/* --- segments ---------------------------------------------------------------------------------------------------- */

static int compare_starts(const void *left, const void *right)
{
	const struct sonde_io_burst *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static void segment_add(struct finding *finding, const struct sonde_io_burst *burst)
{
	struct segment *last = finding->segment_count ? &finding->segments[finding->segment_count - 1] : NULL;
	if (!last || last->process != burst->process || burst->from_ns > last->to_ns) {
		last = &finding->segments[finding->segment_count++];
		*last = (struct segment){.from_ns = burst->from_ns, .to_ns = burst->to_ns, .process = burst->process};
	}
	last->to_ns = burst->to_ns > last->to_ns ? burst->to_ns : last->to_ns;
	last->reading_ns += burst->reading_ns;
	last->read_b += burst->read_b;
	last->reads += burst->reads;
	if (last->stack && burst->most_b <= last->most_b)
		return;
	last->most_b = burst->most_b;
	last->stack = burst->stack;
	last->object = burst->object;
}

static int segments_make(struct finding *finding)
{
	struct sonde_io_bursts *bursts = finding->bursts;
	finding->segments = calloc(bursts->count + 1, sizeof *finding->segments);
	finding->parts = calloc(bursts->count + 1, sizeof *finding->parts);
	if (!finding->segments || !finding->parts)
		return -ENOMEM;
	qsort(bursts->rows, bursts->count, sizeof *bursts->rows, compare_starts);
	for (size_t i = 0; i < bursts->count; i++)
		segment_add(finding, &bursts->rows[i]);
	for (size_t i = 0; i < finding->segment_count; i++) { /* threads side by side */
		struct segment *segment = &finding->segments[i];
		uint64_t whole_ns = segment->to_ns - segment->from_ns;
		segment->reading_ns = segment->reading_ns < whole_ns ? segment->reading_ns : whole_ns;
	}
	return 0;
}

/* --- waiting for a CPU ------------------------------------------------------------------------------------------- */

static int take_stall(void *context, const struct sonde_interval *interval)
{
	struct finding *finding = context;
	const struct sonde_thread *thread = sonde_session_thread(finding->bursts->session, interval->thread);
	if (interval->state != SONDE_INTERVAL_RUNNABLE || interval->to_ns - interval->from_ns < STALL_NS || !thread ||
	    thread->id >= finding->bursts->threads || !finding->bursts->last[thread->id])
		return 0;
	if (finding->stall_count == finding->stall_cap) {
		size_t cap = finding->stall_cap ? 2 * finding->stall_cap : 256;
		struct stall *stalls = realloc(finding->stalls, cap * sizeof *stalls);
		if (!stalls)
			return -ENOMEM;
		finding->stalls = stalls;
		finding->stall_cap = cap;
	}
	finding->stalls[finding->stall_count++] =
	    (struct stall){.from_ns = interval->from_ns, .to_ns = interval->to_ns, .process = thread->process};
	return 0;
}

static int compare_stalls(const void *left, const void *right)
{
	const struct stall *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* A process that has no CPU works on nothing else: phases are not interrupted by that. */
static int stalls_find(struct finding *finding)
{
	struct sonde_intervals intervals;
	size_t kept = 0;
	int rc = sonde_intervals_walk(&intervals, finding->bursts->session, take_stall, finding);
	if (rc)
		return rc;
	if (finding->stall_count)
		qsort(finding->stalls, finding->stall_count, sizeof *finding->stalls, compare_stalls);
	for (size_t i = 0; i < finding->stall_count; i++) {
		struct stall *last = kept ? &finding->stalls[kept - 1] : NULL, next = finding->stalls[i];
		if (last && last->process == next.process && next.from_ns <= last->to_ns)
			last->to_ns = next.to_ns > last->to_ns ? next.to_ns : last->to_ns;
		else
			finding->stalls[kept++] = next;
	}
	finding->stall_count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct stall *stall = &finding->stalls[i];
		int same = i && stall[-1].process == stall->process;
		stall->sum_ns = (same ? stall[-1].sum_ns : 0) + stall->to_ns - stall->from_ns;
	}
	return 0;
}

/* How long a process had waited for a CPU by then. */
static uint64_t stalled(const struct finding *finding, uint32_t process, uint64_t time_ns)
{
	size_t from = 0, to = finding->stall_count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct stall *stall = &finding->stalls[middle];
		if (stall->process < process || (stall->process == process && stall->from_ns < time_ns))
			from = middle + 1;
		else
			to = middle;
	}
	if (!from || finding->stalls[from - 1].process != process)
		return 0;
	const struct stall *stall = &finding->stalls[from - 1];
	return stall->sum_ns - (stall->to_ns > time_ns ? stall->to_ns - time_ns : 0);
}

/* Time that a process could use. */
static uint64_t usable_ns(const struct finding *finding, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t stalled_ns = stalled(finding, process, to_ns) - stalled(finding, process, from_ns);
	return to_ns - from_ns > stalled_ns ? to_ns - from_ns - stalled_ns : 0;
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

/* The nearest part, of those from `base` on, with a smaller sum before it, + 1; 0 = none. */
static size_t find_below(const struct finding *finding, size_t base, int64_t before)
{
	size_t at = finding->part_count;
	while (at > base && finding->parts[at - 1].before >= before)
		at = finding->parts[at - 1].below;
	return at > base ? at : 0;
}

static void part_add(struct finding *finding, size_t base, struct part part)
{
	for (;;) {
		size_t below = find_below(finding, base, part.before);
		part.below = below;
		if (!below || finding->parts[below - 1].after >= part.after)
			break;
		part.first = finding->parts[below - 1].first;
		part.before = finding->parts[below - 1].before;
		finding->part_count = below - 1;
	}
	finding->parts[finding->part_count++] = part;
}

/* Maximal scoring subsequences: of each process, between gaps that end parts. */
static void parts_make(struct finding *finding)
{
	int64_t sum = 0;
	size_t base = 0;
	for (size_t i = 0; i < finding->segment_count; i++) {
		const struct segment *segment = &finding->segments[i], *before = i ? segment - 1 : NULL;
		int same = before && before->process == segment->process;
		uint64_t gap_ns = same ? usable_ns(finding, segment->process, before->to_ns, segment->from_ns) : 0;
		int64_t others_ns = (int64_t)(segment->to_ns - segment->from_ns - segment->reading_ns);
		if (!same || gap_ns > PART_GAP_NS)
			base = finding->part_count;
		sum -= (int64_t)gap_ns;
		struct part part = {.first = i, .last = i, .before = sum};
		sum += READING_WEIGHS * (int64_t)segment->reading_ns - others_ns;
		part.after = sum;
		if (part.after > part.before)
			part_add(finding, base, part);
	}
}

/* --- phases ------------------------------------------------------------------------------------------------------ */

static uint64_t from_of(const struct finding *finding, const struct part *part)
{
	return finding->segments[part->first].from_ns;
}

static uint64_t to_of(const struct finding *finding, const struct part *part)
{
	return finding->segments[part->last].to_ns;
}

static int belong_together(const struct finding *finding, const struct part *left, const struct part *right)
{
	uint32_t process = finding->segments[left->last].process;
	if (finding->segments[right->first].process != process)
		return 0;
	uint64_t left_ns = usable_ns(finding, process, from_of(finding, left), to_of(finding, left));
	uint64_t right_ns = usable_ns(finding, process, from_of(finding, right), to_of(finding, right));
	uint64_t gap_ns = usable_ns(finding, process, to_of(finding, left), from_of(finding, right));
	return gap_ns <= (left_ns < right_ns ? left_ns : right_ns) / GAP_PART;
}

/* Parts that are interrupted for little are one: what has grown may take the one before it in, too. */
static void parts_join(struct finding *finding)
{
	size_t kept = 0;
	for (size_t i = 0; i < finding->part_count; i++) {
		struct part part = finding->parts[i];
		while (kept && belong_together(finding, &finding->parts[kept - 1], &part))
			part.first = finding->parts[--kept].first;
		finding->parts[kept++] = part;
	}
	finding->part_count = kept;
}

static void phase_add(struct finding *finding, const struct part *part)
{
	struct sonde_io_phase *phase = &finding->phases[finding->phase_count];
	*phase = (struct sonde_io_phase){.from_ns = from_of(finding, part),
					 .to_ns = to_of(finding, part),
					 .process = finding->segments[part->first].process};
	for (size_t i = part->first; i <= part->last; i++) {
		const struct segment *segment = &finding->segments[i];
		phase->reading_ns += segment->reading_ns;
		phase->read_b += segment->read_b;
		phase->reads += segment->reads;
		if (phase->stack && segment->most_b <= phase->most_b)
			continue;
		phase->most_b = segment->most_b;
		phase->stack = segment->stack;
		phase->object = segment->object;
	}
	finding->within[finding->phase_count][0] = part->first;
	finding->within[finding->phase_count][1] = part->last + 1;
	finding->phase_count += phase->read_b && phase->to_ns - phase->from_ns >= LEAST_NS;
}

static int phases_make(struct finding *finding)
{
	finding->phases = calloc(finding->part_count + 1, sizeof *finding->phases);
	finding->within = calloc(finding->part_count + 1, sizeof *finding->within);
	if (!finding->phases || !finding->within)
		return -ENOMEM;
	for (size_t i = 0; i < finding->part_count; i++)
		phase_add(finding, &finding->parts[i]);
	return 0;
}

/* The first phase of a process, or of a later one, that ends after this time. */
static size_t phase_after(const struct finding *finding, uint32_t process, uint64_t time_ns)
{
	size_t from = 0, to = finding->phase_count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct sonde_io_phase *phase = &finding->phases[middle];
		if (phase->process < process || (phase->process == process && phase->to_ns <= time_ns))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* --- what else ran ----------------------------------------------------------------------------------------------- */

static int compare_threads(const void *left, const void *right)
{
	const struct sonde_io_burst *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* The thread's first burst that ends after this time. */
static const struct sonde_io_burst *burst_after(const struct sonde_io_bursts *bursts, uint32_t thread, uint64_t time_ns)
{
	size_t from = 0, to = bursts->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct sonde_io_burst *burst = &bursts->rows[middle];
		if (burst->thread < thread || (burst->thread == thread && burst->to_ns <= time_ns))
			from = middle + 1;
		else
			to = middle;
	}
	return from < bursts->count && bursts->rows[from].thread == thread ? &bursts->rows[from] : NULL;
}

static int span_add(struct finding *finding, size_t phase, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns >= to_ns || finding->too_many)
		return 0;
	if (finding->span_count == finding->span_cap) {
		size_t cap = finding->span_cap ? 2 * finding->span_cap : 256;
		struct span *spans = cap > SPANS_MAX ? NULL : realloc(finding->spans, cap * sizeof *spans);
		finding->too_many = cap > SPANS_MAX;
		if (!spans)
			return finding->too_many ? 0 : -ENOMEM;
		finding->spans = spans;
		finding->span_cap = cap;
	}
	finding->spans[finding->span_count++] = (struct span){phase, from_ns, to_ns};
	return 0;
}

/* What of the thread's time on a CPU lies in a phase, but not in its own calls. */
static int spans_add(struct finding *finding, size_t phase, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
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
	struct finding *finding = context;
	const struct sonde_thread *thread = sonde_session_thread(finding->bursts->session, interval->thread);
	int rc = 0;
	if (interval->state != SONDE_INTERVAL_ON_CPU || !thread)
		return 0;
	for (size_t i = phase_after(finding, thread->process, interval->from_ns); !rc && i < finding->phase_count;
	     i++) {
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
	const struct span *a = left, *b = right;
	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Overlapping ones of a phase become one, in place. */
static void spans_join(struct finding *finding)
{
	size_t kept = 0;
	if (finding->span_count)
		qsort(finding->spans, finding->span_count, sizeof *finding->spans, compare_spans);
	for (size_t i = 0; i < finding->span_count; i++) {
		struct span *last = kept ? &finding->spans[kept - 1] : NULL, next = finding->spans[i];
		if (last && last->phase == next.phase && next.from_ns <= last->to_ns)
			last->to_ns = next.to_ns > last->to_ns ? next.to_ns : last->to_ns;
		else
			finding->spans[kept++] = next;
	}
	finding->span_count = kept;
}

/* Reading in a segment is spread over it evenly: its gaps are short. */
static uint64_t alone_of(const struct finding *finding, size_t phase, size_t *span)
{
	double alone_ns = 0;
	while (*span < finding->span_count && finding->spans[*span].phase < phase)
		++*span;
	size_t at = *span;
	for (size_t i = finding->within[phase][0]; i < finding->within[phase][1]; i++) {
		const struct segment *segment = &finding->segments[i];
		uint64_t whole_ns = segment->to_ns - segment->from_ns, both_ns = 0;
		while (at < finding->span_count && finding->spans[at].phase == phase &&
		       finding->spans[at].to_ns <= segment->from_ns)
			at++;
		for (size_t k = at; k < finding->span_count && finding->spans[k].phase == phase &&
				    finding->spans[k].from_ns < segment->to_ns;
		     k++) {
			const struct span *other = &finding->spans[k];
			uint64_t from_ns = other->from_ns > segment->from_ns ? other->from_ns : segment->from_ns;
			both_ns += (other->to_ns < segment->to_ns ? other->to_ns : segment->to_ns) - from_ns;
		}
		if (whole_ns)
			alone_ns += (double)segment->reading_ns * (1 - (double)both_ns / (double)whole_ns);
	}
	return (uint64_t)(alone_ns + 0.5);
}

/* Of processes with one thread nothing else can run. */
static int alone_find(struct finding *finding)
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
		qsort(finding->bursts->rows, finding->bursts->count, sizeof *finding->bursts->rows, compare_threads);
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

/* --- zones ------------------------------------------------------------------------------------------------------- */

static void zone_see(struct finding *finding, double *best, const struct sonde_batch *batch, size_t i)
{
	uint64_t from_ns = batch->start_ns[i], to_ns = from_ns + batch->dur_ns[i];
	for (size_t k = phase_after(finding, batch->process, from_ns); k < finding->phase_count; k++) {
		struct sonde_io_phase *phase = &finding->phases[k];
		if (phase->process != batch->process || phase->from_ns >= to_ns)
			return;
		double both = (double)((to_ns < phase->to_ns ? to_ns : phase->to_ns) -
				       (from_ns > phase->from_ns ? from_ns : phase->from_ns));
		double either = (double)batch->dur_ns[i] + (double)(phase->to_ns - phase->from_ns) - both;
		if (either <= 0 || both / either < ZONE_LEAST || both / either <= best[k])
			continue;
		best[k] = both / either;
		phase->zone = batch->site[i];
	}
}

/* Chunks that cannot be read are left out. */
static int zones_find(struct finding *finding)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	double *best = calloc(finding->phase_count + 1, sizeof *best);
	int rc = best ? sonde_cursor_open(&cursor, finding->bursts->session, 1u << SONDE_CHUNK_ZONES) : -ENOMEM;
	if (rc) {
		free(best);
		return rc;
	}
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		for (size_t i = 0; rc > 0 && i < batch->count; i++)
			zone_see(finding, best, batch, i);
	sonde_cursor_close(cursor);
	free(best);
	return rc;
}

ptrdiff_t sonde_io_phases_make(struct sonde_io_phase **out, struct sonde_io_bursts *bursts)
{
	struct finding finding = {.bursts = bursts};
	int rc = segments_make(&finding);
	if (!rc && finding.segment_count)
		rc = stalls_find(&finding);
	if (!rc) {
		parts_make(&finding);
		parts_join(&finding);
		rc = phases_make(&finding);
	}
	if (!rc && finding.phase_count)
		rc = alone_find(&finding);
	if (!rc && finding.phase_count && sonde_session_site_count(bursts->session))
		rc = zones_find(&finding);
	free(finding.segments);
	free(finding.stalls);
	free(finding.parts);
	free(finding.within);
	free(finding.spans);
	if (rc) {
		free(finding.phases);
		return -1;
	}
	*out = finding.phases;
	return (ptrdiff_t)finding.phase_count;
}
