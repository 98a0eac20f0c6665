/* holds.h: when threads held one lock: as it was recorded, and where it must have been so.
 *
 * A hold has a row when others wait at its end. A thread that got the lock after waiting for it, and has no such row
 * from that moment on, held it until a moment that nobody waited for: it is taken to have held it as long as the others
 * did (the median of at least three), at most until it asked for it again, or ended.
 */
#ifndef SONDE_ANALYZE_CRITICAL_HOLDS_H
#define SONDE_ANALYZE_CRITICAL_HOLDS_H

#include "analyze/critical/critical.h"

struct sonde_critical_hold {
	uint64_t from_ns, to_ns;
	uint32_t thread;
	int is_hold; /* else a wait that ended with the lock */
};

struct sonde_critical_holds {
	struct sonde_critical_hold *row;
	size_t count, cap;
	uint64_t assumed; /* holds that were not recorded */
};

/* Whether a row of WAITS is a hold, or a wait after which its thread alone has the lock. */
int sonde_critical_holds_wants(const struct sonde_batch *batch, size_t i);
/* Of one lock. -ENOMEM. */
int sonde_critical_holds_take(struct sonde_critical_holds *holds, const struct sonde_batch *batch, size_t i);
/* Adds what must have been: nothing where calls were lost. -ENOMEM. */
int sonde_critical_holds_finish(struct sonde_critical_holds *holds, const struct sonde_critical *critical);
void sonde_critical_holds_fini(struct sonde_critical_holds *holds);

#endif
