/* memory_kinds.c: names of the kinds of memory, and whether they are host memory. */
#include "analyze/device/memory_kinds.h"

#include "sonde/device.h"

static const struct {
	const char *word;
	int is_host;
} kinds[] = {
    [SONDE_MEMORY_UNKNOWN] = {"not known", 0}, [SONDE_MEMORY_PAGEABLE] = {"pageable", 1},
    [SONDE_MEMORY_PINNED] = {"pinned", 1},     [SONDE_MEMORY_DEVICE] = {"device", 0},
    [SONDE_MEMORY_ARRAY] = {"array", 0},       [SONDE_MEMORY_MANAGED] = {"managed", 0},
    [SONDE_MEMORY_PEER] = {"peer", 0},         [SONDE_MEMORY_HOST] = {"host", 1},
};

uint8_t sonde_memory_kind(uint32_t kind)
{
	return kind < sizeof kinds / sizeof *kinds ? (uint8_t)kind : SONDE_MEMORY_UNKNOWN;
}

int sonde_memory_is_host(uint32_t kind)
{
	return kind < sizeof kinds / sizeof *kinds && kinds[kind].is_host;
}

const char *sonde_memory_word(uint32_t kind)
{
	return kinds[kind < sizeof kinds / sizeof *kinds ? kind : 0].word;
}
