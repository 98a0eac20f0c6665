/* command.h: a command of `sonde`: one file, one row in commands.def.
 *
 * Options are rows, too: parsing, --help, completion and the man page are generated from them. Everything before FILE
 * or `--` may be in any order.
 */
#ifndef SONDE_CLI_COMMON_COMMAND_H
#define SONDE_CLI_COMMON_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/option.h"

enum sonde_exit {
	SONDE_EXIT_OK = 0,
	SONDE_EXIT_NEGATIVE = 1,
	SONDE_EXIT_USAGE = 2,
	SONDE_EXIT_INCONCLUSIVE = 3,
	SONDE_EXIT_UNREADABLE = 4,
	SONDE_EXIT_OURS = 125,
	SONDE_EXIT_NOT_EXECUTABLE = 126,
	SONDE_EXIT_NOT_FOUND = 127,
};

struct sonde_command {
	const char *name;
	const char *title; /* "run a command": no full stop; NULL = hidden: not in help, man page, completion */
	const char *usage; /* "[options] -- COMMAND [ARGUMENT…]" */
	const struct sonde_option *options; /* util/option.h */
	const char *examples;               /* lines for --help and the man page; NULL = none */
	/* Documents a table of the command, after the examples: lines of "key\tmeaning", the first of which is a
	 * heading; NULL = none. */
	const char *glossary;
	char *(*manual)(void); /* a longer glossary, for the man page only; the caller frees it */
	/* argv[0] is the command's name; returns the exit code. */
	int (*run)(int argc, char **argv);
};

extern const struct sonde_command *const sonde_commands[];
extern const size_t sonde_command_count;
const struct sonde_command *sonde_command_find(const char *name);

/* Sets *best to `candidate` if it is a plausible correction of `word` and closer than *best (NULL at first); returns
 * whether it did. */
int sonde_command_nearer(const char *word, const char *candidate, const char **best);

/* Parses words according to the command's option rows, most of which say where to store the value. First, `found` (NULL
 * = not needed) is called, in order, for each option whose row has no place for the value; then, with option = NULL,
 * for each word that is not an option. It returns 0, or an exit code after printing a message. After `--`, no word is
 * an option; with stop_at_word, words that are not options are left to the caller. `remainder` becomes the index of the
 * first word left to the caller, or argc. An unknown option prints a message that suggests the closest one and returns
 * `wrong`. -h and --help print the command's help and set `done`. */
struct sonde_parse {
	const struct sonde_command *command;
	int (*found)(void *context, const struct sonde_option *option, const char *value);
	void *context;
	int wrong;        /* exit code for wrong usage; 0 = SONDE_EXIT_USAGE */
	int stop_at_word; /* the first word that is not an option ends parsing (record ./app -x) */
	int remainder;
	int done;
};

int sonde_command_parse(struct sonde_parse *parse, int argc, char **argv);
void sonde_command_help(const struct sonde_command *command);

/* Prints a message after the command's name; returns SONDE_EXIT_USAGE. */
int sonde_command_wrong(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the last error after the command's name; returns `code`. */
int sonde_command_complain(const char *command, int code);

/* Prints lines in the format of a command's glossary. */
void sonde_command_glossary(const char *lines);

/* Writes the names of an option and its argument: "-F, --rate HZ". */
void sonde_command_option_label(const struct sonde_option *option, char *out, size_t out_b);

/* Prints a line for each command that is not hidden. */
void sonde_command_list(FILE *out);

#endif
