/* made.c: computes the rows of tables that hold sums: from sums stored with the events or, for samples and spans, from
 * the events themselves. */
#include "query/made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/marks.h"
#include "base/clock.h"
#include "base/hash.h"
#include "fold/pair.h"
#include "session/intervals.h"
#include "session/rows.h"
#include "util/error.h"
#include "util/map.h"

struct zone_stats {
	struct sonde_rows rows; /* struct sonde_query_zone_stat */
	struct sonde_map index; /* (thread, site, process) → row + 1 */
};

struct zone_key {
	const struct zone_stats *stats;
	uint32_t process, thread, site;
};

static int is_same(const void *context, uint32_t value)
{
	const struct zone_key *key = context;
	const struct sonde_query_zone_stat *row = sonde_rows_at(&key->stats->rows, value - 1);
	return row->process == key->process && row->thread == key->thread && row->stat.site == key->site;
}

static int take_zone_stat(void *context, uint32_t process, uint32_t thread, const struct sonde_zone_stat *stat)
{
	struct zone_stats *stats = context;
	struct zone_key key = {stats, process, thread, stat->site};
	uint64_t hash = sonde_hash_pair((uint64_t)thread << 32 | stat->site, process);
	uint32_t at = sonde_map_find(&stats->index, hash, is_same, &key);
	struct sonde_query_zone_stat *row = at ? sonde_rows_at(&stats->rows, at - 1) : NULL;
	if (!row) {
		struct sonde_query_zone_stat blank = {.process = process, .thread = thread, .stat.site = stat->site};
		row = sonde_rows_add(&stats->rows, &blank);
		if (!row || sonde_map_add(&stats->index, hash, (uint32_t)stats->rows.count))
			return sonde_error(ENOMEM, "out of memory for the sums of zones");
	}
	sonde_pair_merge(&row->stat, stat);
	return 0;
}

int sonde_query_make_zone_stats(struct sonde_session *session, struct sonde_query_made *made)
{
	struct zone_stats stats = {.rows.row_b = sizeof(struct sonde_query_zone_stat)};
	int rc = sonde_session_zone_stats_each(session, take_zone_stat, &stats);
	sonde_map_fini(&stats.index);
	if (rc == -ENOMEM) {
		sonde_rows_fini(&stats.rows);
		return rc;
	}
	made->missing = rc != 0;
	made->rows = stats.rows.data;
	made->count = stats.rows.count;
	return 0;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

/* Passes every batch of the chunk types `types` to a function; unreadable chunks are skipped. */
static int feed_all(struct sonde_session *session, struct sonde_query_made *made, uint32_t types,
		    int (*feed)(void *state, const struct sonde_batch *), void *state)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int found = sonde_cursor_open(&cursor, session, types);
	if (found)
		return found;
	do {
		found = sonde_cursor_next(cursor, &batch);
		made->missing |= found == -EBADMSG;
		if (found > 0) {
			int rc = sonde_clock_now_ns() < made->end_ns ? feed(state, batch) : -ETIMEDOUT;
			found = rc ? rc : found;
		}
	} while (found > 0 || found == -EBADMSG);
	sonde_cursor_close(cursor);
	return found;
}

static int take_functions(const struct sonde_function_weight *weights, size_t count, struct sonde_query_made *made)
{
	struct sonde_rows rows = {.row_b = sizeof(struct sonde_query_function_stat)};
	for (size_t id = 0; id < count; id++) {
		struct sonde_query_function_stat row = {.function = (uint32_t)id, .weight = weights[id]};
		if (!sonde_weight_is_any(row.weight.total))
			continue;
		if (!sonde_rows_add(&rows, &row)) {
			sonde_rows_fini(&rows);
			return -ENOMEM;
		}
	}
	made->rows = rows.data;
	made->count = rows.count;
	return 0;
}

int sonde_query_make_function_stats(struct sonde_session *session, struct sonde_query_made *made)
{
	struct sonde_function_weight *weights = NULL;
	struct sonde_samples samples;
	size_t functions = 0;
	int rc = sonde_samples_init(&samples, session, NULL);
	if (rc)
		return rc;
	rc = feed_all(session, made, 1u << SONDE_CHUNK_SAMPLES, sonde_samples_feed, &samples);
	if (!rc)
		rc = sonde_samples_fold(&samples);
	if (!rc)
		rc = sonde_by_function(&samples, &weights, &functions);
	if (!rc)
		rc = take_functions(weights, functions, made);
	free(weights);
	sonde_samples_fini(&samples);
	return rc;
}

/* --- allocations -------------------------------------------------------------------------------------------------- */

int sonde_query_make_heap_stats(struct sonde_session *session, struct sonde_query_made *made)
{
	struct sonde_heap_sums sums = {0};
	size_t sites = sonde_session_heap_site_count(session);
	int rc = sonde_session_heap_sums(session, &sums);
	if (rc == -ENOMEM)
		return rc;
	struct sonde_query_heap_stat *rows = calloc(sites + 1, sizeof *rows);
	for (size_t i = 0; rows && sums.sites && i < sites; i++) {
		const struct sonde_heap_site *site = sonde_session_heap_site(session, (uint32_t)i + 1);
		const struct sonde_heap *heap = sonde_session_heap(session, site->heap);
		const struct sonde_heap_sum *sum = &sums.sites[i + 1];
		uint32_t is_estimated = heap && sums.heaps[heap->id].mean_b;
		rows[i] = (struct sonde_query_heap_stat){.site = *site,
							 .process = heap ? heap->process : 0,
							 .is_estimated = is_estimated,
							 .temporary_plus_1 = is_estimated ? 0 : sum->temporary + 1,
							 .sum = *sum};
	}
	made->missing = rc != 0;
	made->count = rows && sums.sites ? sites : 0;
	sonde_heap_sums_free(&sums);
	made->rows = rows;
	return rows ? 0 : sonde_error(ENOMEM, "out of memory for the sums of allocations");
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

static int compare_marks(const void *left, const void *right)
{
	const struct sonde_mark *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->type > b->type) - (a->type < b->type); /* at the same time, a begin comes before an end */
}

/* Ends the innermost open span with the site of `end`; site 0 matches any. Same pairing as analyze/zone/spans.c. */
static void end_span(struct sonde_query_span *rows, size_t *open, size_t *open_count, const struct sonde_mark *end)
{
	size_t i = *open_count;
	while (i > 0 && end->site && rows[open[i - 1]].site != end->site)
		i--;
	if (i == 0)
		return;
	struct sonde_query_span *row = &rows[open[i - 1]];
	row->end_ns = end->time_ns;
	row->dur_plus_1_ns = end->time_ns - row->start_ns + 1;
	row->end_thread = end->thread;
	memmove(&open[i - 1], &open[i], (*open_count - i) * sizeof *open);
	(*open_count)--;
}

static size_t pair_spans(const struct sonde_annotations *marks, struct sonde_query_span *rows, size_t *open)
{
	size_t count = 0, open_count = 0;
	for (size_t i = 0; i < marks->count; i++) {
		const struct sonde_mark *mark = &marks->marks[i];
		if (i && (mark->id != mark[-1].id || mark->process != mark[-1].process))
			open_count = 0;
		if (mark->type != SONDE_EVENT_SPAN_BEGIN) {
			end_span(rows, open, &open_count, mark);
			continue;
		}
		open[open_count++] = count;
		rows[count++] = (struct sonde_query_span){.number = mark->id,
							  .start_ns = mark->time_ns,
							  .process = mark->process,
							  .site = mark->site,
							  .start_thread = mark->thread};
	}
	return count;
}

int sonde_query_make_spans(struct sonde_session *session, struct sonde_query_made *made)
{
	static const struct sonde_pass_options all;
	struct sonde_annotations marks;
	sonde_marks_init(&marks, session, &all, 1u << SONDE_EVENT_SPAN_BEGIN | 1u << SONDE_EVENT_SPAN_END);
	int rc = feed_all(session, made, 1u << SONDE_CHUNK_EVENTS, sonde_marks_feed, &marks);
	size_t most = rc ? 0 : marks.count;
	int too_many = most > made->most_b / sizeof(struct sonde_query_span);
	struct sonde_query_span *rows = too_many ? NULL : calloc(most + 1, sizeof *rows);
	size_t *open = too_many ? NULL : calloc(most + 1, sizeof *open);
	if (!rc && (!rows || !open))
		rc = sonde_error(ENOMEM, "out of memory for %zu spans", most);
	if (!rc) {
		if (most)
			qsort(marks.marks, most, sizeof *marks.marks, compare_marks);
		made->count = pair_spans(&marks, rows, open);
		made->rows = rows;
	} else {
		free(rows);
	}
	free(open);
	sonde_marks_end(&marks);
	return rc;
}

/* --- states of threads -------------------------------------------------------------------------------------------- */

struct states {
	struct sonde_rows rows; /* struct sonde_query_state */
	const struct sonde_query_made *made;
};

static int take_interval(void *context, const struct sonde_interval *interval)
{
	struct states *states = context;
	struct sonde_query_state row = {.from_ns = interval->from_ns,
					.to_ns = interval->to_ns,
					.woken_ns = interval->woken_ns,
					.thread = interval->thread,
					.cpu = interval->cpu,
					.state = interval->state,
					.by = interval->by,
					.is_unsure = interval->unsure};
	if (states->rows.count % 4096 == 0 && sonde_clock_now_ns() >= states->made->end_ns)
		return -ETIMEDOUT;
	if (states->rows.count >= states->made->most_b / sizeof row || !sonde_rows_add(&states->rows, &row))
		return sonde_error(ENOMEM, "out of memory for the states of threads");
	return 0;
}

int sonde_query_make_states(struct sonde_session *session, struct sonde_query_made *made)
{
	struct states states = {.rows.row_b = sizeof(struct sonde_query_state), .made = made};
	struct sonde_intervals intervals;
	int rc = sonde_intervals_walk(&intervals, session, take_interval, &states);
	if (rc == -ENOMEM || rc == -ETIMEDOUT) {
		sonde_rows_fini(&states.rows);
		return rc;
	}
	made->missing = rc != 0;
	made->rows = states.rows.data;
	made->count = states.rows.count;
	return 0;
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

int sonde_query_make_info(struct sonde_session *session, struct sonde_query_made *made)
{
	size_t infos = sonde_session_info_count(session);
	struct sonde_query_info *rows = calloc(infos + 1, sizeof *rows);
	if (!rows)
		return sonde_error(ENOMEM, "out of memory for %zu facts", infos);
	for (size_t i = 0; i < infos; i++)
		sonde_session_info_at(session, i, &rows[i].key, &rows[i].value);
	made->rows = rows;
	made->count = infos;
	return 0;
}
