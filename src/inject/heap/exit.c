/* exit.c: when the process ends, asks the recorder which blocks are unreachable, and waits until it has checked.
 *
 * The check runs in our destructors, as LeakSanitizer's does. The program's atexit() handlers and the destructors of
 * its static objects run earlier, since they were registered after those of loaded objects. After these come the
 * destructors of the program itself, of preloaded objects, and of libraries, in load order. So blocks freed by the
 * program's own destructors are gone, and blocks kept by libraries until their destructors are still reachable. A
 * handler registered first would run after all of them: a library that drops its pointers without freeing would then
 * appear to leak. _exit(), quick_exit(), a signal and an exec bypass this: then nothing is checked.
 *
 * The recorder reads the memory from outside and must not take our own values for the program's pointers: so the first
 * instructions save registers and the stack pointer, before any of our code has touched the stack.
 */
#include <sys/syscall.h>

#include "base/clock.h"
#include "inject/heap/heap.h"
#include "inject/hook/connect.h"
#include "inject/hook/machine.h"
#include "inject/hook/process.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/thread.h"

#pragma weak __lsan_default_suppressions
const char *__lsan_default_suppressions(void); /* NOLINT: the name is LeakSanitizer's */

_Static_assert(INJECT_KEPT <= SONDE_LINK_REGISTERS, "room for the registers");

extern uint64_t heap_exit_saved[INJECT_KEPT + 1];
uint64_t heap_exit_saved[INJECT_KEPT + 1];

void heap_exit_entry(void);
void heap_exit_ask(void);

/* False in a child that shares its parent's memory (vfork). */
static int is_recorded(void)
{
	const struct hook_thread *thread = hook_self;
	return hook_process && atomic_load(&hook_process->link.process.state) == SONDE_PROCESS_ON &&
	       !(thread && thread->pid && thread->pid != inject_machine_pid());
}

static void ask(void)
{
	struct sonde_link_scan question = {
	    .head = {SONDE_LINK_SCAN, SONDE_LINK_VERSION},
	    .pid = (uint32_t)inject_machine_pid(),
	    .tid = (uint32_t)inject_machine_call(SYS_gettid, 0, 0, 0, 0, 0, 0),
	    .flags = inject_machine_pid() == hook_first_pid ? 0 : SONDE_LINK_SCAN_INHERITS,
	    .stack = heap_exit_saved[INJECT_KEPT],
	    .requested_ns = sonde_clock_now_ns(),
	    .thread_pointer = (uint64_t)(uintptr_t)__builtin_thread_pointer(),
	};
	struct sonde_link_scanned answer;
	int fd;
	for (unsigned i = 0; i < INJECT_KEPT; i++)
		question.registers[i] = heap_exit_saved[i];
	if (__lsan_default_suppressions)
		question.suppressions = (uint64_t)(uintptr_t)__lsan_default_suppressions();
	if (!inject_connect_ask(&question, sizeof(question), &answer, sizeof(answer), &fd, SONDE_LINK_SCAN_S) &&
	    fd >= 0)
		inject_connect_close(fd);
}

void heap_exit_ask(void)
{
	if (!inject_calls_begin())
		return;
	if (is_recorded() && !heap_is_light)
		ask();
	inject_calls_end();
}

INJECT_ENTRY(heap_exit_entry, heap_exit_saved, heap_exit_ask);

__attribute__((section(".fini_array"), used)) static void (*const at_exit)(void) = heap_exit_entry;
