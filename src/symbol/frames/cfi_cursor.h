/* cfi_cursor.h: bounds-checked reads of little-endian and LEB128 values from a byte range. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_CURSOR_H
#define SONDE_SYMBOL_FRAMES_CFI_CURSOR_H

#include <stddef.h>
#include <stdint.h>

/* Errors are sticky: once `bad` is set, every value is 0 and at == end. */
struct sonde_cfi_cursor {
	const uint8_t *at, *end;
	int bad;
};

static inline uint64_t sonde_cfi_fail(struct sonde_cfi_cursor *cursor)
{
	cursor->bad = 1;
	cursor->at = cursor->end;
	return 0;
}

static inline size_t sonde_cfi_left(const struct sonde_cfi_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* size_b: 1 to 8. */
static inline uint64_t sonde_cfi_fixed(struct sonde_cfi_cursor *cursor, unsigned size_b)
{
	if (sonde_cfi_left(cursor) < size_b)
		return sonde_cfi_fail(cursor);
	uint64_t value = 0;
	for (unsigned i = 0; i < size_b; i++)
		value |= (uint64_t)cursor->at[i] << (8 * i);
	cursor->at += size_b;
	return value;
}

static inline uint8_t sonde_cfi_byte(struct sonde_cfi_cursor *cursor)
{
	return cursor->at < cursor->end ? *cursor->at++ : (uint8_t)sonde_cfi_fail(cursor);
}

static inline uint64_t sonde_cfi_uleb(struct sonde_cfi_cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
		uint8_t byte = *cursor->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	return sonde_cfi_fail(cursor);
}

static inline int64_t sonde_cfi_sleb(struct sonde_cfi_cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; cursor->at < cursor->end && shift < 64;) {
		uint8_t byte = *cursor->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte < 0x80)
			return (int64_t)(byte & 0x40 && shift < 64 ? value | UINT64_MAX << shift : value);
	}
	return (int64_t)sonde_cfi_fail(cursor);
}

/* The next size_b bytes as a separate range. */
static inline struct sonde_cfi_cursor sonde_cfi_sub(struct sonde_cfi_cursor *cursor, uint64_t size_b)
{
	struct sonde_cfi_cursor sub = {cursor->at, cursor->at, 0};
	if (size_b > sonde_cfi_left(cursor)) {
		sonde_cfi_fail(cursor);
		return sub;
	}
	cursor->at += size_b;
	sub.end = cursor->at;
	return sub;
}

#endif
