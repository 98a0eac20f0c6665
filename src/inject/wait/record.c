/* record.c: records a call that has returned: start, duration, stack, object (format/wait.h). */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/hook/object.h"
#include "inject/hook/process.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/stacks.h"
#include "inject/hook/thread.h"
#include "inject/hook/walk.h"
#include "inject/wait/waits.h"

#define CALL_WORDS 5u
#define ROOM_B 3072u /* more stack than recording a call needs, even if it connects the process */

#pragma weak pthread_atfork
#pragma weak __register_atfork
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *object);

/* Its value: the common part (hook/object.h), then a set of enum sonde_wait_what, then pid and descriptor of the early
 * slots. */
const char hook_env[] = "SONDE_WAITS";
const int hook_waits = 0;
uint32_t wait_wanted;

void hook_configure(const char *wanted)
{
	wait_wanted = (uint32_t)hook_read_number(&wanted);
	wait_early_configure(&wanted);
	hook_is_lazy = 1;
}

/* The process connects before its second thread starts, since calls of other threads would not be recorded in the
 * meantime. It also requests the unwind tables for this stack, so that no thread does so while it holds a lock. */
__attribute__((noinline)) void hook_birth(void)
{
	wait_early_birth();
	if (!wait_wanted)
		return;
	struct hook_thread *thread = wait_now() ? hook_thread_enter() : NULL;
	if (!thread)
		return;
	struct hook_caller caller = HOOK_CALLER();
	if (thread->innermost == thread->frames) /* it has not unwound yet */
		hook_unwind(thread, &caller);
	hook_thread_leave(thread);
}

void hook_state_is(enum hook_state state)
{
	if (state == HOOK_OFF)
		wait_wanted = 0;
	if (state == HOOK_ON)
		wait_early_end(hook_self);
}

/* The owning process must be known before a grandchild shares its memory (vfork). glibc's pthread_atfork() cannot be
 * imported dynamically. */
__attribute__((constructor)) static void wait_record_begin(void)
{
	hook_process_init();
	if (__register_atfork)
		__register_atfork(NULL, NULL, hook_process_forked, NULL);
	else if (pthread_atfork)
		pthread_atfork(NULL, NULL, hook_process_forked);
}

static inline uint64_t clock_of(const struct hook_thread *thread)
{
	return thread->has_cycles ? sonde_clock_cycles() : sonde_clock_now_ns();
}

/* A forked child inherits its parent's thread, which reads as zeros. */
static inline int has_begun(void)
{
	return likely(hook_self != NULL) && likely(hook_self->where != 0);
}

/* True in a process that shares our memory and the thread's TLS (clone() with CLONE_VM alone): it runs concurrently, on
 * a stack of its own, and its calls are not ours to record. A vfork() child counts as its parent, which waits. */
static int is_others(const struct hook_thread *thread)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	if (here >= thread->stack_low && here < thread->stack_end)
		return 0;
	if (!inject_calls_begin())
		return 1;
	int is_own = thread->pid == inject_machine_pid();
	inject_calls_end();
	return !is_own;
}

/* Like hook_thread_enter(), but NULL in a process that shares our memory. */
static inline struct hook_thread *enter(void)
{
	return has_begun() && unlikely(is_others(hook_self)) ? NULL : hook_thread_enter();
}

/* The thread's own stack, as far as it is known, has room. */
static inline int is_on_own_stack(const struct hook_thread *thread)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	return here - thread->stack_low < thread->stack_end - thread->stack_low;
}

/* Alternate signal stacks may be as small as a handler needs without us. On such a stack nothing is recorded, and the
 * call is counted as lost. The state of stacks without a known size, as of coroutines, is not known. */
static int has_room(void)
{
	stack_t stack = {.ss_flags = 0};
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	if ((has_begun() && is_on_own_stack(hook_self)) || wait_early_has_stack(here))
		return 1;
	if (!inject_calls_begin())
		return 1; /* nothing is recorded that needs system calls */
	int is_known = !inject_machine_call(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0);
	inject_calls_end();
	uint64_t low = (uint64_t)(uintptr_t)stack.ss_sp;
	if (!is_known || !(stack.ss_flags & SS_ONSTACK) || here - low >= ROOM_B)
		return 1;
	if (has_begun())
		atomic_fetch_add(&hook_self->pool->lost[SONDE_RING_LOST_SIGNAL], 1);
	else
		wait_early_lose();
	return 0;
}

static __attribute__((noinline)) uint64_t first_now(void)
{
	int saved = errno;
	if (wait_wanted && !has_room()) {
		errno = saved;
		return 0;
	}
	uint64_t now = !has_begun() && wait_wanted ? wait_early_now() : 0;
	struct hook_thread *thread = !now && wait_wanted ? enter() : NULL;
	if (thread) {
		now = clock_of(thread);
		hook_thread_leave(thread);
	}
	errno = saved;
	return now;
}

uint64_t wait_now(void)
{
	const struct hook_thread *thread = hook_self;
	return likely(thread != NULL) && likely(thread->where == HOOK_OUTSIDE) && likely(is_on_own_stack(thread))
		   ? clock_of(thread)
		   : first_now();
}

void wait_record_words(uint64_t *out, const struct wait_call *call, uint64_t took, uint32_t stack)
{
	out[0] = sonde_heap_op((enum sonde_heap_op)SONDE_WAIT_CALL) |
		 ((uint64_t)call->other << SONDE_WAIT_KIND_BITS & SONDE_HEAP_ADDRESS_MASK) | call->kind;
	out[1] = call->began;
	out[2] = took + 1;
	out[3] = SONDE_WAIT_STACK | (uint64_t)stack << 32 | call->object;
	out[4] = call->amount + 1;
}

static void put_call(struct hook_thread *thread, const struct wait_call *call, uint64_t took,
		     const struct hook_caller *caller)
{
	uint64_t words[CALL_WORDS];
	const struct hook_frame *leaf = hook_unwind(thread, caller);
	uint32_t stack = likely(leaf->stack) ? leaf->stack : hook_stack(thread);
	wait_record_words(words, call, took, stack);
	if (hook_thread_capacity(thread, CALL_WORDS))
		hook_thread_put_many(thread, words, CALL_WORDS);
}

void wait_record_until(const struct wait_call *call, uint64_t ended, const struct hook_caller *caller)
{
	int saved = errno;
	uint64_t took = ended > call->began ? ended - call->began : 0; /* counters of two processors may differ */
	struct hook_thread *thread;
	if (!call->began || !ended || (!has_begun() && wait_early_call(call, took, caller)) || !(thread = enter())) {
		errno = saved;
		return;
	}
	put_call(thread, call, took, caller);
	hook_thread_leave(thread);
	errno = saved;
}

void wait_record(const struct wait_call *call, const struct hook_caller *caller)
{
	wait_record_until(call, call->began ? wait_now() : 0, caller);
}

/* Assigns the next number for an object; 0 = there are too many. */
static uint32_t give_number(void)
{
	_Atomic uint32_t *given = &hook_process->objects;
	return atomic_load(given) < SONDE_WAIT_OBJECTS_MAX ? atomic_fetch_add(given, 1) + 1 : 0;
}

/* True if the object was recorded in the thread's ring, with a new number. */
static int put_object(uint64_t *record, uint32_t words)
{
	struct hook_thread *thread = enter();
	uint32_t number = thread && hook_thread_capacity(thread, words) ? give_number() : 0;
	record[1] = (uint64_t)number << 32 | (uint32_t)record[1];
	if (number)
		hook_thread_put_many(thread, record, words);
	if (thread)
		hook_thread_leave(thread);
	return number != 0;
}

/* Records a named object in the early slot. Locks have no name and need no early slot: a wait for a lock implies a
 * second thread, and the process connects before that thread starts. */
static int put_object_early(uint64_t *record, uint32_t words)
{
	if (has_begun() || !hook_process || !(uint32_t)record[1])
		return 0;
	record[1] |= (uint64_t)give_number() << 32;
	return record[1] >> 32 && wait_early_object(record, words);
}

uint32_t wait_object(enum sonde_object_kind kind, uint64_t address, const char *name)
{
	uint64_t record[3 + (SONDE_WAIT_NAME_MAX_B + 7) / 8] = {0};
	size_t name_b = name ? strnlen(name, SONDE_WAIT_NAME_MAX_B) : 0;
	uint32_t words = 3 + (uint32_t)(name_b + 7) / 8;
	int saved = errno;
	record[0] = sonde_heap_op((enum sonde_heap_op)SONDE_WAIT_OBJECT) | kind;
	record[1] = name_b;
	record[2] = address + 1;
	if (name_b)
		memcpy(record + 3, name, name_b);
	int is_told = put_object_early(record, words) || put_object(record, words);
	errno = saved;
	return is_told ? (uint32_t)(record[1] >> 32) : 0;
}
