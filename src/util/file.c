/* file.c: reads until end of file, because the kernel returns some /proc files one page at a time. */
#include "util/file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/array.h"

#define WHOLE_FIRST_B ((size_t)4096)
#define WHOLE_MAX_B ((size_t)64 << 20)

static int open_formatted(const char *format, va_list arguments)
{
	char path[256];
	int path_b = vsnprintf(path, sizeof path, format, arguments);
	return path_b > 0 && (size_t)path_b < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

size_t sonde_file_read(char *out, size_t max_b, const char *format, ...)
{
	size_t done_b = 0;
	va_list arguments;
	va_start(arguments, format);
	int fd = open_formatted(format, arguments);
	va_end(arguments);
	ssize_t got_b;
	while (fd >= 0 && (got_b = read(fd, out + done_b, max_b - 1 - done_b)) > 0)
		done_b += (size_t)got_b;
	if (fd >= 0)
		close(fd);
	out[done_b] = '\0';
	return done_b;
}

char *sonde_file_read_whole(size_t *out_b, const char *format, ...)
{
	char *text = NULL;
	size_t cap_b = 0, done_b = 0;
	va_list arguments;
	va_start(arguments, format);
	int fd = open_formatted(format, arguments);
	va_end(arguments);
	if (fd < 0)
		return NULL;
	int rc = SONDE_ARRAY_RESERVE(text, cap_b, WHOLE_FIRST_B);
	ssize_t got_b = 0;
	while (!rc && (got_b = read(fd, text + done_b, cap_b - 1 - done_b)) > 0) {
		done_b += (size_t)got_b;
		if (done_b + 1 == cap_b) /* full: the next read must have room, or it would look like the end */
			rc = cap_b < WHOLE_MAX_B ? SONDE_ARRAY_RESERVE(text, cap_b, cap_b + 1) : -1;
	}
	close(fd);
	if (rc || got_b < 0) {
		free(text);
		return NULL;
	}
	text[done_b] = '\0';
	if (out_b)
		*out_b = done_b;
	return text;
}
