/* keys.h: an index of activities and waits by correlation (critical/devices.c). */
#ifndef SONDE_ANALYZE_CRITICAL_KEYS_H
#define SONDE_ANALYZE_CRITICAL_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* Correlations are unique only within a process. */
struct sonde_critical_key {
	uint64_t correlation;
	uint64_t ended_ns; /* sort key among entries with equal correlation */
	uint32_t process, id;
};

struct sonde_critical_keys {
	struct sonde_critical_key *all; /* freed by the caller */
	size_t count;
};

/* Empties the index and provides capacity for `most` entries. -ENOMEM. */
int sonde_critical_keys_begin(struct sonde_critical_keys *keys, size_t most);
/* Must be called before the functions below. */
void sonde_critical_keys_sort(struct sonde_critical_keys *keys);

/* True if entry `at` has this correlation and process. */
int sonde_critical_keys_is(const struct sonde_critical_keys *keys, size_t at, uint64_t correlation, uint32_t process);
/* Index of the first entry with this correlation and process; check with sonde_critical_keys_is() that there is one. */
size_t sonde_critical_keys_find(const struct sonde_critical_keys *keys, uint64_t correlation, uint32_t process);
/* The last entry with this correlation and process that had ended by ended_ns; NULL = none. */
const struct sonde_critical_key *sonde_critical_keys_last(const struct sonde_critical_keys *keys, uint64_t correlation,
							  uint32_t process, uint64_t ended_ns);

#endif
