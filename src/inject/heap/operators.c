/* operators.c: hooks of C++ operators new and delete, for allocators with operators of their own. Most operators call
 * malloc and free; a block that those hooks have recorded is not recorded again.
 *
 * The operators that a program would call depend on the caller. Operators found after our object at program start serve
 * all callers, and are never unloaded. If there are none, as in C programs, each object loaded later, such as an
 * interpreter's module, uses the operators loaded along with it; the C++ library of one object must not throw through
 * another's. These operators are found without the loader (hook/objects.h), whose lock is held while constructors wait
 * for threads that allocate.
 *
 * An object's binding is valid until some object is unloaded: the first call after that discards all bindings. A call
 * finds its binding by the page of the caller, in a table of single words that is read without a lock: page, generation
 * and entry. A word is valid while its generation is the current one. dlclose() starts a new generation twice: before
 * objects are unloaded, and after, because a thread may have looked up an object while its destructors ran. In between
 * nothing is added to the table: a new object may be mapped in place of an unloaded one before we notice.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "inject/heap/heap.h"
#include "inject/hook/bounds.h"
#include "inject/hook/caller.h"
#include "inject/hook/connect.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/hook/next.h"
#include "inject/hook/objects.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/thread.h"

#define EXPORT __attribute__((visibility("default")))

#define NEW(symbol, ...) NUMBER##symbol,
#define DELETE(symbol, ...) NUMBER##symbol,
enum which {
#include "inject/heap/operators.def"
	OPERATOR_COUNT
};
#undef NEW
#undef DELETE

#define NEW(symbol, ...) #symbol,
#define DELETE(symbol, ...) #symbol,
static const char *const names[OPERATOR_COUNT] = {
#include "inject/heap/operators.def"
};
#undef NEW
#undef DELETE

/* The operators that serve all callers. NULL = there is none for all callers, or it was not looked up yet. */
static _Atomic(void *) everybodys[OPERATOR_COUNT];

#define ENTRY_BITS 10u
#define ENTRIES (1u << ENTRY_BITS) /* used from [1] on; objects beyond are looked up at each call */
#define PROBES 32u
#define GENERATION_BITS 18u
#define GENERATIONS (1u << GENERATION_BITS)
#define PAGE_BITS 12u
#define WORD_BITS 15u
#define ADDRESS_BITS 48u
#define BEING_FILLED 1u

/* Lies in memory that is mapped on demand, and that a forked child inherits: a new lookup would need the loader's lock,
 * which another thread may have held at the fork, and which nobody releases in the child. */
struct bound {
	_Atomic uint64_t words[1u << WORD_BITS]; /* page, GENERATION_BITS, ENTRY_BITS; 0 = none */
	/* The bindings of an object. Written while the loader's list is locked, or by the thread that has claimed the
	 * entry. */
	_Atomic uintptr_t owners[ENTRIES]; /* address of an object's dynamic section; 0 = free */
	_Atomic(void *) functions[ENTRIES][OPERATOR_COUNT];
	/* The address ranges of all objects at the time when a thread was about to fork: its child finds objects only
	 * by these. Written while the list is locked. */
	_Atomic uint64_t listed; /* loads and unloads at that time, + 1 */
	_Atomic uint32_t listed_count;
	struct inject_objects_range ranges[ENTRIES];
	uintptr_t range_owners[ENTRIES];
};

static struct bound *_Atomic bound;
static uint64_t known_unloads; /* of the list, when the entries were created */
static _Atomic uint32_t generation;
static _Atomic uint32_t closing; /* calls of dlclose() in progress */
static int is_forked;

/* --- operators for all callers ----------------------------------------------------------------------------------- */

/* Finds the operators that serve all callers. An object that defines any operator defines operator new, so C programs
 * pay for only one lookup. */
void heap_operators_begin(void)
{
	void *first = inject_next(names[0]);
	for (uint32_t i = 0; first && i < OPERATOR_COUNT; i++)
		atomic_store_explicit(&everybodys[i], i ? inject_next(names[i]) : first, memory_order_release);
}

/* --- operators of one object ------------------------------------------------------------------------------------- */

static void forget_list(struct bound *all)
{
	atomic_store(&all->listed, 0);
	atomic_store(&all->listed_count, 0);
}

static void change_generation(void)
{
	struct bound *all = atomic_load(&bound);
	if (all)
		forget_list(all);
	if ((atomic_fetch_add(&generation, 1) + 1) % GENERATIONS || !all)
		return;
	for (uint32_t i = 0; i < 1u << WORD_BITS; i++)
		atomic_store_explicit(&all->words[i], 0, memory_order_relaxed);
}

void heap_operators_close(void)
{
	atomic_fetch_add(&closing, 1);
	change_generation();
}

void heap_operators_closed(void)
{
	change_generation();
	atomic_fetch_sub(&closing, 1);
}

static void forget_entries(struct bound *all)
{
	change_generation(); /* first, so that readers of an entry that is filled next notice the change */
	for (uint32_t i = 1; i < ENTRIES; i++)
		atomic_store_explicit(&all->owners[i], 0, memory_order_release);
}

static void fill(struct bound *all, uint32_t entry, const struct inject_object *object)
{
	void *found[OPERATOR_COUNT] = {NULL};
	inject_objects_bind(object, names, OPERATOR_COUNT, found);
	for (uint32_t i = 0; i < OPERATOR_COUNT; i++)
		atomic_store_explicit(&all->functions[entry][i], found[i], memory_order_release);
	atomic_store_explicit(&all->owners[entry], (uintptr_t)object->dynamic, memory_order_release);
}

static inline uint32_t first_entry(uintptr_t owner)
{
	return (uint32_t)(owner * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ENTRY_BITS));
}

/* The entry of an object, filled in if it is new; 0 = no room. */
static uint32_t entry_of(struct bound *all, const struct inject_object *object)
{
	uintptr_t wanted = (uintptr_t)object->dynamic;
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t entry = (first_entry(wanted) + i) % ENTRIES;
		uintptr_t owner = 0;
		if (!entry)
			continue;
		if (atomic_compare_exchange_strong(&all->owners[entry], &owner, BEING_FILLED)) {
			fill(all, entry, object);
			return entry;
		}
		if (owner == wanted)
			return entry;
	}
	return 0;
}

/* Discards all entries if an object was unloaded since they were created, because another object may have taken its
 * place. */
static void forget_gone(struct bound *all, const struct inject_objects_count *count)
{
	if (count->is_known && count->unloads == known_unloads)
		return;
	forget_entries(all);
	known_unloads = count->unloads;
}

struct question {
	enum which which;
	uintptr_t caller;
	struct bound *all; /* NULL = no room */
	void *real;
	uint32_t entry; /* where `real` was found; 0 = nowhere */
};

static void answer(const struct inject_objects_count *count, void *data)
{
	struct question *question = data;
	struct inject_object object = {.dynamic = NULL};
	if (question->all)
		forget_gone(question->all, count);
	/* in no object: generated code, which may be unmapped without notice */
	if (inject_objects_find(question->caller, &object) && object.dynamic && question->all)
		question->entry = entry_of(question->all, &object);
	if (question->entry)
		question->real = atomic_load(&question->all->functions[question->entry][question->which]);
	if (!question->real) /* objects loaded in the meantime may have it */
		inject_objects_bind(&object, &names[question->which], 1, &question->real);
}

static inline uint32_t home_of(uint64_t page)
{
	return (uint32_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> (64 - WORD_BITS));
}

static struct bound *map_bound(void)
{
	long made = inject_machine_call(SYS_mmap, 0, sizeof(struct bound), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return made < 0 && made >= -4095 ? NULL : (struct bound *)made; /* NOLINT: an address */
}

/* Returns the table, mapped first if `may_call`, which requires that the caller has called inject_calls_begin(); NULL =
 * not mapped. */
static struct bound *get_bound(int may_call)
{
	struct bound *all = atomic_load(&bound), *made;
	if (all || !may_call || !inject_connect_spares(sizeof(*all)) || !(made = map_bound()))
		return all;
	/* a concurrent thread was faster: ours stays unused */
	return atomic_compare_exchange_strong(&bound, &all, made) ? made : all;
}

/* --- forked children --------------------------------------------------------------------------------------------- */

static void list_for_child(const struct inject_objects_count *count, void *data)
{
	struct bound *all = data;
	struct inject_objects_count now;
	if (!count->is_known || atomic_load(&all->listed) == count->loads + count->unloads + 1)
		return;
	forget_gone(all, count);
	forget_list(all);
	uint32_t listed = inject_objects_ranges(all->ranges, ENTRIES, &now);
	listed = listed < ENTRIES ? listed : ENTRIES;
	for (uint32_t i = 0; i < listed; i++) {
		struct inject_object object = {.dynamic = NULL};
		int is_found = inject_objects_find(all->ranges[i].end - 1, &object) && object.dynamic;
		all->range_owners[i] = is_found && entry_of(all, &object) ? (uintptr_t)object.dynamic : 0;
	}
	atomic_store(&all->listed_count, listed);
	atomic_store(&all->listed, count->loads + count->unloads + 1);
}

void heap_operators_fork(void)
{
	struct bound *all = atomic_load(&bound);
	if (!all || is_forked || !inject_calls_begin()) /* a forked child may not use the list */
		return;
	uint64_t signals = hook_thread_hold_signals();
	inject_objects_hold(list_for_child, all);
	hook_thread_let_signals(signals);
	inject_calls_end();
}

void heap_operators_forked(void)
{
	is_forked = 1;
}

static void *function_of(const struct bound *all, uintptr_t owner, enum which which)
{
	for (uint32_t i = 0; owner && i < PROBES; i++) {
		uint32_t entry = (first_entry(owner) + i) % ENTRIES;
		if (entry && atomic_load(&all->owners[entry]) == owner)
			return atomic_load(&all->functions[entry][which]);
	}
	return NULL;
}

/* Finds the operator in a forked child, by the ranges that its parent stored: the lock of the loader's list may never
 * be released there. NULL = in no range. */
static void *find_inherited(enum which which, uintptr_t caller)
{
	const struct bound *all = atomic_load(&bound);
	uint32_t count = all ? atomic_load(&all->listed_count) : 0;
	for (uint32_t i = 0; i < count; i++)
		if (caller >= all->ranges[i].start && caller < all->ranges[i].end)
			return function_of(all, all->range_owners[i], which);
	return NULL;
}

/* --- lookup ------------------------------------------------------------------------------------------------------ */

/* Signals are held: a handler must not jump out while the list is locked. */
static void *look_up(enum which which, uintptr_t caller)
{
	struct question question = {.which = which, .caller = caller};
	uint32_t now = atomic_load(&generation);
	void *inherited = is_forked ? find_inherited(which, caller) : NULL;
	if (inherited)
		return inherited;
	int may_call = inject_calls_begin();
	uint64_t signals = may_call ? hook_thread_hold_signals() : 0;
	question.all = get_bound(may_call);
	inject_objects_hold(answer, &question);
	if (may_call) {
		hook_thread_let_signals(signals);
		inject_calls_end();
	}
	uint64_t page = caller >> PAGE_BITS;
	if (question.entry && !(caller >> ADDRESS_BITS) && !atomic_load(&closing) && atomic_load(&generation) == now)
		atomic_store_explicit(&question.all->words[home_of(page)],
				      (page << GENERATION_BITS | now % GENERATIONS) << ENTRY_BITS | question.entry,
				      memory_order_release);
	return question.real;
}

static inline void *get(enum which which, uintptr_t caller)
{
	uint64_t page = caller >> PAGE_BITS;
	struct bound *all = atomic_load_explicit(&bound, memory_order_acquire);
	if (unlikely(!all))
		return NULL;
	uint32_t now = atomic_load_explicit(&generation, memory_order_acquire);
	uint64_t word = atomic_load_explicit(&all->words[home_of(page)], memory_order_acquire);
	if (unlikely(word >> ENTRY_BITS != (page << GENERATION_BITS | now % GENERATIONS)))
		return NULL;
	void *real = atomic_load_explicit(&all->functions[word % ENTRIES][which], memory_order_acquire);
	/* the entry was not reused in the meantime */
	return likely(atomic_load_explicit(&generation, memory_order_acquire) == now) ? real : NULL;
}

static __thread const void *last __attribute__((tls_model("initial-exec"))); /* the last result of find() */

/* Finds the real operator. If an operator ends in a tail call of another one (as operator new[] may call operator new),
 * our hook seems to be the caller of the second; the actual caller is then the operator that was found last. */
static __attribute__((noinline)) void *find(enum which which, const char *name, const void *caller)
{
	if (unlikely(!inject_is_bound()))
		return inject_next(name);
	if (unlikely(inject_bounds_have((uintptr_t)caller)) && last)
		caller = last;
	void *real = get(which, (uintptr_t)caller);
	if (unlikely(!real))
		real = look_up(which, (uintptr_t)caller);
	last = real;
	return real;
}

/* --- the operators ----------------------------------------------------------------------------------------------- */

/* Allocates a block in place of operator new, if there is no C++ library at all. */
static __attribute__((noinline)) void *take(size_t size_b, size_t align_b, int may_fail)
{
	size_t wanted_b = size_b + !size_b;
	void *block = align_b > _Alignof(max_align_t) ? memalign(align_b, wanted_b) : malloc(wanted_b);
	if (!block && !may_fail)
		abort();
	return block;
}

/* Exceptions of the real operator pass through. Debug information shows the plain names, without C++ mangling. A
 * library's IFUNC resolver may call before our object is relocated: such a call is only passed on, since no operators
 * for all callers are known yet. */
#define NEW(symbol, parameters, arguments, align_b, may_fail)                                         \
	EXPORT void *alloc##symbol parameters __asm__(#symbol);                                       \
	EXPORT void *alloc##symbol parameters                                                         \
	{                                                                                             \
		void *real = atomic_load_explicit(&everybodys[NUMBER##symbol], memory_order_acquire); \
		if (unlikely(!real)) {                                                                \
			real = find(NUMBER##symbol, #symbol, __builtin_return_address(0));            \
			if (!inject_is_bound())                                                       \
				return real ? ((void *(*)parameters)real)arguments : NULL;            \
			if (!real)                                                                    \
				return take(size_b, align_b, may_fail);                               \
		}                                                                                     \
		void *(*next)parameters = (void *(*)parameters)real;                                  \
		uint64_t left_b = heap_record_will_new();                                             \
		void *block = next arguments;                                                         \
		if (likely(heap_left != left_b)) /* it was counted */                                 \
			return block;                                                                 \
		struct hook_caller caller = HOOK_CALLER();                                            \
		return heap_record_new(block, size_b, &caller);                                       \
	}

#define DELETE(symbol, parameters, arguments)                                                         \
	EXPORT void free##symbol parameters __asm__(#symbol);                                         \
	EXPORT void free##symbol parameters                                                           \
	{                                                                                             \
		void *real = atomic_load_explicit(&everybodys[NUMBER##symbol], memory_order_acquire); \
		if (unlikely(!real)) {                                                                \
			real = find(NUMBER##symbol, #symbol, __builtin_return_address(0));            \
			if (!inject_is_bound()) {                                                     \
				if (real)                                                             \
					((void(*) parameters)real) arguments;                         \
				return;                                                               \
			}                                                                             \
			if (!real) {                                                                  \
				free(block);                                                          \
				return;                                                               \
			}                                                                             \
		}                                                                                     \
		void(*next) parameters = (void(*) parameters)real;                                    \
		if (!heap_record_may_end(block)) {                                                    \
			next arguments;                                                               \
			return;                                                                       \
		}                                                                                     \
		heap_record_deleted(block);                                                           \
		next arguments;                                                                       \
		heap_record_deleted(NULL);                                                            \
	}

#include "inject/heap/operators.def"
