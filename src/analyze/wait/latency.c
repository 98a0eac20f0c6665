/* latency.c: what determines the run's duration, as opposed to what burns the most cycles.
 *
 * Every sample's weight is divided by the parallelism at its time: the number of threads of the recording that were
 * running. A second in which one thread runs alone delays the run by a second; in a second in which 64 threads run,
 * each is charged 1/64 (the latency profile of Kukanov and Vyukov, perf report --latency). Parallelism comes from the
 * context switches. Preempted threads do not count: four threads that take turns on one CPU delay the run as much as
 * one.
 *
 * The table of parallelism shows something else, the number of runnable threads: a preempted thread counts until it
 * blocks or exits. A thread that was woken but not yet switched in counts nowhere, because switches do not show it.
 *
 * Samples and switches are buffered until all have arrived, because their order in the file is arbitrary.
 */
#include "analyze/cpu/by_function.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/wait/parallelism.h"
#include "util/array.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { LATENCY, SELF, LATENCY_NS, SELF_NS, GAIN, SAMPLES, FUNCTION, MODULE, COLUMNS };
enum { LEVEL, TIME_SHARE, TIME_NS, LEVEL_COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [LATENCY] = {"latency_share", "latency", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SELF] = {"self_share", "CPU", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [LATENCY_NS] = {"latency_ns", "latency time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [SELF_NS] = {"self_ns", "CPU time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [GAIN] = {"speedup_if_twice_as_fast", "if 2× as fast", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 0},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
};

static const struct sonde_column level_columns[LEVEL_COLUMNS] = {
    [LEVEL] = {"threads", "runnable threads", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [TIME_SHARE] = {"share", "of the run", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [TIME_NS] = {"time_ns", "time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
};

struct taken {
	uint64_t time_ns, weight_ns;
	uint32_t stack, thread;
	uint8_t status;
};

struct latency {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_parallelism *parallelism;
	struct taken *taken;
	size_t count, cap;
	struct sonde_samples cpu, weighed; /* by CPU time and by latency; valid after finish */
};

static int latency_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct latency *latency = state;
	latency->session = session;
	latency->options = *options;
	return sonde_parallelism_new(&latency->parallelism, session);
}

static void latency_end(void *state)
{
	struct latency *latency = state;
	sonde_parallelism_free(latency->parallelism);
	sonde_samples_fini(&latency->cpu);
	sonde_samples_fini(&latency->weighed);
	free(latency->taken);
}

static int ensure_taken_capacity(struct latency *latency, size_t more)
{
	return SONDE_ARRAY_RESERVE(latency->taken, latency->cap, latency->count + more)
		   ? sonde_error(ENOMEM, "out of memory for %zu samples", latency->count + more)
		   : 0;
}

static int latency_feed(void *state, const struct sonde_batch *batch)
{
	struct latency *latency = state;
	if (batch->type == SONDE_CHUNK_SWITCHES)
		return sonde_parallelism_feed(latency->parallelism, batch);
	if (batch->type != SONDE_CHUNK_SAMPLES)
		return 0;
	int rc = ensure_taken_capacity(latency, batch->count);
	for (size_t i = 0; i < batch->count && rc == 0; i++) {
		sonde_parallelism_seen(latency->parallelism, batch->samples.thread[i]);
		if (sonde_pass_takes(&latency->options, batch->samples.time_ns[i], batch->samples.thread[i]))
			latency->taken[latency->count++] =
			    (struct taken){batch->samples.time_ns[i], batch->samples.weight_ns[i],
					   batch->samples.stack[i], batch->samples.thread[i], batch->samples.status[i]};
	}
	return rc;
}

static int latency_merge(void *state, void *other_state)
{
	struct latency *latency = state, *other = other_state;
	int rc = ensure_taken_capacity(latency, other->count);
	if (rc < 0)
		return rc;
	if (other->count)
		memcpy(latency->taken + latency->count, other->taken, other->count * sizeof *other->taken);
	latency->count += other->count;
	return sonde_parallelism_merge(latency->parallelism, other->parallelism);
}

/* Divides every sample by the number of threads running at its time. */
static int weigh(struct latency *latency)
{
	int rc = sonde_samples_init(&latency->cpu, latency->session, &latency->options);
	if (rc == 0)
		rc = sonde_samples_init(&latency->weighed, latency->session, &latency->options);
	for (size_t i = 0; i < latency->count && rc == 0; i++) {
		const struct taken *taken = &latency->taken[i];
		double running = sonde_parallelism_running(latency->parallelism, taken->time_ns);
		uint64_t share_ns = (uint64_t)fmin((double)taken->weight_ns / running, (double)(UINT64_MAX / 2));
		rc = sonde_samples_add(&latency->cpu, taken->stack, taken->weight_ns, taken->status);
		if (rc == 0)
			rc = sonde_samples_add(&latency->weighed, taken->stack, share_ns, taken->status);
	}
	if (rc == 0)
		rc = sonde_samples_fold(&latency->cpu);
	return rc < 0 ? rc : sonde_samples_fold(&latency->weighed);
}

/* --- the sections ----------------------------------------------------------------------------------------------- */

struct rows {
	const struct sonde_function_weight *cpu, *weighed;
};

static int compare_rows(const void *left, const void *right, void *state)
{
	const struct rows *rows = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t x = rows->weighed[a].self.ns, y = rows->weighed[b].self.ns;
	if (x == y) {
		x = rows->cpu[a].self.ns;
		y = rows->cpu[b].self.ns;
	}
	return x != y ? (x < y ? 1 : -1) : (a > b) - (a < b);
}

static void row_add(const struct latency *latency, const struct rows *rows, uint32_t id, struct sonde_report *report,
		    struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	row[LATENCY] = sonde_samples_share(&latency->weighed, rows->weighed[id].self.ns);
	row[SELF] = sonde_samples_share(&latency->cpu, rows->cpu[id].self.ns);
	row[LATENCY_NS] = sonde_cell_int(rows->weighed[id].self.ns);
	row[SELF_NS] = sonde_cell_int(rows->cpu[id].self.ns);
	/* Amdahl's law over the part of the run in which anything ran: 1 ÷ (1 − share ÷ 2). */
	double share = row[LATENCY].real * sonde_parallelism_busy_share(latency->parallelism);
	row[GAIN] = sonde_cell_real(1 / (1 - share / 2), 0);
	row[SAMPLES] = sonde_cell_int(rows->cpu[id].self.count);
	row[FUNCTION] = sonde_cell_text(sonde_function_name(latency->session, id));
	row[MODULE] = sonde_cell_text(sonde_function_module(latency->session, id));
}

static int functions_add(struct latency *latency, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_function_weight *cpu = NULL, *weighed = NULL;
	uint32_t *ids = NULL;
	size_t count, seen = 0, limit = latency->options.limit ? latency->options.limit : DEFAULT_ROWS;
	int rc = sonde_by_function(&latency->cpu, &cpu, &count);
	if (rc == 0)
		rc = sonde_by_function(&latency->weighed, &weighed, &count);
	if (rc == 0 && !(ids = malloc(count * sizeof *ids)))
		rc = sonde_error(ENOMEM, "out of memory for latencies");
	struct rows rows = {cpu, weighed};
	for (uint32_t id = 0; rc == 0 && id < count; id++)
		if (sonde_weight_is_any(cpu[id].self))
			ids[seen++] = id;
	if (rc == 0)
		qsort_r(ids, seen, sizeof *ids, compare_rows, &rows);
	for (size_t i = 0; rc == 0 && i < seen && i < limit; i++)
		row_add(latency, &rows, ids[i], report, section);
	section->table.omitted = seen > limit ? seen - limit : 0;
	free(ids);
	free(cpu);
	free(weighed);
	return rc;
}

static void levels_add(const struct latency *latency, struct sonde_report *report)
{
	struct sonde_section *section =
	    sonde_report_table(report, "parallelism", "Parallelism over the run", level_columns, LEVEL_COLUMNS);
	uint32_t levels = sonde_parallelism_levels(latency->parallelism);
	for (uint32_t level = 0; level < levels; level++) {
		uint64_t time_ns = sonde_parallelism_time_ns(latency->parallelism, level);
		if (!time_ns)
			continue;
		struct sonde_cell *row = sonde_report_row(report, section);
		row[LEVEL] = sonde_cell_int(level);
		row[TIME_SHARE] = sonde_cell_real(sonde_parallelism_share(latency->parallelism, level), 0);
		row[TIME_NS] = sonde_cell_int(time_ns);
	}
	sonde_report_note(
	    report, section, 0,
	    "recorded threads that ran or were preempted; a woken thread counts from its first switch-in");
}

static const char *cpus_text(const struct latency *latency, struct sonde_report *report)
{
	double cpus = sonde_parallelism_cpus(latency->parallelism);
	const char *text = sonde_report_text(report, " (at most %.4g: the usable CPUs)", cpus);
	return cpus > 0 && text ? text : "";
}

static void notes_add(const struct latency *latency, struct sonde_report *report, struct sonde_section *section)
{
	sonde_report_note(report, section, 0, "parallelism 1 for %.0f %% of the run",
			  100 * sonde_parallelism_share(latency->parallelism, 1));
	sonde_report_note(report, section, 0,
			  "latency: a sample's CPU time ÷ the number of running threads%s; ± is the 95 %% interval",
			  cpus_text(latency, report));
	sonde_report_note(report, section, 0,
			  "'if 2× as fast': 1 ÷ (1 − share of the run ÷ 2), estimated: other waiting stays the same");
}

/* Adds an empty section with the reason, if the section was requested: without context switches, the parallelism is
 * unknown. */
static void latency_absent(const struct latency *latency, struct sonde_report *report)
{
	if (!latency->options.requested && latency->options.sort != SONDE_SORT_LATENCY)
		return;
	struct sonde_section *section = sonde_report_table(report, "latency", "Functions by latency", columns, COLUMNS);
	const char *what = latency->count ? "context switches" : "CPU samples";
	for (size_t i = 0; i < sonde_session_source_count(latency->session); i++) {
		const struct sonde_source_row *row = sonde_session_source(latency->session, i);
		if (*row->detail && (!strcmp(row->name, "cpu") || !strcmp(row->name, "threads"))) {
			sonde_report_note(report, section, 1, "no latency view: the recording has no %s; %s: %s", what,
					  row->name, row->detail);
			return;
		}
	}
	sonde_report_note(report, section, 1,
			  "no latency view: the recording has no %s (needs perf events; see sonde doctor)", what);
}

static int latency_finish(void *state, struct sonde_report *report)
{
	struct latency *latency = state;
	if (!latency->count || !sonde_parallelism_known(latency->parallelism)) {
		latency_absent(latency, report);
		return 0;
	}
	int rc = sonde_parallelism_settle(latency->parallelism, latency->options.selection.from_ns,
					  latency->options.selection.to_ns);
	if (rc == 0)
		rc = weigh(latency);
	if (rc < 0)
		return rc;
	struct sonde_section *section = sonde_report_table(report, "latency", "Functions by latency", columns, COLUMNS);
	rc = functions_add(latency, report, section);
	if (rc == 0)
		notes_add(latency, report, section);
	if (rc >= 0)
		levels_add(latency, report);
	return rc;
}

const struct sonde_pass sonde_pass_latency = {
    .name = "latency",
    .needs = SONDE_NEEDS(CPU),
    .has = sonde_has_sampled_switches,
    .title = "bottlenecks: CPU time weighted by 1/parallelism",
    .types = 1u << SONDE_CHUNK_SAMPLES | 1u << SONDE_CHUNK_SWITCHES,
    .state_b = sizeof(struct latency),
    .begin = latency_begin,
    .feed = latency_feed,
    .merge = latency_merge,
    .finish = latency_finish,
    .end = latency_end,
};
