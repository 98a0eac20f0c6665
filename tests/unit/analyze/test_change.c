/* test_change.c: changes and significance tests of sets with known answers, from textbooks or from enumerating all
 * signs and choices; how often sets of known distributions get a verdict. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/statistics/change.h"
#include "base/hash.h"

#define COUNT(values) (sizeof(values) / sizeof *(values))

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.9g instead of %.9g", value, expected);
}

static void assert_change(const struct sonde_change *change, double by, double low, double high, double p)
{
	assert_near(change->by, by, 1e-9);
	assert_near(change->low, low, 1e-9);
	assert_near(change->high, high, 1e-9);
	assert_near(change->p, p, 1e-9);
}

/* Hollander and Wolfe, Nonparametric Statistical Methods: depression scales (p 29), permeability (p 69). */
static const double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
static const double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
static const double at_term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
static const double at_weeks[] = {1.15, 0.88, 0.90, 0.74, 1.21};

/* Not above 0, so that they are compared by differences. */
static void lower(double *out, const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = values[i] - 10;
}

static void pairs_of_textbooks(void **state)
{
	double a[COUNT(before)], b[COUNT(after)];
	struct sonde_change change;
	(void)state;
	lower(a, before, COUNT(before));
	lower(b, after, COUNT(after));
	assert_int_equal(sonde_change_paired(&change, a, b, COUNT(a)), 0);
	assert_false(change.is_ratio);
	assert_change(&change, 0.46, 0.01, 0.786, 0.0390625);
}

static void sets_of_textbooks(void **state)
{
	double a[COUNT(at_term)], b[COUNT(at_weeks)];
	struct sonde_change change;
	(void)state;
	lower(a, at_term, COUNT(at_term));
	lower(b, at_weeks, COUNT(at_weeks));
	assert_int_equal(sonde_change_unpaired(&change, a, COUNT(a), b, COUNT(b)), 0);
	assert_change(&change, 0.305, -0.15, 0.76, 0.254412254412254);
}

static void ties_are_exact(void **state)
{
	static const double differences[] = {5, 3, 3, 0, -2, 4, 4, 1, -1, 2}, none[COUNT(differences)];
	static const double a[] = {1, 2, 2, 3, 5, 5}, b[] = {2, 4, 5, 6, 6, 7, 0};
	struct sonde_change change;
	(void)state;
	assert_int_equal(sonde_change_paired(&change, differences, none, COUNT(none)), 0);
	assert_change(&change, 2, 0, 3.5, 0.0390625);
	assert_int_equal(sonde_change_unpaired(&change, a, COUNT(a), b, COUNT(b)), 0);
	assert_change(&change, -1.5, -4, 2, 0.277389277389277);
}

static void ratios_are_baseline_by_candidate(void **state)
{
	double a[10], b[10];
	struct sonde_change change;
	(void)state;
	for (int i = 0; i < 10; i++) {
		a[i] = 2 + i;
		b[i] = a[i] / 1.25;
	}
	assert_int_equal(sonde_change_paired(&change, a, b, 10), 0);
	assert_true(change.is_ratio);
	assert_change(&change, 1.25, 1.25, 1.25, 2 / 1024.0);
	assert_int_equal(sonde_change_verdict(&change, 0.01), SONDE_VERDICT_IMPROVED);
	assert_int_equal(sonde_change_paired(&change, b, a, 10), 0);
	assert_near(change.by, 0.8, 1e-9);
	assert_int_equal(sonde_change_verdict(&change, 0.01), SONDE_VERDICT_REGRESSED);
	assert_int_equal(sonde_change_verdict(&change, 0.3), SONDE_VERDICT_UNCHANGED);
}

static void too_few_say_nothing(void **state)
{
	static const double a[] = {1, 2, 3, 4, 5}, b[] = {2, 4, 6, 8, 10};
	struct sonde_change change;
	(void)state;
	assert_int_equal(sonde_change_paired(&change, a, b, 5), 0);
	assert_near(change.by, 0.5, 1e-9);
	assert_true(change.low == 0 && isinf(change.high));
	assert_near(change.p, 2 / 32.0, 1e-12);
	assert_int_equal(sonde_change_verdict(&change, 0.01), SONDE_VERDICT_INCONCLUSIVE);
	assert_int_equal(sonde_change_paired(&change, a, b, 0), 0);
	assert_true(change.p == 1 && isnan(change.by));
	assert_int_equal(sonde_change_verdict(&change, 0.01), SONDE_VERDICT_INCONCLUSIVE);
	assert_int_equal(sonde_change_unpaired(&change, a, 5, b, 0), 0);
	assert_true(change.p == 1 && change.low == 0 && isinf(change.high));
	assert_int_equal(sonde_change_paired(&change, a, a, 5), 0);
	assert_near(change.p, 1, 0);
}

/* --- known distributions ----------------------------------------------------------------------------------------- */

static uint64_t seed;

static double uniform(void)
{
	seed = sonde_hash_mix(seed + 1);
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* A time with a spread of 0.6 % and, now and then, a disturbance. */
static double noisy(double time)
{
	double disturbed = uniform() < 0.05 ? 1 + 0.2 * uniform() : 1;
	return time * (1 + 0.006 * normal()) * disturbed;
}

/* `drift`: spread of the machine's speed from pair to pair. */
static unsigned verdicts(enum sonde_verdict wanted, size_t rounds, size_t count, double slower, double drift,
			 int is_paired)
{
	unsigned found = 0;
	for (size_t round = 0; round < rounds; round++) {
		double a[120], b[120];
		struct sonde_change change;
		for (size_t i = 0; i < count; i++) {
			double speed = 1 + drift * normal();
			a[i] = noisy(speed);
			b[i] = noisy(speed * slower);
		}
		assert_int_equal(is_paired ? sonde_change_paired(&change, a, b, count)
					   : sonde_change_unpaired(&change, a, count, b, count),
				 0);
		found += sonde_change_verdict(&change, 0.01) == wanted;
	}
	return found;
}

static void alike_is_not_called_different(void **state)
{
	(void)state;
	seed = 4711;
	assert_true(verdicts(SONDE_VERDICT_REGRESSED, 1000, 20, 1, 0.02, 1) <= 5);
	assert_true(verdicts(SONDE_VERDICT_IMPROVED, 1000, 20, 1, 0.02, 1) <= 5);
	assert_true(verdicts(SONDE_VERDICT_REGRESSED, 200, 20, 1, 0, 0) <= 1);
	assert_true(verdicts(SONDE_VERDICT_IMPROVED, 200, 20, 1, 0, 0) <= 1);
}

static void two_percent_are_found(void **state)
{
	(void)state;
	seed = 815;
	assert_true(verdicts(SONDE_VERDICT_REGRESSED, 100, 20, 1.02, 0, 0) >= 85);
	assert_true(verdicts(SONDE_VERDICT_REGRESSED, 100, 20, 1.02, 0, 1) >= 85);
	assert_true(verdicts(SONDE_VERDICT_UNCHANGED, 100, 100, 1, 0, 1) >= 95);
	/* If the machine's speed drifts, pairs find what sets cannot. */
	assert_true(verdicts(SONDE_VERDICT_REGRESSED, 100, 20, 1.02, 0.03, 1) >= 85);
	assert_true(verdicts(SONDE_VERDICT_REGRESSED, 100, 20, 1.02, 0.03, 0) <= 50);
}

/* The exact test and the normal approximation agree where one takes over from the other. */
static void large_sets_go_on_from_small_ones(void **state)
{
	double a[202], b[202];
	struct sonde_change exact, normal;
	(void)state;
	seed = 7;
	for (size_t i = 0; i < COUNT(a); i++) {
		a[i] = noisy(1);
		b[i] = noisy(1.0015);
	}
	assert_int_equal(sonde_change_paired(&exact, a, b, 200), 0);
	assert_int_equal(sonde_change_paired(&normal, a, b, 201), 0);
	assert_near(normal.p, exact.p, 0.3 * exact.p);
	assert_near(normal.low, exact.low, 0.0005);
	assert_near(normal.high, exact.high, 0.0005);
	assert_int_equal(sonde_change_unpaired(&exact, a, 50, b, 50), 0);
	assert_int_equal(sonde_change_unpaired(&normal, a, 51, b, 50), 0);
	assert_near(normal.p, exact.p, 0.3 * exact.p);
	assert_near(normal.low, exact.low, 0.002);
	assert_near(normal.high, exact.high, 0.002);
}

/* The example of Benjamini and Hochberg's paper: 15 p-values, of which the first four are found at 0.05. */
static void several_questions_are_corrected(void **state)
{
	double p[] = {0.4262, 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298,
		      0.0344, 0.0459, 0.3240, 0.5719, 0.6528, 0.7590, 1.0000};
	unsigned found = 0;
	(void)state;
	assert_int_equal(sonde_change_correct(p, COUNT(p)), 0);
	for (size_t i = 0; i < COUNT(p); i++)
		found += p[i] <= 0.05;
	assert_int_equal(found, 4);
	assert_near(p[1], 0.0015, 1e-12);
	assert_near(p[4], 0.035625, 1e-12);
	assert_near(p[7], 0.0638571428571429, 1e-12);
	assert_near(p[6], 0.0638571428571429, 1e-12); /* no larger than that of a larger one */
	assert_near(p[14], 1, 0);
}

static void an_inconclusive_verdict_has_its_reason(void **state)
{
	static const struct {
		struct sonde_change change;
		const char *why;
	} known[] = {
	    {{8, 8, 1, 1.01, 0.97, 1.05, 0.4},
	     "the interval of the ratio, 0.97 to 1.05, includes 1: more runs would narrow it"},
	    {{8, 8, 0, -2, -7.5, 0.5, 0.09},
	     "the interval of the difference, -7.5 to 0.5, includes 0: more runs would narrow it"},
	    {{5, 5, 1, 1.5, 1.2, 1.9, 0.024}, "p = 0.024, but a verdict needs p < 0.01: more runs may lower p"},
	    {{30, 30, 1, 1.009, 1.004, 1.014, 0.001},
	     "the interval of the ratio, 1.004 to 1.014, is partly within the margin: more runs would narrow it"},
	    {{2, 3, 1, 1.5, 0, INFINITY, 1}, "2 and 3 runs are too few for an interval: more would give one"},
	    {{8, 8, 1, 1.5, 1.2, 1.9, 0.001}, ""},
	    {{8, 8, 1, 0.5, 0.4, 0.6, 0.001}, ""},
	    {{8, 8, 1, 1, 0.995, 1.005, 0.9}, ""},
	};
	(void)state;
	for (size_t i = 0; i < COUNT(known); i++) {
		double margin = known[i].change.is_ratio ? 0.01 : 1;
		assert_string_equal(sonde_change_why(&known[i].change, margin, "runs").text, known[i].why);
		assert_int_equal(sonde_change_verdict(&known[i].change, margin) == SONDE_VERDICT_INCONCLUSIVE,
				 *known[i].why != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_inconclusive_verdict_has_its_reason),
	    cmocka_unit_test(pairs_of_textbooks),
	    cmocka_unit_test(sets_of_textbooks),
	    cmocka_unit_test(ties_are_exact),
	    cmocka_unit_test(ratios_are_baseline_by_candidate),
	    cmocka_unit_test(too_few_say_nothing),
	    cmocka_unit_test(alike_is_not_called_different),
	    cmocka_unit_test(two_percent_are_found),
	    cmocka_unit_test(large_sets_go_on_from_small_ones),
	    cmocka_unit_test(several_questions_are_corrected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
