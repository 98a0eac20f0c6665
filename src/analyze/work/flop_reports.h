/* flop_reports.h: every report of work in a recording, and whose it is: a library call's (sonde record --blas), which
 * says its sizes first, or the program's own. */
#ifndef SONDE_ANALYZE_WORK_FLOP_REPORTS_H
#define SONDE_ANALYZE_WORK_FLOP_REPORTS_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

enum { SONDE_FLOP_M, SONDE_FLOP_N, SONDE_FLOP_K, SONDE_FLOP_SIZES };

struct sonde_flop_report {
	uint64_t time_ns;
	uint32_t thread;
	int is_library;
	double flop, bytes;             /* finite and not below 0 */
	int64_t size[SONDE_FLOP_SIZES]; /* of a library call; −1 = it has none */
};

struct sonde_flop_reports {
	struct sonde_flop_report *row; /* by thread, then time: the first of the file, as works.h keeps them */
	size_t count, cap;
	struct sonde_flop_sums {
		double flop, bytes;
		uint64_t reports;
	} sums[2]; /* of all, also of those beyond: of programs, of library calls */
};

/* Sums of all reports. Where a program reports the work of zones in which it calls a library, both may be the same
 * work: they are never added to each other. */
struct sonde_flop_sums sonde_flop_sums_of(const struct sonde_flop_reports *reports, int is_library);

/* Keeps `most` rows at most (SONDE_WORKS_MOST; 0 = the sums alone are wanted). */
int sonde_flop_reports_read(struct sonde_flop_reports *reports, struct sonde_session *session, size_t most);
void sonde_flop_reports_fini(struct sonde_flop_reports *reports);

/* Whether calls of such a site are a library's. */
int sonde_flop_is_library(const struct sonde_site *site);

#endif
