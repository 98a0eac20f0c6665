/* process_memory.h: an interface for reading one process's memory: implemented by stack/live_memory.h for running
 * processes, and by an array in tests.
 *
 * All data read is untrusted: another process wrote it, and keeps writing while it is read.
 */
#ifndef SONDE_SOURCE_STACK_PROCESS_MEMORY_H
#define SONDE_SOURCE_STACK_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct sonde_process_memory {
	/* Copies size_b bytes at `address`; 0, or non-zero if they cannot be read. */
	int (*read)(void *context, uint64_t address, void *out, size_t size_b);
	void *context;
};

static inline int sonde_process_memory_read(const struct sonde_process_memory *memory, uint64_t address, void *out,
					    size_t size_b)
{
	return memory->read(memory->context, address, out, size_b);
}

/* Reads a NUL-terminated text of at most cap_b - 1 bytes. Its length, or -1. */
int sonde_process_memory_text(const struct sonde_process_memory *memory, uint64_t address, char *out, size_t cap_b);

/* The address of a symbol exported by the object whose ELF header is at `base`; 0 = none. Reads the dynamic section and
 * the GNU hash table in memory, so deleted and replaced files do not matter. */
uint64_t sonde_process_memory_symbol(const struct sonde_process_memory *memory, uint64_t base, const char *name);

#endif
