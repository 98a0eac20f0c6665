/* memory_limit.h: limits the memory that this process may use while it reads an untrusted file.
 *
 * One limit covers every table, buffer and library: a hostile file that inflates any of them causes a failed
 * allocation, which callers report as -ENOMEM. It is the kernel's limit on private writable memory (RLIMIT_DATA), so
 * peak RSS stays below the limit plus the program and its libraries. Only for commands, which own their process; child
 * processes inherit the limit.
 */
#ifndef SONDE_UTIL_MEMORY_LIMIT_H
#define SONDE_UTIL_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Allows `size_b` more than is currently in use; an existing lower limit stays. 0, or a negative errno with a
 * message. */
int sonde_memory_limit_set(uint64_t size_b);

/* Formats `size_b` for --max-memory, rounded up: "1G", "512M". Returns `out`. */
const char *sonde_memory_limit_text(uint64_t size_b, char out[24]);

#endif
