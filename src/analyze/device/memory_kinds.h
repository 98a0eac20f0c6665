/* memory_kinds.h: kinds of memory that devices work with (enum sonde_memory_kind of sonde/device.h). */
#ifndef SONDE_ANALYZE_DEVICE_MEMORY_KINDS_H
#define SONDE_ANALYZE_DEVICE_MEMORY_KINDS_H

#include <stdint.h>

/* A kind that is none is not known. Whether memory of a kind is the host's; what the kind is called. */
uint8_t sonde_memory_kind(uint32_t kind);
int sonde_memory_is_host(uint32_t kind);
const char *sonde_memory_word(uint32_t kind);

#endif
