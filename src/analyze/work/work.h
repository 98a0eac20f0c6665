/* work.h: FLOP, bytes and items reported by a program, charged to the innermost zone at the time of the report.
 *
 * Reports are read once, when a pass begins; zones are then offered in the order in which they ended. Workers that see
 * different chunks each find the innermost zone that they know of, and merging keeps the deeper one.
 */
#ifndef SONDE_ANALYZE_WORK_WORK_H
#define SONDE_ANALYZE_WORK_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "session/session.h"

/* Limit of kept reports: half a gigabyte, including those of work/flop_reports.h. */
enum { SONDE_WORKS_MOST = 1 << 22 };

struct sonde_work {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t site;  /* innermost zone so far; 0 = none */
	uint32_t depth; /* depth of that zone + 1 */
	double flop, bytes, items;
};

struct sonde_works {
	struct sonde_work *works; /* by thread, then time */
	size_t count, cap;
	size_t *first; /* by thread: its first report; thread_count + 1 values */
	size_t threads;
	uint32_t *stack; /* reports of one batch that are not charged yet */
	uint64_t beyond; /* reports beyond the first `most`, which are left out */
};

/* Reads the first `most` reports of the file (SONDE_WORKS_MOST except in tests). */
int sonde_works_read(struct sonde_works *works, struct sonde_session *session, size_t most);
void sonde_works_fini(struct sonde_works *works);

/* Charges a batch of ZONES. */
void sonde_works_charge(struct sonde_works *works, const struct sonde_batch *batch);
void sonde_works_merge(struct sonde_works *works, const struct sonde_works *other);

/* Notes reports that were left out; 0 or -ENOMEM. */
void sonde_works_note(const struct sonde_works *works, struct sonde_report *report, struct sonde_section *section);

#endif
