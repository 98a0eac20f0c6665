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

static const char *text(const struct sonde_session *session, uint32_t id)
{
	return sonde_session_string(session, id);
}

int sonde_meta_row(void **out, struct sonde_session *session, struct sonde_rows *rows, uint32_t id, const void *blank)
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

static int add_info(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	struct sonde_session_info row = {text(session, record->info.key), text(session, record->info.value)};
	return sonde_rows_add(&session->infos, &row) ? 0 : -ENOMEM;
}

static int process_row(struct sonde_process **out, struct sonde_session *session, uint32_t id)
{
	static const struct sonde_process blank = {.name = "", .command = "", .status = -1};
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->processes, id, &blank);
	*out = row;
	return rc;
}

static int add_process(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	const struct sonde_meta_process *from = &record->process;
	struct sonde_process *row;
	int rc = process_row(&row, session, from->id);
	if (rc)
		return rc;
	row->pid = from->pid;
	row->parent = from->parent < from->id ? from->parent : 0; /* parents come first, so there are no cycles */
	row->name = text(session, from->name);
	row->command = text(session, from->command);
	row->start_ns = from->start_ns;
	return 0;
}

static int add_process_end(struct sonde_session *session, const union record *record, const uint8_t *more,
			   size_t more_b)
{
	(void)more, (void)more_b;
	const struct sonde_meta_process_end *from = &record->process_end;
	struct sonde_process *row;
	int rc = process_row(&row, session, from->id);
	if (rc)
		return rc;
	row->end_ns = from->time_ns;
	row->status = from->status;
	row->user_ns = from->user_ns;
	row->system_ns = from->system_ns;
	row->peak_rss_b = from->peak_rss_b;
	row->minor_faults = from->minor_faults;
	row->major_faults = from->major_faults;
	row->voluntary_switches = from->voluntary_switches;
	row->involuntary_switches = from->involuntary_switches;
	row->read_b = from->read_b;
	row->written_b = from->written_b;
	return 0;
}

static int thread_row(struct sonde_thread **out, struct sonde_session *session, uint32_t id)
{
	static const struct sonde_thread blank = {.name = ""};
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->threads, id, &blank);
	*out = row;
	return rc;
}

static int add_thread(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	const struct sonde_meta_thread *from = &record->thread;
	struct sonde_thread *row;
	int rc = thread_row(&row, session, from->id);
	if (rc)
		return rc;
	row->process = from->process <= session->id_max ? from->process : 0;
	row->tid = from->tid;
	row->name = text(session, from->name);
	row->start_ns = from->start_ns;
	return 0;
}

static int add_thread_end(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	struct sonde_thread *row;
	int rc = thread_row(&row, session, record->thread_end.id);
	if (rc)
		return rc;
	row->end_ns = record->thread_end.time_ns;
	row->cpu_ns = record->thread_end.cpu_ns;
	return 0;
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
	int rc = sonde_meta_row(&at, session, &session->modules, from->id, &blank);
	if (rc)
		return rc;
	struct sonde_session_module *module = at;
	size_t build_id_b = from->build_id_b <= sizeof from->build_id ? from->build_id_b : 0;
	module->build_id_b = (uint8_t)build_id_b;
	memcpy(module->build_id, from->build_id, build_id_b);
	module->row.flags = from->flags;
	module->row.process = from->process;
	module->row.path = text(session, from->path);
	module->row.name = module_name(module->row.path, from->flags);
	const char *build_id = hex(session, from->build_id, build_id_b);
	if (!build_id)
		return -ENOMEM;
	module->row.build_id = build_id;
	return 0;
}

static int add_site(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	static const struct sonde_site blank = {.name = "", .function = "", .file = "", .unit = ""};
	const struct sonde_meta_site *from = &record->site;
	void *at = NULL;
	int rc = sonde_meta_row(&at, session, &session->sites, from->id, &blank);
	if (rc)
		return rc;
	*(struct sonde_site *)at = (struct sonde_site){
	    .id = from->id,
	    .kind = from->kind,
	    .line = from->line,
	    .color = from->color,
	    .name = text(session, from->name),
	    .function = text(session, from->function),
	    .file = text(session, from->file),
	    .unit = text(session, from->unit),
	};
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
	struct sonde_source_row row = {
	    .name = text(session, from->name),
	    .method = text(session, from->method),
	    .detail = text(session, from->detail),
	    .state = from->state,
	    .rate_hz = from->rate_hz,
	    .effective_hz = from->effective_hz,
	};
	for (size_t i = 0; i < session->sources.count; i++) {
		struct sonde_source_row *old = sonde_rows_at(&session->sources, i);
		if (strcmp(old->name, row.name) == 0) {
			*old = row;
			return 0;
		}
	}
	if (session->sources.count == SOURCES_MAX)
		return -EBADMSG;
	return sonde_rows_add(&session->sources, &row) ? 0 : -ENOMEM;
}

static int add_lost(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	const struct sonde_meta_lost *from = &record->lost;
	struct sonde_lost row = {
	    .source = text(session, from->source),
	    .cause = text(session, from->cause),
	    .process = from->process,
	    .thread = from->thread,
	    .count = from->count,
	    .from_ns = from->from_ns,
	    .to_ns = from->to_ns,
	};
	return sonde_rows_add(&session->lost, &row) ? 0 : -ENOMEM;
}

static int add_cost(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	struct sonde_cost row = {text(session, record->cost.what), record->cost.value};
	return sonde_rows_add(&session->costs, &row) ? 0 : -ENOMEM;
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

/* Each has 58 KB of buckets, so their number is bounded as well. */
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

static int add_heap(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	static const struct sonde_heap blank = {.name = ""};
	const struct sonde_meta_heap *from = &record->heap;
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->heaps, from->id, &blank);
	if (!rc)
		*(struct sonde_heap *)row =
		    (struct sonde_heap){from->id, from->process, from->kind, text(session, from->name)};
	return rc;
}

static int add_snapshot(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	const struct sonde_meta_snapshot *from = &record->snapshot;
	struct sonde_snapshot row = {from->process, from->reason, text(session, from->label),
				     from->time_ns, from->rss_b,  from->pss_b};
	return sonde_rows_add(&session->snapshots, &row) ? 0 : -ENOMEM;
}

static int add_heap_site(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	static const struct sonde_heap_site blank;
	const struct sonde_meta_heap_site *from = &record->heap_site;
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->heap_sites, from->id, &blank);
	if (!rc)
		*(struct sonde_heap_site *)row =
		    (struct sonde_heap_site){from->id, from->heap, from->thread, from->stack, from->status};
	return rc;
}

static int add_heap_leak(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	const struct sonde_meta_heap_leak *from = &record->heap_leak;
	struct sonde_heap_remainder row = {
	    from->site, from->kind, from->blocks, from->size_b, text(session, from->detail), from->variance};
	return sonde_rows_add(&session->heap_rests, &row) ? 0 : -ENOMEM;
}

static int add_series(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	static const struct sonde_series blank = {.name = "", .unit = "", .object = ""};
	const struct sonde_meta_series *from = &record->series;
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->series, from->id, &blank);
	if (!rc)
		*(struct sonde_series *)row = (struct sonde_series){.id = from->id,
								    .kind = from->kind,
								    .process = from->process,
								    .thread = from->thread,
								    .name = text(session, from->name),
								    .unit = text(session, from->unit),
								    .object = text(session, from->object)};
	return rc;
}

static int add_object(struct sonde_session *session, const union record *record, const uint8_t *more, size_t more_b)
{
	(void)more, (void)more_b;
	static const struct sonde_object blank = {.name = ""};
	const struct sonde_meta_object *from = &record->object;
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->objects, from->id, &blank);
	if (!rc)
		*(struct sonde_object *)row = (struct sonde_object){from->id, from->process, from->kind,
								    text(session, from->name), from->address};
	return rc;
}

#define ADD_OF_DEVICES(what)                                                                                  \
	static int add_##what(struct sonde_session *session, const union record *record, const uint8_t *more, \
			      size_t more_b)                                                                  \
	{                                                                                                     \
		(void)more, (void)more_b;                                                                     \
		return sonde_meta_add_##what(session, &record->what);                                         \
	}

ADD_OF_DEVICES(device)
ADD_OF_DEVICES(queue)
ADD_OF_DEVICES(operation)

/* Only the first record, from the start of the recording, counts. */
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
