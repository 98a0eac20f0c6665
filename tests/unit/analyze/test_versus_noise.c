/* test_versus_noise.c: how often comparisons of random times are wrong: 1,000 without a difference and 1,000 with 2
 * %, by the stopping rule of sonde bench and with twenty pairs.
 *
 * The random times imitate a real machine: each run has noise with a heavy tail; now and then the machine is slower for
 * some runs; and it slows down gradually. The seed is fixed: a test of shares cannot fail by chance.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analyze/diff/versus.h"
#include "base/hash.h"

/* A tenth of the first under a sanitizer, which is ten times slower; it checks the code, not the shares. */
#ifdef __SANITIZE_ADDRESS__
enum { SAME = 100, SLOWER = 200 };
#else
enum { SAME = 1000, SLOWER = 200 };
#endif

struct noise {
	const char *name;
	double own;        /* deviation of a run */
	double tail;       /* share of runs that something interrupts, by up to 30 % */
	double level;      /* deviation of what neighbours have in common */
	double alike;      /* how much of it the next run has */
	double drift;      /* from the first to the hundredth pair */
	unsigned least_of; /* 100: that 2 % must be found in at n = 20 */
	int is_long;       /* never exact, and a hundred pairs each: only at n = 20 */
};

static const struct noise noises[] = {
    {"1 %", 0.01, 0, 0, 0, 0, 85, 0},
    {"1 %, with a heavy tail", 0.01, 0.05, 0, 0, 0, 70, 0},
    {"1 %, neighbours alike, drifting", 0.007, 0.02, 0.007, 0.9, 0.03, 85, 0},
    {"5 % that neighbours have in common", 0.005, 0.02, 0.05, 0.98, 0.1, 85, 0},
    {"3 %: too much for twenty pairs", 0.03, 0.05, 0.01, 0.9, 0.02, 0, 1},
};

static uint64_t seed;

static double uniform(void)
{
	seed = sonde_hash_mix(seed + 0x9e3779b97f4a7c15u);
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

struct machine {
	const struct noise *noise;
	double level;
	size_t runs;
};

static double run(struct machine *machine, double work)
{
	const struct noise *noise = machine->noise;
	double fresh = sqrt(1 - noise->alike * noise->alike);
	machine->level = noise->alike * machine->level + fresh * noise->level * normal();
	double slow = noise->drift * (double)machine->runs++ / 200;
	double stalled = uniform() < noise->tail ? 0.3 * uniform() : 0;
	return 50e6 * work * exp(noise->own * normal() + machine->level) * (1 + slow) * (1 + stalled);
}

/* A comparison as sonde bench makes it, ABBA, of `runs` pairs or until it is enough. */
static enum sonde_verdict compared(const struct noise *noise, double slower, size_t runs, size_t *pairs)
{
	struct sonde_versus_pair pair[SONDE_VERSUS_MOST];
	struct sonde_versus versus = {.pair = pair, .has_baseline = 1, .margin = 0.01};
	struct machine machine = {.noise = noise};
	machine.level = noise->level * normal();
	while (!sonde_versus_is_enough(&versus, runs)) {
		struct sonde_versus_pair *next = &pair[versus.count];
		next->is_baseline_first = versus.count % 2 == 0;
		for (int turn = 0; turn < SONDE_SIDES; turn++) {
			int side = (turn == 0) == next->is_baseline_first ? SONDE_BASELINE : SONDE_CANDIDATE;
			double cpu = run(&machine, side == SONDE_CANDIDATE ? slower : 1), *value = next->value[side];
			value[SONDE_VERSUS_WALL] = cpu * (1 + 0.002 * uniform());
			value[SONDE_VERSUS_CPU] = value[SONDE_VERSUS_USER] = cpu;
			value[SONDE_VERSUS_SYSTEM] = 0;
			value[SONDE_VERSUS_PEAK_RSS] = 4096 * floor(500 + 4 * uniform());
			value[SONDE_VERSUS_FAULTS] = 100;
		}
		versus.count++;
	}
	assert_int_equal(sonde_versus_evaluate(&versus), 0);
	*pairs += versus.count;
	return sonde_versus_verdict(&versus);
}

static unsigned count_of(enum sonde_verdict *verdicts, size_t count, enum sonde_verdict wanted)
{
	unsigned hits = 0;
	for (size_t i = 0; i < count; i++)
		hits += verdicts[i] == wanted;
	return hits;
}

static void same_is_called_different_in_1_of_100_at_most(void **state)
{
	static const size_t runs[] = {0, 20}; /* the default rule, and n = 20 */
	enum sonde_verdict verdicts[SAME];
	(void)state;
	for (size_t k = 0; k < sizeof runs / sizeof *runs; k++)
		for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
			size_t pairs = 0;
			if (noises[i].is_long && !runs[k])
				continue;
			seed = 1 + i;
			for (size_t n = 0; n < SAME; n++)
				verdicts[n] = compared(&noises[i], 1, runs[k], &pairs);
			unsigned flagged = count_of(verdicts, SAME, SONDE_VERDICT_IMPROVED) +
					   count_of(verdicts, SAME, SONDE_VERDICT_REGRESSED);
			print_message("%s, %s: %u of %d flagged, %u unchanged, %.1f pairs\n", noises[i].name,
				      runs[k] ? "20 pairs" : "until exact", flagged, SAME,
				      count_of(verdicts, SAME, SONDE_VERDICT_UNCHANGED), (double)pairs / SAME);
			assert_in_range(flagged, 0, SAME / 100);
		}
}

static void two_percent_is_found_in_85_of_100(void **state)
{
	enum sonde_verdict verdicts[SLOWER];
	(void)state;
	for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
		size_t pairs = 0;
		seed = 100 + i;
		for (size_t n = 0; n < SLOWER; n++)
			verdicts[n] = compared(&noises[i], 1.02, 20, &pairs);
		unsigned found = count_of(verdicts, SLOWER, SONDE_VERDICT_REGRESSED);
		print_message("%s: 2 %% found in %u of %d\n", noises[i].name, found, SLOWER);
		assert_true(found * 100 >= noises[i].least_of * SLOWER);
		assert_int_equal(count_of(verdicts, SLOWER, SONDE_VERDICT_IMPROVED), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_is_called_different_in_1_of_100_at_most),
	    cmocka_unit_test(two_percent_is_found_in_85_of_100),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
