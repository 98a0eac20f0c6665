/* cursor.c: iterates over the chunks of the requested types and decodes one at a time.
 *
 * A cursor owns all memory that a batch points to, so several cursors can run on one session at once. Nonexistent ids
 * are set to 0 here, once, so that no pass has to check them. A table maps each type to the function that decodes its
 * chunks into a batch.
 */
#include <stdlib.h>
#include <string.h>

#include "session/heap/heap.h"
#include "session/state.h"
#include "session/wanted.h"
#include "session/zone/zones.h"
#include "trace/decode.h"

#define SCRATCH_MAX_B ((size_t)SONDE_CHUNK_MAX_RAW_B * 32)

struct sonde_cursor {
	struct sonde_session *session;
	uint32_t types;
	uint32_t threads, nodes, sites; /* table sizes when the cursor was opened */
	size_t next;                    /* next chunk */
	unsigned part, parts;           /* decodes chunk n of a type if n mod parts == part */
	size_t seen[SONDE_CHUNK_TYPES]; /* by type: matching chunks seen so far, over all parts */
	struct sonde_cursor_wanted wanted;
	size_t *newest;      /* by thread: index of its last ZONES chunk + 1; NULL = no filter */
	uint32_t unfinished; /* the next thread whose open zones are delivered */
	struct sonde_chunk_data data;
	struct sonde_buf scratch; /* columns of the batch; pointers for EVENTS */
	struct sonde_zones zones;
	struct sonde_batch batch;
};

static void *scratch(struct sonde_cursor *cursor, size_t size_b)
{
	sonde_buf_clear(&cursor->scratch);
	return sonde_buf_extend(&cursor->scratch, size_b + 1);
}

/* Decodes a chunk with declared columns; passes the bounds of the ids that they contain. */
static int decode_columns(struct sonde_cursor *cursor)
{
	const struct sonde_session *session = cursor->session;
	const uint32_t ids[SONDE_REFERENCES] = {
	    [SONDE_REFERENCE_THREAD] = cursor->threads,
	    [SONDE_REFERENCE_NODE] = cursor->nodes,
	    [SONDE_REFERENCE_SERIES] = (uint32_t)session->series.count,
	    [SONDE_REFERENCE_OBJECT] = (uint32_t)session->objects.count,
	    [SONDE_REFERENCE_OPERATION] = (uint32_t)session->operations.count,
	    [SONDE_REFERENCE_QUEUE] = (uint32_t)session->queues.count,
	};
	cursor->batch.count = cursor->data.head->count;
	return sonde_chunk_decode(&cursor->batch.samples, &cursor->data, ids, &cursor->scratch);
}

static int decode_zones(struct sonde_cursor *cursor)
{
	return sonde_zones_decode(&cursor->zones, &cursor->data, &cursor->batch);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Bytes after an event's struct according to its own lengths. */
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
	default:
		return 0;
	}
}

#define SIZE_FILE(payload) sizeof(struct sonde_event_##payload)
#define SIZE_RING(payload) UINT32_MAX /* larger than any event, so that ring-only types in a file are dropped */
#define SONDE_EVENT(number, NAME, payload, where, ...) [number] = SIZE_##where(payload),

/* Size of the struct of an event type; unknown types are forwarded and have only a head. */
static size_t struct_b(uint16_t type)
{
	static const uint32_t sizes[SONDE_EVENT_TYPES] = {
#include "format/events.def"
	};
	return type < SONDE_EVENT_TYPES && sizes[type] ? sizes[type] : sizeof(struct sonde_event);
}
#undef SONDE_EVENT

static int is_whole(const struct sonde_event *event)
{
	size_t size_b = (size_t)event->words * 8;
	size_t known_b = struct_b(event->type);
	return event->type && size_b >= known_b && claimed_b(event) <= size_b - known_b;
}

/* The body is this cursor's own copy, so ids are fixed in place. Malformed events are dropped. */
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
	int rc = sonde_heap_decode(&columns, &cursor->data, memory, cursor->threads,
				   (uint32_t)cursor->session->heap_sites.count);
	cursor->batch.count = rc ? 0 : count;
	cursor->batch.heap = (struct sonde_blocks_columns){
	    .time_ns = columns.time_ns,
	    .size_b = columns.sizes,
	    .thread = columns.threads,
	    .site = columns.sites,
	    .ends = columns.ends,
	    .mean_b = columns.mean_b,
	    .time_every = columns.time_every,
	    .id = columns.heap <= cursor->session->heaps.count ? columns.heap : 0,
	};
	return rc;
}

/* --- the cursor --------------------------------------------------------------------------------------------------- */

static int (*const decoders[])(struct sonde_cursor *cursor) = {
    [SONDE_CHUNK_SAMPLES] = decode_columns,     [SONDE_CHUNK_SWITCHES] = decode_columns,
    [SONDE_CHUNK_ZONES] = decode_zones,         [SONDE_CHUNK_EVENTS] = decode_events,
    [SONDE_CHUNK_HEAP] = decode_heap,           [SONDE_CHUNK_SERIES] = decode_columns,
    [SONDE_CHUNK_WAITS] = decode_columns,       [SONDE_CHUNK_ACTIVITIES] = decode_columns,
    [SONDE_CHUNK_CALL_STACKS] = decode_columns,
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
		int rc = sonde_zones_init(&cursor->zones, cursor->sites, cursor->threads);
		if (rc) {
			sonde_cursor_close(cursor);
			return rc;
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

/* True if chunk `i` contains no selected event. The last zones of a thread are always delivered, since they determine
 * which zones are open. */
static int is_left_out(struct sonde_cursor *cursor, size_t i, const struct sonde_chunk_head *head)
{
	if (!cursor->newest)
		return 0;
	if (head->type == SONDE_CHUNK_ZONES && head->thread <= cursor->threads && cursor->newest[head->thread] == i + 1)
		return 0;
	return sonde_wanted_leaves_out(&cursor->wanted, cursor->session->reader, i, &cursor->data);
}

/* True if a chunk has a requested type and a known version. */
static int is_wanted(const struct sonde_cursor *cursor, const struct sonde_chunk_head *head)
{
	return head->type < sizeof decoders / sizeof *decoders && decoders[head->type] &&
	       cursor->types & 1u << head->type && head->version <= SONDE_CHUNK_VERSION;
}

/* The zones that a thread has open after the decoded chunks. */
static int unfinished(struct sonde_cursor *cursor, uint32_t thread)
{
	int is_kept = sonde_session_info(cursor->session, "option.keep_ns") != NULL;
	const struct sonde_thread *row = sonde_session_thread(cursor->session, thread);
	uint64_t end_ns =
	    row && row->end_ns ? row->end_ns : sonde_session_part_of(cursor->session, row ? row->process : 0)->end_ns;
	if (is_kept) /* a flight recorder dropped everything after its last save */
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

/* Returns 1 and the batch, or a negative errno. */
static int decode(struct sonde_cursor *cursor, size_t i)
{
	struct sonde_reader *reader = cursor->session->reader;
	const struct sonde_index_entry *entry = sonde_reader_entry(reader, i);
	const struct sonde_chunk_head *head = &entry->head;
	int rc = sonde_reader_read(reader, i, &cursor->data);
	if (rc && head->type == SONDE_CHUNK_ZONES)
		sonde_zones_superseded(&cursor->zones, head->thread); /* open zones may have ended in it */
	if (rc)
		return rc;
	cursor->batch = (struct sonde_batch){
	    .type = head->type,
	    .process = head->process <= cursor->session->processes.count ? head->process : 0,
	    .thread = head->thread <= cursor->threads ? head->thread : 0,
	};
	rc = decoders[head->type](cursor);
	if (rc == -EBADMSG)
		return sonde_error(EBADMSG, "%s: the chunk at byte %llu cannot be decoded", sonde_reader_path(reader),
				   (unsigned long long)entry->offset);
	return rc ? rc : 1;
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

int sonde_session_batches(struct sonde_session *session, uint32_t types,
			  int (*take)(void *context, const struct sonde_batch *batch), void *context)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int got, rc = sonde_cursor_open(&cursor, session, types);
	if (rc)
		return rc;
	while (!rc && (got = sonde_cursor_next(cursor, &batch)))
		rc = got > 0 ? take(context, batch) : got == -ENOMEM || got == -EIO ? got : 0;
	sonde_cursor_close(cursor);
	return rc;
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
