/* waits.h: the inside of libsonde-waits.so, which is preloaded into programs whose waiting is recorded.
 *
 * A hook takes the time before and after the call that it stands in front of, walks the stack (hook/hook.h) and writes five
 * words (format/wait.h). A lock that is free costs a try and a look at one byte: only who finds it taken is recorded,
 * and from then on who holds it while others wait.
 */
#ifndef SONDE_INJECT_WAIT_WAITS_H
#define SONDE_INJECT_WAIT_WAITS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/wait.h"
#include "inject/hook/hook.h"
#include "inject/hook/next.h"

#pragma GCC visibility push(hidden)

/* What is recorded: bits of enum sonde_wait_what; 0 = nothing (more). */
extern uint32_t wait_wanted;

/* --- wait/record.c: one call ------------------------------------------------------------------------------------ */

/* Of the pool, as what begins and ends calls is told in; 0 = nothing is recorded now. Keeps errno. */
uint64_t wait_now(void);

struct wait_call {
	uint64_t began; /* wait_now() before the call */
	enum sonde_wait_kind kind;
	uint32_t object; /* of the process's; 0 = none */
	pid_t other;     /* who held what was waited for; 0 = not known */
	uint64_t amount; /* bytes */
};

/* The call has returned. Keeps errno. */
void wait_record(const struct wait_call *call, const struct hook_caller *caller);
/* The same of one that ended at `ended`. */
void wait_record_until(const struct wait_call *call, uint64_t ended, const struct hook_caller *caller);

/* Gives what is waited for a number, and tells of it; 0 = there are too many, or no room. `name` NULL = none. */
uint32_t wait_object(enum sonde_object_kind kind, uint64_t address, const char *name);

/* --- wait/files.c ----------------------------------------------------------------------------------------------- */

/* A call on a descriptor has just returned; amount ≤ 0: no bytes. Keeps errno. */
void wait_tell(uint64_t began, enum sonde_wait_kind kind, int fd, int64_t amount, const struct hook_caller *caller);

/* The words of a CALL. */
void wait_record_words(uint64_t *out, const struct wait_call *call, uint64_t took, uint32_t stack);

/* --- wait/early.c: before the process connects ------------------------------------------------------------------- */

/* Reads where the recorder has laid out memory for it. */
void wait_early_configure(const char **wanted);
/* The process is about to have a second thread: children that it forks connect at once. */
void wait_early_birth(void);
/* As wait_now(); 0 = the process must connect. */
uint64_t wait_early_now(void);
/* Tells of a call, of an object; 0 = the process must connect. */
int wait_early_call(const struct wait_call *call, uint64_t took, const struct hook_caller *caller);
int wait_early_object(const uint64_t *record, uint32_t words);
/* It has connected by its thread: what numbers were given to is told again. */
void wait_early_end(struct hook_thread *thread);

/* --- wait/mappings.c: what stacks of a process lead through ------------------------------------------------------ */

/* Calls `take` for each range of code of every loaded object with a record of format/early.h: its head and, in words,
 * its path. Stops at what is not 0, and returns that; -1 also where an object has no path, or nobody tells of them.
 * Takes the dynamic loader's lock: not in a child whose parent had threads. */
int wait_mappings_each(int (*take)(void *context, const uint64_t *head, const uint64_t *path, uint32_t path_words),
		       void *context);

/* --- wait/names.c: descriptors -------------------------------------------------------------------------------------
 */

/* The object of a descriptor; 0 = not known. May change errno. */
uint32_t wait_object_of(int fd);
/* What has no descriptor, or not one that can be looked up. May change errno. */
uint32_t wait_object_called(const char *name);
/* The same as wait_object_of() if it has been asked for before. */
uint32_t wait_object_known(int fd);
/* The number will be, or is, another descriptor. */
void wait_object_forget(int fd);
void wait_object_forget_range(unsigned first, unsigned last);

/* --- wait/table.c: locks that somebody has waited for --------------------------------------------------------------
 */

#define WAIT_MARK_BITS 12

/* By hash of the address: 0 = nobody has waited for any of these. */
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

/* A wait for a lock, from when it was found taken. */
struct wait_waiting {
	struct wait_lock *lock; /* NULL = there are too many */
	struct wait_call call;
};

struct wait_waiting wait_lock_begin(const void *address, enum sonde_wait_kind kind, pid_t holder);
/* `is_owned`: the thread holds it now, and will give it up itself. */
void wait_lock_end(struct wait_waiting *waiting, int is_owned, const struct hook_caller *caller);

/* The thread has taken a lock that is marked, without waiting. */
void wait_lock_took(const void *address, enum sonde_wait_kind kind);

/* What there is to tell of a marked lock that the thread is about to give up: its row, once it has; `ended` 0: nothing,
 * since nobody waits. */
struct wait_hold {
	struct wait_call call;
	uint64_t ended;
};

struct wait_hold wait_lock_hold(const void *address);
/* The same of a semaphore that is about to be posted to, a condition that is about to be signalled: a hold of no
 * length.
 */
struct wait_hold wait_lock_post(const void *address);

/* --- wait/locks.c ------------------------------------------------------------------------------------------ */

/* Whether the thread, which holds a mutex, has taken it once: it is not nested, and is free when it is given up. */
int wait_mutex_is_outermost(const void *mutex);

/* --- what hooks share --------------------------------------------------------------------------------------------- */

/* Whether the function that a hook stands in front of is known: each file looks up its own by find_all(), in its
 * constructor, and in a hook that is called before. What is not there may come with a library that is loaded later (of
 * threads, in glibc before 2.34). */
#define WAIT_KNOWN(function) (likely((function) != NULL) || (find_all(), (function) != NULL))

#pragma GCC visibility pop

#endif
