/* recording.c: makes recordings with known contents.
 *
 * Chunk bodies are built here from format/record.h alone, so that the reading side is tested against the format and not
 * against the code that records. Zone summaries are computed by plain replay of the chunk's marks.
 */
#include "recording_inside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/varint.h"
#include "fold/hist.h"
#include "fold/nodes.h"
#include "util/buf.h"
#include "util/error.h"

/* --- writing what is buffered ------------------------------------------------------------------------------------- */

static void nodes_write(struct recording *recording)
{
	if (recording->nodes_written == recording->nodes)
		return;
	struct columns columns;
	columns_init(&columns, 3);
	uint64_t address = 0;
	for (size_t i = recording->nodes_written; i < recording->nodes; i++) {
		const struct recording_node *node = &recording->node[i];
		must(sonde_buf_varint(&columns.column[0], i + 1 - node->parent), "parent");
		must(sonde_buf_varint(&columns.column[1], node->module), "module");
		put_zigzag(&columns.column[2], node->address, &address);
	}
	struct sonde_stacks_summary summary = {.first_node = (uint32_t)recording->nodes_written + 1};
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_STACKS,
				    .count = recording->nodes - (uint32_t)recording->nodes_written,
				    .summary = &summary,
				    .summary_b = sizeof summary};
	columns_write(recording, &chunk, &columns);
	recording->nodes_written = recording->nodes;
}

static void samples_write(struct recording *recording)
{
	nodes_write(recording);
	if (!recording->sample_count)
		return;
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_SAMPLES,
				    .count = (uint32_t)recording->sample_count,
				    .time_min_ns = recording->samples[0].time_ns,
				    .time_max_ns = recording->samples[recording->sample_count - 1].time_ns};
	struct columns columns;
	columns_init(&columns, 5);
	uint64_t time = chunk.time_min_ns, stack = 0, weight = 0;
	for (size_t i = 0; i < recording->sample_count; i++) {
		const struct recording_sample *sample = &recording->samples[i];
		put_delta(&columns.column[0], sample->time_ns, &time);
		must(sonde_buf_varint(&columns.column[1], sample->thread), "thread");
		put_zigzag(&columns.column[2], sample->stack, &stack);
		put_zigzag(&columns.column[3], sample->weight_ns, &weight);
		must(sonde_buf_append(&columns.column[4], &sample->status, 1), "status");
	}
	columns_write(recording, &chunk, &columns);
	recording->sample_count = 0;
}

static void switches_write(struct recording *recording)
{
	if (!recording->switch_count)
		return;
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_SWITCHES,
				    .count = (uint32_t)recording->switch_count,
				    .time_min_ns = recording->switches[0].time_ns,
				    .time_max_ns = recording->switches[recording->switch_count - 1].time_ns};
	struct columns columns;
	int has_cpus = 0, has_wakeups = 0;
	for (size_t i = 0; i < recording->switch_count; i++) {
		has_cpus |= recording->switches[i].cpu >= 0;
		has_wakeups |= recording->switches[i].waited_ns != 0;
	}
	has_cpus |= has_wakeups;
	columns_init(&columns, has_wakeups ? 6 : has_cpus ? 4 : 3);
	uint64_t time = chunk.time_min_ns;
	for (size_t i = 0; i < recording->switch_count; i++) {
		if (has_cpus)
			must(sonde_buf_varint(&columns.column[3], (uint64_t)(recording->switches[i].cpu + 1)), "cpu");
		if (has_wakeups) {
			must(sonde_buf_varint(&columns.column[4], recording->switches[i].waited_ns), "waited");
			must(sonde_buf_varint(&columns.column[5], recording->switches[i].by), "by");
		}
		put_delta(&columns.column[0], recording->switches[i].time_ns, &time);
		must(sonde_buf_varint(&columns.column[1], recording->switches[i].thread), "thread");
		must(sonde_buf_append(&columns.column[2], &recording->switches[i].kind, 1), "kind");
	}
	columns_write(recording, &chunk, &columns);
	recording->switch_count = 0;
}

static void points_write(struct recording *recording)
{
	if (!recording->point_count)
		return;
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_SERIES,
				    .count = (uint32_t)recording->point_count,
				    .time_min_ns = recording->points[0].time_ns,
				    .time_max_ns = recording->points[recording->point_count - 1].time_ns};
	struct columns columns;
	columns_init(&columns, 3);
	uint64_t time = chunk.time_min_ns;
	uint64_t *last = calloc(recording->series + 1, sizeof *last);
	must(last ? 0 : -1, "series");
	for (size_t i = 0; i < recording->point_count; i++) {
		const struct recording_point *point = &recording->points[i];
		put_delta(&columns.column[0], point->time_ns, &time);
		must(sonde_buf_varint(&columns.column[1], point->series), "series");
		put_zigzag(&columns.column[2], (uint64_t)point->value, &last[point->series]);
	}
	free(last);
	columns_write(recording, &chunk, &columns);
	recording->point_count = 0;
}

static void waits_write(struct recording *recording)
{
	if (!recording->wait_count)
		return;
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_WAITS, .count = (uint32_t)recording->wait_count, .time_min_ns = UINT64_MAX};
	struct columns columns;
	columns_init(&columns, 9);
	uint64_t start = 0, stack = 0, object = 0;
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct recording_wait *wait = &recording->waits[i];
		uint64_t end_ns = wait->start_ns + wait->dur_ns;
		uint8_t kind = (uint8_t)wait->kind;
		put_zigzag(&columns.column[0], wait->start_ns, &start);
		must(sonde_buf_varint(&columns.column[1], wait->dur_ns), "time");
		must(sonde_buf_varint(&columns.column[2], wait->thread), "thread");
		must(sonde_buf_varint(&columns.column[3], wait->other), "other");
		must(sonde_buf_append(&columns.column[4], &kind, 1), "kind");
		put_zigzag(&columns.column[5], wait->stack, &stack);
		must(sonde_buf_append(&columns.column[6], &wait->status, 1), "status");
		put_zigzag(&columns.column[7], wait->object, &object);
		must(sonde_buf_varint(&columns.column[8], wait->amount), "amount");
		chunk.time_min_ns = wait->start_ns < chunk.time_min_ns ? wait->start_ns : chunk.time_min_ns;
		chunk.time_max_ns = end_ns > chunk.time_max_ns ? end_ns : chunk.time_max_ns;
	}
	columns_write(recording, &chunk, &columns);
	recording->wait_count = 0;
}

static struct sonde_zone_stat *stat_of(struct sonde_zone_stat *stats, uint32_t *count, uint32_t site)
{
	for (uint32_t i = 0; i < *count; i++)
		if (stats[i].site == site)
			return &stats[i];
	stats[*count] = (struct sonde_zone_stat){.site = site, .min_ns = UINT64_MAX};
	return &stats[(*count)++];
}

/* Ends the innermost zone: its duration goes to its site and to its parent's children. */
static void zone_end(struct recording_thread *thread, uint64_t time_ns, struct sonde_zone_stat *stats, uint32_t *sites)
{
	struct sonde_zone_open *zone = &thread->open[--thread->depth];
	uint64_t dur = time_ns - zone->start_ns;
	struct sonde_zone_stat *stat = stat_of(stats, sites, zone->site);
	int recursive = 0;
	for (uint32_t i = 0; i < thread->depth; i++)
		recursive |= thread->open[i].site == zone->site;
	stat->count++;
	stat->total_ns += recursive ? 0 : dur;
	stat->self_ns += dur - zone->child_ns;
	stat->min_ns = dur < stat->min_ns ? dur : stat->min_ns;
	stat->max_ns = dur > stat->max_ns ? dur : stat->max_ns;
	if (thread->depth)
		thread->open[thread->depth - 1].child_ns += dur;
}

/* Behind the statistics. */
static void put_nodes(struct recording *recording, struct sonde_nodes *nodes, struct sonde_buf *out)
{
	sonde_nodes_end(nodes);
	const struct sonde_zone_nodes_head head = {(uint32_t)nodes->data_b, nodes->deeper};
	size_t at = out->len_b;
	must(sonde_buf_append(out, &head, sizeof head), "nodes");
	must(sonde_buf_append(out, nodes->data, nodes->data_b), "nodes");
	if (recording->spoils && recording->spoils <= out->len_b - at)
		out->data[at + recording->spoils - 1] ^= 0x41;
}

/* Writes open zones, statistics and nodes, and leaves in `open` what the next chunk starts with. */
static void zones_summary(struct recording *recording, struct recording_thread *thread, struct sonde_buf *out)
{
	struct sonde_zones_summary head = {.open = thread->depth};
	struct sonde_nodes *nodes = calloc(1, sizeof *nodes);
	must(nodes ? 0 : -1, "nodes");
	nodes->data = malloc(SONDE_NODES_MAX_B(thread->mark_count));
	must(nodes->data ? 0 : -1, "nodes");
	sonde_nodes_begin(nodes, thread->marks[0].time_ns);
	struct sonde_zone_stat *stats = calloc(recording->sites + 1u, sizeof *stats);
	must(stats ? sonde_buf_append(out, &head, sizeof head) : -1, "summary");
	must(sonde_buf_append(out, thread->open, thread->depth * sizeof *thread->open), "summary");
	for (size_t i = 0; i < thread->mark_count; i++) {
		const struct recording_mark *mark = &thread->marks[i];
		const struct sonde_zone_open *open = thread->depth ? &thread->open[thread->depth - 1] : NULL;
		if (mark->site) {
			thread->open[thread->depth++] = (struct sonde_zone_open){mark->site, 0, mark->time_ns, 0};
		} else if (open) {
			sonde_nodes_add_zone(nodes, thread->depth - 1, open->site, open->start_ns,
					     mark->time_ns - open->start_ns);
			zone_end(thread, mark->time_ns, stats, &head.sites);
		} else {
			head.unmatched++;
		}
		must(thread->depth < RECORDING_MAX_DEPTH ? 0 : -1, "too many open zones");
	}
	must(sonde_buf_append(out, stats, head.sites * sizeof *stats), "summary");
	memcpy(out->data, &head, sizeof head);
	if (recording->has_nodes)
		put_nodes(recording, nodes, out);
	free(nodes->data);
	free(nodes);
	free(stats);
}

static void zones_write(struct recording *recording, uint32_t id)
{
	struct recording_thread *thread = recording->thread[id];
	if (!thread->mark_count)
		return;
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_ZONES,
				    .process = recording->process_of[id],
				    .thread = id,
				    .count = (uint32_t)thread->mark_count,
				    .time_min_ns = thread->marks[0].time_ns,
				    .time_max_ns = thread->marks[thread->mark_count - 1].time_ns};
	struct columns columns;
	columns_init(&columns, 2);
	uint64_t time = chunk.time_min_ns;
	for (size_t i = 0; i < thread->mark_count; i++) {
		must(sonde_buf_varint(&columns.column[0], thread->marks[i].site), "site");
		put_delta(&columns.column[1], thread->marks[i].time_ns, &time);
	}
	struct sonde_buf summary;
	sonde_buf_init(&summary, BODY_MAX_B);
	zones_summary(recording, thread, &summary);
	chunk.summary = summary.data;
	chunk.summary_b = (uint32_t)summary.len_b;
	columns_write(recording, &chunk, &columns);
	sonde_buf_fini(&summary);
	thread->mark_count = 0;
}

static void events_write(struct recording *recording, uint32_t id)
{
	struct recording_thread *thread = recording->thread[id];
	if (!thread->event_count)
		return;
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_EVENTS,
				    .process = recording->process_of[id],
				    .thread = id,
				    .count = thread->event_count,
				    .time_min_ns = thread->event_min_ns,
				    .time_max_ns = thread->event_max_ns,
				    .body = thread->events->data,
				    .body_b = (uint32_t)thread->events->len_b};
	must(sonde_writer_chunk(recording->writer, &chunk), "events");
	sonde_buf_clear(thread->events);
	thread->event_count = 0;
}

void recording_flush(struct recording *recording)
{
	recording_heaps_write(recording);
	samples_write(recording);
	switches_write(recording);
	points_write(recording);
	waits_write(recording);
	recording_activities_write(recording);
	for (uint32_t id = 1; id <= recording->threads; id++) {
		zones_write(recording, id);
		events_write(recording, id);
	}
	must(sonde_writer_flush(recording->writer), "flush");
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

void recording_open(struct recording *recording, const char *path)
{
	*recording = (struct recording){.chunk_rows = 1000, .time_every = 1};
	snprintf(recording->path, sizeof recording->path, "%s", path);
	must(sonde_writer_open(&recording->writer, path, &(struct sonde_writer_options){.overwrite = 1}), path);
	must(sonde_writer_commit(recording->writer), path);
}

/* Gives the file a fixed start and id. */
static void head_settle(const struct recording *recording)
{
	struct sonde_file_head head;
	int fd = open(recording->path, O_RDWR | O_CLOEXEC);
	must(fd >= 0 && pread(fd, &head, sizeof head, 0) == sizeof head ? 0 : -1, recording->path);
	head.id[0] = 1;
	head.id[1] = 2;
	head.start_mono_ns = RECORDING_START_NS;
	head.start_real_ns = 1700000000ull * 1000000000ull;
	head.check = 0;
	head.check = XXH3_64bits(&head, sizeof head);
	must(pwrite(fd, &head, sizeof head, 0) == sizeof head ? 0 : -1, recording->path);
	close(fd);
}

static void recording_free(struct recording *recording)
{
	for (uint32_t id = 1; id <= recording->threads; id++) {
		sonde_buf_fini(recording->thread[id]->events);
		free(recording->thread[id]->events);
		free(recording->thread[id]->marks);
		free(recording->thread[id]);
	}
	recording_heaps_free(recording);
	for (size_t i = 0; i < recording->function_count; i++)
		free(recording->functions[i]);
	free(recording->functions);
	free(recording->symbols);
	free(recording->node);
	free(recording->samples);
	free(recording->switches);
	free(recording->points);
	free(recording->waits);
	free(recording->activities);
}

void recording_close(struct recording *recording, uint64_t time_ns, int status)
{
	recording_flush(recording);
	struct sonde_meta_close record = {.head.type = SONDE_META_CLOSE, .time_ns = time_ns, .status = status};
	meta(recording, &record, sizeof record, NULL, 0);
	must(sonde_writer_close(recording->writer), "close");
	head_settle(recording);
	recording_free(recording);
}

void recording_abandon(struct recording *recording)
{
	recording_flush(recording);
	must(sonde_writer_close(recording->writer), "close");
	head_settle(recording);
	recording_free(recording);
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

uint32_t recording_string(struct recording *recording, const char *text)
{
	if (!text || !*text)
		return 0;
	struct sonde_meta_string record = {
	    .head.type = SONDE_META_STRING, .id = ++recording->strings, .len_b = (uint32_t)strlen(text)};
	meta(recording, &record, sizeof record, text, record.len_b);
	return record.id;
}

void recording_info(struct recording *recording, const char *key, const char *value)
{
	struct sonde_meta_info record = {.head.type = SONDE_META_INFO,
					 .key = recording_string(recording, key),
					 .value = recording_string(recording, value)};
	meta(recording, &record, sizeof record, NULL, 0);
}

uint32_t recording_process(struct recording *recording, uint32_t pid, uint32_t parent, const char *name,
			   uint64_t start_ns)
{
	struct sonde_meta_process record = {.head.type = SONDE_META_PROCESS,
					    .id = ++recording->processes,
					    .pid = pid,
					    .parent = parent,
					    .name = recording_string(recording, name),
					    .start_ns = start_ns};
	record.command = record.name;
	meta(recording, &record, sizeof record, NULL, 0);
	return record.id;
}

void recording_process_end(struct recording *recording, uint32_t process, uint64_t time_ns, uint64_t user_ns,
			   uint64_t system_ns)
{
	struct sonde_meta_process_end record = {.head.type = SONDE_META_PROCESS_END,
						.id = process,
						.end_ns = time_ns,
						.user_ns = user_ns,
						.system_ns = system_ns};
	meta(recording, &record, sizeof record, NULL, 0);
}

uint32_t recording_thread(struct recording *recording, uint32_t process, uint32_t tid, const char *name,
			  uint64_t start_ns)
{
	struct sonde_meta_thread record = {.head.type = SONDE_META_THREAD,
					   .id = ++recording->threads,
					   .process = process,
					   .tid = tid,
					   .name = recording_string(recording, name),
					   .start_ns = start_ns};
	must(record.id < RECORDING_MAX_THREADS ? 0 : -1, "too many threads");
	meta(recording, &record, sizeof record, NULL, 0);
	struct recording_thread *thread = calloc(1, sizeof *thread);
	must(thread && (thread->events = calloc(1, sizeof *thread->events)) ? 0 : -1, "out of memory");
	sonde_buf_init(thread->events, BODY_MAX_B);
	recording->process_of[record.id] = process;
	recording->thread[record.id] = thread;
	return record.id;
}

void recording_thread_end(struct recording *recording, uint32_t thread, uint64_t time_ns, uint64_t cpu_ns)
{
	struct sonde_meta_thread_end record = {
	    .head.type = SONDE_META_THREAD_END, .id = thread, .end_ns = time_ns, .cpu_ns = cpu_ns};
	meta(recording, &record, sizeof record, NULL, 0);
}

uint32_t recording_module(struct recording *recording, const char *path, uint32_t flags)
{
	struct sonde_meta_module record = {.head.type = SONDE_META_MODULE,
					   .id = ++recording->modules,
					   .path = recording_string(recording, path),
					   .flags = flags};
	meta(recording, &record, sizeof record, NULL, 0);
	return record.id;
}

uint32_t recording_site(struct recording *recording, uint32_t kind, const char *name, const char *unit)
{
	struct sonde_meta_site record = {.head.type = SONDE_META_SITE,
					 .id = ++recording->sites,
					 .kind = kind,
					 .name = recording_string(recording, name),
					 .function = recording_string(recording, "main"),
					 .file = recording_string(recording, "main.c"),
					 .line = recording->sites,
					 .unit = recording_string(recording, unit)};
	meta(recording, &record, sizeof record, NULL, 0);
	return record.id;
}

void recording_source(struct recording *recording, const char *name, uint32_t state, const char *method,
		      const char *detail, double rate_hz)
{
	struct sonde_meta_source record = {.head.type = SONDE_META_SOURCE,
					   .name = recording_string(recording, name),
					   .state = state,
					   .method = recording_string(recording, method),
					   .detail = recording_string(recording, detail),
					   .rate_hz = rate_hz,
					   .effective_hz = rate_hz};
	meta(recording, &record, sizeof record, NULL, 0);
}

void recording_lost(struct recording *recording, const char *source, const char *cause, uint64_t count)
{
	recording_lost_of(recording, source, cause, 0, count);
}

void recording_lost_of(struct recording *recording, const char *source, const char *cause, uint32_t process,
		       uint64_t count)
{
	struct sonde_meta_lost record = {.head.type = SONDE_META_LOST,
					 .source = recording_string(recording, source),
					 .cause = recording_string(recording, cause),
					 .process = process,
					 .count = count};
	meta(recording, &record, sizeof record, NULL, 0);
}

void recording_cost(struct recording *recording, const char *what, uint64_t value)
{
	struct sonde_meta_cost record = {
	    .head.type = SONDE_META_COST, .what = recording_string(recording, what), .value = value};
	meta(recording, &record, sizeof record, NULL, 0);
}

void recording_histogram(struct recording *recording, uint32_t site, uint32_t process, const uint64_t *values,
			 size_t count)
{
	struct sonde_meta_histogram record = {
	    .head.type = SONDE_META_HISTOGRAM, .site = site, .process = process, .count = count, .min = UINT64_MAX};
	uint64_t *hits = calloc(SONDE_HIST_BUCKETS, sizeof *hits), last = 0;
	must(hits ? 0 : -1, "out of memory");
	for (size_t i = 0; i < count; i++) {
		record.sum += values[i];
		record.min = values[i] < record.min ? values[i] : record.min;
		record.max = values[i] > record.max ? values[i] : record.max;
		hits[sonde_hist_bucket(values[i])]++;
	}
	struct sonde_buf pairs;
	sonde_buf_init(&pairs, BODY_MAX_B);
	for (uint32_t bucket = 0; bucket < SONDE_HIST_BUCKETS; bucket++) {
		if (!hits[bucket])
			continue;
		put_delta(&pairs, bucket, &last);
		must(sonde_buf_varint(&pairs, hits[bucket]), "pairs");
		record.pairs++;
	}
	meta(recording, &record, sizeof record, pairs.data, pairs.len_b);
	sonde_buf_fini(&pairs);
	free(hits);
}

/* --- stacks ------------------------------------------------------------------------------------------------------- */

void recording_symbol(struct recording *recording, uint32_t module, uint64_t address,
		      const struct recording_place *places, uint32_t count)
{
	struct sonde_meta_symbol record = {
	    .head.type = SONDE_META_SYMBOL, .module = module, .count = count, .address = address};
	struct sonde_meta_location locations[16];
	must(count <= 16 ? 0 : -1, "too many locations");
	for (uint32_t i = 0; i < count; i++)
		locations[i] = (struct sonde_meta_location){.function = recording_string(recording, places[i].function),
							    .file = recording_string(recording, places[i].file),
							    .line = places[i].line,
							    .start_line = 1,
							    .start = places[i].start};
	meta(recording, &record, sizeof record, locations, count * sizeof *locations);
}

uint32_t recording_node(struct recording *recording, uint32_t parent, uint32_t module, uint64_t address)
{
	for (uint32_t i = recording->nodes; i > 0 && i + 64 > recording->nodes; i--) {
		const struct recording_node *node = &recording->node[i - 1];
		if (node->parent == parent && node->module == module && node->address == address)
			return i;
	}
	recording->node = grown(recording->node, recording->nodes, &recording->node_cap, sizeof *recording->node);
	recording->node[recording->nodes] = (struct recording_node){parent, module, address};
	return ++recording->nodes;
}

/* Functions of recording_call() lie 64 KiB apart; their line n is at n bytes from the start. */
static uint64_t function_start(struct recording *recording, const char *name)
{
	size_t i = 0;
	while (i < recording->function_count && strcmp(recording->functions[i], name) != 0)
		i++;
	if (i == recording->function_count) {
		recording->functions = grown(recording->functions, recording->function_count, &recording->function_cap,
					     sizeof *recording->functions);
		recording->functions[recording->function_count++] = strdup(name);
	}
	return (i + 1) << 16;
}

uint32_t recording_call(struct recording *recording, uint32_t parent, uint32_t module, const char *function,
			uint32_t line)
{
	uint64_t start = function_start(recording, function), address = start + line;
	size_t i = 0;
	while (i < recording->symbol_count &&
	       (recording->symbols[i].module != module || recording->symbols[i].address != address))
		i++;
	if (i == recording->symbol_count) {
		char file[256];
		snprintf(file, sizeof file, "src/%s.c", function);
		recording_symbol(recording, module, address, &(struct recording_place){function, file, line, start}, 1);
		recording->symbols = grown(recording->symbols, recording->symbol_count, &recording->symbol_cap,
					   sizeof *recording->symbols);
		recording->symbols[recording->symbol_count++] = (struct recording_node){0, module, address};
	}
	return recording_node(recording, parent, module, address);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

void recording_sample(struct recording *recording, struct recording_sample sample)
{
	recording->samples =
	    grown(recording->samples, recording->sample_count, &recording->sample_cap, sizeof *recording->samples);
	recording->samples[recording->sample_count++] = sample;
	if (recording->sample_count >= recording->chunk_rows)
		samples_write(recording);
}

uint32_t recording_series(struct recording *recording, enum sonde_metric metric, uint32_t process, uint32_t thread,
			  const char *object)
{
	const struct sonde_metric_row *row = sonde_metric_row(metric);
	struct sonde_meta_series record = {.head.type = SONDE_META_SERIES,
					   .id = ++recording->series,
					   .kind = row->kind,
					   .name = recording_string(recording, row->name),
					   .unit = *row->unit ? recording_string(recording, row->unit) : 0,
					   .process = process,
					   .thread = thread,
					   .object = *object ? recording_string(recording, object) : 0};
	meta(recording, &record, sizeof record, NULL, 0);
	return record.id;
}

void recording_point(struct recording *recording, uint64_t time_ns, uint32_t series, int64_t value)
{
	recording->points =
	    grown(recording->points, recording->point_count, &recording->point_cap, sizeof *recording->points);
	recording->points[recording->point_count++] = (struct recording_point){time_ns, series, value};
	if (recording->point_count >= recording->chunk_rows)
		points_write(recording);
}

uint32_t recording_object(struct recording *recording, uint32_t process, enum sonde_object_kind kind, const char *name,
			  uint64_t address)
{
	struct sonde_meta_object record = {.head.type = SONDE_META_OBJECT,
					   .id = ++recording->objects,
					   .process = process,
					   .kind = kind,
					   .name = *name ? recording_string(recording, name) : 0,
					   .address = address};
	meta(recording, &record, sizeof record, NULL, 0);
	return record.id;
}

void recording_wait(struct recording *recording, struct recording_wait wait)
{
	recording->waits =
	    grown(recording->waits, recording->wait_count, &recording->wait_cap, sizeof *recording->waits);
	recording->waits[recording->wait_count++] = wait;
	if (recording->wait_count >= recording->chunk_rows)
		waits_write(recording);
}

void recording_switch(struct recording *recording, uint64_t time_ns, uint32_t thread, enum sonde_switch_kind kind)
{
	recording_switch_on(recording, time_ns, thread, kind, -1);
}

static void switch_add(struct recording *recording, struct recording_switch row)
{
	recording->switches =
	    grown(recording->switches, recording->switch_count, &recording->switch_cap, sizeof *recording->switches);
	recording->switches[recording->switch_count++] = row;
	if (recording->switch_count >= recording->chunk_rows)
		switches_write(recording);
}

void recording_switch_on(struct recording *recording, uint64_t time_ns, uint32_t thread, enum sonde_switch_kind kind,
			 int cpu)
{
	switch_add(recording, (struct recording_switch){time_ns, thread, (uint8_t)kind, cpu, 0, 0});
}

void recording_switch_woken(struct recording *recording, uint64_t time_ns, uint32_t thread, int cpu, uint64_t waited_ns,
			    uint32_t by)
{
	switch_add(recording, (struct recording_switch){time_ns, thread, SONDE_SWITCH_IN, cpu, waited_ns + 1, by});
}

void recording_begin(struct recording *recording, uint32_t thread, uint32_t site, uint64_t time_ns)
{
	struct recording_thread *of = recording->thread[thread];
	of->marks = grown(of->marks, of->mark_count, &of->mark_cap, sizeof *of->marks);
	of->marks[of->mark_count++] = (struct recording_mark){site, time_ns};
	if (of->mark_count >= recording->chunk_rows)
		zones_write(recording, thread);
}

void recording_end(struct recording *recording, uint32_t thread, uint64_t time_ns)
{
	recording_begin(recording, thread, 0, time_ns);
}

static void event(struct recording *recording, uint32_t thread, const void *event, size_t size_b)
{
	struct recording_thread *of = recording->thread[thread];
	const struct sonde_event *head = event;
	must(sonde_buf_append(of->events, event, size_b), "event");
	of->event_min_ns = of->event_count ? of->event_min_ns : head->time;
	of->event_max_ns = head->time;
	if (++of->event_count >= recording->chunk_rows)
		events_write(recording, thread);
}

static struct sonde_event head_of(enum sonde_event_type type, uint32_t site, uint64_t time_ns, size_t size_b)
{
	return (struct sonde_event){(uint16_t)type, (uint16_t)(size_b / 8), site, time_ns};
}

void recording_value(struct recording *recording, uint32_t thread, enum sonde_event_type type, uint32_t site,
		     uint64_t time_ns, double value)
{
	struct sonde_event_value record = {head_of(type, site, time_ns, sizeof record), value};
	event(recording, thread, &record, sizeof record);
}

void recording_text(struct recording *recording, uint32_t thread, enum sonde_event_type type, uint32_t site,
		    uint64_t time_ns, const char *text)
{
	struct {
		struct sonde_event_text text;
		char bytes[256];
	} record = {.text.len_b = strlen(text)};
	must(record.text.len_b < sizeof record.bytes ? 0 : -1, "text too long");
	memcpy(record.bytes, text, record.text.len_b);
	size_t size_b = sizeof record.text + (record.text.len_b + 7) / 8 * 8;
	record.text.head = head_of(type, site, time_ns, size_b);
	event(recording, thread, &record, size_b);
}

void recording_span(struct recording *recording, uint32_t thread, enum sonde_event_type type, uint32_t site,
		    uint64_t time_ns, uint64_t id)
{
	struct sonde_event_span record = {head_of(type, site, time_ns, sizeof record), id};
	event(recording, thread, &record, sizeof record);
}

void recording_work(struct recording *recording, uint32_t thread, uint64_t time_ns, double flop, double bytes,
		    double items)
{
	struct sonde_event_work record = {head_of(SONDE_EVENT_WORK, 0, time_ns, sizeof record), flop, bytes, items};
	event(recording, thread, &record, sizeof record);
}

void recording_block(struct recording *recording, uint32_t thread, enum sonde_event_type type, uint32_t site,
		     uint64_t time_ns, uint64_t address, uint64_t size_b)
{
	struct sonde_event_block record = {head_of(type, site, time_ns, sizeof record), address, size_b};
	event(recording, thread, &record, sizeof record);
}

/* A number, or a text. */
static void arg(struct recording *recording, uint32_t thread, uint64_t time_ns, const char *key, uint64_t number,
		const char *text)
{
	struct {
		struct sonde_event_arg arg;
		char bytes[256];
	} record = {.arg = {.bits = number,
			    .kind = text ? SONDE_ARG_TEXT : SONDE_ARG_INT,
			    .key_b = (uint16_t)strlen(key),
			    .value_b = (uint16_t)(text ? strlen(text) : 0)}};
	size_t bytes_b = (size_t)record.arg.key_b + record.arg.value_b;
	must(bytes_b < sizeof record.bytes ? 0 : -1, "key or text too long");
	memcpy(record.bytes, key, record.arg.key_b);
	memcpy(record.bytes + record.arg.key_b, text ? text : "", record.arg.value_b);
	size_t size_b = sizeof record.arg + (bytes_b + 7u) / 8 * 8;
	record.arg.head = head_of(SONDE_EVENT_ARG, 0, time_ns, size_b);
	event(recording, thread, &record, size_b);
}

void recording_arg(struct recording *recording, uint32_t thread, uint64_t time_ns, const char *key, int64_t value)
{
	arg(recording, thread, time_ns, key, (uint64_t)value, NULL);
}

void recording_arg_text(struct recording *recording, uint32_t thread, uint64_t time_ns, const char *key,
			const char *text)
{
	arg(recording, thread, time_ns, key, 0, text);
}
