/* cursor.c: walks the chunks of the wanted types and decodes one at a time.
 *
 * A cursor owns all memory that a batch points to, so that several may run at once over one session. Ids that do not
 * exist become 0 here, once, and no pass has to look again. Each type is a row: how its chunk becomes a batch.
 */
#include <stdlib.h>
#include <string.h>

#include "session/activities.h"
#include "session/columns.h"
#include "session/heap.h"
#include "session/state.h"
#include "session/wanted.h"
#include "session/zones.h"

#define SCRATCH_MAX_B ((size_t)SONDE_CHUNK_MAX_RAW_B * 32)

struct sonde_cursor {
	struct sonde_session *session;
	uint32_t types;
	uint32_t threads, nodes, sites; /* how many there were when it was opened */
	size_t next;                    /* chunk */
	unsigned part, parts;           /* decodes the chunks whose number among their type ÷ parts leaves this rest */
	size_t seen[SONDE_CHUNK_TYPES]; /* by type: wanted chunks so far, of all parts */
	struct sonde_cursor_wanted wanted;
	size_t *newest;      /* by thread: its last ZONES chunk, + 1; NULL = all is wanted */
	uint32_t unfinished; /* thread whose open zones come next */
	struct sonde_chunk_data data;
	struct sonde_buf scratch; /* columns of SAMPLES and SWITCHES, pointers of EVENTS */
	struct sonde_zones zones;
	struct sonde_batch batch;
};

static void *scratch(struct sonde_cursor *cursor, size_t size_b)
{
	sonde_buf_clear(&cursor->scratch);
	return sonde_buf_extend(&cursor->scratch, size_b + 1);
}

/* A column of bytes is used where it is. */
static int take_bytes(const struct sonde_column *column, size_t count, const uint8_t **out)
{
	*out = column->at;
	return sonde_column_b(column) == count ? 0 : -EBADMSG;
}

static int decode_samples(struct sonde_cursor *cursor)
{
	const struct sonde_chunk_head *head = cursor->data.head;
	struct sonde_batch *batch = &cursor->batch;
	struct sonde_column columns[5];
	size_t count = head->count;
	if (sonde_columns_split(columns, 5, &cursor->data) || count > sonde_column_b(&columns[0]))
		return -EBADMSG;
	uint64_t *times = scratch(cursor, count * (2 * sizeof(uint64_t) + 2 * sizeof(uint32_t)));
	if (!times)
		return sonde_buf_error(&cursor->scratch);
	uint64_t *weights = times + count;
	uint32_t *threads = (uint32_t *)(weights + count);
	uint32_t *stacks = threads + count;
	if (sonde_column_times(&columns[0], count, head->time_min_ns, times) ||
	    sonde_column_ids(&columns[1], count, cursor->threads, threads) ||
	    sonde_column_id_deltas(&columns[2], count, cursor->nodes, stacks) ||
	    sonde_column_deltas(&columns[3], count, weights) || take_bytes(&columns[4], count, &batch->status))
		return -EBADMSG;
	for (size_t i = 0; i < 4; i++)
		if (sonde_column_end(&columns[i]))
			return -EBADMSG;
	batch->count = count;
	batch->time_ns = times;
	batch->thread_of = threads;
	batch->stack = stacks;
	batch->weight_ns = weights;
	return 0;
}

/* Splits a chunk of switches: 6 columns, 4 where wakers are not known, 3 in older files; −EBADMSG. */
static int split_switches(struct sonde_column columns[6], const struct sonde_chunk_data *data)
{
	static const int counts[] = {6, 4, 3};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (!sonde_columns_split(columns, (size_t)counts[i], data))
			return counts[i];
	return -EBADMSG;
}

static int decode_switches(struct sonde_cursor *cursor)
{
	const struct sonde_chunk_head *head = cursor->data.head;
	struct sonde_batch *batch = &cursor->batch;
	struct sonde_column columns[6];
	size_t count = head->count;
	int known = split_switches(columns, &cursor->data);
	if (known < 0 || count > sonde_column_b(&columns[0]))
		return -EBADMSG;
	uint64_t *times = scratch(cursor, count * (2 * sizeof(uint64_t) + 3 * sizeof(uint32_t)));
	if (!times)
		return sonde_buf_error(&cursor->scratch);
	uint64_t *waited = times + count;
	uint32_t *threads = (uint32_t *)(waited + count), *cpus = threads + count, *by = cpus + count;
	memset(waited, 0, count * sizeof *waited);
	memset(cpus, 0, 2 * count * sizeof *cpus);
	if (known >= 4 && (sonde_column_ids(&columns[3], count, UINT32_MAX, cpus) || sonde_column_end(&columns[3])))
		return -EBADMSG;
	for (size_t i = 0; known == 6 && i < count; i++)
		if (sonde_column_next(&columns[4], &waited[i]))
			return -EBADMSG;
	if (known == 6 && (sonde_column_end(&columns[4]) || sonde_column_ids(&columns[5], count, cursor->threads, by) ||
			   sonde_column_end(&columns[5])))
		return -EBADMSG;
	if (sonde_column_times(&columns[0], count, head->time_min_ns, times) ||
	    sonde_column_ids(&columns[1], count, cursor->threads, threads) ||
	    take_bytes(&columns[2], count, &batch->kind) || sonde_column_end(&columns[0]) ||
	    sonde_column_end(&columns[1]))
		return -EBADMSG;
	batch->count = count;
	batch->time_ns = times;
	batch->thread_of = threads;
	batch->cpu = cpus;
	batch->waited_ns = waited;
	batch->by = by;
	return 0;
}

/* Rows of a chunk say how the series' value changed. */
static int add_up(struct sonde_column *column, const uint32_t *series, size_t count, int64_t *last, int64_t *values)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t change;
		if (sonde_column_next(column, &change))
			return -EBADMSG;
		uint64_t value = (uint64_t)last[series[i]] + (uint64_t)sonde_varint_unzigzag(change);
		values[i] = last[series[i]] = (int64_t)value;
	}
	return sonde_column_end(column);
}

static int decode_series(struct sonde_cursor *cursor)
{
	const struct sonde_chunk_head *head = cursor->data.head;
	struct sonde_batch *batch = &cursor->batch;
	uint32_t known = (uint32_t)cursor->session->series.count;
	struct sonde_column columns[3];
	size_t count = head->count;
	if (sonde_columns_split(columns, 3, &cursor->data) || count > sonde_column_b(&columns[0]))
		return -EBADMSG;
	uint64_t *times =
	    scratch(cursor, count * (2 * sizeof(uint64_t) + sizeof(uint32_t)) + ((size_t)known + 1) * sizeof(int64_t));
	if (!times)
		return sonde_buf_error(&cursor->scratch);
	int64_t *values = (int64_t *)(times + count), *last = values + count;
	uint32_t *series = (uint32_t *)(last + known + 1);
	memset(last, 0, ((size_t)known + 1) * sizeof *last);
	if (sonde_column_times(&columns[0], count, head->time_min_ns, times) || sonde_column_end(&columns[0]) ||
	    sonde_column_ids(&columns[1], count, known, series) || sonde_column_end(&columns[1]) ||
	    add_up(&columns[2], series, count, last, values))
		return -EBADMSG;
	batch->count = count;
	batch->time_ns = times;
	batch->series = series;
	batch->value = values;
	return 0;
}

/* Zigzag deltas of times, and durations that end no later than times can. */
static int take_spans(struct sonde_column *columns, size_t count, uint64_t *starts, uint64_t *lengths)
{
	if (sonde_column_deltas(&columns[0], count, starts) || sonde_column_end(&columns[0]))
		return -EBADMSG;
	for (size_t i = 0; i < count; i++)
		if (sonde_column_next(&columns[1], &lengths[i]) || lengths[i] > UINT64_MAX - starts[i])
			return -EBADMSG;
	return sonde_column_end(&columns[1]);
}

static int decode_waits(struct sonde_cursor *cursor)
{
	struct sonde_batch *batch = &cursor->batch;
	struct sonde_column columns[9];
	size_t count = cursor->data.head->count;
	if (sonde_columns_split(columns, 9, &cursor->data) || count > sonde_column_b(&columns[0]))
		return -EBADMSG;
	uint64_t *starts = scratch(cursor, count * (3 * sizeof(uint64_t) + 4 * sizeof(uint32_t)));
	if (!starts)
		return sonde_buf_error(&cursor->scratch);
	uint64_t *lengths = starts + count, *amounts = lengths + count;
	uint32_t *threads = (uint32_t *)(amounts + count), *others = threads + count;
	uint32_t *stacks = others + count, *objects = stacks + count;
	if (take_spans(columns, count, starts, lengths) ||
	    sonde_column_ids(&columns[2], count, cursor->threads, threads) || sonde_column_end(&columns[2]) ||
	    sonde_column_ids(&columns[3], count, cursor->threads, others) || sonde_column_end(&columns[3]) ||
	    take_bytes(&columns[4], count, &batch->wait_kind) ||
	    sonde_column_id_deltas(&columns[5], count, cursor->nodes, stacks) || sonde_column_end(&columns[5]) ||
	    take_bytes(&columns[6], count, &batch->status) ||
	    sonde_column_id_deltas(&columns[7], count, (uint32_t)cursor->session->objects.count, objects) ||
	    sonde_column_end(&columns[7]))
		return -EBADMSG;
	for (size_t i = 0; i < count; i++)
		if (sonde_column_next(&columns[8], &amounts[i]))
			return -EBADMSG;
	if (sonde_column_end(&columns[8]))
		return -EBADMSG;
	batch->count = count;
	batch->start_ns = starts;
	batch->dur_ns = lengths;
	batch->amount = amounts;
	batch->thread_of = threads;
	batch->other = others;
	batch->stack = stacks;
	batch->object = objects;
	return 0;
}

static int decode_zones(struct sonde_cursor *cursor)
{
	return sonde_zones_decode(&cursor->zones, &cursor->data, &cursor->batch);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Bytes that an event's own lengths claim behind its struct; UINT64_MAX: it is no event of a file. */
static uint64_t claimed_b(const struct sonde_event *event)
{
	switch (event->type) {
	case SONDE_EVENT_INSTANT:
	case SONDE_EVENT_MESSAGE:
	case SONDE_EVENT_ZONE_NAME:
	case SONDE_EVENT_THREAD_NAME:
	case SONDE_EVENT_MISMATCH:
		return ((const struct sonde_event_text *)event)->len_b;
	case SONDE_EVENT_ARG:
		return (uint64_t)((const struct sonde_event_arg *)event)->key_b +
		       ((const struct sonde_event_arg *)event)->value_b;
	case SONDE_EVENT_CPU_SAMPLE:
	case SONDE_EVENT_SNAPSHOT:
	case SONDE_EVENT_CALL_STACK:
		return UINT64_MAX;
	default:
		return 0;
	}
}

/* Size of the struct of a type; a type that is not known here is passed on and has only a head. */
static size_t struct_b(uint16_t type)
{
	static const uint8_t sizes[] = {
	    [SONDE_EVENT_INSTANT] = sizeof(struct sonde_event_text),
	    [SONDE_EVENT_MESSAGE] = sizeof(struct sonde_event_text),
	    [SONDE_EVENT_COUNTER] = sizeof(struct sonde_event_value),
	    [SONDE_EVENT_GAUGE] = sizeof(struct sonde_event_value),
	    [SONDE_EVENT_SPAN_BEGIN] = sizeof(struct sonde_event_span),
	    [SONDE_EVENT_SPAN_END] = sizeof(struct sonde_event_span),
	    [SONDE_EVENT_ARG] = sizeof(struct sonde_event_arg),
	    [SONDE_EVENT_WORK] = sizeof(struct sonde_event_work),
	    [SONDE_EVENT_ZONE_NAME] = sizeof(struct sonde_event_text),
	    [SONDE_EVENT_ITERATION] = sizeof(struct sonde_event_value),
	    [SONDE_EVENT_THREAD_NAME] = sizeof(struct sonde_event_text),
	    [SONDE_EVENT_MISMATCH] = sizeof(struct sonde_event_text),
	    [SONDE_EVENT_COUNT] = sizeof(struct sonde_event_value),
	    [SONDE_EVENT_POOL_TAKE] = sizeof(struct sonde_event_block),
	    [SONDE_EVENT_POOL_GIVE] = sizeof(struct sonde_event_block),
	};
	return type < sizeof sizes && sizes[type] ? sizes[type] : sizeof(struct sonde_event);
}

static int is_whole(const struct sonde_event *event)
{
	size_t size_b = (size_t)event->words * 8;
	size_t known_b = struct_b(event->type);
	return event->type && size_b >= known_b && claimed_b(event) <= size_b - known_b;
}

/* The body is this cursor's own copy: ids are mended in place. Events that make no sense are left out. */
static int decode_events(struct sonde_cursor *cursor)
{
	size_t raw_b = cursor->data.head->raw_b;
	const struct sonde_event **events = scratch(cursor, raw_b / sizeof(struct sonde_event) * sizeof *events);
	if (!events)
		return sonde_buf_error(&cursor->scratch);
	size_t count = 0;
	for (size_t at = 0; at < raw_b;) {
		struct sonde_event *event = (struct sonde_event *)(void *)(uintptr_t)(cursor->data.body + at);
		if (raw_b - at < sizeof *event || event->words < 2 || (size_t)event->words * 8 > raw_b - at)
			return -EBADMSG;
		at += (size_t)event->words * 8;
		if (!is_whole(event))
			continue;
		if (event->site > cursor->sites)
			event->site = 0;
		events[count++] = event;
	}
	cursor->batch.count = count;
	cursor->batch.events = events;
	return 0;
}

static int decode_heap(struct sonde_cursor *cursor)
{
	size_t count = cursor->data.head->count;
	struct sonde_heap_columns columns;
	void *memory = count <= cursor->data.head->raw_b ? scratch(cursor, count * SONDE_HEAP_ROW_B) : NULL;
	if (!memory)
		return count <= cursor->data.head->raw_b ? sonde_buf_error(&cursor->scratch) : -EBADMSG;
	int error = sonde_heap_decode(&columns, &cursor->data, memory, cursor->threads,
				      (uint32_t)cursor->session->heap_sites.count);
	cursor->batch.count = error ? 0 : count;
	cursor->batch.time_ns = columns.time_ns;
	cursor->batch.thread_of = columns.threads;
	cursor->batch.heap = columns.heap <= cursor->session->heaps.count ? columns.heap : 0;
	cursor->batch.heap_site = columns.sites;
	cursor->batch.size_b = columns.sizes;
	cursor->batch.block_ends = columns.ends;
	cursor->batch.mean_b = columns.mean_b;
	cursor->batch.time_every = columns.time_every;
	return error;
}

static int decode_activities(struct sonde_cursor *cursor)
{
	size_t count = cursor->data.head->count;
	void *memory = count <= cursor->data.head->raw_b ? scratch(cursor, count * SONDE_ACTIVITIES_ROW_B) : NULL;
	if (!memory)
		return count <= cursor->data.head->raw_b ? sonde_buf_error(&cursor->scratch) : -EBADMSG;
	return sonde_activities_decode(&cursor->batch, &cursor->data, cursor->session, memory);
}

static int decode_call_stacks(struct sonde_cursor *cursor)
{
	struct sonde_batch *batch = &cursor->batch;
	struct sonde_column columns[5];
	size_t count = cursor->data.head->count;
	if (sonde_columns_split(columns, 5, &cursor->data) || count > sonde_column_b(&columns[0]))
		return -EBADMSG;
	uint64_t *times = scratch(cursor, count * (2 * sizeof(uint64_t) + 2 * sizeof(uint32_t)));
	if (!times)
		return sonde_buf_error(&cursor->scratch);
	uint64_t *correlations = times + count;
	uint32_t *threads = (uint32_t *)(correlations + count), *stacks = threads + count;
	if (sonde_column_deltas(&columns[0], count, times) ||
	    sonde_column_ids(&columns[1], count, cursor->threads, threads) ||
	    sonde_column_deltas(&columns[2], count, correlations) ||
	    sonde_column_id_deltas(&columns[3], count, cursor->nodes, stacks) ||
	    take_bytes(&columns[4], count, &batch->status))
		return -EBADMSG;
	for (size_t i = 0; i < 4; i++)
		if (sonde_column_end(&columns[i]))
			return -EBADMSG;
	batch->count = count;
	batch->time_ns = times;
	batch->thread_of = threads;
	batch->correlation = correlations;
	batch->stack = stacks;
	return 0;
}

/* --- the cursor --------------------------------------------------------------------------------------------------- */

static int (*const decoders[])(struct sonde_cursor *cursor) = {
    [SONDE_CHUNK_SAMPLES] = decode_samples,
    [SONDE_CHUNK_SWITCHES] = decode_switches,
    [SONDE_CHUNK_ZONES] = decode_zones,
    [SONDE_CHUNK_EVENTS] = decode_events,
    [SONDE_CHUNK_HEAP] = decode_heap,
    [SONDE_CHUNK_SERIES] = decode_series,
    [SONDE_CHUNK_WAITS] = decode_waits,
    [SONDE_CHUNK_ACTIVITIES] = decode_activities,
    [SONDE_CHUNK_CALL_STACKS] = decode_call_stacks,
};

int sonde_cursor_open(struct sonde_cursor **out, struct sonde_session *session, uint32_t types)
{
	return sonde_cursor_open_part(out, session, types, 0, 1);
}

int sonde_cursor_open_part(struct sonde_cursor **out, struct sonde_session *session, uint32_t types, unsigned part,
			   unsigned parts)
{
	struct sonde_cursor *cursor = calloc(1, sizeof *cursor);
	if (!cursor)
		return sonde_error(ENOMEM, "out of memory");
	cursor->session = session;
	cursor->types = types;
	cursor->part = part;
	cursor->parts = parts ? parts : 1;
	cursor->threads = (uint32_t)session->threads.count;
	cursor->nodes = (uint32_t)session->stacks.nodes.count;
	cursor->sites = (uint32_t)session->sites.count;
	sonde_buf_init(&cursor->data.buf, SONDE_READER_BUF_MAX_B);
	sonde_buf_init(&cursor->scratch, SCRATCH_MAX_B);
	if (types & 1u << SONDE_CHUNK_ZONES) {
		int error = sonde_zones_init(&cursor->zones, cursor->sites, cursor->threads);
		if (error) {
			sonde_cursor_close(cursor);
			return error;
		}
	}
	*out = cursor;
	return 0;
}

void sonde_cursor_close(struct sonde_cursor *cursor)
{
	if (!cursor)
		return;
	sonde_zones_fini(&cursor->zones);
	free(cursor->newest);
	sonde_buf_fini(&cursor->scratch);
	sonde_buf_fini(&cursor->data.buf);
	free(cursor);
}

int sonde_cursor_want(struct sonde_cursor *cursor, const struct sonde_cursor_wanted *wanted)
{
	static const struct sonde_cursor_wanted all;
	if (!memcmp(wanted, &all, sizeof all))
		return 0;
	cursor->wanted = *wanted;
	cursor->newest = calloc((size_t)cursor->threads + 1, sizeof *cursor->newest);
	if (!cursor->newest)
		return sonde_error(ENOMEM, "out of memory for %u threads", cursor->threads);
	for (size_t i = 0; i < sonde_reader_count(cursor->session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(cursor->session->reader, i)->head;
		if (head->type == SONDE_CHUNK_ZONES && head->thread <= cursor->threads)
			cursor->newest[head->thread] = i + 1;
	}
	return 0;
}

/* Whether chunk `i` holds nothing that is wanted. The last zones of a thread always come: they tell what is open. */
static int is_left_out(struct sonde_cursor *cursor, size_t i, const struct sonde_chunk_head *head)
{
	if (!cursor->newest)
		return 0;
	if (head->type == SONDE_CHUNK_ZONES && head->thread <= cursor->threads && cursor->newest[head->thread] == i + 1)
		return 0;
	return sonde_wanted_leaves_out(&cursor->wanted, cursor->session->reader, i, &cursor->data);
}

/* Whether a chunk is of a wanted type, and of a version that is known. */
static int is_wanted(const struct sonde_cursor *cursor, const struct sonde_chunk_head *head)
{
	return head->type < sizeof decoders / sizeof *decoders && decoders[head->type] &&
	       cursor->types & 1u << head->type && head->version <= SONDE_CHUNK_VERSION;
}

/* What a thread has open behind what was decoded. */
static int unfinished(struct sonde_cursor *cursor, uint32_t thread)
{
	int is_kept = sonde_session_info(cursor->session, "option.keep_ns") != NULL;
	const struct sonde_thread *row = sonde_session_thread(cursor->session, thread);
	uint64_t end_ns =
	    row && row->end_ns ? row->end_ns : sonde_session_part_of(cursor->session, row ? row->process : 0)->end_ns;
	if (is_kept) /* a flight recorder forgot what came after its last save */
		end_ns = 0;
	return sonde_zones_unfinished(&cursor->zones, thread, end_ns, &cursor->batch);
}

static int next_unfinished(struct sonde_cursor *cursor)
{
	cursor->batch = (struct sonde_batch){.type = SONDE_CHUNK_ZONES};
	while (cursor->zones.tails && cursor->unfinished <= cursor->threads) {
		int found = unfinished(cursor, cursor->unfinished++);
		if (found)
			return found;
	}
	return 0;
}

/* 1 and the batch, or a negative errno. */
static int decode(struct sonde_cursor *cursor, size_t i)
{
	struct sonde_reader *reader = cursor->session->reader;
	const struct sonde_index_entry *entry = sonde_reader_entry(reader, i);
	const struct sonde_chunk_head *head = &entry->head;
	int error = sonde_reader_read(reader, i, &cursor->data);
	if (error && head->type == SONDE_CHUNK_ZONES)
		sonde_zones_superseded(&cursor->zones, head->thread); /* what was open may have ended here */
	if (error)
		return error;
	cursor->batch = (struct sonde_batch){
	    .type = head->type,
	    .process = head->process <= cursor->session->processes.count ? head->process : 0,
	    .thread = head->thread <= cursor->threads ? head->thread : 0,
	};
	error = decoders[head->type](cursor);
	if (error == -EBADMSG)
		return sonde_error(EBADMSG, "%s: the chunk at byte %llu cannot be decoded", sonde_reader_path(reader),
				   (unsigned long long)entry->offset);
	return error ? error : 1;
}

int sonde_cursor_next(struct sonde_cursor *cursor, const struct sonde_batch **out)
{
	struct sonde_reader *reader = cursor->session->reader;
	const struct sonde_index_entry *entry;
	*out = &cursor->batch;
	while ((entry = sonde_reader_entry(reader, cursor->next))) {
		size_t i = cursor->next++;
		const struct sonde_chunk_head *head = &entry->head;
		if (!is_wanted(cursor, head))
			continue;
		if (cursor->seen[head->type]++ % cursor->parts != cursor->part || is_left_out(cursor, i, head)) {
			if (head->type == SONDE_CHUNK_ZONES)
				sonde_zones_superseded(&cursor->zones, head->thread);
			continue;
		}
		return decode(cursor, i);
	}
	return next_unfinished(cursor);
}

int sonde_cursor_zones(struct sonde_cursor *cursor, size_t chunk, const struct sonde_batch **out)
{
	const struct sonde_index_entry *entry = sonde_reader_entry(cursor->session->reader, chunk);
	*out = &cursor->batch;
	if (!entry || entry->head.type != SONDE_CHUNK_ZONES || !is_wanted(cursor, &entry->head))
		return sonde_error(EINVAL, "chunk %zu has no zones", chunk);
	return decode(cursor, chunk);
}

int sonde_cursor_zones_open(struct sonde_cursor *cursor, uint32_t thread, const struct sonde_batch **out)
{
	cursor->batch = (struct sonde_batch){.type = SONDE_CHUNK_ZONES};
	*out = &cursor->batch;
	return thread <= cursor->threads ? unfinished(cursor, thread) : 0;
}
