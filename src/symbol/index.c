/* index.c: grows, merges, sorts and searches the arrays of an index. */
#include "symbol/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define COUNT_MAX ((size_t)64 << 20)

void sonde_index_fini(struct sonde_index *index)
{
	free(index->segments);
	free(index->spans);
	free(index->nodes);
	free(index->units);
	sonde_texts_fini(&index->texts);
	*index = (struct sonde_index){0};
}

const struct sonde_index_segment *sonde_index_segment(const struct sonde_index *index, uint64_t address)
{
	size_t next = SONDE_SEARCH(i, 0, index->segment_count, index->segments[i].start <= address);
	return next && address < index->segments[next - 1].end ? &index->segments[next - 1] : NULL;
}

const struct sonde_index_unit *sonde_index_unit(const struct sonde_index *index, uint64_t address)
{
	size_t next = SONDE_SEARCH(i, 0, index->unit_count, index->units[i].low <= address);
	return next && address < index->units[next - 1].high ? &index->units[next - 1] : NULL;
}

int sonde_index_is_missing(const struct sonde_index *index, uint64_t address)
{
	return !sonde_index_segment(index, address) && (!index->unit_count || sonde_index_unit(index, address));
}

const struct sonde_index_span *sonde_index_span(const struct sonde_index *index,
						const struct sonde_index_segment *segment, uint64_t address)
{
	uint64_t offset = address - segment->start, low = segment->span, high = segment->span + segment->span_count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (index->spans[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > segment->span ? &index->spans[low - 1] : NULL;
}

static void *extend(void *array, size_t *count, size_t *capacity, size_t each_b)
{
	void **at = array;
	if (*count >= COUNT_MAX || sonde_array_reserve(at, capacity, *count + 1, each_b)) {
		sonde_error(ENOMEM, "no memory for %zu entries of a symbol index", *count + 1);
		return NULL;
	}
	return (char *)*at + (*count)++ * each_b;
}

struct sonde_index_node *sonde_index_add_node(struct sonde_index *index)
{
	return extend(&index->nodes, &index->node_count, &index->node_capacity, sizeof *index->nodes);
}

struct sonde_index_span *sonde_index_add_span(struct sonde_index *index)
{
	return extend(&index->spans, &index->span_count, &index->span_capacity, sizeof *index->spans);
}

struct sonde_index_segment *sonde_index_add_segment(struct sonde_index *index)
{
	index->is_changed = 1;
	return extend(&index->segments, &index->segment_count, &index->segment_capacity, sizeof *index->segments);
}

struct sonde_index_unit *sonde_index_add_unit(struct sonde_index *index)
{
	index->is_changed = 1;
	return extend(&index->units, &index->unit_count, &index->unit_capacity, sizeof *index->units);
}

/* Caches the translation of ids between two text blocks; neighbours mostly repeat. */
struct translation {
	struct sonde_texts *to;
	const struct sonde_texts *from;
	uint32_t last_from[64], last_to[64];
	int error;
};

static uint32_t translate(struct translation *texts, uint32_t id)
{
	size_t slot = id * 0x9e3779b1u >> 26;
	if (texts->last_from[slot] != id) {
		int rc = sonde_texts_intern(texts->to, sonde_texts_get(texts->from, id), &texts->last_to[slot]);
		texts->last_from[slot] = id;
		texts->error = texts->error ? texts->error : rc;
	}
	return texts->last_to[slot];
}

static int merge_nodes(struct sonde_index *index, const struct sonde_index *unit, struct translation *texts,
		       size_t first)
{
	uint32_t base = (uint32_t)index->node_count;
	for (size_t i = first; i < unit->node_count; i++) {
		struct sonde_index_node *node = sonde_index_add_node(index);
		if (!node)
			return -ENOMEM;
		*node = unit->nodes[i];
		node->name = translate(texts, node->name);
		node->call_file = translate(texts, node->call_file);
		if (node->parent != SONDE_INDEX_NONE)
			node->parent = node->parent < first ? SONDE_INDEX_NONE : node->parent - (uint32_t)first + base;
	}
	return texts->error;
}

static int merge_spans(struct sonde_index *index, const struct sonde_index *unit, struct translation *texts,
		       const struct sonde_index_mark *from)
{
	uint32_t base = (uint32_t)(index->node_count - (unit->node_count - from->node));
	for (size_t i = from->span; i < unit->span_count; i++) {
		struct sonde_index_span *span = sonde_index_add_span(index);
		if (!span)
			return -ENOMEM;
		*span = unit->spans[i];
		span->file = translate(texts, span->file);
		if (span->node != SONDE_INDEX_NONE)
			span->node = span->node < from->node ? SONDE_INDEX_NONE : span->node - from->node + base;
	}
	return texts->error;
}

int sonde_index_merge(struct sonde_index *index, const struct sonde_index *unit, const struct sonde_index_mark *from)
{
	static const struct sonde_index_mark start;
	struct translation texts = {.to = &index->texts, .from = &unit->texts};
	uint64_t span_base = index->span_count;
	from = from ? from : &start;
	int rc = merge_nodes(index, unit, &texts, from->node);
	if (!rc)
		rc = merge_spans(index, unit, &texts, from);
	for (size_t i = 0; !rc && i < unit->segment_count; i++) {
		if (unit->segments[i].span < from->span)
			continue;
		struct sonde_index_segment *segment = sonde_index_add_segment(index);
		if (!segment)
			return -ENOMEM;
		*segment = unit->segments[i];
		segment->span += span_base - from->span;
	}
	return rc;
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct sonde_index_segment *)a)->start, y = ((const struct sonde_index_segment *)b)->start;
	return (x > y) - (x < y);
}

void sonde_index_sort(struct sonde_index *index)
{
	size_t kept = 0;
	if (index->segment_count)
		qsort(index->segments, index->segment_count, sizeof *index->segments, by_start);
	for (size_t i = 0; i < index->segment_count; i++) {
		struct sonde_index_segment segment = index->segments[i];
		if (segment.start < segment.end && (!kept || segment.start >= index->segments[kept - 1].end))
			index->segments[kept++] = segment;
	}
	index->segment_count = kept;
}
