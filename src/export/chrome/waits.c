/* waits.c: blocking calls, as complete events on their threads: "mutex", "read".
 *
 * Calls are written in the order in which they are read. A thread is in one call at a time, or in a nested one made by
 * a signal handler, and a zone lies either inside a call or around it, so everything nests. Calls are clipped to the
 * selected time, like the weights of stacks, so their sum equals that of the flame graph. The time for which a lock was
 * held while others waited is not a wait of its thread, and would overlap that thread's own waits.
 *
 * A million calls would make a file of 160 MB. If there are many, a first pass counts durations, and short calls share
 * slices named "calls", as states do (tracks/share.h), with the sums of their time by kind and of their bytes. Calls of
 * a thread come in the order of their ends, except those of signal handlers. A shared slice therefore ends where a
 * longer call that was in progress begins, so that slices nest; its sums still include all of its calls.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/calls.h"
#include "export/chrome/event.h"
#include "export/holds.h"
#include "tracks/share.h"
#include "export/stacks.h"
#include "util/error.h"

/* Per thread: first the sums over all of its calls, later the calls that share the current slice. */
struct shared {
	uint64_t from_ns, to_ns, calls, bytes, looks;
	uint64_t long_to_ns; /* end of the latest call with its own slice */
	uint64_t ns[SONDE_WAIT_KINDS];
};

struct sonde_chrome_calls {
	struct sonde_track_share share;
	struct sonde_selection range;
	struct shared *shared; /* by thread id */
	size_t threads;
	struct sonde_holds holds;
};

/* Writes a call's bytes; nothing for calls that transfer no data, such as open(). */
static void put_bytes(struct sonde_chrome *chrome, uint32_t kind, uint64_t amount)
{
	int moves = kind == SONDE_WAIT_READ || kind == SONDE_WAIT_WRITE || kind == SONDE_WAIT_SEND ||
		    kind == SONDE_WAIT_RECEIVE;
	if (moves || (amount && sonde_wait_row(kind)->group != SONDE_WAIT_GROUP_LOCK))
		sonde_json_put_uint(&chrome->json, "bytes", amount);
}

static void put_holder(struct sonde_chrome *chrome, uint32_t id)
{
	const struct sonde_thread *thread = sonde_session_thread(chrome->session, id);
	if (!thread)
		return;
	sonde_json_put_text(&chrome->json, "held_by", thread->name);
	sonde_json_put_uint(&chrome->json, "held_by_tid", thread->tid);
}

static void begin_slice(struct sonde_chrome *chrome, const char *name, uint32_t thread, uint64_t from_ns,
			uint64_t to_ns)
{
	struct sonde_chrome_event event = {
	    .phase = "X", .name = name, .category = "wait", .thread = thread, .time_ns = from_ns};
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", to_ns - from_ns);
	sonde_chrome_args(chrome);
	chrome->wait_slices++;
}

static void put_unlock(struct sonde_chrome *chrome, const struct sonde_hold *hold)
{
	struct sonde_chrome_event event = {
	    .phase = "X", .name = "unlock", .category = "lock", .thread = hold->thread, .time_ns = hold->end_ns};
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", 0);
	sonde_chrome_args(chrome);
	sonde_chrome_object(chrome, hold->object);
	sonde_chrome_end(chrome);
}

/* Writes an arrow from the release of the lock to the end of the call in row i, if it is known which thread released
 * the lock. The arrow has slices at both ends: a zero-length "unlock" and the waiter's call. Calls that share slices
 * have no arrows, which bounds the number of arrows. */
static void put_arrow(struct sonde_chrome *chrome, const struct sonde_batch *batch, size_t i)
{
	uint64_t end_ns = batch->waits.start_ns[i] + batch->waits.dur_ns[i];
	uint32_t waiter = batch->waits.thread[i];
	struct sonde_hold *hold = sonde_holds_giver(&chrome->calls->holds, chrome->session, chrome->options, batch, i);
	if (!hold)
		return;
	if (!hold->is_put)
		put_unlock(chrome, hold);
	hold->is_put = 1;
	struct sonde_chrome_moment from = {.thread = hold->thread, .time_ns = hold->end_ns};
	/* The end of a slice is exclusive. */
	struct sonde_chrome_moment to = {.thread = waiter,
					 .time_ns = end_ns - 1 > hold->end_ns ? end_ns - 1 : hold->end_ns};
	sonde_chrome_arrow(chrome, "unlock", ++chrome->lock_arrows, &from, &to);
}

static void put_call(struct sonde_chrome *chrome, const struct sonde_call *call, const struct sonde_batch *batch,
		     size_t i)
{
	const char *kind = sonde_wait_row(call->kind)->name;
	begin_slice(chrome, kind, call->thread, call->from_ns, call->to_ns);
	sonde_json_put_text(&chrome->json, "kind", kind);
	sonde_chrome_object(chrome, call->object);
	if (call->status & SONDE_WAIT_SAMPLED) /* the number of times it was sampled from outside */
		sonde_json_put_uint(&chrome->json, "sampled_looks", call->amount);
	else
		put_bytes(chrome, call->kind, call->amount);
	put_holder(chrome, call->other);
	sonde_chrome_end(chrome);
	put_arrow(chrome, batch, i);
}

/* --- shared slices ----------------------------------------------------------------------------------------------- */

static void end_shared(struct sonde_chrome *chrome, uint32_t thread)
{
	struct shared *shared = &chrome->calls->shared[thread];
	struct sonde_json *json = &chrome->json;
	if (!shared->calls)
		return;
	begin_slice(chrome, "calls", thread, shared->from_ns, shared->to_ns);
	sonde_json_put_uint(json, "calls", shared->calls);
	sonde_json_put_object(json, "waited_ns");
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++)
		if (shared->ns[kind])
			sonde_json_put_uint(json, sonde_wait_row(kind)->name, shared->ns[kind]);
	sonde_json_end(json);
	if (shared->bytes)
		sonde_json_put_uint(json, "bytes", shared->bytes);
	if (shared->looks)
		sonde_json_put_uint(json, "sampled_looks", shared->looks);
	sonde_chrome_end(chrome);
	chrome->waits_shared += shared->calls;
	*shared = (struct shared){.long_to_ns = shared->long_to_ns};
}

/* Called before a call with its own slice is written: ends the shared slice. */
static void pass_long(struct sonde_chrome *chrome, const struct sonde_call *call)
{
	struct shared *shared = &chrome->calls->shared[call->thread];
	if (shared->from_ns < call->from_ns && shared->to_ns > call->from_ns)
		shared->to_ns = call->from_ns;
	end_shared(chrome, call->thread);
	if (call->to_ns > shared->long_to_ns)
		shared->long_to_ns = call->to_ns;
}

static void share(struct sonde_chrome *chrome, const struct sonde_call *call)
{
	struct sonde_chrome_calls *calls = chrome->calls;
	struct shared *shared = &calls->shared[call->thread];
	int is_apart = call->from_ns < shared->from_ns || call->to_ns - shared->from_ns > calls->share.grid_ns ||
		       (shared->from_ns < shared->long_to_ns && call->to_ns > shared->long_to_ns);
	if (shared->calls && is_apart)
		end_shared(chrome, call->thread);
	if (!shared->calls)
		shared->from_ns = call->from_ns;
	if (call->to_ns > shared->to_ns)
		shared->to_ns = call->to_ns;
	shared->calls++;
	shared->ns[call->kind] += call->to_ns - call->from_ns;
	if (call->status & SONDE_WAIT_SAMPLED)
		shared->looks += call->amount;
	else if (sonde_wait_row(call->kind)->group != SONDE_WAIT_GROUP_LOCK)
		shared->bytes += call->amount;
}

/* --- all calls --------------------------------------------------------------------------------------------------- */

static int count(void *context, const struct sonde_batch *batch)
{
	struct sonde_chrome_calls *calls = context;
	struct sonde_call call;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		rc = sonde_holds_add(&calls->holds, batch, i);
		if (!sonde_call_take(&call, &calls->range, batch, i))
			continue;
		struct shared *shared = &calls->shared[call.thread];
		sonde_track_share_count(&calls->share, call.to_ns - call.from_ns);
		if (!shared->calls++ || call.from_ns < shared->from_ns)
			shared->from_ns = call.from_ns;
		if (call.to_ns > shared->to_ns)
			shared->to_ns = call.to_ns;
	}
	return rc;
}

int sonde_chrome_waits_begin(struct sonde_chrome *chrome)
{
	const struct sonde_format_options *options = chrome->options;
	const struct sonde_selection wanted = options->selection;
	struct sonde_chrome_calls *calls = chrome->calls = calloc(1, sizeof *calls);
	size_t threads = sonde_session_thread_count(chrome->session) + 1;
	if (calls)
		calls->shared = calloc(threads, sizeof *calls->shared);
	if (!calls || !calls->shared)
		return sonde_error(ENOMEM, "out of memory for calls of %zu threads", threads);
	calls->threads = threads;
	calls->range = sonde_weigh_range(chrome->session, &wanted);
	int rc = sonde_session_batches(chrome->session, 1u << SONDE_CHUNK_WAITS, count, calls);
	if (rc)
		return rc;
	sonde_holds_sort(&calls->holds);
	for (size_t i = 0; i < threads; i++) {
		calls->share.lives_ns += calls->shared[i].to_ns - calls->shared[i].from_ns;
		calls->shared[i] = (struct shared){0};
	}
	sonde_track_share_choose(&calls->share);
	chrome->waits_least_ns = calls->share.least_ns;
	return 0;
}

void sonde_chrome_waits(struct sonde_chrome *chrome, const struct sonde_batch *batch)
{
	struct sonde_call call;
	for (size_t i = 0; i < batch->count; i++) {
		if (!sonde_call_take(&call, &chrome->calls->range, batch, i))
			continue;
		if (call.to_ns - call.from_ns < chrome->calls->share.least_ns) {
			share(chrome, &call);
			continue;
		}
		pass_long(chrome, &call);
		put_call(chrome, &call, batch, i);
	}
}

void sonde_chrome_waits_end(struct sonde_chrome *chrome)
{
	for (uint32_t id = 0; id < chrome->calls->threads; id++)
		end_shared(chrome, id);
}

void sonde_chrome_waits_fini(struct sonde_chrome *chrome)
{
	if (chrome->calls) {
		free(chrome->calls->shared);
		sonde_holds_fini(&chrome->calls->holds);
	}
	free(chrome->calls);
}
