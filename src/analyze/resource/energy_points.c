/* energy_points.c: keeps points at least a quarter of a second apart: totals are exact at every kept point, and windows
 * last at least a second. */
#include "analyze/resource/energy_points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/metric.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define NEAR_NS 250000000u

static int is_metric(const struct sonde_series *series, enum sonde_metric metric)
{
	return strcmp(series->name, sonde_metric_row(metric)->name) == 0;
}

/* Which of the clocks a series is; −1 = none. */
static int clock_of(const struct sonde_series *series)
{
	static const enum sonde_metric metrics[] = {
	    [SONDE_ENERGY_USER] = SONDE_METRIC_CPU_USER,     [SONDE_ENERGY_SYSTEM] = SONDE_METRIC_CPU_SYSTEM,
	    [SONDE_ENERGY_IDLE] = SONDE_METRIC_CPU_IDLE,     [SONDE_ENERGY_IOWAIT] = SONDE_METRIC_CPU_IOWAIT,
	    [SONDE_ENERGY_STOLEN] = SONDE_METRIC_CPU_STOLEN,
	};
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		if (is_metric(series, metrics[i]) && !series->thread && !*series->object)
			return (int)i;
	return -1;
}

/* Assigns a track to a series: its own, or that of an earlier series of the same thing. */
static void place(struct sonde_energy_points *points, uint32_t id)
{
	const struct sonde_series *series = sonde_session_series(points->session, id);
	if ((is_metric(series, SONDE_METRIC_ENERGY) || is_metric(series, SONDE_METRIC_DEVICE_ENERGY)) &&
	    !series->process) {
		points->same[id] = id; /* a meter gets another series after a gap: its series are never merged */
		return;
	}
	int clock = clock_of(series);
	if (clock < 0 || series->process > points->process_count)
		return;
	if (series->process && clock > SONDE_ENERGY_SYSTEM)
		return;
	uint32_t *slot = series->process ? &points->of_process[series->process][clock] : &points->machine[clock];
	if (!*slot)
		*slot = id;
	points->same[id] = *slot;
}

int sonde_energy_points_init(struct sonde_energy_points *points, struct sonde_session *session)
{
	size_t count = sonde_session_series_count(session), processes = sonde_session_process_count(session);
	*points = (struct sonde_energy_points){.session = session, .count = count, .process_count = processes};
	points->tracks = calloc(count + 1, sizeof *points->tracks);
	points->same = calloc(count + 1, sizeof *points->same);
	points->of_process = calloc(processes + 1, sizeof *points->of_process);
	if (!points->tracks || !points->same || !points->of_process)
		return sonde_error(ENOMEM, "out of memory for %zu series", count);
	for (uint32_t id = 1; id <= count; id++)
		place(points, id);
	return 0;
}

void sonde_energy_points_fini(struct sonde_energy_points *points)
{
	for (size_t i = 0; points->tracks && i <= points->count; i++)
		free(points->tracks[i].points);
	free(points->tracks);
	free(points->same);
	free(points->of_process);
	*points = (struct sonde_energy_points){0};
}

static int append(struct sonde_energy_track *track, uint64_t time_ns, double value)
{
	if (SONDE_ARRAY_RESERVE(track->points, track->cap, track->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu readings", track->count + 1);
	track->points[track->count++] = (struct sonde_energy_point){time_ns, value};
	return 0;
}

/* Adds a reading. Totals never decrease; late and decreasing readings are dropped. */
static int add(struct sonde_energy_track *track, uint64_t time_ns, double value)
{
	struct sonde_energy_point *last = track->count ? &track->points[track->count - 1] : NULL;
	if (last && (time_ns < last->time_ns || value < last->value))
		return 0;
	if (last && time_ns - last->time_ns > track->longest_ns && track->readings)
		track->longest_ns = time_ns - last->time_ns;
	track->readings++;
	if (track->count > 1 && time_ns - last[-1].time_ns < NEAR_NS) {
		*last = (struct sonde_energy_point){time_ns, value};
		return 0;
	}
	return append(track, time_ns, value);
}

int sonde_energy_points_has(const struct sonde_energy_points *points)
{
	if (sonde_session_source_named(points->session, "energy"))
		return 1;
	for (uint32_t id = 1; id <= points->count; id++)
		if (points->same[id] &&
		    (is_metric(sonde_session_series(points->session, id), SONDE_METRIC_ENERGY) ||
		     is_metric(sonde_session_series(points->session, id), SONDE_METRIC_DEVICE_ENERGY)))
			return 1;
	return sonde_session_info(points->session, "energy.model") != NULL;
}

int sonde_energy_points_feed(struct sonde_energy_points *points, const struct sonde_batch *batch)
{
	int rc = 0;
	if (batch->type != SONDE_CHUNK_SERIES)
		return 0;
	for (size_t i = 0; rc == 0 && i < batch->count; i++) {
		uint32_t id = batch->series.series[i] <= points->count ? points->same[batch->series.series[i]] : 0;
		if (id)
			rc = add(&points->tracks[id], batch->series.time_ns[i], (double)batch->series.value[i]);
	}
	return rc;
}

/* Starts the track at 0 if the process started within this recording. */
static int begin_at_nothing(struct sonde_energy_track *track, uint64_t start_ns)
{
	if (track->count && track->points[0].time_ns <= start_ns)
		return 0;
	int rc = append(track, start_ns, 0);
	if (rc)
		return rc;
	memmove(track->points + 1, track->points, (track->count - 1) * sizeof *track->points);
	track->points[0] = (struct sonde_energy_point){start_ns, 0};
	return 0;
}

/* The totals that wait(2) returns are not used: they include children, which have tracks of their own. */
int sonde_energy_points_finish(struct sonde_energy_points *points)
{
	int rc = 0;
	for (uint32_t id = 1; rc == 0 && id <= points->process_count; id++) {
		if (sonde_session_part_of(points->session, id)->attached)
			continue;
		const struct sonde_process *process = sonde_session_process(points->session, id);
		for (size_t i = 0; rc == 0 && i < 2; i++)
			if (points->of_process[id][i])
				rc = begin_at_nothing(&points->tracks[points->of_process[id][i]], process->start_ns);
	}
	return rc;
}

double sonde_energy_track_at(const struct sonde_energy_track *track, uint64_t time_ns)
{
	size_t next = SONDE_SEARCH(i, 0, track->count, track->points[i].time_ns <= time_ns);
	if (!track->count)
		return 0;
	if (next == 0 || next == track->count)
		return track->points[next ? next - 1 : 0].value;
	const struct sonde_energy_point *before = &track->points[next - 1], *after = &track->points[next];
	double part = (double)(time_ns - before->time_ns) / (double)(after->time_ns - before->time_ns);
	return before->value + part * (after->value - before->value);
}

uint64_t sonde_energy_track_covers_ns(const struct sonde_energy_track *track, uint64_t from_ns, uint64_t to_ns)
{
	if (track->count < 2)
		return 0;
	uint64_t first_ns = track->points[0].time_ns, last_ns = track->points[track->count - 1].time_ns;
	from_ns = first_ns > from_ns ? first_ns : from_ns;
	to_ns = last_ns < to_ns ? last_ns : to_ns;
	return to_ns > from_ns ? to_ns - from_ns : 0;
}
