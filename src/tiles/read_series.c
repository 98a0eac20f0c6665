/* read_series.c: periodically read numbers as curves. A gauge keeps its last value until the next reading; a total is
 * shown as its rise per second between two readings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/metric.h"
#include "tiles/tiles_state.h"
#include "util/error.h"

/* Display units of a gauge, and of a total's rise per second. */
static const struct unit {
	const char *stored, *gauge, *rate;
	double gauge_scale, rate_scale;
} units[] = {
    {"ns", "ns", "s/s", 1, 1e-9},     {"B", "B", "B/s", 1, 1},        {"uJ", "J", "W", 1e-6, 1e-6},
    {"1/1000", "", "/s", 1e-3, 1e-3}, {"mW", "W", "W/s", 1e-3, 1e-3}, {"Hz", "Hz", "Hz/s", 1, 1},
    {"°C", "°C", "°C/s", 1, 1},       {"", "", "/s", 1, 1},
};

#define NEAR_NS 5000000u

struct last {
	uint64_t time_ns; /* 0 = none yet */
	int64_t value;
	uint64_t from_ns; /* for a total: its rise up to this time has been output */
	int64_t from_value;
	struct sonde_tile_lane_data *lane;
};

struct reading {
	struct sonde_tiles *tiles;
	struct last *lasts; /* by series id */
};

static const struct unit *unit_of(const char *stored)
{
	size_t last = sizeof units / sizeof *units - 1;
	for (size_t i = 0; i < last; i++)
		if (strcmp(units[i].stored, stored) == 0)
			return &units[i];
	return &units[last];
}

static const char *title_of(struct sonde_tiles *tiles, const struct sonde_series *series)
{
	const char *title = series->name;
	for (int i = 0; i < SONDE_METRIC_COUNT; i++)
		if (strcmp(sonde_metric_row((enum sonde_metric)i)->name, series->name) == 0)
			title = sonde_metric_row((enum sonde_metric)i)->title;
	return *series->object ? sonde_arena_printf(&tiles->arena, "%s: %s", series->object, title) : title;
}

static struct sonde_tile_lane_data *lane_of(struct sonde_tiles *tiles, const struct sonde_series *series)
{
	const struct unit *unit = unit_of(series->unit);
	const struct sonde_tile_of of = {
	    .kind = SONDE_TILE_SERIES,
	    .form = SONDE_TILE_CURVE,
	    .process = series->process,
	    .thread = series->thread,
	    .sub = series->id,
	    .title = title_of(tiles, series),
	    .unit = series->kind == SONDE_METRIC_TOTAL ? unit->rate : unit->gauge,
	};
	return sonde_tiles_lane_of(tiles, &of);
}

static int put(struct reading *reading, const struct sonde_series *series, struct sonde_tile_piece piece)
{
	struct last *last = &reading->lasts[series->id];
	last->lane = last->lane ? last->lane : lane_of(reading->tiles, series);
	return last->lane ? sonde_tile_lane_piece(last->lane, piece, &reading->tiles->room_b) : -ENOMEM;
}

/* Outputs a total's rise from `from_ns` to its last reading. */
static int put_rise(struct reading *reading, const struct sonde_series *series)
{
	const struct last *last = &reading->lasts[series->id];
	double rise = (double)last->value - (double)last->from_value,
	       rate = rise / ((double)(last->time_ns - last->from_ns) / 1e9) * unit_of(series->unit)->rate_scale;
	if (last->time_ns == last->from_ns || rise < 0) /* it restarted */
		return 0;
	return put(reading, series, (struct sonde_tile_piece){last->from_ns, last->time_ns, rate, rate});
}

/* Outputs what was between the last reading and this one. Kernels update totals in ticks of some ms: readings closer
 * together than that do not show the time between them, and are merged. */
static int add(struct reading *reading, const struct sonde_series *series, uint64_t time_ns, int64_t value)
{
	struct last *last = &reading->lasts[series->id], before = *last;
	int is_total = series->kind == SONDE_METRIC_TOTAL, rc = 0;
	double shown = (double)before.value * unit_of(series->unit)->gauge_scale;
	if (time_ns < before.time_ns) /* two readings at the same time: the later one counts */
		time_ns = before.time_ns;
	int is_near = time_ns - before.time_ns < NEAR_NS || before.time_ns - before.from_ns < NEAR_NS;
	if (is_total && before.time_ns && (!is_near || value < before.value)) {
		rc = put_rise(reading, series);
		last->from_ns = before.time_ns;
		last->from_value = before.value;
	}
	if (!before.time_ns || value < last->from_value) {
		last->from_ns = time_ns;
		last->from_value = value;
	}
	last->time_ns = time_ns;
	last->value = value;
	if (rc || is_total || !before.time_ns || time_ns == before.time_ns)
		return rc;
	return put(reading, series, (struct sonde_tile_piece){before.time_ns, time_ns, shown, shown});
}

static int take(void *context, const struct sonde_batch *batch)
{
	struct reading *reading = context;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		const struct sonde_series *series =
		    sonde_session_series(reading->tiles->session, batch->series.series[i]);
		if (series && batch->series.time_ns[i])
			rc = add(reading, series, batch->series.time_ns[i], batch->series.value[i]);
	}
	return rc;
}

/* Outputs what remains at the end of a series: the rise of a total up to its last reading, or the last reading of a
 * gauge, which holds only at its own time. */
static int end(struct reading *reading, const struct sonde_series *series)
{
	const struct last *last = &reading->lasts[series->id];
	double shown = (double)last->value * unit_of(series->unit)->gauge_scale;
	if (!last->time_ns)
		return 0;
	if (series->kind == SONDE_METRIC_TOTAL)
		return put_rise(reading, series);
	return put(reading, series, (struct sonde_tile_piece){last->time_ns, last->time_ns, shown, shown});
}

int sonde_tile_read_series(struct sonde_tiles *tiles)
{
	size_t count = sonde_session_series_count(tiles->session);
	struct reading reading = {.tiles = tiles, .lasts = calloc(count + 1, sizeof(struct last))};
	int rc = reading.lasts ? sonde_tiles_walk(tiles, 1u << SONDE_CHUNK_SERIES, take, &reading)
			       : sonde_error(ENOMEM, "out of memory for %zu series", count);
	for (uint32_t id = 1; id <= count && !rc; id++) {
		const struct sonde_series *series = sonde_session_series(tiles->session, id);
		rc = series ? end(&reading, series) : 0;
	}
	free(reading.lasts);
	return rc;
}
