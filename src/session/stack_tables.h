/* stack_tables.h: the stack trie of a session, its machine frames, and their functions. */
#ifndef SONDE_SESSION_STACK_TABLES_H
#define SONDE_SESSION_STACK_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "session/rows.h"
#include "util/map.h"

/* Cache entry: a recently used frame. */
struct sonde_recent_frame {
	uint64_t address;
	uint32_t module, frame; /* index + 1; 0 = none */
};

struct sonde_stacks {
	struct sonde_rows nodes;     /* struct sonde_node, by id */
	struct sonde_rows frames;    /* struct sonde_frame; location_count 0 until resolved */
	struct sonde_rows functions; /* struct sonde_function, by id */
	struct sonde_map frame_of;   /* (module, address) → index + 1 */
	struct sonde_map function_of;
	struct sonde_recent_frame *recent; /* cache in front of frame_of, by hash; NULL before the first node */
	struct sonde_rows names; /* SYMBOL records with names only, the fallback if the look-up finds nothing */
	size_t settled;          /* frames before this index have locations */
};

#endif
