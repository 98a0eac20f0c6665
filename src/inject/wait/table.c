/* table.c: the locks that were waited for at least once: number of waiters, owner, start of the hold (wait/waits.h).
 *
 * A lock is identified by its address: a lock that is freed and allocated again at the same address is the same lock
 * here. The table needs no lock of its own: two threads could conflict only in writing the owner of the same lock, and
 * that lock itself serialises these writes.
 *
 * Readers hold a lock together, from when the first takes it until the last releases it: that is one hold, recorded by
 * the last. Readers are counted, except those that took the lock before the first wait; when such a reader releases the
 * lock, it is mistaken for a counted one, so the hold ends early or is not recorded. A writer has no concurrent
 * readers, and resets the count.
 */
#include <stdatomic.h>

#include "inject/hook/caller.h"
#include "inject/hook/connect.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/thread.h"
#include "inject/wait/waits.h"

#define LOCKS 4096u
#define PROBES 32u

struct wait_lock {
	_Atomic uintptr_t address; /* 0 = free */
	_Atomic uint32_t waiters;
	_Atomic uint32_t object;
	_Atomic uint32_t readers;
	_Atomic uint64_t acquired; /* wait_now() when its owner, or its first reader, took it; 0 = unknown */
	_Atomic int32_t owner;     /* tid, or READERS */
};

#define READERS (-1)

static _Atomic(struct wait_lock *) locks; /* reads as zeros in a forked child */
_Atomic uint8_t wait_marks[1u << WAIT_MARK_BITS];

static struct wait_lock *table(int make)
{
	struct wait_lock *there = atomic_load_explicit(&locks, memory_order_acquire), *made;
	if (there || !make || !inject_calls_begin())
		return there;
	made = inject_connect_spares(LOCKS * sizeof(*made)) ? inject_connect_page(LOCKS * sizeof(*made)) : NULL;
	inject_calls_end();
	if (!made || atomic_compare_exchange_strong(&locks, &there, made))
		return made;
	return there; /* our own allocation stays unused */
}

static struct wait_lock *find(const void *address, int make)
{
	struct wait_lock *all = table(make);
	uint32_t at = (uint32_t)(wait_lock_hash(address) >> 40) % LOCKS;
	for (uint32_t i = 0; all && i < PROBES; i++, at = (at + 1) % LOCKS) {
		uintptr_t there = atomic_load_explicit(&all[at].address, memory_order_acquire);
		if (!there && make && atomic_compare_exchange_strong(&all[at].address, &there, (uintptr_t)address))
			there = (uintptr_t)address;
		if (there == (uintptr_t)address)
			return &all[at];
		if (!there)
			return NULL;
	}
	return NULL;
}

/* True if waits of this kind are ended by another thread's unlock, post or signal: that call is recorded while threads
 * wait. Waits for conditions and semaphores can be cancelled without notice; after that, calls are recorded although no
 * thread waits. */
static int is_given(enum sonde_wait_kind kind)
{
	return kind == SONDE_WAIT_MUTEX || kind == SONDE_WAIT_READ_LOCK || kind == SONDE_WAIT_WRITE_LOCK ||
	       kind == SONDE_WAIT_CONDITION || kind == SONDE_WAIT_SEMAPHORE;
}

/* Registers a wait for the lock that is about to begin; NULL = there are too many locks. */
static struct wait_lock *enlist(const void *address, enum sonde_wait_kind kind)
{
	struct wait_lock *lock = find(address, 1);
	if (!lock)
		return NULL;
	/* A concurrent thread records the object, too, then uses the number that was stored first. */
	uint32_t none = 0;
	if (!atomic_load_explicit(&lock->object, memory_order_relaxed))
		atomic_compare_exchange_strong(&lock->object, &none,
					       wait_object(SONDE_OBJECT_LOCK, (uint64_t)(uintptr_t)address, NULL));
	if (is_given(kind)) {
		atomic_fetch_add(&lock->waiters, 1);
		atomic_store_explicit(wait_lock_mark(address), 1, memory_order_relaxed);
	}
	return lock;
}

static pid_t own_tid(void)
{
	return hook_self ? hook_self->tid : 0;
}

static void own(struct wait_lock *lock, enum sonde_wait_kind kind, uint64_t now)
{
	int is_reader = kind == SONDE_WAIT_READ_LOCK;
	if (!lock || (is_reader && atomic_fetch_add(&lock->readers, 1)))
		return;
	if (!is_reader)
		atomic_store_explicit(&lock->readers, 0, memory_order_relaxed);
	atomic_store_explicit(&lock->owner, is_reader ? READERS : own_tid(), memory_order_relaxed);
	atomic_store_explicit(&lock->acquired, now, memory_order_relaxed);
}

void wait_lock_took(const void *address, enum sonde_wait_kind kind)
{
	own(find(address, 0), kind, wait_now());
}

/* Decrements the number of counted readers and returns the previous value. */
static uint32_t leave_readers(struct wait_lock *lock)
{
	uint32_t readers = atomic_load_explicit(&lock->readers, memory_order_relaxed);
	while (readers && !atomic_compare_exchange_weak(&lock->readers, &readers, readers - 1))
		;
	return readers;
}

/* True if the hold that began at `acquired` ends with this release; after that another may begin. */
static int end_hold(struct wait_lock *lock, uint64_t acquired)
{
	uint32_t readers = leave_readers(lock);
	if (readers) /* after the last release, another reader may already have begun a new hold */
		return readers == 1 && atomic_compare_exchange_strong(&lock->acquired, &acquired, 0);
	if (atomic_load_explicit(&lock->owner, memory_order_relaxed) != own_tid())
		return 0;
	atomic_store_explicit(&lock->acquired, 0, memory_order_relaxed);
	return 1;
}

struct wait_hold wait_lock_hold(const void *address)
{
	struct wait_lock *lock = find(address, 0);
	struct wait_hold hold = {.ended = 0};
	uint64_t acquired = lock ? atomic_load_explicit(&lock->acquired, memory_order_relaxed) : 0;
	if (!lock || !end_hold(lock, acquired) || !acquired)
		return hold;
	hold.call = (struct wait_call){.began = acquired,
				       .kind = SONDE_WAIT_HELD,
				       .object = atomic_load_explicit(&lock->object, memory_order_relaxed)};
	if (atomic_load_explicit(&lock->waiters, memory_order_relaxed))
		hold.ended = wait_now();
	return hold;
}

struct wait_hold wait_lock_post(const void *address)
{
	struct wait_lock *lock = find(address, 0);
	struct wait_hold hold = {.ended = 0};
	if (!lock || !atomic_load_explicit(&lock->waiters, memory_order_relaxed))
		return hold;
	hold.ended = wait_now();
	hold.call = (struct wait_call){.began = hold.ended,
				       .kind = SONDE_WAIT_HELD,
				       .object = atomic_load_explicit(&lock->object, memory_order_relaxed)};
	return hold;
}

struct wait_waiting wait_lock_begin(const void *address, enum sonde_wait_kind kind, pid_t holder)
{
	struct wait_waiting waiting = {.lock = enlist(address, kind), .call = {.kind = kind, .other = holder}};
	if (waiting.lock)
		waiting.call.object = atomic_load_explicit(&waiting.lock->object, memory_order_relaxed);
	waiting.call.began = wait_now();
	return waiting;
}

void wait_lock_end(struct wait_waiting *waiting, int is_owned, const struct hook_caller *caller)
{
	uint64_t ended = wait_now();
	if (waiting->lock && is_given(waiting->call.kind))
		atomic_fetch_sub(&waiting->lock->waiters, 1);
	if (is_owned)
		own(waiting->lock, waiting->call.kind, ended);
	wait_record_until(&waiting->call, ended, caller);
}
