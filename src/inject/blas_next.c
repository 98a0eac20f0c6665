/* blas_next.c: the routine that a caller would have called without us.
 *
 * That is the next one of its name in the global scope, else one that the caller's library finds by itself: numpy loads
 * its libraries for themselves (RTLD_LOCAL), and each may bring another BLAS. The caller is known by its return
 * address; where that lies in a library that finds none, since the call was a jump out of another one, it is the first
 * loaded library that has one. What was found is kept, by name in the global scope, else by name and return address;
 * its library is never unloaded then, since we keep an address in it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "inject/blas.h"
#include "inject/bounds.h"
#include "inject/next.h"

#pragma weak dladdr
#pragma weak dlerror
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dl_iterate_phdr

#define ENTRIES_MAX 4096u /* names */
#define KEPT 1024u        /* callers of libraries for themselves */
#define RESTARTS_MAX 16u  /* of a search, when libraries were unloaded meanwhile */

/* The function, and in its lowest bit, which no function's address has here, whether it is wide. */
static _Atomic uintptr_t global[ENTRIES_MAX];

struct kept {
	_Atomic uintptr_t from; /* 0 = free; who sets it fills the rest in */
	uint32_t index;
	struct blas_next next;
	_Atomic uint32_t is_filled;
};
static struct kept kept[KEPT];

static int is_other(const void *function)
{
	return function && !inject_bounds_have((uintptr_t)function);
}

/* --- how wide its integers are ----------------------------------------------------------------------------------- */

/* Of a library whose names do not say it. */
static int is_wide(const void *function)
{
	Dl_info info;
	if (!dladdr || !dladdr(function, &info) || !info.dli_fname)
		return 0;
	void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	char *(*config)(void) = library ? (char *(*)(void))dlsym(library, "openblas_get_config") : NULL;
	if (config)
		return strstr(config(), "USE64BITINT") != NULL;
	const char *slash = strrchr(info.dli_fname, '/'), *file = slash ? slash + 1 : info.dli_fname;
	return strstr(file, "ilp64") || strstr(file, "blas64") || strstr(file, "lapack64");
}

static struct blas_next found(uint32_t index, void *function)
{
	return (struct blas_next){function, blas_form_of(index)->flags & BLAS_FORM_WIDE || is_wide(function)};
}

/* --- looking ----------------------------------------------------------------------------------------------------- */

/* In a library and what it has loaded for itself. */
static void *find_in(const char *file, const char *name)
{
	void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
	void *function = library ? dlsym(library, name) : NULL;
	if (library)
		dlclose(library);
	return is_other(function) ? function : NULL;
}

struct library {
	uint32_t wanted, at;        /* its number; that of the one looked at */
	unsigned long long unloads; /* until then, of all */
	char file[PATH_MAX];        /* "" = none that can be opened */
};

/* Only copied: the loader holds a lock that a dlopen() of another thread waits for, which holds the one that ours would
 * wait for. */
static int copy_file(struct dl_phdr_info *info, size_t info_b, void *context)
{
	struct library *library = context;
	(void)info_b;
	library->unloads = info->dlpi_subs;
	if (library->at++ < library->wanted)
		return 0;
	size_t file_b = info->dlpi_name ? strlen(info->dlpi_name) + 1 : 0;
	library->file[0] = '\0';
	if (file_b && file_b <= sizeof(library->file))
		memcpy(library->file, info->dlpi_name, file_b);
	return 1;
}

/* In the first library that has it. Those behind one that is unloaded meanwhile change their numbers. */
static void *find_in_any(const char *name)
{
	struct library library;
	unsigned long long unloads = 0;
	uint32_t restarts = 0;
	library.wanted = 0;
	library.unloads = 0;
	for (;;) {
		library.at = 0;
		int is_there = dl_iterate_phdr(copy_file, &library);
		int is_moved = library.wanted && library.unloads != unloads;
		unloads = library.unloads;
		if (is_moved && restarts++ < RESTARTS_MAX) {
			library.wanted = 0;
			continue;
		}
		if (!is_there)
			return NULL;
		void *function = library.file[0] ? find_in(library.file, name) : NULL;
		if (function)
			return function;
		library.wanted++;
	}
}

static void stay_loaded(const void *function)
{
	Dl_info info;
	if (dladdr && dladdr(function, &info) && info.dli_fname)
		(void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void *find_for(const void *from, const char *name)
{
	Dl_info info;
	void *function = NULL;
	if (!dladdr || !dlopen || !dlsym)
		return NULL;
	if (dladdr(from, &info) && info.dli_fname)
		function = find_in(info.dli_fname, name);
	if (!function && dl_iterate_phdr)
		function = find_in_any(name);
	if (function)
		stay_loaded(function);
	if (dlerror)
		dlerror();
	return function;
}

/* As the dynamic loader ends a program that calls what is nowhere. */
static void give_up(const char *name)
{
	static const char what[] = "sonde: symbol lookup error: undefined symbol: ";
	(void)!write(STDERR_FILENO, what, sizeof(what) - 1);
	(void)!write(STDERR_FILENO, name, strlen(name));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(127);
}

/* --- what was found ---------------------------------------------------------------------------------------------- */

static struct kept *slot_of(uint32_t index, uintptr_t from, uint32_t step)
{
	uint64_t hash = (from ^ (uint64_t)index << 40) * UINT64_C(0x9e3779b97f4a7c15);
	return &kept[((hash >> 32) + step) % KEPT];
}

static int look_up(uint32_t index, uintptr_t from, struct blas_next *out)
{
	for (uint32_t step = 0; step < KEPT; step++) {
		const struct kept *slot = slot_of(index, from, step);
		uintptr_t owner = atomic_load_explicit(&slot->from, memory_order_acquire);
		if (!owner)
			return 0;
		if (owner != from || !atomic_load_explicit(&slot->is_filled, memory_order_acquire) ||
		    slot->index != index)
			continue;
		*out = slot->next;
		return 1;
	}
	return 0;
}

/* Two threads may keep the same one twice. When all slots are taken it is looked for every time. */
static void keep(uint32_t index, uintptr_t from, struct blas_next next)
{
	for (uint32_t step = 0; step < KEPT; step++) {
		struct kept *slot = slot_of(index, from, step);
		uintptr_t nobody = 0;
		if (!atomic_compare_exchange_strong(&slot->from, &nobody, from))
			continue;
		slot->index = index;
		slot->next = next;
		atomic_store_explicit(&slot->is_filled, 1, memory_order_release);
		return;
	}
}

static struct blas_next look_for(uint32_t index, const void *from)
{
	char name[BLAS_NAME_B];
	blas_name(index, name);
	void *function = inject_next(name);
	if (is_other(function) && !((uintptr_t)function & 1)) {
		struct blas_next next = found(index, function);
		if (index < ENTRIES_MAX)
			atomic_store_explicit(&global[index], (uintptr_t)function | (uintptr_t)(next.is_wide != 0),
					      memory_order_release);
		return next;
	}
	function = find_for(from, name);
	if (!function)
		give_up(name);
	struct blas_next next = found(index, function);
	keep(index, (uintptr_t)from, next);
	return next;
}

struct blas_next blas_next_of(uint32_t index, const void *from)
{
	struct blas_next next;
	uintptr_t known = index < ENTRIES_MAX ? atomic_load_explicit(&global[index], memory_order_acquire) : 0;
	if (known)
		return (struct blas_next){(void *)(known & ~(uintptr_t)1), (int)(known & 1)};
	if (look_up(index, (uintptr_t)from, &next))
		return next;
	int saved = errno;
	next = look_for(index, from);
	errno = saved;
	return next;
}
