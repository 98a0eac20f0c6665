/* meta.c: a table row for each record type of META chunks: how it updates the session's tables.
 *
 * A record is copied into a zeroed struct of the size known here, so missing trailing fields read as 0 and unknown ones
 * are ignored. Ids are dense in an intact recording, but a damaged chunk leaves a hole. Tables therefore grow to the
 * largest id (bounded by the file size) with blank rows in between, so callers may iterate 1 … count unchecked.
 */
#include "session/meta.h"

#include <string.h>

#include "base/varint.h"
#include "fold/hist.h"
#include "session/stacks.h"
#include "session/state.h"

#define SOURCES_MAX 1024

/* Any record without a variable-length tail. */
union record {
	struct sonde_meta_head head;
#define MEMBER(number, NAME, name, ...) struct sonde_meta_##name name;
	SONDE_META_RECORDS(MEMBER)
#undef MEMBER
};

/* A record type. `add` returns 0, -EBADMSG for a malformed record, or -ENOMEM. */
struct kind {
	uint16_t type;
	uint16_t size_b;  /* size of the struct */
	uint16_t least_b; /* minimum size: shorter records are rejected as incomplete or empty */
	int (*add)(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b);
};

/* Finds the row of `id`. If it is new, creates it and all rows before it as copies of `blank`. 0, -EBADMSG for an
 * impossible id, or -ENOMEM. */
static int row_of(void **out, struct sonde_session *session, struct sonde_rows *rows, uint32_t id, const void *blank)
{
	if (!id || id > session->id_max)
		return -EBADMSG;
	size_t before = rows->count;
	int rc = sonde_rows_grow(rows, id, blank);
	for (size_t i = before; i < rows->count; i++)
		*(uint32_t *)sonde_rows_at(rows, i) = (uint32_t)(i + 1);
	*out = sonde_rows_at(rows, id - 1);
	return rc;
}

static int add_string(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	static const char *const none = "";
	uint32_t id = record->string.id;
	if (!id || id > session->id_max || record->string.len_b > more_b)
		return -EBADMSG;
	int rc = sonde_rows_grow(&session->strings, id, &none);
	char *copy = sonde_arena_strndup(&session->arena, (const char *)more, record->string.len_b);
	if (rc || !copy)
		return -ENOMEM;
	*(const char **)sonde_rows_at(&session->strings, id - 1) = copy;
	return 0;
}

/* --- rows filled field by field ---------------------------------------------------------------------------------- */

/* Copies a field of a record to the row, which has it by the same name; ids of texts become the texts. */
#define FILL(R, at, type, name, dims, reference, ...) FILL_##reference(name)
#define FILL_NONE(name)                                                                                      \
	_Static_assert(sizeof row->name == sizeof from->name, "a row's " #name " is as wide as a record's"); \
	memcpy(&row->name, &from->name, sizeof row->name);
#define FILL_RESERVED(name)
#define FILL_STRING(name) row->name = sonde_session_string(session, from->name);
#define FILL_TIME(name) row->name = from->name;
#define FILL_PROCESS(name) row->name = from->name;
#define FILL_THREAD(name) row->name = from->name;
#define FILL_SITE(name) row->name = from->name;
#define FILL_NODE(name) row->name = from->name;
#define FILL_HEAP(name) row->name = from->name;
#define FILL_HEAP_SITE(name) row->name = from->name;
#define FILL_SERIES(name) row->name = from->name;
#define FILL_OBJECT(name) row->name = from->name;
#define FILL_DEVICE(name) row->name = from->name;
#define FILL_QUEUE(name) row->name = from->name;
#define FILL_OPERATION(name) row->name = from->name;

/* A record that updates the row with its id; `...` initialises a new row. */
#define FILL_BY_ID(record_name, NAME, rows, type, ...)                                                            \
	static int fill_##record_name(struct sonde_session *session, const struct sonde_meta_##record_name *from) \
	{                                                                                                         \
		static const struct type blank = {__VA_ARGS__};                                                   \
		void *at = NULL;                                                                                  \
		int rc = row_of(&at, session, &session->rows, from->id, &blank);                                  \
		struct type *row = at;                                                                            \
		if (rc)                                                                                           \
			return rc;                                                                                \
		SONDE_##NAME##_FIELDS(FILL, ) return 0;                                                           \
	}

/* A record that appends a row. */
#define FILL_NEXT(record_name, NAME, rows, type)                                                                  \
	static int fill_##record_name(struct sonde_session *session, const struct sonde_meta_##record_name *from) \
	{                                                                                                         \
		struct type next = {0}, *row = &next;                                                             \
		SONDE_##NAME##_FIELDS(FILL, ) return sonde_rows_add(&session->rows, row) ? 0 : -ENOMEM;           \
	}

#define BLANK_PROCESS .name = "", .command = "", .status = -1
FILL_BY_ID(process, PROCESS, processes, sonde_process, BLANK_PROCESS)
FILL_BY_ID(process_end, PROCESS_END, processes, sonde_process, BLANK_PROCESS)
FILL_BY_ID(thread, THREAD, threads, sonde_thread, .name = "")
FILL_BY_ID(thread_end, THREAD_END, threads, sonde_thread, .name = "")
FILL_BY_ID(site, SITE, sites, sonde_site, .name = "", .function = "", .file = "", .unit = "")
FILL_BY_ID(heap, HEAP, heaps, sonde_heap, .name = "")
FILL_BY_ID(heap_site, HEAP_SITE, heap_sites, sonde_heap_site, .id = 0)
FILL_BY_ID(series, SERIES, series, sonde_series, .name = "", .unit = "", .object = "")
FILL_BY_ID(object, OBJECT, objects, sonde_object, .name = "")
FILL_BY_ID(device, DEVICE, devices, sonde_device, .api = "", .name = "", .uuid = "", .driver = "")
FILL_BY_ID(queue, QUEUE, queues, sonde_queue, .name = "")
FILL_BY_ID(operation, OPERATION, operations, sonde_operation, .name = "")
FILL_NEXT(info, INFO, infos, sonde_session_info)
FILL_NEXT(lost, LOST, lost, sonde_lost)
FILL_NEXT(cost, COST, costs, sonde_cost)
FILL_NEXT(snapshot, SNAPSHOT, snapshots, sonde_snapshot)
FILL_NEXT(heap_leak, HEAP_LEAK, heap_rests, sonde_heap_remainder)

#define ADD(record_name)                                                                                             \
	static int add_##record_name(struct sonde_session *session, const union record *record, const uint8_t *more, \
				     size_t more_b)                                                                  \
	{                                                                                                            \
		(void)more, (void)more_b;                                                                            \
		return fill_##record_name(session, &record->record_name);                                            \
	}
ADD(info)
ADD(process_end)
ADD(thread)
ADD(thread_end)
ADD(site)
ADD(lost)
ADD(cost)
ADD(heap)
ADD(heap_site)
ADD(heap_leak)
ADD(snapshot)
ADD(series)
ADD(object)
ADD(device)
ADD(queue)

/* --- rows that need more ------------------------------------------------------------------------------------------ */

/* Adds a process. Parents come first, so the tree of processes has no cycles. */
static int add_process(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	struct sonde_meta_process process = record->process;
	process.parent = process.parent < process.id ? process.parent : 0;
	return fill_process(session, &process);
}

static int add_operation(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	struct sonde_meta_operation operation = record->operation;
	operation.kind = sonde_activity_row(operation.kind)->name ? operation.kind : 0;
	return fill_operation(session, &operation);
}

static const char *hex(struct sonde_session *session, const uint8_t *bytes, size_t count)
{
	char *out = sonde_arena_alloc(&session->arena, 2 * count + 1);
	for (size_t i = 0; out && i < count; i++) {
		out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	return out;
}

static const char *module_name(const char *path, uint32_t flags)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	if (*name)
		return name;
	return flags & SONDE_MODULE_KERNEL ? "[kernel]" : flags & SONDE_MODULE_ANONYMOUS ? "[anonymous]" : "[unknown]";
}

static int add_module(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	static const struct sonde_session_module blank = {
	    .row = {.path = "", .name = "[unknown]", .build_id = ""},
	};
	const struct sonde_meta_module *from = &record->module;
	void *at = NULL;
	int rc = row_of(&at, session, &session->modules, from->id, &blank);
	if (rc)
		return rc;
	struct sonde_session_module *module = at;
	size_t build_id_b = from->build_id_b <= sizeof from->build_id ? from->build_id_b : 0;
	module->build_id_b = (uint8_t)build_id_b;
	memcpy(module->build_id, from->build_id, build_id_b);
	module->row.flags = from->flags;
	module->row.process = from->process;
	module->row.path = sonde_session_string(session, from->path);
	module->row.name = module_name(module->row.path, from->flags);
	const char *build_id = hex(session, from->build_id, build_id_b);
	if (!build_id)
		return -ENOMEM;
	module->row.build_id = build_id;
	return 0;
}

static int add_symbol(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	const struct sonde_meta_symbol *from = &record->symbol;
	if (from->count > more_b / sizeof(struct sonde_meta_location) || from->module > session->id_max)
		return -EBADMSG;
	return sonde_session_stacks_symbol(session, from, more);
}

static int add_source(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	const struct sonde_meta_source *from = &record->source;
	struct sonde_source_row next = {0}, *row = &next;
	SONDE_SOURCE_FIELDS(FILL, )
	for (size_t i = 0; i < session->sources.count; i++) {
		struct sonde_source_row *old = sonde_rows_at(&session->sources, i);
		if (strcmp(old->name, row->name) == 0) {
			*old = *row;
			return 0;
		}
	}
	if (session->sources.count == SOURCES_MAX)
		return -EBADMSG;
	return sonde_rows_add(&session->sources, row) ? 0 : -ENOMEM;
}

static int add_close(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	session->close = record->close;
	return 0;
}

static int fill_hits(uint64_t *hits, uint32_t pairs, const uint8_t *at, const uint8_t *end)
{
	uint64_t bucket = 0, delta, count;
	for (uint32_t i = 0; i < pairs; i++) {
		at = sonde_varint_get(at, end, &delta);
		at = at ? sonde_varint_get(at, end, &count) : NULL;
		if (!at || delta >= SONDE_HIST_BUCKETS - bucket)
			return -EBADMSG;
		bucket += delta;
		hits[bucket] += count;
	}
	return 0;
}

/* Adds a histogram. Each has 58 KB of buckets, so the number of histograms is bounded as well. */
static int add_histogram(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	const struct sonde_meta_histogram *from = &record->histogram;
	if (from->pairs > more_b / 2 || from->pairs > SONDE_HIST_BUCKETS ||
	    session->histograms.count >= session->histogram_max)
		return -EBADMSG;
	uint64_t *hits = sonde_arena_alloc(&session->arena, SONDE_HIST_BUCKETS * sizeof *hits);
	if (!hits)
		return -ENOMEM;
	if (fill_hits(hits, from->pairs, more, more + more_b))
		return -EBADMSG;
	struct sonde_histogram row = {
	    .site = from->site,
	    .process = from->process,
	    .count = from->count,
	    .sum = from->sum,
	    .min = from->min,
	    .max = from->max,
	    .hits = hits,
	};
	return sonde_rows_add(&session->histograms, &row) ? 0 : -ENOMEM;
}

/* Takes a CLOCK record. Only the first one, from the start of the recording, counts. */
static int add_clock(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	const struct sonde_meta_clock *clock = &record->clock;
	(void)more, (void)more_b;
	if (session->run.boot_known || clock->boot_ns < clock->mono_ns)
		return 0;
	session->run.boot_ahead_ns = clock->boot_ns - clock->mono_ns;
	session->run.boot_known = 1;
	return 0;
}

static const struct kind kinds[] = {
#define KIND(number, NAME, name, size_b, least_b, ...) {number, size_b, least_b, add_##name},
    SONDE_META_RECORDS(KIND)
#undef KIND
};

static int add_record(struct sonde_session *session, const uint8_t *at, const struct sonde_meta_head *head)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct kind *kind = &kinds[i];
		if (kind->type != head->type)
			continue;
		if (head->size_b < kind->least_b)
			return -EBADMSG;
		union record record = {.head = {0}};
		memset(&record, 0, sizeof record);
		size_t known_b = head->size_b < kind->size_b ? head->size_b : kind->size_b;
		memcpy(&record, at, known_b);
		return kind->add(session, &record, at + known_b, head->size_b - known_b);
	}
	return -EBADMSG;
}

int sonde_meta_load(struct sonde_session *session, const uint8_t *body, size_t body_b)
{
	size_t at = 0;
	while (at < body_b) {
		struct sonde_meta_head head;
		if (body_b - at < sizeof head) {
			session->run.skipped_records++;
			break;
		}
		memcpy(&head, body + at, sizeof head);
		if (head.size_b < sizeof head || head.size_b > body_b - at) {
			session->run.skipped_records++;
			break;
		}
		int rc = add_record(session, body + at, &head);
		if (rc == -ENOMEM)
			return rc;
		if (rc)
			session->run.skipped_records++;
		size_t padded_b = ((size_t)head.size_b + 7) & ~(size_t)7;
		at += padded_b < body_b - at ? padded_b : body_b - at;
	}
	return 0;
}
