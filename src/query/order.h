/* order.h: sorts the rows of a scan by small integers: ids, kinds, or the ranks of their names.
 *
 * To group rows, SQLite would first sort them with comparisons. The ids of a recording are dense, so a counting sort is
 * faster.
 */
#ifndef SONDE_QUERY_ORDER_H
#define SONDE_QUERY_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "query/table.h"

#define SONDE_QUERY_ORDER_MAX 4 /* maximum number of sort columns */

struct sonde_query_order_key {
	unsigned column;
	int descending;
};

/* True if rows can be sorted by a column. */
int sonde_query_order_takes(const struct sonde_query_table *table, unsigned column);

/* Returns the memory that sorting needs per row, in bytes; `used`: bit mask of the columns that are read. */
size_t sonde_query_order_row_b(const struct sonde_query_table *table, uint32_t used);

/* Reads all remaining blocks of a scan that has begun and turns them into one block, sorted by the first key, then the
 * following ones. NULL comes first, as in SQLite. Returns -ETIMEDOUT after end_ns (CLOCK_MONOTONIC), -ENOMEM, or the
 * error of the walk. The scan owns the memory: free it with sonde_query_order_free(). */
int sonde_query_order(struct sonde_query_scan *scan, uint32_t used, const struct sonde_query_order_key *keys,
		      size_t key_count, uint64_t end_ns);
void sonde_query_order_free(struct sonde_query_scan *scan);

#endif
