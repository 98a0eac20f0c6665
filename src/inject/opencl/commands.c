/* commands.c: commands in flight: an event is kept for each, and its times are read when it is complete
 * (opencl/opencl.h).
 *
 * Event callbacks are not used: drivers run them on threads of their own, at a cost of tens of µs. Instead, a thread
 * that makes a call anyway polls a queue's commands, oldest first: occasionally when it adds one, and when it waits,
 * flushes or releases. A command gets a callback only if it is the last one of a queue that is released with commands
 * in flight: there may be no later call, and our references would keep objects that the program has released. An
 * in-order queue is polled up to the first command that is not complete. The polling thread takes the whole list, so
 * that no lock is held while the driver is called; commands that are not complete go back to its front.
 */
#include <string.h>

#include "base/clock.h"
#include "inject/opencl/opencl.h"

enum {
	COMMANDS = 16384, /* in flight, over all queues */
	LOOK_EVERY = 32,  /* new commands of a queue between polls */
	LOOK_MOST = 256,  /* incomplete commands to poll in an out-of-order queue */
	BATCH = 64,
};

struct command {
	cl_event event;
	uint32_t operation, tid, queue, device;
	uint32_t next;
	uint8_t is_held;
	uint8_t is_counted; /* counted as lost: it is not reported any more */
	uint64_t from_ns, to_ns, correlation, size_b;
};

struct done {
	uint32_t at;
	cl_ulong queued_ns, submitted_ns, start_ns, end_ns; /* in the device's clock */
};

static struct command commands[COMMANDS]; /* used from [1] on; the lock protects those that are in no queue's list */
static uint32_t used = 1, spare;          /* first that was never used; list of free ones */

static const char too_many[] = "OpenCL: too many commands or queues";

/* --- polling ----------------------------------------------------------------------------------------------------- */

static void lost(const char *cause)
{
	sonde_activity_lost(cause, 1);
}

enum { NOT_YET, DONE, WITHOUT };

static int without(const struct done *done, const char *cause)
{
	if (!commands[done->at].is_counted)
		lost(cause);
	return WITHOUT;
}

static int times_of(struct done *done)
{
	static const cl_profiling_info what[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
						 CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
	cl_ulong *const out[] = {&done->queued_ns, &done->submitted_ns, &done->start_ns, &done->end_ns};
	cl_event event = commands[done->at].event;
	cl_int status = CL_QUEUED;
	if (opencl_next->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) ||
	    status < 0)
		return without(done, "OpenCL: the command failed");
	if (status != CL_COMPLETE)
		return NOT_YET;
	if (commands[done->at].is_counted)
		return WITHOUT;
	cl_int code = CL_SUCCESS;
	for (int i = 0; i < 4 && code == CL_SUCCESS; i++)
		code = opencl_next->clGetEventProfilingInfo(event, what[i], sizeof(*out[i]), out[i], NULL);
	/* Some drivers report a submission after the start: readers clamp that. */
	if (code != CL_SUCCESS || done->start_ns > done->end_ns || done->queued_ns > done->start_ns)
		return without(done, "OpenCL: the driver has no times, or wrong ones");
	return DONE;
}

static void free_command(uint32_t at)
{
	commands[at].event = NULL;
	commands[at].next = spare;
	spare = at;
}

/* Reports the commands of a batch. The device's clock is adjusted by all of them first, so that the times of the first
 * command are as accurate as those of the last. */
static void record(const struct done *batch, size_t count)
{
	struct sonde_activity recorded[BATCH];
	uint32_t device = commands[batch->at].device;
	struct opencl_clock *clock = opencl_device_clock(device);
	uint64_t now_ns = sonde_clock_now_ns(), oldest_ns = now_ns;
	opencl_lock();
	for (size_t i = 0; i < count; i++) {
		const struct command *command = &commands[batch[i].at];
		opencl_clock_seen(clock, &(struct opencl_seen){command->from_ns, command->to_ns, now_ns,
							       batch[i].queued_ns, batch[i].end_ns});
		oldest_ns = command->from_ns < oldest_ns ? command->from_ns : oldest_ns;
	}
	for (size_t i = 0; i < count; i++) {
		const struct command *command = &commands[batch[i].at];
		recorded[i] = (struct sonde_activity){
		    .operation = command->operation,
		    .queue = command->queue,
		    .tid = command->tid,
		    .queued_ns = command->from_ns,
		    .submitted_ns = opencl_clock_time(clock, batch[i].submitted_ns),
		    .start_ns = opencl_clock_time(clock, batch[i].start_ns),
		    .end_ns = opencl_clock_time(clock, batch[i].end_ns),
		    .correlation = command->correlation,
		    .size_b = command->size_b,
		};
	}
	opencl_unlock();
	for (size_t i = 0; i < count; i++)
		sonde_activity_add(&recorded[i]);
	opencl_device_say_error(device, oldest_ns);
}

/* Reports the commands of the batch, and releases them and those in the list `gone`; empties both. */
static void drop(struct done *batch, size_t *count, uint32_t *gone)
{
	if (*count)
		record(batch, *count);
	for (size_t i = 0; i < *count; i++) {
		commands[batch[i].at].next = *gone;
		*gone = batch[i].at;
	}
	for (uint32_t at = *gone; at; at = commands[at].next)
		opencl_next->clReleaseEvent(commands[at].event);
	opencl_lock();
	while (*gone) {
		uint32_t at = *gone;
		*gone = commands[at].next;
		free_command(at);
	}
	opencl_unlock();
	*count = 0;
}

struct list {
	uint32_t first, last;
};

static void append(struct list *list, uint32_t at)
{
	*(list->first ? &commands[list->last].next : &list->first) = at;
	list->last = at;
	commands[at].next = 0;
}

/* Polls the commands of a list; those that are not complete stay in it. */
static void look_at(struct list *list, int is_out_of_order)
{
	struct list remainder = {0, 0};
	struct done batch[BATCH];
	size_t count = 0, waiting = 0, most = is_out_of_order ? LOOK_MOST : 1;
	uint32_t gone = 0, at = list->first;
	while (at && waiting < most) {
		uint32_t next = commands[at].next;
		batch[count] = (struct done){.at = at};
		int state = times_of(&batch[count]);
		if (state == NOT_YET) {
			waiting++;
			append(&remainder, at);
		} else if (state == WITHOUT) {
			commands[at].next = gone;
			gone = at;
		} else if (++count == BATCH) {
			drop(batch, &count, &gone);
		}
		at = next;
	}
	if (count || gone)
		drop(batch, &count, &gone);
	if (at && remainder.first)
		commands[remainder.last].next = at;
	*list = remainder.first ? (struct list){remainder.first, at ? list->last : remainder.last}
				: (struct list){at, at ? list->last : 0};
}

/* Runs in a thread of the driver, or in the thread that registered it. */
static void CL_API_CALL call_back(cl_event event, cl_int status, void *unused)
{
	(void)event, (void)status, (void)unused;
	opencl_look(NULL);
}

/* Registers a callback for the last command of a list, which no other thread has. */
static void await(const struct list *list)
{
	if (list->first && opencl_next->clSetEventCallback)
		opencl_next->clSetEventCallback(commands[list->last].event, CL_COMPLETE, call_back, NULL);
}

/* Polls the queue's commands once. Called with the lock, which is released in between. */
static void look_once(struct opencl_queue *queue, int is_awaited)
{
	struct list list = {queue->first, queue->last};
	int is_out_of_order = queue->is_out_of_order;
	queue->first = queue->last = queue->fresh = 0;
	queue->refs++; /* keeps the queue alive */
	opencl_unlock();
	look_at(&list, is_out_of_order);
	if (is_awaited)
		await(&list);
	opencl_lock();
	queue->refs--;
	if (list.first) {
		commands[list.last].next = queue->first;
		queue->last = queue->first ? queue->last : list.last;
		queue->first = list.first;
	}
}

/* Polls a queue. Called with the lock, which is released in between. A queue that was released is polled twice: the
 * callback may run during the first poll, when it finds no commands, because this thread has taken them. */
static void look(struct opencl_queue *queue)
{
	int is_awaited = !queue->refs && queue->first && !queue->is_awaited;
	if (is_awaited)
		queue->is_awaited = 1;
	if (queue->first)
		look_once(queue, is_awaited);
	if (is_awaited && queue->first)
		look_once(queue, 0);
	opencl_queue_settle(queue);
}

void opencl_look(cl_command_queue handle)
{
	struct opencl_queue *queue;
	opencl_lock();
	if (handle && (queue = opencl_queue_find(handle)))
		look(queue);
	for (uint32_t i = 0; !handle && (queue = opencl_queue_at(i)); i++)
		if (queue->is_used)
			look(queue);
	opencl_unlock();
}

/* --- adding ------------------------------------------------------------------------------------------------------ */

/* Called with the lock. 0 = there are too many. */
static uint32_t take_command(void)
{
	uint32_t at = spare;
	if (at)
		spare = commands[at].next;
	else if (used < COMMANDS)
		at = used++;
	return at;
}

/* Takes ownership of the event. */
static void add(const struct opencl_call *call, const struct opencl_what *what, struct command *command)
{
	uint32_t at = 0;
	opencl_lock();
	struct opencl_queue *queue = opencl_queue_find(call->queue);
	if (queue && queue->number && (at = take_command())) {
		command->queue = queue->number;
		command->device = queue->device;
		command->is_held = call->event != &call->own;
		commands[at] = *command;
		if (queue->first)
			commands[queue->last].next = at;
		else
			queue->first = at;
		queue->last = at;
		/* After a blocking call, more commands are complete. */
		if (++queue->fresh >= LOOK_EVERY || what->is_blocking)
			look(queue);
	}
	opencl_unlock();
	if (at)
		return;
	lost(too_many);
	opencl_next->clReleaseEvent(command->event);
}

void opencl_begin(struct opencl_call *call, cl_command_queue handle, cl_event *event)
{
	*call = (struct opencl_call){.queue = handle, .event = event};
	if (!sonde_is_on())
		return;
	opencl_lock();
	const struct opencl_queue *queue = opencl_queue_find(handle);
	if (!queue || !queue->number)
		queue = opencl_queue_learn(handle);
	call->is_known = queue != NULL;
	call->is_timed = queue && queue->has_times;
	opencl_unlock();
	if (call->is_timed && !event)
		call->event = &call->own;
	call->from_ns = sonde_clock_now_ns();
}

static uint32_t operation_of(const struct opencl_what *what)
{
	struct sonde_operation_info info = {.kind = what->kind,
					    .name = what->name ? what->name : what->call,
					    .local_b = what->local_b,
					    .static_shared_b = what->shared_b,
					    .from = what->from,
					    .to = what->to};
	memcpy(info.grid, what->grid, sizeof(info.grid));
	memcpy(info.block, what->block, sizeof(info.block));
	return opencl_operation(&info);
}

cl_int opencl_end(struct opencl_call *call, cl_int code, const struct opencl_what *what)
{
	if (!call->from_ns)
		return code;
	struct command command = {.from_ns = call->from_ns, .to_ns = sonde_clock_now_ns(), .size_b = what->size_b};
	command.correlation = code == CL_SUCCESS ? opencl_correlation() : 0;
	opencl_host_end(&(struct opencl_host){.kind = what->is_blocking ? SONDE_OPERATION_SYNC : SONDE_OPERATION_API,
					      .call = what->call,
					      .from_ns = call->from_ns,
					      .correlation = command.correlation});
	if (code != CL_SUCCESS)
		return code;
	opencl_stack(command.correlation);
	if (!call->is_timed || !*call->event) {
		lost(call->is_known ? "OpenCL: the driver creates queues without times" : too_many);
		return code;
	}
	command.event = *call->event;
	command.operation = operation_of(what);
	command.tid = opencl_tid();
	if (call->event != &call->own && opencl_next->clRetainEvent(command.event) != CL_SUCCESS)
		return code;
	add(call, what, &command);
	return code;
}

/* True only for events that the program also holds, because only those have a reference count that the program can
 * query. Also false while the event is being polled. */
int opencl_commands_hold(cl_event event)
{
	int found = 0;
	const struct opencl_queue *queue;
	opencl_lock();
	for (uint32_t i = 0; !found && (queue = opencl_queue_at(i)); i++)
		for (uint32_t at = queue->is_used ? queue->first : 0; at && !found; at = commands[at].next)
			found = commands[at].event == event && commands[at].is_held;
	opencl_unlock();
	return found;
}

void opencl_commands_end(void)
{
	const struct opencl_queue *queue;
	uint64_t count = 0;
	opencl_lock();
	for (uint32_t i = 0; (queue = opencl_queue_at(i)); i++)
		for (uint32_t at = queue->is_used ? queue->first : 0; at; at = commands[at].next) {
			count += !commands[at].is_counted;
			commands[at].is_counted = 1;
		}
	opencl_unlock();
	if (count)
		sonde_activity_lost("OpenCL: not finished at exit", count);
}

/* Forgets all commands in a forked child: they are its parent's. */
void opencl_commands_forget(void)
{
	used = 1;
	spare = 0;
}
