/* forward.c: forwards exit codes and signals of the program that was run; 126 and 127 as in a shell
 * (common/forward.h). */
#include "cli/common/forward.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "util/error.h"

int sonde_forward_parse(struct sonde_parse *parse, int argc, char **argv, char ***command, const pid_t *pid)
{
	const char *name = parse->command->name;
	parse->stop_at_word = 1;
	parse->wrong = SONDE_EXIT_OURS; /* not 2, which may be the program's own exit code */
	int code = sonde_command_parse(parse, argc, argv);
	if (code || parse->done)
		return code;
	*command = parse->remainder < argc ? argv + parse->remainder : NULL;
	if (!*command == !*pid) {
		fprintf(stderr, "sonde %s: ", name);
		if (*command)
			fprintf(stderr, "-p and a command exclude each other: leave one of them out\n");
		else
			fprintf(stderr, "give a command (sonde %s -- ./app) or a process (sonde %s -p PID)\n", name,
				name);
		return SONDE_EXIT_OURS;
	}
	return -1;
}

int sonde_forward_failure(const char *command, const struct sonde_record_options *record, int rc)
{
	fprintf(stderr, "sonde %s: %s", command, sonde_error_text());
	if (rc == -EEXIST)
		fprintf(stderr, "; --force overwrites it, -o names another");
	fprintf(stderr, "\n");
	if (rc == -ENOENT && record->command)
		return SONDE_EXIT_NOT_FOUND;
	return rc == -EACCES && record->command ? SONDE_EXIT_NOT_EXECUTABLE : SONDE_EXIT_OURS;
}

int sonde_forward(int status)
{
	if (status == -1)
		return SONDE_EXIT_OK;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	int number = WTERMSIG(status);
	struct rlimit no_core = {0, 0};
	setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	raise(number);
	return 128 + number;
}
