/* call_stacks.c: stacks of device calls (device/call_stacks.h).
 *
 * A process copies a stack once and then refers to it by number, in the same ring (src/runtime/call_stack.c): so a
 * number is defined before it is used, unless its definition was lost. Mappings are not reported: /proc/PID/maps is
 * read when a process connects, and again for an unknown address, at most once per drain.
 */
#include "source/device/call_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "source/target/interposed.h"
#include "source/target/channel.h"
#include "util/array.h"
#include "util/error.h"

/* --- processes --------------------------------------------------------------------------------------------------- */

struct known {
	uint32_t stack;
	uint8_t status, is_there;
};

struct process {
	pid_t pid;
	uint64_t round; /* drain in which its mappings were last allowed to be read again */
	struct known *known;
	size_t count; /* size of `known`, which is indexed by number */
	struct process *next;
};

struct sonde_call_stacks {
	struct sonde_recorder *recorder;
	struct sonde_interposed interposed;
	struct sonde_channel *channel;
	struct sonde_channel_listener listener;
	struct process *processes; /* the newest lifetime of a pid first */
	uint64_t round;
	uint64_t unnamed, bad, unkept;
};

static struct process *find(const struct sonde_call_stacks *stacks, pid_t pid)
{
	struct process *process = stacks->processes;
	while (process && process->pid != pid)
		process = process->next;
	return process;
}

/* Reads the maps at once, since the process may exit before its stacks are unwound. */
static void read_now(struct sonde_call_stacks *stacks, pid_t pid)
{
	uint64_t now_ns = sonde_clock_now_ns();
	struct sonde_space *space = sonde_spaces_get(stacks->interposed.spaces, pid, now_ns);
	if (space)
		sonde_spaces_refresh(stacks->interposed.spaces, space, now_ns);
}

static void on_opened(void *context, pid_t pid, uint32_t clock)
{
	struct sonde_call_stacks *stacks = context;
	struct process *process = calloc(1, sizeof *process);
	(void)clock;
	if (!process)
		return;
	sonde_spaces_exec(stacks->interposed.spaces, pid, "");
	read_now(stacks, pid);
	process->pid = pid;
	process->next = stacks->processes;
	stacks->processes = process;
}

/* Ends the oldest lifetime of the pid. */
static void on_closed(void *context, pid_t pid)
{
	struct sonde_call_stacks *stacks = context;
	struct process **oldest = NULL;
	for (struct process **link = &stacks->processes; *link; link = &(*link)->next)
		if ((*link)->pid == pid)
			oldest = link;
	if (!oldest)
		return;
	struct process *process = *oldest;
	*oldest = process->next;
	free(process->known);
	free(process);
}

/* The entry for a stack's number; NULL if it cannot be stored. */
static struct known *known_of(struct sonde_call_stacks *stacks, struct process *process, uint32_t number)
{
	if (number >= SONDE_CALL_STACKS_MAX) {
		stacks->bad++;
		return NULL;
	}
	if (SONDE_ARRAY_RESERVE_ZEROS(process->known, process->count, (size_t)number + 1)) {
		stacks->unkept++;
		return NULL;
	}
	return &process->known[number];
}

static void allow_reading(struct sonde_call_stacks *stacks, struct process *process, uint64_t time_ns)
{
	struct sonde_space *space = sonde_spaces_get(stacks->interposed.spaces, process->pid, time_ns);
	if (!space || process->round == stacks->round)
		return;
	process->round = stacks->round;
	space->reread_ns = 0;
}

static struct known walk(struct sonde_call_stacks *stacks, struct process *process,
			 const struct sonde_event_call_stack *call)
{
	struct sonde_unwind_sample sample = {
	    .pid = process->pid,
	    .time_ns = call->head.time,
	    .has_user = 1,
	    .copy_only = 1, /* the live stack may differ from that of the recorded call */
	    .leaf_only = !call->sp,
	    .regs = {.pc = call->pc - 1, .sp = call->sp, .fp = call->fp}, /* pc is the return address */
	    .stack = (const uint8_t *)(call + 1),
	    .stack_b = (size_t)call->stack_b,
	};
	struct known walked = {.is_there = 1};
	allow_reading(stacks, process, call->head.time);
	walked.status = (uint8_t)sonde_unwinder_run(stacks->interposed.unwinder, &sample, &walked.stack);
	if (!call->sp)
		walked.status = SONDE_STACK_FORBIDDEN;
	return walked;
}

static void on_call(void *context, pid_t pid, uint32_t thread, const struct sonde_event_call_stack *call)
{
	struct sonde_call_stacks *stacks = context;
	struct process *process = find(stacks, pid);
	struct known *known = process && call->number ? known_of(stacks, process, call->number) : NULL, walked = {0};
	if (!process || (!call->correlation && ++stacks->bad))
		return;
	if (call->pc)
		walked = walk(stacks, process, call);
	else if (known)
		walked = *known;
	if (call->pc && known)
		*known = walked;
	if (!walked.is_there) {
		stacks->unnamed++;
		return;
	}
	struct sonde_call_stacks_row row = {
	    .time_ns = call->head.time,
	    .correlation = call->correlation,
	    .thread = thread,
	    .stack = walked.stack,
	    .status = walked.status,
	};
	sonde_recorder_call(stacks->recorder, &row);
}

/* --- public functions -------------------------------------------------------------------------------------------- */

int sonde_call_stacks_new(struct sonde_call_stacks **out, struct sonde_recorder *recorder,
			  struct sonde_channel *channel)
{
	struct sonde_call_stacks *stacks = calloc(1, sizeof *stacks);
	if (!stacks)
		return sonde_error(ENOMEM, "no memory for call stacks");
	stacks->recorder = recorder;
	stacks->channel = channel;
	stacks->listener = (struct sonde_channel_listener){
	    .context = stacks, .opened = on_opened, .call = on_call, .closed = on_closed};
	int code = sonde_interposed_init(&stacks->interposed, recorder);
	code = code ? code : sonde_channel_listen(channel, SONDE_LINK_ZONES, &stacks->listener);
	if (code) {
		sonde_interposed_fini(&stacks->interposed);
		free(stacks);
		return code;
	}
	*out = stacks;
	return 0;
}

void sonde_call_stacks_drain(struct sonde_call_stacks *stacks)
{
	stacks->round++;
	sonde_unwinder_begin(stacks->interposed.unwinder);
}

static void lose(const struct sonde_call_stacks *stacks, const char *cause, uint64_t count)
{
	sonde_recorder_lost(stacks->recorder,
			    &(struct sonde_recorder_loss){.source = "gpu", .cause = cause, .count = count});
}

void sonde_call_stacks_free(struct sonde_call_stacks *stacks)
{
	if (!stacks)
		return;
	sonde_channel_ignore(stacks->channel, &stacks->listener);
	while (stacks->processes)
		on_closed(stacks, stacks->processes->pid);
	lose(stacks, "call stacks with an unknown number", stacks->unnamed);
	lose(stacks, "invalid call stacks", stacks->bad);
	lose(stacks, "call stacks: out of memory", stacks->unkept);
	sonde_interposed_fini(&stacks->interposed);
	free(stacks);
}
