/* roofline_calls.h: the calls of zones that reported work: how long they took, and how many threads were in them.
 *
 * Workers keep every call that contains a report. Which call a report belongs to is known only once all workers are
 * merged (work/work.h).
 */
#ifndef SONDE_ANALYZE_WORK_ROOFLINE_CALLS_H
#define SONDE_ANALYZE_WORK_ROOFLINE_CALLS_H

#include "analyze/pass.h"
#include "analyze/work/roofline_work.h"
#include "analyze/work/work.h"

struct sonde_roofline_call {
	uint64_t start_ns, end_ns;
	uint32_t site, thread, depth;
	int reported; /* true if a report was charged to this call, not to a nested one */
};

struct sonde_roofline_calls {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_works works;
	struct sonde_roofline_call *calls;
	size_t count, cap;
	uint64_t *all; /* calls by site id, with or without reports */
	size_t sites;
	/* Results of finish. */
	struct sonde_roofline_work *work; /* sites with work, sorted by site */
	size_t work_count;
	uint64_t outside;    /* reports outside of any zone */
	uint64_t covered_ns; /* time with at least one thread in a call with reports */
};

int sonde_roofline_calls_init(struct sonde_roofline_calls *calls, struct sonde_session *session,
			      const struct sonde_pass_options *options);
void sonde_roofline_calls_fini(struct sonde_roofline_calls *calls);
int sonde_roofline_calls_feed(struct sonde_roofline_calls *calls, const struct sonde_batch *batch);
int sonde_roofline_calls_merge(struct sonde_roofline_calls *calls, const struct sonde_roofline_calls *other);
int sonde_roofline_calls_finish(struct sonde_roofline_calls *calls);

#endif
