/* shell.h: lines for the shell. */
#ifndef SONDE_RUN_SHELL_H
#define SONDE_RUN_SHELL_H

#include "util/shell_word.h"

/* The words of a command as a line that sh makes the same words of; one word is a line already, and is copied. NULL:
 * out of memory. The caller frees it. */
char *sonde_shell_line(char *const *words);

/* The same of any words: one is quoted, too. */
char *sonde_shell_quoted(char *const *words);

/* Runs a line with its standard input and output at /dev/null before a command, and waits: `--prepare`. 0, also when a
 * signal asked us to end meanwhile (run/signals.h); a negative errno with a sentence where it failed. */
int sonde_shell_prepare(const char *line);

#endif
