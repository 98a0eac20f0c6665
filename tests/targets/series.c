/* series.c: series RECORDING: prints the polled series of a recording.
 *
 * A line per series: pid (0 = the system), metric, object ("-" = none), number of points, first, last, minimum,
 * maximum, time of the first and of the last point in ns, and the shortest time between two points. A thread's series
 * is "thread.METRIC" of pid 0, with its tid as object. Then the recorder's final figures.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/session.h"
#include "util/error.h"

struct sum {
	uint64_t points, first_ns, last_ns, gap_ns;
	int64_t first, last, least, most;
};

static void add(struct sum *sum, uint64_t time_ns, int64_t value)
{
	if (!sum->points++) {
		sum->first_ns = time_ns;
		sum->first = sum->least = sum->most = value;
	}
	if (sum->points > 1 && (sum->points == 2 || time_ns - sum->last_ns < sum->gap_ns))
		sum->gap_ns = time_ns - sum->last_ns;
	sum->last_ns = time_ns;
	sum->last = value;
	sum->least = value < sum->least ? value : sum->least;
	sum->most = value > sum->most ? value : sum->most;
}

static void print(const struct sonde_session *session, uint32_t id, const struct sum *sum)
{
	const struct sonde_series *series = sonde_session_series(session, id);
	const struct sonde_process *process = sonde_session_process(session, series->process);
	const struct sonde_thread *thread = sonde_session_thread(session, series->thread);
	if (!sum->points)
		return;
	if (thread)
		printf("0 thread.%s %d ", series->name, (int)thread->tid);
	else
		printf("%u %s %s ", process ? process->pid : 0, series->name, *series->object ? series->object : "-");
	printf("%" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       sum->points, sum->first, sum->last, sum->least, sum->most, sum->first_ns, sum->last_ns, sum->gap_ns);
}

/* The figures of wait(2) for the command, as "end": a name and a number per line. */
static void print_end(const struct sonde_process *process)
{
	const struct {
		const char *name;
		uint64_t value;
	} ends[] = {{"user_ns", process->user_ns},
		    {"system_ns", process->system_ns},
		    {"peak_rss_b", process->peak_rss_b},
		    {"minor_faults", process->minor_faults},
		    {"major_faults", process->major_faults},
		    {"voluntary_switches", process->voluntary_switches},
		    {"involuntary_switches", process->involuntary_switches},
		    {"read_b", process->read_b},
		    {"written_b", process->written_b}};
	for (size_t i = 0; process->status != -1 && i < sizeof ends / sizeof *ends; i++)
		printf("%u end.%s %" PRIu64 "\n", process->pid, ends[i].name, ends[i].value);
}

/* The recorder's own figures, as process 0: overheads by name, and "source.NAME" with state and detail. */
static void print_said(const struct sonde_session *session)
{
	for (size_t i = 0; i < sonde_session_cost_count(session); i++) {
		const struct sonde_cost *cost = sonde_session_cost(session, i);
		printf("0 cost.%s %" PRIu64 "\n", cost->what, cost->value);
	}
	for (size_t i = 0; i < sonde_session_source_count(session); i++) {
		const struct sonde_source_row *row = sonde_session_source(session, i);
		printf("0 source.%s %u %g %s\n", row->name, row->state, row->effective_hz, row->detail);
	}
}

int main(int argc, char **argv)
{
	struct sonde_session *session;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	if (argc != 2 || sonde_session_open(&session, argv[1], NULL) ||
	    sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SERIES)) {
		fprintf(stderr, "series: %s\n", argc == 2 ? sonde_error_text() : "series RECORDING");
		return 1;
	}
	size_t count = sonde_session_series_count(session);
	struct sum *sums = calloc(count + 1, sizeof *sums);
	while (sums && sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++)
			add(&sums[batch->series.series[i]], batch->series.time_ns[i], batch->series.value[i]);
	for (uint32_t id = 1; sums && id <= count; id++)
		print(session, id, &sums[id]);
	for (uint32_t id = 1; id <= sonde_session_process_count(session); id++)
		print_end(sonde_session_process(session, id));
	print_said(session);
	free(sums);
	sonde_cursor_close(cursor);
	sonde_session_close(session);
	return sums ? 0 : 1;
}
