/* forms.h: the forms of a heap's blocks: a form is a site and a size. One thread.
 *
 * Programs allocate the same sizes at the same places again and again: an event of a chunk is the number of a form, and
 * sums are made of forms when the chunk is written. Forms of which nothing is alive are forgotten now and then, so that
 * there are never more than twice as many as live blocks and one chunk have.
 */
#ifndef SONDE_SOURCE_HEAP_FORMS_H
#define SONDE_SOURCE_HEAP_FORMS_H

#include <stddef.h>
#include <stdint.h>

struct sonde_heap_form {
	uint64_t size_b;
	uint32_t site; /* 0 = an unused row */
	uint32_t live; /* blocks, as the last chunk left them */
	/* in the chunk that is being filled: */
	uint32_t row; /* + 1; 0 = none of it yet */
	uint32_t begins, ends, temporary;
};
_Static_assert(sizeof(struct sonde_heap_form) == 32, "memory a form; two in a line of the cache");

#define SONDE_HEAP_FORMS_MAX ((1u << 28) - 1)

/* Zeroed: none. */
struct sonde_heap_forms {
	struct sonde_heap_form *row; /* by id; row 0 is not used; aligned to lines of the cache */
	uint32_t count, cap;         /* rows */
	uint32_t spare;              /* the first unused row, the next in its `row`; 0 = none */
	uint32_t used;
	uint32_t sweep_at; /* when so many are used */
	uint32_t *index;   /* ids by hash; open addressing, at most half full */
	unsigned bits;
};

void sonde_heap_forms_fini(struct sonde_heap_forms *forms);

#define SONDE_HEAP_BLOCK_MAX_B ((UINT64_C(1) << 48) - 1) /* what is larger counts as this */

/* The form of a size and a site, which is not 0. 0 = no memory, or too many. */
uint32_t sonde_heap_forms_id(struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b);

/* --- where there are so many that they are not in the cache: asked for ahead -------------------------------------- */

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

/* A form will be looked for: first its place in the index, some time later itself. */
static inline void sonde_heap_forms_expect(const struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b)
{
	__builtin_prefetch(&forms->index[sonde_heap_forms_home(forms, site, size_b)]);
}

/* Which it most likely is; 0 = none. */
static inline uint32_t sonde_heap_forms_likely(const struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b)
{
	return forms->index[sonde_heap_forms_home(forms, site, size_b)];
}

static inline void sonde_heap_forms_expect_row(const struct sonde_heap_forms *forms, uint32_t id)
{
	__builtin_prefetch(&forms->row[id], 1);
}

/* Between chunks: forgets what is not alive when there is much of it. */
void sonde_heap_forms_sweep(struct sonde_heap_forms *forms);

#endif
