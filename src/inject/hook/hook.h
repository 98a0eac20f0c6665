/* hook.h: what hooks in other programs share: a thread's ring, its last stack, and the rules by which stacks are
 * walked.
 *
 * A hook stands in front of a function of the C library and passes every call on. What it has to say it writes into its
 * thread's ring (format/heap.h, format/wait.h): no lock, no system call, no allocation. Stacks are walked by the tables
 * that the recorder compiles (unwind/table.h): what a return address needs is looked up once a process (hook/hook_rules.c);
 * and a thread's walk ends at the first frame that was there already at its last one (hook/hook_unwind.c).
 *
 * What must not survive fork lies on pages that the child reads as zeros. Each object that has hooks (heap/heap.h, wait/waits.h)
 * has all of this by itself, and is linked against nothing.
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

#define HOOK_WALK_MAX 2048u /* frames that a thread keeps; SONDE_HEAP_FRAMES_MAX of them are told */
#define HOOK_READS_MAX 4u   /* words of the stack that one step reads: as many as a signal's frame holds */

#pragma GCC visibility push(hidden)

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* --- what the object that has the hooks says of itself ------------------------------------------------------------ */

/* The variable of the environment that says what is recorded: how many filters of seccomp the recorder has itself, then
 * the object's own, from `wanted` on; read once. */
extern const char hook_env[];
void hook_configure(const char *wanted);

enum hook_state { HOOK_READY, HOOK_ON, HOOK_OFF };

/* The environment was read, and something is to be recorded; a thread writes now; nothing is recorded (any more): also
 * told again, by each thread that comes across it. */
void hook_state_is(enum hook_state state);

/* The calling thread is about to create another one. */
void hook_birth(void);

/* Whether a thread that finds no free chunk waits for the recorder; else what it has to say is lost, and counted. */
extern const int hook_waits;

/* A number at the beginning of the text, and what follows it and its blanks. */
uint64_t hook_read_number(const char **text);

/* Where a hook was called from. */
struct hook_caller {
	uint64_t pc, sp, fp;
};

/* Must stand in the hook itself, which keeps a frame pointer. */
#define HOOK_CALLER()                                                           \
	((struct hook_caller){(uint64_t)(uintptr_t)__builtin_return_address(0), \
			      (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),       \
			      *(const uint64_t *)__builtin_frame_address(0)})

/* What `sonde_heap_mmap` of the hooks of allocations takes: mmap() for another hook, whose caller's mapping it is. */
#define HOOK_HEAP_MMAP \
	void *at, size_t size_b, int protection, int flags, int fd, off_t offset, const struct hook_caller *caller

/* A word of the stack that a walk has read. */
struct hook_check {
	const uint64_t *at;
	uint64_t word;
};

/* One frame of the thread's last walk. */
struct hook_frame {
	uint64_t slot; /* where the return address lies */
	uint64_t pc;
	uint64_t fp;      /* frame pointer on return to `pc` */
	uint64_t fp_mask; /* 0 where no frame outside depends on it, else ~0 */
	uint64_t hash;    /* of this frame and all outside it */
	uint32_t checks;  /* while the first so many checks of the thread hold, all outside this frame is the same */
	uint32_t stack;   /* number of the stack that ends here; 0 = not asked for */
};

/* What a frame has to do with the frame pointer of the one outside it. */
enum hook_fp {
	HOOK_FP_REPLACED = 0,
	HOOK_FP_NEEDED = 1, /* its own leads to that frame */
	HOOK_FP_PASSED = 2, /* it has the same */
	HOOK_FP_READ = 4,   /* it was read, as the second word */
};

/* A frame that the walk which goes on has stepped out of, and what it has read to do so. */
struct hook_step {
	uint64_t slot, pc, fp;
	uint32_t reads;
	uint32_t follows_fp; /* enum hook_fp */
	struct hook_check read[HOOK_READS_MAX];
};

#define HOOK_OUTSIDE 1u /* in no hook */

/* Of one thread; owner: the thread. A forked child reads zeros. What the hooks touch comes first. */
struct hook_thread {
	uint64_t
	    where; /* HOOK_OUTSIDE; where on its stack the hook stands that the thread is in; 0 = a forked child's */
	_Atomic uint64_t *at,
	    *limit;       /* of the chunk's words; below the limit is room for a block; NULL without a chunk */
	uint64_t last;    /* ticks of the record before */
	uint64_t begun;   /* the last block that was given out, if it was recorded */
	uint64_t deleted; /* the block that operator delete is about to free */
	struct hook_frame *innermost; /* of `frames` */
	uint8_t status;               /* of the last walk to the outermost frame */
	uint8_t is_cut;               /* frames[1] is not the outermost: there were too many */
	uint8_t has_cycles;
	uint8_t has_paused;  /* for a chunk, in vain: it does not again before it gets one */
	uint64_t generation; /* of the rules that the frames were walked by */
	uint64_t stack_low, stack_end;
	_Atomic uint64_t *end;
	struct sonde_ring_pool *pool;
	struct sonde_ring_chunk *chunk;
	struct hook_thread *next; /* of those that can be used again */
	uint64_t serial;
	uint64_t opened; /* ticks when its chunk was; 0 = it had none */
	uint32_t last_seq;
	pid_t pid, tid;
	uint64_t random;
	/* outermost first, from [1] on: [0] is in no stack, and its slot higher than all */
	struct hook_frame frames[HOOK_WALK_MAX + 1];
	struct hook_check checks[HOOK_WALK_MAX * HOOK_READS_MAX]; /* likewise */
	struct hook_step steps[HOOK_WALK_MAX];                    /* leaf first: not on a stack that may be small */
};

/* --- hook/hook_process.c -------------------------------------------------------------------------------------------- */

/* What it says before it connects (wait/early.c); owner: its first thread. */
struct hook_early {
	_Atomic uint32_t state;
	_Atomic uint32_t is_busy;
	uint32_t has_cycles;
	uint32_t copies; /* of stacks, so far */
	uintptr_t thread;
	struct sonde_early_slot *slot;
	_Atomic uint64_t *at; /* the next word */
	uint64_t changes;     /* of what is loaded, when it was told what is mapped */
	uint64_t stack_low, stack_end;
	/* the last copy of the stack: of which caller, and the words that lie below `top`, the highest last */
	uint64_t pc, sp, fp, top;
	uint64_t stack[SONDE_EARLY_STACK_WORDS];
};

struct hook_process {
	struct inject_link link;
	struct inject_sandbox sandbox;
	struct hook_early early;
	_Atomic uint32_t stacks;  /* numbers given */
	_Atomic uint32_t objects; /* likewise, of what is waited for */
	_Atomic uint32_t has_left;
	_Atomic uint32_t vain, vain_freed; /* waits for a chunk while none came free; the pool's `freed` then */
};

extern struct hook_process *hook_process; /* NULL = nothing is recorded */
extern int hook_is_lazy;                  /* set by hook_configure(): connects with its first record */
extern pid_t hook_first_pid;              /* a forked child has another */

/* Reads the environment; called until there is one, and it is known whether anything is recorded: 1. */
int hook_process_init(void);
/* Maps the tables; of a light recording when the first block is sampled. Whether there is anything to record into.
 * Inside calls of ours. */
int hook_process_open(void);
/* Tells the recorder something of the process, without connecting it. */
void hook_process_tell(enum sonde_link_reason reason);
/* In a forked child, before anything else. */
void hook_process_forked(void);
/* Nothing is recorded from here on, and the recorder is told why. */
void hook_process_leave(enum sonde_link_reason reason);

/* --- hook/hook_thread.c --------------------------------------------------------------------------------------------- */

extern __thread struct hook_thread *hook_self __attribute__((tls_model("initial-exec")));

/* Keeps signal handlers out, and what they might jump to, while we connect or hold a lock; not what the program's own
 * faults raise. Returns what hook_thread_let_signals() is to be given. */
uint64_t hook_thread_hold_signals(void);
void hook_thread_let_signals(uint64_t before);

/* In a forked child: the calling thread is not known any more. */
void hook_thread_forget(void);

/* For all but the calls of a thread that is known and in no hook. */
struct hook_thread *hook_thread_enter_slowly(uint64_t where);

/* The calling thread, which is in a hook until hook_thread_leave(); NULL = nothing is recorded now. */
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

/* Room for `words` in one chunk and a TIME before them, waiting for it when all chunks are full; 0 = there is none any
 * more. No words: nothing is lost without a chunk yet. */
int hook_thread_room(struct hook_thread *thread, uint32_t words);

/* The same for a block's beginning or end. */
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

/* A record of two words. The first is stored last: a hook that is left by siglongjmp leaves no half of a record. */
static inline void hook_thread_put_two(struct hook_thread *thread, uint64_t first, uint64_t second)
{
	_Atomic uint64_t *at = thread->at;
	atomic_store_explicit(at + 1, second, memory_order_relaxed);
	atomic_store_explicit(at, first, memory_order_release);
	thread->at = at + 2;
}

/* A longer one, likewise. */
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

/* What is written next is counted from `ticks`. */
void hook_thread_put_time(struct hook_thread *thread, uint64_t ticks);
/* Writes what time it is, for records that have none of their own. The room must be there, but for its two words. */
void hook_thread_time(struct hook_thread *thread);

/* Ticks since the thread's last record, after a TIME record when that is too long ago. The room must be there. */
static inline uint64_t hook_thread_ticks(struct hook_thread *thread)
{
	uint64_t ticks = hook_thread_now(thread), passed = ticks - thread->last;
	thread->last = ticks;
	if (likely(passed <= SONDE_HEAP_TICKS_MAX))
		return passed;
	hook_thread_put_time(thread, ticks); /* also when the counter went back a little */
	return 0;
}

/* --- hook/hook_rules.c ---------------------------------------------------------------------------------------------- */

/* A row of a call-frame table (unwind/table.h), packed. */
#define HOOK_RULE_CFA(packed) ((int32_t)(uint32_t)(packed))
#define HOOK_RULE_FP(packed) ((int16_t)(uint16_t)((packed) >> 32))
#define HOOK_RULE_RA_SLOT(packed) ((uint8_t)((packed) >> 48))
#define HOOK_RULE_KIND(packed) ((uint8_t)((packed) >> 56 & 127))

/* Each look-up is a way to memory: a return address takes one word (its low 48 bits, then the number of its row; 0 =
 * none) in a table that is hardly larger than it must be, by linear probing. The address of the table, which is that of
 * a page, and how many bits its length has. */
extern _Atomic uintptr_t hook_rules;
/* Packed rows, of which even large programs have few; each stays in its place for good. */
extern _Atomic uint64_t *hook_rows;

static inline _Atomic uint64_t *hook_rules_table(uintptr_t rules)
{
	return (_Atomic uint64_t *)(rules & ~(uintptr_t)63); /* NOLINT: it was one */
}

/* Changes when code is unmapped: what was walked before is not known to be the same. */
extern _Atomic uint64_t hook_rules_generation;

/* Maps the memory that is needed; −1 = none. */
int hook_rules_init(void);
/* Finds the rule for a return address that has none yet. */
uint64_t hook_rules_make(const struct hook_thread *thread, uint64_t pc);
/* All that is known is forgotten. */
void hook_rules_forget(void);
/* Objects may have been unloaded since they were counted: what is known of them is forgotten. */
void hook_rules_forget_gone(const struct inject_objects_count *before);
/* The thread was thrown out of the middle of hook_rules_make(). */
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
		/* acquire: the row was written before */
		uint64_t rule = atomic_load_explicit(&hook_rules_table(rules)[at], memory_order_acquire);
		if (likely(rule >> 16 == pc))
			return atomic_load_explicit(&hook_rows[rule & 0xffff], memory_order_relaxed);
		if (unlikely(!rule))
			return hook_rules_make(thread, pc);
	}
}

/* --- hook/hook_unwind.c --------------------------------------------------------------------------------------------- */

/* Walks to the thread's root: frames[1] to *innermost of the thread, at least one. Returns the innermost. */
struct hook_frame *hook_unwind(struct hook_thread *thread, const struct hook_caller *caller);

/* --- hook/hook_stack.c ---------------------------------------------------------------------------------------------- */

int hook_stack_init(void);
/* The number of the stack that hook_unwind() has just found, told to the recorder when it is new; 0 = no room. */
uint32_t hook_stack(struct hook_thread *thread);

#pragma GCC visibility pop

#endif
