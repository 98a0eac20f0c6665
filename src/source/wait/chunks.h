/* chunks.h: WAITS chunks under construction: blocking calls of all threads. One thread. */
#ifndef SONDE_SOURCE_WAIT_CHUNKS_H
#define SONDE_SOURCE_WAIT_CHUNKS_H

#include "format/wait.h"
#include "source/record/recorder.h"
#include "trace/encode.h"

struct sonde_wait_chunks {
	struct sonde_recorder *recorder;
	struct sonde_encoder rows;
};

static inline void sonde_wait_chunks_init(struct sonde_wait_chunks *chunks, struct sonde_recorder *recorder)
{
	chunks->recorder = recorder;
	sonde_encoder_init(&chunks->rows, SONDE_CHUNK_WAITS, SONDE_ENCODER_ROWS);
}

/* Discards rows that are not written yet. */
static inline void sonde_wait_chunks_fini(struct sonde_wait_chunks *chunks)
{
	sonde_encoder_fini(&chunks->rows);
}

static inline int sonde_wait_chunks_flush(struct sonde_wait_chunks *chunks)
{
	return sonde_recorder_rows(chunks->recorder, &chunks->rows);
}

/* Rows may come in any time order; a full chunk is written. */
static inline void sonde_wait_chunks_put(struct sonde_wait_chunks *chunks, const struct sonde_waits_row *wait)
{
	if (sonde_encoder_waits(&chunks->rows, wait))
		sonde_wait_chunks_flush(chunks);
}

#endif
