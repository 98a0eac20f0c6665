/* call_site.h: whether an address can be one that a call returns to, by the code before it. */
#ifndef SONDE_SOURCE_STACK_CALL_SITE_H
#define SONDE_SOURCE_STACK_CALL_SITE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/stack/live_memory.h"

/* 1 when a call instruction of the running process ends at `address`, 0 when none does, -EFAULT when its code cannot be
 * read. */
int sonde_call_site_is_behind_call(struct sonde_live_memory *live, pid_t pid, uint64_t address);

#endif
