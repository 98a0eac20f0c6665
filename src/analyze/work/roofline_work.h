/* roofline_work.h: work of a zone, which roofline.h places under the ceilings. */
#ifndef SONDE_ANALYZE_WORK_ROOFLINE_WORK_H
#define SONDE_ANALYZE_WORK_ROOFLINE_WORK_H

#include <stdint.h>

#include "roof/roof.h"

/* Reported work of a zone, and the time of the zone's calls that reported it. */
struct sonde_roofline_work {
	uint32_t site;
	uint64_t calls, silent; /* calls with reports, and without */
	double flop, bytes;     /* 0 = none reported */
	uint64_t wall_ns;       /* time with at least one thread in such a call */
	uint64_t thread_ns;     /* sum of the times of all threads in such calls */
	enum sonde_roof_precision precision;
	int is_model;  /* bytes are the least that must move: a model, not a report */
	double inside; /* threads that a library may use in each call; 0 = unknown, or no library */
};

#endif
