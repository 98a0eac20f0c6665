/* answer.h: answers queries about a recording: JSON, as bytes. */
#ifndef SONDE_SERVE_ANSWER_ANSWER_H
#define SONDE_SERVE_ANSWER_ANSWER_H

#include <stdio.h>

#include "report/report.h"
#include "serve/http/params.h"
#include "session/session.h"
#include "util/buf.h"
#include "util/json.h"

/* Starts a JSON object in the initialised `out`; its first member is the version, if that is not 0. NULL with a
 * message. */
FILE *sonde_answer_begin(struct sonde_json *json, struct sonde_buf *out, unsigned version);
/* Ends the object. 0, or -EFBIG with a message. */
int sonde_answer_end(struct sonde_json *json, struct sonde_buf *out);

/* Writes a report in the format "json"; 0, or a negative errno with a message. */
int sonde_answer_json(struct sonde_buf *out, const struct sonde_report *report);

/* A function that writes an answer into the initialised `out`; 0, or a negative errno with a message: -EINVAL if the
 * query is invalid, -EFBIG if the answer exceeds the buffer's maximum. */
typedef int sonde_answer(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out);

/* Overview: file, command, duration, processes, threads, sections. */
sonde_answer sonde_answer_recording;

/* The requested sections, in the report format "json". */
sonde_answer sonde_answer_report;

/* The samples of a thread in order of time, with their stacks. */
sonde_answer sonde_answer_stacks;

/* The tracks of the timeline, and their bins. */
sonde_answer sonde_answer_lanes, sonde_answer_tiles;

/* Single slices of the timeline: by name, arrows between threads, the critical path. */
sonde_answer sonde_answer_find, sonde_answer_arrows, sonde_answer_path;

/* Like sonde_answer, for queries about two recordings; runs[1] is NULL if there is only one. */
typedef int sonde_answer_both(struct sonde_session *const runs[2], const struct sonde_params *params,
			      struct sonde_buf *out);

/* Answers with the list of open recordings. */
sonde_answer_both sonde_answer_runs;

/* Answers with the differences of the two recordings: the same bytes as `sonde diff -f json`. */
sonde_answer_both sonde_answer_diff;

#endif
