/* test_finding_rules.c: the table of rules, and thresholds by name, from the configuration file and on the command
 * line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/findings/findings.h"
#include "util/error.h"

static void thresholds_are_checked(void **state)
{
	static const char *const wrong[][2] = {
	    {"hot-function.share", "is not NAME=VALUE"},   {"hot=1", "unknown threshold 'hot'"},
	    {"hot-function.share=", "is not a number"},    {"hot-function.share=-1", "is not a number"},
	    {"hot-function.share=nan", "is not a number"}, {"hot-function.share=1x", "is not a number"},
	};
	double values[SONDE_THRESHOLDS];
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(sonde_threshold_set(values, wrong[i][0]), -22);
		assert_non_null(strstr(sonde_error_text(), wrong[i][1]));
	}
}

static void write_config(const char *text)
{
	FILE *file;
	mkdir("config", 0700);
	mkdir("config/sonde", 0700);
	file = fopen("config/sonde/findings.conf", "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void the_file_is_read(void **state)
{
	const struct sonde_pass_options none = {0};
	const char *typed = "lock-contention.share=0.25";
	const struct sonde_pass_options options = {.thresholds = &typed, .threshold_count = 1};
	double values[SONDE_THRESHOLDS];
	char path[4096];
	(void)state;
	assert_non_null(getcwd(path, sizeof path - 8));
	strcat(path, "/config");
	setenv("XDG_CONFIG_HOME", path, 1);
	assert_int_equal(sonde_thresholds_read(values, &none), 0); /* no file */
	assert_float_equal(values[SONDE_THRESHOLD_LOCK], sonde_thresholds[SONDE_THRESHOLD_LOCK].value, 0);
	write_config("# ours\n\nhot-function.share = 30 %  # more\nlock-contention.share=0.5\n");
	assert_int_equal(sonde_thresholds_read(values, &none), 0);
	assert_float_equal(values[SONDE_THRESHOLD_HOT], 0.3, 1e-12);
	assert_float_equal(values[SONDE_THRESHOLD_LOCK], 0.5, 0);
	assert_int_equal(sonde_thresholds_read(values, &options), 0); /* what is typed comes last */
	assert_float_equal(values[SONDE_THRESHOLD_LOCK], 0.25, 0);
	write_config("hot-function.share = 30 %\nlock = 1\n");
	assert_int_equal(sonde_thresholds_read(values, &none), -22);
	assert_non_null(strstr(sonde_error_text(), "findings.conf, line 2: unknown threshold 'lock'"));
	unlink("config/sonde/findings.conf");
	unsetenv("XDG_CONFIG_HOME");
}

/* Each rule has everything that is shown of a rule; each threshold belongs to a rule, except for the noise threshold,
 * which applies to all. */
static void the_table_is_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sonde_rule_count; i++) {
		const struct sonde_rule *rule = &sonde_rules[i];
		assert_true(*rule->id && *rule->title && *rule->limiter && rule->record && rule->steps[0] &&
			    rule->evaluate);
		assert_true(rule->confidence > 0 && rule->confidence <= 1);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(rule->id, sonde_rules[k].id);
	}
	for (size_t i = 0; i < SONDE_THRESHOLDS; i++) {
		size_t owners = 0, length = strcspn(sonde_thresholds[i].name, ".");
		for (size_t k = 0; k < sonde_rule_count; k++)
			owners += strlen(sonde_rules[k].id) == length &&
				  !strncmp(sonde_rules[k].id, sonde_thresholds[i].name, length);
		int is_of_all = !strcmp(sonde_thresholds[i].name, "noise.share");
		assert_int_equal(owners, is_of_all ? 0 : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(thresholds_are_checked),
	    cmocka_unit_test(the_file_is_read),
	    cmocka_unit_test(the_table_is_whole),
	};
	setenv("HOME", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
