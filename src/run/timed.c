/* timed.c: releases a held child and waits for it (timed.h).
 *
 * Nothing but the command runs in the meantime: no thread, no sampling, one check for signals every half second. The
 * kernel's figures include the held child, which adds some tens of microseconds and page faults. The child inherits the
 * standard streams, so ours are swapped while it is created.
 */
#include "run/timed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/launch.h"
#include "run/signals.h"
#include "util/error.h"

#define LOOK_MS 500

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/* Replaces a standard stream by `fd`; returns a copy of the old stream, −1 if there was none. */
static int exchange(int stream, int fd)
{
	int kept = fcntl(stream, F_DUPFD_CLOEXEC, 3);
	dup2(fd, stream);
	return kept;
}

static void put_back(int stream, int kept)
{
	if (kept < 0) {
		close(stream);
		return;
	}
	dup2(kept, stream);
	close(kept);
}

static int hold(struct sonde_launch *launch, char **argv, int in_fd, int out_fd)
{
	int code = sonde_launch_init(launch, argv);
	if (code)
		return code;
	int in = exchange(STDIN_FILENO, in_fd), out = exchange(STDOUT_FILENO, out_fd);
	code = sonde_launch_hold(launch);
	put_back(STDIN_FILENO, in);
	put_back(STDOUT_FILENO, out);
	return code;
}

/* Waits until the command has ended. Forwards signals that were sent only to us; one that arrives just before poll() is
 * forwarded half a second later. */
static void wait_for(pid_t pid)
{
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int number, got = 0;
	while (ended.fd >= 0 && !got) {
		while ((number = sonde_signals_take_forward()) != 0)
			kill(pid, number);
		got = poll(&ended, 1, LOOK_MS) > 0;
	}
	if (ended.fd >= 0)
		close(ended.fd);
}

int sonde_timed_run(struct sonde_timed *out, char **argv, int in_fd, int out_fd)
{
	struct sonde_launch launch;
	struct rusage used;
	*out = (struct sonde_timed){0};
	sonde_signals_give_back();
	int code = hold(&launch, argv, in_fd, out_fd);
	if (!code) {
		sonde_signals_catch(0, 0);
		code = sonde_launch_release(&launch);
	}
	if (!code) {
		pid_t pid;
		wait_for(launch.pid);
		do
			pid = wait4(launch.pid, &out->status, 0, &used);
		while (pid < 0 && errno == EINTR);
		out->wall_ns = sonde_clock_now_ns() - launch.released_ns;
		if (pid < 0)
			code = sonde_error(errno, "cannot wait for '%s': %s", argv[0], strerror(errno));
	}
	if (!code) {
		uint64_t peak_b = (uint64_t)used.ru_maxrss * 1024;
		out->user_ns = time_ns(&used.ru_utime);
		out->system_ns = time_ns(&used.ru_stime);
		out->peak_rss_b = peak_b > launch.held_rss_b ? peak_b : 0;
		out->faults = (uint64_t)(used.ru_minflt + used.ru_majflt);
	}
	sonde_launch_fini(&launch);
	return code;
}
