/* wait_chunks.h: WAITS chunks being filled: calls that may wait, of all threads. One thread. */
#ifndef SONDE_SOURCE_WAIT_CHUNKS_H
#define SONDE_SOURCE_WAIT_CHUNKS_H

#include <stdint.h>

#include "format/wait.h"
#include "source/columns.h"
#include "source/recorder.h"

/* Ids are the recording's. */
struct sonde_wait {
	uint64_t start_ns, dur_ns;
	uint32_t thread;
	uint32_t other; /* thread that held what was waited for, or woke the thread; 0 = not known */
	enum sonde_wait_kind kind;
	uint32_t stack;
	uint8_t status;  /* enum sonde_stack_status */
	uint32_t object; /* 0 = none */
	uint64_t amount; /* bytes; 0 = none */
};

struct sonde_wait_chunks {
	struct sonde_recorder *recorder;
	struct sonde_columns columns;
	struct sonde_wait last; /* of the chunk */
};

void sonde_wait_chunks_init(struct sonde_wait_chunks *chunks, struct sonde_recorder *recorder);
/* Without what was not written yet. */
void sonde_wait_chunks_fini(struct sonde_wait_chunks *chunks);
/* In any order of time; a full chunk is written. */
void sonde_wait_chunks_put(struct sonde_wait_chunks *chunks, const struct sonde_wait *wait);
int sonde_wait_chunks_flush(struct sonde_wait_chunks *chunks);

#endif
