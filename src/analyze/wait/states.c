/* states.c: sums up each thread's intervals (session/intervals.h) and scheduler readings.
 *
 * A thread that blocked is off CPU until it is switched in, and waits for a CPU during the last part of that time. If
 * no recorded wake-up shows when that part begins, the scheduler's counter helps: the difference of two readings is the
 * time that the thread waited for a CPU between them. The part of that time that follows neither a preemption nor a
 * known wake-up must follow an unknown wake-up. A reading includes a wait only once it is over, so only completed waits
 * are compared with it.
 *
 * Switches are read again here instead of being fed: they must be in order, and only a table of threads is then kept,
 * however long the recording is.
 */
#include "analyze/wait/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

enum number { TIME, RUNNABLE, VOLUNTARY, INVOLUNTARY, NUMBERS };

static const char *const names[NUMBERS] = {"cpu.time", "cpu.runnable", "switches.voluntary", "switches.involuntary"};

/* The first and last readings within the selected part. */
struct readings {
	uint64_t from_ns, to_ns; /* 0 = none */
	int64_t first[NUMBERS], last[NUMBERS];
	uint8_t has[NUMBERS];
	uint8_t from_birth; /* the first reading is from the thread's start */
};

struct walk {
	uint64_t start_ns, end_ns;
	/* waiting for a CPU as far as seen, and time on a CPU, since the start of the recording */
	uint64_t waits_ns, on_ns;
	uint64_t waits_at[2], on_at[2]; /* waits_ns and on_ns at the first and last reading */
	uint64_t unsure_ns;             /* blocked, or waiting after being woken */
	uint64_t unsure_read_ns;        /* the part of unsure_ns between the first and the last reading */
	uint32_t cpu;                   /* CPU of the last switch, + 1; 0 = unknown */
	uint8_t state;                  /* enum sonde_interval_state of the last interval */
	uint8_t passed;                 /* number of readings passed */
};

struct states {
	struct sonde_states *out;
	struct sonde_session *session;
	const struct sonde_states_also *also;
	uint64_t from_ns, to_ns;
	struct readings *readings; /* by thread id */
	struct walk *walks;
	uint8_t *number_of; /* by series id: enum number + 1 */
	uint32_t *thread_of;
	size_t series;
};

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* --- readings ----------------------------------------------------------------------------------------------------- */

static int find_series(struct states *states)
{
	size_t count = sonde_session_series_count(states->session);
	states->series = count + 1;
	states->number_of = calloc(count + 1, sizeof *states->number_of);
	states->thread_of = calloc(count + 1, sizeof *states->thread_of);
	if (!states->number_of || !states->thread_of)
		return sonde_error(ENOMEM, "out of memory for %zu series", count);
	for (uint32_t id = 1; id <= count; id++) {
		const struct sonde_series *series = sonde_session_series(states->session, id);
		for (size_t i = 0; series && series->thread && series->thread < states->out->count && i < NUMBERS; i++)
			if (!strcmp(series->name, names[i])) {
				states->number_of[id] = (uint8_t)(i + 1);
				states->thread_of[id] = series->thread;
				states->out->has_readings = 1;
			}
	}
	return 0;
}

/* Takes one value of a reading. All values of a reading have the same time, and CPU time comes first. Each thread's
 * readings are in order. */
static void take_point(struct states *states, uint64_t time_ns, uint32_t series, int64_t value)
{
	enum number number = (enum number)(states->number_of[series] - 1);
	struct readings *readings = &states->readings[states->thread_of[series]];
	const struct sonde_thread *thread = sonde_session_thread(states->session, states->thread_of[series]);
	if (number == TIME && !value && !readings->from_ns) {
		readings->from_birth = 1;
		time_ns = thread->start_ns;
	}
	if (time_ns < states->from_ns || time_ns > states->to_ns) {
		if (number == TIME && time_ns < states->from_ns)
			readings->from_birth = 0;
		return;
	}
	if (number == TIME && !readings->from_ns)
		readings->from_ns = time_ns;
	if (!readings->from_ns)
		return;
	if (number == TIME)
		readings->to_ns = time_ns;
	if (!readings->has[number])
		readings->first[number] = value;
	readings->has[number] = 1;
	readings->last[number] = value;
}

static void take_points(struct states *states, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->series.series[i] < states->series && states->number_of[batch->series.series[i]])
			take_point(states, batch->series.time_ns[i], batch->series.series[i], batch->series.value[i]);
}

static int read_readings(struct states *states)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, states->session, 1u << SONDE_CHUNK_SERIES);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		if (rc > 0)
			take_points(states, batch);
	sonde_cursor_close(cursor);
	return rc;
}

/* --- intervals ---------------------------------------------------------------------------------------------------- */

/* Overlap of [from, to) with a part. */
static uint64_t within(uint64_t from_ns, uint64_t to_ns, uint64_t least_ns, uint64_t most_ns)
{
	from_ns = from_ns > least_ns ? from_ns : least_ns;
	to_ns = to_ns < most_ns ? to_ns : most_ns;
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Records a thread's totals at the readings before `time_ns`, the end of its interval from `from_ns` on. */
static void pass_readings(const struct readings *readings, struct walk *walk, uint64_t from_ns, uint64_t time_ns)
{
	while (walk->passed < 2) {
		uint64_t at_ns = walk->passed ? readings->to_ns : readings->from_ns;
		if (!at_ns || at_ns >= time_ns)
			return;
		walk->waits_at[walk->passed] = walk->waits_ns;
		walk->on_at[walk->passed] =
		    walk->on_ns + (walk->state == SONDE_INTERVAL_ON_CPU ? less(at_ns, from_ns) : 0);
		walk->passed++;
	}
}

static void count_switch(struct states *states, const struct sonde_interval *interval)
{
	struct sonde_states_row *row = &states->out->rows[interval->thread];
	struct walk *walk = &states->walks[interval->thread];
	int is_in = interval->begun == SONDE_SWITCH_IN + 1, is_woken = interval->begun > SONDE_SWITCH_OUT_PREEMPTED + 1;
	int is_part = interval->from_ns >= states->from_ns && interval->from_ns < states->to_ns;
	if (!interval->begun)
		return;
	if (!row->by)
		row->counts_switches = row->counts_moves = 1;
	row->by = SONDE_STATES_SWITCHES;
	if (is_part) {
		row->voluntary += interval->begun == SONDE_SWITCH_OUT_BLOCKED + 1;
		row->involuntary += interval->begun == SONDE_SWITCH_OUT_PREEMPTED + 1;
		/* a recorded wake-up, or one implied by a switch: it was blocked and is now on a CPU */
		row->wakeups += is_woken || (is_in && walk->state == SONDE_INTERVAL_BLOCKED);
		row->migrations += is_in && interval->cpu && walk->cpu && interval->cpu != walk->cpu;
		row->counts_moves &= is_woken || interval->cpu != 0;
	}
	if (!is_woken)
		walk->cpu = interval->cpu;
}

static void add_interval(struct states *states, const struct sonde_interval *interval)
{
	uint64_t ns = interval->to_ns - interval->from_ns;
	uint64_t part_ns = within(interval->from_ns, interval->to_ns, states->from_ns, states->to_ns);
	struct sonde_states_row *row = &states->out->rows[interval->thread];
	struct walk *walk = &states->walks[interval->thread];
	const struct readings *readings = &states->readings[interval->thread];
	walk->state = interval->state;
	pass_readings(readings, walk, interval->from_ns, interval->to_ns);
	switch ((enum sonde_interval_state)interval->state) {
	case SONDE_INTERVAL_ON_CPU:
		row->on_cpu_ns += part_ns;
		walk->on_ns += ns;
		break;
	case SONDE_INTERVAL_RUNNABLE:
		row->runnable_ns += part_ns;
		walk->waits_ns += ns;
		break;
	case SONDE_INTERVAL_BLOCKED:
		row->blocked_ns += part_ns;
		walk->unsure_ns += interval->unsure ? part_ns : 0;
		if (interval->unsure)
			walk->unsure_read_ns +=
			    within(interval->from_ns, interval->to_ns, readings->from_ns, readings->to_ns);
		break;
	default:
		row->unseen_ns += part_ns;
	}
}

static int take_interval(void *context, const struct sonde_interval *interval)
{
	struct states *states = context;
	count_switch(states, interval);
	add_interval(states, interval);
	return states->also && states->also->take ? states->also->take(states->also->context, interval) : 0;
}

/* --- both together ------------------------------------------------------------------------------------------------ */

static uint64_t difference(const struct readings *readings, enum number number)
{
	int64_t first = readings->from_birth ? 0 : readings->first[number], last = readings->last[number];
	return readings->has[number] && last > first ? (uint64_t)last - (uint64_t)first : 0;
}

/* Reclassifies blocked time that readings show to be waiting for a CPU. */
static void refine(struct sonde_states_row *row, const struct walk *walk, const struct readings *readings)
{
	uint64_t covered_ns = walk->unsure_read_ns, waited_ns = difference(readings, RUNNABLE);
	uint64_t seen_ns = walk->waits_at[1] - walk->waits_at[0];
	row->off_cpu_ns = row->blocked_ns;
	row->unsure_ns = walk->unsure_ns;
	if (walk->passed < 2 || !readings->has[RUNNABLE])
		return;
	uint64_t woken_ns = less(waited_ns, seen_ns);
	woken_ns = woken_ns < covered_ns ? woken_ns : covered_ns;
	row->unsure_ns = less(walk->unsure_ns, covered_ns);
	woken_ns = woken_ns < walk->unsure_ns ? woken_ns : walk->unsure_ns;
	row->blocked_ns -= woken_ns;
	row->runnable_ns += woken_ns;
	row->clock_ns = difference(readings, TIME);
	row->clocked_ns = walk->on_at[1] - walk->on_at[0];
}

/* Fills in the row of a thread without switches, from what the scheduler counted between the readings, and up to the
 * thread's exit if its clock was read then. The counters cover the thread's whole life, even if the first reading came
 * later. */
static void read_states(const struct states *states, uint32_t id)
{
	struct sonde_states_row *row = &states->out->rows[id];
	const struct readings *readings = &states->readings[id];
	const struct sonde_thread *thread = sonde_session_thread(states->session, id);
	int whole = states->walks[id].start_ns >= states->from_ns && states->walks[id].end_ns <= states->to_ns;
	uint64_t seen_ns = less(readings->to_ns, readings->from_ns);
	if (!readings->has[TIME] || !readings->to_ns || row->by == SONDE_STATES_SWITCHES)
		return;
	seen_ns = seen_ns < row->life_ns ? seen_ns : row->life_ns;
	uint64_t on_ns = difference(readings, TIME), waited_ns = difference(readings, RUNNABLE);
	on_ns = on_ns < seen_ns ? on_ns : seen_ns;
	waited_ns = waited_ns < seen_ns - on_ns ? waited_ns : seen_ns - on_ns;
	row->by = SONDE_STATES_READINGS;
	row->on_cpu_ns = on_ns;
	row->runnable_ns = waited_ns;
	row->blocked_ns = seen_ns - on_ns - waited_ns;
	row->unseen_ns = row->life_ns - seen_ns;
	if (whole && readings->from_birth && less(thread->cpu_ns, on_ns) <= row->unseen_ns) {
		row->on_cpu_ns += less(thread->cpu_ns, on_ns);
		row->unseen_ns -= less(thread->cpu_ns, on_ns);
	}
	row->counts_switches = readings->has[VOLUNTARY] && readings->has[INVOLUNTARY];
	row->voluntary = difference(readings, VOLUNTARY);
	row->involuntary = difference(readings, INVOLUNTARY);
}

static void begin_walks(struct states *states)
{
	for (uint32_t id = 1; id < states->out->count; id++) {
		struct walk *walk = &states->walks[id];
		sonde_interval_life(states->session, sonde_session_thread(states->session, id), &walk->start_ns,
				    &walk->end_ns);
		states->out->rows[id].life_ns = within(walk->start_ns, walk->end_ns, states->from_ns, states->to_ns);
	}
}

static void settle(struct states *states)
{
	for (uint32_t id = 1; id < states->out->count; id++) {
		struct sonde_states_row *row = &states->out->rows[id];
		struct walk *walk = &states->walks[id];
		walk->state = SONDE_INTERVAL_UNSEEN;
		if (row->by == SONDE_STATES_SWITCHES) {
			pass_readings(&states->readings[id], walk, 0, UINT64_MAX);
			refine(row, walk, &states->readings[id]);
		} else {
			read_states(states, id);
		}
	}
}

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* Walks sorted starts and ends together. */
static int find_peak(struct states *states)
{
	size_t count = 0, threads = states->out->count;
	uint64_t *starts_ns = calloc(2 * threads, sizeof *starts_ns);
	if (!starts_ns)
		return sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	uint64_t *ends_ns = starts_ns + threads;
	for (uint32_t id = 1; id < threads; id++)
		if (states->out->rows[id].life_ns) {
			starts_ns[count] = states->walks[id].start_ns;
			ends_ns[count++] = states->walks[id].end_ns;
		}
	qsort(starts_ns, count, sizeof *starts_ns, compare_times);
	qsort(ends_ns, count, sizeof *ends_ns, compare_times);
	uint32_t live = 0;
	for (size_t i = 0, end = 0; i < count; i++) {
		for (live++; end < count && ends_ns[end] <= starts_ns[i]; end++)
			live--;
		states->out->peak = live > states->out->peak ? live : states->out->peak;
	}
	free(starts_ns);
	return 0;
}

int sonde_states_read(struct sonde_states *out, struct sonde_session *session, uint64_t from_ns, uint64_t to_ns,
		      const struct sonde_states_also *also)
{
	const struct sonde_run *run = sonde_session_run(session);
	size_t count = sonde_session_thread_count(session) + 1;
	struct states states = {.out = out, .session = session, .also = also};
	struct sonde_intervals seen = {0};
	*out = (struct sonde_states){.count = count, .rows = calloc(count, sizeof *out->rows)};
	states.from_ns = from_ns > run->start_ns ? from_ns : run->start_ns;
	states.to_ns = to_ns && to_ns < run->end_ns ? to_ns : run->end_ns;
	states.readings = calloc(count, sizeof *states.readings);
	states.walks = calloc(count, sizeof *states.walks);
	int rc = out->rows && states.readings && states.walks
		     ? find_series(&states)
		     : sonde_error(ENOMEM, "out of memory for %zu threads", count);
	if (rc == 0) {
		begin_walks(&states);
		rc = read_readings(&states);
	}
	rc = rc ? rc : sonde_intervals_walk(&seen, session, take_interval, &states);
	if (rc == 0) {
		out->has_switches = seen.has_switches;
		out->has_wakeups = seen.has_wakeups;
		settle(&states);
		rc = find_peak(&states);
	}
	free(states.readings);
	free(states.walks);
	free(states.number_of);
	free(states.thread_of);
	if (rc < 0)
		sonde_states_fini(out);
	return rc;
}

void sonde_states_fini(struct sonde_states *states)
{
	free(states->rows);
	*states = (struct sonde_states){0};
}

void sonde_states_add(struct sonde_states_row *to, const struct sonde_states_row *from)
{
	int is_first = to->by == SONDE_STATES_NONE && !to->life_ns;
	to->life_ns += from->life_ns;
	to->on_cpu_ns += from->on_cpu_ns;
	to->runnable_ns += from->runnable_ns;
	to->blocked_ns += from->blocked_ns;
	to->off_cpu_ns += from->off_cpu_ns;
	to->unseen_ns += from->unseen_ns;
	to->unsure_ns += from->unsure_ns;
	to->clock_ns += from->clock_ns;
	to->clocked_ns += from->clocked_ns;
	to->voluntary += from->voluntary;
	to->involuntary += from->involuntary;
	to->migrations += from->migrations;
	to->wakeups += from->wakeups;
	to->counts_switches = (is_first || to->counts_switches) && from->counts_switches;
	to->counts_moves = (is_first || to->counts_moves) && from->counts_moves;
	to->by = from->by > to->by ? from->by : to->by;
}
