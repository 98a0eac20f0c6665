/* open.c: opens a recording, follows one that grows, and implements the getters.
 *
 * META and STACKS chunks are read once, in file order, into tables by id. Whatever depends on all of them (valid ids,
 * frames without symbols, the end time) is settled after each load. Memory is bounded by the file size: each id takes
 * at least a byte of the file, and the reader limits how much chunks may unpack to.
 */
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/clamp.h"
#include "session/lookup.h"
#include "session/meta.h"
#include "session/parts.h"
#include "session/stacks.h"
#include "session/state.h"

#define ID_SPARE 65536u
#define HISTOGRAMS_SPARE 256
#define HISTOGRAM_FILE_B 256 /* a real histogram takes more space in the file */

static void set_limits(struct sonde_session *session)
{
	uint64_t file_b = sonde_reader_size_b(session->reader);
	session->id_max = file_b < UINT32_MAX / 2 ? ID_SPARE + (uint32_t)file_b : UINT32_MAX / 2;
	session->histogram_max = HISTOGRAMS_SPARE + (size_t)(file_b / HISTOGRAM_FILE_B);
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* Damaged or malformed chunks are counted and skipped. */
static int load_chunk(struct sonde_session *session, size_t i, struct sonde_chunk_data *data)
{
	const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
	if (head->type >= SONDE_CHUNK_TYPES || head->version > SONDE_CHUNK_VERSION) {
		session->run.skipped_chunks++;
		return 0;
	}
	if (head->type != SONDE_CHUNK_META && head->type != SONDE_CHUNK_STACKS)
		return 0;
	int rc = sonde_reader_read(session->reader, i, data);
	if (!rc) {
		if (head->type == SONDE_CHUNK_META)
			rc = sonde_meta_load(session, data->body, data->head->raw_b);
		else
			rc = sonde_session_stacks_load(session, data);
		if (rc == -EBADMSG)
			session->run.skipped_chunks++;
	} else if (rc != -EBADMSG) {
		session->run.skipped_chunks++;
	}
	return rc == -ENOMEM ? rc : 0;
}

static int load(struct sonde_session *session)
{
	struct sonde_chunk_data data = {0};
	int rc = 0;
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (; !rc && session->chunks_done < sonde_reader_count(session->reader); session->chunks_done++)
		rc = load_chunk(session, session->chunks_done, &data);
	sonde_buf_fini(&data.buf);
	return rc;
}

/* Finds the times of the first and the last event. The start of a span does not count as an event: a flight recorder
 * may hold nothing else from that long ago. */
static void settle_events(struct sonde_session *session)
{
	struct sonde_run *run = &session->run;
	int found = 0;
	run->first_event_ns = run->last_event_ns = run->start_ns;
	for (size_t i = 0; i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		enum sonde_chunk_times times = sonde_chunk_row(head->type).times;
		if (times == SONDE_CHUNK_TIMES_NONE || !head->count)
			continue;
		if (times == SONDE_CHUNK_TIMES_EVENTS && (!found++ || head->time_min_ns < run->first_event_ns))
			run->first_event_ns = head->time_min_ns;
		if (head->time_max_ns > run->last_event_ns)
			run->last_event_ns = head->time_max_ns;
	}
	if (run->first_event_ns < run->start_ns)
		run->first_event_ns = run->start_ns;
	if (run->first_event_ns > run->last_event_ns)
		run->first_event_ns = run->last_event_ns;
}

/* The end time of a truncated file: its last event or, if in the file, the exit of the command, because the kernel's
 * CPU time extends to it. */
static uint64_t last_known_ns(const struct sonde_session *session)
{
	const struct sonde_run *run = &session->run;
	const struct sonde_process *root = sonde_session_process(session, run->root_process);
	int is_whole = root && run->cpu_known;
	return is_whole && root->end_ns > run->last_event_ns ? root->end_ns : run->last_event_ns;
}

/* A number stored by `sonde merge`: what it could not read of the parts. */
static uint64_t merged_number(const struct sonde_session *session, const char *what)
{
	char key[32];
	snprintf(key, sizeof key, "merged.%s", what);
	const char *text = sonde_session_info(session, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

/* Why the recording does not cover the whole run; NULL = complete, or still being written. */
static const char *incomplete_of(struct sonde_session *session)
{
	const struct sonde_run *run = &session->run;
	const char *error = sonde_session_info(session, "recording.error");
	const char *ended = sonde_session_info(session, "recording.ended_after_ns");
	double after_s = (double)(run->last_event_ns - run->start_ns) / 1e9;
	if (run->growing || (run->closed && !error))
		return NULL;
	if (error && ended)
		return sonde_arena_printf(&session->arena, "%s after %.3f s of %.3f s", error, after_s,
					  strtod(ended, NULL) / 1e9);
	return sonde_arena_printf(&session->arena, "the recorder was killed, or the file was cut off, after %.3f s",
				  after_s);
}

static void settle_run(struct sonde_session *session)
{
	struct sonde_run *run = &session->run;
	int has_close = session->close.head.type != 0;
	run->start_ns = sonde_session_head(session)->start_mono_ns;
	run->closed = has_close;
	run->growing = session->options.growing && !has_close;
	run->status = has_close ? session->close.status : -1;
	run->damaged_b =
	    sonde_reader_damaged_b(session->reader, &run->damaged_at) + merged_number(session, "damaged_b");
	run->file_b = sonde_reader_size_b(session->reader);
	settle_events(session);
	run->user_ns = run->system_ns = 0;
	run->root_process = 0;
	for (size_t i = session->processes.count; i > 0; i--) {
		const struct sonde_process *process = sonde_rows_at(&session->processes, i - 1);
		run->user_ns += process->user_ns;
		run->system_ns += process->system_ns;
		if (!process->parent)
			run->root_process = process->id;
	}
	run->cpu_known = run->user_ns || run->system_ns;
	run->end_ns = has_close ? session->close.time_ns : last_known_ns(session);
	run->wall_ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0;
	run->incomplete = incomplete_of(session);
}

static int settle(struct sonde_session *session)
{
	sonde_session_clamp(session);
	int rc = session->options.no_symbols ? 0 : sonde_lookup_frames(session);
	if (!rc)
		rc = sonde_session_stacks_settle(session);
	settle_run(session);
	int failed = sonde_parts_settle(session);
	failed = failed ? failed : sonde_meta_devices_settle(session);
	return rc ? rc : failed;
}

static void init_rows(struct sonde_session *session)
{
#define SONDE_ROWS(name, rows, row, ...) session->rows.row_b = sizeof(struct row);
#include "session/tables.def"
	session->modules.row_b = sizeof(struct sonde_session_module);
	session->strings.row_b = sizeof(const char *);
	session->infos.row_b = sizeof(struct sonde_session_info);
	session->parts.row_b = sizeof(struct sonde_part);
	sonde_session_stacks_init(&session->stacks);
}

static void forget(struct sonde_session *session, enum sonde_session_keeper keeper)
{
	struct sonde_session_kept *kept = &session->kept[keeper];
	if (kept->free)
		kept->free(kept->data);
	*kept = (struct sonde_session_kept){0};
}

int sonde_session_open(struct sonde_session **out, const char *path, const struct sonde_session_options *options)
{
	struct sonde_session *session = calloc(1, sizeof *session);
	if (!session)
		return sonde_error(ENOMEM, "%s: out of memory", path);
	init_rows(session);
	if (options)
		session->options = *options;
	int fd = options && options->fd ? options->fd : -1;
	int rc = sonde_reader_open_fd(&session->reader, fd, path);
	if (!rc) {
		set_limits(session);
		rc = load(session);
	}
	if (!rc)
		rc = settle(session);
	if (rc) {
		sonde_session_close(session);
		return rc;
	}
	*out = session;
	return 0;
}

void sonde_session_close(struct sonde_session *session)
{
	if (!session)
		return;
	for (unsigned keeper = 0; keeper < SONDE_KEPT_COUNT; keeper++)
		forget(session, (enum sonde_session_keeper)keeper);
	sonde_lookup_fini(session);
	sonde_heap_sums_free(&session->heap_sums);
#define SONDE_ROWS(name, rows, ...) sonde_rows_fini(&session->rows);
#include "session/tables.def"
	sonde_rows_fini(&session->strings);
	sonde_rows_fini(&session->infos);
	sonde_rows_fini(&session->parts);
	sonde_session_stacks_fini(&session->stacks);
	sonde_arena_fini(&session->arena);
	sonde_reader_close(session->reader);
	free(session);
}

int sonde_session_refresh(struct sonde_session *session)
{
	int found = sonde_reader_refresh(session->reader);
	if (found < 0)
		return found;
	set_limits(session);
	sonde_heap_sums_free(&session->heap_sums);
	forget(session, SONDE_KEPT_CRITICAL);
	int rc = load(session);
	if (!rc)
		rc = settle(session);
	return rc ? rc : found;
}

/* --- getters ------------------------------------------------------------------------------------------------------ */

const char *sonde_session_path(const struct sonde_session *session)
{
	return sonde_reader_path(session->reader);
}

const struct sonde_file_head *sonde_session_head(const struct sonde_session *session)
{
	return sonde_reader_head(session->reader);
}

const struct sonde_run *sonde_session_run(const struct sonde_session *session)
{
	return &session->run;
}

uint64_t sonde_session_damaged_b(const struct sonde_session *session)
{
	return sonde_reader_damaged_b(session->reader, NULL) + merged_number(session, "damaged_b");
}

const char *sonde_session_info(const struct sonde_session *session, const char *key)
{
	for (size_t i = session->infos.count; i > 0; i--) {
		const struct sonde_session_info *info = sonde_rows_at(&session->infos, i - 1);
		if (strcmp(info->key, key) == 0)
			return info->value;
	}
	return NULL;
}

void sonde_session_info_at(const struct sonde_session *session, size_t i, const char **key, const char **value)
{
	const struct sonde_session_info *info = sonde_rows_at(&session->infos, i);
	*key = info ? info->key : "";
	*value = info ? info->value : "";
}

const char *sonde_session_string(const struct sonde_session *session, uint32_t id)
{
	const char *const *row = id ? sonde_rows_at(&session->strings, id - 1) : NULL;
	return row ? *row : "";
}

#define COUNT(name, rows)                                                        \
	size_t sonde_session_##name##_count(const struct sonde_session *session) \
	{                                                                        \
		return session->rows.count;                                      \
	}

#define SONDE_ROWS_BY_ID(name, rows, row, ...)                                                   \
	COUNT(name, rows)                                                                        \
	const struct row *sonde_session_##name(const struct sonde_session *session, uint32_t id) \
	{                                                                                        \
		return id ? sonde_rows_at(&session->rows, id - 1) : NULL;                        \
	}

#define SONDE_ROWS(name, rows, row, ...)                                                      \
	COUNT(name, rows)                                                                     \
	const struct row *sonde_session_##name(const struct sonde_session *session, size_t i) \
	{                                                                                     \
		return sonde_rows_at(&session->rows, i);                                      \
	}

#include "session/tables.def"

COUNT(info, infos)
COUNT(node, stacks.nodes)
COUNT(frame, stacks.frames)
COUNT(function, stacks.functions)

const struct sonde_node *sonde_session_node(const struct sonde_session *session, uint32_t id)
{
	return id ? sonde_rows_at(&session->stacks.nodes, id - 1) : NULL;
}

const struct sonde_function *sonde_session_function(const struct sonde_session *session, uint32_t id)
{
	return id ? sonde_rows_at(&session->stacks.functions, id - 1) : NULL;
}

const struct sonde_frame *sonde_session_frame(const struct sonde_session *session, uint32_t index)
{
	return sonde_rows_at(&session->stacks.frames, index);
}

const struct sonde_source_row *sonde_session_source_named(const struct sonde_session *session, const char *name)
{
	for (size_t i = 0; i < sonde_session_source_count(session); i++)
		if (!strcmp(sonde_session_source(session, i)->name, name))
			return sonde_session_source(session, i);
	return NULL;
}

uint64_t sonde_session_period_ns(const struct sonde_session *session)
{
	const struct sonde_source_row *cpu = sonde_session_source_named(session, "cpu");
	int is_known = cpu && cpu->effective_hz >= 1 && cpu->effective_hz <= 1e9;
	return is_known ? (uint64_t)(1e9 / cpu->effective_hz) : 1000000;
}

struct sonde_session_kept *sonde_session_kept(struct sonde_session *session, enum sonde_session_keeper keeper)
{
	return &session->kept[keeper];
}
