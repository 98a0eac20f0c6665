/* pools.c: sonde_alloc() and sonde_free(): the program's reports on its own pools, with stacks.
 *
 * These functions precede those of libsonde.so, which write events without a stack. In a process whose allocations are
 * not recorded, libsonde's functions are called: the process may record itself, or only be connected. A pool's name is
 * recorded once, by the first thread that uses it, in a ring that is read before any record of another thread with its
 * number (hook/slots.h).
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "inject/heap/heap.h"
#include "inject/hook/caller.h"
#include "inject/hook/connect.h"
#include "inject/hook/likely.h"
#include "inject/hook/next.h"
#include "inject/hook/process.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/slots.h"
#include "inject/hook/stacks.h"
#include "inject/hook/thread.h"
#include "inject/hook/walk.h"
#include "sonde/sonde.h"

#define SLOT_BITS 13 /* twice as many slots as the recorder accepts pools */

struct pools {
	_Atomic uint32_t count;
	inject_slot slots[1u << SLOT_BITS];
};

static _Atomic(struct pools *) pools; /* a forked child inherits the pointer, and reads zeros there */

static struct pools *get_pools(void)
{
	struct pools *there = atomic_load_explicit(&pools, memory_order_acquire), *made;
	if (likely(there != NULL) || !inject_calls_begin())
		return there;
	made = inject_connect_spares(sizeof(*made)) ? inject_connect_page(sizeof(*made)) : NULL;
	inject_calls_end();
	if (!made)
		return NULL;
	return atomic_compare_exchange_strong(&pools, &there, made) ? made : there; /* ours stays unused */
}

static uint32_t record(struct hook_thread *thread, struct pools *all, const char *name, size_t name_b)
{
	uint64_t record[2 + (SONDE_HEAP_NAME_MAX_B + 7) / 8] = {sonde_heap_op(SONDE_HEAP_POOL_NAME)};
	uint32_t words = 2 + (uint32_t)(name_b + 7) / 8;
	if (!hook_thread_capacity(thread, words))
		return 0;
	uint32_t number = atomic_fetch_add(&all->count, 1) + 1;
	record[1] = (uint64_t)number << 32 | name_b;
	memcpy(record + 2, name, name_b);
	hook_thread_put_many(thread, record, words);
	return number;
}

/* The number of a pool; 0 = no room. */
static uint32_t pool_of(struct hook_thread *thread, const char *name)
{
	size_t name_b = strnlen(name, SONDE_HEAP_NAME_MAX_B);
	uint64_t hash = sonde_hash_bytes(name, name_b);
	struct pools *all = get_pools();
	uint32_t number = 0;
	inject_slot *slot = likely(all != NULL) ? inject_slots_claim(all->slots, SLOT_BITS, hash, &number) : NULL;
	if (likely(number) || !slot)
		return number;
	number = record(thread, all, name, name_b);
	if (number)
		inject_slots_set(slot, hash, number);
	return number;
}

/* Like hook_thread_enter(), but initialises the process first, in case no allocation has done so yet. */
static struct hook_thread *enter(void)
{
	if (unlikely(!hook_process))
		hook_process_init();
	return hook_thread_enter();
}

/* True if this process has not used our ring, and will not. */
static int is_off(void)
{
	return !hook_process || (atomic_load(&hook_process->link.process.state) == SONDE_PROCESS_OFF &&
				 !atomic_load(&hook_process->link.process.pool));
}

static int next_alloc(const char *name, const void *block, size_t size_b)
{
	static int (*next)(const char *, const void *, size_t);
	if (unlikely(!next) && is_off())
		next = (int (*)(const char *, const void *, size_t))inject_next("sonde_alloc");
	return next && is_off() ? next(name, block, size_b) : SONDE_ERR_OFF;
}

static int next_free(const char *name, const void *block)
{
	static int (*next)(const char *, const void *);
	if (unlikely(!next) && is_off())
		next = (int (*)(const char *, const void *))inject_next("sonde_free");
	return next && is_off() ? next(name, block) : SONDE_ERR_OFF;
}

/* Before the loader has relocated our object nothing is imported, not even errno. */
static int early_alloc(const char *name, const void *block, size_t size_b)
{
	int (*next)(const char *, const void *, size_t) =
	    (int (*)(const char *, const void *, size_t))inject_next("sonde_alloc");
	return next ? next(name, block, size_b) : SONDE_ERR_OFF;
}

static int early_free(const char *name, const void *block)
{
	int (*next)(const char *, const void *) = (int (*)(const char *, const void *))inject_next("sonde_free");
	return next ? next(name, block) : SONDE_ERR_OFF;
}

int sonde_alloc(const char *name, const void *block, size_t size_b)
{
	if (unlikely(!inject_is_bound()))
		return early_alloc(name, block, size_b);
	struct hook_caller caller = HOOK_CALLER();
	struct hook_thread *thread;
	int code = SONDE_ERR_FULL, saved = errno;
	if (!name || !*name)
		return SONDE_ERR_ARGUMENT;
	if (!block)
		return SONDE_OK;
	if (!(thread = enter()))
		return next_alloc(name, block, size_b);
	uint32_t pool = pool_of(thread, name);
	hook_unwind(thread, &caller);
	uint32_t stack = hook_stack(thread);
	if (pool && hook_thread_capacity(thread, 4)) {
		hook_thread_time(thread);
		uint64_t words[] = {sonde_heap_op(SONDE_HEAP_TAKE), (uint64_t)pool << 32 | stack,
				    (uint64_t)(uintptr_t)block, size_b < UINT64_MAX ? size_b + 1 : size_b};
		hook_thread_put_many(thread, words, 4);
		code = SONDE_OK;
	}
	hook_thread_leave(thread);
	errno = saved;
	return code;
}

int sonde_free(const char *name, const void *block)
{
	if (unlikely(!inject_is_bound()))
		return early_free(name, block);
	struct hook_thread *thread;
	int code = SONDE_ERR_FULL, saved = errno;
	if (!name || !*name)
		return SONDE_ERR_ARGUMENT;
	if (!block)
		return SONDE_OK;
	if (!(thread = enter()))
		return next_free(name, block);
	uint32_t pool = pool_of(thread, name);
	if (pool && hook_thread_capacity(thread, 3)) {
		hook_thread_time(thread);
		uint64_t words[] = {sonde_heap_op(SONDE_HEAP_GIVE), pool, (uint64_t)(uintptr_t)block};
		hook_thread_put_many(thread, words, 3);
		code = SONDE_OK;
	}
	hook_thread_leave(thread);
	errno = saved;
	return code;
}
