/* stacks.h: fills the tables of stacks (stack_tables.h) from STACKS chunks, SYMBOL records and look-ups. */
#ifndef SONDE_SESSION_STACKS_H
#define SONDE_SESSION_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

struct sonde_session;
struct sonde_stacks;
struct sonde_symbol_location;
struct sonde_chunk_data;

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
