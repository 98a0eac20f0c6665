/* heap.h: the inside of libsonde-heap.so, which is preloaded into programs whose allocations are recorded.
 *
 * Every call goes on to the allocator that the program would have called. Around it the hook writes 24 bytes into its
 * thread's ring (format/heap.h): no lock, no system call, no allocation. Stacks are walked by the tables that the
 * recorder compiles (unwind/table.h): what a return address needs is looked up once a process; and a thread's walk ends
 * at the first frame that was there already at its last one (heap_unwind.c).
 *
 * What must not survive fork lies on pages that the child reads as zeros. The object is linked against nothing.
 */
#ifndef SONDE_INJECT_HEAP_H
#define SONDE_INJECT_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/heap.h"
#include "inject/connect.h"

#define HEAP_ENV "SONDE_HEAP" /* mean bytes between samples, 0 = every block; written by the recorder */
#define HEAP_DEPTH SONDE_HEAP_FRAMES_MAX

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

/* One frame of the thread's last walk. `fp` is the frame pointer on return to `pc`; it was read from `fp_slot`. */
struct heap_frame {
	uint64_t slot; /* where the return address lies */
	uint64_t pc;
	uint64_t fp;
	const uint64_t *fp_slot;
	uint64_t hash; /* of this frame and all outside it */
};

/* Of one thread; owner: the thread. A forked child reads zeros. */
struct heap_thread {
	uint32_t busy; /* inside a hook: what a signal handler does here is not recorded, but counted */
	uint32_t depth;
	uint8_t status;             /* of the last walk */
	_Atomic uint64_t *at, *end; /* of the chunk's words; both NULL without a chunk */
	uint64_t last;              /* ticks of the record before */
	uint64_t stack_low, stack_end;
	struct sonde_ring_pool *pool;
	struct sonde_ring_chunk *chunk;
	struct heap_thread *next; /* of those that can be used again */
	uint64_t serial;
	uint32_t last_seq;
	pid_t pid, tid;
	uint64_t begun;   /* the last block that was given out, recorded or not */
	uint64_t deleted; /* the block that operator delete is about to free */
	int64_t left;     /* bytes until the next sample */
	uint64_t random;
	int drawn;                            /* `left` holds a distance */
	struct heap_frame frames[HEAP_DEPTH]; /* outermost first */
	struct heap_frame
	    fresh[HEAP_DEPTH]; /* of the walk that goes on, leaf first: not on a stack that may be small */
};

/* --- heap_process.c -------------------------------------------------------------------------------------------- */

struct heap_process {
	struct inject_link link;
	_Atomic uint32_t stacks; /* numbers given */
	_Atomic uint32_t ended;
	_Atomic uint64_t dropped; /* by signal handlers inside hooks */
};

extern struct heap_process *heap_process; /* NULL = nothing is recorded */
extern uint64_t heap_mean_b;              /* 0 = every block */
extern uint64_t heap_seed;                /* of the sampling */

/* Reads the environment; called until there is one. */
void heap_process_init(void);

/* --- heap_thread.c --------------------------------------------------------------------------------------------- */

extern __thread struct heap_thread *heap_self __attribute__((tls_model("initial-exec")));

/* The calling thread with `busy` set; NULL = nothing is recorded now. */
struct heap_thread *heap_thread_enter(void);

static inline void heap_thread_leave(struct heap_thread *thread)
{
	thread->busy = 0;
}

/* Room for `words` in one chunk, waiting for it when all chunks are full; 0 = there is none any more. */
int heap_thread_room(struct heap_thread *thread, uint32_t words);

static inline void heap_thread_put(struct heap_thread *thread, uint64_t word)
{
	atomic_store_explicit(thread->at, word, memory_order_release);
	thread->at++;
}

/* Writes what time it is, for records that have none of their own. The room must be there, but for its two words. */
void heap_thread_time(struct heap_thread *thread);

/* Ticks since the thread's last record, after a TIME record when that is too long ago. The room must be there. */
uint64_t heap_thread_ticks(struct heap_thread *thread);

/* --- heap_record.c --------------------------------------------------------------------------------------------- */

/* A block was given out, by the allocator that has just returned. NULL is nothing. Operators new and delete often call
 * malloc and free, which are hooked, too: see below. */
void heap_record_begins(const void *block, size_t size_b, const struct heap_caller *caller);
/* A block is about to be given back. */
void heap_record_ends(const void *block);
/* The last one was not: realloc had no memory. */
void heap_record_kept(const void *block);

/* Before and after operator new. */
void heap_record_will_new(void);
void heap_record_new(const void *block, size_t size_b, const struct heap_caller *caller);
/* Around operator delete: the block, then NULL. */
void heap_record_deleted(const void *block);

/* --- heap_unwind.c --------------------------------------------------------------------------------------------- */

/* Walks to the thread's root: frames[0 … depth) of the thread. Returns enum sonde_stack_status. */
uint8_t heap_unwind(struct heap_thread *thread, const struct heap_caller *caller);
/* Code was unmapped: what stood there is forgotten. */
void heap_unwind_forget(void);
/* Maps the memory that is needed; −1 = none. */
int heap_unwind_init(void);

/* --- heap_names.c ---------------------------------------------------------------------------------------------- */

/* Tells the recorder when malloc is in the executable, so that the hooks are never called. */
void heap_names_begin(void);

/* --- heap_maps.c ----------------------------------------------------------------------------------------------- */

/* Finds the functions that map memory, and the objects whose mappings are not the program's. */
void heap_maps_ask(void *real_malloc);

/* --- heap_stack.c ---------------------------------------------------------------------------------------------- */

/* The number of the stack that heap_unwind() has just found, told to the recorder when it is new; 0 = no room. */
uint32_t heap_stack(struct heap_thread *thread);
int heap_stack_init(void);

#endif
