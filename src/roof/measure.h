/* measure.h: measures the ceilings of this machine: pinned threads, the best of several runs, about 15 seconds. */
#ifndef SONDE_ROOF_MEASURE_H
#define SONDE_ROOF_MEASURE_H

#include <stdint.h>

#include "roof/roof.h"

struct sonde_roof_options {
	double quota;    /* CPUs that the cgroup allows; 0 = no limit */
	unsigned runs;   /* of each figure; 0 = 10 */
	uint64_t run_ns; /* 0 = 30 ms */
	/* Before each figure; NULL = not called. */
	void (*progress)(void *context, unsigned done, unsigned all, const char *what);
	void *context;
};

/* Everything but what the maker says. 0, or a negative errno with a sentence. */
int sonde_roof_measure(struct sonde_roof *out, const struct sonde_roof_options *options);

#endif
