/* heap_chunk.h: encodes the columns of HEAP chunks (format/bodies.def).
 *
 * This is the only encoder. The recorder (source/heap/), a process that records itself (runtime/pool_chunk.c), and
 * merges (merge/chunks.c) use it and own the memory. Rows of the summary: heap_stat.h. Each function returns the end of
 * what it wrote.
 */
#ifndef SONDE_FOLD_HEAP_CHUNK_H
#define SONDE_FOLD_HEAP_CHUNK_H

#include <stdint.h>
#include <string.h>

#include "base/varint.h"
#include "fold/heap_class.h"
#include "fold/heap_stat.h"
#include "format/record.h"

/* The value of BLOCK for an event of a form: at most SONDE_VARINT_MAX_B bytes. */
static inline uint32_t sonde_heap_block_code(uint32_t form, unsigned ends)
{
	return form << 1 | ends;
}

static inline uint8_t *sonde_heap_put_block(uint8_t *at, uint32_t code)
{
	if (code >= 0x80)
		return sonde_varint_put(at, code);
	*at = (uint8_t)code;
	return at + 1;
}

/* The class of a lifetime, in LIFE, and in the summary's life_classes. */
static inline unsigned sonde_heap_life_class(uint64_t life_ns)
{
	unsigned class = sonde_heap_class(life_ns);
	return class < SONDE_HEAP_LIFE_LEAST ? 0 : class;
}

/* The value of LIFE for a free. */
static inline uint8_t sonde_heap_life_code(unsigned class, unsigned temporary)
{
	return (uint8_t)(class | temporary * SONDE_HEAP_TEMPORARY);
}

/* SITE of a form; `before`: the site of the previous form, 0 for the first form. */
static inline uint8_t *sonde_heap_put_site(uint8_t *at, uint32_t site, uint32_t before)
{
	return sonde_varint_put(at, sonde_varint_zigzag((int64_t)site - (int64_t)before));
}

/* SIZE of a form. */
static inline uint8_t *sonde_heap_put_size(uint8_t *at, uint64_t size_b)
{
	return sonde_varint_put(at, size_b);
}

/* THREAD: `count` events in a row; at most 2 SONDE_VARINT_MAX_B bytes. */
static inline uint8_t *sonde_heap_put_run(uint8_t *at, uint32_t thread, uint64_t count)
{
	return sonde_varint_put(sonde_varint_put(at, thread), count);
}

/* TIME of every time_every-th event; `last_ns`: the previous such time, time_min_ns for the first. */
static inline uint8_t *sonde_heap_put_time(uint8_t *at, uint64_t time_ns, uint64_t last_ns)
{
	return sonde_varint_put(at, time_ns - last_ns);
}

/* The summary; returns its end. Needs SONDE_HEAP_SUMMARY_MOST_B(summary->sites) bytes. */
#define SONDE_HEAP_SUMMARY_MOST_B(sites) (sizeof(struct sonde_heap_summary) + (sites)*SONDE_HEAP_STAT_MOST_B)

static inline uint8_t *sonde_heap_put_summary(uint8_t *at, const struct sonde_heap_summary *summary,
					      const struct sonde_heap_stat *stats)
{
	memcpy(at, summary, sizeof(*summary));
	at += sizeof(*summary);
	for (uint32_t i = 0, site = 0; i < summary->sites; site = stats[i++].site)
		at = sonde_heap_stat_put(at, &stats[i], site, summary->mean_b != 0);
	return at;
}

#endif
