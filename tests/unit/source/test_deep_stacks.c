/* test_deep_stacks.c: the recorder drains faster while many stacks are truncated, but not for a few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "source/stack/deep_stacks.h"

/* `count` samples, of which every `each`th is cut; 0 = none. */
static void note(struct sonde_deep_stacks *stacks, uint32_t count, uint32_t each)
{
	for (uint32_t i = 1; i <= count; i++)
		sonde_deep_stacks_note(stacks, each && i % each == 0 ? SONDE_STACK_TRUNCATED : SONDE_STACK_COMPLETE);
}

static void one_in_eight_is_many(void **state)
{
	(void)state;
	struct sonde_deep_stacks stacks = {0};
	note(&stacks, 64, 8);
	assert_false(stacks.is_hurried); /* eight may be chance */
	note(&stacks, 256, 8);
	assert_true(stacks.is_hurried);
	note(&stacks, 10000, 8);
	assert_true(stacks.is_hurried);
	note(&stacks, 10000, 0);
	assert_false(stacks.is_hurried);
}

static void one_in_twelve_is_few(void **state)
{
	(void)state;
	struct sonde_deep_stacks stacks = {0};
	note(&stacks, 100000, 12);
	assert_false(stacks.is_hurried);
}

static void it_stays_until_few_are_cut(void **state)
{
	(void)state;
	struct sonde_deep_stacks stacks = {0};
	note(&stacks, 2000, 8);
	assert_true(stacks.is_hurried);
	note(&stacks, 5000, 20); /* fewer, since it hurries */
	assert_true(stacks.is_hurried);
}

static void other_ends_do_not_count(void **state)
{
	(void)state;
	struct sonde_deep_stacks stacks = {0};
	for (int i = 0; i < 1000; i++)
		sonde_deep_stacks_note(&stacks, SONDE_STACK_NO_TABLE);
	assert_false(stacks.is_hurried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_in_eight_is_many),
	    cmocka_unit_test(one_in_twelve_is_few),
	    cmocka_unit_test(it_stays_until_few_are_cut),
	    cmocka_unit_test(other_ends_do_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
