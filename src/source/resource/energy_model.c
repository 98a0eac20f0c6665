/* energy_model.c: finds the row of resource/energy_model.def for the processor in /proc/cpuinfo.
 *
 * A straight line between idle and full load is what published estimators use; real servers draw somewhat more in the
 * middle. The range from low to high in a row is wider than the error of the straight line. A processor missing in the
 * table gets the range of all servers, and is called generic.
 */
#include "source/resource/energy_model.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "source/resource/processor.h"

struct row {
	const char *name, *vendor;
	unsigned family, model_from, model_to;
	const char *brand;
	struct sonde_energy_range idle, full;
};

static const struct row rows[] = {
#define SONDE_ENERGY_MODEL(name, vendor, family, from, to, brand, idle_low, idle, idle_high, full_low, full, \
			   full_high)                                                                        \
	{name, vendor, family, from, to, brand, {idle_low, idle, idle_high}, {full_low, full, full_high}},
#include "source/resource/energy_model.def"
#undef SONDE_ENERGY_MODEL
};

/* Computed from the 801 results published since 2012, for all processors. */
static const struct row generic = {.name = "any server", .idle = {319, 728, 2000}, .full = {1578, 3906, 8062}};

static int fits(const struct row *row, const struct sonde_processor *processor)
{
	return !strcmp(row->vendor, processor->vendor) && row->family == processor->family &&
	       processor->model >= row->model_from && processor->model <= row->model_to &&
	       strstr(processor->brand, row->brand);
}

void sonde_energy_model_find(struct sonde_energy_model *out, const char *root)
{
	struct sonde_processor processor;
	const struct row *found = &generic;
	sonde_processor_read(&processor, root);
	for (size_t i = 0; i < sizeof rows / sizeof *rows && found == &generic; i++)
		if (fits(&rows[i], &processor))
			found = &rows[i];
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	*out = (struct sonde_energy_model){
	    .idle = found->idle,
	    .full = found->full,
	    .is_generic = found == &generic,
	    .is_virtual = processor.is_virtual,
	    .cpus = processor.count ? processor.count
		    : online > 0    ? (unsigned)online
				    : 1,
	};
	snprintf(out->name, sizeof out->name, "%s", found->name);
}
