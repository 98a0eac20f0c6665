/* memory_limit.h: the most memory that this process may take for a file that it does not trust.
 *
 * One limit stands for every table, buffer and library: what a hostile file makes grow ends in a failed allocation,
 * which callers report as -ENOMEM, wherever it happens. It is the kernel's limit of private writable memory
 * (RLIMIT_DATA), so peak RSS stays below it plus what the program itself and its libraries have. For commands, which
 * own their process; child processes inherit it.
 */
#ifndef SONDE_UTIL_MEMORY_LIMIT_H
#define SONDE_UTIL_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* From now on `size_b` more than is in use already; a lower limit that is there stays. 0, or a negative errno with a
 * sentence. */
int sonde_memory_limit_set(uint64_t size_b);

/* `size_b` as --max-memory takes it, rounded up: "1G", "512M". Returns `out`. */
const char *sonde_memory_limit_text(uint64_t size_b, char out[24]);

#endif
