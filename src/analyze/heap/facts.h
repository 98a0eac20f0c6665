/* facts.h: a recorded heap in six figures. */
#ifndef SONDE_ANALYZE_HEAP_FACTS_H
#define SONDE_ANALYZE_HEAP_FACTS_H

#include "session/session.h"

/* Of malloc's blocks; pools lie inside them, mappings beside. */
struct sonde_heap_facts {
	const char *why_not; /* NULL: they are known */
	int processes;
	uint64_t mean_b;          /* bytes between samples; 0 = every block was recorded */
	uint64_t peak_b, peak_ns; /* of the process with the highest */
	uint64_t begins, begun_b, left_b, largest_b;
	double peak_variance, begun_variance, left_variance; /* of estimates, in B² */
};

void sonde_heap_facts_read(struct sonde_heap_facts *out, struct sonde_session *session);

#endif
