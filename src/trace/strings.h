/* strings.h: interned strings of a recording. Each is written as a STRING record before its id is returned. */
#ifndef SONDE_TRACE_STRINGS_H
#define SONDE_TRACE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/writer.h"
#include "util/arena.h"
#include "util/map.h"

#define SONDE_STRING_MAX_B 65535 /* longer ones are truncated */

struct sonde_string_row {
	const char *text;
	uint32_t len_b;
};

struct sonde_strings {
	struct sonde_writer *writer;
	struct sonde_arena arena;
	struct sonde_map map;
	struct sonde_string_row *rows; /* indexed by id − 1 */
	uint32_t count;
	size_t cap;
};

void sonde_strings_init(struct sonde_strings *strings, struct sonde_writer *writer);
void sonde_strings_fini(struct sonde_strings *strings);

/* Returns the id; 0 for an empty text and when memory or disk space runs out (the writer keeps the error). */
uint32_t sonde_strings_intern(struct sonde_strings *strings, const char *text, size_t len_b);

#endif
