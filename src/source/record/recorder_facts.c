/* recorder_facts.c: records other than events: heaps and heap sites, leaks, snapshots, series, objects, sources,
 * losses, overhead, histograms (record/recorder.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/varint.h"
#include "fold/hist.h"
#include "source/record/recorder_state.h"

uint32_t sonde_recorder_heap(struct sonde_recorder *recorder, uint32_t process, enum sonde_heap_kind kind,
			     const char *name)
{
	struct sonde_meta_heap record = {
	    .head.type = SONDE_META_HEAP,
	    .id = recorder->heaps + 1,
	    .process = process,
	    .kind = kind,
	    .name = sonde_recorder_text(recorder, name),
	};
	if (!process)
		return 0;
	sonde_writer_meta(recorder->writer, &record, sizeof record, NULL, 0);
	return ++recorder->heaps;
}

uint32_t sonde_recorder_heap_site(struct sonde_recorder *recorder, const struct sonde_recorder_heap_site *site)
{
	struct sonde_meta_heap_site record = {
	    .head.type = SONDE_META_HEAP_SITE,
	    .heap = site->heap,
	    .thread = site->thread,
	    .stack = site->stack,
	    .status = site->status,
	};
	uint64_t hash = sonde_hash_pair((uint64_t)site->thread << 32 | site->stack, site->heap);
	uint32_t id = sonde_map_find(&recorder->heap_map, hash, NULL, NULL);
	if (id || recorder->heap_sites == UINT32_MAX)
		return id;
	record.id = recorder->heap_sites + 1;
	if (sonde_map_add(&recorder->heap_map, hash, record.id)) {
		sonde_recorder_keep_error(recorder, -ENOMEM);
		return 0;
	}
	recorder->heap_sites++;
	sonde_writer_meta(recorder->writer, &record, sizeof record, NULL, 0);
	return record.id;
}

void sonde_recorder_heap_leak(struct sonde_recorder *recorder, struct sonde_meta_heap_leak *record)
{
	record->head.type = SONDE_META_HEAP_LEAK;
	if (record->blocks)
		sonde_writer_meta(recorder->writer, record, sizeof *record, NULL, 0);
}

uint32_t sonde_recorder_snapshot(struct sonde_recorder *recorder, struct sonde_meta_snapshot *record)
{
	record->head.type = SONDE_META_SNAPSHOT;
	sonde_writer_meta(recorder->writer, record, sizeof *record, NULL, 0);
	return ++recorder->snapshot_count;
}

uint32_t sonde_recorder_series(struct sonde_recorder *recorder, enum sonde_metric metric, uint32_t process,
			       uint32_t thread, const char *object)
{
	const struct sonde_metric_row *row = sonde_metric_row(metric);
	struct sonde_meta_series record = {
	    .head.type = SONDE_META_SERIES,
	    .id = ++recorder->series,
	    .kind = row->kind,
	    .name = sonde_recorder_text(recorder, row->name),
	    .unit = *row->unit ? sonde_recorder_text(recorder, row->unit) : 0,
	    .process = process,
	    .thread = thread,
	    .object = sonde_recorder_text(recorder, object),
	};
	sonde_writer_meta(recorder->writer, &record, sizeof record, NULL, 0);
	return record.id;
}

void sonde_recorder_point(struct sonde_recorder *recorder, uint64_t time_ns, uint32_t series, int64_t value)
{
	if (series && sonde_points_put(&recorder->points, time_ns, series, value))
		sonde_recorder_keep_error(recorder, sonde_points_flush(&recorder->points, recorder->writer));
}

uint32_t sonde_recorder_object(struct sonde_recorder *recorder, struct sonde_meta_object *record)
{
	if (!record->process)
		return 0;
	record->head.type = SONDE_META_OBJECT;
	record->id = ++recorder->objects;
	sonde_writer_meta(recorder->writer, record, sizeof *record, NULL, 0);
	return record->id;
}

void sonde_recorder_info(struct sonde_recorder *recorder, const char *key, const char *value)
{
	struct sonde_meta_info record = {
	    .head.type = SONDE_META_INFO,
	    .key = sonde_recorder_text(recorder, key),
	    .value = sonde_recorder_text(recorder, value),
	};
	sonde_writer_meta(recorder->writer, &record, sizeof record, NULL, 0);
}

void sonde_recorder_source(struct sonde_recorder *recorder, const char *name, const struct sonde_recorder_state *state)
{
	struct sonde_meta_source record = {
	    .head.type = SONDE_META_SOURCE,
	    .name = sonde_recorder_text(recorder, name),
	    .state = state->state,
	    .method = sonde_recorder_text(recorder, state->method),
	    .detail = sonde_recorder_text(recorder, state->detail),
	    .rate_hz = state->rate_hz,
	    .effective_hz = state->effective_hz,
	};
	sonde_writer_meta(recorder->writer, &record, sizeof record, NULL, 0);
}

void sonde_recorder_lost(struct sonde_recorder *recorder, const struct sonde_recorder_loss *loss)
{
	if (!loss->count)
		return;
	uint64_t time_ns = loss->time_ns ? loss->time_ns : sonde_clock_now_ns();
	uint32_t source = sonde_recorder_text(recorder, loss->source);
	uint32_t cause = sonde_recorder_text(recorder, loss->cause);
	struct sonde_meta_lost *row = recorder->lost;
	size_t i = 0;
	for (; i < recorder->lost_count; i++, row++)
		if (row->source == source && row->cause == cause && row->thread == loss->thread)
			break;
	if (i == recorder->lost_count) {
		struct sonde_meta_lost *rows = realloc(recorder->lost, (recorder->lost_count + 1) * sizeof *rows);
		if (!rows) {
			sonde_recorder_keep_error(recorder, -ENOMEM);
			return;
		}
		recorder->lost = rows;
		row = &rows[recorder->lost_count++];
		*row = (struct sonde_meta_lost){
		    .head.type = SONDE_META_LOST,
		    .source = source,
		    .cause = cause,
		    .process = loss->process,
		    .thread = loss->thread,
		    .from_ns = time_ns,
		};
	}
	row->count += loss->count;
	row->to_ns = time_ns;
}

uint64_t sonde_recorder_lost_count(const struct sonde_recorder *recorder, char *first, size_t first_b)
{
	uint64_t count = 0;
	*first = '\0';
	for (size_t i = 0; i < recorder->lost_count; i++) {
		const struct sonde_meta_lost *row = &recorder->lost[i];
		if (!count && row->count && row->source && row->cause)
			snprintf(first, first_b, "%s: %s", recorder->strings.rows[row->source - 1].text,
				 recorder->strings.rows[row->cause - 1].text);
		count += row->count;
	}
	return count;
}

void sonde_recorder_cost(struct sonde_recorder *recorder, const char *what, uint64_t value)
{
	struct sonde_meta_cost record = {
	    .head.type = SONDE_META_COST,
	    .what = sonde_recorder_text(recorder, what),
	    .value = value,
	};
	sonde_writer_meta(recorder->writer, &record, sizeof record, NULL, 0);
}

void sonde_recorder_histogram(struct sonde_recorder *recorder, const struct sonde_recorder_histogram *histogram)
{
	struct sonde_buf pairs;
	sonde_buf_init(&pairs, (size_t)SONDE_HIST_BUCKETS * 2 * SONDE_VARINT_MAX_B);
	struct sonde_meta_histogram record = {
	    .head.type = SONDE_META_HISTOGRAM,
	    .site = histogram->site,
	    .process = histogram->process,
	    .count = histogram->count,
	    .sum = histogram->sum,
	    .min = histogram->min,
	    .max = histogram->max,
	};
	uint32_t before = 0;
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++) {
		if (!histogram->hits[i])
			continue;
		sonde_buf_varint(&pairs, i - before);
		sonde_buf_varint(&pairs, histogram->hits[i]);
		before = i;
		record.pairs++;
	}
	sonde_recorder_keep_error(recorder, sonde_buf_error(&pairs));
	sonde_writer_meta(recorder->writer, &record, sizeof record, pairs.data, pairs.len_b);
	sonde_buf_fini(&pairs);
}
