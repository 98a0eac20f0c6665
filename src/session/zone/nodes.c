/* nodes.c: reads zone nodes from the chunk summaries, without decoding the bodies. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/nodes.h"
#include "session/rows.h"
#include "session/state.h"

struct reading {
	struct sonde_session *session;
	struct sonde_chunk_data data;
	struct sonde_rows nodes, stats;
};

static uint32_t site_of(const struct reading *reading, uint32_t site)
{
	return site <= reading->session->sites.count ? site : 0;
}

/* Reads the nodes after the sums. If any is malformed, none is used: nodes of one depth must follow each other in
 * time. */
static int take_nodes(struct reading *reading, const uint8_t *at, struct sonde_zone_chunk *chunk)
{
	const struct sonde_chunk_head *head = reading->data.head;
	const uint8_t *end = reading->data.summary + head->summary_b;
	uint64_t last_ns[SONDE_NODE_DEPTHS] = {0}, zones = 0;
	struct sonde_zone_nodes_head nodes;
	if ((size_t)(end - at) < sizeof nodes)
		return 0;
	memcpy(&nodes, at, sizeof nodes);
	at += sizeof nodes;
	if (nodes.nodes_b > (size_t)(end - at))
		return 0;
	end = at + nodes.nodes_b;
	while (at < end) {
		struct sonde_nodes_row node;
		uint32_t depth;
		at = sonde_nodes_get(at, end, head->time_min_ns, &depth, &node);
		zones += at ? node.count : 0;
		if (!at || zones > head->count || node.first_ns < last_ns[depth] || node.last_ns > head->time_max_ns ||
		    node.longest_ns > node.last_ns - node.first_ns || node.busy_ns > node.last_ns - node.first_ns ||
		    node.busy_ns < node.longest_ns)
			return 0;
		last_ns[depth] = node.last_ns;
		const struct sonde_zone_node row = {.from_ns = node.first_ns,
						    .to_ns = node.last_ns,
						    .busy_ns = node.busy_ns,
						    .longest_ns = node.longest_ns,
						    .depth = depth,
						    .site = site_of(reading, node.site),
						    .count = node.count};
		if (!sonde_rows_add(&reading->nodes, &row))
			return -ENOMEM;
	}
	chunk->has_nodes = nodes.deeper <= head->count;
	chunk->deeper = nodes.deeper;
	return 0;
}

/* Reads the sums and the nodes of a summary. −EBADMSG if the summary is malformed; −ENOMEM. */
static int take_summary(struct reading *reading, struct sonde_zone_chunk *chunk)
{
	const struct sonde_chunk_head *head = reading->data.head;
	struct sonde_zones_summary summary;
	if (head->summary_b < sizeof summary)
		return -EBADMSG;
	memcpy(&summary, reading->data.summary, sizeof summary);
	uint64_t open_b = (uint64_t)summary.open * sizeof(struct sonde_zone_open),
		 stats_b = (uint64_t)summary.sites * sizeof(struct sonde_zone_stat);
	if (sizeof summary + open_b + stats_b > head->summary_b)
		return -EBADMSG;
	const uint8_t *at = reading->data.summary + sizeof summary + open_b;
	uint64_t ended = 0;
	reading->nodes.count = reading->stats.count = 0;
	for (uint32_t row = 0; row < summary.sites; row++, at += sizeof(struct sonde_zone_stat)) {
		struct sonde_zone_stat stat;
		memcpy(&stat, at, sizeof stat);
		stat.site = site_of(reading, stat.site);
		ended += stat.count;
		if (!sonde_rows_add(&reading->stats, &stat))
			return -ENOMEM;
	}
	uint64_t ends = ended + summary.unmatched, begins = head->count - ends;
	chunk->open_after = ends <= head->count && summary.open + begins >= ended ? summary.open + begins - ended : 1;
	int rc = take_nodes(reading, at, chunk);
	chunk->nodes = reading->nodes.data;
	chunk->node_count = chunk->has_nodes ? reading->nodes.count : 0;
	chunk->stats = reading->stats.data;
	chunk->stat_count = reading->stats.count;
	return rc;
}

int sonde_session_zone_chunks_from(struct sonde_session *session, size_t first,
				   int (*take)(void *context, const struct sonde_zone_chunk *chunk), void *context)
{
	struct reading reading = {.session = session,
				  .nodes = {.row_b = sizeof(struct sonde_zone_node)},
				  .stats = {.row_b = sizeof(struct sonde_zone_stat)}};
	int rc = 0;
	sonde_buf_init(&reading.data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = first; rc == 0 && i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		if (head->type != SONDE_CHUNK_ZONES || head->version > SONDE_CHUNK_VERSION)
			continue;
		struct sonde_zone_chunk chunk = {.chunk = i,
						 .process =
						     head->process <= session->processes.count ? head->process : 0,
						 .thread = head->thread <= session->threads.count ? head->thread : 0,
						 .events = head->count};
		int error = sonde_reader_summary(session->reader, i, &reading.data);
		error = error ? error : take_summary(&reading, &chunk);
		chunk.is_damaged = error != 0;
		rc = error == -ENOMEM ? error : take(context, &chunk);
	}
	sonde_buf_fini(&reading.data.buf);
	sonde_rows_fini(&reading.nodes);
	sonde_rows_fini(&reading.stats);
	return rc;
}

int sonde_session_zone_chunks(struct sonde_session *session,
			      int (*take)(void *context, const struct sonde_zone_chunk *chunk), void *context)
{
	return sonde_session_zone_chunks_from(session, 0, take, context);
}
