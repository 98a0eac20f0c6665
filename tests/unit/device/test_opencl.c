/* test_opencl.c: a device's clock, derived from calls that queue commands, and tables of handles
 * (src/inject/opencl/opencl.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/opencl/opencl.h"

#define OFFSET UINT64_C(240000000) /* host − device */

/* A call of `call_ns` at `at_ns` that queued after half of it; done at once, and seen `late_ns` after. */
static void see(struct opencl_clock *clock, uint64_t at_ns, uint64_t call_ns, uint64_t late_ns)
{
	uint64_t queued_ns = at_ns + call_ns / 3 - OFFSET;
	opencl_clock_seen(clock, &(struct opencl_seen){.from_ns = at_ns,
						       .to_ns = at_ns + call_ns,
						       .done_ns = at_ns + call_ns + late_ns,
						       .queued_ns = queued_ns,
						       .end_ns = at_ns + call_ns - OFFSET});
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

static void bounds_hold_and_narrow(void **state)
{
	struct opencl_clock clock = {0};
	uint64_t at_ns = UINT64_C(1000000000000);
	(void)state;
	see(&clock, at_ns, 60000000, 60000000); /* it compiled */
	uint64_t first_ns = opencl_clock_error(&clock, at_ns);
	assert_true(apart(opencl_clock_time(&clock, at_ns), at_ns + OFFSET) <= first_ns);
	see(&clock, at_ns + 70000000, 3000, 500000);
	uint64_t second_ns = opencl_clock_error(&clock, at_ns + 70000000);
	assert_true(second_ns < 3000);
	assert_true(second_ns < first_ns);
	assert_true(apart(opencl_clock_time(&clock, at_ns), at_ns + OFFSET) <= second_ns);
	/* A longer and later call does not make it worse, except by drift: 500 ppm of 10 ms. */
	see(&clock, at_ns + 80000000, 900000, 0);
	assert_true(opencl_clock_error(&clock, at_ns + 80000000) < second_ns + 6000);
	assert_true(opencl_clock_error(&clock, at_ns) > opencl_clock_error(&clock, at_ns + 80000000));
}

/* A call that blocks until the work is done gives as good a bound as a short one. */
static void the_end_is_a_bound_too(void **state)
{
	struct opencl_clock clock = {0};
	(void)state;
	opencl_clock_seen(&clock, &(struct opencl_seen){.from_ns = 5000000000,
							.to_ns = 5010000000,
							.done_ns = 5010000200,
							.queued_ns = 5000000100 - OFFSET,
							.end_ns = 5009999000 - OFFSET});
	assert_in_range(opencl_clock_error(&clock, 5010000000), 1, 7000); /* 10 ms of drift are 5 µs */
	assert_true(apart(opencl_clock_time(&clock, 5005000000 - OFFSET), 5005000000) <= 7000);
}

static void a_clock_that_was_set_is_followed(void **state)
{
	struct opencl_clock clock = {0};
	(void)state;
	see(&clock, 1000000000, 2000, 0);
	opencl_clock_seen(&clock, &(struct opencl_seen){.from_ns = 2000000000,
							.to_ns = 2000002000,
							.done_ns = 2000009000,
							.queued_ns = 7000001000,
							.end_ns = 7000002000});
	assert_true(apart(opencl_clock_time(&clock, 7000001000), 2000001000) <= 2000);
	assert_int_equal(opencl_clock_time(&clock, 0), 0); /* not known stays so */
}

static void tables_find_what_was_put(void **state)
{
	enum { SIZE = 64, KEYS = 48 };
	struct opencl_slot slots[SIZE] = {{0}};
	struct opencl_map map = {slots, SIZE, 0};
	char handles[4 * KEYS];
	(void)state;
	/* Many times over, each twice removed, and half of them there at any time. */
	for (int i = 0; i < 4 * KEYS; i++) {
		struct opencl_slot *slot = opencl_map_put(&map, &handles[i]);
		assert_non_null(slot);
		slot->values[0] = (uint64_t)i;
		if (i >= KEYS / 2) {
			opencl_map_remove(&map, &handles[i - KEYS / 2]);
			opencl_map_remove(&map, &handles[i - KEYS / 2]);
		}
		for (int there = 0; there <= i; there++) {
			const struct opencl_slot *found = opencl_map_find(&map, &handles[there]);
			assert_int_equal(found != NULL, there > i - KEYS / 2);
			if (found)
				assert_int_equal(found->values[0], there);
		}
	}
	assert_int_equal(map.count, KEYS / 2);
	for (int i = 0; i < KEYS / 2; i++)
		assert_non_null(opencl_map_put(&map, &handles[i]));
	assert_null(opencl_map_put(&map, &handles[KEYS])); /* full */
	assert_null(opencl_map_find(&map, NULL));
	assert_null(opencl_map_put(&map, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bounds_hold_and_narrow),
	    cmocka_unit_test(the_end_is_a_bound_too),
	    cmocka_unit_test(a_clock_that_was_set_is_followed),
	    cmocka_unit_test(tables_find_what_was_put),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
