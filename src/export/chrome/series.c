/* series.c: resource usage as counters: "cpu %" (100 = one CPU), split into user and system time, "memory.rss" and
 * "threads" of each process; and available memory and load of the system, shown as process 0. Other series are left
 * out.
 *
 * User and system time are read together, so their points have the same times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/chrome/event.h"
#include "format/metric.h"
#include "util/error.h"

/* The last user time of a process, in percent. */
struct sonde_chrome_cpu {
	uint64_t time_ns; /* 0 = none */
	double user;
};

static const struct {
	enum sonde_metric metric;
	const char *unit; /* the counter's key */
	double scale;
} gauges[] = {
    {SONDE_METRIC_MEMORY_RSS, "bytes", 1},
    {SONDE_METRIC_MEMORY_AVAILABLE, "bytes", 1},
    {SONDE_METRIC_THREADS, "threads", 1},
    {SONDE_METRIC_LOAD, "load", 1e-3},
};

static int is(const struct sonde_series *series, enum sonde_metric metric)
{
	return !strcmp(series->name, sonde_metric_row(metric)->name);
}

static void begin(struct sonde_chrome *chrome, const char *name, const struct sonde_track_event *event)
{
	const struct sonde_chrome_event head = {.phase = "C",
						.name = name,
						.category = event->category,
						.process = event->track.process,
						.time_ns = event->from_ns};
	sonde_chrome_begin(chrome, &head);
	sonde_chrome_args(chrome);
}

int sonde_chrome_series(struct sonde_chrome *chrome, const struct sonde_track_event *event)
{
	const struct sonde_series *series = sonde_session_series(chrome->session, event->track.sub);
	size_t processes = sonde_session_process_count(chrome->session), i = 0;
	if (!chrome->cpu)
		chrome->cpu = calloc(processes + 1, sizeof *chrome->cpu);
	if (!chrome->cpu)
		return sonde_error(ENOMEM, "out of memory for %zu processes", processes);
	if (series->process > processes)
		return 0;
	struct sonde_chrome_cpu *cpu = &chrome->cpu[series->process];
	if (is(series, SONDE_METRIC_CPU_USER)) {
		*cpu = (struct sonde_chrome_cpu){event->from_ns, event->args->real};
	} else if (is(series, SONDE_METRIC_CPU_SYSTEM) && cpu->time_ns == event->from_ns) {
		begin(chrome, "cpu %", event);
		sonde_json_put_real(&chrome->json, "user", cpu->user);
		sonde_json_put_real(&chrome->json, "system", event->args->real);
		sonde_chrome_end(chrome);
	}
	while (i < sizeof gauges / sizeof *gauges && !is(series, gauges[i].metric))
		i++;
	if (i == sizeof gauges / sizeof *gauges)
		return 0;
	begin(chrome, series->name, event);
	sonde_json_put_real(&chrome->json, gauges[i].unit, (double)(int64_t)event->args->number * gauges[i].scale);
	sonde_chrome_end(chrome);
	return 0;
}

int sonde_chrome_has_machine(const struct sonde_chrome *chrome)
{
	for (uint32_t id = 1; id <= sonde_session_series_count(chrome->session); id++) {
		const struct sonde_series *series = sonde_session_series(chrome->session, id);
		if (series && !series->process && !series->thread)
			return 1;
	}
	return 0;
}
