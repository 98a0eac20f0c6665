/* forms.h: the forms of a heap's blocks: a form is a site and a size. One thread.
 *
 * Programs allocate the same sizes at the same call sites again and again. So an event of a chunk is the number of a
 * form, and sums are computed by form when the chunk is written. Forms without live blocks are removed now and then, so
 * that the number of forms is at most twice what the live blocks and one chunk need.
 */
#ifndef SONDE_SOURCE_HEAP_FORMS_H
#define SONDE_SOURCE_HEAP_FORMS_H

#include <stddef.h>
#include <stdint.h>

struct sonde_heap_form {
	uint64_t size_b;
	uint32_t site; /* 0 = an unused row */
	uint32_t live; /* live blocks as of the last chunk */
	/* in the current chunk: */
	uint32_t row; /* + 1; 0 = none yet */
	uint32_t begins, ends, temporary;
};
_Static_assert(sizeof(struct sonde_heap_form) == 32, "memory a form; two in a line of the cache");

#define SONDE_HEAP_FORMS_MAX ((1u << 28) - 1)

/* Zeroed = empty. */
struct sonde_heap_forms {
	struct sonde_heap_form *row; /* by id; row 0 is unused; aligned to cache lines */
	uint32_t count, cap;         /* rows */
	uint32_t spare;              /* the first free row, linked through `row`; 0 = none */
	uint32_t used;
	uint32_t sweep_at; /* sweep when this many are used */
	uint32_t *index;   /* ids by hash; open addressing, at most half full */
	unsigned bits;
};

void sonde_heap_forms_fini(struct sonde_heap_forms *forms);

#define SONDE_HEAP_BLOCK_MAX_B ((UINT64_C(1) << 48) - 1) /* larger sizes are recorded as this */

/* The form of a size and a non-zero site. 0 = out of memory, or too many forms. */
uint32_t sonde_heap_forms_id(struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b);

/* --- prefetching, when there are too many forms for the cache ---------------------------------------------------- */

#define SONDE_HEAP_FORMS_MANY 4096u

static inline int sonde_heap_forms_are_many(const struct sonde_heap_forms *forms)
{
	return forms->used >= SONDE_HEAP_FORMS_MANY;
}

static inline uint32_t sonde_heap_forms_home(const struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b)
{
	uint64_t mixed = site * UINT64_C(0x9e3779b97f4a7c15) + size_b * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(mixed >> (64 - forms->bits));
}

/* Prefetches for a later lookup: first the index slot, and some time later the row itself. */
static inline void sonde_heap_forms_expect(const struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b)
{
	__builtin_prefetch(&forms->index[sonde_heap_forms_home(forms, site, size_b)]);
}

/* The form that a lookup would most likely find; 0 = none. */
static inline uint32_t sonde_heap_forms_likely(const struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b)
{
	return forms->index[sonde_heap_forms_home(forms, site, size_b)];
}

static inline void sonde_heap_forms_expect_row(const struct sonde_heap_forms *forms, uint32_t id)
{
	__builtin_prefetch(&forms->row[id], 1);
}

/* Between chunks: removes forms without live blocks if there are many. */
void sonde_heap_forms_sweep(struct sonde_heap_forms *forms);

#endif
