/* doubt.c: whether ceilings were measured on a machine that was busy with something else.
 *
 * No loop runs faster than the machine allows, so a measured ceiling is never too high, but other load can make it too
 * low by any factor. Signs of other load are: runs with different results, all CPUs together doing less than one alone,
 * and CPU time taken by a hypervisor.
 */
#include "roof/roof.h"

#define MUCH_SPREAD 0.15
#define LEAST_ALL 0.95 /* least sum of all CPUs, relative to one thread */
#define MUCH_STOLEN 0.01

double sonde_roof_spread(const struct sonde_roof_figure *figure)
{
	return figure->runs && figure->best > 0 ? 1 - figure->median / figure->best : 0;
}

static void look_at(struct sonde_roof_doubt *doubt, const struct sonde_roof_figure *figure)
{
	double spread = sonde_roof_spread(figure);
	if (spread > MUCH_SPREAD && spread > doubt->spread)
		doubt->spread = spread;
}

int sonde_roof_is_doubtful(const struct sonde_roof *roof, struct sonde_roof_doubt *out)
{
	struct sonde_roof_doubt doubt = {0};
	for (int of = 0; of < SONDE_ROOF_THREADS; of++) {
		for (int set = 0; set < SONDE_ROOF_SETS; set++)
			for (int precision = 0; precision < SONDE_ROOF_PRECISIONS; precision++)
				look_at(&doubt, &roof->flops[set][precision][of]);
		for (int level = 0; level < SONDE_ROOF_LEVELS; level++)
			for (int access = 0; access < SONDE_ROOF_ACCESSES; access++)
				look_at(&doubt, &roof->bytes[level][access][of]);
	}
	const struct sonde_roof_figure *one = sonde_roof_peak(roof, SONDE_ROOF_FP64, SONDE_ROOF_ONE);
	const struct sonde_roof_figure *all = sonde_roof_peak(roof, SONDE_ROOF_FP64, SONDE_ROOF_ALL);
	doubt.is_all_low = one && all && all->best < LEAST_ALL * one->best;
	doubt.stolen = roof->stolen >= MUCH_STOLEN ? roof->stolen : 0;
	if (out)
		*out = doubt;
	return doubt.spread > 0 || doubt.is_all_low || doubt.stolen > 0;
}
