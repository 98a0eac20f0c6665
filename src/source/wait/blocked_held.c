/* blocked_held.c: an array, in the order in which the waits were seen. */
#include "source/wait/blocked_held.h"
#include "util/array.h"

#include <stdlib.h>

#define HELD_MAX 200000u

void sonde_blocked_held_init(struct sonde_blocked_held *held, struct sonde_recorder *recorder)
{
	*held = (struct sonde_blocked_held){.recorder = recorder};
	sonde_wait_chunks_init(&held->chunks, recorder);
}

void sonde_blocked_held_fini(struct sonde_blocked_held *held)
{
	sonde_wait_chunks_flush(&held->chunks);
	sonde_wait_chunks_fini(&held->chunks);
	free(held->rows);
}

void sonde_blocked_held_add(struct sonde_blocked_held *held, const struct sonde_blocked_seen *seen)
{
	if (held->count >= 2 * HELD_MAX || SONDE_ARRAY_RESERVE(held->rows, held->cap, held->count + 1)) {
		held->unheld++;
		return;
	}
	held->rows[held->count++] = *seen;
}

static void put(struct sonde_blocked_held *held, const struct sonde_blocked_seen *seen)
{
	struct sonde_waits_row wait = seen->wait;
	int is_alive = sonde_recorder_alive(held->recorder, seen->pid) == seen->process;
	wait.thread = is_alive ? sonde_recorder_thread(held->recorder, seen->pid, seen->tid, wait.start_ns)
			       : sonde_recorder_known(held->recorder, seen->pid, seen->tid, wait.start_ns);
	held->unknown += !wait.thread;
	if (!wait.thread)
		return;
	held->looks += wait.amount;
	sonde_wait_chunks_put(&held->chunks, &wait);
}

void sonde_blocked_held_settle(struct sonde_blocked_held *held,
			       enum sonde_blocked_verdict (*evaluate)(const void *context,
								      const struct sonde_blocked_seen *seen),
			       const void *context)
{
	size_t kept = 0;
	for (size_t i = 0; i < held->count; i++) {
		enum sonde_blocked_verdict verdict = evaluate(context, &held->rows[i]);
		if (verdict == SONDE_BLOCKED_WRITE)
			put(held, &held->rows[i]);
		else if (verdict == SONDE_BLOCKED_WAIT)
			held->rows[kept++] = held->rows[i];
	}
	held->count = kept;
}
