/* call_stacks.h: where calls were that have devices do something: SONDE_EVENT_CALL_STACK of all processes, walked, and
 * the rows of CALL_STACKS chunks. One thread.
 */
#ifndef SONDE_SOURCE_CALL_STACKS_H
#define SONDE_SOURCE_CALL_STACKS_H

#include <stdint.h>

#include "source/columns.h"
#include "source/recorder.h"

/* Ids are the recording's. */
struct sonde_call_row {
	uint64_t time_ns, correlation;
	uint32_t thread, stack;
	uint8_t status; /* enum sonde_stack_status */
};

/* A chunk being filled. */
struct sonde_call_rows {
	struct sonde_columns columns;
	struct sonde_call_row last; /* of the chunk */
};

void sonde_call_rows_init(struct sonde_call_rows *rows);
/* Without what was not written yet. */
void sonde_call_rows_fini(struct sonde_call_rows *rows);
/* In any order of time. 1: the chunk is full. */
int sonde_call_rows_put(struct sonde_call_rows *rows, const struct sonde_call_row *row);
/* 0, or the writer's error. */
int sonde_call_rows_flush(struct sonde_call_rows *rows, struct sonde_writer *writer);

struct sonde_call_stacks;

/* Listens to what processes tell the zones source; one at a time. -ENOMEM. */
int sonde_call_stacks_new(struct sonde_call_stacks **out, struct sonde_recorder *recorder);
/* After the zones source has drained. */
void sonde_call_stacks_drain(struct sonde_call_stacks *stacks);
/* Writes what is left; what is lost is counted. */
void sonde_call_stacks_free(struct sonde_call_stacks *stacks);

#endif
