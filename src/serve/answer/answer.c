/* answer.c: answers queries about a recording.
 *
 * Reports are made by the same passes and format as `sonde report --json`, so their figures are the same.
 */
#include "serve/answer/answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/pass.h"
#include "export/format.h"
#include "report/report.h"
#include "serve/answer/ask.h"
#include "serve/stream.h"
#include "util/error.h"

enum { VERSION = 1 /* of answers that are not reports */, HEAPS_MAX = 256 };

/* --- shared by all answers ---------------------------------------------------------------------------------------- */

FILE *sonde_answer_begin(struct sonde_json *json, struct sonde_buf *out, unsigned version)
{
	FILE *stream = sonde_stream_open(out);
	if (!stream)
		return NULL;
	sonde_json_init(json, stream, 0);
	sonde_json_object(json);
	if (version)
		sonde_json_put_uint(json, "version", version);
	return stream;
}

int sonde_answer_end(struct sonde_json *json, struct sonde_buf *out)
{
	sonde_json_end(json);
	return sonde_stream_close(json->out, out, 0);
}

int sonde_answer_json(struct sonde_buf *out, const struct sonde_report *report)
{
	static const struct sonde_format_options style;
	FILE *stream = sonde_stream_open(out);
	return stream ? sonde_stream_close(stream, out, sonde_format_find("json")->render(report, &style, stream))
		      : -ENOMEM;
}

/* --- the recording ------------------------------------------------------------------------------------------------ */

/* Writes a time relative to the start of the recording; null if it is unknown. */
static void put_time(struct sonde_json *json, const char *key, uint64_t time_ns, uint64_t start_ns)
{
	sonde_json_put_known(json, key, time_ns != 0, time_ns > start_ns ? time_ns - start_ns : 0);
}

static void put_processes(struct sonde_json *json, const struct sonde_session *session)
{
	sonde_json_put_array(json, "processes");
	for (uint32_t id = 1; id <= sonde_session_process_count(session); id++) {
		const struct sonde_process *process = sonde_session_process(session, id);
		sonde_json_object(json);
		sonde_json_put_uint(json, "id", id);
		sonde_json_put_uint(json, "pid", process->pid);
		sonde_json_put_text(json, "name", process->name);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static void put_threads(struct sonde_json *json, const struct sonde_session *session)
{
	uint64_t start_ns = sonde_session_run(session)->start_ns;
	sonde_json_put_array(json, "threads");
	for (uint32_t id = 1; id <= sonde_session_thread_count(session); id++) {
		const struct sonde_thread *thread = sonde_session_thread(session, id);
		sonde_json_object(json);
		sonde_json_put_uint(json, "id", id);
		sonde_json_put_uint(json, "process", thread->process);
		sonde_json_put_uint(json, "tid", thread->tid);
		sonde_json_put_text(json, "name", thread->name);
		put_time(json, "start_ns", thread->start_ns, start_ns);
		put_time(json, "end_ns", thread->end_ns, start_ns);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static void put_sections(struct sonde_json *json, const struct sonde_session *session)
{
	sonde_json_put_array(json, "sections");
	for (size_t i = 0; i < sonde_pass_count; i++)
		if (!sonde_passes[i]->has || sonde_passes[i]->has(session))
			sonde_json_text(json, sonde_passes[i]->name);
	sonde_json_end(json);
}

/* True if stacks can be weighted by this metric. It is not checked whether the recording has any calls or blocks for
 * it. */
static int has_weight(const struct sonde_session *session, const struct sonde_weigh_row *row)
{
	return row->of == SONDE_WEIGH_OF_SAMPLES ? sonde_has_samples(session)
	       : row->of == SONDE_WEIGH_OF_HEAP  ? sonde_has_heap(session)
						 : sonde_has_waits(session);
}

/* Writes the metrics by which stacks can be weighted; the first is the default. */
static void put_weights(struct sonde_json *json, const struct sonde_session *session)
{
	static const char *const units[] = {
	    [SONDE_WEIGH_NS] = "ns", [SONDE_WEIGH_BYTES] = "bytes", [SONDE_WEIGH_BLOCKS] = "count"};
	enum sonde_weigh_by first = sonde_weigh_default(session);
	sonde_json_put_array(json, "weights");
	for (int i = 0; i < SONDE_WEIGH_COUNT; i++) {
		int by = i == 0 ? (int)first : i <= (int)first ? i - 1 : i;
		const struct sonde_weigh_row *row = &sonde_weigh_rows[by];
		if (!has_weight(session, row))
			continue;
		sonde_json_object(json);
		sonde_json_put_text(json, "name", row->name);
		sonde_json_put_text(json, "title", row->title);
		sonde_json_put_text(json, "unit", units[row->unit]);
		sonde_json_put_bool(json, "of_heap", row->of == SONDE_WEIGH_OF_HEAP);
		sonde_json_put_bool(json, "in_range", row->in_range);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

/* Writes the heaps that can be selected with heap=NAME. */
static void put_heaps(struct sonde_json *json, const struct sonde_session *session)
{
	const char *names[HEAPS_MAX];
	size_t count = sonde_weigh_heaps(session, names, HEAPS_MAX);
	sonde_json_put_array(json, "heaps");
	for (size_t i = 0; i < count; i++)
		sonde_json_text(json, names[i]);
	sonde_json_end(json);
}

/* True if anything in the recording has a time, so that the timeline has a track; decided without reading chunks. */
static int has_lanes(const struct sonde_session *session)
{
	for (uint32_t type = 0; type < SONDE_CHUNK_TYPES; type++)
		if (sonde_chunk_row(type).times != SONDE_CHUNK_TIMES_NONE && sonde_weigh_has(session, type))
			return 1;
	return 0;
}

/* Writes the environment and the options of the recorder: "host.cpu", "run.cpus", "option.rate_hz" … */
static void put_environment(struct sonde_json *json, const struct sonde_session *session)
{
	static const char *const prefixes[] = {"host.", "run.", "option."};
	const char *key, *value;
	sonde_json_put_array(json, "environment");
	for (size_t i = 0; i < sonde_session_info_count(session); i++) {
		sonde_session_info_at(session, i, &key, &value);
		size_t at = 0;
		while (at < sizeof prefixes / sizeof *prefixes && strncmp(key, prefixes[at], strlen(prefixes[at])) != 0)
			at++;
		if (at == sizeof prefixes / sizeof *prefixes)
			continue;
		sonde_json_object(json);
		sonde_json_put_text(json, "name", key);
		sonde_json_put_text(json, "value", value);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static const char *command_of(const struct sonde_session *session)
{
	const char *command = sonde_session_info(session, "run.command");
	const struct sonde_process *root = sonde_session_process(session, sonde_session_run(session)->root_process);
	if (command || !root)
		return command ? command : "";
	return *root->command ? root->command : root->name;
}

int sonde_answer_recording(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out)
{
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_json json;
	int rc = sonde_params_check(params, (const char *const[]){NULL});
	if (rc || !sonde_answer_begin(&json, out, VERSION))
		return rc ? rc : -ENOMEM;
	sonde_json_put_text(&json, "file", sonde_session_path(session));
	sonde_json_put_text(&json, "command", command_of(session));
	sonde_json_put_uint(&json, "duration_ns", run->end_ns - run->start_ns);
	put_processes(&json, session);
	put_threads(&json, session);
	put_sections(&json, session);
	sonde_json_put_bool(&json, "timeline", has_lanes(session));
	put_weights(&json, session);
	put_heaps(&json, session);
	put_environment(&json, session);
	return sonde_answer_end(&json, out);
}

/* --- a report ----------------------------------------------------------------------------------------------------- */

static int render(struct sonde_session *session, const struct sonde_ask *ask, struct sonde_buf *out)
{
	struct sonde_report *report;
	int rc = sonde_report_new(&report);
	if (rc)
		return rc;
	rc = sonde_pass_run(session, ask->passes, ask->pass_count, &ask->pass, report);
	rc = rc ? rc : sonde_answer_json(out, report);
	sonde_report_free(report);
	return rc;
}

int sonde_answer_report(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out)
{
	struct sonde_ask ask;
	int rc = sonde_ask_make(&ask, session, params);
	if (!rc)
		rc = render(session, &ask, out);
	sonde_ask_fini(&ask);
	return rc;
}
