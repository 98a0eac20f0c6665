/* shell_word.h: the characters that a POSIX shell takes literally in an unquoted word. */
#ifndef SONDE_UTIL_SHELL_WORD_H
#define SONDE_UTIL_SHELL_WORD_H

#include <string.h>

#define SONDE_SHELL_PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:@%,"

/* True if the shell needs no quotes around the word. */
static inline int sonde_shell_is_plain(const char *word)
{
	return *word && !word[strspn(word, SONDE_SHELL_PLAIN)];
}

#endif
