/* zones_chunk.c: start and summary of a ZONES chunk (zones_chunk.h). */
#include "fold/zones_chunk.h"

#include <string.h>

void sonde_zones_chunk_begin(struct sonde_zones_chunk *chunk, const struct sonde_pair *pair, uint64_t time_ns)
{
	chunk->count = 0;
	chunk->min_ns = chunk->max_ns = time_ns;
	chunk->unmatched = 0;
	chunk->open_count = pair->depth;
	if (pair->depth)
		memcpy(chunk->open, pair->frames, pair->depth * sizeof(*chunk->open));
	sonde_nodes_begin(chunk->nodes, time_ns);
}

static size_t nodes_b(const struct sonde_zones_chunk *chunk)
{
	return sizeof(struct sonde_zone_nodes_head) + chunk->nodes->data_b;
}

/* The size of the summary without its nodes. */
static size_t rows_b(const struct sonde_zones_chunk *chunk, const struct sonde_zone_sums *sums)
{
	return sizeof(struct sonde_zones_summary) + chunk->open_count * sizeof(struct sonde_zone_open) +
	       sums->sites * sizeof(struct sonde_zone_stat);
}

static int has_nodes(const struct sonde_zones_chunk *chunk, const struct sonde_zone_sums *sums)
{
	return rows_b(chunk, sums) + nodes_b(chunk) <= SONDE_CHUNK_MAX_SUMMARY_B;
}

size_t sonde_zones_chunk_summary_b(struct sonde_zones_chunk *chunk, const struct sonde_zone_sums *sums)
{
	sonde_nodes_end(chunk->nodes);
	return rows_b(chunk, sums) + (has_nodes(chunk, sums) ? nodes_b(chunk) : 0);
}

void sonde_zones_chunk_summary(struct sonde_zones_chunk *chunk, const struct sonde_zone_sums *sums, void *summary)
{
	const struct sonde_zones_summary head = {chunk->open_count, sums->sites, chunk->unmatched};
	const struct sonde_zone_nodes_head nodes = {(uint32_t)chunk->nodes->data_b, chunk->nodes->deeper};
	char *to = summary;
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	if (chunk->open_count)
		memcpy(to, chunk->open, chunk->open_count * sizeof(*chunk->open));
	to += chunk->open_count * sizeof(*chunk->open);
	for (uint32_t i = 0; i < sums->rows; i++) {
		struct sonde_zone_stat *stat = &sums->stats[sums->order ? sums->order[i] : i];
		if (!stat->site)
			continue;
		memcpy(to, stat, sizeof(*stat));
		to += sizeof(*stat);
		memset(stat, 0, sizeof(*stat));
	}
	if (!has_nodes(chunk, sums))
		return;
	memcpy(to, &nodes, sizeof(nodes));
	memcpy(to + sizeof(nodes), chunk->nodes->data, chunk->nodes->data_b);
}
