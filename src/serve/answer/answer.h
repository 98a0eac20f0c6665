/* answer.h: what a question about a recording is answered with: JSON, as bytes. */
#ifndef SONDE_SERVE_ANSWER_ANSWER_H
#define SONDE_SERVE_ANSWER_ANSWER_H

#include "serve/http/params.h"
#include "session/session.h"
#include "util/buf.h"

/* Answers into `out`, which is initialised; 0, or a negative errno with a sentence: -EINVAL where the question is
 * wrong, -EFBIG where the answer passes the buffer's maximum. */
typedef int sonde_answer(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out);

/* What there is: file, command, length, processes, threads, sections. */
sonde_answer sonde_answer_recording;

/* The sections asked for, in the report format "json". */
sonde_answer sonde_answer_report;

/* The samples of a thread in order of time, with their stacks. */
sonde_answer sonde_answer_stacks;

/* The lanes of the timeline, and bins of them. */
sonde_answer sonde_answer_lanes, sonde_answer_tiles;

/* Single slices of it: those of a name, arrows between threads, the critical path. */
sonde_answer sonde_answer_find, sonde_answer_arrows, sonde_answer_path;

/* The same of what two recordings are asked: the second is NULL where there is one. */
typedef int sonde_answer_both(struct sonde_session *const runs[2], const struct sonde_params *params,
			      struct sonde_buf *out);

/* Which recordings there are. */
sonde_answer_both sonde_answer_runs;

/* What differs between them: the bytes of `sonde diff -f json`. */
sonde_answer_both sonde_answer_diff;

/* {"error": "sentence"} */
int sonde_answer_error(struct sonde_buf *out, const char *sentence);

#endif
