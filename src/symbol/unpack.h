/* unpack.h: decompresses xz data in memory; unpack_none.c replaces it without liblzma. */
#ifndef SONDE_SYMBOL_UNPACK_H
#define SONDE_SYMBOL_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/* Decompresses data. -EBADMSG if it is damaged or expands to more than max_b; -ENOTSUP without liblzma. The caller
 * frees *out. */
int sonde_unpack_xz(const uint8_t *packed, size_t packed_b, size_t max_b, uint8_t **out, size_t *out_b);

#endif
