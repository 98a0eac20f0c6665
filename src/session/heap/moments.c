/* moments.c: how much memory processes had live at many points in time, in a single pass; and which program had it.
 *
 * Points are processed by process and time. A chunk adds its summary to the first point after it, and later points
 * accumulate the sums. A chunk that contains a point is decoded for it. Snapshots end chunks, so in a complete
 * recording no chunk is decoded for them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/heap/heap.h"
#include "session/state.h"
#include "util/error.h"
#include "util/search.h"

struct moments {
	struct sonde_session *session;
	struct sonde_heap_moment **rows; /* by process, then time */
	size_t count;
	uint32_t *lives;                 /* by heap id */
	uint64_t *begins;                /* by heap id: time of its first event; UINT64_MAX = none */
	uint64_t *next_ns;               /* by process: see find_ends() */
	struct sonde_heap_moment *parts; /* by row: from chunks that contain its time; not accumulated */
	struct sonde_heap_alive *alive;  /* by heap site id: scratch for one chunk and time */
	struct sonde_chunk_data data;
};

static int compare(const void *left, const void *right)
{
	const struct sonde_heap_moment *a = *(struct sonde_heap_moment *const *)left;
	const struct sonde_heap_moment *b = *(struct sonde_heap_moment *const *)right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* The first row of a process at or after a time; moments->count if there is none. */
static size_t first_from(const struct moments *moments, uint32_t process, uint64_t time_ns)
{
	return SONDE_SEARCH(i, 0, moments->count,
			    moments->rows[i]->process < process ||
				(moments->rows[i]->process == process && moments->rows[i]->time_ns < time_ns));
}

static int is_of(const struct moments *moments, size_t row, const struct sonde_heap *heap)
{
	return row < moments->count && moments->rows[row]->process == heap->process &&
	       moments->rows[row]->life == moments->lives[heap->id];
}

/* Net change over the whole chunk: allocated minus freed. */
static struct sonde_heap_alive whole(struct sonde_heap_stats *stats)
{
	struct sonde_heap_alive sum = {0};
	while (sonde_heap_stats_next(stats)) {
		sum.blocks += stats->row.begins - stats->row.ends;
		sum.size_b += stats->row.begun_b - stats->row.ended_b;
		sum.variance += stats->row.begun_variance - stats->row.ended_variance;
	}
	return sum;
}

/* Net change over the chunk's events up to a time. */
static int part(struct moments *moments, size_t chunk, uint64_t time_ns, struct sonde_heap_alive *out)
{
	size_t sites = moments->session->heap_sites.count;
	uint64_t last_ns;
	int rc = sonde_reader_read(moments->session->reader, chunk, &moments->data);
	if (rc)
		return rc;
	memset(moments->alive, 0, (sites + 1) * sizeof *moments->alive);
	rc = sonde_heap_add_some(moments->session, &moments->data, moments->data.head->count, time_ns, moments->alive,
				 &last_ns);
	*out = (struct sonde_heap_alive){0};
	for (size_t i = 0; i <= sites; i++) {
		out->blocks += moments->alive[i].blocks;
		out->size_b += moments->alive[i].size_b;
		out->variance += moments->alive[i].variance;
	}
	return rc;
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
	struct sonde_heap_stats stats;
	int rc = sonde_reader_summary(moments->session->reader, i, &moments->data);
	rc = rc ? rc : sonde_heap_summary(moments->session, &moments->data, &summary, &stats);
	if (rc)
		return rc;
	const struct sonde_heap *heap = sonde_session_heap(moments->session, summary.heap);
	if (!heap || heap->kind == SONDE_HEAP_POOL)
		return 0;
	struct sonde_heap_alive all = whole(&stats), some;
	uint64_t from_ns = moments->data.head->time_min_ns, to_ns = moments->data.head->time_max_ns;
	size_t after = first_from(moments, heap->process, to_ns);
	if (is_of(moments, after, heap)) {
		struct sonde_heap_moment *row = moments->rows[after];
		add(row, heap->kind, &all);
		row->mean_b = summary.mean_b > row->mean_b ? summary.mean_b : row->mean_b;
	}
	for (size_t row = first_from(moments, heap->process, from_ns); row < after; row++) {
		if (!is_of(moments, row, heap))
			continue;
		int bad = part(moments, i, moments->rows[row]->time_ns, &some);
		if (!bad)
			add(&moments->parts[row], heap->kind, &some);
		moments->parts[row].mean_b = summary.mean_b;
		rc = bad ? bad : rc;
	}
	return rc;
}

void sonde_session_heap_lives(const struct sonde_session *session, uint32_t *lives)
{
	uint32_t *latest = calloc(session->processes.count + 1, sizeof *latest);
	lives[0] = 0;
	for (uint32_t id = 1; id <= session->heaps.count; id++) {
		const struct sonde_heap *heap = sonde_session_heap(session, id);
		uint32_t *of = latest ? &latest[heap->process] : &lives[id]; /* process ids are valid or 0 */
		if (heap->kind == SONDE_HEAP_MALLOC)
			*of = id;
		lives[id] = *of;
	}
	free(latest);
}

/* Finds the time of the first event of each heap. */
static int read_begins(struct moments *moments)
{
	struct sonde_heap_summary summary;
	struct sonde_heap_stats stats;
	int rc = 0;
	for (uint32_t id = 0; id <= moments->session->heaps.count; id++)
		moments->begins[id] = UINT64_MAX;
	for (size_t i = 0; rc != -ENOMEM && i < sonde_reader_count(moments->session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(moments->session->reader, i)->head;
		if (!sonde_heap_is_chunk(head))
			continue;
		rc = sonde_reader_summary(moments->session->reader, i, &moments->data);
		if (rc || sonde_heap_summary(moments->session, &moments->data, &summary, &stats))
			continue;
		if (head->time_min_ns < moments->begins[summary.heap])
			moments->begins[summary.heap] = head->time_min_ns;
	}
	return rc == -ENOMEM ? rc : 0;
}

/* Assigns a time to the program whose heap began last before it. The heaps of a process follow one another, like their
 * ids. */
static void find_lives(struct moments *moments)
{
	const struct sonde_session *session = moments->session;
	for (uint32_t id = 1; id <= session->heaps.count; id++) {
		const struct sonde_heap *heap = sonde_session_heap(session, id);
		if (heap->kind != SONDE_HEAP_MALLOC)
			continue;
		for (size_t i = first_from(moments, heap->process, 0); i < moments->count; i++) {
			struct sonde_heap_moment *row = moments->rows[i];
			if (row->process != heap->process)
				break;
			row->known = 1;
			if (!row->life || row->time_ns >= moments->begins[id])
				row->life = id;
		}
	}
}

/* Accumulates the rows of a process: each then includes all before it. */
static void sum_up(struct moments *moments)
{
	for (size_t i = 0; i < moments->count; i++) {
		struct sonde_heap_moment *row = moments->rows[i];
		const struct sonde_heap_moment *before = i ? moments->rows[i - 1] : NULL;
		if (before && before->process == row->process && before->life == row->life) {
			add(row, SONDE_HEAP_MALLOC, &before->live);
			row->mapped_b += before->mapped_b;
			row->mean_b = before->mean_b > row->mean_b ? before->mean_b : row->mean_b;
		}
	}
	for (size_t i = 0; i < moments->count; i++) {
		struct sonde_heap_moment *row = moments->rows[i];
		const struct sonde_heap_moment *some = &moments->parts[i];
		add(row, SONDE_HEAP_MALLOC, &some->live);
		row->mapped_b += some->mapped_b;
		row->mean_b = some->mean_b > row->mean_b ? some->mean_b : row->mean_b;
	}
}

/* True if any process ran more than one program that allocated. */
static int has_lives(const struct moments *moments)
{
	const struct sonde_session *session = moments->session;
	for (uint32_t id = 1; id <= session->heaps.count; id++) {
		const struct sonde_heap *heap = sonde_session_heap(session, id);
		if (heap->kind == SONDE_HEAP_MALLOC && heap->process <= session->processes.count &&
		    moments->next_ns[heap->process]++)
			return 1;
	}
	return 0;
}

/* From the last program of each process to its first: next_ns is the start of the following one, or the exit of the
 * process. */
static void find_ends(const struct moments *moments, uint64_t *ends_ns)
{
	const struct sonde_session *session = moments->session;
	uint64_t *next_ns = moments->next_ns;
	for (uint32_t id = 0; id <= session->processes.count; id++) {
		const struct sonde_process *process = sonde_session_process(session, id);
		next_ns[id] = process && process->end_ns ? process->end_ns : UINT64_MAX;
	}
	ends_ns[0] = 0;
	for (size_t id = session->heaps.count; id; id--) {
		const struct sonde_heap *heap = sonde_session_heap(session, (uint32_t)id);
		uint64_t *next = &next_ns[heap->process <= session->processes.count ? heap->process : 0];
		ends_ns[id] = *next == UINT64_MAX ? 0 : *next;
		if (heap->kind == SONDE_HEAP_MALLOC && heap->process && moments->begins[id] < *next)
			*next = moments->begins[id];
	}
}

int sonde_session_heap_ends(struct sonde_session *session, uint64_t *ends_ns)
{
	struct moments moments = {.session = session};
	moments.begins = calloc(session->heaps.count + 1, sizeof *moments.begins);
	moments.next_ns = calloc(session->processes.count + 1, sizeof *moments.next_ns);
	int rc = moments.begins && moments.next_ns
		     ? 0
		     : sonde_error(ENOMEM, "out of memory for %zu heaps", session->heaps.count);
	sonde_buf_init(&moments.data.buf, SONDE_READER_BUF_MAX_B);
	for (uint32_t id = 0; !rc && id <= session->heaps.count; id++)
		moments.begins[id] = UINT64_MAX;
	if (!rc && has_lives(&moments))
		rc = read_begins(&moments);
	if (!rc)
		find_ends(&moments, ends_ns);
	sonde_buf_fini(&moments.data.buf);
	free(moments.begins);
	free(moments.next_ns);
	return rc;
}

int sonde_session_heap_moments(struct sonde_session *session, struct sonde_heap_moment *rows, size_t count)
{
	struct moments moments = {.session = session, .count = count};
	int rc = 0;
	moments.rows = calloc(count + 1, sizeof *moments.rows);
	moments.parts = calloc(count + 1, sizeof *moments.parts);
	moments.alive = calloc(session->heap_sites.count + 1, sizeof *moments.alive);
	moments.lives = calloc(session->heaps.count + 1, sizeof *moments.lives);
	moments.begins = calloc(session->heaps.count + 1, sizeof *moments.begins);
	sonde_buf_init(&moments.data.buf, SONDE_READER_BUF_MAX_B);
	if (!moments.rows || !moments.parts || !moments.alive || !moments.lives || !moments.begins)
		rc = sonde_error(ENOMEM, "out of memory for %zu moments of a heap", count);
	for (size_t i = 0; !rc && i < count; i++) {
		rows[i] = (struct sonde_heap_moment){.process = rows[i].process, .time_ns = rows[i].time_ns};
		moments.rows[i] = &rows[i];
	}
	if (!rc) {
		qsort(moments.rows, count, sizeof *moments.rows, compare);
		sonde_session_heap_lives(session, moments.lives);
		rc = read_begins(&moments);
	}
	if (!rc)
		find_lives(&moments);
	for (size_t i = 0; rc != -ENOMEM && count && i < sonde_reader_count(session->reader); i++) {
		if (!sonde_heap_is_chunk(&sonde_reader_entry(session->reader, i)->head))
			continue;
		int bad = add_chunk(&moments, i);
		rc = bad ? bad : rc;
	}
	if (rc != -ENOMEM)
		sum_up(&moments);
	sonde_buf_fini(&moments.data.buf);
	free(moments.rows);
	free(moments.parts);
	free(moments.alive);
	free(moments.lives);
	free(moments.begins);
	return rc;
}
