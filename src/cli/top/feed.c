/* feed.c: a sequence of recordings, so that neither the files nor the memory for them grow for hours (top/feed.h).
 *
 * For the live view, a child process attaches and records for a minute; before it ends, the next one starts, and the
 * screen switches to the new recording at its first complete interval. A recorder flushes everything once a second, so
 * the file is complete up to the time of its last event: an interval goes from the previous such time to the current
 * one. The recorder gets no requests; a signal ends it. Rejected: one recording per interval, because starting a
 * recording would cost more than recording the interval.
 */
#include "cli/top/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/common/output.h"
#include "source/supervise.h"
#include "util/error.h"
#include "util/file.h"

#define BUFFER_B ((uint64_t)8 << 20)
#define LEAST_LIFE_NS 60000000000u
#define LIFE_A_THREAD_NS 50000000u /* lifetime added per thread: attaching takes 60 µs, about a thousandth of it */
/* an interval may be shorter by 1 / SHORTER, because recorders flush once a second */
#define SHORTER 5
#define LIFE_INTERVALS 8 /* minimum number of intervals per recording */
#define LEAST_READING_NS 100000000u
#define READINGS 4 /* number of readings of resources per interval */

/* A recording and its recorder. */
struct part {
	pid_t recorder; /* 0 = none */
	int fd;
	struct sonde_session *session; /* NULL = the file has no header yet */
	uint64_t begun_ns;             /* when the recorder was started */
	uint64_t seen_ns;              /* end of the last interval that was shown */
};

struct sonde_top_feed {
	struct sonde_top_target target;
	int pid_fd;       /* −1 = not supported by the kernel */
	uint64_t threads; /* number of threads at the start */
	struct part now, next;
	struct part old; /* the previous recording, kept while the screen may still show it */
};

static void options_of(const struct sonde_top_target *target, int fd, struct sonde_record_options *out)
{
	uint64_t reading_ns = target->every_ns / READINGS;
	*out = (struct sonde_record_options){
	    .output = "the reading",
	    .output_fd = fd,
	    .attach = target->pid,
	    .rate_hz = target->rate_hz,
	    .buffer_b = BUFFER_B,
	    .resources_every_ns = reading_ns > LEAST_READING_NS ? reading_ns : LEAST_READING_NS,
	    .no_perf = target->no_perf,
	    .no_inject = 1,
	    .no_symbols = 1,
	    .quiet = 1,
	};
}

static int session_open(struct sonde_session **out, int fd)
{
	return sonde_session_open(out, "the reading", &(struct sonde_session_options){.fd = fd});
}

/* Releases the held command, and keeps the error if the command turns out not to be executable. */
struct letting_go {
	struct sonde_launch *held;
	int rc;
	char error[512];
};

static void let_go(void *context)
{
	struct letting_go *go = context;
	go->rc = sonde_launch_release(go->held);
	if (go->rc)
		snprintf(go->error, sizeof go->error, "%s", sonde_error_text());
}

/* --- a single interval ------------------------------------------------------------------------------------------- */

int sonde_top_feed_once(const struct sonde_top_target *target, struct sonde_session **out, int *ended)
{
	struct sonde_record_options options;
	struct sonde_supervise_result result;
	int fd = sonde_output_nameless("sonde-top");
	if (fd < 0)
		return fd;
	options_of(target, fd, &options);
	options.duration_ns = target->every_ns;
	struct letting_go go = {.held = target->held};
	options.begun = target->held ? let_go : NULL;
	options.begun_context = &go;
	int rc = sonde_supervise(&options, &result);
	rc = go.rc ? sonde_error(-go.rc, "%s", go.error) : rc ? rc : result.error;
	rc = rc ? rc : session_open(out, fd);
	close(fd);
	*ended = rc == 0 && result.wall_ns < target->every_ns;
	return rc;
}

/* --- live -------------------------------------------------------------------------------------------------------- */

static void tell(void *context)
{
	const int *fd = context;
	(void)!write(*fd, "b", 1);
}

static _Noreturn void record(const struct sonde_top_target *target, int fd, int begun_fd, pid_t parent,
			     uint64_t life_ns)
{
	struct sonde_record_options options;
	struct sonde_supervise_result result;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0);
	signal(SIGTERM, SIG_DFL); /* until the recorder catches it */
	signal(SIGINT, SIG_DFL);
	options_of(target, fd, &options);
	options.duration_ns = life_ns;
	options.begun = tell;
	options.begun_context = &begun_fd;
	_exit(sonde_supervise(&options, &result) || result.error ? 1 : 0);
}

static uint64_t threads_of(pid_t pid)
{
	char *text = sonde_file_read_whole(NULL, "/proc/%d/status", (int)pid);
	const char *line = text ? strstr(text, "\nThreads:") : NULL;
	uint64_t count = line ? strtoull(line + strlen("\nThreads:"), NULL, 10) : 1;
	free(text);
	return count;
}

static uint64_t life_of(const struct sonde_top_feed *feed)
{
	uint64_t life_ns = feed->target.every_ns * LIFE_INTERVALS;
	return (life_ns > LEAST_LIFE_NS ? life_ns : LEAST_LIFE_NS) + feed->threads * LIFE_A_THREAD_NS;
}

/* Starts a recorder; `wait`: waits until it has started. Its lifetime is longer than needed, so that the next recorder
 * is ready before this one ends. */
static int part_begin(const struct sonde_top_feed *feed, struct part *part, int wait)
{
	pid_t parent = getpid();
	int begun[2];
	*part = (struct part){.fd = sonde_output_nameless("sonde-top")};
	if (part->fd < 0)
		return part->fd;
	part->begun_ns = sonde_clock_now_ns();
	pid_t pid = pipe2(begun, O_CLOEXEC) ? -1 : fork();
	if (pid == 0)
		record(&feed->target, part->fd, begun[1], parent, 2 * life_of(feed));
	if (pid < 0) {
		int code = errno;
		close(part->fd);
		return sonde_error(code, "cannot start the recorder: %s", strerror(code));
	}
	part->recorder = pid;
	close(begun[1]);
	char byte;
	while (wait && read(begun[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(begun[0]);
	return 0;
}

static void recorder_end(struct part *part)
{
	if (!part->recorder)
		return;
	kill(part->recorder, SIGTERM);
	while (waitpid(part->recorder, NULL, 0) < 0 && errno == EINTR)
		;
	close(part->fd);
	part->recorder = 0;
}

static void part_end(struct part *part)
{
	recorder_end(part);
	sonde_session_close(part->session);
	*part = (struct part){0};
}

static void retire(struct sonde_top_feed *feed, struct part *part)
{
	part_end(&feed->old);
	recorder_end(part);
	feed->old = *part;
	*part = (struct part){0};
}

int sonde_top_feed_open(struct sonde_top_feed **out, const struct sonde_top_target *target)
{
	struct sonde_top_feed *feed = calloc(1, sizeof *feed);
	if (!feed)
		return sonde_error(ENOMEM, "out of memory");
	feed->target = *target;
	feed->threads = threads_of(target->pid);
	feed->pid_fd = (int)syscall(SYS_pidfd_open, target->pid, 0);
	int rc = part_begin(feed, &feed->now, target->held != NULL);
	if (!rc && target->held)
		rc = sonde_launch_release(target->held);
	if (rc) {
		sonde_top_feed_close(feed);
		return rc;
	}
	*out = feed;
	return 0;
}

void sonde_top_feed_close(struct sonde_top_feed *feed)
{
	part_end(&feed->now);
	part_end(&feed->next);
	part_end(&feed->old);
	if (feed->pid_fd >= 0)
		close(feed->pid_fd);
	free(feed);
}

void sonde_top_feed_every(struct sonde_top_feed *feed, uint64_t every_ns)
{
	feed->target.every_ns = every_ns;
}

static int has_ended(const struct sonde_top_feed *feed)
{
	struct pollfd gone = {.fd = feed->pid_fd, .events = POLLIN};
	return feed->pid_fd >= 0 ? poll(&gone, 1, 0) > 0 : kill(feed->target.pid, 0) != 0;
}

/* Reads new data; true if the recording contains a complete interval that was not shown yet. */
static int part_refresh(const struct sonde_top_feed *feed, struct part *part)
{
	int rc = 0;
	if (part->session)
		rc = sonde_session_refresh(part->session);
	else if (session_open(&part->session, part->fd)) /* the recorder has not started writing */
		return 0;
	if (rc < 0)
		return rc;
	const struct sonde_run *run = sonde_session_run(part->session);
	uint64_t from_ns = part->seen_ns ? part->seen_ns : run->start_ns;
	return run->last_event_ns + feed->target.every_ns / SHORTER >= from_ns + feed->target.every_ns;
}

static int is_gone(const struct part *part)
{
	siginfo_t info = {0};
	return !waitid(P_PID, (id_t)part->recorder, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* Switches to the next recording when the switch is due and the next recording has something to show. */
static int turn(struct sonde_top_feed *feed)
{
	uint64_t now_ns = sonde_clock_now_ns();
	if (!feed->next.recorder)
		return now_ns - feed->now.begun_ns < life_of(feed) ? 0 : part_begin(feed, &feed->next, 0);
	int rc = part_refresh(feed, &feed->next);
	if (rc <= 0)
		return rc;
	retire(feed, &feed->now);
	feed->now = feed->next;
	feed->next = (struct part){0};
	return 0;
}

/* Starts a new recorder if the last one reached the end of its lifetime, which happens if no interval was requested for
 * long. */
static int begin_again(struct sonde_top_feed *feed)
{
	if (sonde_clock_now_ns() - feed->now.begun_ns < life_of(feed))
		return sonde_error(EIO, "the recorder of process %d has ended", (int)feed->target.pid);
	retire(feed, &feed->now);
	return part_begin(feed, &feed->now, 0);
}

int sonde_top_feed_next(struct sonde_top_feed *feed, struct sonde_session **out, uint64_t *from_ns, uint64_t *to_ns)
{
	int ended = has_ended(feed);
	int rc = turn(feed);
	rc = rc < 0 ? rc : part_refresh(feed, &feed->now);
	if (rc == 0 && ended)
		return sonde_error(ESRCH, "process %d has ended", (int)feed->target.pid);
	if (rc == 0 && is_gone(&feed->now))
		return begin_again(feed);
	if (rc <= 0)
		return rc;
	const struct sonde_run *run = sonde_session_run(feed->now.session);
	*out = feed->now.session;
	*from_ns = feed->now.seen_ns ? feed->now.seen_ns : run->start_ns;
	*to_ns = run->last_event_ns;
	feed->now.seen_ns = run->last_event_ns;
	return 1;
}
