/* sink.h: turns drained events of a process that records itself into chunks of a file (file.h) and query results.
 *
 * The caller maps sonde_sink_b() bytes of zeroed memory, mostly never touched. One thread at a time.
 */
#ifndef SONDE_RUNTIME_SINK_H
#define SONDE_RUNTIME_SINK_H

#include <stddef.h>

#include "fold/clockfit.h"
#include "fold/drain.h"
#include "format/link.h"
#include "runtime/file.h"

struct sonde_sink;

size_t sonde_sink_b(void);
/* Writes the head of the recording: this process and its clocks. */
struct sonde_sink *sonde_sink_init(void *memory, struct sonde_ring_pool *ring, struct sonde_file *file);
/* Drains once and writes the new data. */
void sonde_sink_drain(struct sonde_sink *sink, struct sonde_drain *drain, const struct sonde_clockfit *fit, int final);
/* Writes histograms and the end of the recording, and closes the file; 0, or the first error as a negative errno. Query
 * results stay. */
int sonde_sink_close(struct sonde_sink *sink);
/* Answers a query about a site (format/link.h); all 0 if nothing is known. */
void sonde_sink_answer(const struct sonde_sink *sink, const struct sonde_link_query *query,
		       struct sonde_link_answer *out);
/* Answers a query about the pool of a name (format/link.h). */
void sonde_sink_blocks(const struct sonde_sink *sink, const char *name, struct sonde_link_blocks *out);
/* Time of a pool's latest event in ns; 0 = none. */
uint64_t sonde_sink_blocks_ns(const struct sonde_sink *sink);
/* Abandons the file in a forked child: it belongs to the parent and must not be written. */
void sonde_sink_abandon(struct sonde_sink *sink);

#endif
