/* lock_names.h: finds a name for the address of an object that threads wait for: that of the variable that is or
 * contains the lock, from its module's symbol table; otherwise its location. One process. One thread.
 */
#ifndef SONDE_SOURCE_WAIT_LOCK_NAMES_H
#define SONDE_SOURCE_WAIT_LOCK_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SONDE_LOCK_NAME_MAX_B 256

struct sonde_lock_names;

/* NULL if out of memory. */
struct sonde_lock_names *sonde_lock_names_new(pid_t pid);
void sonde_lock_names_free(struct sonde_lock_names *names); /* NULL is allowed */

/* "queue_lock", "table+0x40", "libfoo.so+0x1234", "heap 0x…", "stack 0x…"; "" if unknown. Reads the process's memory:
 * the process must be alive, or the module must have been looked up before. `names` may be NULL. */
void sonde_lock_names_get(struct sonde_lock_names *names, uint64_t address, char out[SONDE_LOCK_NAME_MAX_B]);

#endif
