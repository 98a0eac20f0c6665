/* series.c: resource usage as counters: "cpu %" (100 = one CPU), split into user and kernel, "memory.rss" and "threads"
 * of each process; and available memory and load of the system, shown as process 0.
 *
 * CPU time is cumulative: a counter is its increase between two points, stamped with the time of the second. User and
 * system time are sampled together, so points of both have the same time.
 */
#include "export/chrome/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/metric.h"
#include "util/error.h"

/* CPU time of a process at a point. */
struct sonde_chrome_cpu {
	uint64_t time_ns, user_at_ns; /* of both; of a user value whose system value is missing. 0 = none */
	int64_t user_ns, system_ns, user_now_ns;
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

static void begin(struct sonde_chrome *chrome, const char *name, uint32_t process, uint64_t time_ns)
{
	struct sonde_chrome_event head = {
	    .phase = "C", .name = name, .category = "resources", .process = process, .time_ns = time_ns};
	sonde_chrome_begin(chrome, &head);
	sonde_chrome_args(chrome);
}

static void put_cpu(struct sonde_chrome *chrome, const struct sonde_series *series, uint64_t time_ns, int64_t value_ns)
{
	struct sonde_chrome_cpu *cpu = &chrome->cpu[series->process];
	if (!strcmp(series->name, sonde_metric_row(SONDE_METRIC_CPU_USER)->name)) {
		cpu->user_now_ns = value_ns;
		cpu->user_at_ns = time_ns;
		return;
	}
	if (cpu->user_at_ns != time_ns)
		return;
	if (cpu->time_ns && time_ns > cpu->time_ns && sonde_selection_takes(&chrome->options->selection, time_ns, 0)) {
		double passed_ns = (double)(time_ns - cpu->time_ns);
		begin(chrome, "cpu %", series->process, time_ns);
		sonde_json_put_real(&chrome->json, "user",
				    100 * ((double)cpu->user_now_ns - (double)cpu->user_ns) / passed_ns);
		sonde_json_put_real(&chrome->json, "system",
				    100 * ((double)value_ns - (double)cpu->system_ns) / passed_ns);
		sonde_chrome_end(chrome);
	}
	cpu->time_ns = time_ns;
	cpu->user_ns = cpu->user_now_ns;
	cpu->system_ns = value_ns;
}

static void put_gauge(struct sonde_chrome *chrome, const struct sonde_series *series, uint64_t time_ns, int64_t value)
{
	for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
		if (strcmp(series->name, sonde_metric_row(gauges[i].metric)->name) != 0)
			continue;
		begin(chrome, series->name, series->process, time_ns);
		sonde_json_put_real(&chrome->json, gauges[i].unit, (double)value * gauges[i].scale);
		sonde_chrome_end(chrome);
	}
}

static int is_cpu(const char *name)
{
	return !strcmp(name, sonde_metric_row(SONDE_METRIC_CPU_USER)->name) ||
	       !strcmp(name, sonde_metric_row(SONDE_METRIC_CPU_SYSTEM)->name);
}

/* Per-thread series belong to their threads. */
int sonde_chrome_series(struct sonde_chrome *chrome, const struct sonde_batch *batch)
{
	size_t processes = sonde_session_process_count(chrome->session);
	if (!chrome->cpu)
		chrome->cpu = calloc(processes + 1, sizeof *chrome->cpu);
	if (!chrome->cpu)
		return sonde_error(ENOMEM, "out of memory for %zu processes", processes);
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_series *series = sonde_session_series(chrome->session, batch->series.series[i]);
		if (!series || series->thread || series->process > processes)
			continue;
		if (is_cpu(series->name))
			put_cpu(chrome, series, batch->series.time_ns[i], batch->series.value[i]);
		else if (sonde_selection_takes(&chrome->options->selection, batch->series.time_ns[i], 0))
			put_gauge(chrome, series, batch->series.time_ns[i], batch->series.value[i]);
	}
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
