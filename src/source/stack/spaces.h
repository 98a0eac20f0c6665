/* spaces.h: the address spaces of the followed processes, and how many of their threads are alive.
 *
 * Fed with kernel events in time order. A process whose start was not seen is read from /proc. Not thread-safe.
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
	uint32_t threads; /* number of live threads, as far as known */
	struct sonde_maps *maps;
	uint32_t anonymous;            /* module id of generated code, 0 = not needed yet */
	int is_fresh;                  /* it has called exec, and no code of the new program has been sampled yet */
	uint64_t program;              /* hash of its name at its last exec, 0 = not seen */
	uint64_t reread_ns;            /* last time that /proc/PID/maps was read */
	uint64_t runtime_generation;   /* of the maps that were last searched for a runtime (stack/generated.h) */
	struct sonde_hotspot *hotspot; /* its Java VM; NULL = none found */
	uint64_t beam_exit;            /* of its Erlang VM (stack/beam.h); 0 = none found */
	uint64_t stg_return;           /* a return address after a call of StgRun() (stack/haskell.h); 0 = none seen */
	char name[16];                 /* name of its program, if its exec was seen; otherwise "" */
};

struct sonde_spaces;

int sonde_spaces_new(struct sonde_spaces **out, struct sonde_images *images);
void sonde_spaces_free(struct sonde_spaces *spaces);

/* Returns the space of a process, read from /proc if it is new; NULL if out of memory. Valid until the process
 * exits. */
struct sonde_space *sonde_spaces_get(struct sonde_spaces *spaces, pid_t pid, uint64_t time_ns);

/* Reads /proc/PID/maps again, at most ten times a second; non-zero if something may have changed. */
int sonde_spaces_refresh(struct sonde_spaces *spaces, struct sonde_space *space, uint64_t time_ns);

void sonde_spaces_fork(struct sonde_spaces *spaces, pid_t parent, pid_t pid, uint64_t time_ns);
void sonde_spaces_exec(struct sonde_spaces *spaces, pid_t pid, const char *name);
uint64_t sonde_spaces_program(const struct sonde_spaces *spaces, pid_t pid); /* 0 = unknown */

/* The name of the program that a process executed if nothing of it has been mapped; NULL otherwise. */
const char *sonde_spaces_unmapped(const struct sonde_spaces *spaces, pid_t pid);
void sonde_spaces_exit(struct sonde_spaces *spaces, pid_t pid); /* one thread exited */

void sonde_spaces_map(struct sonde_spaces *spaces, pid_t pid, const struct sonde_mapping *mapping, uint64_t time_ns);

#endif
