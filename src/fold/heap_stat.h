/* heap_stat.h: encodes the rows of a HEAP chunk's summary (format/record.h). */
#ifndef SONDE_FOLD_HEAP_STAT_H
#define SONDE_FOLD_HEAP_STAT_H

#include <stdint.h>
#include <string.h>

#include "base/varint.h"
#include "format/record.h"

#define SONDE_HEAP_STAT_LEAST_B 7u
#define SONDE_HEAP_STAT_MOST_B (7u * SONDE_VARINT_MAX_B + 2u * sizeof(double))

/* `site`: the site of the previous row, 0 for the first row. Needs SONDE_HEAP_STAT_MOST_B free bytes; returns the end
 * of the row. */
static inline uint8_t *sonde_heap_stat_put(uint8_t *at, const struct sonde_heap_stat *stat, uint32_t site, int sampled)
{
	at = sonde_varint_put(at, sonde_varint_zigzag((int64_t)stat->site - (int64_t)site));
	at = sonde_varint_put(at, stat->begins);
	at = sonde_varint_put(at, stat->begun_b);
	at = sonde_varint_put(at, stat->ends);
	at = sonde_varint_put(at, stat->ended_b);
	at = sonde_varint_put(at, stat->temporary);
	at = sonde_varint_put(at, stat->largest_b);
	if (!sampled)
		return at;
	memcpy(at, &stat->begun_variance, sizeof(double));
	memcpy(at + sizeof(double), &stat->ended_variance, sizeof(double));
	return at + 2 * sizeof(double);
}

/* Returns the end of the row; NULL if it is truncated. */
static inline const uint8_t *sonde_heap_stat_get(const uint8_t *at, const uint8_t *end, struct sonde_heap_stat *out,
						 uint32_t site, int sampled)
{
	uint64_t values[7];
	*out = (struct sonde_heap_stat){0};
	for (int i = 0; i < 7; i++) {
		at = sonde_varint_get(at, end, &values[i]);
		if (!at)
			return NULL;
	}
	out->site = (uint32_t)((int64_t)site + sonde_varint_unzigzag(values[0]));
	out->begins = values[1];
	out->begun_b = values[2];
	out->ends = values[3];
	out->ended_b = values[4];
	out->temporary = (uint32_t)values[5];
	out->largest_b = values[6];
	if (!sampled)
		return at;
	if ((size_t)(end - at) < 2 * sizeof(double))
		return NULL;
	memcpy(&out->begun_variance, at, sizeof(double));
	memcpy(&out->ended_variance, at + sizeof(double), sizeof(double));
	return at + 2 * sizeof(double);
}

#endif
