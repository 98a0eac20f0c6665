/* test_finding_ceilings.c: verdicts that depend on the machine's ceilings are right or withheld, never wrong: one
 * session with reliable ceilings, and with doubtful ones. */
#include "finding_fixture.h"

#include "roof/roof.h"

#define SPAN_MS 1000

enum doubt { SURE, SPREAD, ALL_LOW, STOLEN };

static struct sonde_roof_figure figure(double best, double spread)
{
	return (struct sonde_roof_figure){best, best * (1 - spread), best * (1 - spread), 10};
}

/* One thread: 50 GFLOP/s, DRAM 30, L3 100, L2 120, L1 200 GB/s; four CPUs: four times that, DRAM twice; as measured on
 * a machine that gave the measurement this share of its CPUs. */
static void roof_make(struct sonde_roof *roof, double share, enum doubt doubt)
{
	static const double one[SONDE_ROOF_LEVELS] = {200e9, 120e9, 100e9, 30e9};
	double spread = doubt == SPREAD ? 0.16 : 0.14, all = doubt == ALL_LOW ? 0.9 : 4;
	*roof = (struct sonde_roof){.cpus = 4,
				    .threads = 4,
				    .memory_gib = 16,
				    .measured_s = 1700000000,
				    .stolen = doubt == STOLEN ? 0.011 : 0.009};
	snprintf(roof->fingerprint, sizeof roof->fingerprint, "0123456789abcdef");
	snprintf(roof->cpu, sizeof roof->cpu, "Processor of a test");
	snprintf(roof->machine, sizeof roof->machine, "x86_64");
	for (int precision = 0; precision < SONDE_ROOF_PRECISIONS; precision++) {
		roof->flops[SONDE_ROOF_AVX][precision][SONDE_ROOF_ONE] = figure(share * 50e9, 0);
		roof->flops[SONDE_ROOF_AVX][precision][SONDE_ROOF_ALL] = figure(share * all * 50e9, 0);
	}
	for (int level = 0; level < SONDE_ROOF_LEVELS; level++) {
		double more = level == SONDE_ROOF_DRAM ? 2 : 4;
		roof->set_b[level][SONDE_ROOF_ONE] = roof->set_b[level][SONDE_ROOF_ALL] = 4096;
		roof->bytes[level][SONDE_ROOF_READ][SONDE_ROOF_ONE] = figure(share * one[level], spread);
		roof->bytes[level][SONDE_ROOF_READ][SONDE_ROOF_ALL] = figure(share * more * one[level], 0);
	}
}

static void put_key(void *recording, const char *key, const char *value)
{
	recording_info(recording, key, value);
}

/* A thread that is in a zone with reported work for zone_ms, and in another one for the rest. */
static void make(struct recording *r, const struct sonde_roof *roof, unsigned zone_ms, double flop, double bytes)
{
	simple_open(r);
	sonde_roof_to_keys(roof, put_key, r);
	uint32_t filter = recording_site(r, SONDE_SITE_ZONE, "filter", NULL);
	uint32_t remainder = recording_site(r, SONDE_SITE_ZONE, "remainder", NULL);
	uint32_t stack = recording_call(r, 0, 1, "main", 1);
	recording_begin(r, 1, filter, START);
	recording_work(r, 1, START + MS, flop, bytes, 0);
	recording_end(r, 1, START + zone_ms * MS);
	recording_begin(r, 1, remainder, START + zone_ms * MS);
	recording_end(r, 1, START + SPAN_MS * MS - 1);
	for (unsigned ms = 0; ms < SPAN_MS; ms++)
		recording_sample(r, (struct recording_sample){START + ms * MS + MS / 2, 1, stack, MS, 0});
	recording_process_end(r, 1, START + SPAN_MS * MS, SPAN_MS * MS, 0);
}

/* The rule that comes first, or NULL if the verdict is withheld. `note`: words in a note; NULL = there is no note about
 * ceilings. */
static void expect_verdict(struct recording *r, const char *first, const char *evidence, const char *note)
{
	struct evaluated evaluated;
	evaluate(&evaluated, r);
	if (note && !is_said(&evaluated, note))
		fail_msg("not said: %s", note);
	assert_int_equal(is_said(&evaluated, "eilings"), note != NULL);
	assert_true(!note || !finding_of(&evaluated, "memory-bound"));
	assert_int_equal(evaluated.found.is_noisy, !first);
	assert_int_equal(evaluated.found.count > 0, first != NULL);
	if (first) {
		assert_string_equal(evaluated.found.rows[0].rule->id, first);
		if (!strstr(evaluated.found.rows[0].evidence, evidence))
			fail_msg("'%s' is not in '%s'", evidence, evaluated.found.rows[0].evidence);
	}
	forget(&evaluated);
}

static const char withheld[] = "Noisy ceilings: time findings are withheld; sonde roofline --measure";

/* 20 GB/s of 30 is memory; of 10, measured while other programs had two thirds of the CPUs, it seems to come from L3.
 */
static void memory_is_not_judged_by_doubtful_ceilings(void **state)
{
	struct sonde_roof roof;
	struct recording r;
	(void)state;
	roof_make(&roof, 1, SURE);
	make(&r, &roof, 800, 1e9, 16e9);
	expect_verdict(&r, "memory-bound", "20 GB/s, 67 %", NULL);
	roof_make(&roof, 1.0 / 3, SURE); /* nothing shows that they are too low: this is the wrong verdict */
	make(&r, &roof, 800, 1e9, 16e9);
	expect_verdict(&r, "hot-function", "of the 1.000 s", NULL);
	for (int doubt = SPREAD; doubt <= STOLEN; doubt++)
		for (int is_low = 0; is_low < 2; is_low++) {
			roof_make(&roof, is_low ? 1.0 / 3 : 1, (enum doubt)doubt);
			make(&r, &roof, 800, 1e9, 16e9);
			expect_verdict(&r, NULL, NULL, withheld);
		}
}

/* Work far below ceilings that are too low is even farther below the true ceilings. */
static void far_below_doubtful_ceilings_is_far_below(void **state)
{
	struct sonde_roof roof;
	struct recording r;
	(void)state;
	roof_make(&roof, 1, SURE);
	make(&r, &roof, 800, 2e9, 0.1e9);
	expect_verdict(&r, "below-roof", "2.5 GFLOP/s, 5.0 % of the attainable 50 GFLOP/s", NULL);
	roof_make(&roof, 0.6, SPREAD);
	make(&r, &roof, 800, 2e9, 0.1e9);
	expect_verdict(&r, "below-roof", "2.5 GFLOP/s, at most 8.3 % of the attainable (at least) 30 GFLOP/s", NULL);
	/* Too near for that, but not near a ceiling either: it may be below the true ceilings. */
	roof_make(&roof, 0.3, SPREAD);
	make(&r, &roof, 800, 2e9, 0.1e9);
	expect_verdict(&r, NULL, NULL, withheld);
}

/* Whatever the ceilings are, three tenths of the run in a zone do not outweigh all of it in a function. */
static void what_outweighs_the_doubt_is_judged(void **state)
{
	struct sonde_roof roof;
	struct recording r;
	(void)state;
	roof_make(&roof, 1, SPREAD);
	make(&r, &roof, 300, 0.4e9, 6e9);
	expect_verdict(&r, "hot-function", "of the 1.000 s",
		       "withheld: memory-bound (filter): the machine's ceilings are doubtful");
	/* Work without bytes is compared with no ceiling. */
	make(&r, &roof, 800, 0.1e9, 0);
	expect_verdict(&r, "low-throughput", "1.25e+08 FLOP/s", NULL);
}

static void only_those_who_want_it_go_by_doubtful_ceilings(void **state)
{
	const char *threshold = "noise.share=1";
	struct sonde_roof roof;
	struct recording r;
	struct evaluated evaluated;
	(void)state;
	roof_make(&roof, 1, SPREAD);
	make(&r, &roof, 800, 1e9, 16e9);
	evaluate_in(&evaluated, &r, &(struct sonde_pass_options){.thresholds = &threshold, .threshold_count = 1});
	assert_non_null(finding_of(&evaluated, "memory-bound"));
	forget(&evaluated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(memory_is_not_judged_by_doubtful_ceilings),
	    cmocka_unit_test(far_below_doubtful_ceilings_is_far_below),
	    cmocka_unit_test(what_outweighs_the_doubt_is_judged),
	    cmocka_unit_test(only_those_who_want_it_go_by_doubtful_ceilings),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
