/* next.c: finds the function that a hook interposes, by walking the loader's list itself (hook/next.h).
 *
 * The loader keeps a list of loaded objects for debuggers (struct r_debug), in its search order: the program, preloaded
 * objects, then libraries, breadth first; objects loaded by dlopen() are appended. Objects loaded at startup never
 * leave the list, so reading that far needs no lock. A function of the C library is found there. Objects loaded later
 * are searched only for a missing function, and our constructors do that before anything is unloaded.
 */
#include "inject/hook/next.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "inject/hook/bounds.h"
#include "inject/hook/machine.h"
#include "inject/hook/symbols.h"

#pragma weak _r_debug

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#define ALIGNED_VERSION "GLIBC_2.16"
#else
#define FIRST_VERSION "GLIBC_2.17"
#define ALIGNED_VERSION FIRST_VERSION
#endif

extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

/* Holds its own address once the loader has relocated this object. */
static const void *const volatile relocated = (const void *)&relocated;

int inject_is_bound(void)
{
	return relocated == (const void *)&relocated;
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

/* An executable's dynamic section, from its program headers; NULL = none. */
static const ElfW(Dyn) * dynamic_of(const ElfW(Phdr) * headers, uint64_t count, uintptr_t *base)
{
	const ElfW(Dyn) *dynamic = NULL;
	*base = 0;
	for (uint64_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_PHDR)
			*base = (uintptr_t)headers - headers[i].p_vaddr;
	for (uint64_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(*base + headers[i].p_vaddr); /* NOLINT */
	return dynamic;
}

/* The loader stores the list's address in the program's dynamic section. */
static const struct r_debug *debug_of_program(void)
{
	uintptr_t base;
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR); /* NOLINT: an address */
	const ElfW(Dyn) *entry = headers ? dynamic_of(headers, getauxval(AT_PHNUM), &base) : NULL;
	for (; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_DEBUG)
			return (const struct r_debug *)entry->d_un.d_ptr; /* NOLINT */
	return NULL;
}

/* Where the kernel has mapped the loader; 0 = unknown. A loader that was executed directly has no AT_BASE: its program
 * headers follow its ELF header. */
static uintptr_t find_loader(void)
{
	ElfW(auxv_t) auxiliary[64];
	uintptr_t base = 0, headers = 0;
	long fd = inject_machine_call(SYS_openat, AT_FDCWD, (long)"/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return 0;
	long got = inject_machine_call(SYS_read, fd, (long)auxiliary, sizeof(auxiliary), 0, 0, 0);
	inject_machine_call(SYS_close, fd, 0, 0, 0, 0, 0);
	for (long i = 0; i < got / (long)sizeof(*auxiliary); i++) {
		base = auxiliary[i].a_type == AT_BASE ? auxiliary[i].a_un.a_val : base;
		headers = auxiliary[i].a_type == AT_PHDR ? auxiliary[i].a_un.a_val : headers;
	}
	return base || !headers ? base : headers - sizeof(ElfW(Ehdr));
}

/* Finds the list by the loader's own symbol table, which works before the loader has filled in anything. */
static const struct r_debug *debug_of_loader(void)
{
	const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)find_loader(); /* NOLINT: an address */
	const ElfW(Phdr) *headers = file ? (const void *)((const char *)file + file->e_phoff) : NULL;
	struct inject_symbol_name name = inject_symbols_name("_r_debug");
	struct inject_symbols tables;
	name.is_data = 1;
	for (uint32_t i = 0; headers && i < file->e_phnum; i++) {
		if (headers[i].p_type != PT_DYNAMIC)
			continue;
		inject_symbols_read((uintptr_t)file, (const void *)((const char *)file + headers[i].p_vaddr), &tables);
		const ElfW(Sym) *symbol = inject_symbols_find(&tables, &name);
		return symbol ? (const void *)((const char *)file + symbol->st_value) : NULL;
	}
	return NULL;
}

static const struct link_map *first_object(void)
{
	static const struct r_debug *found; /* a concurrent thread finds the same */
	const struct r_debug *debug = __atomic_load_n(&found, __ATOMIC_RELAXED);
	if (!debug && inject_is_bound())
		debug = &_r_debug ? &_r_debug : debug_of_program();
	else if (!debug)
		debug = debug_of_loader();
	__atomic_store_n(&found, debug, __ATOMIC_RELAXED);
	return debug ? debug->r_map : NULL;
}

static int is_ours(const struct link_map *object)
{
	return object->l_ld == own_dynamic;
}

/* The first object after ours in the list; if ours is not listed, the first of all. */
static const struct link_map *first_behind(void)
{
	const struct link_map *first = first_object(), *object = first;
	while (object && !is_ours(object))
		object = object->l_next;
	return object ? object->l_next : first;
}

/* The object that was last in the loader's list when this was first called. */
static const struct link_map *last_object(void)
{
	static const struct link_map *last;
	const struct link_map *object = __atomic_load_n(&last, __ATOMIC_RELAXED);
	if (object)
		return object;
	for (object = first_object(); object && object->l_next; object = object->l_next)
		;
	__atomic_store_n(&last, object, __ATOMIC_RELAXED);
	return object;
}

/* --- functions --------------------------------------------------------------------------------------------------- */

/* The vDSO is in the list, but calls are never bound to it. */
static int is_kernels(const struct link_map *object)
{
	static const char start[] = "linux-";
	for (size_t i = 0; i < sizeof(start) - 1; i++)
		if (!object->l_name || object->l_name[i] != start[i])
			return 0;
	return 1;
}

/* A resolver is called as the loader does, but only after the objects are relocated. */
static void *resolve(uintptr_t address)
{
	if (!inject_is_bound())
		return NULL;
#if defined(__x86_64__)
	return ((void *(*)(void))address)(); /* NOLINT: an address */
#elif defined(__aarch64__)
	uint64_t features = getauxval(AT_HWCAP) | UINT64_C(1) << 62; /* _IFUNC_ARG_HWCAP */
	uint64_t all[3] = {sizeof(uint64_t[3]), getauxval(AT_HWCAP), getauxval(AT_HWCAP2)}; /* struct __ifunc_arg_t */
	return ((void *(*)(uint64_t, const uint64_t *))address)(features, all); /* NOLINT: an address */
#endif
}

static void *function_of(const struct link_map *object, const struct inject_symbol_name *name)
{
	struct inject_symbols tables;
	if (is_ours(object) || is_kernels(object))
		return NULL;
	inject_symbols_read(object->l_addr, object->l_ld, &tables);
	const ElfW(Sym) *symbol = inject_symbols_find(&tables, name);
	uintptr_t address = symbol ? object->l_addr + symbol->st_value : 0;
	if (symbol && inject_symbols_type(symbol) == STT_GNU_IFUNC)
		return resolve(address);
	return (void *)address; /* NOLINT: it is one */
}

/* Searches the objects from `object` to `last`; `last` NULL: to the end of the list. */
static void *find(const struct link_map *object, const struct link_map *last, const struct inject_symbol_name *name)
{
	for (; object; object = object->l_next) {
		void *found = function_of(object, name);
		if (found)
			return found;
		if (object == last)
			break;
	}
	return NULL;
}

void *inject_next(const char *text)
{
	struct inject_symbol_name name = inject_symbols_name(text);
	return find(first_behind(), NULL, &name);
}

void *inject_next_initial(const char *text)
{
	struct inject_symbol_name name = inject_symbols_name(text);
	return find(first_behind(), last_object(), &name);
}

void *inject_next_allocator(const char *text)
{
	struct inject_symbol_name name = inject_symbols_name(text);
	name.version = text[0] == 'a' ? ALIGNED_VERSION : FIRST_VERSION; /* aligned_alloc */
	return find(first_behind(), NULL, &name);
}

void *inject_next_last(const char *text)
{
	struct inject_symbol_name name = inject_symbols_name(text);
	const struct link_map *last = last_object();
	void *found = NULL;
	for (const struct link_map *object = first_object(); object; object = object->l_next) {
		void *function = function_of(object, &name);
		found = function ? function : found;
		if (object == last)
			break;
	}
	return found;
}

int inject_next_is_before(const char *text)
{
	struct inject_symbol_name name = inject_symbols_name(text);
	const struct link_map *object = first_object();
	while (object && !is_ours(object) && !function_of(object, &name))
		object = object->l_next;
	return object && !is_ours(object);
}
