/* live_memory.c: pages of running processes, in a direct-mapped cache.
 *
 * Unwinding reads the frames of a stack upwards, eight bytes at a time, and the samples of a batch read the same
 * stacks. So a miss in the cache reads four pages, and unreadable pages are remembered as such. Nothing is kept from
 * one batch to the next, since the processes continue to run.
 */
#include "source/stack/live_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/hash.h"
#include "util/error.h"

#define PAGE_B 4096u
#define AHEAD 4u
#define SLOTS 256u

struct slot {
	uint64_t page;  /* address / PAGE_B */
	uint64_t batch; /* batch in which the slot was filled */
	pid_t pid;
	int readable;
};

struct sonde_live_memory {
	uint64_t batch;
	struct slot slots[SLOTS];
	uint8_t pages[SLOTS][PAGE_B];
};

int sonde_live_memory_new(struct sonde_live_memory **out)
{
	struct sonde_live_memory *memory = calloc(1, sizeof *memory);
	if (!memory)
		return sonde_error(ENOMEM, "out of memory for a cache of stack pages");
	memory->batch = 1;
	*out = memory;
	return 0;
}

void sonde_live_memory_free(struct sonde_live_memory *memory)
{
	free(memory);
}

void sonde_live_memory_forget(struct sonde_live_memory *memory)
{
	memory->batch++;
}

uint64_t sonde_live_memory_batch(const struct sonde_live_memory *memory)
{
	return memory->batch;
}

/* Neighbouring pages get neighbouring slots. */
static uint32_t slot_of(pid_t pid, uint64_t page)
{
	return (uint32_t)(sonde_hash_mix((uint64_t)pid) + page) % SLOTS;
}

static int holds(const struct sonde_live_memory *memory, const struct slot *slot, pid_t pid, uint64_t page)
{
	return slot->batch == memory->batch && slot->page == page && slot->pid == pid;
}

/* Reads `page` and the following ones; at least the slot of `page` is filled, perhaps as unreadable. */
static void fetch(struct sonde_live_memory *memory, pid_t pid, uint64_t page)
{
	struct iovec local[AHEAD], remote[AHEAD];
	for (uint32_t i = 0; i < AHEAD; i++) {
		local[i] = (struct iovec){memory->pages[slot_of(pid, page + i)], PAGE_B};
		/* NOLINT: an address of another process */
		remote[i] = (struct iovec){(void *)(uintptr_t)((page + i) * PAGE_B), PAGE_B};
	}
	ssize_t got_b = process_vm_readv(pid, local, AHEAD, remote, AHEAD, 0);
	size_t whole = got_b > 0 ? (size_t)got_b / PAGE_B : 0;
	/* Pages after the first unreadable one are read again if they are needed. Their slots are marked as empty,
	 * since the read may have overwritten what they held. */
	for (uint32_t i = 0; i < AHEAD; i++) {
		struct slot *slot = &memory->slots[slot_of(pid, page + i)];
		*slot = (struct slot){page + i, memory->batch, pid, i < whole};
		if (i > whole)
			slot->batch = 0;
	}
}

int sonde_live_memory_read(struct sonde_live_memory *memory, pid_t pid, uint64_t address, void *out, size_t size_b)
{
	uint8_t *to = out;
	if (address > UINT64_MAX - size_b - AHEAD * PAGE_B)
		return -EFAULT;
	while (size_b) {
		uint64_t page = address / PAGE_B;
		uint32_t at = slot_of(pid, page);
		if (!holds(memory, &memory->slots[at], pid, page))
			fetch(memory, pid, page);
		if (!memory->slots[at].readable)
			return -EFAULT;
		size_t begin = address % PAGE_B, part_b = PAGE_B - begin < size_b ? PAGE_B - begin : size_b;
		memcpy(to, memory->pages[at] + begin, part_b);
		to += part_b;
		address += part_b;
		size_b -= part_b;
	}
	return 0;
}
