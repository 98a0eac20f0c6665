/* places.h: allocations summed by function, or by source line.
 *
 * A block belongs to the innermost function of its stack that is not an allocator's own: operator new and the standard
 * library's containers, and functions whose names say that they allocate (xmalloc, g_realloc, sqlite3DbMallocRaw,
 * PyObject_Calloc), would else have all of it and say nothing.
 */
#ifndef SONDE_ANALYZE_HEAP_PLACES_H
#define SONDE_ANALYZE_HEAP_PLACES_H

#include "analyze/heap/pass.h"

struct sonde_heap_place {
	uint32_t function, line; /* line 0: not known, or summed by function */
	const char *file;
	const struct sonde_heap *heap; /* one of the kind */
	struct sonde_heap_sum sum;
	uint32_t stack;     /* of the site with most of what places are sorted by */
	uint64_t stack_has; /* of that */
};

struct sonde_heap_places {
	struct sonde_heap_place *rows;
	size_t count;
};

enum sonde_heap_order { SONDE_HEAP_BY_PEAK, SONDE_HEAP_BY_TEMPORARY, SONDE_HEAP_BY_ALLOCATED };

/* After sonde_heap_pass_read(). -ENOMEM. */
int sonde_heap_places_make(struct sonde_heap_places *out, const struct sonde_heap_pass *pass, int by_line,
			   enum sonde_heap_order order);
void sonde_heap_places_free(struct sonde_heap_places *places);

/* The location that a stack is named by; NULL of an empty one. `known`: sonde_session_function_count() + 1 bytes, zero
 * before the first of many calls; or NULL. */
const struct sonde_location *sonde_heap_location(const struct sonde_session *session, uint32_t stack, uint8_t *known);
/* "parse" */
const char *sonde_heap_place_name(const struct sonde_heap_pass *pass, const struct sonde_heap_place *place);
/* Who called the function that a stack is named by; "" = nobody, or not known. */
const char *sonde_heap_caller(const struct sonde_heap_pass *pass, uint32_t stack);
/* "main < run < parse_all": who called the function that a stack is named by; in the report. NULL without memory. */
const char *sonde_heap_called_from(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t stack);
/* "parse (json.c:120), called from parse_all < run < main" */
const char *sonde_heap_stack_text(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t stack);

void sonde_heap_sum_add(struct sonde_heap_sum *into, const struct sonde_heap_sum *from);

#endif
