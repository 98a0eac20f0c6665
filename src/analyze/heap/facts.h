/* facts.h: the key figures of a recorded heap. */
#ifndef SONDE_ANALYZE_HEAP_FACTS_H
#define SONDE_ANALYZE_HEAP_FACTS_H

#include "session/session.h"

/* For malloc's blocks: pools are inside them, mappings are separate. */
struct sonde_heap_facts {
	const char *why_not; /* NULL: the figures are known */
	int processes;
	uint64_t mean_b;          /* bytes between samples; 0 = every block was recorded */
	uint64_t peak_b, peak_ns; /* of the process with the highest peak */
	uint64_t begins, begun_b, left_b, largest_b;
	double peak_variance, begun_variance, left_variance; /* variances of estimates, in B² */
};

void sonde_heap_facts_read(struct sonde_heap_facts *out, struct sonde_session *session);

#endif
