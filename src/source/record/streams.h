/* streams.h: zone events and variable-length events, one stream per thread, written as ZONES and EVENTS chunks.
 *
 * The begins and ends of zones are paired as they arrive, for the summaries of chunks. A summary lists the zones that
 * were open at the start of the chunk, and the sums of the zones that ended in it. So readers can start at any chunk,
 * and compute sums without decoding.
 */
#ifndef SONDE_SOURCE_RECORD_STREAMS_H
#define SONDE_SOURCE_RECORD_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "fold/pair.h"
#include "format/event.h"
#include "trace/writer.h"

struct sonde_stream;

struct sonde_streams {
	struct sonde_writer *writer;
	struct sonde_stream **rows; /* by thread, ascending */
	uint32_t count;
	size_t cap;
	/* Called for every zone that ends; NULL = not needed. */
	void (*zone_ended)(void *context, const struct sonde_pair_zone *zone);
	void *context;
};

void sonde_streams_init(struct sonde_streams *streams, struct sonde_writer *writer);
void sonde_streams_fini(struct sonde_streams *streams);

int sonde_streams_zones(struct sonde_streams *streams, uint32_t process, uint32_t thread, const uint32_t *sites,
			const uint64_t *times_ns, size_t count);
int sonde_streams_event(struct sonde_streams *streams, uint32_t process, uint32_t thread,
			const struct sonde_event *event);
/* The thread has ended: writes its buffered data and frees everything except zones that are still open. */
int sonde_streams_end(struct sonde_streams *streams, uint32_t thread);
int sonde_streams_flush(struct sonde_streams *streams);

#endif
