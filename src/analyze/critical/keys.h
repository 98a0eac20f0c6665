/* keys.h: what has a correlation, found by it (critical/devices.c). */
#ifndef SONDE_ANALYZE_CRITICAL_KEYS_H
#define SONDE_ANALYZE_CRITICAL_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* Correlations are a process's own. */
struct sonde_critical_key {
	uint64_t correlation;
	uint64_t ended_ns; /* of those that have one correlation the order */
	uint32_t process, id;
};

struct sonde_critical_keys {
	struct sonde_critical_key *all; /* the caller's to free */
	size_t count;
};

/* Empty, with room for so many. -ENOMEM. */
int sonde_critical_keys_begin(struct sonde_critical_keys *keys, size_t most);
/* To be called before what follows. */
void sonde_critical_keys_sort(struct sonde_critical_keys *keys);

/* Whether `at` is one of these. */
int sonde_critical_keys_is(const struct sonde_critical_keys *keys, size_t at, uint64_t correlation, uint32_t process);
/* Where they begin, if there are any: sonde_critical_keys_is() says so. */
size_t sonde_critical_keys_find(const struct sonde_critical_keys *keys, uint64_t correlation, uint32_t process);
/* The last of them that had ended by then; NULL = there is none. */
const struct sonde_critical_key *sonde_critical_keys_last(const struct sonde_critical_keys *keys, uint64_t correlation,
							  uint32_t process, uint64_t ended_ns);

#endif
