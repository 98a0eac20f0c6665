/* lock_names.h: names of what threads wait for by its address: the variable that a lock is or lies in, as the symbol
 * table of its module says; else where it lies. One process. One thread.
 */
#ifndef SONDE_SOURCE_WAIT_LOCK_NAMES_H
#define SONDE_SOURCE_WAIT_LOCK_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SONDE_LOCK_NAME_MAX_B 256

struct sonde_lock_names;

/* NULL when out of memory. */
struct sonde_lock_names *sonde_lock_names_new(pid_t pid);
void sonde_lock_names_free(struct sonde_lock_names *names); /* NULL is fine */

/* "queue_lock", "table+0x40", "libfoo.so+0x1234", "heap 0x…", "stack 0x…"; "" where nothing is known. The process is
 * read: it must be alive, or have been asked about the module before. `names` may be NULL. */
void sonde_lock_names_get(struct sonde_lock_names *names, uint64_t address, char out[SONDE_LOCK_NAME_MAX_B]);

#endif
