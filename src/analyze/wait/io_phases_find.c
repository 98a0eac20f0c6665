/* io_phases_find.c: finds phases in bursts of reads, and the zones that match them (wait/io_phases.h).
 *
 * Overlapping bursts of a process form a segment. Segments are scored by their proportion of reading; the
 * highest-scoring stretches are parts. Lengths are measured in time in which the process could run. Parts with only
 * short gaps between them form a phase. What else ran in a phase: wait/io_phases_alone.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/wait/io_phases_find.h"
#include "session/intervals.h"
#include "util/array.h"
#include "util/search.h"

#define PART_GAP_NS 1000000u /* a gap that ends a part */
#define STALL_NS 200000u     /* shorter waits for a CPU are ignored */
#define LEAST_NS 1000000u    /* minimum length of a phase */
#define READING_WEIGHS 3     /* relative to other time: a part reads at least a quarter of the time */
#define GAP_PART 5u          /* fraction of the shorter neighbour: phases with a smaller gap are joined */
#define ZONE_LEAST 0.5       /* overlap ÷ union */

/* --- segments ---------------------------------------------------------------------------------------------------- */

static int compare_starts(const void *left, const void *right)
{
	const struct sonde_io_burst *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static void segment_add(struct sonde_io_finding *finding, const struct sonde_io_burst *burst)
{
	struct sonde_io_segment *last = finding->segment_count ? &finding->segments[finding->segment_count - 1] : NULL;
	if (!last || last->process != burst->process || burst->from_ns > last->to_ns) {
		last = &finding->segments[finding->segment_count++];
		*last = (struct sonde_io_segment){
		    .from_ns = burst->from_ns, .to_ns = burst->to_ns, .process = burst->process};
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

static int segments_make(struct sonde_io_finding *finding)
{
	struct sonde_io_bursts *bursts = finding->bursts;
	finding->segments = calloc(bursts->count + 1, sizeof *finding->segments);
	finding->parts = calloc(bursts->count + 1, sizeof *finding->parts);
	if (!finding->segments || !finding->parts)
		return -ENOMEM;
	if (bursts->count)
		qsort(bursts->rows, bursts->count, sizeof *bursts->rows, compare_starts);
	for (size_t i = 0; i < bursts->count; i++)
		segment_add(finding, &bursts->rows[i]);
	for (size_t i = 0; i < finding->segment_count; i++) { /* threads side by side */
		struct sonde_io_segment *segment = &finding->segments[i];
		uint64_t whole_ns = segment->to_ns - segment->from_ns;
		segment->reading_ns = segment->reading_ns < whole_ns ? segment->reading_ns : whole_ns;
	}
	return 0;
}

/* --- waiting for a CPU ------------------------------------------------------------------------------------------- */

static int take_stall(void *context, const struct sonde_interval *interval)
{
	struct sonde_io_finding *finding = context;
	const struct sonde_thread *thread = sonde_session_thread(finding->bursts->session, interval->thread);
	if (interval->state != SONDE_INTERVAL_RUNNABLE || interval->to_ns - interval->from_ns < STALL_NS || !thread ||
	    thread->id >= finding->bursts->threads || !finding->bursts->last[thread->id])
		return 0;
	if (SONDE_ARRAY_RESERVE(finding->stalls, finding->stall_cap, finding->stall_count + 1))
		return -ENOMEM;
	finding->stalls[finding->stall_count++] =
	    (struct sonde_io_stall){.from_ns = interval->from_ns, .to_ns = interval->to_ns, .process = thread->process};
	return 0;
}

static int compare_stalls(const void *left, const void *right)
{
	const struct sonde_io_stall *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* A process without a CPU cannot do other work: waiting for a CPU does not interrupt a phase. */
static int stalls_find(struct sonde_io_finding *finding)
{
	struct sonde_intervals intervals;
	size_t kept = 0;
	int rc = sonde_intervals_walk(&intervals, finding->bursts->session, take_stall, finding);
	if (rc)
		return rc;
	if (finding->stall_count)
		qsort(finding->stalls, finding->stall_count, sizeof *finding->stalls, compare_stalls);
	for (size_t i = 0; i < finding->stall_count; i++) {
		struct sonde_io_stall *last = kept ? &finding->stalls[kept - 1] : NULL, next = finding->stalls[i];
		if (last && last->process == next.process && next.from_ns <= last->to_ns)
			last->to_ns = next.to_ns > last->to_ns ? next.to_ns : last->to_ns;
		else
			finding->stalls[kept++] = next;
	}
	finding->stall_count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct sonde_io_stall *stall = &finding->stalls[i];
		int same = i && stall[-1].process == stall->process;
		stall->sum_ns = (same ? stall[-1].sum_ns : 0) + stall->to_ns - stall->from_ns;
	}
	return 0;
}

/* How long a process had waited for a CPU up to a time. */
static uint64_t stalled(const struct sonde_io_finding *finding, uint32_t process, uint64_t time_ns)
{
	size_t next = SONDE_SEARCH(i, 0, finding->stall_count,
				   finding->stalls[i].process < process ||
				       (finding->stalls[i].process == process && finding->stalls[i].from_ns < time_ns));
	if (!next || finding->stalls[next - 1].process != process)
		return 0;
	const struct sonde_io_stall *stall = &finding->stalls[next - 1];
	return stall->sum_ns - (stall->to_ns > time_ns ? stall->to_ns - time_ns : 0);
}

/* Time that a process could use. */
static uint64_t usable_ns(const struct sonde_io_finding *finding, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t stalled_ns = stalled(finding, process, to_ns) - stalled(finding, process, from_ns);
	return to_ns - from_ns > stalled_ns ? to_ns - from_ns - stalled_ns : 0;
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

/* Returns 1 + the index of the latest part, not below `base`, whose `before` is smaller than this one; 0 = none. */
static size_t find_below(const struct sonde_io_finding *finding, size_t base, int64_t before)
{
	size_t at = finding->part_count;
	while (at > base && finding->parts[at - 1].before >= before)
		at = finding->parts[at - 1].below;
	return at > base ? at : 0;
}

static void part_add(struct sonde_io_finding *finding, size_t base, struct sonde_io_part part)
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

/* Maximal scoring subsequences of each process, between gaps that end parts. */
static void parts_make(struct sonde_io_finding *finding)
{
	int64_t sum = 0;
	size_t base = 0;
	for (size_t i = 0; i < finding->segment_count; i++) {
		const struct sonde_io_segment *segment = &finding->segments[i], *before = i ? segment - 1 : NULL;
		int same = before && before->process == segment->process;
		uint64_t gap_ns = same ? usable_ns(finding, segment->process, before->to_ns, segment->from_ns) : 0;
		int64_t others_ns = (int64_t)(segment->to_ns - segment->from_ns - segment->reading_ns);
		if (!same || gap_ns > PART_GAP_NS)
			base = finding->part_count;
		sum -= (int64_t)gap_ns;
		struct sonde_io_part part = {.first = i, .last = i, .before = sum};
		sum += READING_WEIGHS * (int64_t)segment->reading_ns - others_ns;
		part.after = sum;
		if (part.after > part.before)
			part_add(finding, base, part);
	}
}

/* --- phases ------------------------------------------------------------------------------------------------------ */

static uint64_t from_of(const struct sonde_io_finding *finding, const struct sonde_io_part *part)
{
	return finding->segments[part->first].from_ns;
}

static uint64_t to_of(const struct sonde_io_finding *finding, const struct sonde_io_part *part)
{
	return finding->segments[part->last].to_ns;
}

static int belong_together(const struct sonde_io_finding *finding, const struct sonde_io_part *left,
			   const struct sonde_io_part *right)
{
	uint32_t process = finding->segments[left->last].process;
	if (finding->segments[right->first].process != process)
		return 0;
	uint64_t left_ns = usable_ns(finding, process, from_of(finding, left), to_of(finding, left));
	uint64_t right_ns = usable_ns(finding, process, from_of(finding, right), to_of(finding, right));
	uint64_t gap_ns = usable_ns(finding, process, to_of(finding, left), from_of(finding, right));
	return gap_ns <= (left_ns < right_ns ? left_ns : right_ns) / GAP_PART;
}

/* Joins parts with short gaps: the grown phase may then also absorb the one before it. */
static void parts_join(struct sonde_io_finding *finding)
{
	size_t kept = 0;
	for (size_t i = 0; i < finding->part_count; i++) {
		struct sonde_io_part part = finding->parts[i];
		while (kept && belong_together(finding, &finding->parts[kept - 1], &part))
			part.first = finding->parts[--kept].first;
		finding->parts[kept++] = part;
	}
	finding->part_count = kept;
}

static void phase_add(struct sonde_io_finding *finding, const struct sonde_io_part *part)
{
	struct sonde_io_phase *phase = &finding->phases[finding->phase_count];
	*phase = (struct sonde_io_phase){.from_ns = from_of(finding, part),
					 .to_ns = to_of(finding, part),
					 .process = finding->segments[part->first].process};
	for (size_t i = part->first; i <= part->last; i++) {
		const struct sonde_io_segment *segment = &finding->segments[i];
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

static int phases_make(struct sonde_io_finding *finding)
{
	finding->phases = calloc(finding->part_count + 1, sizeof *finding->phases);
	finding->within = calloc(finding->part_count + 1, sizeof *finding->within);
	if (!finding->phases || !finding->within)
		return -ENOMEM;
	for (size_t i = 0; i < finding->part_count; i++)
		phase_add(finding, &finding->parts[i]);
	return 0;
}

size_t sonde_io_phase_after(const struct sonde_io_finding *finding, uint32_t process, uint64_t time_ns)
{
	return SONDE_SEARCH(i, 0, finding->phase_count,
			    finding->phases[i].process < process ||
				(finding->phases[i].process == process && finding->phases[i].to_ns <= time_ns));
}

/* --- zones ------------------------------------------------------------------------------------------------------- */

static void zone_see(struct sonde_io_finding *finding, double *best, const struct sonde_batch *batch, size_t i)
{
	uint64_t from_ns = batch->zones.start_ns[i], to_ns = from_ns + batch->zones.dur_ns[i];
	for (size_t k = sonde_io_phase_after(finding, batch->process, from_ns); k < finding->phase_count; k++) {
		struct sonde_io_phase *phase = &finding->phases[k];
		if (phase->process != batch->process || phase->from_ns >= to_ns)
			return;
		double both = (double)((to_ns < phase->to_ns ? to_ns : phase->to_ns) -
				       (from_ns > phase->from_ns ? from_ns : phase->from_ns));
		double either = (double)batch->zones.dur_ns[i] + (double)(phase->to_ns - phase->from_ns) - both;
		if (either <= 0 || both / either < ZONE_LEAST || both / either <= best[k])
			continue;
		best[k] = both / either;
		phase->zone = batch->zones.site[i];
	}
}

/* Unreadable chunks are skipped. */
static int zones_find(struct sonde_io_finding *finding)
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
	struct sonde_io_finding finding = {.bursts = bursts};
	int rc = segments_make(&finding);
	if (!rc && finding.segment_count)
		rc = stalls_find(&finding);
	if (!rc) {
		parts_make(&finding);
		parts_join(&finding);
		rc = phases_make(&finding);
	}
	if (!rc && finding.phase_count)
		rc = sonde_io_alone_find(&finding);
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
