/* flop_reports.h: all reports of work in a recording, and their origin: a library call (sonde record --blas), which
 * reports its sizes first, or the program itself. */
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
	double flop, bytes;             /* finite and not negative */
	int64_t size[SONDE_FLOP_SIZES]; /* of a library call; −1 = none */
};

struct sonde_flop_reports {
	struct sonde_flop_report *row; /* by thread, then time: the first ones of the file, as in work.h */
	size_t count, cap;
	struct sonde_flop_sums {
		double flop, bytes;
		uint64_t reports;
	} sums[2]; /* totals, including reports beyond the limit: of programs, of library calls */
};

/* Totals of all reports. If a program reports the work of zones in which it calls a library, the program and the
 * library may report the same work, so the two totals are never added up. */
struct sonde_flop_sums sonde_flop_sums_of(const struct sonde_flop_reports *reports, int is_library);

/* Keeps at most `most` rows (SONDE_WORKS_MOST; 0 = only the totals are needed). */
int sonde_flop_reports_read(struct sonde_flop_reports *reports, struct sonde_session *session, size_t most);
void sonde_flop_reports_fini(struct sonde_flop_reports *reports);

/* True if the site belongs to a library call. */
int sonde_flop_is_library(const struct sonde_site *site);

#endif
