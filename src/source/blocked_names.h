/* blocked_names.h: what blocked threads wait for, by name: each once a process. One thread. */
#ifndef SONDE_SOURCE_BLOCKED_NAMES_H
#define SONDE_SOURCE_BLOCKED_NAMES_H

#include <stdint.h>

#include "source/lock_names.h"
#include "source/recorder.h"
#include "util/map.h"

struct sonde_blocked_names {
	struct sonde_recorder *recorder;
	struct sonde_map objects; /* by process, and name or address */
};

void sonde_blocked_names_init(struct sonde_blocked_names *names, struct sonde_recorder *recorder);
void sonde_blocked_names_fini(struct sonde_blocked_names *names);

/* The object's id; 0 = none. `proc_fd`: of /proc/PID. */
uint32_t sonde_blocked_names_descriptor(struct sonde_blocked_names *names, uint32_t process, int proc_fd,
					uint64_t descriptor);
/* `locks`: of the process, may be NULL. */
uint32_t sonde_blocked_names_address(struct sonde_blocked_names *names, uint32_t process,
				     struct sonde_lock_names *locks, uint64_t address);

#endif
