/* recording.h: the figures of one recording by which it is compared with others: of one run, one value each.
 *
 * Several recordings a side are compared by these, run against run: what differs from run to run is in them, which the
 * samples, zones and iterations of one run, be they a million, know nothing of.
 */
#ifndef SONDE_ANALYZE_DIFF_RECORDING_H
#define SONDE_ANALYZE_DIFF_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/diff/figures.h"
#include "session/session.h"
#include "util/arena.h"

enum sonde_diff_total {
	SONDE_DIFF_WALL = 0,
	SONDE_DIFF_CPU,
	SONDE_DIFF_PEAK_RSS,
	SONDE_DIFF_USER,
	SONDE_DIFF_SYSTEM,
	SONDE_DIFF_TOTALS,
};

enum { SONDE_DIFF_HOST_KEYS = 16 };

struct sonde_diff_recording {
	struct sonde_arena arena;               /* holds the texts: the session may be closed */
	const char *host[SONDE_DIFF_HOST_KEYS]; /* by sonde_machine_keys; NULL = not known */
	const char *boot;                       /* "" = not known */
	uint64_t start_ns;                      /* since that boot */
	double total[SONDE_DIFF_TOTALS];        /* ns, bytes; NAN = not known */
	struct sonde_diff_figures zones, iterations, functions;
	double sampled_ns;        /* that the functions' shares are of */
	int has_zones;            /* any, so that one that is not there ran 0 times */
	uint64_t damaged_b, lost; /* bytes that cannot be read, records that were lost */
	int closed;
};

/* 0 or a negative errno with a sentence; sonde_diff_recording_fini() in any case. */
int sonde_diff_recording_read(struct sonde_diff_recording *out, struct sonde_session *session);
void sonde_diff_recording_fini(struct sonde_diff_recording *recording);

/* Zones alone. */
int sonde_diff_recording_zones(struct sonde_diff_recording *out, struct sonde_session *session);

#endif
