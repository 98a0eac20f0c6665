/* file.c: reads until end of file, because the kernel returns some /proc files one page at a time. */
#include "util/file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

size_t sonde_file_read(char *out, size_t max_b, const char *format, ...)
{
	char path[256];
	size_t done_b = 0;
	va_list arguments;
	va_start(arguments, format);
	int path_b = vsnprintf(path, sizeof path, format, arguments);
	va_end(arguments);
	int fd = path_b > 0 && (size_t)path_b < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t got_b;
	while (fd >= 0 && (got_b = read(fd, out + done_b, max_b - 1 - done_b)) > 0)
		done_b += (size_t)got_b;
	if (fd >= 0)
		close(fd);
	out[done_b] = '\0';
	return done_b;
}
