/* recording.h: the figures of one recording that are compared with others: one value per figure and run.
 *
 * With several recordings per side, these figures are compared run against run. This takes the variation between runs
 * into account, which the samples, zones and iterations of a single run do not show, however many there are.
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
	struct sonde_arena arena;               /* holds the texts, so that the session may be closed */
	const char *host[SONDE_DIFF_HOST_KEYS]; /* by sonde_machine_keys; NULL = unknown */
	const char *boot;                       /* "" = unknown */
	uint64_t start_ns;                      /* relative to that boot */
	double total[SONDE_DIFF_TOTALS];        /* ns, bytes; NAN = unknown */
	struct sonde_diff_figures zones, iterations, functions;
	double sampled_ns;        /* denominator of the functions' shares */
	int has_zones;            /* there are zones, so a zone that is missing ran 0 times */
	uint64_t damaged_b, lost; /* unreadable bytes, and lost records */
	int closed;
};

/* 0, or a negative errno with a message; call sonde_diff_recording_fini() in any case. */
int sonde_diff_recording_read(struct sonde_diff_recording *out, struct sonde_session *session);
void sonde_diff_recording_fini(struct sonde_diff_recording *recording);

/* Reads only zones. */
int sonde_diff_recording_zones(struct sonde_diff_recording *out, struct sonde_session *session);

#endif
