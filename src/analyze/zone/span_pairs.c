/* span_pairs.c: pairs the begins and ends of asynchronous spans.
 *
 * A span may end in another thread than it began in, and chunks of different threads are not in time order in the file:
 * so all begins and ends are kept and sorted by process, id and time. A reused id is a new span; an end that names its
 * site ends the last open span of that site with its id.
 */
#include "analyze/zone/span_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

struct pairing {
	const struct sonde_mark **open; /* open begins of the current id, oldest first */
	size_t open_count;
	uint64_t unmatched;
	int (*take)(void *context, const struct sonde_mark *begin, uint64_t dur_ns);
	void *context;
};

static int compare(const void *left, const void *right)
{
	const struct sonde_mark *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->type > b->type) - (a->type < b->type); /* at the same time, a begin precedes an end */
}

static int close_all(struct pairing *pairing)
{
	int rc = 0;
	for (size_t i = 0; i < pairing->open_count && rc == 0; i++)
		rc = pairing->take(pairing->context, pairing->open[i], SONDE_SPAN_OPEN);
	pairing->open_count = 0;
	return rc;
}

static int end(struct pairing *pairing, const struct sonde_mark *mark)
{
	size_t i = pairing->open_count;
	while (i > 0 && mark->site && pairing->open[i - 1]->site != mark->site)
		i--;
	if (i == 0) {
		pairing->unmatched++;
		return 0;
	}
	const struct sonde_mark *begin = pairing->open[i - 1];
	memmove(&pairing->open[i - 1], &pairing->open[i], (pairing->open_count - i) * sizeof *pairing->open);
	pairing->open_count--;
	return pairing->take(pairing->context, begin, mark->time_ns - begin->time_ns);
}

int sonde_span_pairs(struct sonde_annotations *marks,
		     int (*take)(void *context, const struct sonde_mark *begin, uint64_t dur_ns), void *context,
		     uint64_t *unmatched)
{
	struct pairing pairing = {.take = take, .context = context};
	int rc = 0;
	pairing.open = malloc((marks->count + 1) * sizeof *pairing.open);
	if (!pairing.open)
		return sonde_error(ENOMEM, "out of memory for spans");
	if (marks->count)
		qsort(marks->marks, marks->count, sizeof *marks->marks, compare);
	for (size_t i = 0; i < marks->count && rc == 0; i++) {
		const struct sonde_mark *mark = &marks->marks[i];
		if (i && (mark->id != mark[-1].id || mark->process != mark[-1].process))
			rc = close_all(&pairing);
		if (rc)
			break;
		if (mark->type == SONDE_EVENT_SPAN_BEGIN)
			pairing.open[pairing.open_count++] = mark;
		else
			rc = end(&pairing, mark);
	}
	rc = rc ? rc : close_all(&pairing);
	free(pairing.open);
	*unmatched = pairing.unmatched;
	return rc;
}
