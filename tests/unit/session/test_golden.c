/* test_golden.c: committed recordings read as they did when they were committed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dump.h"
#include "session/session.h"

static char *slurp(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);
	assert_non_null(file);
	assert_non_null(text);
	assert_in_range(fread(text, 1, (1 << 20) - 1, file), 1, (1 << 20) - 2);
	fclose(file);
	return text;
}

static void expect_dump(const char *recording, const char *expected_path)
{
	struct sonde_session *session;
	char *text = NULL;
	size_t text_b;
	const struct sonde_session_options options = {.no_symbols = 1};
	assert_int_equal(sonde_session_open(&session, recording, &options), 0);
	FILE *out = open_memstream(&text, &text_b);
	dump(out, session);
	fclose(out);
	char *expected = slurp(expected_path);
	assert_string_equal(text, expected);
	free(expected);
	free(text);
	sonde_session_close(session);
}

static void small_recording(void **state)
{
	(void)state;
	expect_dump(GOLDEN "/small.sonde", GOLDEN "/small.txt");
}

static void the_same_without_compression(void **state)
{
	(void)state;
	expect_dump(GOLDEN "/raw.sonde", GOLDEN "/small.txt");
}

static void heaps(void **state)
{
	(void)state;
	expect_dump(GOLDEN "/heap.sonde", GOLDEN "/heap.txt");
}

static void series(void **state)
{
	(void)state;
	expect_dump(GOLDEN "/series.sonde", GOLDEN "/series.txt");
}

static void switches(void **state)
{
	(void)state;
	expect_dump(GOLDEN "/switches.sonde", GOLDEN "/switches.txt");
}

static void waits(void **state)
{
	(void)state;
	expect_dump(GOLDEN "/waits.sonde", GOLDEN "/waits.txt");
}

static void waits_seen_from_outside(void **state)
{
	(void)state;
	expect_dump(GOLDEN "/sampled.sonde", GOLDEN "/sampled.txt");
}

static void how_zones_lie_in_time(void **state)
{
	(void)state;
	expect_dump(GOLDEN "/nodes.sonde", GOLDEN "/nodes.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(small_recording),
	    cmocka_unit_test(the_same_without_compression),
	    cmocka_unit_test(heaps),
	    cmocka_unit_test(series),
	    cmocka_unit_test(switches),
	    cmocka_unit_test(waits),
	    cmocka_unit_test(waits_seen_from_outside),
	    cmocka_unit_test(how_zones_lie_in_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
