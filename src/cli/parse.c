/* parse.c: options by the rows of a command.
 *
 * Two walks over the words: the first hands out the options, the second the other words, so that a command knows its
 * options before it looks at its files, wherever they stand. Alternative rejected: getopt_long(), which wants its own
 * tables and prints its own sentences.
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

struct walk {
	struct sonde_parse *parse;
	char **argv;
	int argc;
	int words; /* this walk hands out the words, not the options */
	int at;
};

static int complain_unknown(const struct walk *walk, const char *word)
{
	const struct sonde_command *command = walk->parse->command;
	size_t name_b = strcspn(word, "=");
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)name_b, word);
	const char *best = NULL;
	for (const struct sonde_option *option = command->options; option && option->name; option++)
		sonde_command_nearer(name + strspn(name, "-"), option->name, &best);
	fprintf(stderr, "sonde %s: unknown option %s", command->name, name);
	if (best)
		fprintf(stderr, "; the nearest is --%s", best);
	fprintf(stderr, " ('sonde %s --help' lists them)\n", command->name);
	return SONDE_EXIT_USAGE;
}

static int hand_out(struct walk *walk, const struct sonde_option *option, const char *value)
{
	if (walk->words != (option == NULL))
		return 0;
	return walk->parse->found(walk->parse->context, option, value);
}

/* The value of an option that wants one: what stands behind it, else the next word. */
static int take_value(struct walk *walk, const struct sonde_option *option, const char *behind)
{
	const char *value = behind;
	if (!value && walk->at + 1 < walk->argc && strcmp(walk->argv[walk->at + 1], "--") != 0)
		value = walk->argv[++walk->at];
	if (value)
		return hand_out(walk, option, value);
	fprintf(stderr, "sonde %s: --%s needs a value: --%s %s\n", walk->parse->command->name, option->name,
		option->name, option->argument);
	return SONDE_EXIT_USAGE;
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
	const struct sonde_option *option = walk->parse->command->options;
	while (option && option->name && (strlen(option->name) != name_b || strncmp(option->name, name, name_b) != 0))
		option++;
	if (!option || !option->name)
		return complain_unknown(walk, word);
	if (option->argument && *option->argument != '[')
		return take_value(walk, option, behind);
	if (behind && !option->argument) {
		fprintf(stderr, "sonde %s: --%s takes no value: leave '=%s' out\n", walk->parse->command->name,
			option->name, behind);
		return SONDE_EXIT_USAGE;
	}
	return hand_out(walk, option, behind);
}

/* "-q", "-qf json", "-F999": flags first, the rest of the word or the next word is the value of the last letter. */
static int take_letters(struct walk *walk, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		if (*letter == 'h') {
			show_help(walk);
			continue;
		}
		const struct sonde_option *option = walk->parse->command->options;
		while (option && option->name && option->letter != *letter)
			option++;
		if (!option || !option->name)
			return complain_unknown(walk, word);
		if (option->argument && *option->argument != '[')
			return take_value(walk, option, letter[1] ? letter + 1 : NULL);
		int code = hand_out(walk, option, NULL);
		if (code)
			return code;
	}
	return 0;
}

/* Behind "--" everything is a word: the rest of a command that has one, else words like those before. */
static int walk_rest(struct walk *walk)
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
			parse->rest = walk->at + 1;
			return walk_rest(walk);
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
	parse->rest = walk->at < walk->argc ? walk->at : walk->argc;
	return 0;
}

int sonde_command_parse(struct sonde_parse *parse, int argc, char **argv)
{
	parse->rest = argc;
	parse->done = 0;
	for (int words = 0; words < 2; words++) {
		struct walk walk = {.parse = parse, .argv = argv, .argc = argc, .words = words};
		int code = walk_words(&walk);
		if (code || parse->done)
			return code;
	}
	return 0;
}
