/* text.c: texts of annotations: wide texts, long texts, and the part that is a name (nvtx/nvtx.h). */
#include <string.h>

#include "inject/nvtx/nvtx.h"

#define REPLACEMENT 0xfffdu

static size_t put(char *out, uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

size_t nvtx_text_utf8(char *out, size_t out_b, const wchar_t *text)
{
	size_t used = 0;
	for (; *text; text++) {
		char bytes[4];
		uint32_t code = (uint32_t)*text;
		if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			code = REPLACEMENT;
		size_t size_b = put(bytes, code);
		if (used + size_b >= out_b)
			break;
		memcpy(out + used, bytes, size_b);
		used += size_b;
	}
	out[used] = 0;
	return used;
}

size_t nvtx_text_cut(const char *text, size_t text_b, size_t max_b)
{
	if (text_b <= max_b)
		return text_b;
	size_t size_b = max_b;
	while (size_b && (text[size_b] & 0xc0) == 0x80 && max_b - size_b < 4)
		size_b--;
	return size_b;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t nvtx_text_form(char *out, size_t out_b, const char *text, size_t text_b)
{
	size_t used = 0;
	for (size_t i = 0; i < text_b && used < out_b; i++) {
		if (is_digit(text[i]) && i && is_digit(text[i - 1]))
			continue;
		out[used++] = is_digit(text[i]) ? '#' : text[i];
	}
	return used;
}

size_t nvtx_text_bare(const char *text, size_t text_b)
{
	static const char mark[] = ", seq = ";
	const char *found = text_b > sizeof(mark) ? memmem(text + 1, text_b - 1, mark, sizeof(mark) - 1) : NULL;
	return found ? (size_t)(found - text) : text_b;
}

/* Eight bytes per step: names are hashed at every call, since programs reuse buffers for other names. */
uint64_t nvtx_text_hash(uint64_t seed, const char *text, size_t text_b)
{
	uint64_t hash = seed ^ text_b * 0x9e3779b97f4a7c15u, word;
	for (; text_b >= sizeof(word); text += sizeof(word), text_b -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
		hash ^= hash >> 29;
	}
	word = 0;
	memcpy(&word, text, text_b);
	hash = (hash ^ word) * 0x94d049bb133111ebu;
	return hash ^ hash >> 32;
}
