/* rss.c: points kept as they come, sorted when all have come (rss.h). */
#include "analyze/rss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

int sonde_rss_init(struct sonde_rss *rss, const struct sonde_session *session)
{
	size_t count = sonde_session_process_count(session) + 1;
	*rss = (struct sonde_rss){.series = calloc(count, sizeof *rss->series), .count = count};
	return rss->series ? 0 : sonde_error(ENOMEM, "out of memory for %zu processes", count);
}

void sonde_rss_fini(struct sonde_rss *rss)
{
	for (size_t i = 0; rss->series && i < rss->count; i++)
		free(rss->series[i].points);
	free(rss->series);
	*rss = (struct sonde_rss){0};
}

static int room(struct sonde_rss_series *series, size_t more)
{
	if (series->count + more <= series->cap)
		return 0;
	size_t cap = 2 * (series->count + more);
	struct sonde_rss_point *points = realloc(series->points, cap * sizeof *points);
	if (!points)
		return sonde_error(ENOMEM, "out of memory for %zu readings of a process's memory", cap);
	series->points = points;
	series->cap = cap;
	return 0;
}

int sonde_rss_feed(struct sonde_rss *rss, const struct sonde_batch *batch)
{
	if (batch->type != SONDE_CHUNK_EVENTS || batch->process >= rss->count)
		return 0;
	struct sonde_rss_series *series = &rss->series[batch->process];
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_event_value *event = (const void *)batch->events[i];
		if (event->head.type != SONDE_EVENT_RESIDENT || !(event->value >= 0 && event->value < 0x1p63))
			continue;
		if (room(series, 1))
			return -ENOMEM;
		series->points[series->count++] = (struct sonde_rss_point){event->head.time, (uint64_t)event->value};
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
		if (room(to, from->count))
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
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	struct sonde_rss rss;
	int rc = sonde_rss_init(&rss, session);
	if (rc)
		return rc;
	rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_EVENTS);
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

size_t sonde_rss_after(const struct sonde_rss_series *series, uint64_t time_ns)
{
	size_t from = 0, to = series->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (series->points[middle].time_ns <= time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint64_t sonde_rss_around(const struct sonde_rss *rss, uint32_t process, uint64_t time_ns, uint64_t within_ns)
{
	const struct sonde_rss_series *series = process < rss->count ? &rss->series[process] : NULL;
	size_t at = series ? sonde_rss_after(series, time_ns) : 0;
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
