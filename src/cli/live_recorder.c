/* live_recorder.c: runs a recorder in a separate process (live_recorder.h).
 *
 * The recorder acts like `sonde record`, as the command's parent: signals from the terminal reach both the recorder and
 * the command; all other signals are forwarded to the recorder. It reports its state and result through a socket. If we
 * are killed, the recorder continues to the end of the run: the recording does not depend on whether anyone watches it.
 * A socket and not a pipe is used, because writing to a pipe without a reader raises SIGPIPE; ignoring it would be
 * inherited by the command.
 */
#include "cli/live_recorder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/error.h"

struct told {
	int rc;
	struct sonde_supervise_result result;
	char error[512];
};

static _Noreturn void record(const struct sonde_record_options *options, int fd)
{
	struct told told = {0};
	told.rc = sonde_supervise(options, &told.result);
	if (told.rc || told.result.error)
		snprintf(told.error, sizeof told.error, "%s", sonde_error_text());
	if (send(fd, &told, sizeof told, MSG_NOSIGNAL) != sizeof told && told.result.started)
		fprintf(stderr, "sonde live: no page is open any more; %s is complete\n", options->output);
	_exit(0);
}

int sonde_live_recorder_start(struct sonde_live_recorder *recorder, const struct sonde_record_options *options,
			      const sigset_t *mask, void (*forget)(void *context), void *context)
{
	int ends[2];
	*recorder = (struct sonde_live_recorder){.options = options, .fd = -1};
	if (stat(options->output, &recorder->before))
		recorder->before = (struct stat){0};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return sonde_error(errno, "cannot start the recorder: %s", strerror(errno));
	fflush(NULL);
	recorder->pid = fork();
	if (recorder->pid < 0) {
		int code = errno;
		close(ends[0]);
		close(ends[1]);
		return sonde_error(code, "cannot start the recorder: %s", strerror(code));
	}
	if (recorder->pid == 0) {
		close(ends[0]);
		forget(context);
		sigprocmask(SIG_SETMASK, mask, NULL);
		record(options, ends[1]);
	}
	close(ends[1]);
	recorder->fd = ends[0];
	return 0;
}

static void take(struct sonde_live_recorder *recorder)
{
	struct told told;
	if (recorder->has_told || recv(recorder->fd, &told, sizeof told, MSG_DONTWAIT) != sizeof told)
		return;
	recorder->has_told = 1;
	recorder->rc = told.rc;
	recorder->result = told.result;
	snprintf(recorder->error, sizeof recorder->error, "%.*s", (int)sizeof told.error - 1, told.error);
}

int sonde_live_recorder_look(struct sonde_live_recorder *recorder)
{
	int status;
	if (recorder->has_ended)
		return 1;
	if (waitpid(recorder->pid, &status, WNOHANG) != recorder->pid)
		return 0;
	take(recorder);
	recorder->has_ended = 1;
	if (WIFSIGNALED(status))
		recorder->signal = WTERMSIG(status);
	close(recorder->fd);
	return 1;
}

int sonde_live_recorder_has_file(const struct sonde_live_recorder *recorder)
{
	struct stat now;
	return !stat(recorder->options->output, &now) &&
	       (now.st_ino != recorder->before.st_ino || now.st_dev != recorder->before.st_dev);
}
