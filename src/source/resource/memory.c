/* memory.c: the memory source: samples the RSS of each process more often than the resources source, and takes the
 * snapshots that no other source takes.
 *
 * RSS is read from /proc/PID/statm with a kept descriptor (some microseconds, not noticed by the process): with
 * --memory=TIME by a timer of that period; with --heap whenever the recorder is awake anyway, but at least 10 ms apart.
 * Without these options, resource/resources.c reads RSS. However many processes there are, reading takes at most 0.1 %
 * of a CPU: the next round waits a thousand times as long as the last one took. This source runs last in a round: it
 * takes the snapshots that were requested before and that the heap source has not claimed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/signals.h"
#include "source/resource/files.h"
#include "source/resource/live_list.h"
#include "source/record/snapshots.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "util/error.h"
#include "util/quantity.h"

#define LEAST_NS 10000000u
#define COST_SHARE 1000u
#define KEPT_MAX 256u /* descriptors */
#define METHOD "/proc/PID/statm"

struct process {
	struct sonde_recorder_live live;
	uint32_t series, file_series;
	uint64_t file_b; /* last reported value */
	int fd;          /* −1 = not kept open */
	int gone;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_snapshots *snapshots;
	struct sonde_live_list list; /* of struct process */
	size_t kept, kept_max;
	uint64_t least_ns; /* between rounds */
	uint64_t start_ns, next_ns, next_snapshot_ns;
	uint64_t samples, signals;
	uint64_t unread; /* number of samples not taken for lack of descriptors */
};

/* --- over time --------------------------------------------------------------------------------------------------- */

static void forget(void *context, void *row)
{
	struct sonde_source_run *run = context;
	struct process *process = row;
	if (process->fd >= 0) {
		close(process->fd);
		run->kept--;
	}
	process->fd = -1;
	process->gone = 1;
}

static void came(void *context, void *row)
{
	struct sonde_source_run *run = context;
	struct process *process = row;
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/statm", (int)process->live.pid);
	process->fd = run->kept < run->kept_max ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	run->kept += process->fd >= 0;
}

static const struct sonde_live_kind kind = {sizeof(struct process), came, forget};

/* `file_b`: file-backed and shared memory; 0 = unknown. */
static uint64_t resident_b(const struct process *process, uint64_t *file_b)
{
	char text[128];
	unsigned long long pages = 0, file_pages = 0;
	*file_b = 0;
	if (process->fd < 0)
		return sonde_snapshots_resident_b(process->live.pid);
	ssize_t got = pread(process->fd, text, sizeof text - 1, 0);
	text[got > 0 ? got : 0] = '\0';
	if (sscanf(text, "%*u %llu %llu", &pages, &file_pages) < 1)
		return 0;
	*file_b = (uint64_t)file_pages * (uint64_t)getpagesize();
	return (uint64_t)pages * (uint64_t)getpagesize();
}

static void put_file(struct sonde_source_run *run, struct process *process, uint64_t file_b)
{
	if (!file_b || file_b == process->file_b)
		return;
	if (!process->file_series)
		process->file_series =
		    sonde_recorder_series(run->recorder, SONDE_METRIC_MEMORY_FILE, process->live.id, 0, NULL);
	sonde_recorder_point(run->recorder, sonde_clock_now_ns(), process->file_series, (int64_t)file_b);
	process->file_b = file_b;
}

/* True if this source samples RSS over time. If not, the resources source does. */
static int samples_over_time(const struct sonde_source_run *run)
{
	const struct sonde_record_options *options = sonde_recorder_options(run->recorder);
	return options->heap || options->memory_every_ns;
}

static void sample(struct sonde_source_run *run)
{
	uint64_t from_ns = sonde_clock_now_ns(), before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	sonde_live_list_refresh(&run->list, &kind, run->recorder, run);
	for (size_t i = 0; i < run->list.count; i++) {
		struct process *process = (struct process *)run->list.rows + i;
		errno = 0;
		uint64_t file_b = 0, rss_b = process->gone ? 0 : resident_b(process, &file_b);
		if (!rss_b && sonde_files_lack(errno)) { /* the process still exists: read it in another round */
			run->unread++;
			continue;
		}
		if (!rss_b) {
			forget(run, process);
			continue;
		}
		if (!process->series)
			process->series =
			    sonde_recorder_series(run->recorder, SONDE_METRIC_MEMORY_RSS, process->live.id, 0, NULL);
		sonde_recorder_point(run->recorder, sonde_clock_now_ns(), process->series, (int64_t)rss_b);
		put_file(run, process, file_b);
		run->samples++;
	}
	uint64_t now_ns = sonde_clock_now_ns(), every_ns = sonde_recorder_options(run->recorder)->memory_every_ns;
	uint64_t remainder_ns = (sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) * COST_SHARE;
	run->next_ns += every_ns;
	if (!every_ns || run->next_ns < now_ns)
		run->next_ns = from_ns + run->least_ns;
	if (run->next_ns < from_ns + remainder_ns)
		run->next_ns = from_ns + remainder_ns;
}

/* --- snapshots --------------------------------------------------------------------------------------------------- */

static void ask_all(struct sonde_source_run *run, enum sonde_snapshot_reason reason, const char *label)
{
	struct sonde_recorder_live live;
	for (live.id = 0; sonde_recorder_live(run->recorder, live.id, &live, 1);) {
		struct sonde_snapshot_ask ask = {.process = live.id,
						 .pid = live.pid,
						 .reason = reason,
						 .label = label,
						 .label_b = strlen(label),
						 .time_ns = sonde_clock_now_ns(),
						 .answer_fd = -1};
		sonde_snapshots_ask(run->snapshots, &ask);
	}
}

/* Formats the age since the start in the unit that was requested: "10s", "1500ms". */
static void write_age(char *out, size_t out_b, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
	size_t i = 0;
	while (ns % units[i].ns)
		i++;
	snprintf(out, out_b, "%llu%s", (unsigned long long)(ns / units[i].ns), units[i].name);
}

static void ask(struct sonde_source_run *run)
{
	const struct sonde_record_options *options = sonde_recorder_options(run->recorder);
	uint64_t every_ns = options->snapshot_every_ns, now_ns = sonde_clock_now_ns();
	char label[32];
	if (options->snapshot_signal && sonde_signals_take_snapshot()) {
		snprintf(label, sizeof label, "signal %llu", (unsigned long long)++run->signals);
		ask_all(run, SONDE_SNAPSHOT_SIGNAL, label);
	}
	if (!every_ns || now_ns < run->next_snapshot_ns)
		return;
	uint64_t times = (now_ns - run->start_ns) / every_ns;
	write_age(label, sizeof label, times * every_ns);
	ask_all(run, SONDE_SNAPSHOT_INTERVAL, label);
	run->next_snapshot_ns = run->start_ns + (times + 1) * every_ns;
}

/* --- the source -------------------------------------------------------------------------------------------------- */

static int memory_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	(void)options;
	if (sonde_snapshots_resident_b(getpid()))
		return 0;
	snprintf(why, why_b, "/proc is not mounted: process memory is unknown");
	return -ENOENT;
}

static int memory_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	const struct sonde_record_options *options = sonde_recorder_options(context->recorder);
	char text[32];
	run->recorder = context->recorder;
	run->snapshots = context->snapshots;
	run->kept_max = sonde_files_share(KEPT_MAX, 16);
	run->least_ns = options->memory_every_ns ? options->memory_every_ns : LEAST_NS;
	snprintf(text, sizeof text, "%llu", (unsigned long long)run->least_ns);
	if (options->memory_every_ns)
		sonde_recorder_info(run->recorder, "option.memory_ns", text);
	return 0;
}

/* Without options that request readings or snapshots, the next reading may be late. */
static uint64_t memory_due_ns(const struct sonde_source_run *run)
{
	const struct sonde_record_options *options = sonde_recorder_options(run->recorder);
	uint64_t next_ns = options->memory_every_ns ? run->next_ns : UINT64_MAX;
	return options->snapshot_every_ns && run->next_snapshot_ns < next_ns ? run->next_snapshot_ns : next_ns;
}

static int memory_start(struct sonde_source_run *run, pid_t pid)
{
	(void)pid;
	run->start_ns = run->next_ns = sonde_clock_now_ns();
	run->next_snapshot_ns = run->start_ns + sonde_recorder_options(run->recorder)->snapshot_every_ns;
	return 0;
}

static void memory_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	sonde_snapshots_take_remainder(run->snapshots);
	if (!final)
		ask(run);
	if (samples_over_time(run) && (final || sonde_clock_now_ns() >= run->next_ns))
		sample(run);
}

static void memory_stop(struct sonde_source_run *run)
{
	struct sonde_recorder_state state = {.state = SONDE_SOURCE_ON, .method = METHOD};
	uint64_t every_ns = sonde_recorder_options(run->recorder)->memory_every_ns;
	state.rate_hz = every_ns ? 1e9 / (double)every_ns : 0;
	char detail[128];
	if (run->unread) {
		snprintf(detail, sizeof detail,
			 "%llu readings were left out at the hard limit of %llu open files: raise ulimit -Hn",
			 (unsigned long long)run->unread, (unsigned long long)sonde_files_max());
		state.state = SONDE_SOURCE_LIMITED;
		state.detail = detail;
	}
	if (run->samples || run->unread)
		sonde_recorder_source(run->recorder, "memory", &state);
	sonde_live_list_fini(&run->list, &kind, run);
}

/* --- options ----------------------------------------------------------------------------------------------------- */

static int set_memory(void *context, const char *value)
{
	struct sonde_record_options *options = context;
	uint64_t *every_ns = &options->memory_every_ns;
	int rc = sonde_quantity_duration(every_ns, value ? value : "100ms");
	return !rc && *every_ns < 1000000u ? sonde_error(EINVAL, "'%s': the minimum is 1ms", value) : rc;
}

static const struct sonde_option memory_options[] = {
    {"memory", 0, "[=TIME]", "poll process memory at a fixed rate, every TIME (100ms)", SONDE_BY(set_memory)},
    {0},
};

const struct sonde_source sonde_source_memory = {
    .name = "memory",
    .title = "RSS at a higher rate (--heap, --memory), and snapshots",
    .cost = "at most 0.1 % of a CPU, in the recorder",
    .options = memory_options,
    .run_b = sizeof(struct sonde_source_run),
    .probe = memory_probe,
    .open = memory_open,
    .start = memory_start,
    .drain = memory_drain,
    .due_ns = memory_due_ns,
    .stop = memory_stop,
};
