/* waits.h: internals of libsonde-waits.so, which is preloaded into programs to record their blocking calls.
 *
 * A hook takes the time before and after the interposed call, unwinds the stack (hook/walk.h) and writes five words
 * (format/wait.h). A free lock costs a try and a check of one byte. A thread is recorded only if it finds the lock
 * taken; from then on, holds of that lock are recorded, too, if others wait meanwhile.
 */
#ifndef SONDE_INJECT_WAIT_WAITS_H
#define SONDE_INJECT_WAIT_WAITS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/wait.h"
#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/next.h"
#include "inject/hook/thread.h"

#pragma GCC visibility push(hidden)

/* The waits to record: bits of enum sonde_wait_what; 0 = nothing (any more). */
extern uint32_t wait_wanted;

/* --- wait/record.c: one call -------------------------------------------------------------------------------------- */

/* The time in the pool's clock, for the start and end of calls; 0 = recording is off. Keeps errno. */
uint64_t wait_now(void);

struct wait_call {
	uint64_t began; /* wait_now() before the call */
	enum sonde_wait_kind kind;
	uint32_t object; /* number in this process; 0 = none */
	pid_t other;     /* holder or other thread waited for; 0 = unknown */
	uint64_t amount; /* bytes read or written, or SONDE_WAIT_IN_VAIN */
};

/* Records a call that has just returned. Keeps errno. */
void wait_record(const struct wait_call *call, const struct hook_caller *caller);
/* Records a call that ended at `ended`. */
void wait_record_until(const struct wait_call *call, uint64_t ended, const struct hook_caller *caller);

/* Numbers and records an object; 0 = there are too many, or no room. `name` NULL = none. */
uint32_t wait_object(enum sonde_object_kind kind, uint64_t address, const char *name);

/* --- wait/files.c ------------------------------------------------------------------------------------------------- */

/* Records a call on a descriptor that has just returned; amount ≤ 0: no bytes. Keeps errno. */
void wait_tell(uint64_t began, enum sonde_wait_kind kind, int fd, int64_t amount, const struct hook_caller *caller);

/* Writes the words of a CALL record. */
void wait_record_words(uint64_t *out, const struct wait_call *call, uint64_t took, uint32_t stack);

/* --- wait/early.c: before the process connects -------------------------------------------------------------------- */

/* Reads from the settings where the recorder has prepared memory for early records. */
void wait_early_configure(const char **wanted);
/* The process is about to have a second thread: from now on its forked children connect at once. */
void wait_early_birth(void);
/* Like wait_now(), for a process that is not connected; 0 = it must connect. */
uint64_t wait_early_now(void);
/* True if the address is on the stack that the slot is for. */
int wait_early_has_stack(uint64_t address);
/* Counts a call that is not recorded. */
void wait_early_lose(void);
/* Record a call or an object; 0 = the process must connect. */
int wait_early_call(const struct wait_call *call, uint64_t took, const struct hook_caller *caller);
int wait_early_object(const uint64_t *record, uint32_t words);
/* The process has connected through this thread: records the numbered objects again. */
void wait_early_end(struct hook_thread *thread);

/* --- wait/mappings.c: the code that stacks of a process may contain ----------------------------------------------- */

/* Calls `take` for each code range of every loaded object with a MAPPING record (format/early.h): its head and, in
 * words, its path. Stops at the first nonzero result and returns it; -1 also if an object has no path, or the loader
 * reports no objects. Takes the dynamic loader's lock: do not call in a child whose parent had threads. */
int wait_mappings_each(int (*take)(void *context, const uint64_t *head, const uint64_t *path, uint32_t path_words),
		       void *context);

/* --- wait/names.c: descriptors ------------------------------------------------------------------------------------ */

/* The object of a descriptor; 0 = unknown. May change errno. */
uint32_t wait_object_of(int fd);
/* The object for something without a descriptor, or with one that cannot be looked up. May change errno. */
uint32_t wait_object_called(const char *name);
/* Like wait_object_of(), but only from the table; 0 = not looked up yet. */
uint32_t wait_object_known(int fd);
/* To be called when the number is about to refer to another descriptor. */
void wait_object_forget(int fd);
void wait_object_forget_range(unsigned first, unsigned last);

/* --- wait/table.c: locks that were waited for --------------------------------------------------------------------- */

#define WAIT_MARK_BITS 12

/* Marks of locks, by hash of the address: 0 = no thread has waited for any lock with that hash. */
extern _Atomic uint8_t wait_marks[1u << WAIT_MARK_BITS];

static inline uint64_t wait_lock_hash(const void *address)
{
	return (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
}

static inline _Atomic uint8_t *wait_lock_mark(const void *address)
{
	return &wait_marks[wait_lock_hash(address) >> (64 - WAIT_MARK_BITS)];
}

static inline int wait_lock_is_marked(const void *address)
{
	return __builtin_expect(atomic_load_explicit(wait_lock_mark(address), memory_order_relaxed) != 0, 0) != 0;
}

struct wait_lock;

/* A wait for a lock that was found taken. */
struct wait_waiting {
	struct wait_lock *lock; /* NULL = there are too many locks */
	struct wait_call call;
};

struct wait_waiting wait_lock_begin(const void *address, enum sonde_wait_kind kind, pid_t holder);
/* `is_owned`: the thread now holds the lock and will release it itself. */
void wait_lock_end(struct wait_waiting *waiting, int is_owned, const struct hook_caller *caller);

/* The thread has taken a marked lock without waiting. */
void wait_lock_took(const void *address, enum sonde_wait_kind kind);

/* The hold of a marked lock that the thread is about to release, to be recorded after the release; `ended` 0: nothing
 * to record, since no thread waits. */
struct wait_hold {
	struct wait_call call;
	uint64_t ended;
};

struct wait_hold wait_lock_hold(const void *address);
/* Like wait_lock_hold(), for a semaphore that is about to be posted or a condition that is about to be signalled: the
 * hold has zero length. */
struct wait_hold wait_lock_post(const void *address);

/* --- wait/locks.c ------------------------------------------------------------------------------------------------- */

/* True if the thread, which holds the mutex, has taken it once (not recursively): the next unlock frees it. */
int wait_mutex_is_outermost(const void *mutex);

/* --- shared by all hooks ------------------------------------------------------------------------------------------ */

/* True if the interposed function is known. Each file looks up its functions with find_all(), in its constructor or in
 * a hook that is called earlier. A missing function may come with a library that is loaded later (threads, in glibc
 * before 2.34). */
#define WAIT_KNOWN(function) (likely((function) != NULL) || (find_all(), (function) != NULL))

#pragma GCC visibility pop

#endif
