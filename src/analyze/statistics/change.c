/* change.c: location estimates from medians of averages and differences, and rank tests (statistics/change.h).
 *
 * The averages of all pairs of values, or the differences of two sets, are never materialised: the k-th of them is
 * found by bisection, which counts those below a value with two indexes that only advance. Rank sums are counted
 * exactly by adding one value after another to all possible sums; ranks are doubled, so that tied ranks are integers.
 */
#include "analyze/statistics/change.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define P_MOST 0.01
#define TAIL 0.025 /* probability outside the interval, on either side */
#define Z_TAIL 1.959964
#define EXACT_PAIRS 200u  /* above this, the normal approximation of rank sums is good enough */
#define EXACT_VALUES 100u /* in both sets together */
#define BISECTIONS 200

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static double tail_of_normal(double z)
{
	return erfc(fabs(z) / sqrt(2)) / 2;
}

static double two_sided(double below, double above)
{
	double p = 2 * (below < above ? below : above);
	return p < 1 ? p : 1;
}

/* --- k-th smallest ------------------------------------------------------------------------------------------------ */

/* The values whose k-th smallest is sought, given by sorted inputs. With `b` NULL, they are the averages of all pairs
 * of `a`, where each value is also paired with itself; otherwise the differences a − b. */
struct sums {
	const double *a, *b;
	size_t a_count, b_count;
};

static uint64_t total(const struct sums *sums)
{
	return sums->b ? (uint64_t)sums->a_count * sums->b_count : (uint64_t)sums->a_count * (sums->a_count + 1) / 2;
}

static uint64_t averages_up_to(const struct sums *sums, double most)
{
	uint64_t count = 0;
	size_t end = sums->a_count;
	for (size_t i = 0; i < sums->a_count; i++) {
		while (end > i && (sums->a[i] + sums->a[end - 1]) / 2 > most)
			end--;
		if (end <= i)
			break;
		count += end - i;
	}
	return count;
}

static uint64_t differences_up_to(const struct sums *sums, double most)
{
	uint64_t count = 0;
	size_t begin = 0;
	for (size_t i = 0; i < sums->a_count; i++) {
		while (begin < sums->b_count && sums->a[i] - sums->b[begin] > most)
			begin++;
		count += sums->b_count - begin;
	}
	return count;
}

/* The k-th smallest, counted from 1. */
static double kth(const struct sums *sums, uint64_t k)
{
	double low = sums->b ? sums->a[0] - sums->b[sums->b_count - 1] : sums->a[0];
	double high = sums->b ? sums->a[sums->a_count - 1] - sums->b[0] : sums->a[sums->a_count - 1];
	uint64_t (*up_to)(const struct sums *, double) = sums->b ? differences_up_to : averages_up_to;
	if (up_to(sums, low) >= k)
		return low;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = low + (high - low) / 2;
		if (middle <= low || middle >= high)
			break;
		if (up_to(sums, middle) >= k)
			high = middle;
		else
			low = middle;
	}
	return high;
}

static void place(struct sonde_change *out, const struct sums *sums, uint64_t interval_at)
{
	uint64_t count = total(sums);
	out->by = (kth(sums, (count + 1) / 2) + kth(sums, count / 2 + 1)) / 2;
	out->low = interval_at ? kth(sums, interval_at) : -INFINITY;
	out->high = interval_at ? kth(sums, count + 1 - interval_at) : INFINITY;
	if (!out->is_ratio)
		return;
	out->by = exp(out->by);
	out->low = exp(out->low);
	out->high = exp(out->high);
}

/* --- ranks ------------------------------------------------------------------------------------------------------- */

struct ranked {
	double value;
	int is_chosen; /* its rank is part of the sum */
	uint32_t rank; /* doubled */
};

static int compare_ranked(const void *a, const void *b)
{
	return compare(&((const struct ranked *)a)->value, &((const struct ranked *)b)->value);
}

/* Sorts and ranks; ties share their mean rank. Returns Σ (t³ − t) over all ties. */
static double rank(struct ranked *rows, size_t count)
{
	double ties = 0;
	qsort(rows, count, sizeof *rows, compare_ranked);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && rows[end].value == rows[i].value; end++)
			;
		for (size_t k = i; k < end; k++)
			rows[k].rank = (uint32_t)(i + end + 1);
		double tied = (double)(end - i);
		ties += tied * tied * tied - tied;
	}
	return ties;
}

static uint64_t chosen_sum(const struct ranked *rows, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += rows[i].is_chosen ? rows[i].rank : 0;
	return sum;
}

/* Probability of each rank sum if each rank is chosen by a coin flip; allocated with calloc(), for sums up to that of
 * all ranks. */
static double *sums_of_coins(const struct ranked *rows, size_t count, uint64_t all)
{
	double *chance = calloc((size_t)all + 1, sizeof *chance);
	if (!chance)
		return NULL;
	chance[0] = 1;
	for (size_t i = 0, most = 0; i < count; i++) {
		most += rows[i].rank;
		for (size_t sum = most + 1; sum-- > 0;)
			chance[sum] = (chance[sum] + (sum >= rows[i].rank ? chance[sum - rows[i].rank] : 0)) / 2;
	}
	return chance;
}

/* The same if exactly `chosen` ranks are chosen, with all choices equally likely. */
static double *sums_of_choices(const struct ranked *rows, size_t count, size_t chosen, uint64_t all)
{
	size_t width = (size_t)all + 1;
	double *chance = calloc((chosen + 1) * width, sizeof *chance);
	if (!chance)
		return NULL;
	chance[0] = 1;
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1 < chosen ? i + 1 : chosen; k > 0; k--)
			for (size_t sum = rows[i].rank; sum < width; sum++)
				chance[k * width + sum] += chance[(k - 1) * width + sum - rows[i].rank];
	double *last = chance + chosen * width, choices = 0;
	for (size_t sum = 0; sum < width; sum++)
		choices += last[sum];
	for (size_t sum = 0; sum < width; sum++)
		chance[sum] = last[sum] / choices;
	return chance;
}

static double p_of_sum(const double *chance, uint64_t all, uint64_t sum)
{
	double below = 0, above = 0;
	for (uint64_t i = 0; i <= all; i++) {
		below += i <= sum ? chance[i] : 0;
		above += i >= sum ? chance[i] : 0;
	}
	return two_sided(below, above);
}

/* The largest k for which sums below k have a probability of at most TAIL; sums start at `least` and advance by two. */
static uint64_t interval_from(const double *chance, uint64_t all, uint64_t least)
{
	double below = 0;
	uint64_t k = 0;
	for (uint64_t sum = least; sum <= all; sum += 2, k++) {
		below += chance[sum];
		if (below > TAIL)
			break;
	}
	return k;
}

static uint64_t interval_from_normal(double mean, double deviation)
{
	double k = floor(mean - Z_TAIL * deviation);
	return k > 0 ? (uint64_t)k : 0;
}

/* --- pairs ------------------------------------------------------------------------------------------------------- */

/* Pairs without a difference carry no sign and are left out of the test (Wilcoxon). */
static int test_pairs(struct sonde_change *out, const double *differences, size_t count, struct ranked *rows)
{
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		if (differences[i] != 0)
			rows[used++] = (struct ranked){fabs(differences[i]), differences[i] > 0, 0};
	double ties = rank(rows, used), n = (double)used;
	uint64_t all = (uint64_t)used * (used + 1), sum = chosen_sum(rows, used);
	out->p = 1;
	if (!used)
		return 0;
	if (used > EXACT_PAIRS) {
		double deviation = sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48);
		double away = fabs((double)sum / 2 - n * (n + 1) / 4) - 0.5;
		out->p = away > 0 ? 2 * tail_of_normal(away / deviation) : 1;
		return 0;
	}
	double *chance = sums_of_coins(rows, used, all);
	if (!chance)
		return -ENOMEM;
	out->p = p_of_sum(chance, all, sum);
	free(chance);
	return 0;
}

static int pairs_interval(uint64_t *out, size_t count, struct ranked *rows)
{
	double n = (double)count;
	if (count > EXACT_PAIRS) {
		*out = interval_from_normal(n * (n + 1) / 4, sqrt(n * (n + 1) * (2 * n + 1) / 24));
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		rows[i].rank = 2 * (uint32_t)(i + 1);
	uint64_t all = (uint64_t)count * (count + 1);
	double *chance = sums_of_coins(rows, count, all);
	if (!chance)
		return -ENOMEM;
	*out = interval_from(chance, all, 0);
	free(chance);
	return 0;
}

static int all_above_0(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(values[i] > 0))
			return 0;
	return 1;
}

static double scaled(const struct sonde_change *change, double value)
{
	return change->is_ratio ? log(value) : value;
}

static void nothing_known(struct sonde_change *out)
{
	out->p = 1;
	out->by = NAN;
	out->low = out->is_ratio ? 0 : -INFINITY;
	out->high = INFINITY;
}

int sonde_change_paired(struct sonde_change *out, const double *baseline, const double *candidate, size_t pairs)
{
	*out = (struct sonde_change){.baseline = pairs, .candidate = pairs};
	out->is_ratio = all_above_0(baseline, pairs) && all_above_0(candidate, pairs);
	nothing_known(out);
	if (!pairs)
		return 0;
	double *differences = calloc(pairs, sizeof *differences);
	struct ranked *rows = calloc(pairs, sizeof *rows);
	uint64_t interval = 0;
	int code = differences && rows ? 0 : -ENOMEM;
	for (size_t i = 0; !code && i < pairs; i++)
		differences[i] = scaled(out, baseline[i]) - scaled(out, candidate[i]);
	code = code ? code : test_pairs(out, differences, pairs, rows);
	code = code ? code : pairs_interval(&interval, pairs, rows);
	if (!code) {
		qsort(differences, pairs, sizeof *differences, compare);
		place(out, &(struct sums){.a = differences, .a_count = pairs}, interval);
	}
	free(differences);
	free(rows);
	return code;
}

/* --- independent samples ------------------------------------------------------------------------------------------ */

static int test_sets(struct sonde_change *out, struct ranked *rows, double ties)
{
	size_t count = out->baseline + out->candidate;
	double a = (double)out->baseline, b = (double)out->candidate, n = a + b;
	uint64_t all = (uint64_t)count * (count + 1), sum = chosen_sum(rows, count);
	if (count > EXACT_VALUES) {
		double deviation = sqrt(a * b / 12 * (n + 1 - ties / (n * (n - 1))));
		double away = fabs((double)sum / 2 - a * (n + 1) / 2) - 0.5;
		out->p = away > 0 && deviation > 0 ? 2 * tail_of_normal(away / deviation) : 1;
		return 0;
	}
	double *chance = sums_of_choices(rows, count, out->baseline, all);
	if (!chance)
		return -ENOMEM;
	out->p = p_of_sum(chance, all, sum);
	free(chance);
	return 0;
}

static int sets_interval(uint64_t *out, size_t a, size_t b, struct ranked *rows)
{
	size_t count = a + b;
	if (count > EXACT_VALUES) {
		double pairs = (double)a * (double)b;
		*out = interval_from_normal(pairs / 2, sqrt(pairs * (double)(count + 1) / 12));
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		rows[i].rank = 2 * (uint32_t)(i + 1);
	uint64_t all = (uint64_t)count * (count + 1);
	double *chance = sums_of_choices(rows, count, a, all);
	if (!chance)
		return -ENOMEM;
	*out = interval_from(chance, all, (uint64_t)a * (a + 1));
	free(chance);
	return 0;
}

int sonde_change_unpaired(struct sonde_change *out, const double *baseline, size_t baseline_count,
			  const double *candidate, size_t candidate_count)
{
	size_t count = baseline_count + candidate_count;
	*out = (struct sonde_change){.baseline = baseline_count, .candidate = candidate_count};
	out->is_ratio = all_above_0(baseline, baseline_count) && all_above_0(candidate, candidate_count);
	nothing_known(out);
	if (!baseline_count || !candidate_count)
		return 0;
	double *values = calloc(count, sizeof *values);
	struct ranked *rows = calloc(count, sizeof *rows);
	uint64_t interval = 0;
	int code = values && rows ? 0 : -ENOMEM;
	for (size_t i = 0; !code && i < count; i++) {
		int is_baseline = i < baseline_count;
		values[i] = scaled(out, is_baseline ? baseline[i] : candidate[i - baseline_count]);
		rows[i] = (struct ranked){values[i], is_baseline, 0};
	}
	code = code ? code : test_sets(out, rows, rank(rows, count));
	code = code ? code : sets_interval(&interval, baseline_count, candidate_count, rows);
	if (!code) {
		qsort(values, baseline_count, sizeof *values, compare);
		qsort(values + baseline_count, candidate_count, sizeof *values, compare);
		struct sums sums = {values, values + baseline_count, baseline_count, candidate_count};
		place(out, &sums, interval);
	}
	free(values);
	free(rows);
	return code;
}

/* --- verdicts ---------------------------------------------------------------------------------------------------- */

struct requested {
	double p;
	size_t at;
};

static int compare_requested(const void *a, const void *b)
{
	return compare(&((const struct requested *)a)->p, &((const struct requested *)b)->p);
}

int sonde_change_correct(double *p, size_t count)
{
	struct requested *requested = calloc(count + 1, sizeof *requested);
	if (!requested)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		requested[i] = (struct requested){p[i], i};
	qsort(requested, count, sizeof *requested, compare_requested);
	double least = 1;
	for (size_t i = count; i-- > 0;) {
		double corrected = requested[i].p * (double)count / (double)(i + 1);
		least = corrected < least ? corrected : least;
		p[requested[i].at] = least;
	}
	free(requested);
	return 0;
}

enum sonde_verdict sonde_change_verdict(const struct sonde_change *change, double margin)
{
	double more = change->is_ratio ? 1 + margin : margin, less = change->is_ratio ? 1 / (1 + margin) : -margin;
	if (change->low >= less && change->high <= more)
		return SONDE_VERDICT_UNCHANGED;
	if (!(change->p < P_MOST))
		return SONDE_VERDICT_INCONCLUSIVE;
	if (change->by > more)
		return SONDE_VERDICT_IMPROVED;
	return change->by < less ? SONDE_VERDICT_REGRESSED : SONDE_VERDICT_INCONCLUSIVE;
}

struct sonde_change_why sonde_change_why(const struct sonde_change *change, double margin, const char *what)
{
	struct sonde_change_why why = {""};
	const char *of = change->is_ratio ? "ratio" : "difference";
	double same = change->is_ratio ? 1 : 0;
	if (sonde_change_verdict(change, margin) != SONDE_VERDICT_INCONCLUSIVE)
		return why;
	if (!isfinite(change->low) || !isfinite(change->high))
		snprintf(why.text, sizeof why.text, "%zu and %zu %s are too few for an interval: more would give one",
			 change->baseline, change->candidate, what);
	else if (change->low <= same && change->high >= same)
		snprintf(why.text, sizeof why.text,
			 "the interval of the %s, %.4g to %.4g, includes %.0f: more %s would narrow it", of,
			 change->low, change->high, same, what);
	else if (!(change->p < P_MOST))
		snprintf(why.text, sizeof why.text, "p = %.3f, but a verdict needs p < %.2f: more %s may lower p",
			 change->p, P_MOST, what);
	else
		snprintf(why.text, sizeof why.text,
			 "the interval of the %s, %.4g to %.4g, is partly within the margin: more %s would narrow it",
			 of, change->low, change->high, what);
	return why;
}

const char *sonde_verdict_name(enum sonde_verdict verdict)
{
	static const char *const names[] = {"inconclusive", "unchanged", "improved", "regressed"};
	return names[verdict];
}

struct sonde_change_words sonde_change_words(double ratio)
{
	struct sonde_change_words words;
	snprintf(words.text, sizeof words.text, "%.3f× %s", ratio < 1 ? 1 / ratio : ratio,
		 ratio < 1 ? "slower" : "faster");
	return words;
}
