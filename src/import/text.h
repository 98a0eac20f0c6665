/* text.h: checks whether bytes are text, and whether they look like JSON. */
#ifndef SONDE_IMPORT_TEXT_H
#define SONDE_IMPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

static inline int sonde_text_is(const uint8_t *bytes, size_t size_b)
{
	for (size_t i = 0; i < size_b; i++)
		if (bytes[i] < 0x20 && bytes[i] != '\n' && bytes[i] != '\t' && bytes[i] != '\r')
			return 0;
	return size_b > 0;
}

static inline size_t sonde_text_space(const uint8_t *bytes, size_t size_b)
{
	size_t at = size_b >= 3 && bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf ? 3 : 0;
	while (at < size_b && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == '\t'))
		at++;
	return at;
}

/* True if the bytes begin with a JSON object or a list of objects. Folded stacks may begin with "[unknown];" or
 * "{lambda};". */
static inline int sonde_text_is_json(const uint8_t *bytes, size_t size_b)
{
	size_t at = sonde_text_space(bytes, size_b);
	if (at == size_b || (bytes[at] != '{' && bytes[at] != '['))
		return 0;
	int is_list = bytes[at++] == '[';
	at += sonde_text_space(bytes + at, size_b - at);
	return at == size_b || (is_list ? bytes[at] == '{' || bytes[at] == ']' : bytes[at] == '"' || bytes[at] == '}');
}

#endif
