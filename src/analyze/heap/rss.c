/* rss.c: collects points in any order and sorts them at the end (heap/rss.h). */
#include "analyze/heap/rss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/metric.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

int sonde_rss_init(struct sonde_rss *rss, const struct sonde_session *session)
{
	size_t count = sonde_session_process_count(session) + 1;
	*rss = (struct sonde_rss){.series = calloc(count, sizeof *rss->series),
				  .count = count,
				  .metric = SONDE_METRIC_MEMORY_RSS,
				  .session = session};
	return rss->series ? 0 : sonde_error(ENOMEM, "out of memory for %zu processes", count);
}

void sonde_rss_fini(struct sonde_rss *rss)
{
	for (size_t i = 0; rss->series && i < rss->count; i++)
		free(rss->series[i].points);
	free(rss->series);
	*rss = (struct sonde_rss){0};
}

static int ensure_capacity(struct sonde_rss_series *series, size_t more)
{
	return SONDE_ARRAY_RESERVE(series->points, series->cap, series->count + more)
		   ? sonde_error(ENOMEM, "out of memory for %zu readings of a process's memory", series->count + more)
		   : 0;
}

/* The process that a series belongs to; 0 = the series is of another metric. */
static uint32_t process_of(const struct sonde_rss *rss, uint32_t id)
{
	const struct sonde_series *series = sonde_session_series(rss->session, id);
	int is_it = series && !series->thread && series->process < rss->count &&
		    !strcmp(series->name, sonde_metric_row(rss->metric)->name);
	return is_it ? series->process : 0;
}

int sonde_rss_feed(struct sonde_rss *rss, const struct sonde_batch *batch)
{
	if (batch->type != SONDE_CHUNK_SERIES)
		return 0;
	for (size_t i = 0; i < batch->count; i++) {
		uint32_t process = process_of(rss, batch->series.series[i]);
		if (!process || batch->series.value[i] < 0)
			continue;
		struct sonde_rss_series *series = &rss->series[process];
		if (ensure_capacity(series, 1))
			return -ENOMEM;
		series->points[series->count++] =
		    (struct sonde_rss_point){batch->series.time_ns[i], (uint64_t)batch->series.value[i]};
	}
	return 0;
}

int sonde_rss_merge(struct sonde_rss *rss, const struct sonde_rss *other)
{
	for (size_t i = 0; i < rss->count && i < other->count; i++) {
		const struct sonde_rss_series *from = &other->series[i];
		struct sonde_rss_series *to = &rss->series[i];
		if (!from->count)
			continue;
		if (ensure_capacity(to, from->count))
			return -ENOMEM;
		memcpy(to->points + to->count, from->points, from->count * sizeof *from->points);
		to->count += from->count;
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct sonde_rss_point *a = left, *b = right;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

void sonde_rss_sort(struct sonde_rss *rss)
{
	for (size_t i = 0; i < rss->count; i++)
		if (rss->series[i].count)
			qsort(rss->series[i].points, rss->series[i].count, sizeof *rss->series[i].points, compare);
}

int sonde_rss_read(struct sonde_rss *out, struct sonde_session *session)
{
	return sonde_rss_read_of(out, session, SONDE_METRIC_MEMORY_RSS);
}

int sonde_rss_read_of(struct sonde_rss *out, struct sonde_session *session, enum sonde_metric metric)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	struct sonde_rss rss;
	int rc = sonde_rss_init(&rss, session);
	if (rc)
		return rc;
	rss.metric = metric;
	rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SERIES);
	if (!rc) {
		while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM) {
			if (rc > 0 && (rc = sonde_rss_feed(&rss, batch)))
				break;
		}
		sonde_cursor_close(cursor);
	}
	if (rc) {
		sonde_rss_fini(&rss);
		return rc;
	}
	sonde_rss_sort(&rss);
	*out = rss;
	return 0;
}

/* The index of the first point after a time; series->count if there is none. */
static size_t first_after(const struct sonde_rss_series *series, uint64_t time_ns)
{
	return SONDE_SEARCH(i, 0, series->count, series->points[i].time_ns <= time_ns);
}

const struct sonde_rss_point *sonde_rss_at(const struct sonde_rss_series *series, uint64_t time_ns)
{
	size_t after = first_after(series, time_ns);
	return after ? &series->points[after - 1] : NULL;
}

uint64_t sonde_rss_around(const struct sonde_rss *rss, uint32_t process, uint64_t time_ns, uint64_t within_ns)
{
	const struct sonde_rss_series *series = process < rss->count ? &rss->series[process] : NULL;
	size_t at = series ? first_after(series, time_ns) : 0;
	uint64_t size_b = 0;
	if (series && at && time_ns - series->points[at - 1].time_ns <= within_ns)
		size_b = series->points[at - 1].size_b;
	if (series && at < series->count && series->points[at].time_ns - time_ns <= within_ns &&
	    series->points[at].size_b > size_b)
		size_b = series->points[at].size_b;
	return size_b;
}

void sonde_rss_pace_add(struct sonde_rss_pace *pace, const struct sonde_rss_series *series)
{
	for (size_t i = 1; i < series->count; i++) {
		uint64_t between_ns = series->points[i].time_ns - series->points[i - 1].time_ns;
		sonde_moments_add(&pace->between, (double)between_ns);
		pace->longest_ns = between_ns > pace->longest_ns ? between_ns : pace->longest_ns;
	}
}
