/* holds.c: the holds of one lock, with uncontended ones inferred from the others (critical/holds.h). */
#include "analyze/critical/holds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

enum { LEAST = 3, SAME_NS = 1000 }; /* a hold begins within SAME_NS of the end of the wait before it */

int sonde_critical_holds_wants(const struct sonde_batch *batch, size_t i)
{
	unsigned kind = batch->waits.kind[i];
	if (kind == SONDE_WAIT_HELD)
		return 1;
	return (kind == SONDE_WAIT_MUTEX || kind == SONDE_WAIT_WRITE_LOCK) && !batch->waits.amount[i] &&
	       !(batch->waits.status[i] & SONDE_WAIT_SAMPLED);
}

static int add(struct sonde_critical_holds *holds, struct sonde_critical_hold row)
{
	if (SONDE_ARRAY_RESERVE(holds->row, holds->cap, holds->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu holds of a lock", holds->count + 1);
	holds->row[holds->count++] = row;
	return 0;
}

int sonde_critical_holds_take(struct sonde_critical_holds *holds, const struct sonde_batch *batch, size_t i)
{
	return add(holds, (struct sonde_critical_hold){.from_ns = batch->waits.start_ns[i],
						       .to_ns = batch->waits.start_ns[i] + batch->waits.dur_ns[i],
						       .thread = batch->waits.thread[i],
						       .is_hold = batch->waits.kind[i] == SONDE_WAIT_HELD});
}

void sonde_critical_holds_fini(struct sonde_critical_holds *holds)
{
	free(holds->row);
	*holds = (struct sonde_critical_holds){0};
}

static int compare_rows(const void *left, const void *right)
{
	const struct sonde_critical_hold *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int compare_lengths(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* Median length; 0 = too few holds were recorded. -ENOMEM. */
static int median_ns(const struct sonde_critical_holds *holds, uint64_t *out)
{
	uint64_t *lengths = malloc((holds->count + 1) * sizeof *lengths);
	size_t count = 0;
	*out = 0;
	if (!lengths)
		return sonde_error(ENOMEM, "out of memory for %zu holds of a lock", holds->count);
	for (size_t i = 0; i < holds->count; i++)
		if (holds->row[i].is_hold)
			lengths[count++] = holds->row[i].to_ns - holds->row[i].from_ns;
	if (count >= LEAST) {
		qsort(lengths, count, sizeof *lengths, compare_lengths);
		*out = lengths[(count - 1) / 2];
	}
	free(lengths);
	return 0;
}

static int has_lost_calls(const struct sonde_session *session)
{
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		if (!strcmp(sonde_session_lost(session, i)->source, "waits"))
			return 1;
	return 0;
}

/* Time from the end of a wait until its thread requests the lock again, or exits; 0 = the hold that follows was
 * recorded. */
static uint64_t capacity_ns(const struct sonde_critical_holds *holds, size_t i, size_t recorded,
			    const struct sonde_critical *critical)
{
	const struct sonde_critical_hold *wait = &holds->row[i];
	uint64_t to_ns = critical->lives[wait->thread].end_ns;
	for (size_t k = i + 1; k < recorded && holds->row[k].thread == wait->thread; k++) {
		const struct sonde_critical_hold *next = &holds->row[k];
		if (next->is_hold && next->from_ns + SAME_NS >= wait->to_ns && next->from_ns <= wait->to_ns + SAME_NS)
			return 0;
		if (next->from_ns > wait->to_ns) {
			to_ns = next->from_ns < to_ns ? next->from_ns : to_ns;
			break;
		}
	}
	return to_ns > wait->to_ns ? to_ns - wait->to_ns : 0;
}

int sonde_critical_holds_finish(struct sonde_critical_holds *holds, const struct sonde_critical *critical)
{
	uint64_t usual_ns;
	size_t recorded = holds->count;
	int rc = median_ns(holds, &usual_ns);
	if (rc || !usual_ns || has_lost_calls(critical->session))
		return rc;
	qsort(holds->row, recorded, sizeof *holds->row, compare_rows);
	for (size_t i = 0; !rc && i < recorded; i++) {
		const struct sonde_critical_hold wait = holds->row[i];
		if (wait.is_hold || !wait.thread || wait.thread > critical->threads)
			continue;
		uint64_t most_ns = capacity_ns(holds, i, recorded, critical);
		if (!most_ns)
			continue;
		uint64_t to_ns = wait.to_ns + (usual_ns < most_ns ? usual_ns : most_ns);
		rc = add(holds, (struct sonde_critical_hold){wait.to_ns, to_ns, wait.thread, 1});
		holds->assumed += !rc;
	}
	return rc;
}
