/* flop_counters.c: the flop source: FLOP of the whole run from the processor's counters (--flop).
 *
 * The events of cpu/flop_events.h are opened on the held child, start with its exec and are inherited: they give one
 * figure for the command and all its descendants, read at the end. Only user code is counted, since any user may count
 * that. Before the command starts, each event is tested by counting a known amount of work. If the counters of a
 * processor in the table are wrong (some hypervisors show counters that do not advance), nothing but the reason is
 * recorded.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/cpu/flop_events.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "util/error.h"

#define KNOWN_ROUNDS 10000
#define KNOWN_FLOP (3. * KNOWN_ROUNDS) /* per round: one scalar addition, and one addition of vectors of two */

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_flop_events events;
	int fd[SONDE_FLOP_EVENTS_MAX];
	size_t open;
	uint32_t series;
	double flop, least_share;
	int is_read;
};

static int open_event(uint64_t config, pid_t pid, int of_child)
{
	struct perf_event_attr attr = {
	    .size = sizeof attr,
	    .type = PERF_TYPE_RAW,
	    .config = config,
	    .disabled = 1,
	    .inherit = of_child != 0,
	    .enable_on_exec = of_child != 0,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	    .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int explain(int code, char *why, size_t why_b)
{
	if (code == -EACCES || code == -EPERM)
		snprintf(why, why_b,
			 "hardware counters are forbidden (%s): sudo sysctl kernel.perf_event_paranoid=2, or give "
			 "sonde CAP_PERFMON",
			 strerror(-code));
	else
		snprintf(why, why_b, "the FLOP counter cannot be opened (%s)", strerror(-code));
	return code;
}

/* A known amount of work that the compiler can neither omit nor merge: per round, one scalar addition and one addition
 * of vectors of two. */
static void work_known(void)
{
	typedef double pair __attribute__((vector_size(16)));
	volatile double sum = 0;
	volatile pair sums = {0, 0};
	for (int i = 0; i < KNOWN_ROUNDS; i++) {
		sum = sum + 1.0;
		sums = sums + (pair){1.0, 2.0};
	}
}

/* Counts the known work with one event. */
static int count_known(uint64_t config, struct sonde_flop_reading *out)
{
	int fd = open_event(config, 0, 0);
	if (fd < 0)
		return fd;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_known();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	int rc = read(fd, out, sizeof *out) == (ssize_t)sizeof *out ? 0 : -EIO;
	close(fd);
	return rc;
}

static int try_out(const struct sonde_flop_events *events, char *why, size_t why_b)
{
	struct sonde_flop_reading readings[SONDE_FLOP_EVENTS_MAX] = {0};
	double least;
	for (size_t i = 0; i < events->count; i++) {
		int rc = count_known(events->event[i].config, &readings[i]);
		if (rc)
			return explain(rc, why, why_b);
	}
	double counted = sonde_flop_events_sum(events, readings, &least);
	if (sonde_flop_events_believable(counted, KNOWN_FLOP))
		return 0;
	snprintf(why, why_b, "hardware counters (%s) are wrong: they counted %.0f of %.0f test FLOP", events->name,
		 counted < 0 ? 0 : counted, KNOWN_FLOP);
	return -EIO;
}

static int find(struct sonde_flop_events *out, char *why, size_t why_b)
{
	int rc = sonde_flop_events_find(out, "", why, why_b);
	return rc ? rc : try_out(out, why, why_b);
}

static int flop_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	struct sonde_flop_events events;
	return !options->flop ? -ECANCELED : find(&events, why, why_b);
}

static int flop_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	char why[256];
	run->recorder = context->recorder;
	int rc = find(&run->events, why, sizeof why);
	return rc ? sonde_error(-rc, "%s", why) : 0;
}

static int flop_start(struct sonde_source_run *run, pid_t pid)
{
	char why[256];
	if (sonde_recorder_options(run->recorder)->attach)
		return sonde_error(EOPNOTSUPP,
				   "FLOP are counted from the start of a command, not of a running process");
	for (size_t i = 0; i < run->events.count; i++) {
		int fd = open_event(run->events.event[i].config, pid, 1);
		if (fd < 0) {
			explain(fd, why, sizeof why);
			return sonde_error(-fd, "%s", why);
		}
		run->fd[run->open++] = fd;
	}
	uint32_t process = sonde_recorder_process(run->recorder, pid, sonde_clock_now_ns());
	run->series = sonde_recorder_series(run->recorder, SONDE_METRIC_FLOP, process, 0, NULL);
	return 0;
}

static void read_all(struct sonde_source_run *run)
{
	struct sonde_flop_reading readings[SONDE_FLOP_EVENTS_MAX] = {0};
	for (size_t i = 0; i < run->open; i++)
		if (read(run->fd[i], &readings[i], sizeof readings[i]) != (ssize_t)sizeof readings[i])
			return;
	run->flop = sonde_flop_events_sum(&run->events, readings, &run->least_share);
	run->is_read = run->flop >= 0;
	if (run->is_read)
		sonde_recorder_point(run->recorder, sonde_clock_now_ns(), run->series, (int64_t)run->flop);
}

static void flop_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	if (final && run->series)
		read_all(run);
}

static void say_state(struct sonde_source_run *run)
{
	char method[128], detail[160];
	snprintf(method, sizeof method, "hardware FLOP counters (%s), user code", run->events.name);
	snprintf(detail, sizeof detail, "FLOP are extrapolated: the counters were available for %.0f %% of the time",
		 100 * run->least_share);
	struct sonde_recorder_state state = {
	    .state = !run->is_read             ? SONDE_SOURCE_UNAVAILABLE
		     : run->least_share < 0.99 ? SONDE_SOURCE_LIMITED
					       : SONDE_SOURCE_ON,
	    .method = method,
	    .detail = !run->is_read             ? "no hardware counter was free for FLOP"
		      : run->least_share < 0.99 ? detail
						: NULL,
	};
	sonde_recorder_source(run->recorder, "flop", &state);
}

static void flop_stop(struct sonde_source_run *run)
{
	if (run->series)
		say_state(run);
	for (size_t i = 0; i < run->open; i++)
		close(run->fd[i]);
}

static const struct sonde_option flop_options[] = {
    {"flop", 0, NULL, "count FLOP of the whole run with hardware counters",
     SONDE_FLAG(offsetof(struct sonde_record_options, flop))},
    {0},
};

const struct sonde_source sonde_source_flop_counters = {
    .name = "flop",
    .title = "FLOP of the whole run, from hardware counters (--flop)",
    .cost = "none while the program runs",
    .options = flop_options,
    .reads_counters = 1,
    .run_b = sizeof(struct sonde_source_run),
    .probe = flop_probe,
    .open = flop_open,
    .start = flop_start,
    .drain = flop_drain,
    .stop = flop_stop,
};
