/* test_source_options.c: options of sources are in their own rows, and every command that records has all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cli/common/command.h"
#include "source/record/recorder.h"
#include "source/source.h"

static int has(const char *command, const struct sonde_option *wanted)
{
	struct sonde_option_walk walk = {.at = sonde_command_find(command)->options};
	int found = 0;
	for (const struct sonde_option *option; (option = sonde_option_next(&walk));)
		found += option == wanted;
	return found;
}

static void commands_that_record_have_all_of_them(void **unused)
{
	(void)unused;
	size_t count = 0;
	for (size_t i = 0; i < sonde_source_count; i++) {
		struct sonde_option_walk walk = {.at = sonde_sources[i]->options};
		for (const struct sonde_option *option; (option = sonde_option_next(&walk)); count++) {
			assert_int_equal(has("record", option), 1);
			assert_int_equal(has("live", option), 1);
			assert_int_equal(has("report", option), 0);
		}
	}
	assert_true(count >= 9);
}

static void rows_of_a_table_inside_stand_in_its_place(void **unused)
{
	(void)unused;
	static const struct sonde_option inner[] = {
	    {"b", 0, NULL, "", SONDE_FOUND}, {"c", 0, NULL, "", SONDE_FOUND}, {0}};
	static const struct sonde_option *const rows = inner, *const none = NULL;
	const struct sonde_option outer[] = {{"a", 0, NULL, "", SONDE_FOUND},
					     SONDE_TABLE(&rows),
					     SONDE_TABLE(&none),
					     {"d", 0, NULL, "", SONDE_FOUND},
					     {0}};
	struct sonde_option_walk walk = {.at = outer}, empty = {.at = NULL};
	char names[8] = "";
	for (const struct sonde_option *option; (option = sonde_option_next(&walk));)
		strcat(names, option->name);
	assert_string_equal(names, "abcd");
	assert_null(sonde_option_next(&empty));
}

/* A value is stored where its row says: in a member of the recording's options. */
static void values_reach_the_options_of_a_recording(void **unused)
{
	(void)unused;
	struct sonde_record_options options = {0};
	struct sonde_parse parse = {.command = sonde_command_find("record"), .context = &options, .stop_at_word = 1};
	char *words[] = {"record", "--heap=light", "--threads", "--gpu=full", "--interval", "20ms", "--blas", "x"};
	assert_int_equal(sonde_command_parse(&parse, 8, words), 0);
	assert_int_equal(parse.remainder, 7);
	assert_true(options.heap && options.heap_is_light && options.blas && options.waits);
	assert_int_equal(options.heap_mean_b, 512 << 10);
	assert_int_equal(options.gpu, SONDE_GPU_FULL);
	assert_int_equal(options.resources_every_ns, 20000000);
	words[4] = "--interval=1ms";
	assert_int_not_equal(sonde_command_parse(&parse, 8, words), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(commands_that_record_have_all_of_them),
	    cmocka_unit_test(rows_of_a_table_inside_stand_in_its_place),
	    cmocka_unit_test(values_reach_the_options_of_a_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
