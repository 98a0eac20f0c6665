/* test_array.c: arrays grow, keep their elements, and are unchanged if memory runs out. */
#include "util/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void keeps_elements(void **state)
{
	(void)state;
	uint32_t *rows = NULL;
	size_t capacity = 0, moves = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		const size_t before = capacity;
		assert_int_equal(SONDE_ARRAY_RESERVE(rows, capacity, i + 1), 0);
		assert_true(capacity > i);
		moves += capacity != before;
		rows[i] = i * 7;
	}
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(rows[i], i * 7);
	assert_true(moves < 20);
	free(rows);
}

static void reserves_many_at_once(void **state)
{
	(void)state;
	struct row {
		char text[48];
	} *rows = NULL;
	size_t capacity = 0;
	assert_int_equal(SONDE_ARRAY_RESERVE(rows, capacity, 1000), 0);
	assert_true(capacity >= 1000);
	struct row *const before = rows;
	const size_t enough = capacity;
	assert_int_equal(SONDE_ARRAY_RESERVE(rows, capacity, 10), 0);
	assert_ptr_equal(rows, before);
	assert_int_equal(capacity, enough);
	free(rows);
}

static void stays_without_memory(void **state)
{
	(void)state;
	uint64_t *rows = NULL;
	size_t capacity = 0;
	assert_int_equal(SONDE_ARRAY_RESERVE(rows, capacity, 3), 0);
	rows[2] = 42;
	const size_t before = capacity;
	/* Sizes that overflow; a size that there merely is no memory for would end the test under sanitizers. */
	assert_int_equal(SONDE_ARRAY_RESERVE(rows, capacity, SIZE_MAX), -ENOMEM);
	assert_int_equal(SONDE_ARRAY_RESERVE(rows, capacity, SIZE_MAX / 4), -ENOMEM);
	assert_int_equal(capacity, before);
	assert_int_equal(rows[2], 42);
	free(rows);
}

static void fills_with_zeros(void **state)
{
	(void)state;
	uint16_t *of_number = NULL;
	size_t capacity = 0;
	for (uint32_t number = 3; number < 3000; number += 40) {
		assert_int_equal(SONDE_ARRAY_RESERVE_ZEROS(of_number, capacity, number + 1), 0);
		of_number[number] = (uint16_t)number;
	}
	for (size_t i = 0; i < capacity; i++)
		assert_int_equal(of_number[i], i % 40 == 3 && i < 3000 ? i : 0);
	assert_int_equal(SONDE_ARRAY_RESERVE_ZEROS(of_number, capacity, SIZE_MAX), -ENOMEM);
	free(of_number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keeps_elements),
	    cmocka_unit_test(reserves_many_at_once),
	    cmocka_unit_test(stays_without_memory),
	    cmocka_unit_test(fills_with_zeros),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
