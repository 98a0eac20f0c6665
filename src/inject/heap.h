/* heap.h: the inside of libsonde-heap.so, which is preloaded into programs whose allocations are recorded.
 *
 * Every call goes on to the allocator that the program would have called. Around it the hook writes 24 bytes into its
 * thread's ring (format/heap.h): no lock, no system call, no allocation. Stacks are walked by the tables that the
 * recorder compiles (unwind/table.h): what a return address needs is looked up once a process (heap_rules.c); and a
 * thread's walk ends at the first frame that was there already at its last one (heap_unwind.c).
 *
 * Where blocks are sampled, most calls only count bytes down, and look at one byte of a filter: what that takes stands
 * here, to be part of the hooks.
 *
 * What must not survive fork lies on pages that the child reads as zeros. The object is linked against nothing.
 */
#ifndef SONDE_INJECT_HEAP_H
#define SONDE_INJECT_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "format/heap.h"
#include "inject/connect.h"
#include "inject/sandbox.h"

struct inject_objects_count;

/* Written by the recorder: mean bytes between samples (0 = every block), and its own filters of seccomp. */
#define HEAP_ENV "SONDE_HEAP"
#define HEAP_SEED_ENV "SONDE_HEAP_SEED" /* a number to draw samples by, for tests; else the clock tells one */
#define HEAP_WALK_MAX 2048u             /* frames that a thread keeps; SONDE_HEAP_FRAMES_MAX of them are told */
#define HEAP_READS_MAX 4u               /* words of the stack that one step reads: as many as a signal's frame holds */

#pragma GCC visibility push(hidden)

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* Where a hook was called from. */
struct heap_caller {
	uint64_t pc, sp, fp;
};

/* Must stand in the hook itself, which keeps a frame pointer. */
#define HEAP_CALLER()                                                           \
	((struct heap_caller){(uint64_t)(uintptr_t)__builtin_return_address(0), \
			      (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),       \
			      *(const uint64_t *)__builtin_frame_address(0)})

/* A word of the stack that a walk has read. */
struct heap_check {
	const uint64_t *at;
	uint64_t word;
};

/* One frame of the thread's last walk. */
struct heap_frame {
	uint64_t slot; /* where the return address lies */
	uint64_t pc;
	uint64_t fp;      /* frame pointer on return to `pc` */
	uint64_t fp_mask; /* 0 where no frame outside depends on it, else ~0 */
	uint64_t hash;    /* of this frame and all outside it */
	uint32_t checks;  /* while the first so many checks of the thread hold, all outside this frame is the same */
	uint32_t stack;   /* number of the stack that ends here; 0 = not asked for */
};

/* What a frame has to do with the frame pointer of the one outside it. */
enum heap_fp {
	HEAP_FP_REPLACED = 0,
	HEAP_FP_NEEDED = 1, /* its own leads to that frame */
	HEAP_FP_PASSED = 2, /* it has the same */
	HEAP_FP_READ = 4,   /* it was read, as the second word */
};

/* A frame that the walk which goes on has stepped out of, and what it has read to do so. */
struct heap_step {
	uint64_t slot, pc, fp;
	uint32_t reads;
	uint32_t follows_fp; /* enum heap_fp */
	struct heap_check read[HEAP_READS_MAX];
};

#define HEAP_OUTSIDE 1u /* in no hook */

/* Of one thread; owner: the thread. A forked child reads zeros. What the hooks touch comes first. */
struct heap_thread {
	uint64_t
	    where; /* HEAP_OUTSIDE; where on its stack the hook stands that the thread is in; 0 = a forked child's */
	_Atomic uint64_t *at,
	    *limit;       /* of the chunk's words; below the limit is room for a block; NULL without a chunk */
	uint64_t last;    /* ticks of the record before */
	uint64_t begun;   /* the last block that was given out, if it was recorded */
	uint64_t deleted; /* the block that operator delete is about to free */
	struct heap_frame *innermost; /* of `frames` */
	uint8_t status;               /* of the last walk to the outermost frame */
	uint8_t is_cut;               /* frames[1] is not the outermost: there were too many */
	uint8_t has_cycles;
	uint64_t generation; /* of the rules that the frames were walked by */
	uint64_t stack_low, stack_end;
	_Atomic uint64_t *end;
	struct sonde_ring_pool *pool;
	struct sonde_ring_chunk *chunk;
	struct heap_thread *next; /* of those that can be used again */
	uint64_t serial;
	uint32_t last_seq;
	pid_t pid, tid;
	uint64_t random;
	/* outermost first, from [1] on: [0] is in no stack, and its slot higher than all */
	struct heap_frame frames[HEAP_WALK_MAX + 1];
	struct heap_check checks[HEAP_WALK_MAX * HEAP_READS_MAX]; /* likewise */
	struct heap_step steps[HEAP_WALK_MAX];                    /* leaf first: not on a stack that may be small */
};

/* --- heap_process.c -------------------------------------------------------------------------------------------- */

struct heap_process {
	struct inject_link link;
	struct inject_sandbox sandbox;
	_Atomic uint32_t stacks; /* numbers given */
	_Atomic uint32_t has_left;
};

extern struct heap_process *heap_process; /* NULL = nothing is recorded */
extern uint64_t heap_mean_b;              /* 0 = every block */
extern uint64_t heap_seed;                /* of the sampling */
extern int heap_is_light;                 /* blocks are sampled, and nothing else is done */
extern pid_t heap_first_pid;              /* a forked child has another */

/* Reads the environment; called until there is one, and it is known whether anything is recorded: 1. */
int heap_process_init(void);
/* Maps the tables; of a light recording when the first block is sampled. Whether there is anything to record into.
 * Inside calls of ours. */
int heap_process_open(void);
/* Tells the recorder something of the process, without connecting it. */
void heap_process_tell(enum sonde_link_reason reason);
/* In a forked child, before anything else. */
void heap_process_forked(void);
/* Nothing is recorded from here on, and the recorder is told why. */
void heap_process_leave(enum sonde_link_reason reason);

/* --- heap_thread.c --------------------------------------------------------------------------------------------- */

extern __thread struct heap_thread *heap_self __attribute__((tls_model("initial-exec")));

/* Keeps signal handlers out, and what they might jump to, while we connect or hold a lock; not what the program's own
 * faults raise. Returns what heap_thread_let_signals() is to be given. */
uint64_t heap_thread_hold_signals(void);
void heap_thread_let_signals(uint64_t before);

/* In a forked child: the calling thread is not known any more. */
void heap_thread_forget(void);

/* For all but the calls of a thread that is known and in no hook. */
struct heap_thread *heap_thread_enter_slowly(uint64_t where);

/* The calling thread, which is in a hook until heap_thread_leave(); NULL = nothing is recorded now. */
static inline struct heap_thread *heap_thread_enter(void)
{
	struct heap_thread *thread = heap_self;
	uint64_t where = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
	if (unlikely(!thread) || unlikely(thread->where != HEAP_OUTSIDE))
		return heap_thread_enter_slowly(where);
	thread->where = where;
	atomic_signal_fence(memory_order_seq_cst);
	return thread;
}

static inline void heap_thread_leave(struct heap_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->where = HEAP_OUTSIDE;
}

/* Room for `words` in one chunk and a TIME before them, waiting for it when all chunks are full; 0 = there is none any
 * more. */
int heap_thread_room(struct heap_thread *thread, uint32_t words);

/* The same for a block's beginning or end. */
static inline int heap_thread_has_room(struct heap_thread *thread)
{
	return likely(thread->at < thread->limit) || heap_thread_room(thread, 4);
}

static inline void heap_thread_put(struct heap_thread *thread, uint64_t word)
{
	_Atomic uint64_t *at = thread->at;
	atomic_store_explicit(at, word, memory_order_release);
	thread->at = at + 1;
}

/* A record of two words. The first is stored last: a hook that is left by siglongjmp leaves no half of a record. */
static inline void heap_thread_put_two(struct heap_thread *thread, uint64_t first, uint64_t second)
{
	_Atomic uint64_t *at = thread->at;
	atomic_store_explicit(at + 1, second, memory_order_relaxed);
	atomic_store_explicit(at, first, memory_order_release);
	thread->at = at + 2;
}

/* A longer one, likewise. */
static inline void heap_thread_put_many(struct heap_thread *thread, const uint64_t *words, uint32_t count)
{
	_Atomic uint64_t *at = thread->at;
	for (uint32_t i = 1; i < count; i++)
		atomic_store_explicit(at + i, words[i], memory_order_relaxed);
	atomic_store_explicit(at, words[0], memory_order_release);
	thread->at = at + count;
}

static inline uint64_t heap_thread_now(const struct heap_thread *thread)
{
	uint64_t time = likely(thread->has_cycles) ? sonde_clock_cycles() : sonde_clock_now_ns();
	return time >> SONDE_HEAP_TICK_SHIFT;
}

/* What is written next is counted from `ticks`. */
void heap_thread_put_time(struct heap_thread *thread, uint64_t ticks);
/* Writes what time it is, for records that have none of their own. The room must be there, but for its two words. */
void heap_thread_time(struct heap_thread *thread);

/* Ticks since the thread's last record, after a TIME record when that is too long ago. The room must be there. */
static inline uint64_t heap_thread_ticks(struct heap_thread *thread)
{
	uint64_t ticks = heap_thread_now(thread), passed = ticks - thread->last;
	thread->last = ticks;
	if (likely(passed <= SONDE_HEAP_TICKS_MAX))
		return passed;
	heap_thread_put_time(thread, ticks); /* also when the counter went back a little */
	return 0;
}

/* --- heap_record.c --------------------------------------------------------------------------------------------- */

#define HEAP_FILTER_BITS 16
#define HEAP_NEVER 254u
#define HEAP_PAGE_BITS 12

/* Bytes that the calling thread may still be given without a sample; 0 = not drawn yet: heap_record_take() does. */
extern __thread uint64_t heap_left __attribute__((tls_model("initial-exec")));
/* How many blocks in pages of each kind have ends that must be told; 255: more than were counted. And how many are
 * none: a number that never stands there when all must be. */
extern _Atomic uint8_t heap_filter[1u << HEAP_FILTER_BITS];
extern _Atomic uint8_t heap_none;

/* A block's address while something else is called: what we leave on the stack must not look like the program's pointer
 * to it when leaks are looked for. */
static inline uint64_t heap_record_hide(const void *block)
{
	uint64_t hidden = ~(uint64_t)(uintptr_t)block;
	__asm__("" : "+r"(hidden));
	return hidden;
}

static inline void *heap_record_show(uint64_t hidden)
{
	return (void *)(uintptr_t)~hidden; /* NOLINT: it was one */
}

/* Returns the block. */
void *heap_record_take(void *block, size_t size_b, const struct heap_caller *caller);
int heap_record_told(const void *block);

/* Counts a block of this size down; whether nothing else is to be done. One of no bytes counts as one. */
static inline int heap_record_passes(size_t size_b)
{
	uint64_t counted_b = (uint64_t)size_b + !size_b, left_b = heap_left;
	if (unlikely(counted_b >= left_b))
		return 0;
	heap_left = left_b - counted_b;
	return 1;
}

/* Pages of one region have bytes of their own; and regions that lie a multiple of its size apart do not meet. */
static inline uint32_t heap_record_page(const void *block)
{
	uint64_t page = (uint64_t)(uintptr_t)block >> HEAP_PAGE_BITS;
	return (uint32_t)(page ^ page >> HEAP_FILTER_BITS) & ((1u << HEAP_FILTER_BITS) - 1);
}

/* Whether a block's end may have to be told: most need not. */
static inline int heap_record_may_end(const void *block)
{
	return atomic_load_explicit(&heap_filter[heap_record_page(block)], memory_order_relaxed) !=
	       atomic_load_explicit(&heap_none, memory_order_relaxed);
}

/* From now on heap_record_may_end() says yes of this block. */
void heap_record_mark(const void *block);

/* From now on it says yes of all blocks, as at first, or only of those that are marked. */
static inline void heap_record_look(int at_all)
{
	atomic_store_explicit(&heap_none, at_all ? HEAP_NEVER : 0, memory_order_relaxed);
}

/* A block was given out, by the allocator that has just returned. NULL is nothing. Operators new and delete often call
 * malloc and free, which are hooked, too: see below. Returns the block. */
static inline void *heap_record_begins(void *block, size_t size_b, const struct heap_caller *caller)
{
	return heap_record_passes(size_b) ? block : heap_record_take(block, size_b, caller);
}

/* A block is about to be given back; whether that was told. */
static inline int heap_record_ends(const void *block)
{
	return heap_record_may_end(block) && heap_record_told(block);
}

/* The last one was not, whose end was told: realloc had no memory. */
void heap_record_kept(const void *block);

/* Before operator new: what heap_record_new() is to be given after it. */
static inline uint64_t heap_record_will_new(void)
{
	if (heap_self)
		heap_self->begun = 0;
	return heap_left;
}

/* After operator new, where it has called no allocator that is hooked. */
void *heap_record_new(void *block, size_t size_b, const struct heap_caller *caller);

/* Around operator delete, where heap_record_may_end() says yes: the block, then NULL. */
void heap_record_deleted(const void *block);

/* --- heap_rules.c ---------------------------------------------------------------------------------------------- */

/* A row of a call-frame table (unwind/table.h), packed. */
#define HEAP_RULE_CFA(packed) ((int32_t)(uint32_t)(packed))
#define HEAP_RULE_FP(packed) ((int16_t)(uint16_t)((packed) >> 32))
#define HEAP_RULE_RA_SLOT(packed) ((uint8_t)((packed) >> 48))
#define HEAP_RULE_KIND(packed) ((uint8_t)((packed) >> 56 & 127))

/* Each look-up is a way to memory: a return address takes one word (its low 48 bits, then the number of its row; 0 =
 * none) in a table that is hardly larger than it must be, by linear probing. The address of the table, which is that of
 * a page, and how many bits its length has. */
extern _Atomic uintptr_t heap_rules;
/* Packed rows, of which even large programs have few; each stays in its place for good. */
extern _Atomic uint64_t *heap_rows;

static inline _Atomic uint64_t *heap_rules_table(uintptr_t rules)
{
	return (_Atomic uint64_t *)(rules & ~(uintptr_t)63); /* NOLINT: it was one */
}

/* Changes when code is unmapped: what was walked before is not known to be the same. */
extern _Atomic uint64_t heap_rules_generation;

/* Maps the memory that is needed; −1 = none. */
int heap_rules_init(void);
/* Finds the rule for a return address that has none yet. */
uint64_t heap_rules_make(const struct heap_thread *thread, uint64_t pc);
/* All that is known is forgotten. */
void heap_rules_forget(void);
/* Objects may have been unloaded since they were counted: what is known of them is forgotten. */
void heap_rules_forget_gone(const struct inject_objects_count *before);
/* The thread was thrown out of the middle of heap_rules_make(). */
void heap_rules_recover(const struct heap_thread *thread);

static inline uint32_t heap_rules_home(uintptr_t rules, uint64_t pc)
{
	return (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> (-rules & 63));
}

static inline uint64_t heap_rules_get(const struct heap_thread *thread, uint64_t pc)
{
	uintptr_t rules = atomic_load_explicit(&heap_rules, memory_order_acquire);
	uint32_t mask = (1u << (rules & 63)) - 1;
	for (uint32_t at = heap_rules_home(rules, pc);; at = (at + 1) & mask) {
		/* acquire: the row was written before */
		uint64_t rule = atomic_load_explicit(&heap_rules_table(rules)[at], memory_order_acquire);
		if (likely(rule >> 16 == pc))
			return atomic_load_explicit(&heap_rows[rule & 0xffff], memory_order_relaxed);
		if (unlikely(!rule))
			return heap_rules_make(thread, pc);
	}
}

/* --- heap_unwind.c --------------------------------------------------------------------------------------------- */

/* Walks to the thread's root: frames[1] to *innermost of the thread, at least one. Returns the innermost. */
struct heap_frame *heap_unwind(struct heap_thread *thread, const struct heap_caller *caller);

/* --- heap_names.c ---------------------------------------------------------------------------------------------- */

/* Tells the recorder when malloc is in the executable, so that the hooks are never called. */
void heap_names_begin(void);

/* --- heap_maps.c ----------------------------------------------------------------------------------------------- */

/* Finds the functions that map memory. */
void heap_maps_ask(void);
/* Finds the objects whose mappings are not the program's; before it none is told. Not before other objects have begun:
 * a sanitizer's dl_iterate_phdr() cannot be called earlier. */
void heap_maps_begin(void *real_malloc);

/* --- heap_operators.c ------------------------------------------------------------------------------------------ */

/* Finds the operators that all objects call. While only those are loaded that the program begins with. */
void heap_operators_begin(void);
/* Around a call of dlclose(). */
void heap_operators_close(void);
void heap_operators_closed(void);

/* --- heap_stack.c ---------------------------------------------------------------------------------------------- */

int heap_stack_init(void);
/* The number of the stack that heap_unwind() has just found, told to the recorder when it is new; 0 = no room. */
uint32_t heap_stack(struct heap_thread *thread);

#pragma GCC visibility pop

#endif
