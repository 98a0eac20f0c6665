/* words.h: counts in sentences: "1 zone", "2 zones". */
#ifndef SONDE_ANALYZE_WORDS_H
#define SONDE_ANALYZE_WORDS_H

#include <stdint.h>

static inline const char *sonde_word(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

/* For a noun that takes an s; goes directly after it. */
static inline const char *sonde_plural(uint64_t count)
{
	return sonde_word(count, "", "s");
}

#endif
