/* longest.c: selects the longest steps of a critical path: finds the length of the shortest step to keep. */
#include "analyze/critical/longest.h"

#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

static uint64_t length_ns(const struct sonde_critical_path *path, size_t i)
{
	return sonde_critical_step_end(path, i) - path->steps[i].from_ns;
}

static int compare_lengths(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a < b) - (a > b);
}

int sonde_critical_longest_find(struct sonde_critical_longest *out, const struct sonde_critical_path *path,
				size_t limit)
{
	*out = (struct sonde_critical_longest){.path = path, .count = path->count, .ties = path->count};
	if (path->count <= limit)
		return 0;
	uint64_t *lengths = malloc(path->count * sizeof *lengths);
	if (!lengths)
		return sonde_error(ENOMEM, "out of memory for %zu steps", path->count);
	for (size_t i = 0; i < path->count; i++)
		lengths[i] = length_ns(path, i);
	qsort(lengths, path->count, sizeof *lengths, compare_lengths);
	out->count = limit;
	out->least_ns = lengths[limit - 1];
	for (out->ties = 1; out->ties < limit && lengths[limit - 1 - out->ties] == out->least_ns; out->ties++)
		;
	free(lengths);
	return 0;
}

size_t sonde_critical_longest_next(struct sonde_critical_longest *longest)
{
	const struct sonde_critical_path *path = longest->path;
	while (longest->at < path->count) {
		size_t i = longest->at++;
		uint64_t ns = length_ns(path, i);
		if (ns < longest->least_ns || (ns == longest->least_ns && !longest->ties))
			continue;
		longest->ties -= ns == longest->least_ns;
		return i;
	}
	return path->count;
}
