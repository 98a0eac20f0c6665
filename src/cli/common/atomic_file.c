/* atomic_file.c: writes an output under a temporary name and renames it (common/atomic_file.h).
 *
 * The unfinished file has a name instead of none (O_TMPFILE), because a nameless file can be linked to a free name but
 * cannot atomically replace another file, as --force requires.
 */
#include "cli/common/atomic_file.h"

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

/* Name of the unfinished file, for the signal handler. */
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
	/* exceeding the limit for file sizes becomes a write error, which leaves no partial file */
	sonde_signals_ignore_file_limit(NULL);
}

/* Checks that the output may be created. */
static int check(const struct sonde_atomic_file *file)
{
	struct stat status;
	if (stat(file->path, &status))
		return 0;
	if (!S_ISREG(status.st_mode))
		return sonde_error(EINVAL, "%s is not a file; choose another name with -o", file->path);
	if (file->force)
		return 0;
	return sonde_error(EEXIST, "%s exists; choose another name with -o, or overwrite it with --force", file->path);
}

int sonde_atomic_file_open(struct sonde_atomic_file *out, const char *path, int force)
{
	struct sonde_atomic_file file = {.path = path, .force = force};
	int rc = check(&file);
	if (rc)
		return rc;
	if (asprintf(&file.name, "%s.XXXXXX", path) < 0)
		return sonde_error(ENOMEM, "out of memory");
	file.fd = mkostemp(file.name, O_CLOEXEC);
	if (file.fd < 0) {
		int code = errno;
		free(file.name);
		return sonde_error(code, "%s: %s; choose another folder with -o", path, strerror(code));
	}
	unfinished = file.name;
	catch_signals();
	*out = file;
	return 0;
}

static int publish(const struct sonde_atomic_file *file)
{
	int failed = file->force ? rename(file->name, file->path)
				 : renameat2(AT_FDCWD, file->name, AT_FDCWD, file->path, RENAME_NOREPLACE);
	if (failed && !file->force && errno == EINVAL) { /* the file system does not support this pair of flags */
		int rc = check(file);
		if (rc)
			return rc;
		failed = rename(file->name, file->path);
	}
	return failed ? sonde_error(errno, "%s: %s; choose another name with -o", file->path, strerror(errno)) : 0;
}

int sonde_atomic_file_close(struct sonde_atomic_file *file, int error)
{
	if (!error && fsync(file->fd) && errno != EINVAL) /* the contents must reach the disk before the name does */
		error = sonde_error(errno, "%s: %s", file->path, strerror(errno));
	close(file->fd);
	error = error ? error : publish(file);
	if (error)
		unlink(file->name);
	unfinished = NULL;
	free(file->name);
	*file = (struct sonde_atomic_file){.fd = -1};
	return error;
}
