/* machines.h: what two machines are compared by before times of one are held against those of the other. */
#ifndef SONDE_ANALYZE_DIFF_MACHINES_H
#define SONDE_ANALYZE_DIFF_MACHINES_H

#include <stddef.h>

struct sonde_machine_key {
	const char *key, *what; /* of INFO records; "processors" */
	int decides;            /* times of one machine say nothing of the other */
};

extern const struct sonde_machine_key sonde_machine_keys[];
extern const size_t sonde_machine_key_count;

#endif
