/* next.c: the routine that a caller would have called without us.
 *
 * It is the next routine of that name among the objects loaded at program start, or else the routine that the caller's
 * library finds: numpy loads its libraries privately (RTLD_LOCAL), and each may bring another BLAS. The caller is
 * identified by its return address. If that address is in a library whose dependencies have no such routine (after a
 * tail call from another library), the first loaded library that has one is used (hook/objects.h). Results are cached,
 * by name, or by name and return address.
 *
 * Results by return address are discarded when objects are unloaded: dlclose() starts a new generation before objects
 * are unloaded and another one after; nothing is cached in between. Both words of a row contain the generation, so a
 * row written by two threads at the same time matches no lookup.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/blas/blas.h"
#include "inject/hook/machine.h"
#include "inject/hook/next.h"
#include "inject/hook/objects.h"

#define EXPORT __attribute__((visibility("default")))
#define ENTRIES_MAX 4096u /* names */
#define KEPT 1024u        /* callers in privately loaded libraries */
#define GENERATIONS 32768u
#define ADDRESS_BITS 48u
#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)

/* The function; its lowest bit, which is 0 in function addresses here, is set for 64-bit integers. */
static _Atomic uintptr_t global[ENTRIES_MAX];

struct kept {
	_Atomic uint64_t from;     /* address, name, 4 bits of the generation; 0 = free */
	_Atomic uint64_t function; /* as in `global`, with the generation above; 0 = not set yet */
};
static struct kept kept[KEPT];
static _Atomic uint32_t generation;
static _Atomic uint32_t closing; /* calls of dlclose() in progress */

static struct blas_next unpack(uint64_t word)
{
	return (struct blas_next){(void *)(uintptr_t)(word & ADDRESS_MASK & ~UINT64_C(1)),
				  (int)(word & 1)}; /* NOLINT */
}

/* --- width of integers ------------------------------------------------------------------------------------------- */

/* True if the function's library uses 64-bit integers; for libraries whose names of routines do not show that. */
static int is_wide(const void *function)
{
	struct inject_object object;
	if (!inject_objects_find((uintptr_t)function, &object))
		return 0;
	char *(*config)(void) = (char *(*)(void))inject_objects_function(&object, "openblas_get_config");
	if (config)
		return strstr(config(), "USE64BITINT") != NULL;
	const char *slash = strrchr(object.path, '/'), *file = slash ? slash + 1 : object.path;
	return strstr(file, "ilp64") || strstr(file, "blas64") || strstr(file, "lapack64");
}

/* --- lookup ------------------------------------------------------------------------------------------------------ */

struct question {
	uintptr_t from;
	const char *name;
	void *function;
};

static void answer(const struct inject_objects_count *count, void *data)
{
	struct question *question = data;
	struct inject_object object = {.dynamic = NULL};
	(void)count;
	if (!inject_objects_find(question->from, &object))
		object.dynamic = NULL;
	inject_objects_bind(&object, &question->name, 1, &question->function);
}

/* Ends the process like the dynamic loader does for an undefined symbol. */
static void give_up(const char *name)
{
	static const char what[] = "sonde: symbol lookup error: undefined symbol: ";
	INJECT_CALL(SYS_write, STDERR_FILENO, what, sizeof(what) - 1);
	INJECT_CALL(SYS_write, STDERR_FILENO, name, strlen(name));
	INJECT_CALL(SYS_write, STDERR_FILENO, "\n", 1);
	if (inject_is_bound())
		_exit(127);
	for (;;)
		INJECT_CALL(SYS_exit_group, 127);
}

/* --- cached results ---------------------------------------------------------------------------------------------- */

static struct kept *slot_of(uint64_t key, uint32_t step)
{
	return &kept[((key * UINT64_C(0x9e3779b97f4a7c15) >> 32) + step) % KEPT];
}

static uint64_t key_of(uint32_t index, uintptr_t from, uint32_t now)
{
	return (from & ADDRESS_MASK) | (uint64_t)(index % ENTRIES_MAX) << ADDRESS_BITS | (uint64_t)now << 60;
}

static int look_up(uint64_t key, uint32_t now, struct blas_next *out)
{
	for (uint32_t step = 0; step < KEPT; step++) {
		const struct kept *slot = slot_of(key, step);
		uint64_t there = atomic_load_explicit(&slot->from, memory_order_acquire);
		if (!there)
			return 0;
		if (there != key)
			continue;
		uint64_t word = atomic_load_explicit(&slot->function, memory_order_acquire);
		if (word >> ADDRESS_BITS != now % GENERATIONS || !(word & ADDRESS_MASK))
			continue;
		*out = unpack(word);
		return atomic_load(&generation) == now;
	}
	return 0;
}

/* Caches a result, unless all slots are taken. Two threads may add the same result twice. */
static void keep(uint64_t key, uint32_t now, struct blas_next next)
{
	uint64_t word = (uint64_t)(now % GENERATIONS) << ADDRESS_BITS | (uintptr_t)next.function;
	if ((uintptr_t)next.function & (~ADDRESS_MASK | 1) || atomic_load(&closing) || atomic_load(&generation) != now)
		return;
	for (uint32_t step = 0; step < KEPT; step++) {
		struct kept *slot = slot_of(key, step);
		uint64_t nobody = 0;
		if (!atomic_compare_exchange_strong(&slot->from, &nobody, key))
			continue;
		atomic_store_explicit(&slot->function, word | (uint64_t)(next.is_wide != 0), memory_order_release);
		return;
	}
}

static void forget(void)
{
	atomic_fetch_add(&generation, 1);
	for (uint32_t i = 0; i < KEPT; i++) {
		atomic_store(&kept[i].from, 0);
		atomic_store(&kept[i].function, 0);
	}
}

EXPORT int dlclose(void *object);
EXPORT int dlclose(void *object)
{
	static int (*next)(void *);
	if (!next)
		INJECT_NEXT(next, "dlclose");
	if (!next)
		return -1;
	atomic_fetch_add(&closing, 1);
	forget();
	int code = next(object);
	forget();
	atomic_fetch_sub(&closing, 1);
	return code;
}

static struct blas_next found(uint32_t index, void *function)
{
	return (struct blas_next){function, blas_form_of(index)->flags & BLAS_FORM_WIDE || is_wide(function)};
}

static struct blas_next look_for(uint32_t index, uintptr_t from)
{
	char name[BLAS_NAME_B];
	blas_name(index, name);
	void *function = inject_next_initial(name);
	if (function && !((uintptr_t)function & 1)) {
		struct blas_next next = found(index, function);
		if (index < ENTRIES_MAX)
			atomic_store_explicit(&global[index], (uintptr_t)function | (uintptr_t)(next.is_wide != 0),
					      memory_order_release);
		return next;
	}
	uint32_t now = atomic_load(&generation);
	struct question question = {.from = from, .name = name};
	inject_objects_hold(answer, &question);
	if (!question.function)
		give_up(name);
	struct blas_next next = found(index, question.function);
	keep(key_of(index, from, now), now, next);
	return next;
}

void *blas_next_unbound(uint32_t index)
{
	char name[BLAS_NAME_B];
	blas_name(index, name);
	void *function = inject_next(name);
	if (!function)
		give_up(name);
	return function;
}

struct blas_next blas_next_of(uint32_t index, const void *from)
{
	struct blas_next next;
	uintptr_t known = index < ENTRIES_MAX ? atomic_load_explicit(&global[index], memory_order_acquire) : 0;
	if (known)
		return unpack(known);
	uint32_t now = atomic_load(&generation);
	if (look_up(key_of(index, (uintptr_t)from, now), now, &next))
		return next;
	int saved = errno;
	next = look_for(index, (uintptr_t)from);
	errno = saved;
	return next;
}
