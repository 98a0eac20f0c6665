/* wait_record.c: writes a call that has returned: when, how long, where, for what (format/wait.h). */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "inject/next.h"
#include "inject/waits.h"

#define CALL_WORDS 5u

const char hook_env[] = "SONDE_WAITS"; /* … enum sonde_wait_what */
const int hook_waits = 0;
uint32_t wait_wanted;

void hook_configure(const char *wanted)
{
	wait_wanted = (uint32_t)hook_read_number(&wanted);
	hook_is_lazy = 1;
}

/* The process connects before a second thread can: what others do meanwhile would not be recorded. And it asks for what
 * its stacks are walked by, so that no thread does with a lock in its hands. */
__attribute__((noinline)) void hook_birth(void)
{
	struct hook_thread *thread = wait_now() ? hook_thread_enter() : NULL;
	if (!thread)
		return;
	struct hook_caller caller = HOOK_CALLER();
	if (thread->innermost == thread->frames) /* it has walked nowhere yet */
		hook_unwind(thread, &caller);
	hook_thread_leave(thread);
}

void hook_state_is(enum hook_state state)
{
	if (state == HOOK_OFF)
		wait_wanted = 0;
}

__attribute__((constructor)) static void wait_record_begin(void)
{
	hook_process_init();
}

static inline uint64_t clock_of(const struct hook_thread *thread)
{
	return thread->has_cycles ? sonde_clock_cycles() : sonde_clock_now_ns();
}

static __attribute__((noinline)) uint64_t first_now(void)
{
	int saved = errno;
	uint64_t now = 0;
	struct hook_thread *thread = wait_wanted ? hook_thread_enter() : NULL;
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
	return likely(thread != NULL) && likely(thread->where == HOOK_OUTSIDE) ? clock_of(thread) : first_now();
}

void wait_record_until(const struct wait_call *call, uint64_t ended, const struct hook_caller *caller)
{
	int saved = errno;
	struct hook_thread *thread = call->began && ended ? hook_thread_enter() : NULL;
	if (!thread)
		return;
	const struct hook_frame *leaf = hook_unwind(thread, caller);
	uint32_t stack = likely(leaf->stack) ? leaf->stack : hook_stack(thread);
	uint64_t took = ended > call->began ? ended - call->began : 0; /* counters of two processors */
	uint64_t words[CALL_WORDS] = {
	    sonde_heap_op((enum sonde_heap_op)SONDE_WAIT_CALL) |
		((uint64_t)call->other << SONDE_WAIT_KIND_BITS & SONDE_HEAP_ADDRESS_MASK) | call->kind,
	    call->began,
	    took + 1,
	    SONDE_WAIT_STACK | (uint64_t)stack << 32 | call->object,
	    call->amount + 1,
	};
	if (hook_thread_room(thread, CALL_WORDS))
		hook_thread_put_many(thread, words, CALL_WORDS);
	hook_thread_leave(thread);
	errno = saved;
}

void wait_record(const struct wait_call *call, const struct hook_caller *caller)
{
	wait_record_until(call, call->began ? wait_now() : 0, caller);
}

int wait_find(const struct wait_next *rows, size_t count)
{
	static __thread uint8_t is_asking __attribute__((tls_model("initial-exec")));
	if (is_asking)
		return 0;
	is_asking = 1;
	for (size_t i = 0; i < count; i++) {
		void *found = inject_next(rows[i].name);
		memcpy(rows[i].into, &found, sizeof(found));
	}
	is_asking = 0;
	return 1;
}

uint32_t wait_object(enum sonde_object_kind kind, uint64_t address, const char *name)
{
	uint64_t record[3 + (SONDE_WAIT_NAME_MAX_B + 7) / 8] = {0};
	size_t name_b = name ? strnlen(name, SONDE_WAIT_NAME_MAX_B) : 0;
	uint32_t words = 3 + (uint32_t)(name_b + 7) / 8, number = 0;
	int saved = errno;
	struct hook_thread *thread = hook_thread_enter();
	if (!thread)
		return 0;
	_Atomic uint32_t *given = &hook_process->objects;
	if (atomic_load(given) < SONDE_WAIT_OBJECTS_MAX && hook_thread_room(thread, words)) {
		number = atomic_fetch_add(given, 1) + 1;
		record[0] = sonde_heap_op((enum sonde_heap_op)SONDE_WAIT_OBJECT) | kind;
		record[1] = (uint64_t)number << 32 | name_b;
		record[2] = address + 1;
		memcpy(record + 3, name, name_b);
		hook_thread_put_many(thread, record, words);
	}
	hook_thread_leave(thread);
	errno = saved;
	return number;
}
