/* causes_find.c: determines which thread unblocked a thread, or created it. */

#include "analyze/critical/causes.h"
#include "util/search.h"

#define EXITING_NS 5000000u /* a thread unblocks its joiner before its exit is recorded */

enum { NEAR = 16 };

/* Index of the first release of a key at or after a time. Queries are roughly in time order, so the search starts at
 * the last result. */
static size_t first_release(const struct sonde_critical_causes *causes, uint64_t key, uint64_t from_ns)
{
	const struct sonde_critical_release *releases = causes->releases.data;
	size_t at = causes->hint[key], first = causes->begin[key], end = causes->begin[key + 1];
	if (at > first && releases[at - 1].at_ns >= from_ns)
		return causes->hint[key] = SONDE_SEARCH(i, first, at, releases[i].at_ns < from_ns);
	for (int steps = 0; at < end && releases[at].at_ns < from_ns; at++)
		if (++steps == NEAR)
			at = SONDE_SEARCH(i, at, end, releases[i].at_ns < from_ns) - 1;
	return causes->hint[key] = at;
}

/* The last (or first) release by another thread during the call. NULL = none. */
static const struct sonde_critical_release *find_release(const struct sonde_critical_causes *causes,
							 const struct sonde_critical_call *call, uint64_t key,
							 int is_first)
{
	const struct sonde_critical_release *releases = causes->releases.data;
	size_t from = first_release(causes, key, call->from_ns), to = first_release(causes, key, call->to_ns + 1);
	if (to == from)
		return NULL;
	const struct sonde_critical_release *found = &releases[is_first ? from : to - 1];
	return found->thread == call->thread ? NULL : found;
}

/* Finds the exit that ended the call: the only exit with the key `of` during the call. */
static void find_end(const struct sonde_critical_causes *causes, const struct sonde_critical_call *call, uint64_t of,
		     struct sonde_critical_cause *out)
{
	size_t from = SONDE_SEARCH(i, 0, causes->end_count,
				   causes->ends[i].of < of ||
				       (causes->ends[i].of == of && causes->ends[i].at_ns <= call->from_ns));
	const struct sonde_critical_end *only = NULL;
	for (size_t i = from; i < causes->end_count && causes->ends[i].of == of; i++) {
		const struct sonde_critical_end *end = &causes->ends[i];
		if (end->at_ns > call->to_ns + EXITING_NS ||
		    (only && only->at_ns <= call->to_ns && end->at_ns > call->to_ns))
			break;
		if (end->thread == call->thread)
			continue;
		if (only)
			return;
		only = end;
	}
	if (!only)
		return;
	out->thread = only->thread;
	out->at_ns = only->at_ns < call->to_ns ? only->at_ns : call->to_ns;
}

/* Finds the exit that ended the call, if the call names the thread or process that it waited for. */
static void find_named(const struct sonde_critical_causes *causes, const struct sonde_critical_call *call,
		       struct sonde_critical_cause *out)
{
	const struct sonde_thread *thread = sonde_session_thread(causes->session, call->other);
	const struct sonde_thread *self = sonde_session_thread(causes->session, call->thread);
	const struct sonde_process *process = thread ? sonde_session_process(causes->session, thread->process) : NULL;
	int is_child = call->kind == SONDE_WAIT_CHILD;
	uint32_t id = call->other;
	/* Ids from another pid namespace may be those of other tasks. */
	if (!process || (is_child ? process->parent : process->id) != self->process)
		return;
	if (is_child && causes->last_of[process->id])
		id = causes->last_of[process->id];
	thread = sonde_session_thread(causes->session, id);
	if (!thread->end_ns || thread->end_ns <= call->from_ns)
		return;
	out->thread = id;
	out->at_ns = thread->end_ns < call->to_ns ? thread->end_ns : call->to_ns;
}

static void find_lock(const struct sonde_critical_causes *causes, const struct sonde_critical_call *call,
		      struct sonde_critical_cause *out)
{
	const struct sonde_critical_release *release =
	    find_release(causes, call, sonde_critical_cause_key(call->object, SONDE_CRITICAL_KEY_LOCK), 0);
	int can_hold =
	    call->kind == SONDE_WAIT_MUTEX || call->kind == SONDE_WAIT_WRITE_LOCK || call->kind == SONDE_WAIT_READ_LOCK;
	if (release) {
		out->thread = release->thread;
		out->at_ns = release->at_ns;
	} else if (can_hold && call->other && call->other != call->thread) {
		out->thread = call->other;
		out->at_ns = call->to_ns;
		out->is_held = 1;
	}
}

static void find_pipe(const struct sonde_critical_causes *causes, const struct sonde_critical_call *call,
		      struct sonde_critical_cause *out)
{
	uint32_t what = sonde_critical_is_taking(call->kind) ? SONDE_CRITICAL_KEY_WRITTEN : SONDE_CRITICAL_KEY_READ;
	const struct sonde_critical_release *release =
	    find_release(causes, call, sonde_critical_cause_key(causes->pipe_of[call->object], what), 1);
	if (!release)
		return;
	out->thread = release->thread;
	out->at_ns = release->at_ns;
}

struct sonde_critical_cause sonde_critical_causes_find(const struct sonde_critical_causes *causes,
						       const struct sonde_critical_call *call)
{
	struct sonde_critical_cause cause = {.object = call->object, .kind = call->kind};
	const struct sonde_thread *thread = sonde_session_thread(causes->session, call->thread);
	uint32_t process = thread->process <= causes->processes ? thread->process : 0;
	int is_whole = !causes->lossy[process] && !causes->lossy[0];
	if (call->kind == SONDE_WAIT_JOIN || call->kind == SONDE_WAIT_CHILD) {
		int is_child = call->kind == SONDE_WAIT_CHILD;
		if (call->other)
			find_named(causes, call, &cause);
		else
			find_end(causes, call, sonde_critical_cause_key(process, is_child ? 1 : 0), &cause);
		return cause;
	}
	if (!call->object || call->object > causes->objects)
		return cause;
	if (sonde_wait_row(call->kind)->group == SONDE_WAIT_GROUP_LOCK && is_whole)
		find_lock(causes, call, &cause);
	else if (causes->pipe_of[call->object] && !causes->is_lossy &&
		 (sonde_critical_is_taking(call->kind) || sonde_critical_is_giving(call->kind)))
		find_pipe(causes, call, &cause);
	return cause;
}

/* The only thread of a process alive at a time, not counting `but`; 0 = none or several. */
static uint32_t only_thread(const struct sonde_critical_causes *causes, uint32_t process, uint64_t at_ns, uint32_t but)
{
	uint64_t of = sonde_critical_cause_key(process, 0);
	const struct sonde_critical_end *starts = causes->starts, *ends = causes->ends;
	size_t first = SONDE_SEARCH(i, 0, causes->threads, starts[i].of < of);
	size_t from = SONDE_SEARCH(i, first, causes->threads, starts[i].of == of && starts[i].at_ns <= at_ns);
	size_t first_end = SONDE_SEARCH(i, 0, causes->end_count, ends[i].of < of);
	size_t to = SONDE_SEARCH(i, first_end, causes->end_count, ends[i].of == of && ends[i].at_ns < at_ns);
	uint32_t left = causes->started[from] ^ causes->started[first] ^ causes->ended[to] ^ causes->ended[first_end];
	size_t count = (from - first) - (to - first_end);
	if (but) {
		left ^= but;
		count--;
	}
	return count == 1 ? left : 0;
}

uint32_t sonde_critical_causes_creator(const struct sonde_critical_causes *causes, uint32_t id)
{
	const struct sonde_thread *thread = sonde_session_thread(causes->session, id);
	const struct sonde_process *process = sonde_session_process(causes->session, thread->process);
	if (!process)
		return 0;
	if (thread->tid == process->pid)
		return process->parent ? only_thread(causes, process->parent, thread->start_ns, 0) : 0;
	return only_thread(causes, process->id, thread->start_ns, id);
}
