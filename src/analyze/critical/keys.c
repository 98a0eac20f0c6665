/* keys.c: an index of activities and waits by correlation (critical/keys.h). */
#include "analyze/critical/keys.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "util/error.h"
#include "util/search.h"

static int compare(const void *left, const void *right)
{
	const struct sonde_critical_key *a = left, *b = right;
	int by = sonde_order(a->correlation, b->correlation);
	by = by ? by : sonde_order(a->process, b->process);
	by = by ? by : sonde_order(a->ended_ns, b->ended_ns);
	return by ? by : sonde_order(a->id, b->id);
}

int sonde_critical_keys_begin(struct sonde_critical_keys *keys, size_t most)
{
	keys->count = 0;
	free(keys->all);
	keys->all = malloc((most + 1) * sizeof *keys->all);
	return keys->all ? 0 : sonde_error(ENOMEM, "out of memory for %zu device activities", most);
}

void sonde_critical_keys_sort(struct sonde_critical_keys *keys)
{
	if (keys->count)
		qsort(keys->all, keys->count, sizeof *keys->all, compare);
}

int sonde_critical_keys_is(const struct sonde_critical_keys *keys, size_t at, uint64_t correlation, uint32_t process)
{
	return at < keys->count && keys->all[at].correlation == correlation && keys->all[at].process == process;
}

size_t sonde_critical_keys_find(const struct sonde_critical_keys *keys, uint64_t correlation, uint32_t process)
{
	const struct sonde_critical_key wanted = {.correlation = correlation, .process = process};
	return SONDE_SEARCH(i, 0, keys->count, compare(&keys->all[i], &wanted) < 0);
}

const struct sonde_critical_key *sonde_critical_keys_last(const struct sonde_critical_keys *keys, uint64_t correlation,
							  uint32_t process, uint64_t ended_ns)
{
	const struct sonde_critical_key wanted = {correlation, ended_ns, process, UINT32_MAX};
	size_t behind = SONDE_SEARCH(i, 0, keys->count, compare(&keys->all[i], &wanted) <= 0);
	return behind && sonde_critical_keys_is(keys, behind - 1, correlation, process) ? &keys->all[behind - 1] : NULL;
}
