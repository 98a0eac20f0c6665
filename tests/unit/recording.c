/* recording.c: makes recordings with known contents.
 *
 * Chunk bodies are built here from format/record.h alone, so that the reading side is tested against the format and not
 * against the code that records. Zone summaries are computed by plain replay of the chunk's marks.
 */
#include "recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/varint.h"
#include "fold/heap_worth.h"
#include "fold/hist.h"
#include "util/buf.h"
#include "util/error.h"

enum { COLUMNS_MAX = 8, BODY_MAX_B = 64 << 20 };

static void must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "recording: %s: %s\n", what, sonde_error_text());
	abort();
}

static void *grown(void *rows, size_t count, size_t *cap, size_t size_b)
{
	if (count < *cap)
		return rows;
	*cap = *cap ? *cap * 2 : 64;
	rows = realloc(rows, *cap * size_b);
	must(rows ? 0 : -1, "out of memory");
	return rows;
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

struct columns {
	struct sonde_buf column[COLUMNS_MAX];
	uint32_t count;
};

static void columns_init(struct columns *columns, uint32_t count)
{
	columns->count = count;
	for (uint32_t i = 0; i < count; i++)
		sonde_buf_init(&columns->column[i], BODY_MAX_B);
}

static void put_delta(struct sonde_buf *column, uint64_t value, uint64_t *last)
{
	must(sonde_buf_varint(column, value - *last), "column");
	*last = value;
}

static void put_zigzag(struct sonde_buf *column, uint64_t value, uint64_t *last)
{
	must(sonde_buf_varint(column, sonde_varint_zigzag((int64_t)(value - *last))), "column");
	*last = value;
}

/* Writes the chunk with its column directory and frees the columns. */
static void columns_write(struct recording *recording, struct sonde_chunk *chunk, struct columns *columns)
{
	struct sonde_buf body;
	sonde_buf_init(&body, BODY_MAX_B);
	for (uint32_t i = 0; i < columns->count; i++) {
		uint32_t size_b = (uint32_t)columns->column[i].len_b;
		must(sonde_buf_append(&body, &size_b, sizeof size_b), "directory");
	}
	for (uint32_t i = 0; i < columns->count; i++) {
		must(sonde_buf_append(&body, columns->column[i].data, columns->column[i].len_b), "body");
		sonde_buf_fini(&columns->column[i]);
	}
	chunk->body = body.data;
	chunk->body_b = (uint32_t)body.len_b;
	must(sonde_writer_chunk(recording->writer, chunk), "chunk");
	sonde_buf_fini(&body);
}

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
	columns_init(&columns, 3);
	uint64_t time = chunk.time_min_ns;
	for (size_t i = 0; i < recording->switch_count; i++) {
		put_delta(&columns.column[0], recording->switches[i].time_ns, &time);
		must(sonde_buf_varint(&columns.column[1], recording->switches[i].thread), "thread");
		must(sonde_buf_append(&columns.column[2], &recording->switches[i].kind, 1), "kind");
	}
	columns_write(recording, &chunk, &columns);
	recording->switch_count = 0;
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

/* Writes open zones and statistics, and leaves in `open` what the next chunk starts with. */
static void zones_summary(struct recording *recording, struct recording_thread *thread, struct sonde_buf *out)
{
	struct sonde_zones_summary head = {.open = thread->depth};
	struct sonde_zone_stat *stats = calloc(recording->sites + 1u, sizeof *stats);
	must(stats ? sonde_buf_append(out, &head, sizeof head) : -1, "summary");
	must(sonde_buf_append(out, thread->open, thread->depth * sizeof *thread->open), "summary");
	for (size_t i = 0; i < thread->mark_count; i++) {
		const struct recording_mark *mark = &thread->marks[i];
		if (mark->site)
			thread->open[thread->depth++] = (struct sonde_zone_open){mark->site, 0, mark->time_ns, 0};
		else if (thread->depth)
			zone_end(thread, mark->time_ns, stats, &head.sites);
		else
			head.unmatched++;
		must(thread->depth < RECORDING_MAX_DEPTH ? 0 : -1, "too many open zones");
	}
	must(sonde_buf_append(out, stats, head.sites * sizeof *stats), "summary");
	memcpy(out->data, &head, sizeof head);
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

/* --- heaps -------------------------------------------------------------------------------------------------------- */

static unsigned class_of(uint64_t value)
{
	unsigned class = 0;
	while (value >>= 1)
		class ++;
	return class < SONDE_HEAP_CLASSES ? class : SONDE_HEAP_CLASSES - 1;
}

static struct sonde_heap_stat *heap_stat_of(struct sonde_heap_stat *stats, uint32_t *count, uint32_t site)
{
	for (uint32_t i = 0; i < *count; i++)
		if (stats[i].site == site)
			return &stats[i];
	stats[*count] = (struct sonde_heap_stat){.site = site};
	return &stats[(*count)++];
}

/* What an event adds to the summary; `live` is what was alive before it. */
static void heap_sum(struct sonde_heap_summary *head, struct sonde_heap_stat *stats, struct recording_heap *live,
		     const struct recording_block *event, uint32_t number)
{
	struct sonde_heap_worth worth = sonde_heap_worth(event->size_b, head->mean_b);
	struct sonde_heap_stat *stat = heap_stat_of(stats, &head->sites, event->site);
	if (event->ends) {
		stat->ends += worth.blocks;
		stat->ended_b += worth.size_b;
		stat->ended_variance += worth.variance;
		stat->temporary += event->temporary ? (uint32_t)worth.blocks : 0;
		head->life_classes[class_of(event->time_ns - event->born_ns)] += worth.blocks;
		live->before_b -= worth.size_b;
		live->before_blocks -= worth.blocks;
	} else {
		stat->begins += worth.blocks;
		stat->begun_b += worth.size_b;
		stat->begun_variance += worth.variance;
		stat->largest_b = event->size_b > stat->largest_b ? event->size_b : stat->largest_b;
		head->size_classes[class_of(event->size_b)] += worth.blocks;
		live->before_b += worth.size_b;
		live->before_blocks += worth.blocks;
	}
	if (live->before_b > head->peak_b) {
		head->peak_b = live->before_b;
		head->peak_blocks = live->before_blocks;
		head->peak_at = number + 1;
	}
}

/* The number of a site and size in the chunk, in the order in which they come. */
static size_t form_of(const struct recording_heap *heap, struct recording_block *forms, size_t *count, size_t event,
		      struct columns *columns)
{
	const struct recording_block *block = &heap->events[event];
	uint64_t last = *count ? forms[*count - 1].site : 0;
	size_t i = 0;
	while (i < *count && (forms[i].site != block->site || forms[i].size_b != block->size_b))
		i++;
	if (i < *count)
		return i;
	forms[(*count)++] = *block;
	put_zigzag(&columns->column[2], block->site, &last);
	must(sonde_buf_varint(&columns->column[3], block->size_b), "size");
	return i;
}

static void heap_columns(const struct recording_heap *heap, uint32_t every, struct columns *columns)
{
	struct recording_block *forms = calloc(heap->event_count, sizeof *forms);
	uint64_t time = heap->events[0].time_ns;
	size_t form_count = 0;
	must(forms ? 0 : -1, "out of memory");
	for (size_t i = 0; i < heap->event_count; i++) {
		const struct recording_block *event = &heap->events[i];
		size_t form = form_of(heap, forms, &form_count, i, columns);
		must(sonde_buf_varint(&columns->column[0], (uint64_t)form << 1 | event->ends), "block");
		uint8_t life = (uint8_t)(class_of(event->time_ns - event->born_ns) |
					 (event->temporary ? SONDE_HEAP_TEMPORARY : 0));
		must(event->ends ? sonde_buf_append(&columns->column[1], &life, 1) : 0, "life");
		must(sonde_buf_varint(&columns->column[4], event->thread), "thread");
		must(sonde_buf_varint(&columns->column[4], 1), "run");
		if (i % every == 0)
			put_delta(&columns->column[5], event->time_ns, &time);
	}
	free(forms);
}

static void heap_write(struct recording *recording, uint32_t id)
{
	struct recording_heap *heap = recording->heap[id];
	if (!heap->event_count)
		return;
	nodes_write(recording);
	struct sonde_heap_summary head = {.heap = id,
					  .time_every = recording->time_every,
					  .mean_b = recording->mean_b,
					  .live_b = heap->before_b,
					  .live_blocks = heap->before_blocks};
	struct sonde_heap_stat *stats = calloc(recording->heap_sites + 1u, sizeof *stats);
	must(stats ? 0 : -1, "out of memory");
	for (size_t i = 0; i < heap->event_count; i++)
		heap_sum(&head, stats, heap, &heap->events[i], (uint32_t)i);
	struct columns columns;
	columns_init(&columns, 6);
	heap_columns(heap, recording->time_every, &columns);
	struct sonde_buf summary;
	sonde_buf_init(&summary, BODY_MAX_B);
	must(sonde_buf_append(&summary, &head, sizeof head), "summary");
	must(sonde_buf_append(&summary, stats, head.sites * sizeof *stats), "summary");
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_HEAP,
				    .process = recording->heap_process[id],
				    .count = (uint32_t)heap->event_count,
				    .time_min_ns = heap->events[0].time_ns,
				    .time_max_ns = heap->events[heap->event_count - 1].time_ns,
				    .summary = summary.data,
				    .summary_b = (uint32_t)summary.len_b};
	columns_write(recording, &chunk, &columns);
	sonde_buf_fini(&summary);
	free(stats);
	heap->event_count = 0;
}

void recording_flush(struct recording *recording)
{
	for (uint32_t id = 1; id <= recording->heaps; id++)
		heap_write(recording, id);
	samples_write(recording);
	switches_write(recording);
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
	for (uint32_t id = 1; id <= recording->heaps; id++) {
		free(recording->heap[id]->events);
		free(recording->heap[id]->live);
		free(recording->heap[id]);
	}
	for (size_t i = 0; i < recording->function_count; i++)
		free(recording->functions[i]);
	free(recording->functions);
	free(recording->symbols);
	free(recording->node);
	free(recording->samples);
	free(recording->switches);
}

static void meta(struct recording *recording, const void *record, size_t record_b, const void *more, size_t more_b)
{
	must(sonde_writer_meta(recording->writer, record, record_b, more, more_b), "meta");
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
						.time_ns = time_ns,
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
	    .head.type = SONDE_META_THREAD_END, .id = thread, .time_ns = time_ns, .cpu_ns = cpu_ns};
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
	struct sonde_meta_lost record = {.head.type = SONDE_META_LOST,
					 .source = recording_string(recording, source),
					 .cause = recording_string(recording, cause),
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

void recording_switch(struct recording *recording, uint64_t time_ns, uint32_t thread, enum sonde_switch_kind kind)
{
	recording->switches =
	    grown(recording->switches, recording->switch_count, &recording->switch_cap, sizeof *recording->switches);
	recording->switches[recording->switch_count++] = (struct recording_switch){time_ns, thread, (uint8_t)kind};
	if (recording->switch_count >= recording->chunk_rows)
		switches_write(recording);
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

uint32_t recording_heap(struct recording *recording, uint32_t process, enum sonde_heap_kind kind, const char *name)
{
	struct sonde_meta_heap record = {.head.type = SONDE_META_HEAP,
					 .id = ++recording->heaps,
					 .process = process,
					 .kind = kind,
					 .name = recording_string(recording, name)};
	must(record.id < RECORDING_MAX_HEAPS ? 0 : -1, "too many heaps");
	meta(recording, &record, sizeof record, NULL, 0);
	recording->heap[record.id] = calloc(1, sizeof **recording->heap);
	must(recording->heap[record.id] ? 0 : -1, "out of memory");
	recording->heap_process[record.id] = process;
	return record.id;
}

uint32_t recording_heap_site(struct recording *recording, uint32_t heap, uint32_t thread, uint32_t stack)
{
	struct sonde_meta_heap_site record = {.head.type = SONDE_META_HEAP_SITE,
					      .id = ++recording->heap_sites,
					      .heap = heap,
					      .thread = thread,
					      .stack = stack};
	must(record.id < RECORDING_MAX_HEAP_SITES ? 0 : -1, "too many heap sites");
	meta(recording, &record, sizeof record, NULL, 0);
	recording->heap_of[record.id] = heap;
	recording->heap_thread[record.id] = thread;
	return record.id;
}

static void heap_event(struct recording *recording, uint32_t id, struct recording_block event)
{
	struct recording_heap *heap = recording->heap[id];
	heap->events = grown(heap->events, heap->event_count, &heap->event_cap, sizeof *heap->events);
	heap->events[heap->event_count++] = event;
	if (heap->event_count >= recording->chunk_rows)
		heap_write(recording, id);
}

size_t recording_begins(struct recording *recording, uint32_t site, uint64_t time_ns, uint64_t size_b)
{
	uint32_t id = recording->heap_of[site];
	struct recording_heap *heap = recording->heap[id];
	struct recording_block block = {.time_ns = time_ns, .size_b = size_b, .born_ns = time_ns, .site = site};
	block.thread = recording->heap_thread[site];
	heap->live = grown(heap->live, heap->live_count, &heap->live_cap, sizeof *heap->live);
	heap->live[heap->live_count++] = block;
	heap->last = heap->live_count;
	heap_event(recording, id, block);
	return heap->live_count - 1;
}

void recording_ends(struct recording *recording, uint32_t id, size_t block, uint32_t thread, uint64_t time_ns)
{
	struct recording_heap *heap = recording->heap[id];
	struct recording_block event = heap->live[block];
	event.time_ns = time_ns;
	event.thread = thread;
	event.ends = 1;
	event.temporary = heap->last == block + 1;
	heap_event(recording, id, event);
}

void recording_arg(struct recording *recording, uint32_t thread, uint64_t time_ns, const char *key, int64_t value)
{
	struct {
		struct sonde_event_arg arg;
		char bytes[256];
	} record = {.arg = {.bits = (uint64_t)value, .kind = SONDE_ARG_INT, .key_b = (uint16_t)strlen(key)}};
	must(record.arg.key_b < sizeof record.bytes ? 0 : -1, "key too long");
	memcpy(record.bytes, key, record.arg.key_b);
	size_t size_b = sizeof record.arg + (record.arg.key_b + 7u) / 8 * 8;
	record.arg.head = head_of(SONDE_EVENT_ARG, 0, time_ns, size_b);
	event(recording, thread, &record, size_b);
}
