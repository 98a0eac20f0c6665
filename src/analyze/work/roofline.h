/* roofline.h: where work lies under the measured ceilings of the machine that did it (Williams, Waterman, Patterson:
 * Roofline, 2009).
 *
 * Rates are in units a second, intensities in FLOP a byte. What is not known is negative.
 */
#ifndef SONDE_ANALYZE_WORK_ROOFLINE_H
#define SONDE_ANALYZE_WORK_ROOFLINE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/work/roofline_work.h"
#include "roof/roof.h"
#include "session/session.h"

enum sonde_roofline_bound {
	SONDE_ROOFLINE_UNKNOWN = 0, /* no bytes, or no FLOP */
	SONDE_ROOFLINE_COMPUTE,
	SONDE_ROOFLINE_MEMORY, /* of `level` */
	SONDE_ROOFLINE_ABOVE,  /* over every ceiling: what was reported is not what was done */
};

/* Where it lies. */
struct sonde_roofline_place {
	double flops, bytes; /* a second of wall time */
	double intensity;
	double threads;                      /* whose ceilings it is held against */
	enum sonde_roof_precision precision; /* the same */
	double roof;                         /* FLOP/s that are possible there */
	double share, machine_share;         /* of it; of what all CPUs could do there */
	double dram_share;                   /* bytes a second of what those threads read from DRAM */
	enum sonde_roofline_bound bound;
	enum sonde_roof_level level;
};

struct sonde_roofline_place sonde_roofline_place(const struct sonde_roof *roof, const struct sonde_roofline_work *work);

/* The ceilings of so many threads: so many times one thread's, at most all CPUs'. −1 = not measured. */
double sonde_roofline_peak(const struct sonde_roof *roof, enum sonde_roof_precision precision, double threads);
double sonde_roofline_bandwidth(const struct sonde_roof *roof, enum sonde_roof_level level, double threads);

/* The ceilings of the machine that a recording was made on: those that it carries, else this machine's, if it is the
 * same one. *from_cache tells which. -ENOENT or -EBADMSG with a sentence. */
int sonde_roofline_roof(struct sonde_roof *out, int *from_cache, const struct sonde_session *session);

/* Section `roofs`: the ceilings themselves. */
struct sonde_report;
int sonde_roofline_ceilings(const struct sonde_roof *roof, struct sonde_report *report);

#endif
