/* test_parse.c: options by rows: every way to write them, their order, and the messages about errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/common/command.h"

static const struct sonde_option options[] = {
    {"rate", 'F', "HZ", "how often", SONDE_FOUND},
    {"output", 'o', "FILE", "where to", SONDE_FOUND},
    {"quiet", 'q', NULL, "say nothing", SONDE_FOUND},
    {"gpu", 0, "[=LEVEL]", "the device too", SONDE_FOUND},
    {0},
};

static const struct sonde_command command = {.name = "probe", .title = "Probe", .usage = "", .options = options};

struct heard {
	char text[256];
	int refuse; /* answer to the option --output */
};

static int found(void *context, const struct sonde_option *option, const char *value)
{
	struct heard *heard = context;
	size_t used = strlen(heard->text);
	snprintf(heard->text + used, sizeof heard->text - used, "%s=%s ", option ? option->name : "word",
		 value ? value : "none");
	return option && heard->refuse && strcmp(option->name, "output") == 0 ? heard->refuse : 0;
}

/* Parses a NULL-ended list of words after the command's name. */
static int parse(struct heard *heard, struct sonde_parse *parse, char **words)
{
	int argc = 0;
	while (words[argc])
		argc++;
	heard->text[0] = '\0';
	parse->command = &command;
	parse->found = found;
	parse->context = heard;
	return sonde_command_parse(parse, argc, words);
}

#define WORDS(...) ((char *[]){"probe", __VA_ARGS__, NULL})

static void assert_heard(char **words, const char *expected, int remainder)
{
	struct heard heard = {0};
	struct sonde_parse state = {0};
	assert_int_equal(parse(&heard, &state, words), 0);
	assert_string_equal(heard.text, expected);
	assert_int_equal(state.remainder, remainder);
	assert_false(state.done);
}

/* Its sentence, from the standard error. */
static int complaint(char *out, size_t out_b, char **words)
{
	struct heard heard = {0};
	struct sonde_parse state = {0};
	FILE *file = tmpfile();
	assert_non_null(file);
	int kept = dup(STDERR_FILENO);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	int code = parse(&heard, &state, words);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(file);
	out[fread(out, 1, out_b - 1, file)] = '\0';
	fclose(file);
	return code;
}

static void every_spelling_is_heard(void **state)
{
	(void)state;
	assert_heard(WORDS("--rate", "99"), "rate=99 ", 3);
	assert_heard(WORDS("--rate=99"), "rate=99 ", 2);
	assert_heard(WORDS("--rate="), "rate= ", 2);
	assert_heard(WORDS("-F", "99"), "rate=99 ", 3);
	assert_heard(WORDS("-F99"), "rate=99 ", 2);
	assert_heard(WORDS("-qF99"), "quiet=none rate=99 ", 2);
	assert_heard(WORDS("-qqo", "x"), "quiet=none quiet=none output=x ", 3);
	assert_heard(WORDS("--gpu"), "gpu=none ", 2);
	assert_heard(WORDS("--gpu=all"), "gpu=all ", 2);
	assert_heard(WORDS("--gpu", "all"), "gpu=none word=all ", 3);
	assert_heard(WORDS("-o", "-q"), "output=-q ", 3);
}

static void options_come_before_words(void **state)
{
	(void)state;
	assert_heard(WORDS("a.sonde", "-q", "b.sonde", "-o", "x"), "quiet=none output=x word=a.sonde word=b.sonde ", 6);
	assert_heard(WORDS("-"), "word=- ", 2);
}

static void the_rest_is_left_alone(void **state)
{
	(void)state;
	assert_heard(WORDS("-q", "--", "./app", "-q", "--rate"), "quiet=none word=./app word=-q word=--rate ", 3);
	assert_heard(WORDS("a", "--"), "word=a ", 3);
	struct heard heard = {0};
	struct sonde_parse stop = {.stop_at_word = 1};
	assert_int_equal(parse(&heard, &stop, WORDS("-q", "./app", "-x", "--y")), 0);
	assert_string_equal(heard.text, "quiet=none ");
	assert_int_equal(stop.remainder, 2);
	heard = (struct heard){0};
	assert_int_equal(parse(&heard, &stop, WORDS("-q", "--", "-x", "a")), 0);
	assert_string_equal(heard.text, "quiet=none ");
	assert_int_equal(stop.remainder, 3);
}

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	char text[256];
	assert_int_equal(complaint(text, sizeof text, WORDS("--rat", "5")), SONDE_EXIT_USAGE);
	assert_non_null(strstr(text, "unknown option --rat; did you mean --rate?"));
	assert_int_equal(complaint(text, sizeof text, WORDS("--ouptut=x")), SONDE_EXIT_USAGE);
	assert_non_null(strstr(text, "unknown option --ouptut; did you mean --output?"));
	assert_int_equal(complaint(text, sizeof text, WORDS("--nothing-like-it")), SONDE_EXIT_USAGE);
	assert_null(strstr(text, "nearest"));
	assert_int_equal(complaint(text, sizeof text, WORDS("-qx")), SONDE_EXIT_USAGE);
	assert_non_null(strstr(text, "unknown option -qx"));
	assert_int_equal(complaint(text, sizeof text, WORDS("--rate")), SONDE_EXIT_USAGE);
	assert_non_null(strstr(text, "--rate needs a value: --rate HZ"));
	assert_int_equal(complaint(text, sizeof text, WORDS("--rate", "--", "app")), SONDE_EXIT_USAGE);
	assert_int_equal(complaint(text, sizeof text, WORDS("--quiet=yes")), SONDE_EXIT_USAGE);
	assert_non_null(strstr(text, "leave '=yes' out"));
}

static void a_refusal_ends_it(void **state)
{
	(void)state;
	struct heard heard = {.refuse = SONDE_EXIT_UNREADABLE};
	struct sonde_parse stop = {0};
	assert_int_equal(parse(&heard, &stop, WORDS("-q", "-o", "x", "-F", "1")), SONDE_EXIT_UNREADABLE);
	assert_string_equal(heard.text, "quiet=none output=x ");
}

static void nearest_is_near(void **state)
{
	(void)state;
	const char *best = NULL;
	assert_false(sonde_command_nearer("zebra", "record", &best));
	assert_true(sonde_command_nearer("recrod", "record", &best));
	assert_false(sonde_command_nearer("recrod", "report", &best));
	assert_string_equal(best, "record");
	best = NULL;
	assert_true(sonde_command_nearer("comp", "completion", &best));
	best = NULL;
	assert_false(sonde_command_nearer("", "completion", &best));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_spelling_is_heard), cmocka_unit_test(options_come_before_words),
	    cmocka_unit_test(the_rest_is_left_alone),  cmocka_unit_test(what_is_wrong_is_said),
	    cmocka_unit_test(a_refusal_ends_it),       cmocka_unit_test(nearest_is_near),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
