/* segments.c: growing arrays of segments of threads and their causes (critical/critical.h). */
#include <errno.h>
#include <stdlib.h>

#include "analyze/critical/segments.h"
#include "util/array.h"
#include "util/error.h"

uint64_t sonde_critical_from(const struct sonde_critical *critical, uint32_t thread, uint32_t segment)
{
	uint32_t previous = critical->segments[segment].previous;
	return previous ? critical->segments[previous].to_ns : critical->lives[thread].start_ns;
}

static int capacity(void **rows, size_t *cap, size_t count, size_t row_b)
{
	if (sonde_array_reserve(rows, cap, count + 1, row_b))
		return sonde_error(ENOMEM, "out of memory for %zu segments of threads", count + 1);
	return 0;
}

int sonde_critical_cause_add(struct sonde_critical *critical, uint32_t id, const struct sonde_critical_cause *cause)
{
	if (!cause->thread && !cause->kind && !cause->work)
		return 0;
	int rc =
	    capacity((void **)&critical->causes, &critical->cause_cap, critical->cause_count, sizeof *critical->causes);
	if (rc)
		return rc;
	critical->segments[id].cause = (uint32_t)critical->cause_count;
	critical->causes[critical->cause_count++] = *cause;
	return 0;
}

int sonde_critical_segment_new(struct sonde_critical *critical, uint32_t *out, struct sonde_critical_segment segment,
			       const struct sonde_critical_cause *cause)
{
	if (critical->count == UINT32_MAX)
		return sonde_error(EOVERFLOW, "more than %u segments of threads", UINT32_MAX);
	int rc = capacity((void **)&critical->segments, &critical->cap, critical->count, sizeof *critical->segments);
	if (rc)
		return rc;
	segment.cause = 0;
	critical->segments[critical->count] = segment;
	*out = (uint32_t)critical->count++;
	return sonde_critical_cause_add(critical, *out, cause);
}

void sonde_critical_fini(struct sonde_critical *critical)
{
	free(critical->segments);
	free(critical->causes);
	free(critical->lives);
	free(critical->works);
	*critical = (struct sonde_critical){0};
}
