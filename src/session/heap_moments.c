/* heap_moments.c: how much was alive in processes at many moments, in one reading.
 *
 * Chunks that end before a moment add what their summaries say; one that it lies in is decoded. Snapshots end chunks,
 * so that of a whole recording none is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/heap.h"
#include "session/state.h"
#include "util/error.h"

struct moments {
	struct sonde_session *session;
	struct sonde_heap_moment *rows;
	size_t count;
	struct sonde_heap_alive *alive; /* by heap site id: of one chunk and moment */
	struct sonde_chunk_data data;
};

/* What the chunk leaves alive of what it began, less what it ended. */
static struct sonde_heap_alive whole(const struct sonde_heap_stat *stats, uint32_t sites)
{
	struct sonde_heap_alive sum = {0};
	for (uint32_t row = 0; row < sites; row++) {
		struct sonde_heap_stat stat;
		memcpy(&stat, &stats[row], sizeof stat);
		sum.blocks += stat.begins - stat.ends;
		sum.size_b += stat.begun_b - stat.ended_b;
		sum.variance += stat.begun_variance - stat.ended_variance;
	}
	return sum;
}

/* The same of its events up to a moment. */
static int part(struct moments *moments, size_t chunk, uint64_t time_ns, struct sonde_heap_alive *out)
{
	size_t sites = moments->session->heap_sites.count;
	uint64_t last_ns;
	int error = sonde_reader_read(moments->session->reader, chunk, &moments->data);
	if (error)
		return error;
	memset(moments->alive, 0, (sites + 1) * sizeof *moments->alive);
	error = sonde_heap_add_some(moments->session, &moments->data, moments->data.head->count, time_ns,
				    moments->alive, &last_ns);
	*out = (struct sonde_heap_alive){0};
	for (size_t i = 0; i <= sites; i++) {
		out->blocks += moments->alive[i].blocks;
		out->size_b += moments->alive[i].size_b;
		out->variance += moments->alive[i].variance;
	}
	return error;
}

static void add(struct sonde_heap_moment *row, uint32_t kind, const struct sonde_heap_alive *alive)
{
	if (kind == SONDE_HEAP_MAPPING) {
		row->mapped_b += alive->size_b;
		return;
	}
	row->live.blocks += alive->blocks;
	row->live.size_b += alive->size_b;
	row->live.variance += alive->variance;
}

static int add_chunk(struct moments *moments, size_t i)
{
	struct sonde_heap_summary summary;
	int error = sonde_reader_summary(moments->session->reader, i, &moments->data);
	const struct sonde_heap_stat *stats =
	    error ? NULL : sonde_heap_summary(moments->session, &moments->data, &summary);
	const struct sonde_heap *heap = stats ? sonde_session_heap(moments->session, summary.heap) : NULL;
	if (error || !stats)
		return error ? error : -EBADMSG;
	if (!heap || heap->kind == SONDE_HEAP_POOL)
		return 0;
	struct sonde_heap_alive all = whole(stats, summary.sites), some;
	uint64_t from_ns = moments->data.head->time_min_ns, to_ns = moments->data.head->time_max_ns;
	uint64_t mean_b = summary.mean_b;
	for (size_t row = 0; row < moments->count; row++) {
		struct sonde_heap_moment *moment = &moments->rows[row];
		if (moment->process != heap->process || moment->time_ns < from_ns)
			continue;
		if (mean_b > moment->mean_b)
			moment->mean_b = mean_b;
		if (moment->time_ns >= to_ns) {
			add(moment, heap->kind, &all);
			continue;
		}
		int bad = part(moments, i, moment->time_ns, &some);
		if (!bad)
			add(moment, heap->kind, &some);
		error = bad ? bad : error;
	}
	return error;
}

int sonde_session_heap_moments(struct sonde_session *session, struct sonde_heap_moment *rows, size_t count)
{
	struct moments moments = {.session = session, .rows = rows, .count = count};
	int error = 0;
	moments.alive = calloc(session->heap_sites.count + 1, sizeof *moments.alive);
	if (!moments.alive)
		return sonde_error(ENOMEM, "out of memory for %zu places that allocate", session->heap_sites.count);
	for (size_t row = 0; row < count; row++) {
		rows[row].live = (struct sonde_heap_alive){0};
		rows[row].mapped_b = rows[row].mean_b = 0;
		rows[row].known = 0;
		for (uint32_t id = 1; id <= session->heaps.count; id++) {
			const struct sonde_heap *heap = sonde_session_heap(session, id);
			rows[row].known |= heap->process == rows[row].process && heap->kind == SONDE_HEAP_MALLOC;
		}
	}
	sonde_buf_init(&moments.data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; error != -ENOMEM && count && i < sonde_reader_count(session->reader); i++) {
		if (!sonde_heap_is_chunk(&sonde_reader_entry(session->reader, i)->head))
			continue;
		int bad = add_chunk(&moments, i);
		error = bad ? bad : error;
	}
	sonde_buf_fini(&moments.data.buf);
	free(moments.alive);
	return error;
}
