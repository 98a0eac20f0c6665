/* man.c: `sonde man`: the manual page, generated from the tables of commands and options when sonde is built.
 * Hidden. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/choices.h"
#include "cli/common/command.h"

/* Escapes text that roff would read as requests or special characters. */
static void put_text(const char *text)
{
	int line_start = 1;
	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			printf("\\&");
		if (*text == '\\')
			printf("\\e");
		else if (*text == '-')
			printf("\\-");
		else
			putchar(*text);
		line_start = *text == '\n';
	}
}

static void put_option(const struct sonde_option *option)
{
	char label[128];
	sonde_command_option_label(option, label, sizeof label);
	printf(".TP\n\\fB");
	put_text(label + strspn(label, " "));
	printf("\\fR\n");
	put_text(option->help);
	if (option->argument && sonde_choices_known(option->argument)) {
		printf(": ");
		sonde_choices_print(stdout, option->argument, ", ");
	}
	putchar('\n');
}

static void put_glossary(const char *lines)
{
	while (*lines) {
		char line[256];
		size_t line_b = strcspn(lines, "\n");
		snprintf(line, sizeof line, "%.*s", (int)line_b, lines);
		char *meaning = strchr(line, '\t');
		printf(meaning ? ".TP\n" : ".PP\n");
		if (meaning)
			*meaning++ = '\0';
		put_text(line);
		printf(meaning ? "\n" : ":\n");
		if (meaning) {
			put_text(meaning);
			putchar('\n');
		}
		lines += line_b + (lines[line_b] == '\n');
	}
}

static void put_command(const struct sonde_command *command)
{
	printf(".SS \"sonde %s\"\n", command->name);
	putchar(toupper((unsigned char)*command->title));
	put_text(command->title + 1);
	printf(".\n.PP\n\\fBsonde %s\\fR ", command->name);
	put_text(command->usage);
	putchar('\n');
	struct sonde_option_walk options = {.at = command->options};
	for (const struct sonde_option *option; (option = sonde_option_next(&options));)
		if (option->help)
			put_option(option);
	if (command->examples) {
		printf(".PP\nExamples:\n.PP\n.nf\n");
		put_text(command->examples);
		printf("\n.fi\n");
	}
	if (command->glossary)
		put_glossary(command->glossary);
	char *manual = command->manual ? command->manual() : NULL;
	if (manual)
		put_glossary(manual);
	free(manual);
}

static const struct {
	const char *code, *meaning;
} exits[] = {
    {"0", "success"},
    {"1", "a check of sonde doctor failed; a snapshot failed; with --gate: regressed"},
    {"2", "wrong usage"},
    {"3", "with --gate: inconclusive"},
    {"4", "a file could not be read or written; with --gate: not comparable"},
    {"125", "sonde itself failed: for any reason in commands that run a program, for lack of memory in others; with "
	    "record --fail-on-loss also if the recording is incomplete or events were lost"},
    {"126", "the program cannot be executed"},
    {"127", "the program was not found"},
};

static const struct {
	const char *name, *meaning;
} variables[] = {
    {"NO_COLOR", "no colours on a terminal"},
    {"DEBUGINFOD_URLS", "servers that --debuginfod asks for debug files"},
    {"XDG_CACHE_HOME", "folder for cached symbols and unwind tables, instead of ~/.cache"},
    {"SONDE_OUT", "file to which a program that uses the API records itself without sonde record; the process id "
		  "replaces %p, or precedes the extension (app.sonde: app.4711.sonde)"},
    {"NVTX_INJECTION64_PATH",
     "set by sonde record for its command, so that NVTX annotations are recorded, unless it is "
     "set already or --no-inject is given"},
    {"SONDE_SUMMARY", "if 1, a program that uses the API prints a table of its zones to standard error when it exits"},
};

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf(".TH SONDE 1 \"\" \"sonde %s\" \"User Commands\"\n.SH NAME\nsonde \\- profile programs on Linux\n.SH "
	       "SYNOPSIS\n\\fBsonde\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\nsonde is a profiler for "
	       "Linux: it records the CPU, memory, locks, I/O and GPU of any program on one timeline,\nin one file, "
	       "and reports where the time went. Programs need not be modified.\n.SH COMMANDS\n",
	       SONDE_VERSION);
	for (size_t i = 0; i < sonde_command_count; i++)
		if (sonde_commands[i]->title)
			put_command(sonde_commands[i]);
	printf(".SH EXIT STATUS\nCommands that run a program exit with its exit code.\n");
	for (size_t i = 0; i < sizeof exits / sizeof *exits; i++)
		printf(".TP\n%s\n%s\n", exits[i].code, exits[i].meaning);
	printf(".SH ENVIRONMENT\n");
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		printf(".TP\n%s\n", variables[i].name);
		put_text(variables[i].meaning);
		putchar('\n');
	}
	return SONDE_EXIT_OK;
}

const struct sonde_command sonde_command_man = {.name = "man", .usage = "", .run = run};
