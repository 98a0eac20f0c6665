/* sink.h: what a self-recording process makes of the events that it drains: chunks of a file (file.h), and answers.
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
/* Writes the head of the recording: this process, its clocks. */
struct sonde_sink *sonde_sink_init(void *memory, struct sonde_ring_pool *ring, struct sonde_file *file);
/* Drains once and writes what came. */
void sonde_sink_drain(struct sonde_sink *sink, struct sonde_drain *drain, const struct sonde_clockfit *fit, int final);
/* Writes histograms and the end of the recording, closes the file; 0, or its first error as a negative errno. Answers
 * stay. */
int sonde_sink_close(struct sonde_sink *sink);
/* What is known of the site that the query names, as link.h says; all 0 where nothing is. */
void sonde_sink_answer(const struct sonde_sink *sink, const struct sonde_link_query *query,
		       struct sonde_link_answer *out);
/* What is known of the pool of a name, as link.h says. */
void sonde_sink_blocks(const struct sonde_sink *sink, const char *name, struct sonde_link_blocks *out);
/* Of the latest event of a pool, in ns; 0 = there was none. */
uint64_t sonde_sink_blocks_ns(const struct sonde_sink *sink);
/* In a forked child: the parent's file is not ours to write. */
void sonde_sink_abandon(struct sonde_sink *sink);

#endif
