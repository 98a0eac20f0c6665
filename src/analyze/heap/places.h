/* places.h: allocations summed by function or by source line.
 *
 * A block is attributed to the innermost function on its stack that does not belong to an allocator. Without this rule,
 * operator new, the containers of the standard library, and functions whose names say that they allocate (xmalloc,
 * g_realloc, sqlite3DbMallocRaw, PyObject_Calloc) would own everything and explain nothing.
 */
#ifndef SONDE_ANALYZE_HEAP_PLACES_H
#define SONDE_ANALYZE_HEAP_PLACES_H

#include "analyze/heap/pass.h"

struct sonde_heap_place {
	uint32_t function, line; /* line 0: unknown, or summed by function */
	const char *file;
	const struct sonde_heap *heap; /* one of them; the row covers all heaps of its kind */
	struct sonde_heap_sum sum;
	uint32_t stack;     /* stack of the site with the largest part of the sort key */
	uint64_t stack_has; /* size of that part */
};

struct sonde_heap_places {
	struct sonde_heap_place *rows;
	size_t count;
};

enum sonde_heap_order { SONDE_HEAP_BY_PEAK, SONDE_HEAP_BY_TEMPORARY, SONDE_HEAP_BY_ALLOCATED };

/* Call after sonde_heap_pass_read(). -ENOMEM. */
int sonde_heap_places_make(struct sonde_heap_places *out, const struct sonde_heap_pass *pass, int by_line,
			   enum sonde_heap_order order);
void sonde_heap_places_free(struct sonde_heap_places *places);

/* The location that names a stack; NULL for an empty stack. `known`: a cache of sonde_session_function_count() + 1
 * bytes for many calls, zeroed before the first; or NULL. */
const struct sonde_location *sonde_heap_location(const struct sonde_session *session, uint32_t stack, uint8_t *known);
/* "parse" */
const char *sonde_heap_place_name(const struct sonde_heap_pass *pass, const struct sonde_heap_place *place);
/* The caller of the function that names a stack; "" = none, or unknown. */
const char *sonde_heap_caller(const struct sonde_heap_pass *pass, uint32_t stack);
/* "main < run < parse_all": the callers of the function that names a stack; allocated in the report. NULL without
 * memory. */
const char *sonde_heap_called_from(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t stack);
/* "parse (json.c:120), called from parse_all < run < main" */
const char *sonde_heap_stack_text(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t stack);

void sonde_heap_sum_add(struct sonde_heap_sum *into, const struct sonde_heap_sum *from);

#endif
