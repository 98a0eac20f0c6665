/* out_records.c: the tables of the imported recording (out.h). Strings, modules and stacks are interned, as in a
 * recorder. */
#include "import/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "import/rows.h"
#include "util/array.h"
#include "util/error.h"

enum { NOTES_MAX = 64 };
#define NAMES_MODULE "[imported]"

static void meta(struct sonde_out *out, const void *record, size_t record_b)
{
	int rc = sonde_writer_meta(out->writer, record, record_b, NULL, 0);
	out->error = out->error ? out->error : rc;
}

/* --- notes -------------------------------------------------------------------------------------------------------- */

void sonde_out_note(struct sonde_import_job *job, const char *format, ...)
{
	struct sonde_import_result *result = job->result;
	va_list args;
	char *text;
	va_start(args, format);
	int len_b = vasprintf(&text, format, args);
	va_end(args);
	char **notes = len_b < 0 || result->note_count >= NOTES_MAX
			   ? NULL
			   : realloc(result->notes, (result->note_count + 1) * sizeof *notes);
	if (!notes) {
		if (len_b >= 0)
			free(text);
		return;
	}
	result->notes = notes;
	notes[result->note_count++] = text;
}

void sonde_out_note_counts(struct sonde_import_job *job, const struct sonde_out_count *counts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (counts[i].count)
			sonde_out_note(job, "%llu %s", (unsigned long long)counts[i].count, counts[i].what);
}

static void notes_write(struct sonde_import_job *job)
{
	for (size_t i = 0; i < job->result->note_count; i++) {
		char key[40];
		snprintf(key, sizeof key, "import.note.%zu", i + 1);
		sonde_out_info(&job->out, key, job->result->notes[i]);
	}
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

uint32_t sonde_out_text(struct sonde_out *out, const char *text)
{
	size_t len_b = text ? strlen(text) : 0;
	uint32_t id = sonde_strings_intern(&out->strings, text, len_b);
	if (len_b && !id && !out->error)
		out->error = sonde_error(ENOMEM, "out of memory or disk for names");
	return id;
}

void sonde_out_info(struct sonde_out *out, const char *key, const char *value)
{
	struct sonde_meta_info record = {
	    .head.type = SONDE_META_INFO, .key = sonde_out_text(out, key), .value = sonde_out_text(out, value)};
	meta(out, &record, sizeof record);
}

void sonde_out_source(struct sonde_out *out, const char *name, const char *method, const char *detail, double rate_hz)
{
	struct sonde_meta_source record = {.head.type = SONDE_META_SOURCE,
					   .name = sonde_out_text(out, name),
					   .state = detail && *detail ? SONDE_SOURCE_LIMITED : SONDE_SOURCE_ON,
					   .method = sonde_out_text(out, method),
					   .detail = sonde_out_text(out, detail),
					   .rate_hz = rate_hz,
					   .effective_hz = rate_hz};
	meta(out, &record, sizeof record);
}

void sonde_out_lost(struct sonde_import_job *job, const char *source, const char *cause, uint64_t count)
{
	struct sonde_meta_lost record = {.head.type = SONDE_META_LOST, .count = count};
	if (!count)
		return;
	record.source = sonde_out_text(&job->out, source);
	record.cause = sonde_out_text(&job->out, cause);
	job->result->lost += count;
	meta(&job->out, &record, sizeof record);
}

void sonde_out_process_again(struct sonde_out *out, uint32_t id, uint32_t pid, uint32_t parent, const char *name,
			     uint64_t start_ns)
{
	struct sonde_meta_process record = {.head.type = SONDE_META_PROCESS,
					    .id = id,
					    .pid = pid,
					    .parent = parent < id ? parent : 0,
					    .name = sonde_out_text(out, name),
					    .start_ns = start_ns};
	meta(out, &record, sizeof record);
}

uint32_t sonde_out_process(struct sonde_out *out, uint32_t pid, uint32_t parent, const char *name, uint64_t start_ns)
{
	sonde_out_process_again(out, ++out->processes, pid, parent, name, start_ns);
	return out->processes;
}

void sonde_out_process_end(struct sonde_out *out, uint32_t process, uint64_t time_ns)
{
	struct sonde_meta_process_end record = {
	    .head.type = SONDE_META_PROCESS_END, .id = process, .status = -1, .end_ns = time_ns};
	meta(out, &record, sizeof record);
}

void sonde_out_thread_again(struct sonde_out *out, uint32_t id, uint32_t process, uint32_t tid, const char *name,
			    uint64_t start_ns)
{
	struct sonde_meta_thread record = {.head.type = SONDE_META_THREAD,
					   .id = id,
					   .process = process,
					   .tid = tid,
					   .name = sonde_out_text(out, name),
					   .start_ns = start_ns};
	meta(out, &record, sizeof record);
}

uint32_t sonde_out_thread(struct sonde_out *out, uint32_t process, uint32_t tid, const char *name, uint64_t start_ns)
{
	sonde_out_thread_again(out, ++out->threads, process, tid, name, start_ns);
	return out->threads;
}

void sonde_out_thread_end(struct sonde_out *out, uint32_t thread, uint64_t time_ns)
{
	struct sonde_meta_thread_end record = {.head.type = SONDE_META_THREAD_END, .id = thread, .end_ns = time_ns};
	meta(out, &record, sizeof record);
}

uint32_t sonde_out_site(struct sonde_out *out, uint32_t kind, const char *name, const char *unit)
{
	struct sonde_meta_site record = {.head.type = SONDE_META_SITE,
					 .id = ++out->sites,
					 .kind = kind,
					 .name = sonde_out_text(out, name),
					 .unit = sonde_out_text(out, unit)};
	meta(out, &record, sizeof record);
	return record.id;
}

/* --- modules and names -------------------------------------------------------------------------------------------- */

uint32_t sonde_out_module(struct sonde_out *out, const char *path, uint32_t flags, const uint8_t *build_id,
			  size_t build_id_b)
{
	struct sonde_stack_module_key key = {
	    .path = path, .build_id = build_id, .build_id_b = build_id_b, .flags = flags, .root_pid = 0};
	return sonde_trie_module(&out->trie, &key);
}

void sonde_out_symbol(struct sonde_out *out, uint32_t module, uint64_t address,
		      const struct sonde_meta_location *places, uint32_t count)
{
	struct sonde_meta_symbol record = {
	    .head.type = SONDE_META_SYMBOL, .module = module, .count = count, .address = address};
	int rc = sonde_writer_meta(out->writer, &record, sizeof record, places, count * sizeof *places);
	out->error = out->error ? out->error : rc;
}

struct name_probe {
	const struct sonde_out *out;
	struct sonde_out_name_row row;
};

static int same_name(const void *context, uint32_t id)
{
	const struct name_probe *probe = context;
	return !memcmp(&probe->out->name_rows[id - 1], &probe->row, sizeof probe->row);
}

static uint32_t name_add(struct sonde_out *out, uint64_t hash, struct sonde_out_name_row row)
{
	if (SONDE_ARRAY_RESERVE(out->name_rows, out->name_cap, out->name_count + 1))
		return 0;
	out->name_rows[out->name_count] = row;
	if (sonde_map_add(&out->names, hash, out->name_count + 1))
		return 0;
	return ++out->name_count;
}

struct sonde_trie_frame sonde_out_name(struct sonde_out *out, const char *function, const char *file, uint32_t line)
{
	struct name_probe probe = {out, {sonde_out_text(out, function), sonde_out_text(out, file), line}};
	uint64_t hash = sonde_hash_pair((uint64_t)probe.row.function << 32 | probe.row.file, line);
	if (!out->names_module)
		out->names_module = sonde_out_module(out, NAMES_MODULE, SONDE_MODULE_SPECIAL, NULL, 0);
	uint32_t id = sonde_map_find(&out->names, hash, same_name, &probe);
	if (!id) {
		id = name_add(out, hash, probe.row);
		if (!id) {
			out->error = sonde_error(ENOMEM, "out of memory for names");
			return (struct sonde_trie_frame){0};
		}
		struct sonde_meta_location place = {
		    .function = probe.row.function, .file = probe.row.file, .line = line, .start = id};
		sonde_out_symbol(out, out->names_module, id, &place, 1);
	}
	return (struct sonde_trie_frame){.module = out->names_module, .address = id};
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

static void from_write(struct sonde_import_job *job)
{
	const char *name = sonde_input_name(job->input), *slash = strrchr(name, '/');
	sonde_out_info(&job->out, "import.from", job->result->format);
	sonde_out_info(&job->out, "import.file", slash ? slash + 1 : name);
}

int sonde_out_begin(struct sonde_import_job *job, uint64_t start_ns, uint64_t real_ns, uint32_t machine)
{
	struct sonde_out *out = &job->out;
	struct sonde_file_head head = {.start_mono_ns = start_ns, .start_real_ns = real_ns, .arch = machine};
	struct sonde_writer_options how = {.fd = job->options->fd, .begun = &head};
	int rc = sonde_writer_open(&out->writer, job->options->name, &how);
	if (rc)
		return rc;
	job->begun = 1;
	out->start_ns = out->last_ns = start_ns;
	sonde_strings_init(&out->strings, out->writer);
	sonde_trie_init(&out->trie, out->writer, &out->strings);
	from_write(job);
	return sonde_rows_init(out);
}

int sonde_out_end(struct sonde_import_job *job, uint64_t end_ns)
{
	struct sonde_out *out = &job->out;
	sonde_rows_flush(job);
	notes_write(job);
	if (end_ns < out->last_ns)
		end_ns = out->last_ns;
	struct sonde_meta_close record = {.head.type = SONDE_META_CLOSE, .time_ns = end_ns, .status = -1};
	meta(out, &record, sizeof record);
	int rc = out->error;
	int closed = sonde_writer_close(out->writer);
	out->writer = NULL;
	return rc ? rc : closed;
}

void sonde_out_fini(struct sonde_import_job *job)
{
	struct sonde_out *out = &job->out;
	if (!job->begun)
		return;
	if (out->writer)
		sonde_writer_discard(out->writer);
	sonde_rows_fini(out);
	sonde_trie_fini(&out->trie);
	sonde_strings_fini(&out->strings);
	sonde_arena_fini(&out->arena);
	sonde_map_fini(&out->names);
	free(out->name_rows);
}
