/* spaces.h: the address spaces of the processes that are followed, and how long each of their threads ran.
 *
 * Fed with what the kernel reports, in time order. A process that was not seen to begin is read from /proc. Not
 * thread-safe.
 */
#ifndef SONDE_SOURCE_STACK_SPACES_H
#define SONDE_SOURCE_STACK_SPACES_H

#include <stdint.h>
#include <sys/types.h>

#include "source/stack/image.h"
#include "source/stack/maps.h"

struct sonde_hotspot;

struct sonde_space {
	pid_t pid;
	uint32_t threads; /* alive, as far as is known */
	struct sonde_maps *maps;
	uint32_t anonymous;            /* module id for generated code, 0 = not yet needed */
	int is_fresh;                  /* it has executed a program, and no code of that was sampled yet */
	uint64_t program;              /* hash of the name it had at its last exec, 0 = not seen */
	uint64_t reread_ns;            /* when /proc/PID/maps was read last */
	uint64_t runtime_generation;   /* of the maps in which a runtime was looked for last (stack/generated.h) */
	struct sonde_hotspot *hotspot; /* its Java VM; NULL = none was found */
	uint64_t beam_exit;            /* of its Erlang VM (stack/beam.h); 0 = none was found */
	uint64_t stg_return;           /* behind a call of StgRun() (stack/haskell.h); 0 = none was seen */
	char name[16];                 /* of its program, when it was seen to execute one; "" = not */
};

struct sonde_spaces;

int sonde_spaces_new(struct sonde_spaces **out, struct sonde_images *images);
void sonde_spaces_free(struct sonde_spaces *spaces);

/* The space of a process, read from /proc when it is new; NULL when out of memory. Valid until the process exits. */
struct sonde_space *sonde_spaces_get(struct sonde_spaces *spaces, pid_t pid, uint64_t time_ns);

/* Reads /proc/PID/maps again, at most ten times a second; non-zero when something may have changed. */
int sonde_spaces_refresh(struct sonde_spaces *spaces, struct sonde_space *space, uint64_t time_ns);

void sonde_spaces_fork(struct sonde_spaces *spaces, pid_t parent, pid_t pid, uint64_t time_ns);
void sonde_spaces_exec(struct sonde_spaces *spaces, pid_t pid, const char *name);
uint64_t sonde_spaces_program(const struct sonde_spaces *spaces, pid_t pid); /* 0 = not known */

/* The name of the program that a process executed and that nothing was mapped of; NULL when there is none. */
const char *sonde_spaces_unmapped(const struct sonde_spaces *spaces, pid_t pid);
void sonde_spaces_exit(struct sonde_spaces *spaces, pid_t pid); /* of one thread */

void sonde_spaces_map(struct sonde_spaces *spaces, pid_t pid, const struct sonde_mapping *mapping, uint64_t time_ns);

#endif
