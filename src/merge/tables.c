/* tables.c: writes table rows as records of the new file; their ids follow those of the previous recordings.
 *
 * Only strings and source locations are shared if they are equal in several recordings. So a zone that occurs in
 * several ranks is one row in a report. Everything else stays separate: a process, thread or heap belongs to one
 * recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/hist.h"
#include "merge/translate.h"
#include "util/array.h"
#include "util/error.h"

uint32_t sonde_merge_text(struct sonde_merge_out *out, const char *text)
{
	if (!text || !*text)
		return 0;
	uint32_t id = sonde_strings_intern(&out->strings, text, strlen(text));
	if (!id && !out->error)
		out->error = sonde_writer_error(out->writer);
	if (!id && !out->error)
		out->error = sonde_error(ENOMEM, "out of memory for texts");
	return id;
}

static int put(struct sonde_merge_out *out, const void *record, size_t record_b)
{
	return out->error ? out->error : sonde_writer_meta(out->writer, record, record_b, NULL, 0);
}

#define PUT(out, ...) put(out, &(__VA_ARGS__), sizeof(__VA_ARGS__))

/* --- records translated field by field --------------------------------------------------------------------------- */

/* Writes row `key` of an input, from sonde_session_ROW(), as a record. */
#define ADD(record_name, NAME, table)                                                                                  \
	static int add_##record_name(struct sonde_merge_out *out, const struct sonde_merge_input *input, uint32_t key) \
	{                                                                                                              \
		const struct sonde_##table *row = sonde_session_##table(input->session, key);                          \
		struct sonde_meta_##record_name record = {.head.type = SONDE_META_##NAME};                             \
		SONDE_##NAME##_FIELDS(SONDE_TRANSLATE, ) return PUT(out, record);                                      \
	}

ADD(process_end, PROCESS_END, process)
ADD(thread_end, THREAD_END, thread)
ADD(heap, HEAP, heap)
ADD(heap_site, HEAP_SITE, heap_site)
ADD(object, OBJECT, object)
ADD(device, DEVICE, device)
ADD(queue, QUEUE, queue)
ADD(operation, OPERATION, operation)
ADD(heap_leak, HEAP_LEAK, heap_remainder)
ADD(snapshot, SNAPSHOT, snapshot)
ADD(lost, LOST, lost)

/* --- processes and threads --------------------------------------------------------------------------------------- */

static const struct sonde_merge_part *part_of(const struct sonde_merge_out *out, const struct sonde_merge_input *input,
					      uint32_t process)
{
	for (size_t i = input->first_part; i < input->first_part + input->part_count; i++)
		if (process >= out->inputs->part[i].first && process <= out->inputs->part[i].last)
			return &out->inputs->part[i];
	return &out->inputs->part[input->first_part];
}

/* Prefixes the part's name, so that tables of processes show the part. Returns `buf`'s text, or the name unchanged. */
static const char *named(struct sonde_buf *buf, const struct sonde_merge_out *out, const struct sonde_merge_part *part,
			 const char *text)
{
	sonde_buf_init(buf, SONDE_STRING_MAX_B);
	if (out->inputs->part_count < 2 || part->is_named || !*text)
		return text;
	sonde_buf_printf(buf, "%s: %s", part->name, text);
	return sonde_buf_error(buf) ? text : (const char *)buf->data;
}

static int add_process(struct sonde_merge_out *out, const struct sonde_merge_input *input, uint32_t id)
{
	struct sonde_process own = *sonde_session_process(input->session, id);
	const struct sonde_process *row = &own;
	const struct sonde_merge_part *part = part_of(out, input, id + input->processes);
	struct sonde_meta_process record = {.head.type = SONDE_META_PROCESS};
	struct sonde_buf name, command;
	own.name = named(&name, out, part, own.name);
	own.command = named(&command, out, part, own.command);
	SONDE_PROCESS_FIELDS(SONDE_TRANSLATE, )
	sonde_buf_fini(&name);
	sonde_buf_fini(&command);
	int rc = PUT(out, record);
	if (rc || (!row->end_ns && row->status == -1 && !row->user_ns && !row->system_ns && !row->peak_rss_b))
		return rc;
	return add_process_end(out, input, id);
}

static int add_thread(struct sonde_merge_out *out, const struct sonde_merge_input *input, uint32_t id)
{
	const struct sonde_thread *row = sonde_session_thread(input->session, id);
	struct sonde_meta_thread record = {.head.type = SONDE_META_THREAD};
	SONDE_THREAD_FIELDS(SONDE_TRANSLATE, )
	int rc = PUT(out, record);
	if (rc || (!row->end_ns && !row->cpu_ns))
		return rc;
	return add_thread_end(out, input, id);
}

/* --- sites ------------------------------------------------------------------------------------------------------- */

static int use_site(struct sonde_merge_out *out, uint32_t site, size_t index)
{
	if (SONDE_ARRAY_RESERVE_ZEROS(out->site_user, out->site_user_cap, site))
		return sonde_error(ENOMEM, "out of memory for sites");
	if (out->site_user[site - 1] == index + 1)
		return 1;
	out->site_user[site - 1] = (uint32_t)index + 1;
	return 0;
}

/* Sites that are distinct in one recording stay distinct, even if they are equal. */
static int add_site(struct sonde_merge_out *out, size_t index, uint32_t id)
{
	struct sonde_merge_input *input = &out->inputs->input[index];
	const struct sonde_site *row = sonde_session_site(input->session, id);
	struct sonde_buf *key = &out->sites.key;
	uint32_t site;
	int is_new, used = 1;
	for (unsigned again = 0; used > 0; again++) {
		sonde_buf_clear(key);
		sonde_buf_printf(key, "%u %u %u %u ", row->kind, row->line, row->color, again);
		const char *texts[] = {row->name, row->function, row->file, row->unit};
		for (size_t i = 0; i < 4; i++)
			sonde_buf_append(key, texts[i], strlen(texts[i]) + 1);
		site = sonde_merge_key(&out->sites, &is_new);
		used = site ? use_site(out, site, index) : sonde_error(ENOMEM, "out of memory for sites");
	}
	if (used < 0)
		return used;
	input->sites[id] = site;
	if (!is_new)
		return 0;
	struct sonde_meta_site record = {.head.type = SONDE_META_SITE};
	SONDE_SITE_FIELDS(SONDE_TRANSLATE, )
	return PUT(out, record);
}

static int add_histogram(struct sonde_merge_out *out, const struct sonde_merge_input *input, uint32_t i)
{
	const struct sonde_histogram *row = sonde_session_histogram(input->session, i);
	struct sonde_meta_histogram record = {
	    .head.type = SONDE_META_HISTOGRAM,
	    .site = sonde_merge_site(input, row->site),
	    .process = sonde_merge_process(input, row->process),
	    .count = row->count,
	    .sum = row->sum,
	    .min = row->min,
	    .max = row->max,
	};
	struct sonde_buf pairs;
	sonde_buf_init(&pairs, SONDE_CHUNK_MAX_RAW_B);
	for (size_t bucket = 0, before = 0; bucket < SONDE_HIST_BUCKETS; bucket++) {
		if (!row->hits[bucket])
			continue;
		sonde_buf_varint(&pairs, bucket - before);
		sonde_buf_varint(&pairs, row->hits[bucket]);
		before = bucket;
		record.pairs++;
	}
	int rc = sonde_buf_error(&pairs);
	rc = rc ? rc : sonde_writer_meta(out->writer, &record, sizeof record, pairs.data, pairs.len_b);
	sonde_buf_fini(&pairs);
	return rc;
}

int sonde_merge_tables(struct sonde_merge_out *out, size_t index)
{
	struct sonde_merge_input *input = &out->inputs->input[index];
	const struct sonde_session *session = input->session;
	const struct {
		size_t count;
		uint32_t first; /* id or index of the first row */
		int (*add)(struct sonde_merge_out *out, const struct sonde_merge_input *input, uint32_t key);
	} tables[] = {
	    {sonde_session_process_count(session), 1, add_process},
	    {sonde_session_thread_count(session), 1, add_thread},
	    {sonde_session_heap_count(session), 1, add_heap},
	    {sonde_session_object_count(session), 1, add_object},
	    {sonde_session_heap_site_count(session), 1, add_heap_site},
	    {sonde_session_device_count(session), 1, add_device},
	    {sonde_session_queue_count(session), 1, add_queue},
	    {sonde_session_operation_count(session), 1, add_operation},
	    {sonde_session_heap_remainder_count(session), 0, add_heap_leak},
	    {sonde_session_snapshot_count(session), 0, add_snapshot},
	    {sonde_session_lost_count(session), 0, add_lost},
	    {sonde_session_histogram_count(session), 0, add_histogram},
	};
	size_t sites = sonde_session_site_count(session);
	input->sites = calloc(sites + 1, sizeof *input->sites);
	int rc = input->sites ? 0 : sonde_error(ENOMEM, "out of memory for sites");
	for (uint32_t id = 1; !rc && id <= sites; id++)
		rc = add_site(out, index, id);
	for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
		for (uint32_t i = 0; !rc && i < tables[k].count; i++)
			rc = tables[k].add(out, input, tables[k].first + i);
	return rc ? rc : out->error;
}
