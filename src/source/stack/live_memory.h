/* live_memory.h: reads memory of running processes, a few pages at a time, cached for one batch of samples. */
#ifndef SONDE_SOURCE_STACK_LIVE_MEMORY_H
#define SONDE_SOURCE_STACK_LIVE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sonde_live_memory;

int sonde_live_memory_new(struct sonde_live_memory **out);
void sonde_live_memory_free(struct sonde_live_memory *memory);

/* Empties the cache: call it before each batch. */
void sonde_live_memory_forget(struct sonde_live_memory *memory);

/* The current batch number, from 1. */
uint64_t sonde_live_memory_batch(const struct sonde_live_memory *memory);

/* Copies size_b bytes at `address` of process `pid`; 0, or -EFAULT if they cannot be read. */
int sonde_live_memory_read(struct sonde_live_memory *memory, pid_t pid, uint64_t address, void *out, size_t size_b);

#endif
