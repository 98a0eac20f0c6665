/* command.c: the table of commands, and the help generated from it.
 *
 * Nothing here refers to a command by name: commands.def lists them, and each has its own option rows. A command
 * without a title is hidden: it can be run by name but is shown nowhere.
 */
#include "cli/common/command.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/choices.h"
#include "util/error.h"

#define OPTION_COLUMN 28
#define GLOSSARY_COLUMN 32
#define HELP_WIDTH 80

#define SONDE_COMMAND(name, file) extern const struct sonde_command sonde_command_##name;
#include "cli/commands.def"
#undef SONDE_COMMAND

#define SONDE_COMMAND(name, file) &sonde_command_##name,
const struct sonde_command *const sonde_commands[] = {
#include "cli/commands.def"
};
#undef SONDE_COMMAND
const size_t sonde_command_count = sizeof sonde_commands / sizeof *sonde_commands;

const struct sonde_command *sonde_command_find(const char *name)
{
	for (size_t i = 0; i < sonde_command_count; i++)
		if (strcmp(sonde_commands[i]->name, name) == 0)
			return sonde_commands[i];
	return NULL;
}

int sonde_command_wrong(const char *command, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "sonde %s: ", command);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return SONDE_EXIT_USAGE;
}

int sonde_command_complain(const char *command, int code)
{
	fprintf(stderr, "sonde %s: %s\n", command, sonde_error_text());
	return code;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* Returns the number of edits (insert, delete, replace, swap neighbours) that turn one word into the other; overlong
 * words count as very different. */
static size_t edit_distance(const char *from, const char *to)
{
	enum { LONGEST = 40 };
	size_t n = strlen(from), m = strlen(to);
	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	size_t rows[LONGEST + 1][LONGEST + 1];
	for (size_t i = 0; i <= n; i++)
		rows[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			size_t replace = rows[i - 1][j - 1] + (from[i - 1] != to[j - 1]);
			rows[i][j] = smallest(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replace);
			if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
				rows[i][j] = smallest(rows[i][j], rows[i - 2][j - 2] + 1, rows[i][j]);
		}
	return rows[n][m];
}

int sonde_command_nearer(const char *word, const char *candidate, const char **best)
{
	size_t longest = strlen(word) > strlen(candidate) ? strlen(word) : strlen(candidate);
	size_t distance = edit_distance(word, candidate);
	int begins = *word && strncmp(word, candidate, strlen(word)) == 0;
	if (!begins && distance > (longest + 2) / 3)
		return 0;
	if (*best && edit_distance(word, *best) <= distance)
		return 0;
	*best = candidate;
	return 1;
}

/* Returns the width of a UTF-8 text in columns. */
static size_t width(const char *text)
{
	size_t columns = 0;
	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

static void print_wrapped(FILE *out, const char *text, size_t indent, size_t at)
{
	while (*text) {
		size_t word_b = strcspn(text, " ");
		char word[256];
		snprintf(word, sizeof word, "%.*s", (int)word_b, text);
		if (at > indent && at + 1 + width(word) > HELP_WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		}
		at += (size_t)fprintf(out, "%s", at > indent ? " " : "") + width(word);
		fputs(word, out);
		text += word_b;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void sonde_command_option_label(const struct sonde_option *option, char *out, size_t out_b)
{
	char letter[8] = "    ";
	if (option->letter)
		snprintf(letter, sizeof letter, "-%c, ", option->letter);
	int optional = option->argument && *option->argument == '[';
	snprintf(out, out_b, "%s--%s%s%s", letter, option->name, option->argument && !optional ? " " : "",
		 option->argument ? option->argument : "");
}

static void print_option(FILE *out, const struct sonde_option *option)
{
	char label[128];
	sonde_command_option_label(option, label, sizeof label);
	size_t at = 2 + width(label);
	fprintf(out, "  %s", label);
	if (at + 2 > OPTION_COLUMN) {
		fputc('\n', out);
		at = 0;
	}
	fprintf(out, "%*s", (int)(OPTION_COLUMN - at), "");
	if (!option->argument || !sonde_choices_known(option->argument)) {
		print_wrapped(out, option->help, OPTION_COLUMN, OPTION_COLUMN);
		return;
	}
	char *text = NULL;
	size_t text_b = 0;
	FILE *memory = open_memstream(&text, &text_b);
	if (!memory)
		return;
	fprintf(memory, "%s: ", option->help);
	sonde_choices_print(memory, option->argument, ", ");
	fclose(memory);
	print_wrapped(out, text, OPTION_COLUMN, OPTION_COLUMN);
	free(text);
}

static void print_indented(const char *lines)
{
	while (*lines) {
		size_t line_b = strcspn(lines, "\n");
		printf("  %.*s\n", (int)line_b, lines);
		lines += line_b + (lines[line_b] == '\n');
	}
}

void sonde_command_glossary(const char *lines)
{
	while (*lines) {
		char line[256];
		size_t line_b = strcspn(lines, "\n");
		snprintf(line, sizeof line, "%.*s", (int)line_b, lines);
		char *meaning = strchr(line, '\t');
		if (meaning) {
			*meaning++ = '\0';
			size_t at = (size_t)printf("  %-*s", GLOSSARY_COLUMN - 2, line);
			print_wrapped(stdout, meaning, GLOSSARY_COLUMN, at);
		} else {
			printf("\n%s:\n", line);
		}
		lines += line_b + (lines[line_b] == '\n');
	}
}

void sonde_command_help(const struct sonde_command *command)
{
	printf("Usage: sonde %s%s%s\n\n", command->name, *command->usage ? " " : "", command->usage);
	if (command->title)
		printf("%c%s.\n\n", toupper((unsigned char)*command->title), command->title + 1);
	printf("Options:\n");
	struct sonde_option_walk options = {.at = command->options};
	for (const struct sonde_option *option; (option = sonde_option_next(&options));)
		if (option->help)
			print_option(stdout, option);
	print_option(stdout, &(struct sonde_option){"help", 'h', NULL, "this text", SONDE_FOUND});
	if (command->examples)
		printf("\nExamples:\n");
	print_indented(command->examples ? command->examples : "");
	if (command->glossary)
		sonde_command_glossary(command->glossary);
}

void sonde_command_list(FILE *out)
{
	for (size_t i = 0; i < sonde_command_count; i++)
		if (sonde_commands[i]->title)
			fprintf(out, "  %-12s %s\n", sonde_commands[i]->name, sonde_commands[i]->title);
}
