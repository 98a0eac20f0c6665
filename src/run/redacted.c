/* redacted.c: converts words to and from the scanner's format. */
#include "run/redacted.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fold/redact.h"

/* Each secret has at least one byte and becomes three. */
#define GROWTH 3

char **sonde_redacted_words(char *const *words, unsigned *count)
{
	size_t number = 0, all_b = 0, at = 0;
	for (; words[number]; number++)
		all_b += strlen(words[number]) + 1;
	size_t out_b = GROWTH * all_b + 1;
	char *flat = calloc(1, all_b + 1), **out = malloc((number + 1) * sizeof *out + out_b);
	if (!flat || !out) {
		free(flat);
		free(out);
		return NULL;
	}
	for (size_t i = 0; i < number; i++)
		at = (size_t)(stpcpy(flat + at, words[i]) - flat) + 1;
	char *text = (char *)(out + number + 1);
	text[sonde_redact(text, out_b - 1, flat, all_b, count)] = '\0';
	for (size_t i = 0; i < number; i++, text += strlen(text) + 1)
		out[i] = text;
	out[number] = NULL;
	free(flat);
	return out;
}
