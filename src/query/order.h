/* order.h: the rows of a scan in the order of small numbers: ids, kinds, or what these are called.
 *
 * SQLite sorts what it groups, row after row, with a comparison each time. What is ordered by ids of a recording needs
 * none: they are dense, so the rows are counted by id and put where they belong.
 */
#ifndef SONDE_QUERY_ORDER_H
#define SONDE_QUERY_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "query/table.h"

#define SONDE_QUERY_ORDER_MAX 4 /* columns */

struct sonde_query_order_key {
	unsigned column;
	int descending;
};

/* Whether rows can be ordered by a column. */
int sonde_query_order_takes(const struct sonde_query_table *table, unsigned column);

/* Bytes of memory that a row takes while it is ordered; `used`: bits by column that are read. */
size_t sonde_query_order_row_b(const struct sonde_query_table *table, uint32_t used);

/* Reads all of a scan that has begun and makes it one block, in order: by the first key, then the next ones. NULL comes
 * first, as in SQLite. -ETIMEDOUT after end_ns (CLOCK_MONOTONIC), -ENOMEM, or the error of the walk. The memory is the
 * scan's: sonde_query_order_free(). */
int sonde_query_order(struct sonde_query_scan *scan, uint32_t used, const struct sonde_query_order_key *keys,
		      size_t key_count, uint64_t end_ns);
void sonde_query_order_free(struct sonde_query_scan *scan);

#endif
