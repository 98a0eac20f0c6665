/* facts.h: the key figures of a recorded heap. */
#ifndef SONDE_ANALYZE_HEAP_FACTS_H
#define SONDE_ANALYZE_HEAP_FACTS_H

#include "session/session.h"

/* All figures are of malloc's blocks: pools lie inside such blocks, and mappings are not malloc's. */
struct sonde_heap_facts {
	const char *why_not; /* NULL: the figures are known */
	int processes;
	uint64_t mean_b;          /* bytes between samples; 0 = every block was recorded */
	uint64_t peak_b, peak_ns; /* highest peak of a process, and its time */
	uint64_t begins, begun_b, left_b, largest_b;
	double peak_variance, begun_variance, left_variance; /* variances of estimates, in B² */
};

void sonde_heap_facts_read(struct sonde_heap_facts *out, struct sonde_session *session);

#endif
