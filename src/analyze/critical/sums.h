/* sums.h: accumulates the time of a critical path by what it was spent on. */
#ifndef SONDE_ANALYZE_CRITICAL_SUMS_H
#define SONDE_ANALYZE_CRITICAL_SUMS_H

#include "analyze/critical/critical.h"
#include "util/map.h"

enum sonde_critical_class {
	SONDE_CRITICAL_CLASS_ZONE = 1,
	SONDE_CRITICAL_CLASS_FUNCTION,
	SONDE_CRITICAL_CLASS_THREAD,
	SONDE_CRITICAL_CLASS_STEP
};

struct sonde_critical_sum {
	uint64_t key; /* from the highest bits: class, state, kind of call, id */
	uint64_t ns, count;
	struct sonde_critical_step step; /* SONDE_CRITICAL_CLASS_STEP */
};

struct sonde_critical_sums {
	struct sonde_critical_sum *row;
	size_t count, cap;
	struct sonde_map of; /* by key: index + 1 */
};

static inline uint64_t sonde_critical_key(enum sonde_critical_class class, uint8_t state, uint8_t call, uint32_t id)
{
	return (uint64_t) class << 56 | (uint64_t)state << 48 | (uint64_t)call << 40 | id;
}

/* Finds the sum of a key, creating it if new; NULL when out of memory. */
struct sonde_critical_sum *sonde_critical_sum_of(struct sonde_critical_sums *sums, uint64_t key);
/* Adds nothing if ns is 0. -ENOMEM with a message. */
int sonde_critical_sum_add(struct sonde_critical_sums *sums, uint64_t key, uint64_t ns, uint64_t count);
void sonde_critical_sums_fini(struct sonde_critical_sums *sums);

/* --- critical/active.c: active steps ------------------------------------------------------------------------------ */

/* Attributes the time of steps in this state to the open zones, otherwise to sampled functions, otherwise to the
 * thread. Reads samples and zones. A negative errno; -ENOMEM with a message. */
int sonde_critical_active_add(struct sonde_critical_sums *sums, const struct sonde_critical *critical,
			      const struct sonde_critical_path *path, uint8_t state);

#endif
