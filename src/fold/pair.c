/* pair.c: a table of zone statistics by site (pair.h). */
#include "base/hash.h"
#include "fold/pair.h"

void sonde_pair_merge(struct sonde_zone_stat *into, const struct sonde_zone_stat *from)
{
	if (!from->count)
		return;
	if (!into->count || from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	into->count += from->count;
	into->total_ns += from->total_ns;
	into->self_ns += from->self_ns;
}

struct sonde_zone_stat *sonde_pair_row(struct sonde_pair_table *table, uint32_t site)
{
	uint32_t mask = table->capacity - 1;
	uint32_t at = (uint32_t)sonde_hash_mix(site) & mask;
	while (table->rows[at].site && table->rows[at].site != site)
		at = (at + 1) & mask;
	if (table->rows[at].site)
		return &table->rows[at];
	if (table->used >= table->capacity - table->capacity / 4)
		return NULL;
	table->used++;
	table->rows[at].site = site;
	return &table->rows[at];
}
