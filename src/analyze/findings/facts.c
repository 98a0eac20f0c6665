/* facts.c: sums shared by several rules: of the critical path, threads, zones and functions. */
#include <math.h>
#include <string.h>

#include "analyze/critical/names.h"
#include "analyze/findings/findings.h"
#include "analyze/heap/pass.h"
#include "analyze/sizes.h"

#define WANTS 0.30 /* a thread is busy if it spends this share of the span on a CPU or waiting for one */

double sonde_facts_in_state(const struct sonde_facts *facts, enum sonde_critical_kind state)
{
	const struct sonde_columns_critical_path *section = &facts->columns.critical_path;
	double sum_ns = 0;
	for (size_t i = 0; i < section->of.rows; i++)
		if (sonde_column_label(section, i, state) == state)
			sum_ns += sonde_column_ns(section, i, time_ns);
	return sum_ns;
}

double sonde_facts_on_path(const struct sonde_facts *facts, enum sonde_critical_element_kind kind, const char *name,
			   enum sonde_critical_kind state)
{
	const struct sonde_columns_critical_path *section = &facts->columns.critical_path;
	double sum_ns = 0;
	for (size_t i = 0; i < section->of.rows; i++)
		if (sonde_column_label(section, i, kind) == kind &&
		    (!name || !strcmp(sonde_column_text(section, i, name), name)) &&
		    (state == SONDE_CRITICAL_KINDS || sonde_column_label(section, i, state) == state))
			sum_ns += sonde_column_ns(section, i, time_ns);
	return sum_ns;
}

static double or_0(double value)
{
	return value > 0 ? value : 0;
}

double sonde_facts_busy_threads(const struct sonde_facts *facts)
{
	const struct sonde_columns_threads *threads = &facts->columns.threads;
	double count = 0;
	for (size_t i = 0; i < threads->of.rows; i++)
		count += or_0(sonde_column_ns(threads, i, on_cpu_ns)) + or_0(sonde_column_ns(threads, i, runnable_ns)) >
			 WANTS * facts->span_ns;
	return count;
}

double sonde_facts_zone_ns(const struct sonde_facts *facts, const char *name)
{
	const struct sonde_columns_zones *zones = &facts->columns.zones;
	double sum_ns = 0;
	for (size_t i = 0; i < zones->of.rows; i++)
		if (!strcmp(sonde_column_text(zones, i, zone), name))
			sum_ns += or_0(sonde_column_ns(zones, i, total_ns));
	return sum_ns;
}

double sonde_facts_stretched(const struct sonde_facts *facts, double running_ns)
{
	return fmin(running_ns * facts->stretch, facts->span_ns);
}

double sonde_facts_most_total_ns(const struct sonde_facts *facts, const char *const *names, size_t count)
{
	const struct sonde_columns_functions *functions = &facts->columns.functions;
	double most = 0;
	for (size_t i = 0; i < functions->of.rows; i++)
		for (size_t k = 0; k < count; k++)
			if (!strcmp(sonde_column_text(functions, i, function), names[k]))
				most = fmax(most, sonde_column_ns(functions, i, total_ns));
	return most;
}

double sonde_facts_cpu_on_path(const struct sonde_facts *facts, const char *const *functions, size_t count,
			       double cpu_ns)
{
	double named_ns = sonde_facts_on_path(facts, SONDE_CRITICAL_ELEMENT_FUNCTION, NULL, SONDE_CRITICAL_KINDS),
	       found_ns = 0;
	if (!facts->has_path)
		return fmin(cpu_ns, facts->span_ns);
	for (size_t i = 0; i < count; i++)
		found_ns +=
		    sonde_facts_on_path(facts, SONDE_CRITICAL_ELEMENT_FUNCTION, functions[i], SONDE_CRITICAL_KINDS);
	double unnamed_ns =
	    count ? or_0(facts->running_ns - named_ns) : facts->running_ns; /* attributed to zones or to nothing */
	return sonde_facts_stretched(facts, fmin(found_ns + fmin(unnamed_ns, cpu_ns), facts->running_ns));
}

const char *sonde_figure_text(struct sonde_report *report, double value)
{
	if (!(value >= 999.5)) /* %g would use an exponent */
		return sonde_report_text(report, "%.3g", value);
	double unit = pow(10, floor(log10(value)) - 2);
	return sonde_count_text(report, round(value / unit) * unit);
}

double sonde_facts_share(const struct sonde_facts *facts, double cpu_ns, double saves_ns)
{
	double share = facts->cpu_ns > 0 ? fmin(cpu_ns / facts->cpu_ns, 1) : 1;
	double likely_ns = facts->has_path ? sonde_facts_stretched(facts, facts->running_ns * share) : saves_ns;
	return fmin(fmin(likely_ns, saves_ns) / facts->span_ns, 1);
}
