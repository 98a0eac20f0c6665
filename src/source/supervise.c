/* supervise.c: the main loop, in one thread: waits for the command, drains the sources, flushes periodically.
 *
 * Order: create writer and recorder, open and prepare the sources (they edit the child's environment), fork the child
 * and hold it, start the sources on it, release the child; only then is an older recording of the same name replaced.
 * Sources that cannot start have recorded the reason. When the child has exited, everything published is drained before
 * the sources stop. Signal handlers only count; the loop acts.
 */
#include "source/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/launch.h"
#include "run/priority.h"
#include "run/signals.h"
#include "source/cpu/attached.h"
#include "source/resource/host.h"
#include "source/record/snapshots.h"
#include "source/resource/proc_stat.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "source/target/channel.h"
#include "trace/writer.h"
#include "util/error.h"

#define POLL_FIRST_MS 2   /* first timeout, then doubled: opens the files of a program while it is still small */
#define POLL_MS 50        /* maximum timeout */
#define POLL_QUIET_MS 200 /* maximum if is_quiet(): a wake-up costs 0.1 ms, since caches are cold */
#define MS_NS 1000000u
#define FLUSH_NS 1000000000u
#define SAVE_DELAY_NS \
	400000000u /* delay from the event to the save: exits, and waits found by polling, are reported this late */
#define FLUSHES_A_KEEP 8 /* a flight recorder drops whole chunks, so each should hold a small part of the time kept */
#define HORIZON_SLACK_NS \
	10000000u /* how late a record may be published after its timestamp: a hypervisor may take the CPU */
#define SYMBOLS_NS 3000000000u /* time limit for looking up symbols at the end */
#define FDS_MAX 1024
#define RUSAGE_BLOCK_B 512u

struct active {
	const struct sonde_source *source;
	struct sonde_source_run *run;
};

struct supervisor {
	struct sonde_priority priority; /* our own priority before it was raised */
	const struct sonde_record_options *options;
	struct sonde_writer *writer;
	struct sonde_recorder *recorder;
	struct sonde_launch launch;
	struct sonde_channel *channel;
	struct sonde_snapshots *snapshots;
	struct active *active;
	size_t active_count;
	pid_t pid;
	int pid_fd;
	unsigned interrupts;            /* interrupts already acted on */
	size_t fd_count, idle_fd_count; /* descriptors polled now; while no process was connected */
	uint32_t process_count;         /* at the last check */
	uint64_t start_ns, flushed_ns;
	uint64_t save_at_ns; /* flight recorder: when the next save is due; 0 = none */
	uint64_t stolen_ns;  /* time stolen by the hypervisor up to the start of the command; UINT64_MAX = unknown */
	struct rusage usage;
	int status;
	struct pollfd polls[FDS_MAX]; /* used by wait_for_something() */
	int fds[FDS_MAX];
	struct sigaction file_limit; /* disposition of SIGXFSZ when we were started, restored in the command */
};

/* --- sources --------------------------------------------------------------------------------------------- */

static void say_unavailable(struct supervisor *supervisor, const struct sonde_source *source, const char *why)
{
	struct sonde_recorder_state state = {.state = SONDE_SOURCE_UNAVAILABLE, .detail = why};
	sonde_recorder_source(supervisor->recorder, source->name, &state);
}

static int open_sources(struct supervisor *supervisor)
{
	supervisor->active = calloc(sonde_source_count + 1, sizeof *supervisor->active);
	if (!supervisor->active)
		return sonde_error(ENOMEM, "out of memory for the sources");
	const struct sonde_source_context context = {
	    .recorder = supervisor->recorder, .channel = supervisor->channel, .snapshots = supervisor->snapshots};
	for (size_t i = 0; i < sonde_source_count; i++) {
		const struct sonde_source *source = sonde_sources[i];
		char why[512] = "";
		if (supervisor->options->only_resources && !source->reads_counters)
			continue;
		if (source->probe(supervisor->options, why, sizeof why)) {
			if (*why)
				say_unavailable(supervisor, source, why);
			continue;
		}
		struct sonde_source_run *run = calloc(1, source->run_b);
		int rc = run ? source->open(run, &context)
			     : sonde_error(ENOMEM, "out of memory for the %s source", source->name);
		if (rc) {
			say_unavailable(supervisor, source, sonde_error_text());
			free(run);
			continue;
		}
		supervisor->active[supervisor->active_count++] = (struct active){source, run};
	}
	return 0;
}

static int prepare_sources(struct supervisor *supervisor)
{
	int code = sonde_channel_prepare(supervisor->channel, &supervisor->launch);
	if (code)
		return code;
	for (size_t i = 0; i < supervisor->active_count; i++) {
		const struct active *active = &supervisor->active[i];
		if (!active->source->prepare)
			continue;
		int rc = active->source->prepare(active->run, &supervisor->launch);
		if (rc)
			return rc;
	}
	return 0;
}

static void drop_source(struct supervisor *supervisor, size_t i)
{
	supervisor->active[i].source->stop(supervisor->active[i].run);
	free(supervisor->active[i].run);
	supervisor->active_count--;
	memmove(&supervisor->active[i], &supervisor->active[i + 1],
		(supervisor->active_count - i) * sizeof *supervisor->active);
}

static void start_sources(struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->active_count;) {
		const struct sonde_source *source = supervisor->active[i].source;
		if (!source->start || !source->start(supervisor->active[i].run, supervisor->pid)) {
			i++;
			continue;
		}
		char why[1024];
		strncpy(why, sonde_error_text(), sizeof why - 1);
		why[sizeof why - 1] = '\0';
		drop_source(supervisor, i);
		say_unavailable(supervisor, source, why);
	}
}

/* Writes everything that was drained to the file, or to the flight recorder's memory. */
static void flush(struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->active_count; i++)
		if (supervisor->active[i].source->flush)
			supervisor->active[i].source->flush(supervisor->active[i].run);
	sonde_recorder_flush(supervisor->recorder);
}

static void save_soon(struct supervisor *supervisor, uint64_t now_ns)
{
	if (supervisor->options->keep_ns && !supervisor->save_at_ns)
		supervisor->save_at_ns = now_ns + SAVE_DELAY_NS;
}

static void save_if_due(struct supervisor *supervisor, uint64_t now_ns)
{
	if (!supervisor->save_at_ns || now_ns < supervisor->save_at_ns)
		return;
	supervisor->save_at_ns = 0;
	flush(supervisor);
	sonde_recorder_save(supervisor->recorder);
}

static void drain_sources(struct supervisor *supervisor, int final)
{
	uint64_t now = sonde_clock_now_ns();
	uint64_t horizon = final ? UINT64_MAX : now - HORIZON_SLACK_NS;
	sonde_channel_drain(supervisor->channel, final);
	for (size_t i = 0; i < supervisor->active_count; i++)
		if (supervisor->active[i].source->drain)
			supervisor->active[i].source->drain(supervisor->active[i].run, horizon, final);
	if (sonde_recorder_triggered(supervisor->recorder))
		save_soon(supervisor, now);
	save_if_due(supervisor, now);
	uint64_t chunk_ns = supervisor->options->keep_ns / FLUSHES_A_KEEP,
		 most_ns = supervisor->options->flush_every_ns;
	most_ns = most_ns ? most_ns : FLUSH_NS;
	if (!chunk_ns || chunk_ns > most_ns)
		chunk_ns = most_ns;
	if (now - supervisor->flushed_ns < chunk_ns)
		return;
	supervisor->flushed_ns = now;
	flush(supervisor);
}

/* --- the loop -------------------------------------------------------------------------------------------- */

/* When the first source is due. */
static uint64_t due_ns(const struct supervisor *supervisor)
{
	uint64_t first_ns = UINT64_MAX;
	for (size_t i = 0; i < supervisor->active_count; i++) {
		const struct active *active = &supervisor->active[i];
		uint64_t next_ns = active->source->due_ns ? active->source->due_ns(active->run) : UINT64_MAX;
		first_ns = next_ns < first_ns ? next_ns : first_ns;
	}
	return first_ns;
}

static void wait_for_something(struct supervisor *supervisor, int timeout_ms)
{
	struct pollfd *polls = supervisor->polls;
	int *fds = supervisor->fds;
	size_t count = 0;
	if (supervisor->pid_fd >= 0)
		fds[count++] = supervisor->pid_fd;
	count += sonde_channel_poll_fds(supervisor->channel, fds + count, FDS_MAX - count);
	for (size_t i = 0; i < supervisor->active_count; i++) {
		const struct active *active = &supervisor->active[i];
		if (active->source->poll_fds)
			count += active->source->poll_fds(active->run, fds + count, FDS_MAX - count);
	}
	for (size_t i = 0; i < count; i++)
		polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	supervisor->fd_count = count;
	if (!supervisor->idle_fd_count)
		supervisor->idle_fd_count = count;
	uint64_t now_ns = sonde_clock_now_ns(), wait_ns = (uint64_t)timeout_ms * MS_NS, next_ns = due_ns(supervisor);
	if (next_ns < now_ns + wait_ns)
		wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	struct timespec timeout = {(time_t)(wait_ns / 1000000000u), (long)(wait_ns % 1000000000u)};
	ppoll(polls, (nfds_t)count, &timeout, NULL);
}

/* True if the loop may wait longer: kernel buffers wake us when they fill up. The loop may not wait longer in these
 * cases: processes are connected, whose rings do not wake us; processes are new (perhaps short-lived), whose files
 * should be opened soon; a flight recorder cuts its data by time; or there is no pidfd, so that the exit must be polled
 * for. */
static int is_quiet(struct supervisor *supervisor)
{
	uint32_t before = supervisor->process_count;
	supervisor->process_count = sonde_recorder_process_count(supervisor->recorder);
	return supervisor->process_count == before && supervisor->fd_count <= supervisor->idle_fd_count &&
	       supervisor->pid_fd >= 0 && !supervisor->options->keep_ns;
}

/* The next timeout after waiting `waited_ms`; not beyond the end of the recording. */
static int next_wait_ms(struct supervisor *supervisor, int waited_ms)
{
	uint64_t most_ms = is_quiet(supervisor) ? POLL_QUIET_MS : POLL_MS,
		 duration_ns = supervisor->options->duration_ns;
	uint64_t passed_ns = sonde_clock_now_ns() - supervisor->start_ns;
	uint64_t wait_ms = (uint64_t)waited_ms * 2 < most_ms ? (uint64_t)waited_ms * 2 : most_ms;
	if (duration_ns && passed_ns < duration_ns && (duration_ns - passed_ns) / MS_NS < wait_ms)
		wait_ms = (duration_ns - passed_ns) / MS_NS + 1;
	return (int)wait_ms;
}

static void act_on_signals(struct supervisor *supervisor)
{
	int number;
	while ((number = sonde_signals_take_forward()))
		if (supervisor->options->command)
			kill(supervisor->pid, number);
	if (sonde_signals_interrupts() > supervisor->interrupts) {
		supervisor->interrupts = sonde_signals_interrupts();
		if (supervisor->interrupts > 1 && supervisor->options->command &&
		    sonde_signals_is_ignored_by(supervisor->pid, SIGINT))
			kill(supervisor->pid, SIGKILL);
	}
	if (sonde_signals_take_save())
		save_soon(supervisor, sonde_clock_now_ns());
}

/* True if the process is gone. Fetches status and resource usage if it is our child. */
static int is_gone(struct supervisor *supervisor)
{
	if (!supervisor->options->command) {
		struct pollfd gone = {.fd = supervisor->pid_fd, .events = POLLIN};
		return supervisor->pid_fd >= 0 ? poll(&gone, 1, 0) > 0 : kill(supervisor->pid, 0) != 0;
	}
	if (supervisor->status != -1)
		return 1;
	pid_t pid = wait4(supervisor->pid, &supervisor->status, WNOHANG, &supervisor->usage);
	return pid == supervisor->pid || (pid < 0 && errno == ECHILD);
}

/* True if the command has exited but is not yet reaped, so that /proc still has its data. */
static int has_ended(const struct supervisor *supervisor)
{
	siginfo_t info = {0};
	return supervisor->options->command && supervisor->status == -1 &&
	       !waitid(P_PID, (id_t)supervisor->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* True if the recording is to end. */
static int is_over(struct supervisor *supervisor)
{
	const struct sonde_record_options *options = supervisor->options;
	if (has_ended(supervisor))
		drain_sources(supervisor, 0);
	if (is_gone(supervisor) || (!options->command && sonde_signals_ends()))
		return 1;
	return options->duration_ns && sonde_clock_now_ns() - supervisor->start_ns >= options->duration_ns;
}

static void run_loop(struct supervisor *supervisor)
{
	int timeout_ms = POLL_FIRST_MS;
	while (!is_over(supervisor)) {
		wait_for_something(supervisor, timeout_ms);
		act_on_signals(supervisor);
		drain_sources(supervisor, 0);
		timeout_ms = next_wait_ms(supervisor, timeout_ms);
	}
}

/* For a recording whose duration ended before the command: the recording is closed, the command continues without it,
 * and we still wait for the command's exit code. */
static void outlive(struct supervisor *supervisor)
{
	while (supervisor->options->command && !is_gone(supervisor)) {
		struct pollfd gone = {.fd = supervisor->pid_fd, .events = POLLIN};
		poll(&gone, 1, supervisor->pid_fd >= 0 ? -1 : POLL_MS); /* a signal interrupts it, too */
		act_on_signals(supervisor);
	}
}

/* --- start and end ----------------------------------------------------------------------------------------------- */

/* RSS of the held process before exec. Without /proc: our own peak RSS, an upper bound since the child is our copy. */
static uint64_t held_rss_b(const struct sonde_launch *launch)
{
	struct rusage own = {0};
	getrusage(RUSAGE_SELF, &own);
	return launch->held_rss_b ? launch->held_rss_b : (uint64_t)own.ru_maxrss * 1024;
}

static int begin(struct supervisor *supervisor)
{
	const struct sonde_record_options *options = supervisor->options;
	sonde_host_describe(supervisor->recorder, "");
	sonde_host_describe_run(supervisor->recorder);
	sonde_host_describe_roof(supervisor->recorder);
	uint64_t begun_ns = sonde_writer_start_ns(supervisor->writer);
	int rc = sonde_snapshots_new(&supervisor->snapshots, supervisor->recorder, begun_ns);
	rc = rc ? rc : sonde_channel_open(&supervisor->channel, supervisor->recorder, supervisor->snapshots);
	rc = rc ? rc : open_sources(supervisor);
	if (rc)
		return rc;
	supervisor->pid = options->attach;
	if (options->command) {
		rc = sonde_launch_init(&supervisor->launch, options->command);
		rc = rc ? rc : prepare_sources(supervisor);
		sigaction(SIGXFSZ, &supervisor->file_limit, NULL);
		rc = rc ? rc : sonde_launch_hold(&supervisor->launch);
		if (rc)
			return rc;
		supervisor->pid = supervisor->launch.pid;
	} else if (kill(options->attach, 0)) {
		return sonde_error(errno, "cannot attach to process %d: %s", options->attach, strerror(errno));
	} else {
		sonde_launch_raise_files(&supervisor->launch);
	}
	sonde_signals_catch(options->keep_ns != 0, options->snapshot_signal);
	supervisor->pid_fd = (int)syscall(SYS_pidfd_open, supervisor->pid, 0);
	if (options->attach)
		sonde_attached_find(supervisor->recorder, options->attach);
	start_sources(supervisor);
	sonde_priority_raise(&supervisor->priority);
	supervisor->stolen_ns = sonde_proc_stolen_ns();
	supervisor->start_ns = sonde_clock_now_ns();
	if (options->begun)
		options->begun(options->begun_context);
	rc = options->command ? sonde_launch_release(&supervisor->launch) : 0;
	if (!rc && options->command)
		sonde_host_describe_held(supervisor->recorder, held_rss_b(&supervisor->launch));
	return rc;
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static void say_end(struct supervisor *supervisor, uint64_t end_ns)
{
	if (supervisor->status == -1)
		return;
	const struct rusage *usage = &supervisor->usage;
	struct sonde_meta_process_end end = {
	    .status = supervisor->status,
	    .user_ns = timeval_ns(usage->ru_utime),
	    .system_ns = timeval_ns(usage->ru_stime),
	    .peak_rss_b = (uint64_t)usage->ru_maxrss * 1024,
	    .end_ns = end_ns,
	    .minor_faults = (uint64_t)usage->ru_minflt,
	    .major_faults = (uint64_t)usage->ru_majflt,
	    .voluntary_switches = (uint64_t)usage->ru_nvcsw,
	    .involuntary_switches = (uint64_t)usage->ru_nivcsw,
	    .read_b = (uint64_t)usage->ru_inblock * RUSAGE_BLOCK_B,
	    .written_b = (uint64_t)usage->ru_oublock * RUSAGE_BLOCK_B,
	};
	sonde_recorder_status(supervisor->recorder, supervisor->pid, &end);
}

/* Records our own overhead including symbol lookup; only writing the last records comes after this. */
static void say_cost(struct supervisor *supervisor, uint64_t symbols_ns)
{
	struct rusage own;
	getrusage(RUSAGE_SELF, &own);
	sonde_recorder_cost(supervisor->recorder, "recorder.user_ns", timeval_ns(own.ru_utime));
	sonde_recorder_cost(supervisor->recorder, "recorder.system_ns", timeval_ns(own.ru_stime));
	sonde_recorder_cost(supervisor->recorder, "recorder.symbols_ns", symbols_ns);
	sonde_recorder_cost(supervisor->recorder, "recorder.peak_rss_b", (uint64_t)own.ru_maxrss * 1024);
}

/* Looks up symbols; returns the CPU time used in ns. */
static uint64_t look_up(struct supervisor *supervisor)
{
	if (supervisor->options->no_symbols)
		return 0;
	const struct sonde_record_options *options = supervisor->options;
	uint64_t before_ns = sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (options->looking_up)
		options->looking_up(options, 0);
	sonde_recorder_symbols(supervisor->recorder, sonde_clock_now_ns() + SYMBOLS_NS);
	if (options->looking_up)
		options->looking_up(options, 1);
	return sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
}

static void finish(struct supervisor *supervisor, struct sonde_supervise_result *result)
{
	uint64_t end_ns = sonde_clock_now_ns(), stolen_ns = sonde_proc_stolen_ns();
	uint64_t begun_ns = sonde_writer_start_ns(supervisor->writer);
	drain_sources(supervisor, 1);
	while (supervisor->active_count)
		drop_source(supervisor, supervisor->active_count - 1);
	sonde_channel_close(supervisor->channel);
	supervisor->channel = NULL;
	sonde_priority_restore(&supervisor->priority);
	say_end(supervisor, end_ns);
	say_cost(supervisor, look_up(supervisor));
	if (stolen_ns != UINT64_MAX && stolen_ns >= supervisor->stolen_ns) /* both are known */
		sonde_recorder_cost(supervisor->recorder, "machine.stolen_ns", stolen_ns - supervisor->stolen_ns);
	int died = supervisor->status != -1 && WIFSIGNALED(supervisor->status);
	if (supervisor->options->keep_ns && (died || !supervisor->options->when || supervisor->save_at_ns))
		sonde_recorder_save(supervisor->recorder);
	result->lost = sonde_recorder_lost_count(supervisor->recorder, result->lost_first, sizeof result->lost_first);
	result->error = sonde_recorder_close(supervisor->recorder, supervisor->status, end_ns);
	int rc = sonde_writer_close(supervisor->writer);
	supervisor->writer = NULL;
	result->error = result->error ? result->error : rc;
	result->started = 1;
	result->wall_ns = end_ns - supervisor->start_ns;
	result->recorded_ns = end_ns - begun_ns;
	result->samples = sonde_recorder_sample_count(supervisor->recorder);
	result->kept_nothing = supervisor->options->keep_ns && !sonde_recorder_saves(supervisor->recorder);
}

static void release(struct supervisor *supervisor)
{
	while (supervisor->active_count)
		drop_source(supervisor, supervisor->active_count - 1);
	free(supervisor->active);
	sonde_channel_close(supervisor->channel);
	sonde_snapshots_free(supervisor->snapshots);
	sonde_launch_fini(&supervisor->launch);
	if (supervisor->pid_fd >= 0)
		close(supervisor->pid_fd);
	sonde_recorder_free(supervisor->recorder);
	if (supervisor->writer)
		sonde_writer_discard(supervisor->writer);
}

int sonde_supervise(const struct sonde_record_options *options, struct sonde_supervise_result *result)
{
	struct supervisor supervisor = {.options = options, .pid_fd = -1, .status = -1};
	supervisor.launch.release_fd = supervisor.launch.error_fd = -1;
	*result = (struct sonde_supervise_result){.status = -1};
	struct sonde_writer_options writing = {.overwrite = options->overwrite,
					       .fd = options->output_fd,
					       .keep_ns = options->keep_ns ? options->keep_ns + SAVE_DELAY_NS : 0};
	sonde_signals_ignore_file_limit(&supervisor.file_limit);
	int rc = sonde_writer_open(&supervisor.writer, options->output, &writing);
	if (rc == -ENOENT || rc == -EACCES)
		rc = -EIO; /* -ENOENT and -EACCES are reserved for errors of the command */
	rc = rc ? rc : sonde_recorder_new(&supervisor.recorder, supervisor.writer, options);
	rc = rc ? rc : begin(&supervisor);
	if (!rc) {
		sonde_writer_commit(supervisor.writer); /* a failure is reported on close */
		run_loop(&supervisor);
		finish(&supervisor, result);
		outlive(&supervisor);
		result->status = supervisor.status;
	}
	release(&supervisor);
	return rc;
}
