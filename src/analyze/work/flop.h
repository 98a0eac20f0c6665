/* flop.h: the data that the flop pass collects (work/flop.c) and shows in its section (work/flop_rows.c). */
#ifndef SONDE_ANALYZE_WORK_FLOP_H
#define SONDE_ANALYZE_WORK_FLOP_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/work/flop_counted.h"
#include "analyze/work/flop_reports.h"
#include "analyze/pass.h"
#include "analyze/work/work.h"

#define SONDE_FLOP_ID "flop"
#define SONDE_FLOP_TITLE "FLOP and bytes"

enum { SONDE_FLOP_SAMPLES_MAX = 1 << 23 };

struct sonde_flop_sample {
	uint64_t time_ns, weight_ns;
	uint32_t thread;
	uint32_t is_covered;
};

/* A report and the zone that it was charged to. */
struct sonde_flop_charged {
	uint32_t site;
	const struct sonde_flop_report *report;
};

struct sonde_flop_zone {
	uint64_t calls, total_ns, reports, short_calls;
	double flop, bytes;
	size_t first; /* first of its reports */
};

struct sonde_flop_span {
	uint64_t start_ns, end_ns;
	uint32_t thread;
};

struct sonde_flop {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_works works;
	struct sonde_flop_reports reports;
	struct sonde_flop_sample *samples;
	size_t sample_count, sample_cap, *begins; /* by thread: its first sample */
	uint64_t sampled_ns, beyond;
	struct sonde_flop_zone *zones; /* by site id */
	size_t sites;
	struct sonde_flop_charged *charged; /* by site */
	size_t charged_count;
	uint64_t outside;
	struct sonde_flop_span *spans; /* of counted zones */
	size_t span_count, span_cap;
	uint64_t covered_ns; /* time of threads in counted zones */
	int unread;
	int has_any; /* there are reports, or calls of which none could be counted */
	struct sonde_flop_counted counted;
};

static inline int sonde_flop_is_library_id(const struct sonde_flop *flop, uint32_t site)
{
	return site && sonde_flop_is_library(sonde_session_site(flop->session, site));
}

/* True if there are zones, and calls or events that may report work. Decided without reading events. */
int sonde_flop_has_work(const struct sonde_session *session);

int sonde_flop_section_add(const struct sonde_flop *flop, struct sonde_report *report);

#endif
