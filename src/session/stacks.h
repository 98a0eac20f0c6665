/* stacks.h: fills the stack tables (stack_tables.h) from STACKS chunks, SYMBOL records and symbol look-ups. */
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

/* Adds all nodes of a STACKS chunk, or none and returns -EBADMSG. */
int sonde_session_stacks_load(struct sonde_session *session, const struct sonde_chunk_data *data);

/* Adds a SYMBOL record; `locations` is the record's array of struct sonde_meta_location, possibly unaligned. */
int sonde_session_stacks_symbol(struct sonde_session *session, const struct sonde_meta_symbol *symbol,
				const uint8_t *locations);

/* Sets the locations of a frame as returned by a symbol look-up (symbol/symbol.h); count 0: unknown. */
int sonde_session_stacks_locate(struct sonde_session *session, size_t frame, const struct sonde_symbol_location *places,
				size_t count);

/* Call it after the look-up: unresolved frames get the name from a names-only record, else the location that means
 * unknown. */
int sonde_session_stacks_settle(struct sonde_session *session);

#endif
