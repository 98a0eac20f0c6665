/* chunks.c: merges zones, events, heaps and blocking calls: chunks keep their content except for ids and times.
 *
 * Chunks of one thread or heap depend on each other, so they keep their order; chunks of different recordings are
 * interleaved by the time at which they end. Zones and blocks are not paired again: only the columns with ids are
 * rewritten, all others are copied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/heap_chunk.h"
#include "fold/zones_chunk.h"
#include "format/bodies.h"
#include "merge/out.h"
#include "trace/columns_read.h"
#include "session/heap/heap.h"
#include "trace/columns_write.h"
#include "util/error.h"

#define BATCH 1024u        /* events */
#define NO_SITE UINT32_MAX /* site of zones whose site is lost; not 0, which would end a zone */

/* --- copying ----------------------------------------------------------------------------------------------------- */

static struct sonde_chunk chunk_of(const struct sonde_merge_input *input, const struct sonde_chunk_head *head)
{
	return (struct sonde_chunk){
	    .type = head->type,
	    .process = sonde_merge_process(input, head->process),
	    .thread = sonde_merge_thread(input, head->thread),
	    .time_min_ns = head->time_min_ns + input->shift_ns,
	    .time_max_ns = head->time_max_ns + input->shift_ns,
	    .count = head->count,
	};
}

static void copy_column(struct sonde_columns *into, size_t column, const struct sonde_column *from)
{
	sonde_buf_append(&into->column[column], from[column].at, sonde_column_b(&from[column]));
}

/* For format/bodies.def: copies columns without references, and columns of times, which count from a time that is
 * shifted in the chunk's head. `into` and `from` are variables of the caller, which translates the other columns. */
#define COPY(CHUNK, NAME, coding, values, reference, ...) COPY_##reference(SONDE_##CHUNK##_COLUMN_##NAME)
#define COPY_NONE(column) copy_column(&into, column, from);
#define COPY_TIME(column) copy_column(&into, column, from);
#define COPY_SITE(column)
#define COPY_HEAP_SITE(column)
#define COPY_THREAD(column)

/* --- zones ------------------------------------------------------------------------------------------------------- */

/* Copies the nodes, which follow the sums in the summary; only the nodes' site ids change. Older recordings have no
 * nodes, and malformed ones are dropped: readers then compute them from the zones. */
static void zone_nodes(struct sonde_buf *into, const struct sonde_merge_input *input,
		       const struct sonde_chunk_data *data, const uint8_t *at)
{
	const uint8_t *end = data->summary + data->head->summary_b;
	uint64_t base_ns = data->head->time_min_ns;
	struct sonde_zone_nodes_head head;
	struct sonde_nodes_row node;
	uint32_t depth;
	if ((size_t)(end - at) < sizeof head)
		return;
	memcpy(&head, at, sizeof head);
	at += sizeof head;
	size_t head_at = into->len_b;
	/* Only the site of a node can get longer. */
	if (head.nodes_b > (size_t)(end - at) || into->max_b - into->len_b < sizeof head + 2 * (size_t)head.nodes_b ||
	    !sonde_buf_extend(into, sizeof head))
		return;
	end = at + head.nodes_b;
	while (at < end && (at = sonde_nodes_get(at, end, base_ns, &depth, &node))) {
		uint8_t bytes[SONDE_NODE_MAX_B];
		node.site = sonde_merge_site(input, node.site);
		sonde_buf_append(into, bytes, (size_t)(sonde_nodes_encode(bytes, base_ns, depth, &node) - bytes));
	}
	if (!at || sonde_buf_error(into)) {
		into->len_b = head_at;
		return;
	}
	head.nodes_b = (uint32_t)(into->len_b - head_at - sizeof head);
	memcpy(into->data + head_at, &head, sizeof head);
}

static int zones_summary(struct sonde_buf *into, const struct sonde_merge_input *input,
			 const struct sonde_chunk_data *data)
{
	struct sonde_zones_summary summary;
	size_t left_b = data->head->summary_b;
	if (left_b < sizeof summary)
		return -EBADMSG;
	memcpy(&summary, data->summary, sizeof summary);
	uint64_t rows_b = (uint64_t)summary.open * sizeof(struct sonde_zone_open) +
			  (uint64_t)summary.sites * sizeof(struct sonde_zone_stat);
	if (rows_b > left_b - sizeof summary)
		return -EBADMSG;
	const uint8_t *at = data->summary + sizeof summary;
	sonde_buf_append(into, &summary, sizeof summary);
	for (uint32_t i = 0; i < summary.open; i++, at += sizeof(struct sonde_zone_open)) {
		struct sonde_zone_open open;
		memcpy(&open, at, sizeof open);
		open.site = sonde_merge_site(input, open.site);
		open.start_ns = sonde_merge_time(input, open.start_ns);
		sonde_buf_append(into, &open, sizeof open);
	}
	for (uint32_t i = 0; i < summary.sites; i++, at += sizeof(struct sonde_zone_stat)) {
		struct sonde_zone_stat stat;
		memcpy(&stat, at, sizeof stat);
		stat.site = sonde_merge_site(input, stat.site);
		sonde_buf_append(into, &stat, sizeof stat);
	}
	zone_nodes(into, input, data, at);
	return sonde_buf_error(into);
}

/* Translates the sites of `count` events. */
static int map_zones(struct sonde_columns *into, const struct sonde_merge_input *input, struct sonde_column *from,
		     size_t count)
{
	uint32_t ids[BATCH];
	for (size_t done = 0, part; done < count; done += part) {
		part = count - done < BATCH ? count - done : BATCH;
		for (size_t i = 0; i < part; i++) {
			uint64_t site;
			if (sonde_column_next(from, &site))
				return -EBADMSG;
			uint32_t id = site && site <= UINT32_MAX ? sonde_merge_site(input, (uint32_t)site) : 0;
			ids[i] = site && !id ? NO_SITE : id;
		}
		uint8_t *at = sonde_columns_capacity(into, SONDE_ZONES_COLUMN_SITE, part);
		if (!at)
			return -ENOMEM;
		sonde_columns_used(into, SONDE_ZONES_COLUMN_SITE, sonde_zones_put_sites(at, ids, part));
	}
	return sonde_column_end(from);
}

static int add_zones(struct sonde_merge_out *out, const struct sonde_merge_input *input,
		     const struct sonde_chunk_data *data)
{
	struct sonde_column from[SONDE_ZONES_COLUMNS];
	if (sonde_columns_split(from, SONDE_ZONES_COLUMNS, data))
		return -EBADMSG;
	struct sonde_columns into;
	struct sonde_buf summary;
	sonde_columns_init(&into, SONDE_ZONES_COLUMNS);
	sonde_buf_init(&summary, SONDE_CHUNK_MAX_SUMMARY_B);
	struct sonde_chunk chunk = chunk_of(input, data->head);
	int rc = zones_summary(&summary, input, data);
	SONDE_ZONES_BODY(COPY)
	rc = rc ? rc : map_zones(&into, input, &from[SONDE_ZONES_COLUMN_SITE], data->head->count);
	chunk.summary = summary.data;
	chunk.summary_b = (uint32_t)summary.len_b;
	rc = rc ? rc : sonde_columns_write(&into, out->writer, &chunk);
	sonde_columns_fini(&into);
	sonde_buf_fini(&summary);
	return rc;
}

/* --- heaps ------------------------------------------------------------------------------------------------------- */

static int heap_summary(struct sonde_buf *into, const struct sonde_merge_input *input,
			const struct sonde_chunk_data *data)
{
	struct sonde_heap_summary summary;
	struct sonde_heap_stats stats;
	if (sonde_heap_summary(input->session, data, &summary, &stats) || !summary.heap)
		return -EBADMSG;
	uint32_t before = 0, count = 0;
	summary.heap += input->heaps;
	sonde_buf_append(into, &summary, sizeof summary);
	while (sonde_heap_stats_next(&stats)) {
		uint8_t bytes[SONDE_HEAP_STAT_MOST_B];
		struct sonde_heap_stat row = stats.row;
		row.site = sonde_merge_heap_site(input, row.site);
		sonde_buf_append(into, bytes,
				 (size_t)(sonde_heap_stat_put(bytes, &row, before, stats.sampled) - bytes));
		before = row.site;
		count++;
	}
	return count == summary.sites ? sonde_buf_error(into) : -EBADMSG;
}

static int map_sites(struct sonde_columns *into, size_t column, const struct sonde_merge_input *input,
		     struct sonde_column *from)
{
	uint64_t site = 0, change;
	uint32_t before = 0;
	while (from->at < from->end) {
		if (sonde_column_next(from, &change))
			return -EBADMSG;
		site += (uint64_t)sonde_varint_unzigzag(change);
		uint32_t id = site <= UINT32_MAX ? sonde_merge_heap_site(input, (uint32_t)site) : 0;
		uint8_t *at = sonde_columns_capacity(into, column, 1);
		if (!at)
			return -ENOMEM;
		sonde_columns_used(into, column, sonde_heap_put_site(at, id, before));
		before = id;
	}
	return 0;
}

static int map_threads(struct sonde_columns *into, size_t column, const struct sonde_merge_input *input,
		       struct sonde_column *from)
{
	uint64_t thread, run;
	while (from->at < from->end) {
		if (sonde_column_next(from, &thread) || sonde_column_next(from, &run))
			return -EBADMSG;
		uint32_t id = thread <= UINT32_MAX ? sonde_merge_thread(input, (uint32_t)thread) : 0;
		uint8_t *at = sonde_columns_capacity(into, column, 2);
		if (!at)
			return -ENOMEM;
		sonde_columns_used(into, column, sonde_heap_put_run(at, id, run));
	}
	return 0;
}

static int add_heap(struct sonde_merge_out *out, const struct sonde_merge_input *input,
		    const struct sonde_chunk_data *data)
{
	struct sonde_column from[SONDE_HEAP_COLUMNS];
	if (sonde_columns_split(from, SONDE_HEAP_COLUMNS, data))
		return -EBADMSG;
	struct sonde_columns into;
	struct sonde_buf summary;
	sonde_columns_init(&into, SONDE_HEAP_COLUMNS);
	sonde_buf_init(&summary, SONDE_CHUNK_MAX_SUMMARY_B);
	struct sonde_chunk chunk = chunk_of(input, data->head);
	int rc = heap_summary(&summary, input, data);
	SONDE_HEAP_BODY(COPY)
	rc = rc ? rc : map_sites(&into, SONDE_HEAP_COLUMN_SITE, input, &from[SONDE_HEAP_COLUMN_SITE]);
	rc = rc ? rc : map_threads(&into, SONDE_HEAP_COLUMN_THREAD, input, &from[SONDE_HEAP_COLUMN_THREAD]);
	chunk.summary = summary.data;
	chunk.summary_b = (uint32_t)summary.len_b;
	rc = rc ? rc : sonde_columns_write(&into, out->writer, &chunk);
	sonde_columns_fini(&into);
	sonde_buf_fini(&summary);
	return rc;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static int add_events(struct sonde_merge_out *out, const struct sonde_merge_input *input,
		      const struct sonde_batch *batch)
{
	struct sonde_buf body;
	sonde_buf_init(&body, SONDE_CHUNK_MAX_RAW_B);
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_EVENTS,
				    .process = sonde_merge_process(input, batch->process),
				    .thread = sonde_merge_thread(input, batch->thread),
				    .count = (uint32_t)batch->count};
	for (size_t i = 0; i < batch->count; i++) {
		struct sonde_event event = *batch->events[i];
		event.site = sonde_merge_site(input, event.site);
		event.time = sonde_merge_time(input, event.time);
		if (!i || event.time < chunk.time_min_ns)
			chunk.time_min_ns = event.time;
		if (event.time > chunk.time_max_ns)
			chunk.time_max_ns = event.time;
		sonde_buf_append(&body, &event, sizeof event);
		sonde_buf_append(&body, batch->events[i] + 1, (size_t)event.words * 8 - sizeof event);
	}
	chunk.body = body.data;
	chunk.body_b = (uint32_t)body.len_b;
	int rc = sonde_buf_error(&body);
	if (!rc && batch->count)
		rc = sonde_writer_chunk(out->writer, &chunk);
	sonde_buf_fini(&body);
	return rc;
}

/* --- the order of chunks ----------------------------------------------------------------------------------------- */

/* Current position in a recording. */
struct walk {
	struct sonde_merge_input *input;
	size_t next; /* next chunk */
	struct sonde_cursor *cursor;
};

struct kind {
	enum sonde_chunk_type type;
	/* One of the two is set. */
	int (*raw)(struct sonde_merge_out *out, const struct sonde_merge_input *input,
		   const struct sonde_chunk_data *data);
	int (*decoded)(struct sonde_merge_out *out, const struct sonde_merge_input *input,
		       const struct sonde_batch *batch);
};

/* The head of the next chunk of the type, or NULL. Chunks of newer versions were already counted by the session. */
static const struct sonde_chunk_head *next_of(struct walk *walk, const struct kind *kind)
{
	const struct sonde_index_entry *entry;
	while ((entry = sonde_reader_entry(walk->input->reader, walk->next))) {
		if (entry->head.type == kind->type && entry->head.version <= SONDE_CHUNK_VERSION)
			return &entry->head;
		walk->next++;
	}
	return NULL;
}

static int add_next(struct sonde_merge_out *out, struct walk *walk, const struct kind *kind,
		    struct sonde_chunk_data *data)
{
	const struct sonde_batch *batch;
	int error;
	if (kind->raw) {
		error = sonde_reader_read(walk->input->reader, walk->next, data);
		error = error ? error : kind->raw(out, walk->input, data);
	} else {
		int rc = sonde_cursor_next(walk->cursor, &batch);
		error = rc > 0 ? kind->decoded(out, walk->input, batch) : rc;
	}
	walk->next++;
	if (!error || error == -ENOMEM || sonde_writer_error(out->writer))
		return error;
	out->skipped_chunks++;
	return 0;
}

static struct walk *earliest(struct walk *walks, size_t count, const struct kind *kind)
{
	struct walk *found = NULL;
	uint64_t least_ns = 0;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_chunk_head *head = next_of(&walks[i], kind);
		uint64_t end_ns = head ? head->time_max_ns + walks[i].input->shift_ns : 0;
		if (!head || (found && end_ns >= least_ns))
			continue;
		found = &walks[i];
		least_ns = end_ns;
	}
	return found;
}

static int merge_kind(struct sonde_merge_out *out, const struct kind *kind)
{
	struct sonde_merge_inputs *inputs = out->inputs;
	struct sonde_chunk_data data = {0};
	struct walk *walks = calloc(inputs->count + 1, sizeof *walks), *walk;
	int rc = walks ? 0 : sonde_error(ENOMEM, "out of memory for %zu recordings", inputs->count);
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; !rc && i < inputs->count; i++) {
		walks[i].input = &inputs->input[i];
		if (kind->decoded)
			rc = sonde_cursor_open(&walks[i].cursor, walks[i].input->session, 1u << kind->type);
	}
	while (!rc && (walk = earliest(walks, inputs->count, kind)))
		rc = add_next(out, walk, kind, &data);
	for (size_t i = 0; walks && i < inputs->count; i++)
		sonde_cursor_close(walks[i].cursor);
	sonde_buf_fini(&data.buf);
	free(walks);
	return rc;
}

int sonde_merge_chunks(struct sonde_merge_out *out)
{
	static const struct kind kinds[] = {
	    {SONDE_CHUNK_ZONES, add_zones, NULL},
	    {SONDE_CHUNK_EVENTS, NULL, add_events},
	    {SONDE_CHUNK_HEAP, add_heap, NULL},
	    {SONDE_CHUNK_WAITS, NULL, sonde_merge_batch},
	    {SONDE_CHUNK_ACTIVITIES, NULL, sonde_merge_batch},
	    {SONDE_CHUNK_CALL_STACKS, NULL, sonde_merge_batch},
	};
	int rc = 0;
	for (size_t i = 0; !rc && i < sizeof kinds / sizeof *kinds; i++)
		rc = merge_kind(out, &kinds[i]);
	return rc;
}
