/* ask.h: which report a request asks for: sections, and the selection that the whole page has. */
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
	struct sonde_pass_options pass; /* points into the parameters and into what follows: not to be moved */
	struct sonde_selection selection;
	uint32_t thread; /* id; 0 = all */
	char thread_is[128];
};

/* From the parameters section, from, to, thread, focus, weigh, at, heap, limit: what `sonde report` makes of the options
 * of these names (heap: --heap-of), but times are ns and a thread is an id of the recording. -EINVAL with a sentence; `out` is always to be given
 * to sonde_ask_fini(). */
int sonde_ask_make(struct sonde_ask *out, const struct sonde_session *session, const struct sonde_params *params);

/* The same of an answer that is no report: only the parameters in `known`, which NULL ends; none must be there. */
int sonde_ask_part(struct sonde_ask *out, const struct sonde_session *session, const struct sonde_params *params,
		   const char *const *known);
void sonde_ask_fini(struct sonde_ask *ask);

#endif
