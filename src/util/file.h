/* file.h: reads the beginning of small files, such as those under /proc and /sys. */
#ifndef SONDE_UTIL_FILE_H
#define SONDE_UTIL_FILE_H

#include <stddef.h>

/* Reads at most max_b − 1 bytes of a file and appends a NUL. The path is formatted like printf, at most 255 bytes.
 * Returns the number of bytes read; 0, with an empty string, if the file is empty or unreadable. */
size_t sonde_file_read(char *out, size_t max_b, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
