/* redact.h: removes passwords and keys from command lines before they are written anywhere.
 *
 * Tables define what counts as a secret: names of options, variables and headers and shapes of keys (secrets.c), and
 * options of specific programs (redact.def). Each secret is replaced by "***", so that the command stays recognisable
 * but cannot be run by mistake.
 */
#ifndef SONDE_FOLD_REDACT_H
#define SONDE_FOLD_REDACT_H

#include <stddef.h>

/* Copies the words of a command, each terminated by NUL (optional for the last one), in the format of
 * /proc/PID/cmdline; the number of words stays the same. Returns the bytes written, at most out_b; the rest is dropped.
 * *count, if not NULL, is set to the number of secrets removed. Allocates nothing. */
size_t sonde_redact(char *out, size_t out_b, const char *words, size_t words_b, unsigned *count);

/* Length of a command that was cut off, without its last word: half a secret may not look like one. */
size_t sonde_redact_whole(const char *words, size_t words_b);

#endif
