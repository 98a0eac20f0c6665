/* live.h: running totals of a process's zones, for the queries that programs make (sonde_stats_of() …).
 *
 * Sites with the same name share a row. The caller maps SONDE_LIVE_B bytes of zeroed memory without reserving it, so
 * unused rows of threads and histograms cost nothing. One thread at a time.
 */
#ifndef SONDE_FOLD_LIVE_H
#define SONDE_FOLD_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "fold/drain.h"
#include "fold/pair.h"
#include "format/link.h"

#define SONDE_LIVE_HISTS 512u /* further names have no percentiles */

struct sonde_live;

#define SONDE_LIVE_B (40u << 20)

struct sonde_live *sonde_live_init(void *memory);
void sonde_live_site(struct sonde_live *live, const struct sonde_drain_site *site);
/* Returns the number of zones that were left out because too many were open (frames.h). */
uint64_t sonde_live_zones(struct sonde_live *live, const struct sonde_drain_thread *thread, const uint32_t *sites,
			  const uint64_t *times_ns, size_t count, int gap);
void sonde_live_event(struct sonde_live *live, const struct sonde_event *event);
void sonde_live_thread_end(struct sonde_live *live, const struct sonde_drain_thread *thread);
/* Unmaps the memory mapped beyond SONDE_LIVE_B; results stay. */
void sonde_live_fini(struct sonde_live *live);

/* Number of open zones of a thread. */
uint64_t sonde_live_depth(const struct sonde_live *live, const struct sonde_drain_thread *thread);
/* enum sonde_site_kind of a site, 0 = unknown. */
uint32_t sonde_live_kind(const struct sonde_live *live, uint32_t site);

/* Answers any query, even a malformed one; returns the number of bytes of `out` to send. */
size_t sonde_live_answer(const struct sonde_live *live, const struct sonde_link_query *query,
			 struct sonde_link_answer *out);

#endif
