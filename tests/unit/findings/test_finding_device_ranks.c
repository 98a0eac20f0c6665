/* test_finding_device_ranks.c: rules about communication kernels: each on a recording whose answer is computed by
 * hand, and on one just short of its conditions, where it finds nothing. */
#include "finding_fixture.h"

#include "sonde/device.h"

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
#define RANKS 4

/* --- nothing else runs ------------------------------------------------------------------------------------------- */

/* Ten steps of 100 ms: a kernel from 0 on, and one that communicates. */
struct step {
	const char *name;
	double kernel_ms, from_ms, to_ms;
};

static void steps_put(struct recording *r, const struct step *step)
{
	simple_open(r);
	uint32_t id = device(r, "gpu", 0);
	uint32_t one = recording_queue(r, id, "one", 1), two = recording_queue(r, id, "two", 2);
	uint32_t work = kernel(r, "work"), talks = kernel(r, step->name);
	for (int i = 0; i < 10; i++) {
		if (step->kernel_ms > 0)
			put(r, work, one, -1, i * 100, step->kernel_ms);
		put(r, talks, two, -1, i * 100 + step->from_ms, step->to_ms - step->from_ms);
	}
}

static void communication_while_nothing_else_runs(void **state)
{
	static const struct {
		struct step step;
		double saves_ms;
	} cases[] = {
	    {{ALL_REDUCE, 60, 60, 80}, 200},
	    {{ALL_REDUCE, 60, 40, 80}, 200},                          /* the half of it is beneath */
	    {{ALL_REDUCE, 60, 0, 60}, -1},                            /* all of it is */
	    {{ALL_REDUCE, 60, 60, 69}, -1},                           /* a tenth of the run it is not */
	    {{ALL_REDUCE, 10, 10, 95}, 100},                          /* that is all that could be above it */
	    {{ALL_REDUCE, 0, 0, 95}, -1},                             /* nothing could */
	    {{"void ncclKernel<1, 2>(ncclWork)", 60, 60, 80}, 200},   /* older ones, */
	    {{"ncclAllReduceRingLLKernel_sum_f32", 60, 60, 80}, 200}, /* and the oldest */
	    {{"_Z20ncclDevKernel_Genericv", 60, 60, 80}, 200},
	    {{"synccl", 60, 60, 80}, -1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		steps_put(&r, &cases[i].step);
		expect(&r, "exposed-communication", cases[i].saves_ms);
	}
}

/* It is unknown what else a graph runs at that time. */
static void a_graph_may_have_other_kernels(void **state)
{
	struct recording r;
	(void)state;
	steps_put(&r, &(struct step){ALL_REDUCE, 60, 60, 80});
	uint32_t graph = recording_operation(&r, SONDE_ACTIVITY_GRAPH, "graph", (struct sonde_meta_operation){0});
	for (int i = 0; i < 10; i++)
		put(&r, graph, 1, -1, i * 100 + 60, 12);
	expect(&r, "exposed-communication", -1);
}

/* Of 200 to 800 ms: 6 of the 10. */
static void exposed_in_a_window(void **state)
{
	struct sonde_pass_options options = {.selection.from_ns = START + 200 * MS,
					     .selection.to_ns = START + 800 * MS};
	struct recording r;
	struct evaluated evaluated;
	(void)state;
	steps_put(&r, &(struct step){ALL_REDUCE, 60, 60, 80});
	evaluate_in(&evaluated, &r, &options);
	const struct sonde_finding *finding = finding_of(&evaluated, "exposed-communication");
	assert_near(evaluated.found.span_ns / 1e6, 600, 0.01); /* shares are of that part */
	assert_non_null(finding);
	assert_near(finding->saves_ns / 1e6, 120, 0.01);
	assert_non_null(strstr(finding->evidence, "6 communication kernels (by name) took 0.120 s, 0.120 s of it"));
	forget(&evaluated);
}

/* --- who comes last ---------------------------------------------------------------------------------------------- */

struct meeting_case {
	const char *name;
	int count;       /* of them, one each 40 ms */
	double late_ms;  /* that one rank is behind the others */
	double end_ms;   /* all end then */
	int others_last; /* one in this many is different */
	int is_by_turns; /* the last one */
	int more;        /* that the first rank has */
	int ranks;
	int is_one_process;
	const char *aligned;
	int is_merged;   /* of two recordings on one clock, two ranks each */
	double first_ms; /* so late comes the first one; 0 = as the others */
};

static const char *const merged[][2] = {
    {"merged.count", "2"},
    {"merged.1.name", "a.sonde"},
    {"merged.1.first_process", "1"},
    {"merged.1.last_process", "2"},
    {"merged.2.name", "b.sonde"},
    {"merged.2.first_process", "3"},
    {"merged.2.last_process", "4"},
    {"merged.1.start_ns", "1000000000"},
    {"merged.2.start_ns", "1000000000"},
    {"merged.1.end_ns", "2000000000"},
    {"merged.2.end_ns", "2000000000"},
};

/* Rank 2 (of 0 …) is late. */
static void meetings_put(struct recording *r, const struct meeting_case *c)
{
	uint32_t queue[RANKS], talks;
	recording_open(r, path);
	for (size_t i = 0; c->is_merged && i < sizeof merged / sizeof *merged; i++)
		recording_info(r, merged[i][0], merged[i][1]);
	if (c->aligned)
		recording_info(r, "merged.aligned", c->aligned);
	for (uint32_t i = 0; i < RANKS; i++) {
		recording_process(r, 100 + i, 0, "train", START);
		recording_thread(r, i + 1, 100 + i, "train", START);
	}
	for (uint32_t i = 0; i < (uint32_t)c->ranks; i++) {
		uint32_t process = c->is_one_process ? 1 : i + 1;
		uint32_t id = recording_device(r, process, "CUDA", "gpu", (struct sonde_meta_device){.index = i});
		queue[i] = recording_queue_of(r, process, id, "nccl", i + 1);
	}
	talks = kernel(r, c->name);
	for (int k = 0; k < c->count; k++) {
		int last = c->is_by_turns ? k % c->ranks : k < c->others_last ? 1 : 2 % c->ranks;
		double late_ms = !k && c->first_ms > 0 ? c->first_ms : c->late_ms;
		for (int i = 0; i < c->ranks; i++) {
			double from_ms = k * 40 + (i == last ? late_ms : 0);
			double end_ms = i == last ? fmax(c->end_ms, late_ms + 1) : c->end_ms;
			put(r, talks, queue[i], -1, from_ms, k * 40 + end_ms - from_ms);
		}
	}
	for (int k = 0; k < c->more; k++)
		put(r, talks, queue[0], -1, 990, 1);
}

/* 8 ms after three others is 6 after the mean of all four: 15 % of 40 ms. */
static void a_rank_that_all_wait_for(void **state)
{
	static const struct {
		struct meeting_case c;
		double saves_ms;
	} cases[] = {
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4}, 120},
	    {{.name = ALL_REDUCE, .count = 19, .late_ms = 8, .end_ms = 30, .ranks = 4}, -1},
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 2, .end_ms = 30, .ranks = 4}, -1}, /* 3.75 % */
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 2}, 80},
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 1}, -1},
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4, .others_last = 2}, 108},
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4, .others_last = 3}, -1},
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4, .is_by_turns = 1}, -1},
	    /* the others have finished before it starts: they did not wait for it */
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 7, .ranks = 4}, -1},
	    /* it is unknown which of them belong together */
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4, .more = 1}, -1},
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4, .is_one_process = 1}, 120},
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4, .aligned = "wall clock"}, -1},
	    /* when all start, one rank is 15 ms after the mean, which it is not usually */
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4, .first_ms = 20}, 120},
	    {{.name = ALL_REDUCE, .count = 20, .late_ms = 0, .end_ms = 30, .ranks = 4, .first_ms = 29}, -1},
	    {{.name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
	      .count = 20,
	      .late_ms = 8,
	      .end_ms = 30,
	      .ranks = 4},
	     -1},
	    {{.name = "work", .count = 20, .late_ms = 8, .end_ms = 30, .ranks = 4}, -1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		meetings_put(&r, &cases[i].c);
		expect(&r, "late-rank", cases[i].saves_ms);
	}
}

/* Of a merged recording with the name of its part. */
static void the_rank_is_named(void **state)
{
	(void)state;
	for (int is_merged = 0; is_merged < 2; is_merged++) {
		struct recording r;
		struct evaluated evaluated;
		meetings_put(&r, &(struct meeting_case){.name = ALL_REDUCE,
							.count = 20,
							.late_ms = 8,
							.end_ms = 30,
							.ranks = 4,
							.is_merged = is_merged});
		evaluate(&evaluated, &r);
		const struct sonde_finding *finding = finding_of(&evaluated, "late-rank");
		assert_non_null(finding);
		assert_string_equal(finding->subject,
				    is_merged ? "train (102) of b.sonde on CUDA gpu 2" : "train (102) on CUDA gpu 2");
		assert_non_null(strstr(finding->evidence, "last of 4 ranks to start 20 of 20 communication kernels"));
		assert_non_null(
		    strstr(finding->evidence,
			   "by a median of 6.000 ms after the mean rank; such kernels are 40.000 ms apart"));
		forget(&evaluated);
	}
}

/* The k-th is counted from the beginning of the recording: 21 of 25 lie in the window, that one which it begins in does
 * not. */
static void ranks_in_a_window(void **state)
{
	struct sonde_pass_options options = {.selection.from_ns = START + 125 * MS,
					     .selection.to_ns = START + 1000 * MS};
	struct recording r;
	struct evaluated evaluated;
	(void)state;
	meetings_put(&r,
		     &(struct meeting_case){.name = ALL_REDUCE, .count = 25, .late_ms = 8, .end_ms = 30, .ranks = 4});
	evaluate_in(&evaluated, &r, &options);
	const struct sonde_finding *finding = finding_of(&evaluated, "late-rank");
	assert_non_null(finding);
	assert_near(finding->saves_ns / 1e6, 126, 0.01);
	forget(&evaluated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(communication_while_nothing_else_runs),
	    cmocka_unit_test(a_graph_may_have_other_kernels),
	    cmocka_unit_test(exposed_in_a_window),
	    cmocka_unit_test(a_rank_that_all_wait_for),
	    cmocka_unit_test(the_rank_is_named),
	    cmocka_unit_test(ranks_in_a_window),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
