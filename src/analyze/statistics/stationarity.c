/* stationarity.c: detects warm-up: it ends with the last change of level.
 *
 * A series is split in two parts with separate means where that minimises the squared error (Sen and Srivastava, On
 * tests for detecting change in mean, Ann. Statist. 3, 1975): the statistic is the largest reduction of squares over
 * all splits in the first half. Whether it is significant is decided by a permutation test on the series itself, whose
 * false alarm rate holds for independent values of any distribution, even with rare slow iterations. The test stops as
 * soon as enough random orders have reached the same statistic (Besag and Clifford, Sequential Monte Carlo p-values,
 * Biometrika 78, 1991). After a significant change, the part before the change is cut off, and the rest is examined in
 * the same way (binary segmentation). All the parts cut off together are the warm-up. A part drifts if a line fits it
 * better than two levels do. A warm-up never exceeds half of the series.
 *
 * Values are clipped at 8 median absolute deviations from the median, so that a single stall does not look like a
 * level. Tests use at most 400 batch means, because these are less autocorrelated than the values; the position of a
 * change is found in the values themselves. A change of less than 1 % of the mean does not matter, however significant.
 *
 * The mean's interval uses 20 batch means with Student's t (Law, Simulation Modeling and Analysis, 2014, 9.5.3), which
 * allows for autocorrelation; with fewer than 40 values, it uses the values themselves.
 */
#include "analyze/statistics/stationarity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/error.h"

#define ALARMS 0.03        /* false alarm rate */
#define LEAST_CHANGE 0.01  /* fraction of the mean */
#define CUT_DEVIATIONS 8.0 /* median absolute deviations */
#define ORDERS 999u        /* random orders; more if more series are tested together */
#define ORDERS_MAX 9999u
enum { GROUPS_MAX = 400, BATCHES = 20 };

struct work {
	double *values; /* clipped */
	double *groups; /* batch means, and space for a permuted copy */
	double *sorted;
	uint64_t seed;
};

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void cut(struct work *work, const double *values, size_t count)
{
	memcpy(work->sorted, values, count * sizeof *values);
	double middle = median_of(work->sorted, count);
	for (size_t i = 0; i < count; i++)
		work->sorted[i] = fabs(values[i] - middle);
	double reach = CUT_DEVIATIONS * median_of(work->sorted, count);
	for (size_t i = 0; i < count; i++)
		work->values[i] = reach > 0 ? fmin(fmax(values[i], middle - reach), middle + reach) : values[i];
}

static double mean_of(const double *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

/* The largest reduction of squares by two levels instead of one, with 1 … most values before the split. */
static double best_split(const double *values, size_t count, size_t most, double mean, size_t *out_at)
{
	double before = 0, best = -1, n = (double)count;
	for (size_t at = 1; at <= most; at++) {
		before += values[at - 1] - mean;
		double gain = before * before * n / ((double)at * (n - (double)at));
		if (gain > best) {
			best = gain;
			*out_at = at;
		}
	}
	return best;
}

static uint64_t draw(struct work *work, uint64_t below)
{
	work->seed = sonde_hash_pair(work->seed, 0x9e3779b97f4a7c15u);
	return (uint64_t)(((unsigned __int128)work->seed * below) >> 64);
}

/* True if a split as good as `gain` is rare among random orders of the same values. */
static int is_rare(struct work *work, double *values, size_t count, double gain, size_t tests)
{
	double rate = ALARMS / (double)(tests ? tests : 1);
	size_t orders = tests > 1 ? ORDERS * tests : ORDERS, at, as_good = 0;
	orders = orders < ORDERS_MAX ? orders : ORDERS_MAX;
	size_t allowed = (size_t)(rate * (double)(orders + 1));
	double mean = mean_of(values, count);
	for (size_t order = 0; order < orders; order++) {
		for (size_t i = count - 1; i > 0; i--) {
			size_t other = (size_t)draw(work, i + 1);
			double value = values[i];
			values[i] = values[other];
			values[other] = value;
		}
		as_good += best_split(values, count, count / 2, mean, &at) >= gain * (1 - 1e-9);
		if (as_good + 1 > allowed)
			return 0;
	}
	return 1;
}

/* By how much a line through the values reduces the squares compared with their mean; also returns its slope. */
static double line_gain(const double *values, size_t count, double mean, double *out_slope)
{
	double middle = (double)(count - 1) / 2, n = (double)count, product = 0;
	for (size_t i = 0; i < count; i++)
		product += ((double)i - middle) * (values[i] - mean);
	double squares = n * (n * n - 1) / 12;
	*out_slope = squares > 0 ? product / squares : 0;
	return squares > 0 ? product * product / squares : 0;
}

struct change {
	size_t at;
	double share; /* fraction of the previous mean */
	int is_line;
};

/* True if a part has a change of level; finds its position in the clipped values and its size in the original ones. */
static int find_change(struct work *work, const double *whole, size_t from, size_t all, size_t tests,
		       struct change *out)
{
	const double *values = work->values + from;
	size_t count = all - from;
	size_t size = (count + GROUPS_MAX - 1) / GROUPS_MAX, groups = count / size, at = 0;
	for (size_t i = 0; i < groups; i++)
		work->groups[i] = mean_of(values + i * size, i + 1 < groups ? size : count - i * size);
	double gain = best_split(work->groups, groups, groups / 2, mean_of(work->groups, groups), &at);
	double *orders = work->groups + GROUPS_MAX;
	memcpy(orders, work->groups, groups * sizeof *orders);
	if (gain <= 0 || !is_rare(work, orders, groups, gain, tests))
		return 0;
	double mean = mean_of(values, count), slope;
	gain = best_split(values, count, count - 1, mean, &at); /* including changes too late for a warm-up */
	best_split(values, count, count / 2, mean, &out->at);
	out->is_line = line_gain(values, count, mean, &slope) >= gain;
	whole += from;
	double before = mean_of(whole, out->at), after = mean_of(whole + out->at, count - out->at);
	out->share = before > 0 ? (after - before) / before : 0;
	return fabs(after - before) >= LEAST_CHANGE * mean_of(whole, count);
}

/* Two-sided 95 % quantile of Student's t. */
static double student(size_t degrees)
{
	static const double table[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
				       2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
	if (degrees < sizeof table / sizeof *table)
		return table[degrees];
	double n = (double)degrees; /* Cornish and Fisher 1937, up to the second term */
	return 1.95996 + 2.37227 / n + 2.82250 / (n * n);
}

/* Mean and interval of the part, from the original values. */
static void describe(struct sonde_stationarity *out, const double *values, size_t count)
{
	size_t batches = count >= 2 * BATCHES ? BATCHES : count, from = 0;
	double squares = 0, slope;
	out->count = count;
	out->mean = mean_of(values, count);
	for (size_t i = 0; i < batches; i++) {
		size_t to = (i + 1) * count / batches;
		double off = mean_of(values + from, to - from) - out->mean;
		squares += off * off;
		from = to;
	}
	out->half = batches < 2 ? 0 : student(batches - 1) * sqrt(squares / ((double)(batches - 1) * (double)batches));
	line_gain(values, count, out->mean, &slope);
	out->drift = out->mean > 0 ? slope * (double)(count - 1) / out->mean : 0;
}

static void evaluate(struct work *work, struct sonde_stationarity *out, const double *values, size_t count,
		     size_t tests)
{
	size_t warm_up = 0;
	struct change change = {0};
	int changes = find_change(work, values, 0, count, tests, &change);
	struct change first = change;
	while (changes && !change.is_line && warm_up + change.at <= count / 2 &&
	       count - warm_up - change.at >= SONDE_STATIONARITY_LEAST) {
		warm_up += change.at;
		changes = find_change(work, values, warm_up, count, tests, &change);
	}
	describe(out, values, count);
	if (!changes) {
		out->verdict = SONDE_STATIONARITY_YES;
		out->warm_up = warm_up;
		describe(out, values + warm_up, count - warm_up);
	} else if (change.is_line || first.is_line) {
		out->verdict = SONDE_STATIONARITY_DRIFTS;
	} else {
		out->verdict = SONDE_STATIONARITY_JUMPS;
		out->changes_at = warm_up + change.at;
		out->change = change.share;
	}
}

int sonde_stationarity_check(struct sonde_stationarity *out, const double *values, size_t count, size_t tests)
{
	*out = (struct sonde_stationarity){.verdict = SONDE_STATIONARITY_TOO_FEW};
	if (count < SONDE_STATIONARITY_LEAST) {
		if (count)
			describe(out, values, count);
		return 0;
	}
	struct work work = {.values = malloc((2 * count + 2 * GROUPS_MAX) * sizeof *work.values), .seed = 1};
	if (!work.values)
		return sonde_error(ENOMEM, "out of memory for %zu iterations", count);
	work.sorted = work.values + count;
	work.groups = work.sorted + count;
	cut(&work, values, count);
	evaluate(&work, out, values, count, tests);
	free(work.values);
	return 0;
}
