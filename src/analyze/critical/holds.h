/* holds.h: when threads held a lock: recorded holds, and inferred ones.
 *
 * A hold is recorded only if another thread waits at its end. If a thread acquired the lock after waiting, and no hold
 * is recorded that follows this wait, the thread released the lock while no other thread waited. It is assumed to have
 * held the lock for the median length of the recorded holds (at least three are required), but at most until it
 * requested the lock again or exited.
 */
#ifndef SONDE_ANALYZE_CRITICAL_HOLDS_H
#define SONDE_ANALYZE_CRITICAL_HOLDS_H

#include "analyze/critical/critical.h"

struct sonde_critical_hold {
	uint64_t from_ns, to_ns;
	uint32_t thread;
	int is_hold; /* otherwise a wait that acquired the lock */
};

struct sonde_critical_holds {
	struct sonde_critical_hold *row;
	size_t count, cap;
	uint64_t assumed; /* number of inferred holds */
};

/* True if a row of WAITS is a hold, or a wait after which its thread alone holds the lock. */
int sonde_critical_holds_wants(const struct sonde_batch *batch, size_t i);
/* Adds a row of the lock. -ENOMEM. */
int sonde_critical_holds_take(struct sonde_critical_holds *holds, const struct sonde_batch *batch, size_t i);
/* Adds inferred holds; none if calls were lost. -ENOMEM. */
int sonde_critical_holds_finish(struct sonde_critical_holds *holds, const struct sonde_critical *critical);
void sonde_critical_holds_fini(struct sonde_critical_holds *holds);

#endif
