/* process.c: decodes the words of the hooks (wait/process.h). They are untrusted. */
#include "source/wait/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/early.h"
#include "format/heap.h"
#include "format/ring.h"
#include "format/wait.h"
#include "source/wait/lock_names.h"
#include "source/target/channel.h"
#include "util/array.h"
#include "util/error.h"

#define STACKS_MAX (1u << 24)
#define AHEAD (1u << 16) /* how far a number may exceed the highest known one; beyond that it is invalid */

struct stack {
	uint32_t node;
	uint8_t status;
};

/* Rows by a number that the process assigns, from 1. */
struct numbered {
	void *rows;
	size_t row_b, count, cap, max;
};

enum { CALL_WORDS = 5 };

struct call {
	uint64_t words[CALL_WORDS];
	uint32_t thread;
	pid_t holder; /* in our pid namespace; 0 = none, or unknown */
};

struct sonde_wait_process {
	struct sonde_wait_process_options options;
	uint32_t id; /* id in the recording */
	struct sonde_lock_names *names;
	struct numbered stacks;  /* struct stack */
	struct numbered objects; /* uint32_t: ids in the recording */
	struct call *calls;
	size_t call_count, call_cap;
	size_t settled;                           /* number of calls whose references have all been defined */
	uint64_t bad;                             /* invalid words */
	uint64_t unkept;                          /* records lost for lack of memory */
	uint64_t copied[SONDE_EARLY_STACK_WORDS]; /* the last copy of the thread's stack, with the highest word last */
};

int sonde_wait_process_new(struct sonde_wait_process **out, const struct sonde_wait_process_options *options)
{
	struct sonde_wait_process *process = calloc(1, sizeof *process);
	if (!process)
		return sonde_error(ENOMEM, "no memory for the calls of a process");
	process->options = *options;
	process->id = sonde_recorder_process(options->recorder, options->pid, options->time_ns);
	process->names = sonde_lock_names_new(options->pid);
	process->stacks = (struct numbered){.row_b = sizeof(struct stack), .max = STACKS_MAX};
	process->objects = (struct numbered){.row_b = sizeof(uint32_t), .max = SONDE_WAIT_OBJECTS_MAX};
	*out = process;
	return 0;
}

static void lose(const struct sonde_wait_process *process, const char *cause, uint64_t count)
{
	struct sonde_recorder_loss loss = {.source = "waits", .cause = cause, .process = process->id, .count = count};
	sonde_recorder_lost(process->options.recorder, &loss);
}

static void take_call(struct sonde_wait_process *process, const struct call *call);

void sonde_wait_process_settle(struct sonde_wait_process *process)
{
	for (size_t i = 0; i < process->settled; i++)
		take_call(process, &process->calls[i]);
	process->call_count -= process->settled;
	if (process->call_count)
		memmove(process->calls, process->calls + process->settled,
			process->call_count * sizeof *process->calls);
	process->settled = process->call_count;
}

void sonde_wait_process_end(struct sonde_wait_process *process)
{
	process->settled = process->call_count;
	sonde_wait_process_settle(process);
	lose(process, "invalid words", process->bad);
	lose(process, "out of memory for them", process->unkept);
	sonde_lock_names_free(process->names);
	free(process->calls);
	free(process->stacks.rows);
	free(process->objects.rows);
	free(process);
}

/* --- rows by number ---------------------------------------------------------------------------------------------- */

static void *row_at(const struct numbered *table, uint32_t number)
{
	return number && number <= table->count ? (char *)table->rows + (number - 1) * table->row_b : NULL;
}

/* The row of a number, created if new; NULL: invalid number (*bad), or out of memory (*unkept). */
static void *row_make(struct numbered *table, uint32_t number, uint64_t *bad, uint64_t *unkept)
{
	if (!number || number > table->max || number > table->count + AHEAD) {
		++*bad;
		return NULL;
	}
	if (sonde_array_reserve_zeros(&table->rows, &table->cap, number, table->row_b)) {
		++*unkept;
		return NULL;
	}
	table->count = number > table->count ? number : table->count;
	return row_at(table, number);
}

/* --- records ----------------------------------------------------------------------------------------------------- */

static uint64_t time_of(const struct sonde_wait_process *process, uint64_t raw)
{
	return process->options.clock == SONDE_RING_CLOCK_CYCLES
		   ? sonde_clockfit_ns(sonde_channel_fit(process->options.channel), raw)
		   : raw;
}

static void take_stack(struct sonde_wait_process *process, const uint64_t *words, size_t size)
{
	uint8_t status = (uint8_t)(words[1] >> 16);
	struct stack *stack = row_make(&process->stacks, (uint32_t)(words[1] >> 32), &process->bad, &process->unkept);
	if (!stack)
		return;
	stack->status = status < SONDE_STACK_STATUS_COUNT ? status : SONDE_STACK_NOT_SAMPLED;
	stack->node = sonde_unwinder_intern(process->options.interposed->unwinder, process->options.pid,
					    sonde_clock_now_ns(), words + 2, size - 2);
}

/* Unwinds a stack that the process copied. Words unchanged since the last copy are taken from that copy. */
static void take_copy(struct sonde_wait_process *process, const uint64_t *words, size_t size)
{
	uint64_t sp = words[3], top = words[5], most_b = sizeof process->copied;
	size_t fresh = size - SONDE_EARLY_COPY_HEAD;
	if (top < sp || top - sp > most_b || (top - sp) % sizeof *words || fresh > (top - sp) / sizeof *words) {
		process->bad++;
		return;
	}
	uint64_t *stack_at = process->copied + SONDE_EARLY_STACK_WORDS - (top - sp) / sizeof *words;
	memcpy(stack_at, words + SONDE_EARLY_COPY_HEAD, fresh * sizeof *words);
	struct sonde_unwind_sample sample = {
	    .pid = process->options.pid,
	    .time_ns = sonde_clock_now_ns(),
	    .has_user = 1,
	    .regs = {.pc = words[2] - 1, .sp = sp, .fp = words[4]}, /* it will return there */
	    .stack = (const uint8_t *)stack_at,
	    .stack_b = top - sp,
	};
	struct stack *stack = row_make(&process->stacks, (uint32_t)(words[1] >> 32), &process->bad, &process->unkept);
	if (stack)
		stack->status =
		    (uint8_t)sonde_unwinder_run(process->options.interposed->unwinder, &sample, &stack->node);
}

/* Replaces a path by that to which its links lead. The loader's path of a library is usually a link, while the kernel
 * reports the link's target to other sources. If the process has exited, links are followed in our own namespace. */
static void follow_links(char path[SONDE_EARLY_PATH_MAX_B + 1], pid_t pid)
{
	char place[SONDE_EARLY_PATH_MAX_B + 32], real[SONDE_EARLY_PATH_MAX_B + 1];
	snprintf(place, sizeof place, "/proc/%d/root%s", (int)pid, path);
	int fd = *path == '/' ? open(place, O_PATH | O_CLOEXEC) : -1;
	if (fd < 0 && *path == '/')
		fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
	ssize_t real_b = readlink(place, real, sizeof real);
	if (real_b > 0 && (size_t)real_b < sizeof real && *real == '/') {
		memcpy(path, real, (size_t)real_b);
		path[real_b] = '\0';
	}
	close(fd);
}

/* Takes a mapping that the process itself reports, since /proc does not have it any more if the process has exited. */
static void take_mapping(struct sonde_wait_process *process, const uint64_t *words)
{
	char path[SONDE_EARLY_PATH_MAX_B + 1];
	size_t path_b = words[1] >> 32, id_b = (uint32_t)words[1];
	struct sonde_image_key key = {.path = path, .start = words[2]};
	struct sonde_mapping mapping = {words[2], words[3], words[4], NULL};
	if (id_b > SONDE_EARLY_BUILD_ID_MAX_B || path_b > SONDE_EARLY_PATH_MAX_B || mapping.end <= mapping.start) {
		process->bad++;
		return;
	}
	memcpy(path, words + SONDE_EARLY_MAPPING_HEAD, path_b);
	path[path_b] = '\0';
	follow_links(path, process->options.pid);
	key.build_id = (const uint8_t *)(words + 5);
	key.build_id_b = id_b;
	mapping.image = sonde_images_get(process->options.interposed->images, &key);
	if (mapping.image)
		sonde_spaces_map(process->options.interposed->spaces, process->options.pid, &mapping,
				 sonde_clock_now_ns());
}

static void take_object(struct sonde_wait_process *process, const uint64_t *words)
{
	char name[SONDE_WAIT_NAME_MAX_B + 1] = "";
	_Static_assert(sizeof name >= SONDE_LOCK_NAME_MAX_B, "names of locks");
	uint32_t kind = (uint32_t)(words[0] & ((1u << SONDE_WAIT_KIND_BITS) - 1));
	uint32_t *id = row_make(&process->objects, (uint32_t)(words[1] >> 32), &process->bad, &process->unkept);
	if (!id)
		return;
	memcpy(name, words + 3, words[1] & 0xff);
	if (!*name && kind == SONDE_OBJECT_LOCK)
		sonde_lock_names_get(process->names, words[2] - 1, name);
	struct sonde_meta_object object = {
	    .process = process->id,
	    .kind = kind >= SONDE_OBJECT_LOCK && kind <= SONDE_OBJECT_OTHER ? kind : SONDE_OBJECT_OTHER,
	    .name = sonde_recorder_text(process->options.recorder, *name ? name : NULL),
	    .address = words[2] - 1,
	};
	*id = sonde_recorder_object(process->options.recorder, &object);
}

/* The thread that held a lock: one that is known already, or one that the process still has. */
static uint32_t holder_of(const struct sonde_wait_process *process, pid_t tid, uint64_t time_ns)
{
	char path[64];
	uint32_t known = sonde_recorder_known(process->options.recorder, process->options.pid, tid, time_ns);
	if (known)
		return known;
	snprintf(path, sizeof path, "/proc/%d/task/%d", (int)process->options.pid, (int)tid);
	if (access(path, F_OK))
		return 0;
	return sonde_recorder_thread(process->options.recorder, process->options.pid, tid, time_ns);
}

/* The thread that a call waited for: an exited child, an exited thread, or a lock's holder, which may still be
 * alive. */
static uint32_t other_of(const struct sonde_wait_process *process, const struct sonde_waits_row *wait, pid_t tid)
{
	uint64_t end_ns = wait->start_ns + wait->dur_ns;
	if (wait->kind == SONDE_WAIT_CHILD)
		return sonde_recorder_known(process->options.recorder, tid, tid, wait->start_ns);
	if (wait->kind == SONDE_WAIT_JOIN)
		return sonde_recorder_known(process->options.recorder, process->options.pid, tid, wait->start_ns);
	return holder_of(process, tid, end_ns);
}

static void take_call(struct sonde_wait_process *process, const struct call *call)
{
	const uint64_t *words = call->words;
	uint64_t what = words[0] & SONDE_HEAP_ADDRESS_MASK;
	uint32_t kind = (uint32_t)(what & ((1u << SONDE_WAIT_KIND_BITS) - 1));
	const struct stack *stack = row_at(&process->stacks, (uint32_t)(words[3] >> 32 & INT32_MAX));
	const uint32_t *object = row_at(&process->objects, (uint32_t)words[3]);
	uint64_t start_ns = time_of(process, words[1]), end_ns = time_of(process, words[1] + (words[2] - 1));
	if (!sonde_wait_row(kind)->name || end_ns < start_ns) {
		process->bad++;
		return;
	}
	struct sonde_waits_row wait = {
	    .start_ns = start_ns,
	    .dur_ns = end_ns - start_ns,
	    .thread = call->thread,
	    .kind = (uint8_t)kind,
	    .stack = stack ? stack->node : 0,
	    .status = stack ? stack->status : SONDE_STACK_NOT_SAMPLED,
	    .object = object ? *object : 0,
	    .amount = words[4] - 1,
	};
	if (call->holder)
		wait.other = other_of(process, &wait, call->holder);
	sonde_wait_chunks_put(process->options.chunks, &wait);
}

static void keep_call(struct sonde_wait_process *process, uint32_t thread, const uint64_t *words)
{
	if (SONDE_ARRAY_RESERVE(process->calls, process->call_cap, process->call_count + 1)) {
		process->unkept++;
		return;
	}
	struct call *call = &process->calls[process->call_count++];
	memcpy(call->words, words, sizeof call->words);
	call->thread = thread;
	pid_t holder = (pid_t)((words[0] & SONDE_HEAP_ADDRESS_MASK) >> SONDE_WAIT_KIND_BITS);
	call->holder = holder ? sonde_channel_tid(process->options.channel, process->options.pid, holder)
			      : 0; /* tids can be converted only while the rings exist */
}

size_t sonde_wait_process_size(uint64_t first, uint64_t second)
{
	switch (first >> SONDE_HEAP_ADDRESS_BITS) {
	case SONDE_HEAP_TIME:
		return 2;
	case SONDE_HEAP_STACK:
		return 2 + (second & 0xffff);
	case SONDE_WAIT_CALL:
		return CALL_WORDS;
	case SONDE_WAIT_OBJECT:
		return 3 + ((second & 0xff) + 7) / 8;
	case SONDE_EARLY_COPY:
		return SONDE_EARLY_COPY_HEAD + (uint32_t)second;
	case SONDE_EARLY_MAPPING:
		return SONDE_EARLY_MAPPING_HEAD + ((second >> 32) + 7) / 8;
	default:
		return 0;
	}
}

void sonde_wait_process_add(struct sonde_wait_process *process, uint32_t thread, const uint64_t *words, size_t count)
{
	size_t size;
	for (size_t at = 0; at < count; at += size) {
		uint64_t op = words[at] >> SONDE_HEAP_ADDRESS_BITS;
		size = count - at > 1 ? sonde_wait_process_size(words[at], words[at + 1]) : 0;
		if (!size || size > count - at) { /* the start of the next record is unknown */
			process->bad += count - at;
			return;
		}
		if (op == SONDE_HEAP_STACK)
			take_stack(process, words + at, size);
		else if (op == SONDE_WAIT_OBJECT)
			take_object(process, words + at);
		else if (op == SONDE_WAIT_CALL)
			keep_call(process, thread, words + at);
		else if (op == SONDE_EARLY_COPY)
			take_copy(process, words + at, size);
		else if (op == SONDE_EARLY_MAPPING)
			take_mapping(process, words + at);
	}
}
