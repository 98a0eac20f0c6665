/* growth.c: tests whether a series grows persistently, and how fast (statistics/growth.h). */
#include "analyze/statistics/growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Z95 1.959963984540054 /* the normal distribution's 97.5 % point */
#define Z_TREND 3.09          /* p < 0.001, one-sided */
#define Z_WALK 2.0
#define WALKS 0.5 /* residual autocorrelation from which the series may be a random walk */
#define PAIRS (SONDE_GROWTH_MAX * (SONDE_GROWTH_MAX - 1) / 2)

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* --- trend ------------------------------------------------------------------------------------------------------- */

/* Mann-Kendall S: the number of rising pairs minus the number of falling pairs. */
static double score(const double *values, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			sum += (values[j] > values[i]) - (values[j] < values[i]);
	return (double)sum;
}

/* Variance of S without a trend: (n (n − 1) (2n + 5) − Σ t (t − 1) (2t + 5)) / 18 over groups of t tied values. */
static double score_variance(const double *values, size_t count)
{
	double sorted[SONDE_GROWTH_MAX], n = (double)count, sum = n * (n - 1) * (2 * n + 5);
	memcpy(sorted, values, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && sorted[next] <= sorted[i];)
			next++;
		double ties = (double)(next - i);
		sum -= ties * (ties - 1) * (2 * ties + 5);
	}
	return sum / 18;
}

/* Sorted slopes of all pairs; their median is Theil's estimate. */
static size_t slopes_make(double *out, const double *values, size_t count)
{
	size_t pairs = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			out[pairs++] = (values[j] - values[i]) / (double)(j - i);
	qsort(out, pairs, sizeof *out, compare);
	return pairs;
}

static double median(const double *sorted, size_t count)
{
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* --- residuals without the trend ---------------------------------------------------------------------------------- */

/* Replaces values by their ranks minus the mean rank; ties share a rank. */
static void rank(double *values, size_t count)
{
	double sorted[SONDE_GROWTH_MAX];
	memcpy(sorted, values, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare);
	for (size_t i = 0; i < count; i++) {
		size_t below = 0, equal = 0;
		while (below < count && sorted[below] < values[i])
			below++;
		while (below + equal < count && sorted[below + equal] <= values[i])
			equal++;
		values[i] = (double)below + (double)(equal - 1) / 2 - (double)(count - 1) / 2;
	}
}

static double correlation(const double *centered, size_t count, size_t lag)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < count; i++)
		squares += centered[i] * centered[i];
	for (size_t i = 0; i + lag < count; i++)
		sum += centered[i] * centered[i + lag];
	return squares > 0 ? sum / squares : 0;
}

/* Variance inflation of S from autocorrelation, at least 1; `first` is the lag-1 autocorrelation. */
static double correction(const double *values, size_t count, double slope, double *first)
{
	double ranks[SONDE_GROWTH_MAX], n = (double)count, sum = 0;
	for (size_t i = 0; i < count; i++)
		ranks[i] = values[i] - slope * (double)i;
	rank(ranks, count);
	*first = correlation(ranks, count, 1);
	for (size_t lag = 1; lag <= count / 4; lag++) {
		double k = (double)lag, at = correlation(ranks, count, lag);
		if (fabs(at) > Z95 / sqrt(n))
			sum += (n - k) * (n - k - 1) * (n - k - 2) * at;
	}
	double factor = 1 + 2 / (n * (n - 1) * (n - 2)) * sum;
	return factor > 1 ? factor : 1;
}

/* The rise of the series, in standard deviations of the rise of a random walk with the same steps. */
static double against_walk(const double *values, size_t count)
{
	double steps[SONDE_GROWTH_MAX], rise = values[count - 1] - values[0], variance = 0;
	size_t made = count - 1, lags = count / 8;
	for (size_t i = 0; i < made; i++)
		steps[i] = values[i + 1] - values[i] - rise / (double)made;
	for (size_t lag = 0; lag <= lags; lag++) {
		double sum = 0, weight = lag ? 2 * (1 - (double)lag / (double)(lags + 1)) : 1;
		for (size_t i = 0; i + lag < made; i++)
			sum += steps[i] * steps[i + lag];
		variance += weight * sum / (double)made;
	}
	return variance > 0 ? rise / sqrt(variance * (double)made) : INFINITY;
}

struct sonde_growth sonde_growth_of(const double *values, size_t count)
{
	struct sonde_growth growth = {0};
	double slopes[PAIRS], late[PAIRS], first = 0;
	if (count > SONDE_GROWTH_MAX) {
		values += count - SONDE_GROWTH_MAX;
		count = SONDE_GROWTH_MAX;
	}
	if (count < SONDE_GROWTH_MIN)
		return growth;
	size_t pairs = slopes_make(slopes, values, count), third = count / 3;
	growth.slope = median(slopes, pairs);
	double sum = score(values, count), variance = score_variance(values, count);
	variance *= correction(values, count, growth.slope, &first);
	if (variance <= 0)
		return growth;
	double half = Z95 * sqrt(variance), middle = (double)pairs / 2;
	growth.low = slopes[(size_t)fmax(0, floor(middle - half / 2))];
	growth.high = slopes[(size_t)fmin((double)pairs - 1, ceil(middle + half / 2))];
	double z = sum > 0 ? (sum - 1) / sqrt(variance) : 0;
	growth.confidence = 0.5 * erfc(-z / sqrt(2));
	size_t late_pairs = slopes_make(late, values + count - third, third);
	growth.grows = z > Z_TREND && growth.slope > 0 && median(late, late_pairs) >= growth.slope / 2 &&
		       score(values + count - third, third) > 0;
	if (growth.grows && first > WALKS)
		growth.grows = against_walk(values, count) > Z_WALK;
	return growth;
}
