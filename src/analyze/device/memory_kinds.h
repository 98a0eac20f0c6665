/* memory_kinds.h: kinds of memory that GPUs access (enum sonde_memory_kind of sonde/device.h). */
#ifndef SONDE_ANALYZE_DEVICE_MEMORY_KINDS_H
#define SONDE_ANALYZE_DEVICE_MEMORY_KINDS_H

#include <stdint.h>

/* sonde_memory_kind() maps an invalid kind to "unknown". sonde_memory_is_host() returns whether a kind is host memory,
 * and sonde_memory_word() returns the name of a kind. */
uint8_t sonde_memory_kind(uint32_t kind);
int sonde_memory_is_host(uint32_t kind);
const char *sonde_memory_word(uint32_t kind);

#endif
