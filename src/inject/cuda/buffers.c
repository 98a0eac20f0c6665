/* buffers.c: buffers between CUPTI and our thread (cuda/buffers.h).
 *
 * Mapped, not allocated, since the program's allocations are recorded, too. The search for a free buffer always starts
 * at the first buffer, so that few buffers are touched while our thread keeps up.
 */
#include "inject/cuda/buffers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FREE, BUSY, FULL }; /* BUSY: owned by CUPTI or by our thread */

/* The thread that moved `state` to BUSY owns the rest; FULL passes it to our thread. */
static struct {
	_Atomic uint32_t state;
	_Atomic(uint8_t *) bytes; /* mapped at first use, then kept */
	size_t valid_b;
	uint64_t turn; /* order in which it was filled */
} buffers[CUDA_BUFFERS_ALL];
static _Atomic uint64_t turns;
static _Atomic uint32_t lent; /* number of buffers that CUPTI has */

static size_t size_of(uint32_t buffer)
{
	return buffer < CUDA_BUFFERS ? CUDA_BUFFER_B : CUDA_BUFFER_SMALL_B;
}

static uint8_t *map(uint32_t buffer)
{
	uint8_t *bytes = atomic_load(&buffers[buffer].bytes);
	if (bytes)
		return bytes;
	bytes = mmap(NULL, size_of(buffer), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		return NULL;
	atomic_store(&buffers[buffer].bytes, bytes);
	return bytes;
}

uint8_t *cuda_buffers_give(size_t *size_b, int may_refuse)
{
	for (uint32_t i = 0; i < (may_refuse ? CUDA_BUFFERS : CUDA_BUFFERS_ALL); i++) {
		uint32_t state = FREE;
		if (!atomic_compare_exchange_strong(&buffers[i].state, &state, BUSY))
			continue;
		uint8_t *bytes = map(i);
		if (!bytes)
			atomic_store(&buffers[i].state, FREE);
		else
			atomic_fetch_add(&lent, 1);
		*size_b = bytes ? size_of(i) : 0;
		return bytes;
	}
	*size_b = 0;
	return NULL;
}

void cuda_buffers_full(uint8_t *buffer, size_t valid_b)
{
	for (uint32_t i = 0; i < CUDA_BUFFERS_ALL; i++) {
		if (!buffer || atomic_load(&buffers[i].bytes) != buffer)
			continue;
		buffers[i].valid_b = valid_b < size_of(i) ? valid_b : size_of(i);
		buffers[i].turn = atomic_fetch_add(&turns, 1);
		atomic_store(&buffers[i].state, FULL);
		atomic_fetch_sub(&lent, 1);
		return;
	}
}

uint32_t cuda_buffers_lent(void)
{
	return atomic_load(&lent);
}

static int by_turn(const void *a, const void *b)
{
	uint64_t first = buffers[*(const uint32_t *)a].turn, second = buffers[*(const uint32_t *)b].turn;
	return first < second ? -1 : first > second;
}

size_t cuda_buffers_take(uint32_t *out, size_t max)
{
	size_t count = 0;
	for (uint32_t i = 0; i < CUDA_BUFFERS_ALL && count < max; i++) {
		uint32_t state = FULL;
		if (atomic_compare_exchange_strong(&buffers[i].state, &state, BUSY))
			out[count++] = i;
	}
	qsort(out, count, sizeof *out, by_turn);
	return count;
}

uint8_t *cuda_buffers_bytes(uint32_t buffer, size_t *valid_b)
{
	*valid_b = buffers[buffer].valid_b;
	return atomic_load(&buffers[buffer].bytes);
}

void cuda_buffers_free(uint32_t buffer)
{
	atomic_store(&buffers[buffer].state, FREE);
}
