/* early.c: the records that a process writes before it connects (format/early.h).
 *
 * Connecting and mapping the unwind tables takes both sides milliseconds, and most processes of a build or a script
 * make a few calls and end. So the first records go into a slot of memory that the recorder has prepared for all
 * processes, with a copy of the stack, which the recorder unwinds. Nothing is lost if the process is killed or executes
 * another program. A process connects when its slot is full, before it creates a second thread, and in every unusual
 * case: another stack or thread, a signal handler, a file that it cannot open (of another user or pid namespace), no
 * free slot.
 *
 * Other processes of the user can open that memory through /proc, as they can read the process's own memory. A process
 * that forbids that (PR_SET_DUMPABLE, another user's programs) writes nothing there. Whether the process is dumpable is
 * checked before each copy of the stack, since that may change without a call that can be hooked (setuid(),
 * capabilities); the check is cheaper than a copy.
 *
 * Rejected: a buffer in the process that is sent when it ends; that needs hooks for all ways to end and to execute, and
 * the data is lost if the process is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "format/early.h"
#include "format/ring.h"
#include "inject/hook/caller.h"
#include "inject/hook/connect.h"
#include "inject/hook/machine.h"
#include "inject/hook/objects.h"
#include "inject/hook/process.h"
#include "inject/hook/readable.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/stack.h"
#include "inject/hook/thread.h"
#include "inject/wait/waits.h"

#define OBJECT_HEAD 3u
#define CALL_WORDS 5u

enum state { UNTRIED = 0, OPEN, OVER };

static struct {
	uint32_t pid, fd; /* of the recorder and its memory; 0 = there are no slots */
} place;
static _Atomic uint32_t has_threads; /* of this process, or of its parent before the fork */

void wait_early_birth(void)
{
	atomic_store(&has_threads, 1);
}

void wait_early_configure(const char **wanted)
{
	place.pid = (uint32_t)hook_read_number(wanted);
	place.fd = (uint32_t)hook_read_number(wanted);
}

static struct hook_early *early_of(void)
{
	return hook_process ? &hook_process->early : NULL;
}

/* --- the slot ---------------------------------------------------------------------------------------------------- */

static char *write_text(char *out, const char *text)
{
	size_t text_b = strlen(text);
	memcpy(out, text, text_b + 1);
	return out + text_b;
}

static char *write_number(char *out, uint32_t number)
{
	char digits[12];
	size_t count = 0;
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*out++ = digits[--count];
	*out = '\0';
	return out;
}

static int is_link(const char *path, const char *to)
{
	char there[64];
	size_t to_b = strlen(to);
	long got = inject_machine_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)there, sizeof(there), 0, 0);
	return got == (long)to_b && !memcmp(there, to, to_b);
}

/* The pid of the calling process in the pid namespace of this /proc, which is the recorder's; 0 = unknown. */
static uint32_t own_pid(void)
{
	char text[16] = "";
	uint32_t pid = 0;
	long got = inject_machine_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self", (long)text, sizeof(text), 0, 0);
	for (long i = 0; i < got && i < (long)sizeof(text); i++)
		pid = pid * 10 + (uint32_t)(text[i] - '0');
	return got > 0 ? pid : 0;
}

/* Maps a part of the recorder's memory; NULL = out of memory. */
static void *map(int fd, uint64_t offset, size_t size_b)
{
	long at = inject_machine_call(SYS_mmap, 0, (long)size_b, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (long)offset);
	return at < 0 && at >= -4095 ? NULL : (void *)at; /* NOLINT: an address */
}

/* Claims a free slot; SONDE_EARLY_SLOTS = none is free. */
static uint32_t take(struct sonde_early_head *head, uint32_t pid)
{
	uint32_t committed = atomic_load(&head->committed);
	for (uint32_t i = 0; i < committed && i < SONDE_EARLY_SLOTS; i++) {
		uint32_t nobody = 0;
		if (!atomic_load_explicit(&head->owners[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&head->owners[i], &nobody, pid))
			return i;
	}
	return SONDE_EARLY_SLOTS;
}

static struct sonde_early_slot *take_slot(int fd, struct hook_early *early)
{
	struct sonde_early_slot *slot = NULL;
	struct sonde_early_head *head = map(fd, 0, SONDE_EARLY_HEAD_B);
	uint32_t pid = own_pid();
	if (!head)
		return NULL;
	if (pid && head->magic == SONDE_EARLY_MAGIC && inject_connect_is_named(head->socket, sizeof(head->socket))) {
		uint32_t taken = take(head, pid);
		early->has_cycles = head->clock == SONDE_RING_CLOCK_CYCLES;
		if (taken < SONDE_EARLY_SLOTS)
			slot = map(fd, SONDE_EARLY_HEAD_B + (uint64_t)taken * SONDE_EARLY_SLOT_B, SONDE_EARLY_SLOT_B);
		if (taken < SONDE_EARLY_SLOTS && !slot)
			atomic_store(&head->owners[taken], 0);
	}
	inject_machine_call(SYS_munmap, (long)head, SONDE_EARLY_HEAD_B, 0, 0, 0, 0);
	return slot;
}

/* True if other processes of the user may read this process's memory. */
static int is_dumpable(void)
{
	return inject_machine_call(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0, 0) == 1;
}

static uint64_t now_of(const struct hook_early *early)
{
	return early->has_cycles ? sonde_clock_cycles() : sonde_clock_now_ns();
}

/* Opens the recorder's memory and takes a slot. Checks first where the link leads, because opening another file could
 * have side effects. */
static int open_slot(struct hook_early *early)
{
	char path[48];
	int tsc = PR_TSC_ENABLE;
	write_number(write_text(write_number(write_text(path, "/proc/"), place.pid), "/fd/"), place.fd);
	inject_machine_call(SYS_prctl, PR_GET_TSC, (long)&tsc, 0, 0, 0, 0);
	if (!place.pid || !is_dumpable() || tsc == PR_TSC_SIGSEGV || !is_link(path, SONDE_EARLY_LINK))
		return 0;
	int fd = (int)inject_machine_call(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return 0;
	struct sonde_early_slot *slot = take_slot(fd, early);
	inject_connect_close(fd);
	if (!slot)
		return 0;
	inject_machine_call(SYS_madvise, (long)slot, SONDE_EARLY_SLOT_B, MADV_DONTFORK, 0, 0, 0);
	struct inject_stack stack = inject_stack_main();
	early->stack_low = stack.low;
	early->stack_end = stack.end;
	early->slot = slot;
	early->at = slot->words;
	atomic_store_explicit(&slot->began, now_of(early), memory_order_release);
	return 1;
}

/* Opens a slot for the process, if this is its first thread and it never had others. In a forked child of a
 * multi-threaded parent, the dynamic loader's lock, which put_mappings() takes, may be held by a thread that no longer
 * exists. */
static int begin(struct hook_early *early, pid_t pid)
{
	if (atomic_load(&has_threads) || inject_machine_call(SYS_gettid, 0, 0, 0, 0, 0, 0) != pid)
		return 0;
	uint64_t before = hook_thread_hold_signals();
	int is_open = open_slot(early);
	hook_thread_let_signals(before);
	early->thread = (uintptr_t)__builtin_thread_pointer();
	return is_open;
}

static int is_over(const struct hook_early *early)
{
	return atomic_load_explicit(&early->state, memory_order_relaxed) == OVER ||
	       atomic_load_explicit(&hook_process->link.process.state, memory_order_relaxed) != SONDE_PROCESS_NEW;
}

/* The state that the calling thread may write to until leave(); NULL = the process must connect. Not available in a
 * child that shares its parent's memory (vfork). */
static struct hook_early *enter(void)
{
	struct hook_early *early = early_of();
	if (!early || is_over(early) || !inject_calls_begin())
		return NULL;
	pid_t pid = inject_machine_pid();
	if (hook_process->sandbox.pid && hook_process->sandbox.pid != pid)
		goto out;
	if (atomic_exchange(&early->is_busy, 1)) /* in a signal handler, or after a longjmp() out of one */
		goto out;
	if (atomic_load(&early->state) == UNTRIED)
		atomic_store(&early->state, begin(early, pid) ? OPEN : OVER);
	if (atomic_load(&early->state) == OPEN && early->thread == (uintptr_t)__builtin_thread_pointer()) {
		hook_process->sandbox.pid = pid;
		return early;
	}
	atomic_store(&early->is_busy, 0);
out:
	inject_calls_end();
	return NULL;
}

static void leave(struct hook_early *early)
{
	atomic_store(&early->is_busy, 0);
	inject_calls_end();
}

int wait_early_has_stack(uint64_t address)
{
	const struct hook_early *early = early_of();
	return early && atomic_load_explicit(&early->state, memory_order_acquire) == OPEN &&
	       address - early->stack_low < early->stack_end - early->stack_low;
}

void wait_early_lose(void)
{
	struct hook_early *early = early_of();
	if (early && atomic_load_explicit(&early->state, memory_order_acquire) == OPEN)
		atomic_fetch_add(&early->slot->lost, 1);
}

uint64_t wait_early_now(void)
{
	struct hook_early *early = early_of();
	if (early && !is_over(early) && atomic_load(&early->state) == OPEN &&
	    early->thread == (uintptr_t)__builtin_thread_pointer())
		return now_of(early);
	early = enter();
	uint64_t now = early ? now_of(early) : 0;
	if (early)
		leave(early);
	return now;
}

/* --- records ----------------------------------------------------------------------------------------------------- */

static int has_capacity(const struct hook_early *early, uint32_t words)
{
	return (uint64_t)(early->slot->words + SONDE_EARLY_WORDS - early->at) >= words;
}

/* Writes a record: the head, then `more`. The caller has checked for room. */
static void put(struct hook_early *early, const uint64_t *head, uint32_t head_words, const uint64_t *more,
		uint32_t more_words)
{
	_Atomic uint64_t *at = early->at;
	for (uint32_t i = 0; i < more_words; i++)
		atomic_store_explicit(at + head_words + i, more[i], memory_order_relaxed);
	for (uint32_t i = 1; i < head_words; i++)
		atomic_store_explicit(at + i, head[i], memory_order_relaxed);
	atomic_store_explicit(at, head[0], memory_order_release);
	early->at = at + head_words + more_words;
}

/* --- mappings ---------------------------------------------------------------------------------------------------- */

static int put_mapping(void *context, const uint64_t *head, const uint64_t *path, uint32_t path_words)
{
	struct hook_early *early = context;
	if (!has_capacity(early, SONDE_EARLY_MAPPING_HEAD + path_words))
		return -1;
	put(early, head, SONDE_EARLY_MAPPING_HEAD, path, path_words);
	return 0;
}

/* Records the mappings, unless nothing was loaded since they were last recorded; 0 = impossible. */
static int put_mappings(struct hook_early *early)
{
	struct inject_objects_count count;
	inject_objects_counted(&count);
	uint64_t changes = count.loads + count.unloads + 1;
	if (!count.is_known)
		return 0;
	if (early->changes == changes)
		return 1;
	early->changes = wait_mappings_each(put_mapping, early) ? 0 : changes;
	return early->changes != 0;
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

/* Where the word at `address` is kept in the last copy, and in the one being made. */
static uint64_t *copied(struct hook_early *early, uint64_t address)
{
	return &early->stack[SONDE_EARLY_STACK_WORDS - (early->top - address) / 8];
}

static uint64_t *fresh(struct hook_early *early, uint64_t address)
{
	return &early->fresh[SONDE_EARLY_STACK_WORDS - (early->top - address) / 8];
}

/* Reads the stack from `sp` to the top without faulting: a program may protect pages of its own stack. */
static int read_stack(struct hook_early *early, uint64_t sp)
{
	size_t size_b = early->top - sp;
	struct iovec local = {fresh(early, sp), size_b},
		     remote = {(void *)(uintptr_t)sp, size_b}; /* NOLINT: the stack */
	long got =
	    inject_machine_call(SYS_process_vm_readv, inject_machine_pid(), (long)&local, 1, (long)&remote, 1, 0);
	if (got >= 0 || got == -EFAULT)
		return got == (long)size_b;
	if (inject_readable_b(sp, size_b) < size_b)
		return 0;
	inject_copy_words(fresh(early, sp), sp, size_b);
	return 1;
}

/* Lowest address from which the stack is unchanged since the last copy. */
static uint64_t same_from(struct hook_early *early, uint64_t sp)
{
	uint64_t at = early->top, lowest = sp > early->sp ? sp : early->sp;
	while (at > lowest && *fresh(early, at - 8) == *copied(early, at - 8))
		at -= 8;
	return at;
}

static int is_last(const struct hook_early *early, const struct hook_caller *caller, uint64_t same)
{
	return same == caller->sp && early->sp == caller->sp && early->pc == caller->pc && early->fp == caller->fp;
}

/* The first copy sets the end of all copies. */
static void set_top(struct hook_early *early, uint64_t sp)
{
	uint64_t most_b = early->stack_end - sp, first_b = SONDE_EARLY_FIRST_WORDS * sizeof(uint64_t);
	early->top = sp + ((most_b < first_b ? most_b : first_b) & ~(uint64_t)7);
	early->sp = early->top;
}

/* The number of the stack; 0 = no room, not the stack of the process's first thread, or one that cannot be read. */
static uint32_t put_stack(struct hook_early *early, const struct hook_caller *caller)
{
	uint64_t sp = caller->sp;
	if (sp < early->stack_low || sp >= early->stack_end || sp & 7)
		return 0;
	if (!early->top)
		set_top(early, sp);
	if (sp > early->top || early->top - sp > sizeof(early->stack))
		return 0;
	if (!is_dumpable() || !read_stack(early, sp))
		return 0;
	uint64_t same = same_from(early, sp);
	if (is_last(early, caller, same))
		return early->copies;
	uint32_t count = (uint32_t)((same - sp) / 8);
	uint64_t head[SONDE_EARLY_COPY_HEAD] = {sonde_heap_op((enum sonde_heap_op)SONDE_EARLY_COPY),
						(uint64_t)(early->copies + 1) << 32 | count,
						caller->pc,
						sp,
						caller->fp,
						early->top};
	if (!has_capacity(early, SONDE_EARLY_COPY_HEAD + count))
		return 0;
	memcpy(copied(early, sp), fresh(early, sp), count * sizeof(uint64_t));
	early->pc = caller->pc;
	early->sp = sp;
	early->fp = caller->fp;
	put(early, head, SONDE_EARLY_COPY_HEAD, copied(early, sp), count);
	return ++early->copies;
}

int wait_early_call(const struct wait_call *call, uint64_t took, const struct hook_caller *caller)
{
	struct hook_early *early = enter();
	uint32_t stack = early && put_mappings(early) ? put_stack(early, caller) : 0;
	int is_put = stack && has_capacity(early, CALL_WORDS);
	if (is_put) {
		uint64_t words[CALL_WORDS];
		wait_record_words(words, call, took, stack);
		put(early, words, CALL_WORDS, NULL, 0);
	}
	if (early)
		leave(early);
	return is_put;
}

int wait_early_object(const uint64_t *record, uint32_t words)
{
	struct hook_early *early = enter();
	int is_put = early && has_capacity(early, words);
	if (is_put)
		put(early, record, words, NULL, 0);
	if (early)
		leave(early);
	return is_put;
}

/* --- the process connects ---------------------------------------------------------------------------------------- */

static uint32_t size_of(const _Atomic uint64_t *record)
{
	uint64_t op = atomic_load_explicit(&record[0], memory_order_relaxed) >> SONDE_HEAP_ADDRESS_BITS;
	uint64_t second = atomic_load_explicit(&record[1], memory_order_relaxed);
	if (op == SONDE_EARLY_COPY)
		return SONDE_EARLY_COPY_HEAD + (uint32_t)second;
	if (op == SONDE_EARLY_MAPPING)
		return SONDE_EARLY_MAPPING_HEAD + ((uint32_t)(second >> 32) + 7) / 8;
	return op == SONDE_WAIT_OBJECT ? OBJECT_HEAD + ((uint32_t)(second & 0xff) + 7) / 8 : CALL_WORDS;
}

/* Records an object again, in the thread's ring; it keeps its number. */
static void record_again(struct hook_thread *thread, const _Atomic uint64_t *record, uint32_t words)
{
	uint64_t copy[OBJECT_HEAD + (SONDE_WAIT_NAME_MAX_B + 7) / 8];
	for (uint32_t i = 0; i < words; i++)
		copy[i] = atomic_load_explicit(&record[i], memory_order_relaxed);
	if (hook_thread_capacity(thread, words))
		hook_thread_put_many(thread, copy, words);
}

void wait_early_end(struct hook_thread *thread)
{
	struct hook_early *early = early_of();
	if (!early || atomic_exchange(&early->state, OVER) != OPEN)
		return;
	uint32_t words;
	for (const _Atomic uint64_t *record = early->slot->words; record < early->at; record += words) {
		words = size_of(record);
		if (atomic_load_explicit(&record[0], memory_order_relaxed) >> SONDE_HEAP_ADDRESS_BITS ==
		    SONDE_WAIT_OBJECT)
			record_again(thread, record, words);
	}
	/* If a record may be incomplete, the slot stays claimed until the process ends. */
	if (early->thread == (uintptr_t)__builtin_thread_pointer() && !atomic_load(&early->is_busy))
		atomic_store_explicit(&early->slot->moved, 1, memory_order_release);
}

/* Makes the process connect: when the recorder accepts, it has read the early records and wiped the stack copies. If
 * the process cannot connect, the early records are lost: they are overwritten with zeros. */
void inject_sandbox_undumpable(void)
{
	struct hook_early *early = early_of();
	int saved = errno;
	pid_t owner = hook_process ? hook_process->sandbox.pid : 0;
	if (!early || atomic_load(&early->state) != OPEN || owner != inject_machine_pid())
		return;
	struct hook_thread *thread = wait_wanted ? hook_thread_enter() : NULL;
	if (thread)
		hook_thread_leave(thread);
	errno = saved;
	if (atomic_exchange(&early->state, OVER) != OPEN)
		return;
	for (_Atomic uint64_t *word = early->slot->words; word < early->at; word++)
		atomic_store_explicit(word, 0, memory_order_relaxed);
}
