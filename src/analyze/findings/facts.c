/* facts.c: the cells of a report by section and column, and what lies on the critical path. */
#include <math.h>
#include <string.h>

#include "analyze/findings/findings.h"
#include "analyze/heap/pass.h"

#define WANTS 0.30 /* of the span on a CPU, or waiting for one */

const struct sonde_section *sonde_facts_section(const struct sonde_facts *facts, const char *id)
{
	for (const struct sonde_section *section = facts->report->first; section; section = section->next)
		if (section->kind == SONDE_SECTION_TABLE && section->table.row_count && !strcmp(section->id, id))
			return section;
	return NULL;
}

double sonde_facts_number(const struct sonde_section *section, size_t row, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	return cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->kind == SONDE_CELL_REAL ? cell->real : NAN;
}

const char *sonde_facts_text(const struct sonde_section *section, size_t row, const char *key)
{
	return sonde_report_cell_text(section, row, key);
}

double sonde_facts_metric(const struct sonde_facts *facts, const char *name)
{
	const struct sonde_section *section = sonde_facts_section(facts, "summary");
	for (size_t i = 0; section && i < section->table.row_count; i++)
		if (strcmp(sonde_facts_text(section, i, "metric"), name) == 0)
			return sonde_facts_number(section, i, "value");
	return NAN;
}

double sonde_facts_on_path(const struct sonde_facts *facts, const char *kind, const char *name, const char *state)
{
	const struct sonde_section *section = sonde_facts_section(facts, "critical-path");
	double sum_ns = 0;
	for (size_t i = 0; section && i < section->table.row_count; i++)
		if ((!kind || !strcmp(sonde_facts_text(section, i, "kind"), kind)) &&
		    (!name || !strcmp(sonde_facts_text(section, i, "name"), name)) &&
		    (!state || !strcmp(sonde_facts_text(section, i, "state"), state)))
			sum_ns += sonde_facts_number(section, i, "time_ns");
	return sum_ns;
}

static double or_0(double value)
{
	return value > 0 ? value : 0;
}

double sonde_facts_busy_threads(const struct sonde_facts *facts)
{
	const struct sonde_section *threads = sonde_facts_section(facts, "threads");
	double count = 0;
	for (size_t i = 0; threads && i < threads->table.row_count; i++)
		count += or_0(sonde_facts_number(threads, i, "on_cpu_ns")) +
			     or_0(sonde_facts_number(threads, i, "runnable_ns")) >
			 WANTS * facts->span_ns;
	return count;
}

double sonde_facts_zone_ns(const struct sonde_facts *facts, const char *name)
{
	const struct sonde_section *zones = sonde_facts_section(facts, "zones");
	double sum_ns = 0;
	for (size_t i = 0; zones && i < zones->table.row_count; i++)
		if (!strcmp(sonde_facts_text(zones, i, "zone"), name))
			sum_ns += or_0(sonde_facts_number(zones, i, "total_ns"));
	return sum_ns;
}

double sonde_facts_stretched(const struct sonde_facts *facts, double running_ns)
{
	return fmin(running_ns * facts->stretch, facts->span_ns);
}

double sonde_facts_most_total_ns(const struct sonde_facts *facts, const char *const *names, size_t count)
{
	const struct sonde_section *functions = sonde_facts_section(facts, "functions");
	double most = 0;
	for (size_t i = 0; functions && i < functions->table.row_count; i++)
		for (size_t k = 0; k < count; k++)
			if (!strcmp(sonde_facts_text(functions, i, "function"), names[k]))
				most = fmax(most, sonde_facts_number(functions, i, "total_ns"));
	return most;
}

double sonde_facts_cpu_on_path(const struct sonde_facts *facts, const char *const *functions, size_t count,
			       double cpu_ns)
{
	double named_ns = sonde_facts_on_path(facts, "function", NULL, NULL), found_ns = 0;
	if (!facts->has_path)
		return fmin(cpu_ns, facts->span_ns);
	for (size_t i = 0; i < count; i++)
		found_ns += sonde_facts_on_path(facts, "function", functions[i], NULL);
	double unnamed_ns =
	    count ? or_0(facts->running_ns - named_ns) : facts->running_ns; /* by zones, or by nothing */
	return sonde_facts_stretched(facts, fmin(found_ns + fmin(unnamed_ns, cpu_ns), facts->running_ns));
}

const char *sonde_figure_text(struct sonde_report *report, double value)
{
	if (!(value >= 999.5)) /* from there on %g has an exponent */
		return sonde_report_text(report, "%.3g", value);
	double unit = pow(10, floor(log10(value)) - 2);
	return sonde_heap_count_text(report, round(value / unit) * unit);
}

double sonde_facts_share(const struct sonde_facts *facts, double cpu_ns, double saves_ns)
{
	double share = facts->cpu_ns > 0 ? fmin(cpu_ns / facts->cpu_ns, 1) : 1;
	double likely_ns = facts->has_path ? sonde_facts_stretched(facts, facts->running_ns * share) : saves_ns;
	return fmin(fmin(likely_ns, saves_ns) / facts->span_ns, 1);
}
