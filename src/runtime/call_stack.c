/* call_stack.c: records the stack of a thread that calls a device API: the stack once, then only its number
 * (sonde/device.h).
 *
 * The recorder unwinds a copy of the stack. A program makes its calls from the same few call sites again and again, so
 * a stack is identified by the words that unwinding can depend on, at their positions: addresses of code and of the
 * stack. Counters, times and stale values do not matter. Code lies in the program's own segments, or where the kernel
 * maps files. The latter is taken to be the TiB below this library, and everything above the library up to the end of
 * the address space, which includes the stacks. Two stacks that agree in these words unwind alike, so only the first is
 * recorded. (Exception: stacks that differ only in generated code mapped elsewhere: MAP_32BIT, the heap.)
 *
 * Stack numbers belong to a thread: the event that defines a number precedes its uses in the same ring. If the stack
 * pointer is outside the thread's stack (coroutines), the stack is copied with process_vm_readv, which stops at the end
 * of the mapping. The stack of a process that forbids being read (PR_SET_DUMPABLE) never enters a ring.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "format/event.h"
#include "runtime/runtime.h"
#include "sonde/device.h"
#include "unwind/machine.h"

#define COPY_MAX_B ((size_t)32 << 10)
#define MAIN_STACK_B ((uintptr_t)128 << 20) /* below a program's initial stack the kernel maps nothing */
#define FOREIGN_B ((size_t)8 << 10)         /* of a stack other than the thread's own */
#define FOREIGNS 16u
#define AREA_BELOW_B ((uintptr_t)1 << 40)
#define RECORDED 8192u /* a power of two */
#define PROBES 4u
#define AGAIN 1024u /* where chunks are overwritten, a stack is recorded again after this many calls of its thread */

struct range {
	uintptr_t low, end;
};

extern void *__libc_stack_end __attribute__((weak)); /* glibc: start of the initial thread's stack */

static _Thread_local struct {
	struct range stack;
	uint32_t calls;
} self;
static struct range program; /* its code segments */
static pthread_once_t program_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t recorded[RECORDED]; /* 44-bit hash and a number */
static _Atomic uint32_t numbers;

_Static_assert(SONDE_CALL_STACKS_MAX == 1u << 20, "a number's bits");

/* --- determined once ---------------------------------------------------------------------------------------------- */

/* The first object is the program itself. */
static int look_at_program(struct dl_phdr_info *info, size_t size_b, void *unused)
{
	(void)size_b;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t low = (uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		uintptr_t end = low + (uintptr_t)info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X))
			continue;
		program.low = program.end && program.low < low ? program.low : low;
		program.end = program.end > end ? program.end : end;
	}
	return 1;
}

static void find_program(void)
{
	dl_iterate_phdr(look_at_program, NULL);
}

/* The C library's bounds, without the thread's control block. */
static struct range stack_recorded(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t size_b;
	uintptr_t control = (uintptr_t)__builtin_thread_pointer();
	struct range range = {0, 0};
	if (pthread_getattr_np(pthread_self(), &attributes))
		return range;
	if (!pthread_attr_getstack(&attributes, &low, &size_b))
		range = (struct range){(uintptr_t)low, (uintptr_t)low + size_b};
	pthread_attr_destroy(&attributes);
	if (control > range.low && control < range.end)
		range.end = control;
	return range;
}

/* Above the program's first frame is its environment. */
static struct range stack_first(void)
{
	uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
	return (struct range){end > MAIN_STACK_B ? end - MAIN_STACK_B : 0, end};
}

static int is_on(const struct range *range, uintptr_t sp)
{
	return sp >= range->low && sp < range->end;
}

/* Bytes up to the end of the thread's stack; 0 if `sp` is on another stack. */
static size_t extent(uintptr_t sp)
{
	if (!self.stack.end) {
		struct range first = stack_first();
		self.stack = is_on(&first, sp) ? first : stack_recorded();
	}
	if (!is_on(&self.stack, sp))
		return 0;
	size_t size_b = self.stack.end - sp;
	return (size_b < COPY_MAX_B ? size_b : COPY_MAX_B) & ~(size_t)7;
}

/* --- stacks already recorded -------------------------------------------------------------------------------------- */

typedef uint64_t __attribute__((aligned(1), may_alias)) word;

/* Written by hand, like the copy, because it reads the gaps between variables too. */
__attribute__((no_sanitize("address"))) static uint64_t hash_of(const struct sonde_event_call_stack *place,
								const void *from, size_t size_b, uint64_t salt)
{
	const word *words = from;
	uintptr_t here = (uintptr_t)&hash_of, area = here - AREA_BELOW_B, code_b = program.end - program.low;
	uintptr_t area_b = (UINT64_C(2) << (63 - __builtin_clzll(here))) - area; /* up to the end of addresses */
	uint64_t hash = sonde_hash_pair(place->pc ^ salt, place->sp) ^ place->fp;
	for (uint64_t i = 0; i < size_b / 8; i++) {
		uint64_t value = sonde_unwind_strip(words[i]);
		if (value - area >= area_b && value - program.low >= code_b && value - place->sp >= size_b)
			continue;
		hash = (hash ^ value ^ i << 56) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32 ^ i;
	}
	return sonde_hash_mix(hash);
}

static uint32_t find(uint64_t hash)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t slot = atomic_load_explicit(&recorded[(hash + i) % RECORDED], memory_order_relaxed);
		if (slot && slot >> 20 == hash >> 20)
			return (uint32_t)(slot & (SONDE_CALL_STACKS_MAX - 1));
	}
	return 0;
}

/* Assigns a number to a new stack; 0: numbers are used up, so the stack is recorded in full each time. */
static uint32_t number_new(void)
{
	if (atomic_load(&numbers) >= SONDE_CALL_STACKS_MAX - 1)
		return 0;
	uint32_t number = atomic_fetch_add(&numbers, 1) + 1;
	return number < SONDE_CALL_STACKS_MAX ? number : 0;
}

/* Stores the number of a stack. If all its slots are taken, it replaces another stack, which will be recorded again
 * when it recurs. */
static void keep(uint64_t hash, uint32_t number)
{
	uint32_t at = (uint32_t)(hash % RECORDED);
	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t slot = atomic_load_explicit(&recorded[(hash + i) % RECORDED], memory_order_relaxed);
		if (!slot || slot >> 20 == hash >> 20) {
			at = (uint32_t)((hash + i) % RECORDED);
			break;
		}
	}
	atomic_store_explicit(&recorded[at], hash >> 20 << 20 | number, memory_order_relaxed);
}

__attribute__((no_sanitize("address"))) static void copy_words(void *to, const void *from, size_t size_b)
{
	const volatile word *in = from;
	uint64_t *out = to;
	for (size_t i = 0; i < size_b / 8; i++)
		out[i] = in[i];
}

/* --- stacks other than the thread's own --------------------------------------------------------------------------- */

/* Staging area for the copy, until it is known whether the stack is new. */
static struct foreign {
	_Atomic uint32_t is_used;
	uint64_t words[FOREIGN_B / 8];
} foreigns[FOREIGNS];

/* Takes a staging area; NULL if other threads use all of them. */
static struct foreign *foreign_take(void)
{
	for (uint32_t i = 0; i < FOREIGNS; i++)
		if (!atomic_exchange_explicit(&foreigns[i].is_used, 1, memory_order_acquire))
			return &foreigns[i];
	return NULL;
}

static void foreign_give(struct foreign *foreign)
{
	if (foreign)
		atomic_store_explicit(&foreign->is_used, 0, memory_order_release);
}

/* Returns the number of bytes copied. */
static size_t foreign_copy(struct foreign *foreign, uintptr_t sp)
{
	struct iovec local = {foreign->words, FOREIGN_B}, remote = {(void *)sp, FOREIGN_B};
	long got = syscall(SYS_process_vm_readv, (long)getpid(), &local, 1UL, &remote, 1UL, 0UL);
	return got > 0 ? (size_t)got & ~(size_t)7 : 0;
}

/* --- recording ---------------------------------------------------------------------------------------------------- */

static int may_copy(void)
{
	return prctl(PR_GET_DUMPABLE) == 1;
}

/* Sends the event with `size_b` bytes of the stack, copied from `from`. */
static int record(struct sonde_thread *thread, struct sonde_ring_pool *pool, struct sonde_event_call_stack *event,
		  const void *from, size_t size_b)
{
	event->head.words = (uint16_t)((sizeof(*event) + size_b) / 8);
	struct sonde_event *at = sonde_event_reserve(thread, pool, event->head.words);
	if (!at)
		return SONDE_ERR_FULL;
	struct sonde_event_call_stack *out = (struct sonde_event_call_stack *)at;
	event->stack_b = size_b;
	copy_words(out + 1, from, size_b);
	memcpy(&out->correlation, &event->correlation, sizeof(*event) - sizeof(event->head));
	sonde_event_publish(at, &event->head);
	return SONDE_OK;
}

/* Sends a stack by its number, or copied from `from`. */
static int record_stack(struct sonde_thread *thread, struct sonde_ring_pool *pool, struct sonde_event_call_stack *event,
			const void *from, size_t size_b)
{
	uint64_t salt = (uint64_t)thread->tid << 32 ^ thread->serial ^ (uint64_t)(uintptr_t)pool;
	uint64_t hash = hash_of(event, from, size_b, salt);
	struct sonde_event_call_stack again = {.head = event->head, .correlation = event->correlation};
	if (pool->on_full != SONDE_RING_OVERWRITE || ++self.calls % AGAIN)
		again.number = find(hash);
	if (again.number)
		return record(thread, pool, &again, NULL, 0);
	if (!may_copy()) {
		event->sp = event->fp = 0;
		return record(thread, pool, event, NULL, 0);
	}
	event->number = number_new();
	int code = record(thread, pool, event, from, size_b);
	if (code == SONDE_OK && event->number)
		keep(hash, event->number);
	return code;
}

static int record_foreign(struct sonde_thread *thread, struct sonde_ring_pool *pool,
			  struct sonde_event_call_stack *event)
{
	struct foreign *foreign = foreign_take();
	size_t size_b = foreign ? foreign_copy(foreign, (uintptr_t)event->sp) : 0;
	int code = size_b ? record_stack(thread, pool, event, foreign->words, size_b)
			  : record(thread, pool, event, NULL, 0); /* only its innermost function is known */
	foreign_give(foreign);
	return code;
}

int sonde_call_stack(uint64_t correlation)
{
	struct sonde_event_call_stack event = {
	    .head.type = SONDE_EVENT_CALL_STACK,
	    .correlation = correlation,
	    .pc = sonde_unwind_strip((uint64_t)(uintptr_t)__builtin_return_address(0)),
	    .sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
	    .fp = *(const uint64_t *)__builtin_frame_address(0),
	};
	struct sonde_ring_pool *pool;
	int saved = errno, code = SONDE_ERR_OFF;
	if (!correlation)
		return SONDE_ERR_ARGUMENT;
	if (!sonde_is_on())
		return SONDE_ERR_OFF;
	pthread_once(&program_once, find_program);
	struct sonde_thread *thread = sonde_thread_enter(&pool);
	if (!thread)
		return SONDE_ERR_OFF;
	if (atomic_load(&sonde_process_get()->state) == SONDE_PROCESS_ON) {
		size_t size_b = extent((uintptr_t)event.sp);
		event.head.time = sonde_event_time(pool);
		code = size_b ? record_stack(thread, pool, &event, (const void *)(uintptr_t)event.sp, size_b)
			      : record_foreign(thread, pool, &event);
	}
	errno = saved;
	sonde_thread_leave(thread);
	return code;
}
