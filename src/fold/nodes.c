/* nodes.c: encodes zone nodes as bytes (nodes.h). */
#include "fold/nodes.h"

#include <string.h>

void sonde_nodes_begin(struct sonde_nodes *nodes, uint64_t base_ns)
{
	memset(nodes->open, 0, nodes->depths * sizeof(*nodes->open));
	nodes->data_b = 0;
	nodes->base_ns = base_ns;
	nodes->deeper = 0;
	nodes->depths = 0;
}

uint8_t *sonde_nodes_encode(uint8_t *at, uint64_t base_ns, uint32_t depth, const struct sonde_nodes_row *node)
{
	at = sonde_varint_put(at, depth);
	at = sonde_varint_put(at, node->count);
	at = sonde_varint_put(at, sonde_varint_zigzag((int64_t)(node->first_ns - base_ns)));
	at = sonde_varint_put(at, node->last_ns - node->first_ns);
	at = sonde_varint_put(at, node->busy_ns);
	at = sonde_varint_put(at, node->longest_ns);
	return sonde_varint_put(at, node->site);
}

void sonde_nodes_put(struct sonde_nodes *nodes, uint32_t depth)
{
	struct sonde_nodes_row *node = &nodes->open[depth];
	uint8_t *at = sonde_nodes_encode(nodes->data + nodes->data_b, nodes->base_ns, depth, node);
	nodes->data_b = (size_t)(at - nodes->data);
	*node = (struct sonde_nodes_row){0};
}

void sonde_nodes_end(struct sonde_nodes *nodes)
{
	for (uint32_t depth = 0; depth < nodes->depths; depth++)
		if (nodes->open[depth].count)
			sonde_nodes_put(nodes, depth);
}

const uint8_t *sonde_nodes_get(const uint8_t *at, const uint8_t *end, uint64_t base_ns, uint32_t *depth,
			       struct sonde_nodes_row *out)
{
	uint64_t values[7];
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (!(at = sonde_varint_get(at, end, &values[i])))
			return NULL;
	uint64_t first_ns = base_ns + (uint64_t)sonde_varint_unzigzag(values[2]);
	if (values[0] >= SONDE_NODE_DEPTHS || !values[1] || values[1] > UINT32_MAX ||
	    values[3] > UINT64_MAX - first_ns || values[6] > UINT32_MAX)
		return NULL;
	*depth = (uint32_t)values[0];
	*out = (struct sonde_nodes_row){first_ns,  first_ns + values[3], values[4],
					values[5], (uint32_t)values[6],  (uint32_t)values[1]};
	return at;
}
