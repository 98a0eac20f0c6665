/* shell_word.h: what a word may be made of to be nothing but itself to a POSIX shell. */
#ifndef SONDE_UTIL_SHELL_WORD_H
#define SONDE_UTIL_SHELL_WORD_H

#include <string.h>

#define SONDE_SHELL_PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:@%,"

/* Whether a word needs no quotes. */
static inline int sonde_shell_is_plain(const char *word)
{
	return *word && !word[strspn(word, SONDE_SHELL_PLAIN)];
}

#endif
