/* memory.c: the memory of each process: RSS, sampled over time by the recorder, next to the size of malloc's heap.
 *
 * Overhead is RSS minus live bytes: the allocator's own data, fragmentation, code, stacks, mappings; it is negative if
 * memory was allocated but never touched. The heap's peak is exact in full mode; the RSS shown for it is the larger of
 * the samples just before and after it, counting only samples at most 100 ms and at most a twentieth of the process's
 * recording away.
 */
#include "analyze/heap/rss.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
#define NEAR_NS 100000000u
#define NEAR_SHARE 20u

enum {
	PROCESS,
	MOST,
	LIVE_PEAK,
	RSS_THEN,
	OVER_PEAK,
	LAST,
	OVER_LAST,
	FIRST,
	GROWTH,
	LIVE_LAST,
	MAPPED,
	KERNELS,
	PID,
	SAMPLES,
	INTERVAL,
	JITTER,
	LONGEST,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MOST] = {"rss_peak_b", "peak RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [LIVE_PEAK] = {"live_peak_b", "peak live", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [RSS_THEN] = {"rss_at_live_peak_b", "RSS then", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [OVER_PEAK] = {"overhead_at_peak_b", "overhead", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [LAST] = {"rss_last_b", "last RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [OVER_LAST] = {"overhead_last_b", "last overhead", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [FIRST] = {"rss_first_b", "first RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 4},
    [GROWTH] = {"rss_growth_b", "growth", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [LIVE_LAST] = {"live_last_b", "last live", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 5},
    [MAPPED] = {"mapped_last_b", "last mapped", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 5},
    [KERNELS] = {"peak_rss_b", "kernel's peak", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 6},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 10},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 8},
    [INTERVAL] = {"interval_ns", "interval", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 9},
    [JITTER] = {"jitter_ns", "jitter", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 9},
    [LONGEST] = {"longest_ns", "longest", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 9},
};

struct memory {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_rss rss;
	struct sonde_heap_sums sums;
	struct sonde_heap_moment *moments; /* by process id: its heap at its last RSS sample */
};

static int memory_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct memory *memory = state;
	memory->session = session;
	memory->options = *options;
	return sonde_rss_init(&memory->rss, session);
}

static void memory_end(void *state)
{
	struct memory *memory = state;
	sonde_rss_fini(&memory->rss);
	sonde_heap_sums_free(&memory->sums);
	free(memory->moments);
}

static int memory_feed(void *state, const struct sonde_batch *batch)
{
	struct memory *memory = state;
	return sonde_rss_feed(&memory->rss, batch);
}

static int memory_merge(void *state, void *other_state)
{
	struct memory *memory = state, *other = other_state;
	return sonde_rss_merge(&memory->rss, &other->rss);
}

/* --- figures ----------------------------------------------------------------------------------------------------- */

/* malloc's heap of a process; after exec there are several: the one with the highest peak. */
static const struct sonde_heap_total *heap_of(const struct memory *memory, uint32_t process)
{
	const struct sonde_heap_total *best = NULL;
	for (uint32_t id = 1; memory->sums.heaps && id <= sonde_session_heap_count(memory->session); id++) {
		const struct sonde_heap *heap = sonde_session_heap(memory->session, id);
		const struct sonde_heap_total *total = &memory->sums.heaps[id];
		if (heap->process == process && heap->kind == SONDE_HEAP_MALLOC &&
		    (!best || total->peak_b > best->peak_b))
			best = total;
	}
	return best;
}

static uint64_t most_of(const struct sonde_rss_series *series)
{
	uint64_t most_b = 0;
	for (size_t i = 0; i < series->count; i++)
		most_b = series->points[i].size_b > most_b ? series->points[i].size_b : most_b;
	return most_b;
}

static struct sonde_cell difference(uint64_t more, uint64_t less)
{
	return sonde_cell_real((double)(int64_t)(more - less), 0);
}

static void cells_at_peak(const struct memory *memory, uint32_t process, struct sonde_cell *row)
{
	const struct sonde_part *part = sonde_session_part_of(memory->session, process);
	const struct sonde_heap_total *heap = heap_of(memory, process);
	row[LIVE_PEAK] = row[RSS_THEN] = row[OVER_PEAK] = sonde_cell_absent("allocations were not recorded");
	if (!heap || !heap->peak_b)
		return;
	row[LIVE_PEAK] = sonde_cell_int(heap->peak_b);
	row[RSS_THEN] = row[OVER_PEAK] = sonde_cell_absent("no sample is near the peak");
	uint64_t near_ns = (part->end_ns - part->start_ns) / NEAR_SHARE;
	uint64_t rss_b = sonde_rss_around(&memory->rss, process, heap->peak_ns, near_ns < NEAR_NS ? near_ns : NEAR_NS);
	if (!rss_b)
		return;
	row[RSS_THEN] = sonde_cell_int(rss_b);
	row[OVER_PEAK] = difference(rss_b, heap->peak_b);
}

/* wait4(2) returns one peak for the command and all children that it waited for, so it is the command's own peak only
 * if the command has no children. */
static struct sonde_cell kernels_peak(const struct memory *memory, const struct sonde_process *process)
{
	if (!process->peak_rss_b)
		return sonde_cell_absent("the kernel reports it only for the command");
	for (uint32_t id = 1; id <= sonde_session_process_count(memory->session); id++)
		if (sonde_session_process(memory->session, id)->parent == process->id)
			return sonde_cell_absent("the kernel's figure includes child processes");
	return sonde_cell_int(process->peak_rss_b);
}

static void row_add(const struct memory *memory, uint32_t id, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_rss_series *series = &memory->rss.series[id];
	const struct sonde_process *process = sonde_session_process(memory->session, id);
	const struct sonde_heap_moment *moment = &memory->moments[id];
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *name = sonde_report_text(report, "%s (%u)", process && *process->name ? process->name : "(unknown)",
					     process ? process->pid : 0);
	if (!row || !process || !name)
		return;
	uint64_t first_b = series->points[0].size_b, last_b = series->points[series->count - 1].size_b;
	struct sonde_rss_pace pace = {0};
	sonde_rss_pace_add(&pace, series);
	row[PROCESS] = sonde_cell_text(name);
	row[PID] = sonde_cell_int(process->pid);
	row[FIRST] = sonde_cell_int(first_b);
	row[MOST] = sonde_cell_int(most_of(series));
	row[LAST] = sonde_cell_int(last_b);
	row[GROWTH] = difference(last_b, first_b);
	row[KERNELS] = kernels_peak(memory, process);
	cells_at_peak(memory, id, row);
	row[LIVE_LAST] = row[OVER_LAST] = row[MAPPED] = sonde_cell_absent("allocations were not recorded");
	if (moment->known && (int64_t)moment->live.size_b >= 0) {
		row[LIVE_LAST] = sonde_cell_int(moment->live.size_b);
		row[OVER_LAST] = difference(last_b, moment->live.size_b);
		row[MAPPED] = sonde_cell_int(moment->mapped_b);
	}
	row[SAMPLES] = sonde_cell_int(series->count);
	row[INTERVAL] = row[JITTER] = row[LONGEST] = sonde_cell_absent("a single sample");
	if (series->count > 1) {
		row[INTERVAL] = sonde_cell_int((uint64_t)pace.between.mean);
		row[JITTER] = sonde_cell_int((uint64_t)sonde_moments_std(&pace.between));
		row[LONGEST] = sonde_cell_int(pace.longest_ns);
	}
}

/* --- notes ------------------------------------------------------------------------------------------------------- */

static void note_pace(const struct memory *memory, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_rss_pace pace = {0};
	const char *requested = sonde_session_info(memory->session, "option.memory_ns");
	const char *interval = sonde_session_info(memory->session, "option.interval_ns");
	char wanted[64] = "whenever the recorder was awake";
	uint64_t samples = 0;
	for (size_t id = 0; id < memory->rss.count; id++) {
		sonde_rss_pace_add(&pace, &memory->rss.series[id]);
		samples += memory->rss.series[id].count;
	}
	if (!requested &&
	    !sonde_session_heap_count(memory->session)) /* RSS is sampled more often with a recorded heap */
		requested = interval;
	if (requested)
		snprintf(wanted, sizeof wanted, "every %.4g ms requested", strtod(requested, NULL) / 1e6);
	sonde_report_note(report, section, 0,
			  "RSS: %llu sample%s, %s: %.1f ms apart, standard deviation %.1f ms, at most %.1f ms",
			  (unsigned long long)samples, sonde_plural(samples), wanted, pace.between.mean / 1e6,
			  sonde_moments_std(&pace.between) / 1e6, (double)pace.longest_ns / 1e6);
}

static void notes_add(const struct memory *memory, struct sonde_report *report, struct sonde_section *section)
{
	uint64_t mean_b = 0;
	for (size_t id = 0; id < memory->rss.count; id++)
		mean_b = memory->moments[id].mean_b > mean_b ? memory->moments[id].mean_b : mean_b;
	note_pace(memory, report, section);
	if ((memory->options.selection.from_ns || memory->options.selection.to_ns || memory->options.selection.thread))
		sonde_report_note(report, section, 0, "of the whole recording, ignoring the selection");
	if (sonde_session_heap_count(memory->session))
		sonde_report_note(report, section, 0,
				  "overhead: RSS − live bytes, at the peak; negative if memory was never touched");
	if (mean_b)
		sonde_report_note(report, section, 0, "blocks were sampled: live bytes and overhead are estimates");
}

/* --- the pass ---------------------------------------------------------------------------------------------------- */

static int heap_read(struct memory *memory)
{
	memory->moments = calloc(memory->rss.count, sizeof *memory->moments);
	if (!memory->moments)
		return sonde_error(ENOMEM, "out of memory for %zu processes", memory->rss.count);
	for (uint32_t id = 0; id < memory->rss.count; id++) {
		const struct sonde_rss_series *series = &memory->rss.series[id];
		memory->moments[id].process = id;
		memory->moments[id].time_ns = series->count ? series->points[series->count - 1].time_ns : 0;
	}
	if (!sonde_session_heap_count(memory->session))
		return 0;
	int rc = sonde_session_heap_sums(memory->session, &memory->sums);
	if (rc != -ENOMEM)
		rc = sonde_session_heap_moments(memory->session, memory->moments, memory->rss.count);
	return rc == -ENOMEM ? rc : 0;
}

static int compare_rows(const void *left, const void *right, void *state)
{
	const struct memory *memory = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t of_a = most_of(&memory->rss.series[a]), of_b = most_of(&memory->rss.series[b]);
	return of_a != of_b ? (of_a < of_b ? 1 : -1) : (a > b) - (a < b);
}

static int rows_add(struct memory *memory, struct sonde_report *report, struct sonde_section *section)
{
	size_t limit = memory->options.limit ? memory->options.limit : DEFAULT_ROWS, count = 0;
	uint32_t *ids = calloc(memory->rss.count, sizeof *ids);
	int rc = ids ? 0 : sonde_error(ENOMEM, "out of memory for %zu processes", memory->rss.count);
	for (uint32_t id = 1; ids && id < memory->rss.count; id++)
		if (memory->rss.series[id].count)
			ids[count++] = id;
	if (ids)
		qsort_r(ids, count, sizeof *ids, compare_rows, memory);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		row_add(memory, ids[i], report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	free(ids);
	return rc;
}

static int memory_finish(void *state, struct sonde_report *report)
{
	struct memory *memory = state;
	size_t samples = 0;
	for (size_t id = 1; id < memory->rss.count; id++)
		samples += memory->rss.series[id].count;
	int wanted =
	    sonde_session_heap_count(memory->session) || sonde_session_info(memory->session, "option.memory_ns");
	/* every recording has RSS samples, so without heap or memory recording, the section is left out unless
	 * requested */
	if (samples && !wanted && !memory->options.requested)
		return 0;
	if (!samples)
		return sonde_pass_nothing(&memory->options, report, "memory", "Memory of processes",
					  "resident memory is recorded only for processes that sonde records");
	sonde_rss_sort(&memory->rss);
	int rc = heap_read(memory);
	if (rc < 0)
		return rc;
	struct sonde_section *section = sonde_report_table(report, "memory", "Memory of processes", columns, COLUMNS);
	rc = rows_add(memory, report, section);
	if (!rc)
		notes_add(memory, report, section);
	return rc;
}

const struct sonde_pass sonde_pass_memory = {
    .name = "memory",
    .needs = SONDE_NEEDS(READINGS),
    .has = sonde_has_resident,
    .nothing = "no process ran when memory was read",
    .title = "process memory over time: RSS and live bytes",
    .types = 1u << SONDE_CHUNK_SERIES,
    .standard = 1,
    .state_b = sizeof(struct memory),
    .begin = memory_begin,
    .feed = memory_feed,
    .merge = memory_merge,
    .finish = memory_finish,
    .end = memory_end,
};
