/* file.h: the beginning of a small file, as those under /proc and /sys are. */
#ifndef SONDE_UTIL_FILE_H
#define SONDE_UTIL_FILE_H

#include <stddef.h>

/* Reads at most max_b − 1 bytes of the file whose path `format` and what follows make (printf; at most 255 bytes), and
 * a NUL behind them. Returns how many bytes; 0, and "", when it is empty or cannot be read. */
size_t sonde_file_read(char *out, size_t max_b, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
