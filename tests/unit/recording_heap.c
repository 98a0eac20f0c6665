/* recording_heap.c: heaps of a recording with known contents.
 *
 * Summaries are computed by plain replay of the chunk's events.
 */
#include "recording_inside.h"

#include "fold/heap_stat.h"
#include "fold/heap_worth.h"

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
	for (uint32_t i = 0, site = 0; i < head.sites; site = stats[i++].site) {
		uint8_t row[SONDE_HEAP_STAT_MOST_B];
		size_t row_b = (size_t)(sonde_heap_stat_put(row, &stats[i], site, head.mean_b != 0) - row);
		must(sonde_buf_append(&summary, row, row_b), "summary");
	}
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

void recording_heaps_write(struct recording *recording)
{
	for (uint32_t id = 1; id <= recording->heaps; id++)
		heap_write(recording, id);
}

void recording_heaps_free(struct recording *recording)
{
	for (uint32_t id = 1; id <= recording->heaps; id++) {
		free(recording->heap[id]->events);
		free(recording->heap[id]->live);
		free(recording->heap[id]);
	}
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

void recording_leak(struct recording *recording, uint32_t site, enum sonde_heap_leak kind, uint64_t blocks,
		    uint64_t size_b, const char *detail)
{
	struct sonde_meta_heap_leak record = {.head.type = SONDE_META_HEAP_LEAK,
					      .site = site,
					      .kind = kind,
					      .blocks = blocks,
					      .size_b = size_b,
					      .variance = (double)size_b * (double)recording->mean_b,
					      .detail = detail ? recording_string(recording, detail) : 0};
	meta(recording, &record, sizeof record, NULL, 0);
}
