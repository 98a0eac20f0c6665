/* call_site.h: checks whether an address can be a return address, by the code before it. */
#ifndef SONDE_SOURCE_STACK_CALL_SITE_H
#define SONDE_SOURCE_STACK_CALL_SITE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/stack/live_memory.h"

/* 1 if a call instruction of the running process ends at `address`, 0 if not, -EFAULT if its code cannot be read. */
int sonde_call_site_is_behind_call(struct sonde_live_memory *live, pid_t pid, uint64_t address);

#endif
