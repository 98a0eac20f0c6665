/* text.c: own versions of the <string.h> functions that injected objects use.
 *
 * The C library's may be replaced: a sanitizer's memcpy() refuses to read between variables and is not ready before its
 * library is initialised. Compilers also generate calls of memcpy(), memset() and memcmp(). All of these are hidden, so
 * calls of them are bound when the object is linked. Texts and copies here are short.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Keeps the compiler from replacing a loop by a call of the function itself. */
#define STEP() __asm__ volatile("")

void *memcpy(void *restrict to, const void *restrict from, size_t size_b)
{
	typedef uint64_t __attribute__((aligned(1), may_alias)) word;
	char *out = to;
	const char *in = from;
	for (; size_b >= sizeof(word); size_b -= sizeof(word), in += sizeof(word), out += sizeof(word)) {
		*(word *)(void *)out = *(const word *)(const void *)in;
		STEP();
	}
	for (; size_b; size_b--) {
		*out++ = *in++;
		STEP();
	}
	return to;
}

void *memmove(void *to, const void *from, size_t size_b)
{
	char *out = to;
	const char *in = from;
	if ((uintptr_t)out - (uintptr_t)in >= size_b)
		return memcpy(to, from, size_b);
	while (size_b--) {
		out[size_b] = in[size_b];
		STEP();
	}
	return to;
}

void *memset(void *to, int value, size_t size_b)
{
	typedef uint64_t __attribute__((aligned(1), may_alias)) word;
	uint64_t bytes = (unsigned char)value * UINT64_C(0x0101010101010101);
	char *out = to;
	for (; size_b >= sizeof(word); size_b -= sizeof(word), out += sizeof(word)) {
		*(word *)(void *)out = bytes;
		STEP();
	}
	for (; size_b; size_b--) {
		*out++ = (char)value;
		STEP();
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t size_b)
{
	const unsigned char *left = a, *right = b;
	for (; size_b; size_b--, left++, right++) {
		if (*left != *right)
			return *left - *right;
		STEP();
	}
	return 0;
}

/* clang calls this function if only equality matters. */
int bcmp(const void *a, const void *b, size_t size_b)
{
	return memcmp(a, b, size_b);
}

/* clang calls this one for strchr() of a constant text. */
void *memchr(const void *bytes, int wanted, size_t size_b)
{
	const unsigned char *at = bytes;
	for (; size_b; size_b--, at++) {
		if (*at == (unsigned char)wanted)
			return (void *)(uintptr_t)at; /* NOLINT: it was one */
		STEP();
	}
	return NULL;
}

static size_t measure(const char *text, size_t most_b)
{
	size_t length = 0;
	while (length < most_b && text[length]) {
		length++;
		STEP();
	}
	return length;
}

size_t strnlen(const char *text, size_t most_b)
{
	return measure(text, most_b);
}

size_t strlen(const char *text)
{
	return measure(text, SIZE_MAX);
}

static int compare(const char *a, const char *b, size_t most_b)
{
	for (; most_b; most_b--, a++, b++) {
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
		STEP();
	}
	return 0;
}

int strncmp(const char *a, const char *b, size_t most_b)
{
	return compare(a, b, most_b);
}

int strcmp(const char *a, const char *b)
{
	return compare(a, b, SIZE_MAX);
}

size_t strcspn(const char *text, const char *wanted)
{
	size_t length = 0;
	while (text[length] && !strchr(wanted, text[length]))
		length++;
	return length;
}

char *strchr(const char *text, int wanted)
{
	for (; *text != (char)wanted; text++)
		if (!*text)
			return NULL;
	return (char *)text;
}

char *strrchr(const char *text, int wanted)
{
	const char *found = NULL;
	for (;; text++) {
		if (*text == (char)wanted)
			found = text;
		if (!*text)
			return (char *)found;
		STEP();
	}
}

char *strstr(const char *text, const char *wanted)
{
	size_t wanted_b = strlen(wanted);
	for (;; text++) {
		if (!strncmp(text, wanted, wanted_b))
			return (char *)text;
		if (!*text)
			return NULL;
	}
}
