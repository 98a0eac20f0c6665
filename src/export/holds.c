/* holds.c: when locks were released, sorted by lock and time.
 *
 * Hooks record the end of a hold before unlocking, and the end of a wait after locking. A waiter was therefore
 * unblocked by the last release of the lock before the end of the wait, if that release came after the begin of the
 * wait. If calls were lost or are unreadable, the actual last holder may be missing from the recording, so the holder
 * counts as unknown.
 */
#include "export/holds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

/* True if all calls on a lock were recorded. */
static int is_whole(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_object *object = sonde_session_object(session, id);
	for (size_t i = 0; object && i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(session, i);
		if (lost->process == object->process && !strcmp(lost->source, "waits"))
			return 0;
	}
	return object && !sonde_session_damaged_b(session);
}

int sonde_holds_add(struct sonde_holds *holds, const struct sonde_batch *batch, size_t i)
{
	if (sonde_wait_row(batch->waits.kind[i])->group != SONDE_WAIT_GROUP_HELD || !batch->waits.object[i] ||
	    !batch->waits.dur_ns[i]) /* posting a semaphore or signalling a condition is not a hold */
		return 0;
	if (SONDE_ARRAY_RESERVE(holds->rows, holds->cap, holds->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu holds of locks", holds->count + 1);
	holds->rows[holds->count++] = (struct sonde_hold){.end_ns = batch->waits.start_ns[i] + batch->waits.dur_ns[i],
							  .object = batch->waits.object[i],
							  .thread = batch->waits.thread[i]};
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct sonde_hold *a = left, *b = right;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

void sonde_holds_sort(struct sonde_holds *holds)
{
	if (holds->count)
		qsort(holds->rows, holds->count, sizeof *holds->rows, compare);
}

void sonde_holds_fini(struct sonde_holds *holds)
{
	free(holds->rows);
	*holds = (struct sonde_holds){0};
}

/* Returns the last hold of a lock that ended by `time_ns`; NULL = none is known. */
static struct sonde_hold *last_until(const struct sonde_holds *holds, uint32_t object, uint64_t time_ns)
{
	size_t next = SONDE_SEARCH(i, 0, holds->count,
				   holds->rows[i].object < object ||
				       (holds->rows[i].object == object && holds->rows[i].end_ns <= time_ns));
	return next && holds->rows[next - 1].object == object ? &holds->rows[next - 1] : NULL;
}

struct sonde_hold *sonde_holds_giver(const struct sonde_holds *holds, const struct sonde_session *session,
				     const struct sonde_format_options *options, const struct sonde_batch *batch,
				     size_t i)
{
	uint64_t start_ns = batch->waits.start_ns[i], end_ns = start_ns + batch->waits.dur_ns[i];
	uint32_t waiter = batch->waits.thread[i];
	if (sonde_wait_row(batch->waits.kind[i])->group != SONDE_WAIT_GROUP_LOCK || !batch->waits.dur_ns[i] ||
	    batch->waits.status[i] & SONDE_WAIT_SAMPLED || !sonde_selection_takes(&options->selection, end_ns, waiter))
		return NULL;
	struct sonde_hold *hold = last_until(holds, batch->waits.object[i], end_ns);
	if (!hold || hold->thread == waiter || hold->end_ns < start_ns || !is_whole(session, hold->object) ||
	    !sonde_selection_takes(&options->selection, hold->end_ns, hold->thread))
		return NULL;
	return hold;
}
