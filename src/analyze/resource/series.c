/* series.c: summaries of numbers over time (resource/series.h), from a single pass over the points in file order.
 *
 * Rates are differences of readings: over too short a time (the last reading may closely follow the previous one) they
 * would show the clock's granularity rather than the program. So a rate starts where the previous one ended, and
 * extends until half the requested interval has passed.
 */
#include "analyze/resource/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

#define LEAST_NS 20000000u /* default interval: two accounting ticks of most kernels */

/* The system's CPU time so far. */
struct cpu_time {
	double busy, all;
};

/* Running state of the sums over all processes. */
struct sonde_tree_state {
	int64_t (*held)[SONDE_TREE_GAUGES]; /* by row */
	uint8_t *alive;                     /* by row: is part of `processes` */
	uint32_t *ends;                     /* rows of processes that exited, by exit time */
	size_t end_count, end_at;
	uint32_t round;
	uint64_t round_ns;
	double cpu_ns, mark_cpu_ns; /* CPU time of all processes so far, and at mark_ns */
	uint64_t mark_ns;           /* start of the next rate; 0 = not yet */
	uint64_t busy_mark_ns;
	struct cpu_time busy_mark, busy_earlier; /* at busy_mark_ns, and at the start of the last share */
};

static const enum sonde_metric tree_metrics[SONDE_TREE_PROCESSES] = {
    [SONDE_TREE_RSS] = SONDE_METRIC_MEMORY_RSS,   [SONDE_TREE_PSS] = SONDE_METRIC_MEMORY_PSS,
    [SONDE_TREE_SWAP] = SONDE_METRIC_MEMORY_SWAP, [SONDE_TREE_THREADS] = SONDE_METRIC_THREADS,
    [SONDE_TREE_FILES] = SONDE_METRIC_FILES,
};

/* --- which series is what ---------------------------------------------------------------------------------------- */

static int metric_named(const char *name)
{
	for (int i = 0; i < SONDE_METRIC_COUNT; i++)
		if (strcmp(sonde_metric_row((enum sonde_metric)i)->name, name) == 0)
			return i;
	return -1;
}

/* True for metrics polled at times of their own: they belong to no round. */
static int is_apart(int metric)
{
	return metric < 0 ||
	       (metric >= (int)SONDE_METRIC_DEVICE_UTILIZATION && metric <= (int)SONDE_METRIC_DEVICE_SLOWED_SETTING);
}

static uint32_t *index_at(const struct sonde_series_sums *sums, size_t row, int metric)
{
	return &sums->index[row * SONDE_METRIC_COUNT + (size_t)metric];
}

/* Assigns rows to processes with series, in the order of their ids. */
static int rows_make(struct sonde_series_sums *sums)
{
	size_t processes = sonde_session_process_count(sums->session);
	sums->row_of = calloc(processes + 1, sizeof *sums->row_of);
	if (!sums->row_of)
		return -ENOMEM;
	for (uint32_t id = 1; id <= sums->count; id++)
		if (sums->metric[id] >= 0)
			sums->row_of[sonde_session_series(sums->session, id)->process] = 1;
	sums->row_of[0] = 0;
	for (size_t id = 1; id <= processes; id++)
		sums->row_count += sums->row_of[id];
	sums->process = calloc(sums->row_count + 1, sizeof *sums->process);
	sums->index = calloc(sums->row_count + 1, SONDE_METRIC_COUNT * sizeof *sums->index);
	if (!sums->process || !sums->index)
		return -ENOMEM;
	uint32_t row = 0;
	for (uint32_t id = 1; id <= processes; id++)
		if (sums->row_of[id]) {
			sums->process[++row] = id;
			sums->row_of[id] = row;
		}
	return 0;
}

/* Treats two series of the same metric without an object as one. */
static void index_make(struct sonde_series_sums *sums)
{
	for (uint32_t id = 1; id <= sums->count; id++) {
		const struct sonde_series *series = sonde_session_series(sums->session, id);
		sums->same[id] = id;
		if (sums->metric[id] < 0)
			continue;
		uint32_t *first = index_at(sums, sums->row_of[series->process], sums->metric[id]);
		if (*first && !*series->object && !*sonde_session_series(sums->session, *first)->object)
			sums->same[id] = *first;
		*first = *first ? *first : id;
	}
}

static const struct sonde_process *process_at(const struct sonde_series_sums *sums, size_t row)
{
	return sonde_session_process(sums->session, sums->process[row]);
}

static int compare_ends(const void *left, const void *right, void *state)
{
	const struct sonde_process *a = process_at(state, *(const uint32_t *)left),
				   *b = process_at(state, *(const uint32_t *)right);
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static int state_make(struct sonde_series_sums *sums)
{
	struct sonde_tree_state *state = sums->state = calloc(1, sizeof *state);
	if (!state)
		return -ENOMEM;
	state->held = calloc(sums->row_count + 1, sizeof *state->held);
	state->alive = calloc(sums->row_count + 1, sizeof *state->alive);
	state->ends = calloc(sums->row_count + 1, sizeof *state->ends);
	if (!state->held || !state->alive || !state->ends)
		return -ENOMEM;
	for (uint32_t row = 1; row <= sums->row_count; row++)
		if (process_at(sums, row)->end_ns)
			state->ends[state->end_count++] = row;
	qsort_r(state->ends, state->end_count, sizeof *state->ends, compare_ends, sums);
	state->round = 1;
	return 0;
}

int sonde_series_sums_init(struct sonde_series_sums *sums, struct sonde_session *session,
			   const struct sonde_pass_options *options)
{
	const char *requested = sonde_session_info(session, "option.interval_ns");
	*sums = (struct sonde_series_sums){.session = session, .count = sonde_session_series_count(session)};
	sums->from_ns = options ? options->selection.from_ns : 0;
	sums->to_ns = options ? options->selection.to_ns : 0;
	sums->attached = sonde_session_info(session, "run.attached_pid") != NULL;
	sums->requested_ns = requested ? strtoull(requested, NULL, 10) : 0;
	sums->least_ns = sums->requested_ns ? sums->requested_ns / 2 : LEAST_NS;
	sums->sum = calloc(sums->count + 1, sizeof *sums->sum);
	sums->metric = calloc(sums->count + 1, sizeof *sums->metric);
	sums->same = calloc(sums->count + 1, sizeof *sums->same);
	sums->is_waiting = calloc(sums->count + 1, sizeof *sums->is_waiting);
	int rc = sums->sum && sums->metric && sums->same && sums->is_waiting ? 0 : -ENOMEM;
	for (uint32_t id = 1; rc == 0 && id <= sums->count; id++) {
		const struct sonde_series *series = sonde_session_series(session, id);
		sums->metric[id] = series->thread ? -1 : metric_named(series->name);
		sums->is_waiting[id] = series->thread && metric_named(series->name) == SONDE_METRIC_CPU_RUNNABLE;
	}
	rc = rc ? rc : rows_make(sums);
	if (rc == 0)
		index_make(sums);
	rc = rc ? rc : state_make(sums);
	if (rc == 0)
		return 0;
	sonde_series_sums_fini(sums);
	return sonde_error(ENOMEM, "out of memory for %zu series", sonde_session_series_count(session));
}

void sonde_series_sums_fini(struct sonde_series_sums *sums)
{
	if (sums->state) {
		free(sums->state->held);
		free(sums->state->alive);
		free(sums->state->ends);
	}
	free(sums->state);
	free(sums->sum);
	free(sums->metric);
	free(sums->same);
	free(sums->is_waiting);
	free(sums->row_of);
	free(sums->process);
	free(sums->index);
	*sums = (struct sonde_series_sums){0};
}

/* --- points ------------------------------------------------------------------------------------------------------ */

static void range_add(struct sonde_series_range *range, double value)
{
	range->min = range->count && range->min < value ? range->min : value;
	range->max = range->count && range->max > value ? range->max : value;
	range->count++;
}

/* Adds the rate from a time to the last point. */
static void rate_add(struct sonde_series_sum *sum, uint64_t from_ns, int64_t from)
{
	double rate = ((double)sum->last - (double)from) / (double)(sum->last_ns - from_ns);
	sum->rate_min = sum->rates && sum->rate_min < rate ? sum->rate_min : rate;
	sum->rate_max = sum->rates && sum->rate_max > rate ? sum->rate_max : rate;
	sum->rates++;
}

static void sum_add(struct sonde_series_sum *sum, uint64_t time_ns, int64_t value, uint64_t least_ns)
{
	if (!sum->count++) {
		sum->first_ns = sum->last_ns = sum->mark_ns = time_ns;
		sum->first = sum->last = sum->min = sum->max = sum->mark = value;
		return;
	}
	sum->area += ((double)sum->last + (double)value) / 2 * (double)(time_ns - sum->last_ns);
	sum->min = value < sum->min ? value : sum->min;
	sum->max = value > sum->max ? value : sum->max;
	sum->last_ns = time_ns;
	sum->last = value;
	if (time_ns - sum->mark_ns < least_ns || time_ns == sum->mark_ns)
		return;
	rate_add(sum, sum->mark_ns, sum->mark);
	sum->earlier_ns = sum->mark_ns;
	sum->earlier = sum->mark;
	sum->mark_ns = time_ns;
	sum->mark = value;
}

/* The remainder is too short for a rate of its own and joins the last one; otherwise the mean could exceed the
 * maximum. */
static void sum_finish(struct sonde_series_sum *sum)
{
	if (sum->rates && sum->last_ns > sum->mark_ns)
		rate_add(sum, sum->earlier_ns, sum->earlier);
}

/* Interpolates a total between two readings. */
static double between(uint64_t at_ns, uint64_t from_ns, int64_t from, uint64_t to_ns, int64_t to)
{
	double share = to_ns > from_ns ? (double)(at_ns - from_ns) / (double)(to_ns - from_ns) : 0;
	return (double)from + ((double)to - (double)from) * share;
}

/* Start value of a total of a process or one of its threads; 0 = of the system, whose totals are older. */
static double base_of(const struct sonde_series_sums *sums, const struct sonde_series_sum *sum, uint32_t process)
{
	if (sum->has_before)
		return between(sums->from_ns, sum->before_ns, sum->before, sum->first_ns, sum->first);
	return process && !sonde_session_part_of(sums->session, process)->attached ? 0 : (double)sum->first;
}

static double rise_of(const struct sonde_series_sums *sums, const struct sonde_series_sum *sum, uint32_t process)
{
	double end = sum->has_after ? between(sums->to_ns, sum->last_ns, sum->last, sum->after_ns, sum->after)
				    : (double)sum->last;
	double rise = end - base_of(sums, sum, process);
	return rise > 0 ? rise : 0;
}

/* --- all processes ----------------------------------------------------------------------------------------------- */

static void drop(struct sonde_series_sums *sums, uint32_t row)
{
	struct sonde_tree_state *state = sums->state;
	for (size_t i = 0; i < SONDE_TREE_GAUGES; i++)
		sums->tree[i].now = (int64_t)((uint64_t)sums->tree[i].now - (uint64_t)state->held[row][i]);
	memset(state->held[row], 0, sizeof *state->held);
}

static void drop_ended(struct sonde_series_sums *sums, uint64_t time_ns)
{
	struct sonde_tree_state *state = sums->state;
	while (state->end_at < state->end_count && process_at(sums, state->ends[state->end_at])->end_ns < time_ns)
		drop(sums, state->ends[state->end_at++]);
}

static void hold(struct sonde_series_sums *sums, uint32_t row, enum sonde_tree_gauge gauge, int64_t value)
{
	int64_t *held = &sums->state->held[row][gauge];
	sums->tree[gauge].now = (int64_t)((uint64_t)sums->tree[gauge].now + (uint64_t)value - (uint64_t)*held);
	*held = value;
	sums->tree[gauge].rounds += !sums->tree[gauge].rounds;
}

static void tree_add(struct sonde_series_sums *sums, uint32_t row, int metric, const struct sonde_series_sum *sum,
		     double before)
{
	const struct sonde_process *process = process_at(sums, row);
	if (metric == SONDE_METRIC_CPU_USER || metric == SONDE_METRIC_CPU_SYSTEM)
		sums->state->cpu_ns += (double)sum->last - before;
	if (process->end_ns && process->end_ns < sum->last_ns)
		return;
	for (int i = 0; i < SONDE_TREE_PROCESSES; i++)
		if ((int)tree_metrics[i] == metric)
			hold(sums, row, (enum sonde_tree_gauge)i, sum->last);
	hold(sums, row, SONDE_TREE_PROCESSES, 1);
}

static double last_of(const struct sonde_series_sums *sums, int metric)
{
	uint32_t id = *index_at(sums, 0, metric);
	return id ? (double)sums->sum[id].last : 0;
}

/* The system's CPU time so far, busy and in total, from its readings. */
static struct cpu_time cpu_time_of(const struct sonde_series_sums *sums)
{
	double busy = last_of(sums, SONDE_METRIC_CPU_USER) + last_of(sums, SONDE_METRIC_CPU_SYSTEM);
	return (struct cpu_time){busy, busy + last_of(sums, SONDE_METRIC_CPU_IDLE) +
					   last_of(sums, SONDE_METRIC_CPU_IOWAIT) +
					   last_of(sums, SONDE_METRIC_CPU_STOLEN)};
}

static void busy_since(struct sonde_series_sums *sums, struct cpu_time now, struct cpu_time then)
{
	if (now.all > then.all)
		range_add(&sums->busy, (now.busy - then.busy) / (now.all - then.all));
}

static void busy_add(struct sonde_series_sums *sums)
{
	struct sonde_tree_state *state = sums->state;
	uint32_t id = *index_at(sums, 0, SONDE_METRIC_CPU_IDLE);
	if (!id || !sums->sum[id].count || sums->sum[id].last_ns < state->busy_mark_ns + sums->least_ns)
		return;
	struct cpu_time now = cpu_time_of(sums);
	if (state->busy_mark_ns)
		busy_since(sums, now, state->busy_mark);
	state->busy_earlier = state->busy_mark_ns ? state->busy_mark : now;
	state->busy_mark_ns = sums->sum[id].last_ns;
	state->busy_mark = now;
}

static void round_end(struct sonde_series_sums *sums)
{
	struct sonde_tree_state *state = sums->state;
	state->round++;
	for (size_t i = 0; i < SONDE_TREE_GAUGES; i++) {
		struct sonde_tree_sum *sum = &sums->tree[i];
		if (!sum->rounds || sums->tree[SONDE_TREE_PROCESSES].now <= 0)
			continue;
		if (sum->rounds++ == 1)
			sum->first = sum->max = sum->now;
		sum->last = sum->now;
		sum->max = sum->now > sum->max ? sum->now : sum->max;
	}
	busy_add(sums);
	if (state->mark_ns && state->round_ns < state->mark_ns + sums->least_ns)
		return;
	if (state->mark_ns && state->round_ns > state->mark_ns)
		range_add(&sums->cpu,
			  (state->cpu_ns - state->mark_cpu_ns) / (double)(state->round_ns - state->mark_ns));
	state->mark_ns = state->round_ns;
	state->mark_cpu_ns = state->cpu_ns;
}

/* Distance between readings of one process, taken from `cpu.user`, which is part of each. */
static void pace_add(struct sonde_series_sums *sums, uint32_t row, int metric, const struct sonde_series_sum *sum,
		     uint64_t time_ns)
{
	if (metric != SONDE_METRIC_CPU_USER || !row != !sums->row_count)
		return;
	sums->readings++;
	if (!sum->count)
		return;
	sonde_moments_add(&sums->between, (double)(time_ns - sum->last_ns));
	sums->longest_ns = time_ns - sum->last_ns > sums->longest_ns ? time_ns - sum->last_ns : sums->longest_ns;
}

/* True if a point is within the selected part; also keeps the points next to it. */
static int is_within(const struct sonde_series_sums *sums, struct sonde_series_sum *sum, uint64_t time_ns,
		     int64_t value)
{
	if (time_ns < sums->from_ns) {
		sum->before_ns = time_ns;
		sum->before = value;
		sum->has_before = 1;
		return 0;
	}
	if (!sums->to_ns || time_ns < sums->to_ns)
		return 1;
	if (!sum->has_after) {
		sum->after_ns = time_ns;
		sum->after = value;
		sum->has_after = 1;
	}
	return 0;
}

static void point_add(struct sonde_series_sums *sums, uint32_t id, uint64_t time_ns, int64_t value)
{
	struct sonde_series_sum *sum = &sums->sum[sums->same[id]];
	struct sonde_tree_state *state = sums->state;
	int metric = sums->metric[id];
	uint32_t row = metric < 0 ? 0 : sums->row_of[sonde_session_series(sums->session, id)->process];
	if ((metric < 0 && !sums->is_waiting[id]) || (sum->count && time_ns < sum->last_ns) ||
	    !is_within(sums, sum, time_ns, value))
		return;
	if (is_apart(metric)) { /* series of threads are apart, too */
		sum_add(sum, time_ns, value, sums->least_ns);
		return;
	}
	if (sum->round == state->round)
		round_end(sums);
	sum->round = state->round;
	state->round_ns = time_ns;
	drop_ended(sums, time_ns);
	pace_add(sums, row, metric, sum, time_ns);
	double before = (double)sum->last;
	int is_first = !sum->count;
	sum_add(sum, time_ns, value, sums->least_ns);
	if (row)
		tree_add(sums, row, metric, sum, is_first ? base_of(sums, sum, sums->process[row]) : before);
}

int sonde_series_sums_feed(struct sonde_series_sums *sums, const struct sonde_batch *batch)
{
	if (batch->type != SONDE_CHUNK_SERIES)
		return 0;
	for (size_t i = 0; i < batch->count; i++)
		if (batch->series.series[i] && batch->series.series[i] <= sums->count)
			point_add(sums, batch->series.series[i], batch->series.time_ns[i], batch->series.value[i]);
	return 0;
}

void sonde_series_sums_finish(struct sonde_series_sums *sums)
{
	struct sonde_tree_state *state = sums->state;
	if (state->round_ns)
		round_end(sums);
	struct cpu_time now = cpu_time_of(sums);
	if (sums->busy.count && now.all > state->busy_mark.all)
		busy_since(sums, now, state->busy_earlier);
	for (uint32_t id = 1; id <= sums->count; id++)
		sum_finish(&sums->sum[id]);
}

int sonde_series_sums_read(struct sonde_series_sums *sums, struct sonde_session *session,
			   const struct sonde_pass_options *options)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_series_sums_init(sums, session, options);
	if (rc)
		return rc;
	rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SERIES);
	if (rc) {
		sonde_series_sums_fini(sums);
		return rc;
	}
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		if (rc > 0)
			sonde_series_sums_feed(sums, batch);
	sonde_cursor_close(cursor);
	sonde_series_sums_finish(sums);
	if (rc)
		sonde_series_sums_fini(sums);
	return rc;
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static const struct sonde_series_sum *known(const struct sonde_series_sums *sums, uint32_t id)
{
	return id && sums->sum[id].count ? &sums->sum[id] : NULL;
}

const struct sonde_series_sum *sonde_series_sum_of(const struct sonde_series_sums *sums, size_t row,
						   enum sonde_metric metric)
{
	uint32_t last = *index_at(sums, row, (int)metric);
	/* the command may move to another control group */
	for (uint32_t id = last; !row && id && id <= sums->count; id++) {
		int is_same = sums->metric[id] == (int)metric && !sonde_session_series(sums->session, id)->process;
		if (is_same && sums->sum[id].count && sums->sum[id].last_ns > sums->sum[last].last_ns)
			last = id;
	}
	return known(sums, last);
}

const struct sonde_series_sum *sonde_series_sum_of_object(const struct sonde_series_sums *sums,
							  enum sonde_metric metric, const char *object)
{
	for (uint32_t id = *index_at(sums, 0, (int)metric); id && id <= sums->count; id++) {
		const struct sonde_series *series = sonde_session_series(sums->session, id);
		if (sums->metric[id] == (int)metric && !series->process && strcmp(series->object, object) == 0)
			return known(sums, sums->same[id]);
	}
	return NULL;
}

double sonde_series_mean(const struct sonde_series_sum *sum)
{
	return sum->last_ns > sum->first_ns ? sum->area / (double)(sum->last_ns - sum->first_ns) : (double)sum->last;
}

double sonde_series_change(const struct sonde_series_sums *sums, const struct sonde_series_sum *sum, size_t row)
{
	return rise_of(sums, sum, row <= sums->row_count ? sums->process[row] : 0);
}

double sonde_series_tree_change(const struct sonde_series_sums *sums, enum sonde_metric metric, size_t *known)
{
	double all = 0;
	size_t count = 0;
	for (size_t row = 1; row <= sums->row_count; row++) {
		const struct sonde_series_sum *sum = sonde_series_sum_of(sums, row, metric);
		all += sum ? sonde_series_change(sums, sum, row) : 0;
		count += sum != NULL;
	}
	if (known)
		*known = count;
	return all;
}

double sonde_series_waited(const struct sonde_series_sums *sums, uint32_t process, size_t *threads)
{
	double all_ns = 0;
	size_t count = 0;
	for (uint32_t id = 1; id <= sums->count; id++) {
		const struct sonde_series_sum *sum = &sums->sum[id];
		uint32_t of = sonde_session_series(sums->session, id)->process; /* may have no row of its own */
		if (!sums->is_waiting[id] || !sum->count || (process && of != process))
			continue;
		all_ns += rise_of(sums, sum, of);
		count++;
	}
	*threads = count;
	return all_ns;
}

void sonde_series_life(const struct sonde_series_sums *sums, uint32_t id, uint64_t *from_ns, uint64_t *to_ns)
{
	const struct sonde_process *process = sonde_session_process(sums->session, id);
	const struct sonde_part *part = sonde_session_part_of(sums->session, id);
	*from_ns = sums->from_ns > part->start_ns ? sums->from_ns : part->start_ns;
	*from_ns = process->start_ns > *from_ns ? process->start_ns : *from_ns; /* it may be older than the recording */
	*to_ns = process->end_ns ? process->end_ns : part->end_ns;
	*to_ns = sums->to_ns && sums->to_ns < *to_ns ? sums->to_ns : *to_ns;
	*to_ns = *to_ns > *from_ns ? *to_ns : *from_ns;
}

double sonde_series_tree_mean(const struct sonde_series_sums *sums, enum sonde_metric metric)
{
	double area = 0;
	uint64_t from_ns = UINT64_MAX, to_ns = 0, count = 0, one = 0;
	for (size_t row = 1; row <= sums->row_count; row++) {
		const struct sonde_series_sum *sum = sonde_series_sum_of(sums, row, metric);
		uint64_t start_ns, end_ns;
		if (!sum)
			continue;
		sonde_series_life(sums, sums->process[row], &start_ns, &end_ns);
		count++;
		one = (uint64_t)sum->last;
		area += sum->area;
		if (start_ns < sum->first_ns)
			area += (double)sum->first * (double)(sum->first_ns - start_ns);
		if (end_ns > sum->last_ns)
			area += (double)sum->last * (double)(end_ns - sum->last_ns);
		start_ns = start_ns < sum->first_ns ? start_ns : sum->first_ns;
		end_ns = end_ns > sum->last_ns ? end_ns : sum->last_ns;
		from_ns = start_ns < from_ns ? start_ns : from_ns;
		to_ns = end_ns > to_ns ? end_ns : to_ns;
	}
	if (!count)
		return -1;
	return to_ns > from_ns ? area / (double)(to_ns - from_ns) : (double)one;
}
