/* parse.c: parses options by the rows of a command.
 *
 * An option's row gives the type of the value and where to store it; the command's own functions handle options without
 * such a place. There are two passes over the words: the first handles options, the second the other words, so that a
 * command knows all its options before it sees its files, in whatever order they were given. Rejected: getopt_long(),
 * which needs tables of its own and prints its own messages.
 */
#include "cli/common/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/quantity.h"

#define PID_MAX 4194304 /* the kernel's own limit */

struct walk {
	struct sonde_parse *parse;
	char **argv;
	int argc;
	int words; /* this pass handles words, not options */
	int at;
};

/* --- errors ------------------------------------------------------------------------------------------------------ */

static int wrong(const struct walk *walk)
{
	return walk->parse->wrong ? walk->parse->wrong : SONDE_EXIT_USAGE;
}

static const struct sonde_option *option_named(const struct sonde_command *command, const char *name, size_t name_b)
{
	struct sonde_option_walk options = {.at = command->options};
	for (const struct sonde_option *option; (option = sonde_option_next(&options));)
		if (strlen(option->name) == name_b && strncmp(option->name, name, name_b) == 0)
			return option;
	return NULL;
}

static const struct sonde_option *option_lettered(const struct sonde_command *command, char letter)
{
	struct sonde_option_walk options = {.at = command->options};
	for (const struct sonde_option *option; (option = sonde_option_next(&options));)
		if (option->letter == letter)
			return option;
	return NULL;
}

/* Another command that has an option of this name; NULL = none. */
static const struct sonde_command *owner_of(const char *name)
{
	for (size_t i = 0; i < sonde_command_count; i++)
		if (option_named(sonde_commands[i], name, strlen(name)))
			return sonde_commands[i];
	return NULL;
}

static int complain_unknown(const struct walk *walk, const char *word)
{
	const struct sonde_command *command = walk->parse->command;
	size_t name_b = strcspn(word, "=");
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)name_b, word);
	const char *best = NULL;
	const struct sonde_command *owner = strncmp(name, "--", 2) == 0 ? owner_of(name + 2) : NULL;
	struct sonde_option_walk options = {.at = command->options};
	for (const struct sonde_option *option; (option = sonde_option_next(&options));)
		if (option->help)
			sonde_command_nearer(name + strspn(name, "-"), option->name, &best);
	fprintf(stderr, "sonde %s: unknown option %s", command->name, name);
	if (owner)
		fprintf(stderr, "; 'sonde %s' has it", owner->name);
	else if (best)
		fprintf(stderr, "; did you mean --%s?", best);
	fprintf(stderr, " ('sonde %s --help' lists them)\n", command->name);
	return wrong(walk);
}

/* --- values ------------------------------------------------------------------------------------------------------ */

/* Formats "10ms", as a user would type it. */
static const char *time_text(char *out, size_t out_b, uint64_t ns)
{
	if (ns % 1000000000u == 0)
		snprintf(out, out_b, "%" PRIu64 "s", ns / 1000000000u);
	else
		snprintf(out, out_b, "%" PRIu64 "%s", ns % 1000000u ? ns : ns / 1000000u, ns % 1000000u ? "ns" : "ms");
	return out;
}

static const char *size_text(char *out, size_t out_b, uint64_t size_b)
{
	int is_round = size_b >= 1048576 && size_b % 1048576 == 0;
	snprintf(out, out_b, "%" PRIu64 "%s", is_round ? size_b / 1048576 : size_b, is_round ? "M" : " bytes");
	return out;
}

static int read_time(uint64_t *out_ns, const struct sonde_place *place, const char *value)
{
	char least[32];
	uint64_t ns = 0;
	int rc = sonde_quantity_duration(&ns, value);
	if (!rc && ns < place->least)
		rc =
		    sonde_error(EINVAL, "'%s': the minimum is %s", value, time_text(least, sizeof least, place->least));
	if (!rc)
		*out_ns = ns;
	return rc;
}

static int read_size(uint64_t *out_b, const struct sonde_place *place, const char *value)
{
	char least[32];
	uint64_t size_b = 0;
	int rc = sonde_quantity_bytes(&size_b, value);
	if (!rc && size_b < place->least)
		rc =
		    sonde_error(EINVAL, "'%s': the minimum is %s", value, size_text(least, sizeof least, place->least));
	if (!rc)
		*out_b = size_b;
	return rc;
}

static int put_value(void *context, const struct sonde_place *place, const char *value)
{
	void *at = (char *)context + place->at;
	uint64_t number = 0;
	int rc = 0;
	switch (place->takes) {
	case SONDE_TAKES_FLAG:
		*(int *)at = 1;
		break;
	case SONDE_TAKES_TEXT:
		*(const char **)at = value;
		break;
	case SONDE_TAKES_NUMBER:
		return sonde_quantity_integer(at, value, place->least, place->most ? place->most : UINT64_MAX);
	case SONDE_TAKES_PID:
		rc = sonde_quantity_integer(&number, value, 1, PID_MAX);
		*(pid_t *)at = (pid_t)number;
		break;
	case SONDE_TAKES_TIME:
		return read_time(at, place, value);
	case SONDE_TAKES_SIZE:
		return read_size(at, place, value);
	case SONDE_TAKES_BY:
		return place->set(context, value);
	default:
		break;
	}
	return rc;
}

static int hand_out(struct walk *walk, const struct sonde_option *option, const char *value)
{
	struct sonde_parse *parse = walk->parse;
	if (walk->words != (option == NULL))
		return 0;
	if (!option || option->place.takes == SONDE_TAKES_NOTHING)
		return parse->found(parse->context, option, value);
	if (!put_value(parse->context, &option->place, value))
		return 0;
	fprintf(stderr, "sonde %s: --%s: %s\n", parse->command->name, option->name, sonde_error_text());
	return wrong(walk);
}

/* --- the words --------------------------------------------------------------------------------------------------- */

/* Takes the value of an option that requires one: the rest of the same word, or else the next word. */
static int take_value(struct walk *walk, const struct sonde_option *option, const char *behind)
{
	const char *value = behind;
	if (!value && walk->at + 1 < walk->argc && strcmp(walk->argv[walk->at + 1], "--") != 0)
		value = walk->argv[++walk->at];
	if (value)
		return hand_out(walk, option, value);
	fprintf(stderr, "sonde %s: --%s needs a value: --%s %s\n", walk->parse->command->name, option->name,
		option->name, option->argument);
	return wrong(walk);
}

static int show_help(struct walk *walk)
{
	if (!walk->parse->done)
		sonde_command_help(walk->parse->command);
	walk->parse->done = 1;
	return 0;
}

static int take_long(struct walk *walk, const char *word)
{
	const char *name = word + 2;
	size_t name_b = strcspn(name, "=");
	const char *behind = name[name_b] ? name + name_b + 1 : NULL;
	if (strcmp(name, "help") == 0)
		return show_help(walk);
	const struct sonde_option *option = option_named(walk->parse->command, name, name_b);
	if (!option)
		return complain_unknown(walk, word);
	if (option->argument && *option->argument != '[')
		return take_value(walk, option, behind);
	if (behind && !option->argument) {
		fprintf(stderr, "sonde %s: --%s takes no value: leave '=%s' out\n", walk->parse->command->name,
			option->name, behind);
		return wrong(walk);
	}
	return hand_out(walk, option, behind);
}

/* Handles a word of one-letter options, such as "-q", "-qf json" or "-F999". The first letter that takes a value ends
 * the word: its value is the rest of the word, or the next word. */
static int take_letters(struct walk *walk, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		if (*letter == 'h') {
			show_help(walk);
			continue;
		}
		const struct sonde_option *option = option_lettered(walk->parse->command, *letter);
		if (!option)
			return complain_unknown(walk, word);
		if (option->argument && *option->argument != '[')
			return take_value(walk, option, letter[1] ? letter + 1 : NULL);
		int code = hand_out(walk, option, NULL);
		if (code)
			return code;
	}
	return 0;
}

/* Handles the words after "--", none of which is an option: with stop_at_word they are left to the caller, otherwise
 * they are treated like the words before "--". */
static int take_rest(struct walk *walk)
{
	int code = 0;
	if (walk->parse->stop_at_word)
		return 0;
	while (!code && ++walk->at < walk->argc)
		code = hand_out(walk, NULL, walk->argv[walk->at]);
	return code;
}

static int walk_words(struct walk *walk)
{
	struct sonde_parse *parse = walk->parse;
	for (walk->at = 1; walk->at < walk->argc; walk->at++) {
		const char *word = walk->argv[walk->at];
		int is_option = word[0] == '-' && word[1];
		int code = 0;
		if (strcmp(word, "--") == 0) {
			parse->remainder = walk->at + 1;
			return take_rest(walk);
		}
		if (!is_option && parse->stop_at_word)
			break;
		if (!is_option)
			code = hand_out(walk, NULL, word);
		else if (word[1] == '-')
			code = take_long(walk, word);
		else
			code = take_letters(walk, word);
		if (code || parse->done)
			return code;
	}
	parse->remainder = walk->at < walk->argc ? walk->at : walk->argc;
	return 0;
}

int sonde_command_parse(struct sonde_parse *parse, int argc, char **argv)
{
	parse->remainder = argc;
	parse->done = 0;
	for (int words = 0; words < 2; words++) {
		struct walk walk = {.parse = parse, .argv = argv, .argc = argc, .words = words};
		int code = walk_words(&walk);
		if (code || parse->done)
			return code;
	}
	return 0;
}
