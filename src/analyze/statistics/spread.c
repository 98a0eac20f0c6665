/* spread.c: mean, confidence interval, median and outliers of a few values (statistics/spread.h). */
#include "analyze/statistics/spread.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/statistics/stats.h"

#define OUTLIER_NEEDS 5 /* minimum number of values: with fewer, no value can be called an outlier */

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static double middle(const double *sorted, size_t count)
{
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The median absolute deviation. Distances from the median grow in both directions, so the smallest ones are found from
 * the middle outwards. */
static double deviation(const double *sorted, size_t count, double median)
{
	size_t low = (count - 1) / 2 + 1, high = low; /* taken so far: sorted[low … high − 1] */
	double before = 0, last = 0;
	for (size_t taken = 0; taken <= count / 2; taken++) {
		double down = low > 0 ? median - sorted[low - 1] : INFINITY;
		double up = high < count ? sorted[high] - median : INFINITY;
		before = last;
		last = down <= up ? down : up;
		if (down <= up)
			low--;
		else
			high++;
	}
	return count % 2 ? last : (before + last) / 2;
}

double sonde_spread_t95(size_t freedom)
{
	static const double few[] = {0,       12.7062, 4.30265, 3.18245, 2.77645, 2.57058,
				     2.44691, 2.36462, 2.30600, 2.26216, 2.22814};
	static const double z = 1.959964;
	if (freedom < sizeof few / sizeof *few)
		return few[freedom];
	/* Abramowitz and Stegun 26.7.5; accurate to 0.0001 from 10 degrees of freedom on. */
	double v = (double)freedom, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
	return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

void sonde_spread_of(struct sonde_spread *out, double *values, size_t count)
{
	struct sonde_moments moments = {0};
	*out = (struct sonde_spread){.count = count};
	if (!count)
		return;
	qsort(values, count, sizeof *values, compare);
	for (size_t i = 0; i < count; i++)
		sonde_moments_add(&moments, values[i]);
	out->mean = moments.mean;
	out->std = sonde_moments_std(&moments);
	out->half = sonde_spread_t95(count - 1) * out->std / sqrt((double)count);
	out->min = values[0];
	out->max = values[count - 1];
	out->median = middle(values, count);
	out->mad = count < OUTLIER_NEEDS ? 0 : deviation(values, count, out->median);
}

int sonde_spread_is_outlier(const struct sonde_spread *spread, double value)
{
	return spread->mad > 0 && 0.6745 * fabs(value - spread->median) > 3.5 * spread->mad;
}
