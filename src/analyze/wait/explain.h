/* explain.h: explains in which calls threads were blocked. */
#ifndef SONDE_ANALYZE_WAIT_EXPLAIN_H
#define SONDE_ANALYZE_WAIT_EXPLAIN_H

#include "analyze/pass.h"
#include "analyze/wait/states.h"
#include "session/wait/cover.h"

struct sonde_explain {
	struct sonde_wait_cover cover;
	uint64_t from_ns, to_ns;
	uint64_t (*ns)[SONDE_WAIT_KINDS]; /* by thread id and kind: time blocked in such calls */
	size_t count;
	int known; /* whether calls were recorded */
	struct sonde_states_also also;
	uint64_t *into; /* target of the interval being added */
};

/* Reads the calls; afterwards pass `also` to sonde_states_read(). -ENOMEM. */
int sonde_explain_init(struct sonde_explain *explain, struct sonde_session *session,
		       const struct sonde_pass_options *options);
void sonde_explain_fini(struct sonde_explain *explain);

/* Explains a thread's blocked time: time inside calls by kind, longest first, and their sum. Never more than
 * blocked_ns: a reduction of the blocked time by scheduler readings applies to all kinds proportionally. */
struct sonde_explained {
	uint64_t ns;
	struct {
		enum sonde_wait_kind kind;
		uint64_t ns;
	} most[SONDE_WAIT_KINDS];
	size_t kinds;
};
void sonde_explain_thread(const struct sonde_explain *explain, const struct sonde_states_row *row, uint32_t thread,
			  struct sonde_explained *out);

/* Adds one thread's explanation to another's; explained->most is merged from both. */
void sonde_explained_add(struct sonde_explained *to, const struct sonde_explained *from);

/* Formats "mutex 60 %, sleep 30 %, not known 10 %", shares of blocked_ns, into `out_b` bytes. */
void sonde_explained_say(const struct sonde_explained *explained, uint64_t blocked_ns, char *out, size_t out_b);

#endif
