/* machines.h: the properties of two machines that must agree before their times can be compared. */
#ifndef SONDE_ANALYZE_DIFF_MACHINES_H
#define SONDE_ANALYZE_DIFF_MACHINES_H

#include <stddef.h>

struct sonde_machine_key {
	const char *key, *what; /* key of INFO records; "processors" */
	int decides;            /* if it differs, times cannot be compared */
};

extern const struct sonde_machine_key sonde_machine_keys[];
extern const size_t sonde_machine_key_count;

#endif
