/* polynomial.c: evaluates a polynomial with integer coefficients; each term calls pow().
 *
 * sonde: low-throughput: the zone "curve" reports the necessary work, 12 FLOP a point, and reaches less than a tenth
 * of a GFLOP/s, in the C library's pow().
 * Fix: Horner's rule, a multiplication and an addition per term. (Values are small integers: results are identical.)
 */
#include <math.h>
#include <sonde/sonde.h>

#include "example.h"

enum { POINTS = 2000000, TERMS = 7, BATCH = 10000 };

static const double coefficients[TERMS] = {3, -7, 2, 11, -5, 1, 4};

NO_INLINE static double by_powers(double x)
{
	double sum = 0;
	for (int i = 0; i < TERMS; i++)
		sum += coefficients[i] * pow(x, i);
	return sum;
}

NO_INLINE static double by_horner(double x)
{
	double sum = 0;
	for (int i = TERMS; i-- > 0;)
		sum = sum * x + coefficients[i];
	return sum;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	uint64_t random = 5;
	double total = 0;
	for (int first = 0; first < POINTS; first += BATCH) {
		SONDE_ZONE("curve");
		SONDE_ZONE_WORK(2.0 * (TERMS - 1) * BATCH, 0, BATCH);
		for (int i = 0; i < BATCH; i++) {
			double x = next_number(&random) % 64;
			total += fixed ? by_horner(x) : by_powers(x);
		}
	}
	printf("total %.0f\n", total);
	return 0;
}
