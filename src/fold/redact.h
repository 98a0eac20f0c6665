/* redact.h: takes passwords and keys out of command lines before they are written anywhere.
 *
 * What counts as a secret is a table in redact.c: names of options, variables and headers, options of programs, and
 * shapes of keys. "***" stands for each, so that the command can still be recognised, and never be run by mistake.
 */
#ifndef SONDE_FOLD_REDACT_H
#define SONDE_FOLD_REDACT_H

#include <stddef.h>

/* Copies the words of a command, each ended by a NUL (the last need not be), as /proc/PID/cmdline has them; as many
 * words come out. Bytes written, at most out_b; what does not fit is left out. *count, where it is not NULL, becomes
 * how many secrets were taken out. Allocates nothing. */
size_t sonde_redact(char *out, size_t out_b, const char *words, size_t words_b, unsigned *count);

#endif
