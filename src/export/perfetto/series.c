/* series.c: time series of processes and the system, and live memory of each heap, as counters.
 *
 * Times, such as CPU time, are cumulative: a counter is the increase between two points, in percent of the time between
 * them (100 = one CPU). Other values are written unchanged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/perfetto/perfetto.h"
#include "export/stack/stacks.h"
#include "format/metric.h"
#include "util/error.h"

/* The last point of a series. */
struct last {
	uint64_t time_ns;
	int64_t value;
};

static void name_of(char *out, size_t out_b, const struct sonde_series *series, int is_rate)
{
	snprintf(out, out_b, "%s%s%s%s", series->name, is_rate ? " %" : "", *series->object ? " " : "", series->object);
}

static int put_value(struct sonde_perfetto *perfetto, struct last *last, const struct sonde_series *series,
		     const struct sonde_batch *batch, size_t i)
{
	uint64_t time_ns = batch->series.time_ns[i];
	int64_t value = batch->series.value[i];
	int is_rate = series->kind == SONDE_METRIC_TOTAL && !strcmp(series->unit, "ns"),
	    is_known = last->time_ns && time_ns > last->time_ns;
	double rate = is_known ? 100 * ((double)value - (double)last->value) / (double)(time_ns - last->time_ns) : 0;
	if (value < 0 && !strcmp(series->unit, "B")) /* a negative size: damaged recording */
		return 0;
	*last = (struct last){time_ns, value};
	if (!sonde_selection_takes(&perfetto->options->selection, time_ns, 0) || (is_rate && !is_known))
		return 0;
	char name[SONDE_CHROME_TEXT_B];
	name_of(name, sizeof name, series, is_rate);
	uint64_t track = sonde_perfetto_counter(perfetto, SONDE_PERFETTO_SERIES, series->id, 0,
						sonde_perfetto_process(perfetto, series->process), name,
						is_rate ? "%" : series->unit);
	if (is_rate)
		sonde_perfetto_point(perfetto, track, time_ns, rate);
	else
		sonde_perfetto_point_int(perfetto, track, time_ns, value);
	return perfetto->error;
}

/* Per-thread series are shown on other tracks. */
int sonde_perfetto_series(struct sonde_perfetto *perfetto)
{
	size_t count = sonde_session_series_count(perfetto->session);
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int error = 0, rc = sonde_cursor_open(&cursor, perfetto->session, 1u << SONDE_CHUNK_SERIES);
	if (rc)
		return rc;
	struct last *last = calloc(count + 1, sizeof *last);
	error = last ? 0 : sonde_error(ENOMEM, "out of memory for %zu series", count);
	while (!error && (rc = sonde_export_stacks_next(cursor, &batch)) > 0)
		for (size_t i = 0; i < batch->count && !error; i++) {
			const struct sonde_series *series =
			    sonde_session_series(perfetto->session, batch->series.series[i]);
			if (series && !series->thread)
				error = put_value(perfetto, &last[series->id], series, batch, i);
		}
	sonde_cursor_close(cursor);
	free(last);
	return error ? error : rc;
}
