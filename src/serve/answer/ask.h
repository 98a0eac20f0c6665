/* ask.h: parses a request for a report: its sections, and the selection shared by the whole page. */
#ifndef SONDE_SERVE_ANSWER_ASK_H
#define SONDE_SERVE_ANSWER_ASK_H

#include "analyze/pass.h"
#include "analyze/selection.h"
#include "serve/http/params.h"
#include "session/session.h"

enum { SONDE_ASK_SECTIONS_MAX = 64, SONDE_ASK_LIMIT_MAX = 1000000 };

struct sonde_ask {
	const struct sonde_pass *passes[SONDE_ASK_SECTIONS_MAX];
	size_t pass_count;
	struct sonde_pass_options pass; /* points into the parameters and the fields below: do not move */
	struct sonde_thread_selection threads;
	uint32_t thread; /* id; 0 = all */
	char thread_is[128];
};

/* Parses the parameters section, from, to, thread, focus, weigh, at, heap, limit. They mean the same as the options of
 * `sonde report` (heap: --heap-of), except that times are in ns and a thread is an id of the recording. -EINVAL with a
 * message; `out` must always be passed to sonde_ask_fini(). */
int sonde_ask_make(struct sonde_ask *out, const struct sonde_session *session, const struct sonde_params *params);

/* Like sonde_ask_make(), for answers that are not reports: accepts only the parameters in `known`, terminated by NULL;
 * all are optional. */
int sonde_ask_part(struct sonde_ask *out, const struct sonde_session *session, const struct sonde_params *params,
		   const char *const *known);
void sonde_ask_fini(struct sonde_ask *ask);

#endif
