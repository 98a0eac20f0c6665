/* shell.h: builds and runs lines for the shell. */
#ifndef SONDE_RUN_SHELL_H
#define SONDE_RUN_SHELL_H

#include "util/shell_word.h"

/* Joins a command's words into a line that sh splits into the same words; a single word is already a line and is
 * copied. NULL if out of memory. The caller frees it. */
char *sonde_shell_line(char *const *words);

/* Like sonde_shell_line(), but a single word is quoted, too. */
char *sonde_shell_quoted(char *const *words);

/* Runs a `--prepare` line before a command, with standard input and output at /dev/null, and waits. 0, also if a signal
 * asked us to exit in the meantime (run/signals.h); a negative errno with a message if it failed. */
int sonde_shell_prepare(const char *line);

#endif
