/* index.h: the functions, inlined functions, files and lines of all addresses in a module's parsed units.
 *
 * Flat arrays that refer to each other by index, so that an index can be written to and read from a cache file
 * unchanged. The list of units says where in the file the DWARF is. The segments hold the DWARF that has been read.
 * Each segment is an address range of one compile unit; segments are disjoint and sorted. Within a segment, each span
 * covers the addresses from its offset up to the next span's. A span's node is the innermost inlined function; the
 * node's parents lead up to the machine function.
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
	uint64_t start;  /* start of the machine function */
	uint32_t parent; /* the function that this one was inlined into: a smaller index, or SONDE_INDEX_NONE */
	uint32_t name;   /* text, demangled */
	uint32_t start_line;
	uint32_t call_file; /* text: file of the call in the parent */
	uint32_t call_line;
	uint32_t unused;
};

struct sonde_index_segment {
	uint64_t start, end;
	uint64_t span; /* first */
	uint64_t span_count;
};

/* Address range of a compile unit. */
struct sonde_index_unit {
	uint64_t low, high;
	uint64_t entry;  /* offset of the unit's first entry */
	uint64_t size_b; /* size of all its entries */
};

/* Sizes of the arrays when the index was loaded; the elements after these were added later. */
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
	struct sonde_index_unit *units; /* sorted by low; all units of the file, once listed */
	size_t unit_count, unit_capacity;
	uint64_t units_of; /* size of the .debug_info from which the units were listed */
	uint64_t check;    /* checksum of the file that the index was loaded from; 0 = none */
	struct sonde_index_mark loaded;
	int is_changed; /* data was added since loading */
};

void sonde_index_fini(struct sonde_index *index);

/* The segment that covers an address, or NULL if nothing is known about it yet. */
const struct sonde_index_segment *sonde_index_segment(const struct sonde_index *index, uint64_t address);

/* The unit that covers an address: the last one that begins at or before it; or NULL. */
const struct sonde_index_unit *sonde_index_unit(const struct sonde_index *index, uint64_t address);

/* True if there may be DWARF for an address that the index does not have yet. This is always true before the units are
 * listed. */
int sonde_index_is_missing(const struct sonde_index *index, uint64_t address);

/* The span of an address within the segment; NULL if there is none. */
const struct sonde_index_span *sonde_index_span(const struct sonde_index *index,
						const struct sonde_index_segment *segment, uint64_t address);

/* Append nodes first, then spans, then the segment that contains them. NULL if out of memory. */
struct sonde_index_node *sonde_index_add_node(struct sonde_index *index);
struct sonde_index_span *sonde_index_add_span(struct sonde_index *index);
struct sonde_index_segment *sonde_index_add_segment(struct sonde_index *index);
struct sonde_index_unit *sonde_index_add_unit(struct sonde_index *index);

/* Appends the contents of `unit` after `from` (NULL: all), except for its list of units. The caller then sorts the
 * segments with sonde_index_sort(). */
int sonde_index_merge(struct sonde_index *index, const struct sonde_index *unit, const struct sonde_index_mark *from);

/* Sorts the segments; if segments overlap, the first one stays whole. */
void sonde_index_sort(struct sonde_index *index);

/* The cache file of a build-id. Loading checks every reference; on -ENOENT and -EBADMSG the index is empty. Storing
 * merges data that another process has stored since loading; if the file would exceed 32 MB, only data read since
 * loading is kept. */
int sonde_index_load(struct sonde_index *out, const uint8_t *build_id, size_t build_id_b);
int sonde_index_store(struct sonde_index *index, const uint8_t *build_id, size_t build_id_b);

#endif
