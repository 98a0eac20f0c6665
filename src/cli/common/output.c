/* output.c: output files that are never overwritten by accident, and the capabilities of terminals. */
#include "cli/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "util/error.h"

#define LEAST_FREE_B ((uint64_t)64 << 20) /* do not use a disk with less free space */
#define PIPE_WIDTH 120                    /* columns if there is no terminal */

int sonde_output_open(struct sonde_output *out, const char *path, int force)
{
	*out = (struct sonde_output){.file = stdout};
	if (!path || strcmp(path, "-") == 0)
		return 0;
	struct stat status;
	int there = stat(path, &status) == 0;
	if (there && S_ISREG(status.st_mode) && !force)
		return sonde_error(EEXIST, "%s exists; choose another name with -o, or overwrite it with --force",
				   path);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (there ? O_TRUNC : O_EXCL), 0600);
	if (fd < 0)
		return sonde_error(errno, "%s: %s; choose another folder with -o", path, strerror(errno));
	FILE *file = fdopen(fd, "w");
	if (!file) {
		close(fd);
		return sonde_error(ENOMEM, "%s: out of memory", path);
	}
	*out = (struct sonde_output){.file = file, .path = path, .made = !there || S_ISREG(status.st_mode)};
	return 0;
}

/* Finds out why writing failed: the stream does not keep errno, but writing one more byte fails for the same reason
 * (and does no harm, since the output is incomplete anyway). */
static int cause_of(FILE *file)
{
	clearerr(file);
	errno = 0;
	if (putc('\n', file) != EOF && fflush(file) == 0)
		return EIO;
	return errno ? errno : EIO;
}

int sonde_output_close(struct sonde_output *output, int code)
{
	errno = 0;
	int bad = fflush(output->file) != 0, cause = errno;
	if (!bad && ferror(output->file)) {
		bad = 1;
		cause = cause_of(output->file);
	}
	if (output->path && fclose(output->file) != 0 && !bad) {
		bad = 1;
		cause = errno;
	}
	if (!code && bad && !(cause == EPIPE && !output->path))
		code = sonde_error(cause, "%s: %s; the output is incomplete",
				   output->path ? output->path : "standard output", strerror(cause));
	if (code && output->made)
		unlink(output->path);
	return code;
}

/* True if the locale, if one is set, uses UTF-8. */
static int takes_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);
		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return 1;
}

void sonde_output_style(struct sonde_format_options *out, FILE *file)
{
	const char *columns = getenv("COLUMNS");
	int width = columns ? atoi(columns) : 0;
	*out = (struct sonde_format_options){.ascii = !takes_utf8(), .width = width > 0 ? width : PIPE_WIDTH};
	if (!isatty(fileno(file)))
		return;
	struct winsize size;
	if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col)
		out->width = size.ws_col;
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
	out->color = (!no_color || !*no_color) && terminal && strcmp(terminal, "dumb") != 0;
}

int sonde_output_report(const struct sonde_report *report, const struct sonde_format *format, const char *path,
			int force)
{
	struct sonde_output output;
	struct sonde_format_options style;
	int code = sonde_output_open(&output, path, force);
	if (code)
		return code;
	sonde_output_style(&style, output.file);
	return sonde_output_close(&output, format->render(report, &style, output.file));
}

const struct sonde_format *sonde_output_report_format(const char *name)
{
	const struct sonde_format *format = sonde_format_find(name);
	return format && format->render && !format->section ? format : NULL;
}

static int is_younger(const struct stat *a, const struct stat *b)
{
	if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
		return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
	return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

int sonde_output_newest(char *out, size_t out_b)
{
	glob_t matches = {0};
	struct stat best = {0};
	const char *newest = NULL;
	if (glob("./*.sonde", 0, NULL, &matches) == 0)
		for (size_t i = 0; i < matches.gl_pathc; i++) {
			struct stat status;
			if (stat(matches.gl_pathv[i], &status) != 0 || !S_ISREG(status.st_mode))
				continue;
			if (newest && !is_younger(&status, &best))
				continue;
			newest = matches.gl_pathv[i];
			best = status;
		}
	if (newest)
		snprintf(out, out_b, "%s", newest + 2);
	globfree(&matches);
	if (!newest)
		return sonde_error(ENOENT,
				   "no recording (*.sonde) here; name one, or make one: sonde record -- COMMAND");
	return 0;
}

int sonde_output_nameless(const char *name)
{
	const char *directory = getenv("TMPDIR");
	struct statvfs disk;
	int fd = -1;
	directory = directory && *directory ? directory : "/tmp";
	if (!statvfs(directory, &disk) && (uint64_t)disk.f_bavail * disk.f_frsize >= LEAST_FREE_B)
		fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return sonde_error(errno, "no temporary file for the input, not even in memory: %s", strerror(errno));
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int code = errno;
	close(fd);
	return copy < 0 ? sonde_error(code, "no descriptor for the input: %s", strerror(code)) : copy;
}

int sonde_output_ends_with(const char *name, const char *end)
{
	size_t name_b = name ? strlen(name) : 0, end_b = strlen(end);
	return name_b > end_b && !strcmp(name + name_b - end_b, end);
}
