/* measure.h: measures the ceilings of this machine with pinned threads, best of several runs; takes about 15
 * seconds. */
#ifndef SONDE_ROOF_MEASURE_H
#define SONDE_ROOF_MEASURE_H

#include <stdint.h>

#include "roof/roof.h"

struct sonde_roof_options {
	double quota;    /* CPUs that the cgroup quota allows; 0 = no limit */
	unsigned runs;   /* per figure; 0 = 10 */
	uint64_t run_ns; /* 0 = 30 ms */
	/* Called before each figure; may be NULL. */
	void (*progress)(void *context, unsigned done, unsigned all, const char *what);
	void *context;
};

/* Fills in everything except the datasheet figures. 0, or a negative errno with a message. */
int sonde_roof_measure(struct sonde_roof *out, const struct sonde_roof_options *options);

#endif
