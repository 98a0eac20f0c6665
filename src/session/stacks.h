/* stacks.h: the stack trie of a session, its machine frames, and the functions they stand for. */
#ifndef SONDE_SESSION_STACKS_H
#define SONDE_SESSION_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"
#include "session/rows.h"
#include "util/map.h"

struct sonde_session;
struct sonde_symbol_location;
struct sonde_chunk_data;

/* Of many nodes' frames, those met last. */
struct sonde_recent_frame {
	uint64_t address;
	uint32_t module, frame; /* index + 1; 0 = none */
};

struct sonde_stacks {
	struct sonde_rows nodes;     /* struct sonde_node, by id */
	struct sonde_rows frames;    /* struct sonde_frame; location_count 0 until something is known */
	struct sonde_rows functions; /* struct sonde_function, by id */
	struct sonde_map frame_of;   /* (module, address) → index + 1 */
	struct sonde_map function_of;
	struct sonde_recent_frame *recent; /* a table by hash, before frame_of; NULL before the first node */
	struct sonde_rows names;           /* SYMBOL records with names only, for what the look-up does not find */
	size_t settled;                    /* frames before this one have locations */
};

void sonde_session_stacks_init(struct sonde_stacks *stacks);
void sonde_session_stacks_fini(struct sonde_stacks *stacks);

/* Adds the nodes of a STACKS chunk: all of them, or none and -EBADMSG. */
int sonde_session_stacks_load(struct sonde_session *session, const struct sonde_chunk_data *data);

/* A SYMBOL record; `locations`: as many struct sonde_meta_location as it says, not aligned. */
int sonde_session_stacks_symbol(struct sonde_session *session, const struct sonde_meta_symbol *symbol,
				const uint8_t *locations);

/* What stands at a frame: as a symbol look-up gives it (symbol/symbol.h); count 0: nothing is known. */
int sonde_session_stacks_locate(struct sonde_session *session, size_t frame, const struct sonde_symbol_location *places,
				size_t count);

/* After the look-up: frames that have no name get what records with names only say, or the location that says that
 * nothing is known. */
int sonde_session_stacks_settle(struct sonde_session *session);

#endif
