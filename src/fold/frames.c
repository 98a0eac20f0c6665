/* frames.c: open zones of a thread in memory that grows by doubling (frames.h). */
#include "fold/frames.h"

#include <string.h>
#include <sys/mman.h>

#define MAPPED_FIRST 512u

static size_t mapped_b(uint32_t capacity)
{
	return (capacity * sizeof(struct sonde_pair_frame) + 4095) & ~(size_t)4095;
}

void sonde_frames_clear(struct sonde_frames *frames)
{
	if (frames->pair.capacity > SONDE_FRAMES_FIRST)
		munmap(frames->pair.frames, mapped_b(frames->pair.capacity));
	sonde_pair_init(&frames->pair, frames->first, SONDE_FRAMES_FIRST);
}

struct sonde_pair sonde_frames_more(struct sonde_frames *frames, struct sonde_pair pair)
{
	if (!pair.frames) {
		sonde_pair_init(&pair, frames->first, SONDE_FRAMES_FIRST);
		return pair;
	}
	uint32_t capacity = pair.capacity < MAPPED_FIRST ? MAPPED_FIRST : pair.capacity * 2;
	capacity = capacity < SONDE_ZONES_OPEN_MAX ? capacity : SONDE_ZONES_OPEN_MAX;
	if (capacity <= pair.capacity)
		return pair;
	void *memory =
	    mmap(NULL, mapped_b(capacity), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return pair;
	memcpy(memory, pair.frames, pair.depth * sizeof(*pair.frames));
	if (pair.capacity > SONDE_FRAMES_FIRST)
		munmap(pair.frames, mapped_b(pair.capacity));
	pair.frames = memory;
	pair.capacity = capacity;
	return pair;
}
