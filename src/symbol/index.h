/* index.h: which function, inlined functions, file and line every address of a module's parsed units belongs to.
 *
 * Flat arrays that refer to each other by index, so that an index is written to and read from a cache file as it is.
 * The list of units says where DWARF is; segments are what was read of it: address ranges of one compile unit each,
 * disjoint and sorted. Inside one, a span holds from its offset to the next one's. A span's node is the innermost
 * inlined function; its parents lead to the machine function.
 */
#ifndef SONDE_SYMBOL_INDEX_H
#define SONDE_SYMBOL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/texts.h"

#define SONDE_INDEX_NONE UINT32_MAX

struct sonde_index_span {
	uint32_t offset; /* from the segment's start */
	uint32_t node;   /* or SONDE_INDEX_NONE */
	uint32_t file;   /* text */
	uint32_t line;
};

struct sonde_index_node {
	uint64_t start;  /* where the machine function begins */
	uint32_t parent; /* into which this one was inlined: a smaller index, or SONDE_INDEX_NONE */
	uint32_t name;   /* text, demangled */
	uint32_t start_line;
	uint32_t call_file; /* text: where the parent calls it */
	uint32_t call_line;
	uint32_t unused;
};

struct sonde_index_segment {
	uint64_t start, end;
	uint64_t span; /* first */
	uint64_t span_count;
};

/* An address range of a compile unit. */
struct sonde_index_unit {
	uint64_t low, high;
	uint64_t entry;  /* offset of its first entry */
	uint64_t size_b; /* of all its entries */
};

/* What lies before it was there when the index was loaded. */
struct sonde_index_mark {
	uint32_t node;
	uint32_t reserved;
	uint64_t span;
};

struct sonde_index {
	struct sonde_index_segment *segments;
	struct sonde_index_span *spans;
	struct sonde_index_node *nodes;
	size_t segment_count, span_count, node_count;
	size_t segment_capacity, span_capacity, node_capacity;
	struct sonde_texts texts;
	struct sonde_index_unit *units; /* by low; all of the file's where there are any */
	size_t unit_count, unit_capacity;
	uint64_t units_of; /* size of the .debug_info that the units were listed from */
	uint64_t check;    /* of the file it was loaded from; 0 = none */
	struct sonde_index_mark loaded;
	int is_changed; /* since it was loaded */
};

void sonde_index_fini(struct sonde_index *index);

/* The segment that holds an address, or NULL: nothing is known about it yet. */
const struct sonde_index_segment *sonde_index_segment(const struct sonde_index *index, uint64_t address);

/* The unit that holds an address: of those that begin at or before it the last; or NULL. */
const struct sonde_index_unit *sonde_index_unit(const struct sonde_index *index, uint64_t address);

/* Whether there is DWARF for an address that is not in the index: 1 also while the units are not listed. */
int sonde_index_lacks(const struct sonde_index *index, uint64_t address);

/* The span of an address of the segment; NULL where there is none. */
const struct sonde_index_span *sonde_index_span(const struct sonde_index *index,
						const struct sonde_index_segment *segment, uint64_t address);

/* Appending: call order is nodes, then spans, then the segment that has them. NULL when memory is short. */
struct sonde_index_node *sonde_index_add_node(struct sonde_index *index);
struct sonde_index_span *sonde_index_add_span(struct sonde_index *index);
struct sonde_index_segment *sonde_index_add_segment(struct sonde_index *index);
struct sonde_index_unit *sonde_index_add_unit(struct sonde_index *index);

/* Appends what `unit` has behind `from` (NULL: all; never its list of units); the segments then have to be brought in
 * order by sonde_index_sort(). */
int sonde_index_merge(struct sonde_index *index, const struct sonde_index *unit, const struct sonde_index_mark *from);

/* Sorts the segments; of those that overlap the first stays whole. */
void sonde_index_sort(struct sonde_index *index);

/* The cache file of a build-id. Loading checks every reference; -ENOENT, -EBADMSG: index is empty then. Storing takes
 * over what another process has stored since; of more than 32 MB it keeps only what was read since loading. */
int sonde_index_load(struct sonde_index *out, const uint8_t *build_id, size_t build_id_b);
int sonde_index_store(struct sonde_index *index, const uint8_t *build_id, size_t build_id_b);

#endif
