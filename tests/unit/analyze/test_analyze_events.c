/* test_analyze_events.c: passes over zones and events agree with a straightforward computation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "sections.h"

static void two_threads_open(struct recording *recording)
{
	recording_open(recording, path);
	recording_process(recording, 100, 0, "prog", START);
	recording_thread(recording, 1, 100, "main", START);
	recording_thread(recording, 1, 101, "other", START);
}

static int compare_u64(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* outer { inner × 10 } × 500 with pseudo-random durations, against sorting and two-pass sums. */
static void zone_statistics(void **state)
{
	(void)state;
	enum { TURNS = 500, INNER = 10 };
	static uint64_t inner_ns[TURNS * INNER], outer_ns[TURNS];
	struct recording r;
	two_threads_open(&r);
	r.chunk_rows = 777; /* chunks end anywhere */
	uint32_t outer = recording_site(&r, SONDE_SITE_ZONE, "outer", NULL);
	uint32_t inner = recording_site(&r, SONDE_SITE_ZONE, "inner", NULL);
	uint64_t now_ns = START, random = 7, inner_sum = 0, outer_sum = 0;
	for (size_t i = 0; i < TURNS; i++) {
		uint64_t begin_ns = now_ns;
		recording_begin(&r, 1, outer, now_ns);
		for (size_t k = 0; k < INNER; k++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			recording_begin(&r, 1, inner, now_ns += 50);
			uint64_t dur_ns = 100 + (random >> 33) % 100000;
			inner_ns[i * INNER + k] = dur_ns;
			inner_sum += dur_ns;
			recording_end(&r, 1, now_ns += dur_ns);
		}
		recording_end(&r, 1, now_ns += 30);
		outer_ns[i] = now_ns - begin_ns;
		outer_sum += outer_ns[i];
	}
	recording_close(&r, now_ns, 0);
	struct sections s = sections_of(path, "zones", NULL);
	const struct sonde_section *t = sections_get(&s, "zones");
	assert_int_equal(sections_int(t, "zone", "outer", "calls"), TURNS);
	assert_int_equal(sections_int(t, "zone", "inner", "calls"), TURNS * INNER);
	assert_int_equal(sections_int(t, "zone", "outer", "total_ns"), outer_sum);
	assert_int_equal(sections_int(t, "zone", "outer", "self_ns"), outer_sum - inner_sum);
	assert_int_equal(sections_int(t, "zone", "inner", "self_ns"), inner_sum);
	assert_near(sections_real(t, "zone", "inner", "self_share"), (double)inner_sum / (double)(now_ns - START),
		    1e-12);
	double mean = (double)inner_sum / (TURNS * INNER), squares = 0;
	for (size_t i = 0; i < TURNS * INNER; i++)
		squares += ((double)inner_ns[i] - mean) * ((double)inner_ns[i] - mean);
	assert_near(sections_real(t, "zone", "inner", "mean_ns"), mean, 1e-6);
	assert_near(sections_real(t, "zone", "inner", "std_ns"), sqrt(squares / (TURNS * INNER - 1)), 1e-4);
	qsort(inner_ns, TURNS * INNER, sizeof *inner_ns, compare_u64);
	assert_int_equal(sections_int(t, "zone", "inner", "min_ns"), inner_ns[0]);
	assert_int_equal(sections_int(t, "zone", "inner", "max_ns"), inner_ns[TURNS * INNER - 1]);
	static const struct {
		const char *key;
		double quantile;
	} quantiles[] = {{"p50_ns", 0.50}, {"p95_ns", 0.95}, {"p99_ns", 0.99}};
	for (size_t i = 0; i < 3; i++) {
		double exact = (double)inner_ns[(size_t)(quantiles[i].quantile * TURNS * INNER) - 1];
		assert_near((double)sections_int(t, "zone", "inner", quantiles[i].key), exact, exact * 0.004);
	}
	sections_free(&s);
}

/* f { f { } }: two calls, the inner one adds nothing to the total. */
static void zone_recursion(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	uint32_t f = recording_site(&r, SONDE_SITE_ZONE, "f", NULL);
	recording_begin(&r, 1, f, START);
	recording_begin(&r, 1, f, START + 2 * MS);
	recording_end(&r, 1, START + 5 * MS);
	recording_end(&r, 1, START + 10 * MS);
	recording_close(&r, START + 10 * MS, 0);
	struct sections s = sections_of(path, "zones", NULL);
	const struct sonde_section *t = sections_get(&s, "zones");
	assert_int_equal(sections_int(t, "zone", "f", "calls"), 2);
	assert_int_equal(sections_int(t, "zone", "f", "total_ns"), 10 * MS);
	assert_int_equal(sections_int(t, "zone", "f", "self_ns"), 10 * MS);
	assert_int_equal(sections_int(t, "zone", "f", "min_ns"), 3 * MS);
	assert_true(sections_noted(t->notes, "too few values for a percentile"));
	sections_free(&s);
}

static void zones_never_closed(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	uint32_t open = recording_site(&r, SONDE_SITE_ZONE, "open", NULL);
	uint32_t done = recording_site(&r, SONDE_SITE_ZONE, "done", NULL);
	recording_begin(&r, 1, open, START + 10 * MS);
	recording_begin(&r, 1, done, START + 20 * MS);
	recording_end(&r, 1, START + 50 * MS);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "zones", NULL);
	const struct sonde_section *t = sections_get(&s, "zones");
	assert_int_equal(sections_int(t, "zone", "open", "calls"), 1);
	assert_int_equal(sections_int(t, "zone", "open", "total_ns"), 90 * MS);
	assert_int_equal(sections_int(t, "zone", "open", "self_ns"), 60 * MS);
	assert_int_equal(sections_cell(t, sections_row(t, "zone", "open"), "mean_ns")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sections_cell(t, sections_row(t, "zone", "open"), "p50_ns")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sections_int(t, "zone", "done", "max_ns"), 30 * MS);
	assert_true(sections_noted(t->notes, "1 zone never ended"));
	sections_free(&s);
}

static void work_goes_to_the_innermost_zone(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	r.chunk_rows = 3;
	uint32_t outer = recording_site(&r, SONDE_SITE_ZONE, "outer", NULL);
	uint32_t inner = recording_site(&r, SONDE_SITE_ZONE, "inner", NULL);
	recording_work(&r, 1, START, 1, 0, 0); /* in no zone */
	for (uint64_t i = 0; i < 4; i++) {
		uint64_t at_ns = START + (1 + i * 100) * MS;
		recording_begin(&r, 1, outer, at_ns);
		recording_work(&r, 1, at_ns + MS, 1e6, 0, 5);
		recording_begin(&r, 1, inner, at_ns + 20 * MS);
		recording_work(&r, 1, at_ns + 30 * MS, 2e6, 4e6, 0);
		recording_end(&r, 1, at_ns + 60 * MS);
		recording_work(&r, 1, at_ns + 70 * MS, 1e6, 0, 5);
		recording_end(&r, 1, at_ns + 80 * MS);
	}
	recording_begin(&r, 2, inner, START); /* another thread, which reported nothing */
	recording_end(&r, 2, START + 40 * MS);
	recording_close(&r, START + 500 * MS, 0);
	struct sections s = sections_of(path, "zones", NULL);
	const struct sonde_section *t = sections_get(&s, "zones");
	assert_near(sections_real(t, "zone", "outer", "flop"), 8e6, 0);
	assert_near(sections_real(t, "zone", "inner", "flop"), 8e6, 0);
	assert_near(sections_real(t, "zone", "inner", "flop_per_sec"), 8e6 / 0.2, 1);
	assert_near(sections_real(t, "zone", "inner", "bytes_per_sec"), 16e6 / 0.2, 1);
	assert_near(sections_real(t, "zone", "outer", "items_per_sec"), 40 / 0.32, 1e-6);
	assert_int_equal(sections_cell(t, sections_row(t, "zone", "outer"), "bytes_per_sec")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(t->notes, "1 report of work came from outside"));
	sections_free(&s);
}

static void spans_pair_by_id(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	uint32_t a = recording_site(&r, SONDE_SITE_SPAN, "request", NULL);
	uint32_t b = recording_site(&r, SONDE_SITE_SPAN, "query", NULL);
	recording_span(&r, 2, SONDE_EVENT_SPAN_BEGIN, a, START, 7);
	recording_span(&r, 2, SONDE_EVENT_SPAN_BEGIN, b, START + 1 * MS, 7); /* same id, another site */
	recording_span(&r, 1, SONDE_EVENT_SPAN_END, a, START + 10 * MS,
		       7); /* in the other thread, earlier in the file */
	recording_span(&r, 1, SONDE_EVENT_SPAN_END, 0, START + 21 * MS, 7);   /* by id alone: the query */
	recording_span(&r, 1, SONDE_EVENT_SPAN_BEGIN, a, START + 30 * MS, 7); /* the id again */
	recording_span(&r, 1, SONDE_EVENT_SPAN_END, a, START + 50 * MS, 7);
	recording_span(&r, 1, SONDE_EVENT_SPAN_BEGIN, a, START + 60 * MS, 8); /* never ends */
	recording_span(&r, 1, SONDE_EVENT_SPAN_END, a, START + 70 * MS, 9);   /* never began */
	recording_span(&r, 1, SONDE_EVENT_SPAN_END, b, START + 71 * MS, 8);   /* of another site */
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "spans", NULL);
	const struct sonde_section *t = sections_get(&s, "spans");
	assert_int_equal(sections_int(t, "span", "request", "count"), 2);
	assert_near(sections_real(t, "span", "request", "mean_ns"), 15 * MS, 1e-6);
	assert_int_equal(sections_int(t, "span", "request", "min_ns"), 10 * MS);
	assert_int_equal(sections_int(t, "span", "request", "max_ns"), 20 * MS);
	assert_int_equal(sections_int(t, "span", "request", "unfinished"), 1);
	assert_int_equal(sections_int(t, "span", "query", "count"), 1);
	assert_int_equal(sections_int(t, "span", "query", "max_ns"), 20 * MS);
	assert_near(sections_real(t, "span", "request", "rate_hz"), 2, 1e-9);
	assert_true(sections_noted(t->notes, "2 ends without a start"));
	sections_free(&s);
}

static void counters_and_gauges(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	uint32_t c = recording_site(&r, SONDE_SITE_COUNTER, "bytes read", "B");
	uint32_t g = recording_site(&r, SONDE_SITE_GAUGE, "queue", NULL);
	uint32_t n = recording_site(&r, SONDE_SITE_COUNT, "tick", NULL);
	recording_value(&r, 1, SONDE_EVENT_COUNTER, c, START, 10);
	recording_value(&r, 2, SONDE_EVENT_COUNTER, c, START, 5);
	recording_value(&r, 1, SONDE_EVENT_COUNTER, c, START + 500 * MS, 100); /* the thread's total so far */
	recording_value(&r, 2, SONDE_EVENT_COUNT, n, START + 500 * MS, 77);
	recording_value(&r, 1, SONDE_EVENT_GAUGE, g, START + 500 * MS, 8);
	recording_value(&r, 1, SONDE_EVENT_GAUGE, g, START + 700 * MS, 3);
	recording_value(&r, 2, SONDE_EVENT_GAUGE, g, START + 600 * MS, 1);
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "counters", NULL);
	const struct sonde_section *t = sections_get(&s, "counters");
	assert_near(sections_real(t, "name", "bytes read", "value"), 105, 0);
	assert_near(sections_real(t, "name", "bytes read", "per_sec"), 105, 1e-9);
	assert_string_equal(sections_cell(t, sections_row(t, "name", "bytes read"), "unit")->text, "B");
	assert_near(sections_real(t, "name", "tick", "value"), 77, 0);
	assert_string_equal(sections_cell(t, sections_row(t, "name", "tick"), "kind")->text, "calls");
	assert_near(sections_real(t, "name", "queue", "value"), 3, 0);
	assert_near(sections_real(t, "name", "queue", "min"), 1, 0);
	assert_near(sections_real(t, "name", "queue", "max"), 8, 0);
	/* 8 for 100 ms, 1 for 100 ms, 3 for 300 ms */
	assert_near(sections_real(t, "name", "queue", "mean"), (8 * 100 + 1 * 100 + 3 * 300) / 500.0, 1e-9);
	sections_free(&s);
}

/* For a selected time: what was added in it, divided by its length. */
static void counters_of_a_selection(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	r.chunk_rows = 2; /* what came before is in another chunk */
	uint32_t c = recording_site(&r, SONDE_SITE_COUNTER, "turns", NULL);
	for (uint64_t i = 1; i <= 10; i++)
		recording_value(&r, 1, SONDE_EVENT_COUNTER, c, START + i * 100 * MS, (double)(1000 + 10 * i));
	recording_value(&r, 2, SONDE_EVENT_COUNTER, c, START + 550 * MS, 7); /* begins within */
	recording_close(&r, START + 1000 * MS, 0);
	struct sonde_pass_options options = {.selection.from_ns = START + 500 * MS,
					     .selection.to_ns = START + 750 * MS};
	struct sections s = sections_of(path, "counters", &options);
	const struct sonde_section *t = sections_get(&s, "counters");
	assert_near(sections_real(t, "name", "turns", "value"), 30 + 7, 1e-9); /* 1040 → 1070; 0 → 7 */
	assert_near(sections_real(t, "name", "turns", "per_sec"), 37 / 0.25, 1e-9);
	assert_int_equal(sections_int(t, "name", "turns", "updates"), 4);
	assert_true(sections_noted(t->notes, "0.250 s of the selected time"));
	sections_free(&s);
	options =
	    (struct sonde_pass_options){.selection.from_ns = START + 910 * MS, .selection.to_ns = START + 990 * MS};
	s = sections_of(path, "counters", &options);
	assert_null(sections_find(&s, "counters")); /* nothing was counted then */
	sections_free(&s);
}

/* A flight recorder held 300 ms of a run of 10 s. */
static void figures_of_a_flight_recorder(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	recording_info(&r, "option.keep_ns", "300000000");
	uint32_t z = recording_site(&r, SONDE_SITE_ZONE, "frame", NULL);
	uint32_t c = recording_site(&r, SONDE_SITE_COUNTER, "turns", NULL);
	uint32_t q = recording_site(&r, SONDE_SITE_SPAN, "query", NULL);
	recording_begin(&r, 1, z, START + 9000 * MS);
	recording_end(&r, 1, START + 9150 * MS);
	recording_begin(&r, 2, recording_site(&r, SONDE_SITE_ZONE, "late", NULL), START + 9270 * MS);
	uint32_t inner = recording_site(&r, SONDE_SITE_ZONE, "inner", NULL);
	recording_begin(&r, 2, inner, START + 9280 * MS);
	recording_end(&r, 2, START + 9300 * MS);
	recording_value(&r, 1, SONDE_EVENT_COUNTER, c, START + 9000 * MS, 5000);
	recording_value(&r, 1, SONDE_EVENT_COUNTER, c, START + 9300 * MS, 5030);
	recording_span(&r, 2, SONDE_EVENT_SPAN_BEGIN, q, START + 9010 * MS, 1);
	recording_span(&r, 2, SONDE_EVENT_SPAN_END, q, START + 9020 * MS, 1);
	recording_close(&r, START + 10000 * MS, 0);
	struct sections s = sections_of(path, "zones counters spans", NULL);
	const struct sonde_section *t = sections_get(&s, "zones");
	assert_near(sections_real(t, "zone", "frame", "self_share"), 0.5, 1e-9);
	assert_near(sections_real(t, "zone", "late", "self_share"), 10 / 300.0, 1e-9);
	assert_true(sections_noted(t->notes, "1 zone had not ended when the flight recorder was saved"));
	assert_true(sections_noted(t->notes, "0.300 s of wall time that the flight recorder held"));
	t = sections_get(&s, "counters");
	assert_near(sections_real(t, "name", "turns", "value"), 5030, 1e-9);
	assert_near(sections_real(t, "name", "turns", "per_sec"), 30 / 0.3, 1e-9);
	assert_true(sections_noted(t->notes, "flight recorder held"));
	assert_near(sections_real(sections_get(&s, "spans"), "span", "query", "rate_hz"), 1 / 0.3, 1e-9);
	sections_free(&s);
}

static void zone_ends_without_a_begin_are_said(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	r.chunk_rows = 2;
	uint32_t z = recording_site(&r, SONDE_SITE_ZONE, "z", NULL);
	for (uint64_t i = 1; i <= 3; i++)
		recording_end(&r, 1, START + i * MS);
	recording_begin(&r, 1, z, START + 4 * MS);
	recording_end(&r, 1, START + 5 * MS);
	recording_close(&r, START + 10 * MS, 0);
	struct sections s = sections_of(path, "zones", NULL);
	assert_int_equal(sections_int(sections_get(&s, "zones"), "zone", "z", "calls"), 1);
	assert_true(sections_noted(s.report->notes, "3 zone ends without a start are left out"));
	assert_true(sections_noted(s.report->notes, " · 1 zone, 0 lost"));
	sections_free(&s);
}

static void histograms_merge_over_processes(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	recording_process(&r, 200, 1, "child", START);
	uint32_t h = recording_site(&r, SONDE_SITE_HISTOGRAM, "size", "B");
	uint64_t values[1000];
	for (uint64_t i = 0; i < 1000; i++)
		values[i] = i + 1;
	recording_histogram(&r, h, 1, values, 400);
	recording_histogram(&r, h, 2, values + 400, 600);
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "histograms", NULL);
	const struct sonde_section *t = sections_get(&s, "histograms");
	assert_int_equal(t->table.row_count, 1);
	assert_int_equal(sections_int(t, "histogram", "size", "count"), 1000);
	assert_near(sections_real(t, "histogram", "size", "mean"), 500.5, 1e-9);
	assert_int_equal(sections_int(t, "histogram", "size", "min"), 1);
	assert_int_equal(sections_int(t, "histogram", "size", "max"), 1000);
	assert_near((double)sections_int(t, "histogram", "size", "p50"), 500, 500 * 0.004);
	assert_near((double)sections_int(t, "histogram", "size", "p99"), 990, 990 * 0.004);
	sections_free(&s);
}

static void iterations_rates(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	uint32_t i = recording_site(&r, SONDE_SITE_ITERATION, "step", NULL);
	/* thread 1: marks at 0, 10, 30 ms: intervals 10 and 20; thread 2: at 0 and 30 ms */
	recording_value(&r, 1, SONDE_EVENT_ITERATION, i, START, 100);
	recording_value(&r, 1, SONDE_EVENT_ITERATION, i, START + 10 * MS, 32);
	recording_value(&r, 1, SONDE_EVENT_ITERATION, i, START + 30 * MS, 64);
	recording_value(&r, 2, SONDE_EVENT_ITERATION, i, START, 0);
	recording_value(&r, 2, SONDE_EVENT_ITERATION, i, START + 30 * MS, 30);
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "iterations", NULL);
	const struct sonde_section *t = sections_get(&s, "iterations");
	assert_int_equal(sections_int(t, "iteration", "step", "marks"), 5);
	assert_near(sections_real(t, "iteration", "step", "mean_ns"), 20 * MS, 1e-6);
	assert_near(sections_real(t, "iteration", "step", "std_ns"), 10 * MS, 1e-3);
	assert_near(sections_real(t, "iteration", "step", "iterations_per_sec"), 2 / 0.03 + 1 / 0.03, 1e-6);
	assert_near(sections_real(t, "iteration", "step", "samples_per_sec"), 96 / 0.03 + 30 / 0.03, 1e-6);
	assert_near(sections_real(t, "iteration", "step", "items"), 226, 0);
	sections_free(&s);
}

/* 20 iterations of 30 ms, then 80 of 10 ms; and one series of each kind that is not stationary, or too short to
 * tell. */
static void iterations_are_steady_or_not(void **state)
{
	static const char *const names[] = {"warms", "drifts", "jumps", "short"};
	(void)state;
	struct recording r;
	two_threads_open(&r);
	for (uint32_t kind = 0; kind < 4; kind++) {
		uint32_t site = recording_site(&r, SONDE_SITE_ITERATION, names[kind], NULL);
		uint64_t at_ns = START;
		for (uint64_t i = 0; i <= (kind == 3 ? 19 : 100); i++) {
			uint64_t jitter_ns = i * 7919 % 13 * 20000; /* 0 to 0.24 ms */
			uint64_t ms = kind == 0 ? (i <= 20 ? 30 : 10) : kind == 2 && i > 70 ? 14 : 10;
			recording_value(&r, 1, SONDE_EVENT_ITERATION, site, at_ns += ms * MS + jitter_ns, 1);
			at_ns += kind == 1 ? i * MS / 20 : 0;
		}
	}
	recording_close(&r, START + 5000 * MS, 0);
	struct sections s = sections_of(path, "iterations", NULL);
	const struct sonde_section *t = sections_get(&s, "iterations");
	assert_string_equal(sections_cell(t, sections_row(t, "iteration", "warms"), "steady")->text, "yes");
	assert_in_range(sections_int(t, "iteration", "warms", "warm_up"), 18, 22);
	assert_near(sections_real(t, "iteration", "warms", "steady_mean_ns"), 10.12 * MS, 0.05 * MS);
	const struct sonde_cell *mean = sections_cell(t, sections_row(t, "iteration", "warms"), "steady_mean_ns");
	assert_true(mean->plus_minus > 0 && mean->plus_minus < 0.1 * MS);
	assert_string_equal(sections_cell(t, sections_row(t, "iteration", "drifts"), "steady")->text, "drifts");
	assert_near(sections_real(t, "iteration", "drifts", "drift_share"), 5 / 12.6, 0.02);
	assert_int_equal(sections_cell(t, sections_row(t, "iteration", "drifts"), "steady_mean_ns")->kind,
			 SONDE_CELL_ABSENT);
	assert_string_equal(sections_cell(t, sections_row(t, "iteration", "jumps"), "steady")->text, "jumps");
	assert_int_equal(sections_cell(t, sections_row(t, "iteration", "short"), "steady")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(t->notes, "warms is steady after a warm-up of 20 iterations"));
	assert_true(sections_noted(t->notes, "drifts is not steady: iterations become"));
	assert_true(sections_noted(t->notes, "jumps is not steady: at iteration 71 its time changes by +39."));
	assert_near(sections_real(t, "iteration", "short", "samples_per_sec"), 1 / 0.01012, 1); /* throughput */
	sections_free(&s);
}

static void messages_in_time_order(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	uint32_t gc = recording_site(&r, SONDE_SITE_INSTANT, "gc", NULL);
	for (uint64_t i = 0; i < 300; i++)
		recording_text(&r, 1, SONDE_EVENT_MESSAGE, 0, START + (i + 1) * MS, "later");
	recording_text(&r, 2, SONDE_EVENT_INSTANT, gc, START + 500, "");
	recording_text(&r, 2, SONDE_EVENT_MISMATCH, gc, START + 700, "open: f");
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "messages", &(struct sonde_pass_options){.limit = 5});
	const struct sonde_section *t = sections_get(&s, "messages");
	assert_int_equal(t->table.row_count, 5);
	assert_int_equal(t->table.omitted, 297);
	assert_string_equal(sections_cell(t, t->table.cells, "kind")->text, "instant");
	assert_string_equal(sections_cell(t, t->table.cells, "name")->text, "gc");
	assert_int_equal(sections_int(t, "text", "open: f", "time_ns"), 700);
	assert_int_equal(sections_int(t, "text", "later", "time_ns"), MS);
	assert_true(sections_noted(t->notes, "1 zone was ended while another"));
	sections_free(&s);
}

/* Values that no program has: nothing overflows, reads elsewhere or loops (sanitizers watch). */
static void absurd_values_do_no_harm(void **state)
{
	(void)state;
	struct recording r;
	two_threads_open(&r);
	r.chunk_rows = 4;
	uint32_t zone = recording_site(&r, SONDE_SITE_ZONE, "z", NULL);
	uint32_t gauge = recording_site(&r, SONDE_SITE_GAUGE, "g", NULL);
	for (uint32_t i = 0; i < 8; i++) {
		recording_sample(&r, (struct recording_sample){START, 7 * i, 5 * i, UINT64_MAX - i, (uint8_t)(31 * i)});
		recording_switch(&r, START, 9 * i, (enum sonde_switch_kind)(i * 40));
		recording_end(&r, 1, START + i);
		recording_span(&r, 1, SONDE_EVENT_SPAN_END, 1000, START, UINT64_MAX);
		recording_value(&r, 1, SONDE_EVENT_GAUGE, gauge, START, i % 2 ? NAN : INFINITY);
		recording_value(&r, 1, SONDE_EVENT_COUNTER, 4000000000u, START, -1e308);
		recording_value(&r, 2, SONDE_EVENT_ITERATION, 0, START, -1e308);
		recording_work(&r, 2, START, INFINITY, NAN, -1);
	}
	recording_begin(&r, 2, zone, START);
	recording_begin(&r, 2, zone + 1000, START + UINT64_MAX / 2);
	recording_close(&r, 1, -1);
	struct sonde_pass_options options = {.requested = 1, .sort = SONDE_SORT_LATENCY};
	struct sections s = sections_of(path,
					"summary functions callers lines calltree threads processes modules zones "
					"spans counters histograms iterations messages",
					&options);
	assert_non_null(sections_find(&s, "summary"));
	assert_true(sections_noted(sections_get(&s, "spans")->notes, "8 ends without a start"));
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(zone_statistics),
	    cmocka_unit_test(zone_recursion),
	    cmocka_unit_test(zones_never_closed),
	    cmocka_unit_test(work_goes_to_the_innermost_zone),
	    cmocka_unit_test(spans_pair_by_id),
	    cmocka_unit_test(counters_and_gauges),
	    cmocka_unit_test(counters_of_a_selection),
	    cmocka_unit_test(figures_of_a_flight_recorder),
	    cmocka_unit_test(zone_ends_without_a_begin_are_said),
	    cmocka_unit_test(histograms_merge_over_processes),
	    cmocka_unit_test(iterations_rates),
	    cmocka_unit_test(iterations_are_steady_or_not),
	    cmocka_unit_test(messages_in_time_order),
	    cmocka_unit_test(absurd_values_do_no_harm),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
