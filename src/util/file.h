/* file.h: reads files under /proc and /sys: the beginning into a buffer, or the whole. */
#ifndef SONDE_UTIL_FILE_H
#define SONDE_UTIL_FILE_H

#include <stddef.h>

/* Reads at most max_b − 1 bytes of a file and appends a NUL. The path is formatted like printf, at most 255 bytes.
 * Returns the number of bytes read; 0, with an empty string, if the file is empty or unreadable. */
size_t sonde_file_read(char *out, size_t max_b, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Reads a whole file of up to 64 MiB and appends a NUL. Returns memory that the caller frees; NULL if the file is
 * unreadable or larger, or memory runs out. out_b (may be NULL): the number of bytes before the NUL. */
char *sonde_file_read_whole(size_t *out_b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
