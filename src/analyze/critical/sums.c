/* sums.c: time of a critical path by key. */
#include "analyze/critical/sums.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/error.h"

/* Multiplication by an odd number is a bijection, so different keys have different hashes. */
struct sonde_critical_sum *sonde_critical_sum_of(struct sonde_critical_sums *sums, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = sonde_map_find(&sums->of, hash, NULL, NULL);
	if (at)
		return &sums->row[at - 1];
	if (SONDE_ARRAY_RESERVE(sums->row, sums->cap, sums->count + 1))
		return NULL;
	if (sonde_map_add(&sums->of, hash, (uint32_t)sums->count + 1))
		return NULL;
	sums->row[sums->count] = (struct sonde_critical_sum){.key = key};
	return &sums->row[sums->count++];
}

int sonde_critical_sum_add(struct sonde_critical_sums *sums, uint64_t key, uint64_t ns, uint64_t count)
{
	struct sonde_critical_sum *sum = ns ? sonde_critical_sum_of(sums, key) : NULL;
	if (!ns)
		return 0;
	if (!sum)
		return sonde_error(ENOMEM, "out of memory for elements of the critical path");
	sum->ns += ns;
	sum->count += count;
	return 0;
}

void sonde_critical_sums_fini(struct sonde_critical_sums *sums)
{
	free(sums->row);
	sonde_map_fini(&sums->of);
	*sums = (struct sonde_critical_sums){0};
}
