/* recorder.c: the recording being made: puts together strings, tasks, stacks and streams, and writes what is said about
 * it.
 *
 * Order in the file: META records are buffered by the writer and written before the next other chunk; stack nodes are
 * flushed before samples. So what an id names always stands before its first use.
 */
#include "source/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/varint.h"
#include "source/lookup.h"
#include "source/recorder_state.h"
#include "util/error.h"

#define SAMPLES_A_CHUNK 65536u

enum { SAMPLE_TIME, SAMPLE_THREAD, SAMPLE_STACK, SAMPLE_WEIGHT, SAMPLE_STATUS, SAMPLE_COLUMNS };
enum { SWITCH_TIME, SWITCH_THREAD, SWITCH_KIND, SWITCH_CPU, SWITCH_WAITED, SWITCH_BY, SWITCH_COLUMNS };
#define SWITCH_COLUMNS_ALONE SWITCH_WAITED /* where nobody tells who was woken when */

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
	sonde_trie_init(&recorder->stacks, writer, &recorder->strings);
	sonde_streams_init(&recorder->streams, writer);
	sonde_columns_init(&recorder->samples, SAMPLE_COLUMNS);
	sonde_columns_init(&recorder->switches, SWITCH_COLUMNS);
	recorder->switches.count = SWITCH_COLUMNS_ALONE;
	sonde_activities_init(&recorder->activities);
	sonde_call_rows_init(&recorder->calls);
	sonde_points_init(&recorder->points);
	int rc = options->when ? arm(recorder) : 0;
	rc = rc ? rc : sonde_snapshots_new(&recorder->snapshots, recorder, sonde_writer_start_ns(writer));
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
	sonde_columns_fini(&recorder->samples);
	recorder->switches.count = SWITCH_COLUMNS;
	sonde_columns_fini(&recorder->switches);
	sonde_activities_fini(&recorder->activities);
	sonde_call_rows_fini(&recorder->calls);
	sonde_points_fini(&recorder->points);
	sonde_streams_fini(&recorder->streams);
	sonde_trie_fini(&recorder->stacks);
	sonde_tasks_fini(&recorder->tasks);
	sonde_strings_fini(&recorder->strings);
	sonde_map_fini(&recorder->site_map);
	sonde_map_fini(&recorder->heap_map);
	sonde_trigger_fini(&recorder->trigger);
	sonde_snapshots_free(recorder->snapshots);
	free(recorder->sites);
	free(recorder->lost);
	free(recorder);
}

const struct sonde_record_options *sonde_recorder_options(const struct sonde_recorder *recorder)
{
	return &recorder->options;
}

int sonde_recorder_error(const struct sonde_recorder *recorder)
{
	return recorder->error ? recorder->error : sonde_writer_error(recorder->writer);
}

/* --- columns --------------------------------------------------------------------------------------------- */

static void flush_columns(struct sonde_recorder *recorder, struct sonde_columns *columns, uint16_t type)
{
	if (!columns->rows)
		return;
	sonde_recorder_keep_error(recorder, sonde_trie_flush(&recorder->stacks));
	struct sonde_chunk chunk = {
	    .type = type,
	    .time_min_ns = columns->time_min_ns,
	    .time_max_ns = columns->time_max_ns,
	    .count = columns->rows,
	};
	sonde_recorder_keep_error(recorder, sonde_columns_write(columns, recorder->writer, &chunk));
}

static void flush_samples(struct sonde_recorder *recorder)
{
	flush_columns(recorder, &recorder->samples, SONDE_CHUNK_SAMPLES);
	recorder->last_stack = 0;
	recorder->last_weight = 0;
}

int sonde_recorder_flush(struct sonde_recorder *recorder)
{
	flush_samples(recorder);
	flush_columns(recorder, &recorder->switches, SONDE_CHUNK_SWITCHES);
	sonde_recorder_keep_error(recorder, sonde_activities_flush(&recorder->activities, recorder->writer));
	sonde_recorder_keep_error(recorder, sonde_recorder_calls_flush(recorder));
	sonde_recorder_keep_error(recorder, sonde_points_flush(&recorder->points, recorder->writer));
	sonde_recorder_keep_error(recorder, sonde_streams_flush(&recorder->streams));
	sonde_recorder_keep_error(recorder, sonde_writer_flush(recorder->writer));
	return sonde_recorder_error(recorder);
}

int sonde_recorder_triggered(struct sonde_recorder *recorder)
{
	int fired = recorder->trigger.fired;
	recorder->trigger.fired = 0;
	return fired;
}

int sonde_recorder_save(struct sonde_recorder *recorder)
{
	recorder->saves++;
	sonde_recorder_flush(recorder);
	sonde_recorder_keep_error(recorder, sonde_writer_keep_dump(recorder->writer));
	return sonde_recorder_error(recorder);
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

int sonde_recorder_is_told(const struct sonde_recorder *recorder)
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

/* Times of a column only go up: a record that comes late (buffers of several CPUs) takes the time of the one before. */
static uint64_t time_delta(struct sonde_columns *columns, uint64_t *time_ns)
{
	if (!columns->rows) {
		columns->time_min_ns = *time_ns;
		columns->time_max_ns = *time_ns;
		return 0;
	}
	if (*time_ns < columns->time_max_ns)
		*time_ns = columns->time_max_ns;
	uint64_t delta = *time_ns - columns->time_max_ns;
	columns->time_max_ns = *time_ns;
	return delta;
}

void sonde_recorder_sample(struct sonde_recorder *recorder, uint64_t time_ns, uint32_t thread, uint32_t stack,
			   uint64_t weight_ns, uint8_t status)
{
	struct sonde_columns *columns = &recorder->samples;
	sonde_columns_put(columns, SAMPLE_TIME, time_delta(columns, &time_ns));
	sonde_columns_put(columns, SAMPLE_THREAD, thread);
	sonde_columns_put(columns, SAMPLE_STACK, sonde_varint_zigzag((int64_t)stack - (int64_t)recorder->last_stack));
	sonde_columns_put(columns, SAMPLE_WEIGHT, sonde_varint_zigzag((int64_t)(weight_ns - recorder->last_weight)));
	sonde_columns_put_byte(columns, SAMPLE_STATUS, status);
	recorder->last_stack = stack;
	recorder->last_weight = weight_ns;
	recorder->sample_count += (uint64_t)sonde_sample_counts(status);
	if (++columns->rows >= SAMPLES_A_CHUNK)
		flush_samples(recorder);
}

void sonde_recorder_switch(struct sonde_recorder *recorder, const struct sonde_recorder_switch *event)
{
	struct sonde_columns *columns = &recorder->switches;
	uint64_t time_ns = event->time_ns, woken_ns = event->woken_ns;
	if (woken_ns && columns->count == SWITCH_COLUMNS_ALONE) {
		flush_columns(recorder, columns, SONDE_CHUNK_SWITCHES);
		columns->count = SWITCH_COLUMNS;
	}
	sonde_columns_put(columns, SWITCH_TIME, time_delta(columns, &time_ns));
	sonde_columns_put(columns, SWITCH_THREAD, event->thread);
	sonde_columns_put_byte(columns, SWITCH_KIND, (uint8_t)event->kind);
	sonde_columns_put(columns, SWITCH_CPU, event->cpu < 0 ? 0 : (uint64_t)event->cpu + 1);
	if (columns->count == SWITCH_COLUMNS) {
		uint64_t waited_ns = time_ns > woken_ns ? time_ns - woken_ns : 0;
		sonde_columns_put(columns, SWITCH_WAITED, woken_ns ? waited_ns + 1 : 0);
		sonde_columns_put(columns, SWITCH_BY, woken_ns ? event->by : 0);
	}
	if (++columns->rows >= SAMPLES_A_CHUNK)
		flush_columns(recorder, columns, SONDE_CHUNK_SWITCHES);
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

void sonde_recorder_status(struct sonde_recorder *recorder, pid_t pid, const struct sonde_recorder_end *end)
{
	struct sonde_meta_process_end record = {
	    .head.type = SONDE_META_PROCESS_END,
	    .id = sonde_tasks_process(&recorder->tasks, pid, 0),
	    .status = end->status,
	    .time_ns = end->time_ns,
	    .user_ns = end->user_ns,
	    .system_ns = end->system_ns,
	    .peak_rss_b = end->peak_rss_b,
	    .minor_faults = end->minor_faults,
	    .major_faults = end->major_faults,
	    .voluntary_switches = end->voluntary_switches,
	    .involuntary_switches = end->involuntary_switches,
	    .read_b = end->read_b,
	    .written_b = end->written_b,
	};
	if (record.id)
		sonde_writer_meta(recorder->writer, &record, sizeof record, NULL, 0);
}

uint32_t sonde_recorder_module(struct sonde_recorder *recorder, const struct sonde_stack_module_key *key)
{
	return sonde_trie_module(&recorder->stacks, key);
}

uint32_t sonde_recorder_stack(struct sonde_recorder *recorder, const struct sonde_recorder_frame *frames, size_t count)
{
	return sonde_trie_intern(&recorder->stacks, frames, count);
}

int sonde_recorder_stack_below(struct sonde_recorder *recorder, uint32_t node,
			       const struct sonde_recorder_frame *frames, size_t count, uint32_t *nodes)
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
	struct sonde_meta_site *rows = recorder->sites;
	if (!(recorder->site_count & (recorder->site_count + 1)))
		rows = realloc(rows, (2 * (size_t)recorder->site_count + 2) * sizeof *rows);
	if (!rows || sonde_map_add(&recorder->site_map, hash, recorder->site_count + 1)) {
		sonde_recorder_keep_error(recorder, -ENOMEM);
		return 0;
	}
	recorder->sites = rows;
	id = ++recorder->site_count;
	rows[id - 1] = record;
	rows[id - 1].id = id;
	sonde_writer_meta(recorder->writer, &rows[id - 1], sizeof record, NULL, 0);
	return id;
}

int sonde_recorder_ask(struct sonde_recorder *recorder, const struct sonde_snapshot_ask *ask)
{
	return sonde_snapshots_ask(recorder->snapshots, ask);
}

struct sonde_snapshots *sonde_recorder_snapshots(struct sonde_recorder *recorder)
{
	return recorder->snapshots;
}

int sonde_recorder_chunk(struct sonde_recorder *recorder, struct sonde_columns *columns, struct sonde_chunk *chunk)
{
	sonde_recorder_keep_error(recorder, sonde_trie_flush(&recorder->stacks));
	int code = sonde_columns_write(columns, recorder->writer, chunk);
	sonde_recorder_keep_error(recorder, code);
	return code;
}

int sonde_recorder_symbols(struct sonde_recorder *recorder, uint64_t deadline_ns)
{
	return sonde_lookup_symbols(&recorder->stacks, deadline_ns, recorder->options.debuginfod);
}

int sonde_recorder_close(struct sonde_recorder *recorder, int status, uint64_t time_ns)
{
	sonde_recorder_flush(recorder);
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
