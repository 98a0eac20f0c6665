/* roofline.h: positions work under the measured ceilings of the machine that did it (Williams, Waterman, Patterson:
 * Roofline, 2009).
 *
 * Rates are per second, intensities in FLOP per byte. Unknown values are negative.
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
	SONDE_ROOFLINE_MEMORY, /* limited by the bandwidth of `level` */
	SONDE_ROOFLINE_ABOVE,  /* above every ceiling: the report does not match the actual work */
};

/* The position under the ceilings. */
struct sonde_roofline_place {
	double flops, bytes; /* per second of wall time */
	double intensity;
	double threads;                      /* number of threads whose ceilings apply */
	enum sonde_roof_precision precision; /* precision of the ceilings */
	double roof;                         /* attainable FLOP/s at this intensity */
	double share, machine_share;         /* FLOP/s as a fraction of `roof`; of what all CPUs could attain */
	double dram_share;                   /* bytes per second ÷ the DRAM read bandwidth of `threads` threads */
	enum sonde_roofline_bound bound;
	enum sonde_roof_level level;
};

struct sonde_roofline_place sonde_roofline_place(const struct sonde_roof *roof, const struct sonde_roofline_work *work);

/* The ceiling of `threads` threads: one thread's times their number, but at most the ceiling of all CPUs. −1 = not
 * measured. */
double sonde_roofline_bandwidth(const struct sonde_roof *roof, enum sonde_roof_level level, double threads);

/* The ceilings of the machine that the recording was made on: the ceilings in the recording, else this machine's, if
 * the recording was made on it. *from_cache is true for the latter. -ENOENT or -EBADMSG with a message. */
int sonde_roofline_roof(struct sonde_roof *out, int *from_cache, const struct sonde_session *session);

/* The section `roofs`: the ceilings themselves. */
struct sonde_report;
int sonde_roofline_ceilings(const struct sonde_roof *roof, struct sonde_report *report);

#endif
