/* forms.c: rows by id, found by a hash of site and size (heap/forms.h). */
#include "source/heap/forms.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST 64u
#define BITS_FIRST 8u
#define SWEEP_FIRST 65536u
#define LINE_B 64u

void sonde_heap_forms_fini(struct sonde_heap_forms *forms)
{
	free(forms->row);
	free(forms->index);
	*forms = (struct sonde_heap_forms){0};
}

static uint32_t last_of(const struct sonde_heap_forms *forms)
{
	return (uint32_t)(((uint64_t)1 << forms->bits) - 1);
}

static void put_id(struct sonde_heap_forms *forms, uint32_t id)
{
	uint32_t at = sonde_heap_forms_home(forms, forms->row[id].site, forms->row[id].size_b), last = last_of(forms);
	while (forms->index[at])
		at = (at + 1) & last;
	forms->index[at] = id;
}

static void fill_index(struct sonde_heap_forms *forms)
{
	for (uint32_t id = 1; id < forms->count; id++)
		if (forms->row[id].site)
			put_id(forms, id);
}

static int grow_index(struct sonde_heap_forms *forms)
{
	unsigned bits = forms->index ? forms->bits + 1 : BITS_FIRST;
	uint32_t *index = calloc((size_t)1 << bits, sizeof *index);
	if (!index)
		return -1;
	free(forms->index);
	forms->index = index;
	forms->bits = bits;
	fill_index(forms);
	return 0;
}

static int grow_rows(struct sonde_heap_forms *forms)
{
	uint32_t cap = forms->cap ? 2 * forms->cap : ROWS_FIRST;
	struct sonde_heap_form *row = aligned_alloc(LINE_B, cap * sizeof *row);
	if (!row)
		return -1;
	if (forms->row)
		memcpy(row, forms->row, forms->count * sizeof *row);
	free(forms->row);
	forms->row = row;
	forms->cap = cap;
	return 0;
}

/* Returns an unused row; 0 = none. */
static uint32_t take_row(struct sonde_heap_forms *forms)
{
	uint32_t id = forms->spare;
	if (id) {
		forms->spare = forms->row[id].row;
		return id;
	}
	if (forms->count == forms->cap && grow_rows(forms))
		return 0;
	forms->count += !forms->count; /* skip row 0 */
	return forms->count <= SONDE_HEAP_FORMS_MAX ? forms->count++ : 0;
}

static __attribute__((noinline)) uint32_t add(struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b)
{
	if ((!forms->index || forms->used >= 1u << (forms->bits - 1)) && grow_index(forms))
		return 0;
	uint32_t id = take_row(forms);
	if (!id)
		return 0;
	forms->row[id] = (struct sonde_heap_form){.size_b = size_b, .site = site};
	put_id(forms, id);
	forms->used++;
	return id;
}

uint32_t sonde_heap_forms_id(struct sonde_heap_forms *forms, uint32_t site, uint64_t size_b)
{
	size_b = size_b < SONDE_HEAP_BLOCK_MAX_B ? size_b : SONDE_HEAP_BLOCK_MAX_B;
	if (!forms->index)
		return add(forms, site, size_b);
	uint32_t last = last_of(forms);
	for (uint32_t at = sonde_heap_forms_home(forms, site, size_b); forms->index[at]; at = (at + 1) & last) {
		const struct sonde_heap_form *form = &forms->row[forms->index[at]];
		if (form->size_b == size_b && form->site == site)
			return forms->index[at];
	}
	return add(forms, site, size_b);
}

void sonde_heap_forms_sweep(struct sonde_heap_forms *forms)
{
	if (forms->used < (forms->sweep_at ? forms->sweep_at : SWEEP_FIRST))
		return;
	for (uint32_t id = 1; id < forms->count; id++) {
		struct sonde_heap_form *form = &forms->row[id];
		if (!form->site || form->live)
			continue;
		*form = (struct sonde_heap_form){.row = forms->spare};
		forms->spare = id;
		forms->used--;
	}
	forms->sweep_at = forms->used > SWEEP_FIRST / 2 ? 2 * forms->used : SWEEP_FIRST;
	memset(forms->index, 0, ((size_t)last_of(forms) + 1) * sizeof *forms->index);
	fill_index(forms);
}
