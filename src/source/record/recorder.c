/* recorder.c: assembles strings, tasks, stacks and streams into a recording and writes its metadata.
 *
 * Order in the file: the writer buffers META records and writes them before the next chunk of another type; stack nodes
 * are flushed before samples. So the definition of an id always precedes its first use.
 */
#include "source/record/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "source/record/lookup.h"
#include "source/record/recorder_state.h"
#include "util/array.h"
#include "util/error.h"

static void zone_ended(void *context, const struct sonde_pair_zone *zone)
{
	struct sonde_recorder *recorder = context;
	if (zone->site <= recorder->site_count)
		sonde_trigger_zone(&recorder->trigger, recorder->sites[zone->site - 1].name, zone->dur_ns);
}

static int arm(struct sonde_recorder *recorder)
{
	int rc = sonde_trigger_init(&recorder->trigger, recorder->options.when);
	if (rc)
		return rc;
	recorder->trigger.name_id = sonde_recorder_text(recorder, recorder->trigger.name);
	recorder->streams.zone_ended = zone_ended;
	recorder->streams.context = recorder;
	return 0;
}

int sonde_recorder_new(struct sonde_recorder **out, struct sonde_writer *writer,
		       const struct sonde_record_options *options)
{
	struct sonde_recorder *recorder = calloc(1, sizeof *recorder);
	if (!recorder)
		return sonde_error(ENOMEM, "out of memory for the recorder");
	recorder->writer = writer;
	recorder->options = *options;
	sonde_strings_init(&recorder->strings, writer);
	sonde_tasks_init(&recorder->tasks, writer, &recorder->strings);
	recorder->tasks.keep_arguments = options->keep_arguments;
	sonde_trie_init(&recorder->stacks, writer, &recorder->strings);
	sonde_streams_init(&recorder->streams, writer);
	sonde_encoder_init(&recorder->samples, SONDE_CHUNK_SAMPLES, SONDE_ENCODER_ROWS_MANY);
	sonde_encoder_init(&recorder->switches, SONDE_CHUNK_SWITCHES, SONDE_ENCODER_ROWS_MANY);
	sonde_encoder_init(&recorder->activities, SONDE_CHUNK_ACTIVITIES, SONDE_ENCODER_ROWS);
	sonde_encoder_init(&recorder->calls, SONDE_CHUNK_CALL_STACKS, SONDE_ENCODER_ROWS);
	sonde_points_init(&recorder->points);
	int rc = options->when ? arm(recorder) : 0;
	if (rc)
		sonde_recorder_free(recorder);
	else
		*out = recorder;
	return rc;
}

void sonde_recorder_free(struct sonde_recorder *recorder)
{
	if (!recorder)
		return;
	sonde_encoder_fini(&recorder->samples);
	sonde_encoder_fini(&recorder->switches);
	sonde_encoder_fini(&recorder->activities);
	sonde_encoder_fini(&recorder->calls);
	sonde_points_fini(&recorder->points);
	sonde_streams_fini(&recorder->streams);
	sonde_trie_fini(&recorder->stacks);
	sonde_tasks_fini(&recorder->tasks);
	sonde_strings_fini(&recorder->strings);
	sonde_map_fini(&recorder->site_map);
	sonde_map_fini(&recorder->heap_map);
	sonde_trigger_fini(&recorder->trigger);
	free(recorder->sites);
	free(recorder->lost);
	free(recorder);
}

const struct sonde_record_options *sonde_recorder_options(const struct sonde_recorder *recorder)
{
	return &recorder->options;
}

/* --- rows ------------------------------------------------------------------------------------------------ */

/* Writes the rows, and before them the stacks and strings that they refer to. */
int sonde_recorder_rows(struct sonde_recorder *recorder, struct sonde_encoder *rows)
{
	if (!sonde_encoder_rows(rows))
		return 0;
	sonde_recorder_keep_error(recorder, sonde_trie_flush(&recorder->stacks));
	int rc = sonde_encoder_flush(rows, recorder->writer);
	sonde_recorder_keep_error(recorder, rc);
	return rc;
}

int sonde_recorder_flush(struct sonde_recorder *recorder)
{
	sonde_recorder_rows(recorder, &recorder->samples);
	sonde_recorder_rows(recorder, &recorder->switches);
	sonde_recorder_rows(recorder, &recorder->activities);
	sonde_recorder_rows(recorder, &recorder->calls);
	sonde_recorder_keep_error(recorder, sonde_points_flush(&recorder->points, recorder->writer));
	sonde_recorder_keep_error(recorder, sonde_streams_flush(&recorder->streams));
	sonde_recorder_keep_error(recorder, sonde_writer_flush(recorder->writer));
	return recorder->error ? recorder->error : sonde_writer_error(recorder->writer);
}

int sonde_recorder_triggered(struct sonde_recorder *recorder)
{
	int fired = recorder->trigger.fired;
	recorder->trigger.fired = 0;
	return fired;
}

void sonde_recorder_save(struct sonde_recorder *recorder)
{
	recorder->saves++;
	sonde_recorder_flush(recorder);
	sonde_recorder_keep_error(recorder, sonde_writer_keep_dump(recorder->writer));
}

unsigned sonde_recorder_saves(const struct sonde_recorder *recorder)
{
	return recorder->saves;
}

uint64_t sonde_recorder_sample_count(const struct sonde_recorder *recorder)
{
	return recorder->sample_count;
}

uint32_t sonde_recorder_process_count(const struct sonde_recorder *recorder)
{
	return recorder->tasks.processes.made;
}

void sonde_recorder_tells(struct sonde_recorder *recorder)
{
	recorder->is_told = 1;
}

int sonde_recorder_is_recorded(const struct sonde_recorder *recorder)
{
	return recorder->is_told;
}

uint32_t sonde_recorder_alive(const struct sonde_recorder *recorder, pid_t pid)
{
	return sonde_tasks_alive(&recorder->tasks, pid);
}

size_t sonde_recorder_live(const struct sonde_recorder *recorder, uint32_t after, struct sonde_recorder_live *out,
			   size_t max)
{
	size_t count = 0;
	const struct sonde_task_process *process;
	while (count < max && (process = sonde_tasks_next_live(&recorder->tasks, after))) {
		after = process->task.id;
		out[count++] = (struct sonde_recorder_live){after, process->task.number};
	}
	return count;
}

void sonde_recorder_sample(struct sonde_recorder *recorder, uint64_t time_ns, uint32_t thread, uint32_t stack,
			   uint64_t weight_ns, uint8_t status)
{
	struct sonde_samples_row row = {
	    .time_ns = time_ns, .thread = thread, .stack = stack, .weight_ns = weight_ns, .status = status};
	recorder->sample_count += (uint64_t)sonde_sample_counts(status);
	if (sonde_encoder_samples(&recorder->samples, &row))
		sonde_recorder_rows(recorder, &recorder->samples);
}

void sonde_recorder_switch(struct sonde_recorder *recorder, const struct sonde_recorder_switch *event)
{
	struct sonde_encoder *switches = &recorder->switches;
	uint64_t until_ns = sonde_encoder_until_ns(switches), woken_ns = event->woken_ns;
	struct sonde_switches_row row = {
	    .time_ns = event->time_ns > until_ns ? event->time_ns : until_ns, /* may be late: buffers are per CPU */
	    .thread = event->thread,
	    .kind = (uint8_t)event->kind,
	    .cpu = event->cpu < 0 ? 0 : (uint32_t)event->cpu + 1,
	};
	if (woken_ns) {
		row.waited_ns = (row.time_ns > woken_ns ? row.time_ns - woken_ns : 0) + 1;
		row.by = event->by;
	}
	if (sonde_encoder_switches(switches, &row))
		sonde_recorder_rows(recorder, switches);
}

void sonde_recorder_zones(struct sonde_recorder *recorder, uint32_t process, uint32_t thread, const uint32_t *sites,
			  const uint64_t *times_ns, size_t count)
{
	sonde_recorder_keep_error(recorder,
				  sonde_streams_zones(&recorder->streams, process, thread, sites, times_ns, count));
}

void sonde_recorder_thread_end(struct sonde_recorder *recorder, uint32_t thread)
{
	sonde_recorder_keep_error(recorder, sonde_streams_end(&recorder->streams, thread));
}

void sonde_recorder_event(struct sonde_recorder *recorder, uint32_t process, uint32_t thread,
			  const struct sonde_event *event)
{
	sonde_recorder_keep_error(recorder, sonde_streams_event(&recorder->streams, process, thread, event));
	if (event->type == SONDE_EVENT_THREAD_NAME) {
		const struct sonde_event_text *name = (const void *)event;
		sonde_tasks_call(&recorder->tasks, thread, (const char *)(name + 1), name->len_b, event->time);
	}
	int is_span = event->type == SONDE_EVENT_SPAN_BEGIN || event->type == SONDE_EVENT_SPAN_END;
	if (!recorder->options.when || !is_span)
		return;
	uint32_t name = event->site && event->site <= recorder->site_count ? recorder->sites[event->site - 1].name : 0;
	sonde_trigger_span(&recorder->trigger, process, (const struct sonde_event_span *)event, name);
}

/* --- ids ------------------------------------------------------------------------------------------------- */

uint32_t sonde_recorder_string(struct sonde_recorder *recorder, const char *text, size_t len_b)
{
	return sonde_strings_intern(&recorder->strings, text, len_b);
}

uint32_t sonde_recorder_text(struct sonde_recorder *recorder, const char *text)
{
	return text ? sonde_strings_intern(&recorder->strings, text, strlen(text)) : 0;
}

uint32_t sonde_recorder_process(struct sonde_recorder *recorder, pid_t pid, uint64_t time_ns)
{
	return sonde_tasks_process(&recorder->tasks, pid, time_ns);
}

uint32_t sonde_recorder_thread(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns)
{
	return sonde_tasks_thread(&recorder->tasks, pid, tid, time_ns);
}

uint32_t sonde_recorder_known(const struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns)
{
	return sonde_tasks_known(&recorder->tasks, pid, tid, time_ns);
}

void sonde_recorder_born(struct sonde_recorder *recorder, uint32_t thread, uint64_t start_ns)
{
	sonde_tasks_born(&recorder->tasks, thread, start_ns);
}

void sonde_recorder_fork(struct sonde_recorder *recorder, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns)
{
	sonde_tasks_fork(&recorder->tasks, parent, pid, tid, time_ns);
}

void sonde_recorder_comm(struct sonde_recorder *recorder, pid_t pid, pid_t tid, const char *name, int exec,
			 uint64_t time_ns)
{
	sonde_tasks_comm(&recorder->tasks, pid, tid, name, exec, time_ns);
}

void sonde_recorder_exit(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns)
{
	sonde_tasks_exit(&recorder->tasks, pid, tid, cpu_ns, time_ns);
}

void sonde_recorder_status(struct sonde_recorder *recorder, pid_t pid, struct sonde_meta_process_end *record)
{
	record->head.type = SONDE_META_PROCESS_END;
	record->id = sonde_tasks_process(&recorder->tasks, pid, 0);
	if (record->id)
		sonde_writer_meta(recorder->writer, record, sizeof *record, NULL, 0);
}

uint32_t sonde_recorder_module(struct sonde_recorder *recorder, const struct sonde_stack_module_key *key)
{
	return sonde_trie_module(&recorder->stacks, key);
}

uint32_t sonde_recorder_stack(struct sonde_recorder *recorder, const struct sonde_trie_frame *frames, size_t count)
{
	return sonde_trie_intern(&recorder->stacks, frames, count);
}

int sonde_recorder_stack_below(struct sonde_recorder *recorder, uint32_t node, const struct sonde_trie_frame *frames,
			       size_t count, uint32_t *nodes)
{
	return sonde_trie_extend(&recorder->stacks, node, frames, count, nodes);
}

struct site_probe {
	const struct sonde_meta_site *rows;
	struct sonde_meta_site site;
};

static int same_site(const void *context, uint32_t id)
{
	const struct site_probe *probe = context;
	struct sonde_meta_site row = probe->rows[id - 1];
	row.id = 0;
	return !memcmp(&row, &probe->site, sizeof row);
}

uint32_t sonde_recorder_site(struct sonde_recorder *recorder, const struct sonde_recorder_site *site)
{
	struct sonde_meta_site record = {
	    .head.type = SONDE_META_SITE,
	    .kind = site->kind,
	    .name = sonde_recorder_text(recorder, site->name),
	    .function = sonde_recorder_text(recorder, site->function),
	    .file = sonde_recorder_text(recorder, site->file),
	    .line = site->line,
	    .color = site->color,
	    .unit = sonde_recorder_text(recorder, site->unit),
	};
	uint64_t hash = sonde_hash_bytes(&record, sizeof record);
	struct site_probe probe = {recorder->sites, record};
	uint32_t id = sonde_map_find(&recorder->site_map, hash, same_site, &probe);
	if (id)
		return id;
	if (SONDE_ARRAY_RESERVE(recorder->sites, recorder->site_cap, recorder->site_count + 1) ||
	    sonde_map_add(&recorder->site_map, hash, recorder->site_count + 1)) {
		sonde_recorder_keep_error(recorder, -ENOMEM);
		return 0;
	}
	struct sonde_meta_site *row = &recorder->sites[recorder->site_count++];
	*row = record;
	row->id = recorder->site_count;
	sonde_writer_meta(recorder->writer, row, sizeof *row, NULL, 0);
	return row->id;
}

int sonde_recorder_chunk(struct sonde_recorder *recorder, struct sonde_columns *columns, struct sonde_chunk *chunk)
{
	sonde_recorder_keep_error(recorder, sonde_trie_flush(&recorder->stacks));
	int code = sonde_columns_write(columns, recorder->writer, chunk);
	sonde_recorder_keep_error(recorder, code);
	return code;
}

uint64_t sonde_recorder_place(struct sonde_recorder *recorder, uint32_t module,
			      const struct sonde_trie_location *locations, size_t count)
{
	uint64_t address = ++recorder->places * SONDE_RECORDER_PLACE_B;
	sonde_recorder_keep_error(recorder, sonde_trie_symbol(&recorder->stacks, module, address, locations, count));
	return address;
}

int sonde_recorder_symbols(struct sonde_recorder *recorder, uint64_t deadline_ns)
{
	return sonde_lookup_symbols(&recorder->stacks, deadline_ns, recorder->options.debuginfod);
}

/* The reason as reports show it. */
static const char *stopped_by(int error)
{
	switch (error) {
	case -ENOSPC:
		return "disk full";
	case -EDQUOT:
		return "disk quota reached";
	case -EFBIG:
		return "file size limit reached (ulimit -f)";
	default:
		return strerror(-error);
	}
}

static void say_stopped(struct sonde_recorder *recorder, int error, uint64_t time_ns)
{
	char after[32];
	snprintf(after, sizeof after, "%" PRIu64, time_ns - sonde_writer_start_ns(recorder->writer));
	sonde_recorder_info(recorder, "recording.error", stopped_by(error));
	sonde_recorder_info(recorder, "recording.ended_after_ns", after);
}

int sonde_recorder_close(struct sonde_recorder *recorder, int status, uint64_t time_ns)
{
	sonde_recorder_flush(recorder);
	int unwritten = sonde_writer_error(recorder->writer);
	if (unwritten) {
		sonde_writer_last_words(recorder->writer);
		say_stopped(recorder, unwritten, time_ns);
		sonde_writer_flush(recorder->writer);
		return unwritten;
	}
	if (recorder->error)
		say_stopped(recorder, recorder->error, time_ns);
	for (size_t i = 0; i < recorder->lost_count; i++)
		sonde_writer_meta(recorder->writer, &recorder->lost[i], sizeof recorder->lost[i], NULL, 0);
	struct sonde_meta_close record = {
	    .head.type = SONDE_META_CLOSE,
	    .time_ns = time_ns,
	    .status = status,
	};
	sonde_writer_meta(recorder->writer, &record, sizeof record, NULL, 0);
	return sonde_recorder_flush(recorder);
}
