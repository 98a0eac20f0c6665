/* beside.c: an output that grows beside its name (common/beside.h).
 *
 * It has a name of its own until it is whole, rather than none (O_TMPFILE): a file without a name can be linked to a
 * name that is free, but cannot take the place of another file at once, which --force has to.
 */
#include "cli/common/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/signals.h"
#include "util/error.h"

/* The file that is being made, for the handler alone. */
static char *volatile unfinished;

static void give_up(int number)
{
	if (unfinished)
		unlink(unfinished);
	signal(number, SIG_DFL);
	raise(number);
}

static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (signal(signals[i], give_up) == SIG_IGN)
			signal(signals[i], SIG_IGN);
	sonde_signals_ignore_file_limit(NULL); /* a write error, which leaves no half file */
}

/* Whether the output may be made. */
static int check(const struct sonde_beside *beside)
{
	struct stat status;
	if (stat(beside->path, &status))
		return 0;
	if (!S_ISREG(status.st_mode))
		return sonde_error(EINVAL, "%s is no file; choose another name with -o", beside->path);
	if (beside->force)
		return 0;
	return sonde_error(EEXIST, "%s exists; choose another name with -o, or overwrite it with --force",
			   beside->path);
}

int sonde_beside_open(struct sonde_beside *out, const char *path, int force)
{
	struct sonde_beside beside = {.path = path, .force = force};
	int error = check(&beside);
	if (error)
		return error;
	if (asprintf(&beside.name, "%s.XXXXXX", path) < 0)
		return sonde_error(ENOMEM, "out of memory");
	beside.fd = mkostemp(beside.name, O_CLOEXEC);
	if (beside.fd < 0) {
		int code = errno;
		free(beside.name);
		return sonde_error(code, "%s: %s; choose another place with -o", path, strerror(code));
	}
	unfinished = beside.name;
	catch_signals();
	*out = beside;
	return 0;
}

static int publish(const struct sonde_beside *beside)
{
	int failed = beside->force ? rename(beside->name, beside->path)
				   : renameat2(AT_FDCWD, beside->name, AT_FDCWD, beside->path, RENAME_NOREPLACE);
	if (failed && !beside->force && errno == EINVAL) { /* the file system cannot do both at once */
		int error = check(beside);
		if (error)
			return error;
		failed = rename(beside->name, beside->path);
	}
	return failed ? sonde_error(errno, "%s: %s; choose another name with -o", beside->path, strerror(errno)) : 0;
}

int sonde_beside_close(struct sonde_beside *beside, int error)
{
	if (!error && fsync(beside->fd) && errno != EINVAL) /* its name comes to what is on the disk */
		error = sonde_error(errno, "%s: %s", beside->path, strerror(errno));
	close(beside->fd);
	error = error ? error : publish(beside);
	if (error)
		unlink(beside->name);
	unfinished = NULL;
	free(beside->name);
	*beside = (struct sonde_beside){.fd = -1};
	return error;
}
