/* hook.h: shared by the hooks in other programs: a thread's ring, its last stack, and the rules for unwinding.
 *
 * A hook interposes a function of the C library and forwards every call. It writes its records into its thread's ring
 * (format/heap.h, format/wait.h), without a lock, system call or allocation. Stacks are unwound with tables that the
 * recorder compiles (unwind/table.h): the rule for a return address is looked up once per process (hook/hook_rules.c),
 * and a thread's walk ends at the first frame that its previous walk also had (hook/hook_unwind.c).
 *
 * State that must not survive fork lies on pages that read as zeros in the child. Each object with hooks (heap/heap.h,
 * wait/waits.h) has its own copy of all this, and is linked against nothing.
 */
#ifndef SONDE_INJECT_HOOK_HOOK_H
#define SONDE_INJECT_HOOK_HOOK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "format/early.h"
#include "format/heap.h"
#include "inject/hook/connect.h"
#include "inject/hook/objects.h"
#include "inject/hook/sandbox.h"

#define HOOK_WALK_MAX 2048u /* frames that a thread keeps; SONDE_HEAP_FRAMES_MAX of them are recorded */
#define HOOK_READS_MAX 4u   /* stack words read by one step at most: as many as a signal frame needs */

#pragma GCC visibility push(hidden)

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* --- implemented by the object that has the hooks ----------------------------------------------------------------- */

/* The environment variable with the settings: the number of the recorder's own seccomp filters, then the object's
 * settings, which start at `wanted`; read once. */
extern const char hook_env[];
void hook_configure(const char *wanted);

enum hook_state { HOOK_READY, HOOK_ON, HOOK_OFF };

/* READY: the environment was read, and something is to be recorded; ON: a thread now writes; OFF: nothing is recorded
 * (any more). OFF is repeated by each thread that notices. */
void hook_state_is(enum hook_state state);

/* The calling thread is about to create another one. */
void hook_birth(void);

/* True if a thread that finds no free chunk waits for the recorder; else its records are lost, and counted. */
extern const int hook_waits;

/* Parses a number and skips the blanks after it. */
uint64_t hook_read_number(const char **text);

/* The caller of a hook. */
struct hook_caller {
	uint64_t pc, sp, fp;
};

/* Only for use in the hook itself, which keeps a frame pointer. */
#define HOOK_CALLER()                                                           \
	((struct hook_caller){(uint64_t)(uintptr_t)__builtin_return_address(0), \
			      (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),       \
			      *(const uint64_t *)__builtin_frame_address(0)})

/* Parameters of `sonde_heap_mmap` in the allocation hooks: mmap() on behalf of another hook, whose caller owns the
 * mapping. */
#define HOOK_HEAP_MMAP \
	void *at, size_t size_b, int protection, int flags, int fd, off_t offset, const struct hook_caller *caller

/* A stack word that a walk has read. */
struct hook_check {
	const uint64_t *at;
	uint64_t word;
};

/* One frame of the thread's last walk. */
struct hook_frame {
	uint64_t slot; /* address of the return address */
	uint64_t pc;
	uint64_t fp;      /* frame pointer on return to `pc` */
	uint64_t fp_mask; /* 0 if no outer frame depends on it, else ~0 */
	uint64_t hash;    /* of this frame and all frames outside it */
	/* while the first so many of the thread's checks hold, all frames outside this one are unchanged */
	uint32_t checks;
	uint32_t stack; /* number of the stack with this leaf; 0 = not requested yet */
};

/* How a frame determines the frame pointer of its caller. */
enum hook_fp {
	HOOK_FP_REPLACED = 0,
	HOOK_FP_NEEDED = 1, /* its own frame pointer locates the caller's frame */
	HOOK_FP_PASSED = 2, /* the caller has the same frame pointer */
	HOOK_FP_READ = 4,   /* it was read from the stack, as the second word */
};

/* A frame that the current walk has stepped out of, and the words read for that. */
struct hook_step {
	uint64_t slot, pc, fp;
	uint32_t reads;
	uint32_t follows_fp; /* enum hook_fp */
	struct hook_check read[HOOK_READS_MAX];
};

#define HOOK_OUTSIDE 1u /* in no hook */

/* Of one thread; owner: the thread. Reads as zeros in a forked child. Fields used by hooks come first. */
struct hook_thread {
	uint64_t
	    where; /* HOOK_OUTSIDE, or the stack address of the hook that the thread is in; 0 = in a forked child */
	_Atomic uint64_t *at, *limit; /* next word of the chunk; below `limit` a block fits; NULL without a chunk */
	uint64_t last;                /* ticks of the previous record */
	uint64_t begun;               /* the last block returned, if it was recorded */
	uint64_t deleted;             /* the block that operator delete is about to free */
	struct hook_frame *innermost; /* points into `frames` */
	uint8_t status;               /* of the last walk that reached the outermost frame */
	uint8_t is_cut;               /* frames[1] is not the outermost frame: there were too many */
	uint8_t has_cycles;
	uint8_t has_paused;  /* has waited in vain for a chunk: does not wait again until it gets one */
	uint64_t generation; /* of the rules that the frames were unwound with */
	uint64_t stack_low, stack_end;
	_Atomic uint64_t *end;
	struct sonde_ring_pool *pool;
	struct sonde_ring_chunk *chunk;
	struct hook_thread *next; /* in the list of reusable states */
	uint64_t serial;
	uint64_t opened; /* ticks when its chunk was opened; 0 = it had none */
	uint32_t last_seq;
	pid_t pid, tid;
	uint64_t random;
	/* outermost first, from [1] on: [0] is a sentinel that is in no stack and has the highest slot */
	struct hook_frame frames[HOOK_WALK_MAX + 1];
	struct hook_check checks[HOOK_WALK_MAX * HOOK_READS_MAX]; /* likewise */
	/* leaf first; not a local variable, since the thread's stack may be small */
	struct hook_step steps[HOOK_WALK_MAX];
};

/* --- hook/hook_process.c ------------------------------------------------------------------------------------------ */

/* State for the time before the process connects (wait/early.c); owner: its first thread. */
struct hook_early {
	_Atomic uint32_t state;
	_Atomic uint32_t is_busy;
	uint32_t has_cycles;
	uint32_t copies; /* number of stack copies so far */
	uintptr_t thread;
	struct sonde_early_slot *slot;
	_Atomic uint64_t *at; /* the next word to write */
	uint64_t changes;     /* loads and unloads of objects when the mappings were last recorded */
	uint64_t stack_low, stack_end;
	/* the last copy of the stack: its caller, and the words below `top`, highest address last */
	uint64_t pc, sp, fp, top;
	uint64_t stack[SONDE_EARLY_STACK_WORDS];
};

struct hook_process {
	struct inject_link link;
	struct inject_sandbox sandbox;
	struct hook_early early;
	_Atomic uint32_t stacks;  /* numbers assigned to stacks */
	_Atomic uint32_t objects; /* numbers assigned to objects that are waited for */
	_Atomic uint32_t has_left;
	_Atomic uint32_t vain, vain_freed; /* waits without any chunk becoming free; the pool's `freed` at that time */
};

extern struct hook_process *hook_process; /* NULL = nothing is recorded */
extern int hook_is_lazy;                  /* set by hook_configure(): the process connects with its first record */
extern pid_t hook_first_pid;              /* differs from the pid of a forked child */

/* Reads the environment; call until it exists. 1 = it is now known whether anything is recorded. */
int hook_process_init(void);
/* Maps the tables; in a light recording when the first block is sampled. True if recording is possible. Call only
 * between inject_calls_begin() and inject_calls_end(). */
int hook_process_open(void);
/* Reports something about the process to the recorder, without connecting the process. */
void hook_process_tell(enum sonde_link_reason reason);
/* Called in a forked child, before anything else. */
void hook_process_forked(void);
/* Stops recording for good, and reports the reason to the recorder. */
void hook_process_leave(enum sonde_link_reason reason);

/* --- hook/hook_thread.c ------------------------------------------------------------------------------------------- */

extern __thread struct hook_thread *hook_self __attribute__((tls_model("initial-exec")));

/* Blocks signals, and so siglongjmp() out of handlers, while we connect or hold a lock, except signals raised by the
 * program's own faults. Returns the argument for hook_thread_let_signals(). */
uint64_t hook_thread_hold_signals(void);
void hook_thread_let_signals(uint64_t before);

/* In a forked child: forgets the state of the calling thread. */
void hook_thread_forget(void);

/* For all cases but a known thread that is in no hook. */
struct hook_thread *hook_thread_enter_slowly(uint64_t where);

/* The calling thread, marked as inside a hook until hook_thread_leave(); NULL = nothing is recorded now. */
static inline struct hook_thread *hook_thread_enter(void)
{
	struct hook_thread *thread = hook_self;
	uint64_t where = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
	if (unlikely(!thread) || unlikely(thread->where != HOOK_OUTSIDE))
		return hook_thread_enter_slowly(where);
	thread->where = where;
	atomic_signal_fence(memory_order_seq_cst);
	return thread;
}

static inline void hook_thread_leave(struct hook_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->where = HOOK_OUTSIDE;
}

/* Ensures room for `words` and a preceding TIME in one chunk, waiting if all chunks are full; 0 = there is no room.
 * With 0 words nothing counts as lost if there is no chunk yet. */
int hook_thread_room(struct hook_thread *thread, uint32_t words);

/* The same for a block's allocation or free. */
static inline int hook_thread_has_room(struct hook_thread *thread)
{
	return likely(thread->at < thread->limit) || hook_thread_room(thread, 4);
}

static inline void hook_thread_put(struct hook_thread *thread, uint64_t word)
{
	_Atomic uint64_t *at = thread->at;
	atomic_store_explicit(at, word, memory_order_release);
	thread->at = at + 1;
}

/* Writes a record of two words. The first is stored last, so a hook that is left by siglongjmp leaves no partial
 * record. */
static inline void hook_thread_put_two(struct hook_thread *thread, uint64_t first, uint64_t second)
{
	_Atomic uint64_t *at = thread->at;
	atomic_store_explicit(at + 1, second, memory_order_relaxed);
	atomic_store_explicit(at, first, memory_order_release);
	thread->at = at + 2;
}

/* Writes a longer record in the same way. */
static inline void hook_thread_put_many(struct hook_thread *thread, const uint64_t *words, uint32_t count)
{
	_Atomic uint64_t *at = thread->at;
	for (uint32_t i = 1; i < count; i++)
		atomic_store_explicit(at + i, words[i], memory_order_relaxed);
	atomic_store_explicit(at, words[0], memory_order_release);
	thread->at = at + count;
}

static inline uint64_t hook_thread_now(const struct hook_thread *thread)
{
	uint64_t time = likely(thread->has_cycles) ? sonde_clock_cycles() : sonde_clock_now_ns();
	return time >> SONDE_HEAP_TICK_SHIFT;
}

/* Writes a TIME record: later records count from `ticks`. */
void hook_thread_put_time(struct hook_thread *thread, uint64_t ticks);
/* Writes the current time, for records without a time of their own. The caller has ensured room, except for these two
 * words. */
void hook_thread_time(struct hook_thread *thread);

/* Ticks since the thread's last record, after a TIME record if that was too long ago. The caller has ensured room. */
static inline uint64_t hook_thread_ticks(struct hook_thread *thread)
{
	uint64_t ticks = hook_thread_now(thread), passed = ticks - thread->last;
	thread->last = ticks;
	if (likely(passed <= SONDE_HEAP_TICKS_MAX))
		return passed;
	hook_thread_put_time(thread, ticks); /* also if the counter went back slightly */
	return 0;
}

/* --- hook/hook_rules.c -------------------------------------------------------------------------------------------- */

/* Fields of a packed row of a call-frame table (unwind/table.h). */
#define HOOK_RULE_CFA(packed) ((int32_t)(uint32_t)(packed))
#define HOOK_RULE_FP(packed) ((int16_t)(uint16_t)((packed) >> 32))
#define HOOK_RULE_RA_SLOT(packed) ((uint8_t)((packed) >> 48))
#define HOOK_RULE_KIND(packed) ((uint8_t)((packed) >> 56 & 127))

/* A lookup costs one memory access: a return address takes one word (its low 48 bits, then the number of its row; 0 =
 * none) in a small hash table with linear probing. Holds the table's page-aligned address plus log2 of its length. */
extern _Atomic uintptr_t hook_rules;
/* Packed rows, of which even large programs have few; a row never moves. */
extern _Atomic uint64_t *hook_rows;

static inline _Atomic uint64_t *hook_rules_table(uintptr_t rules)
{
	return (_Atomic uint64_t *)(rules & ~(uintptr_t)63); /* NOLINT: it was one */
}

/* Changes when code is unmapped: earlier walks are then no longer valid. */
extern _Atomic uint64_t hook_rules_generation;

/* Maps the required memory; −1 = failed. */
int hook_rules_init(void);
/* Creates the rule for a return address that has none yet. */
uint64_t hook_rules_make(const struct hook_thread *thread, uint64_t pc);
/* Forgets all rules and modules. */
void hook_rules_forget(void);
/* Forgets objects that may have been unloaded since `before` was counted. */
void hook_rules_forget_gone(const struct inject_objects_count *before);
/* Cleans up after the thread left hook_rules_make() by siglongjmp. */
void hook_rules_recover(const struct hook_thread *thread);

static inline uint32_t hook_rules_home(uintptr_t rules, uint64_t pc)
{
	return (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> (-rules & 63));
}

static inline uint64_t hook_rules_get(const struct hook_thread *thread, uint64_t pc)
{
	uintptr_t rules = atomic_load_explicit(&hook_rules, memory_order_acquire);
	uint32_t mask = (1u << (rules & 63)) - 1;
	for (uint32_t at = hook_rules_home(rules, pc);; at = (at + 1) & mask) {
		/* acquire: the row was written first */
		uint64_t rule = atomic_load_explicit(&hook_rules_table(rules)[at], memory_order_acquire);
		if (likely(rule >> 16 == pc))
			return atomic_load_explicit(&hook_rows[rule & 0xffff], memory_order_relaxed);
		if (unlikely(!rule))
			return hook_rules_make(thread, pc);
	}
}

/* --- hook/hook_unwind.c ------------------------------------------------------------------------------------------- */

/* Walks to the thread's root: frames[1] to *innermost of the thread, at least one frame. Returns the innermost. */
struct hook_frame *hook_unwind(struct hook_thread *thread, const struct hook_caller *caller);

/* --- hook/hook_stack.c -------------------------------------------------------------------------------------------- */

int hook_stack_init(void);
/* The number of the stack last found by hook_unwind(), recorded first if it is new; 0 = no room. */
uint32_t hook_stack(struct hook_thread *thread);

#pragma GCC visibility pop

#endif
