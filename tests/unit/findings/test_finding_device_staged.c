/* test_finding_device_staged.c: copies between devices through the host, on recordings whose answers are computed by
 * hand, and on similar ones without a finding. */
#include "finding_fixture.h"

#include "sonde/device.h"

#define SIZE_B 40000000

/* Repeated every 50 ms: a copies out for 10 ms, then b copies in for 6. */
struct staging {
	int count;
	uint64_t size_b, taken_b; /* 0 = SIZE_B */
	double in_ms;             /* after the beginning of the other; 0 = as that ends */
	int takes;                /* number of times that b copies in; 0 = each time */
	double kernel_ms;         /* so long a kernel runs, from the beginning of the first */
	int is_one_device, is_exchange, is_two_processes;
	uint32_t kind; /* of the first */
	double direct_ms;
	const char *api; /* of the first */
};

static void staged_put(struct recording *r, const struct staging *s)
{
	simple_open(r);
	recording_process(r, 101, 100, "other", START);
	uint32_t a = recording_device(r, 1, s->api ? s->api : "CUDA", "gpu",
				      (struct sonde_meta_device){.kind = s->kind, .index = 0});
	uint32_t b = recording_device(r, s->is_two_processes ? 2 : 1, "CUDA", "gpu",
				      (struct sonde_meta_device){.kind = SONDE_DEVICE_GPU, .index = 1});
	uint32_t one = recording_queue(r, a, "one", 1), two = recording_queue(r, a, "two", 2);
	uint32_t other = recording_queue_of(r, s->is_two_processes ? 2 : 1, b, "three", 3);
	uint32_t to = s->is_one_device ? two : other, work = kernel(r, "work");
	uint32_t out =
	    recording_operation(r, SONDE_ACTIVITY_COPY, "out",
				(struct sonde_meta_operation){.from = SONDE_MEMORY_DEVICE, .to = SONDE_MEMORY_PINNED});
	uint32_t in =
	    recording_operation(r, SONDE_ACTIVITY_COPY, "in",
				(struct sonde_meta_operation){.from = SONDE_MEMORY_PINNED, .to = SONDE_MEMORY_DEVICE});
	uint32_t direct = recording_operation(
	    r, SONDE_ACTIVITY_COPY, "direct",
	    (struct sonde_meta_operation){
		.from = SONDE_MEMORY_DEVICE, .to = SONDE_MEMORY_PEER, .from_device = a, .to_device = b});
	uint64_t size_b = s->size_b ? s->size_b : SIZE_B, taken_b = s->taken_b ? s->taken_b : size_b;
	if (s->direct_ms > 0)
		put_sized(r, direct, one, 990, s->direct_ms, SIZE_B);
	put_sized(r, in, to, 995, 1, 512); /* something else that devices do with the host */
	for (int k = 0; k < s->count; k++) {
		double at_ms = k * 50;
		put_sized(r, out, one, at_ms, 10, size_b);
		if (!s->takes || k < s->takes)
			put_sized(r, in, to, at_ms + (s->in_ms > 0 ? s->in_ms : 10), 6, taken_b);
		if (s->is_exchange) {
			put_sized(r, out, other, at_ms, 10, size_b);
			put_sized(r, in, one, at_ms + 10, 6, size_b);
		}
		if (s->kernel_ms > 0)
			put(r, work, two, -1, at_ms, s->kernel_ms);
	}
}

/* The shorter of both is saved: 6 of 16 ms, except for time under kernels. */
static void copies_by_way_of_the_host(void **state)
{
	static const struct {
		struct staging staging;
		double saves_ms;
	} cases[] = {
	    {{.count = 10}, 60},
	    {{.count = 9}, -1},
	    {{.count = 19}, 114},
	    {{.count = 10, .taken_b = SIZE_B - 1}, -1},
	    {{.count = 10, .size_b = 4096}, 60},
	    {{.count = 10, .size_b = 4095}, -1},     /* figures to go by */
	    {{.count = 10, .in_ms = 9.9}, -1},       /* while the first was under way: the last nine follow another */
	    {{.count = 10, .kernel_ms = 10}, 22.5},  /* 6 of 16 of 60 ms */
	    {{.count = 10, .kernel_ms = 16}, -1},    /* all of it beneath */
	    {{.count = 11, .takes = 10}, 60},        /* one went nowhere */
	    {{.count = 12, .takes = 10}, -1},        /* less than nine tenths go on */
	    {{.count = 10, .is_one_device = 1}, -1}, /* spilled, and read again */
	    {{.count = 10, .is_exchange = 1}, -1},   /* copies both ways, as ordinary work does */
	    {{.count = 10, .is_two_processes = 1}, -1}, /* nothing shows that they share memory */
	    {{.count = 10, .kind = SONDE_DEVICE_CPU}, -1},
	    {{.count = 10, .api = "OpenCL"}, -1},
	    {{.count = 10, .direct_ms = 4}, 120}, /* in this run 10 GB/s: 4 ms for each, not 16 */
	    {{.count = 10, .direct_ms = 8}, 80},
	    {{.count = 10, .direct_ms = 9.95}, 60.5},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		staged_put(&r, &cases[i].staging);
		expect(&r, "staged-copies", cases[i].saves_ms);
	}
}

/* First one takes what the host has, later the other gives what it made of something else. */
static void what_is_taken_first_was_not_given(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t one = recording_queue(&r, device(&r, "gpu", 0), "one", 1);
	uint32_t two = recording_queue(&r, device(&r, "gpu", 1), "two", 2);
	uint32_t in =
	    recording_operation(&r, SONDE_ACTIVITY_COPY, "in",
				(struct sonde_meta_operation){.from = SONDE_MEMORY_PINNED, .to = SONDE_MEMORY_DEVICE});
	uint32_t out =
	    recording_operation(&r, SONDE_ACTIVITY_COPY, "out",
				(struct sonde_meta_operation){.from = SONDE_MEMORY_DEVICE, .to = SONDE_MEMORY_PINNED});
	for (int k = 0; k < 20; k++) {
		put_sized(&r, in, two, k * 20, 10, SIZE_B);
		put_sized(&r, out, one, 500 + k * 20, 10, SIZE_B);
	}
	expect(&r, "staged-copies", -1);
}

/* Through three devices: the one in the middle takes and gives. Two ways, of 10 and 6 ms each. */
static void a_pipeline_of_three(void **state)
{
	struct recording r;
	struct evaluated evaluated;
	uint32_t queue[3];
	(void)state;
	simple_open(&r);
	for (uint32_t i = 0; i < 3; i++)
		queue[i] = recording_queue(&r, device(&r, "gpu", i), "one", i + 1);
	uint32_t in =
	    recording_operation(&r, SONDE_ACTIVITY_COPY, "in",
				(struct sonde_meta_operation){.from = SONDE_MEMORY_PINNED, .to = SONDE_MEMORY_DEVICE});
	uint32_t out =
	    recording_operation(&r, SONDE_ACTIVITY_COPY, "out",
				(struct sonde_meta_operation){.from = SONDE_MEMORY_DEVICE, .to = SONDE_MEMORY_PINNED});
	for (int k = 0; k < 20; k++)
		for (int i = 0; i < 2; i++) {
			put_sized(&r, out, queue[i], k * 50 + i * 20, 10, SIZE_B);
			put_sized(&r, in, queue[i + 1], k * 50 + i * 20 + 11, 6, SIZE_B);
		}
	evaluate(&evaluated, &r);
	size_t count = 0;
	for (size_t i = 0; i < evaluated.found.count; i++) {
		const struct sonde_finding *finding = &evaluated.found.rows[i];
		if (strcmp(finding->rule->id, "staged-copies") != 0)
			continue;
		count++;
		assert_near(finding->saves_ns / 1e6, 120, 0.01);
		assert_non_null(strstr(finding->evidence, "P2P copies go directly"));
		assert_non_null(strstr(finding->evidence, "(assumed)"));
	}
	assert_int_equal(count, 2);
	assert_non_null(strstr(finding_of(&evaluated, "staged-copies")->subject, "Own gpu 0 to Own gpu 1"));
	forget(&evaluated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies_by_way_of_the_host),
	    cmocka_unit_test(what_is_taken_first_was_not_given),
	    cmocka_unit_test(a_pipeline_of_three),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
