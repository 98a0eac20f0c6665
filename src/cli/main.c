/* main.c: finds and runs the requested command.
 *
 * Each command has a file of its own. Only the version, the list of commands, and the message for an unknown command
 * are printed here.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/command.h"
#include "cli/common/leave.h"
#include "cli/common/output.h"
#include "util/error.h"
#include "util/stack_limit.h"

static int print_help(FILE *out)
{
	fprintf(out, "Usage: sonde COMMAND [options]\n\nLinux profiler: CPU, memory, locks, I/O and GPU of any "
		     "program, on one timeline.\n\nCommands:\n");
	sonde_command_list(out);
	fprintf(out, "\n'sonde COMMAND --help' shows the options of a command.\n");
	return out == stdout ? SONDE_EXIT_OK : SONDE_EXIT_USAGE;
}

static int complain_unknown(const char *word)
{
	const char *best = NULL;
	for (size_t i = 0; i < sonde_command_count; i++)
		if (sonde_commands[i]->title)
			sonde_command_nearer(word, sonde_commands[i]->name, &best);
	fprintf(stderr, "sonde: unknown command '%s'", word);
	if (best)
		fprintf(stderr, "; did you mean '%s'?", best);
	else if (strchr(word, '/'))
		fprintf(stderr, "; to profile a program: sonde record -- %s", word);
	fprintf(stderr, " ('sonde --help' lists them)\n");
	return SONDE_EXIT_USAGE;
}

static int help_of(const char *name)
{
	const struct sonde_command *command = sonde_command_find(name);
	if (!command)
		return complain_unknown(name);
	sonde_command_help(command);
	return SONDE_EXIT_OK;
}

/* Opens a placeholder for each closed standard stream: otherwise the next file that we open would get its descriptor,
 * and messages would be written into that file. Using the placeholder fails in the same way as using a closed stream,
 * and it is closed in programs that we start. */
static void occupy_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			return;
}

static int run(int argc, char **argv)
{
	if (argc < 2)
		return print_help(stderr);
	const char *word = argv[1];
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
		return argc > 2 ? help_of(argv[2]) : print_help(stdout);
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		printf("sonde %s\n", SONDE_VERSION);
		return SONDE_EXIT_OK;
	}
	const struct sonde_command *command = sonde_command_find(word);
	if (!command)
		return complain_unknown(word);
	return command->run(argc - 1, argv + 1);
}

/* Reports write errors of output that commands do not check themselves, such as help and lists. */
int main(int argc, char **argv)
{
	occupy_streams();
	int code = sonde_stack_limit_run(run, argc, argv);
	struct sonde_output output = {.file = stdout};
	if (code || !sonde_output_close(&output, 0))
		sonde_leave(code);
	fprintf(stderr, "sonde: %s\n", sonde_error_text());
	sonde_leave(SONDE_EXIT_UNREADABLE);
}
