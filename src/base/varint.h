/* varint.h: LEB128 integers in bounded buffers.
 *
 * Writers need SONDE_VARINT_MAX_B free bytes. Readers never read past `end`: they return NULL when a value is truncated
 * or longer than 64 bits, so malformed input fails instead of overrunning the buffer.
 */
#ifndef SONDE_BASE_VARINT_H
#define SONDE_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_VARINT_MAX_B 10

static inline uint8_t *sonde_varint_put(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline const uint8_t *sonde_varint_get(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
	if (at < end && *at < 0x80) {
		*out = *at;
		return at + 1;
	}
	uint64_t value = 0;
	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = *at++;
		if (shift == 63 && byte > 1)
			return NULL;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			return at;
		}
	}
	return NULL;
}

static inline uint64_t sonde_varint_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t sonde_varint_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
