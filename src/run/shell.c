/* shell.c: quotes words for sh and runs shell lines (shell.h). */
#include "run/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/redacted.h"
#include "run/signals.h"
#include "util/error.h"

/* 'it'\''s' */
static void put_word(FILE *out, const char *word)
{
	if (sonde_shell_is_plain(word)) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	putc('\'', out);
}

char *sonde_shell_quoted(char *const *words)
{
	char *line = NULL;
	size_t line_b;
	FILE *out = open_memstream(&line, &line_b);
	if (!out)
		return NULL;
	for (size_t i = 0; words[i]; i++) {
		if (i)
			putc(' ', out);
		put_word(out, words[i]);
	}
	int bad = ferror(out);
	if (!fclose(out) && !bad)
		return line;
	free(line);
	return NULL;
}

char *sonde_shell_line(char *const *words)
{
	return words[0] && words[1] ? sonde_shell_quoted(words) : strdup(words[0] ? words[0] : "");
}

int sonde_shell_prepare(const char *line)
{
	char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)line, NULL};
	posix_spawn_file_actions_t streams;
	pid_t pid;
	int status = 0;
	sonde_signals_give_back(); /* the shell inherits our original signal dispositions */
	posix_spawn_file_actions_init(&streams);
	posix_spawn_file_actions_addopen(&streams, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&streams, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	int code = posix_spawn(&pid, "/bin/sh", &streams, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&streams);
	if (code)
		return sonde_error(code, "--prepare: /bin/sh: %s", strerror(code));
	sonde_signals_catch(0, 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sonde_signals_give_back(); /* for the command, too */
	if (!status || sonde_signals_quits())
		return 0;
	char **redacted = sonde_redacted_words((char *const[]){argv[2], NULL}, NULL);
	int rc = sonde_error(EIO, "--prepare '%s' failed (%s %d): the command was not run", redacted ? *redacted : "",
			     WIFSIGNALED(status) ? "signal" : "exit code",
			     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	free(redacted);
	return rc;
}
