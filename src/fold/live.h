/* live.h: what a process's zones add up to while it runs, for the questions that programs ask (sonde_stats_of() …).
 *
 * Sites of one name are one row. The caller maps SONDE_LIVE_B bytes of zeroed memory without reserving it: rows of
 * threads and histograms that are never used cost nothing. One thread at a time.
 */
#ifndef SONDE_FOLD_LIVE_H
#define SONDE_FOLD_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "fold/drain.h"
#include "fold/pair.h"
#include "format/link.h"

#define SONDE_LIVE_HISTS 512u /* names beyond have no percentiles */

struct sonde_live;

#define SONDE_LIVE_B (40u << 20)

struct sonde_live *sonde_live_init(void *memory);
void sonde_live_site(struct sonde_live *live, const struct sonde_drain_site *site);
/* Returns how many zones began that had to be left out, since too many were open (frames.h). */
uint64_t sonde_live_zones(struct sonde_live *live, const struct sonde_drain_thread *thread, const uint32_t *sites,
			  const uint64_t *times_ns, size_t count, int gap);
void sonde_live_event(struct sonde_live *live, const struct sonde_event *event);
void sonde_live_thread_end(struct sonde_live *live, const struct sonde_drain_thread *thread);
/* Gives back what was mapped beyond SONDE_LIVE_B; answers stay. */
void sonde_live_fini(struct sonde_live *live);

/* Zones of a thread that are open. */
uint64_t sonde_live_depth(const struct sonde_live *live, const struct sonde_drain_thread *thread);
/* enum sonde_site_kind of a site, 0 = not known. */
uint32_t sonde_live_kind(const struct sonde_live *live, uint32_t site);

/* Answers any query, however malformed; returns the bytes of `out` to send. */
size_t sonde_live_answer(const struct sonde_live *live, const struct sonde_link_query *query,
			 struct sonde_link_answer *out);

#endif
