/* objects.h: finds the objects that the dynamic loader has loaded, and their functions, without calling the loader.
 *
 * dlopen() holds the loader's lock while it runs constructors, which may wait for threads that call us: if we called
 * dlsym() or dladdr(), we would deadlock. dl_iterate_phdr() takes another lock, which is held only while the list of
 * objects changes; symbol tables are read where the loader has mapped them.
 *
 * Nothing here allocates, makes system calls (except to wait for that lock), or changes errno or the result of
 * dlerror().
 */
#ifndef SONDE_INJECT_HOOK_OBJECTS_H
#define SONDE_INJECT_HOOK_OBJECTS_H

#include <elf.h>
#include <link.h>
#include <stdint.h>

/* Valid while the object is loaded. */
struct inject_object {
	uintptr_t base;            /* base of its own addresses */
	const ElfW(Dyn) * dynamic; /* NULL = none; unique among objects */
	const char *path;          /* empty for the executable */
};

/* Number of objects loaded and unloaded so far. */
struct inject_objects_count {
	uint64_t loads, unloads;
	int is_known; /* 0 = the C library does not report it */
};

struct inject_objects_range {
	uintptr_t start, end;
};

/* Like dl_iterate_phdr(). */
int inject_objects_each(int (*visit)(struct dl_phdr_info *info, size_t info_b, void *data), void *data);

/* Calls `visit` once, while no object is loaded or unloaded (musl: while none is unloaded, which never happens there).
 * 0 = it was not called. The functions below may be called in it. */
int inject_objects_hold(void (*visit)(const struct inject_objects_count *count, void *data), void *data);

/* The object that contains an address; 0 = none. */
int inject_objects_find(uintptr_t address, struct inject_object *out);
/* A function that the object exports by this name; NULL = none, or one that is selected at binding (IFUNC). */
void *inject_objects_function(const struct inject_object *object, const char *name);
/* The functions to which calls from `from` would be bound without our object; from.dynamic NULL: the first definition
 * in any object. Entries of `out` that are not NULL stay. */
void inject_objects_bind(const struct inject_object *from, const char *const *names, uint32_t count, void **out);

/* Like inject_objects_ranges() below, but only the counts. */

void inject_objects_counted(struct inject_objects_count *out);
/* Address ranges of all objects, at most `most` of them, and the counts at that time. Returns the number of objects. */
uint32_t inject_objects_ranges(struct inject_objects_range *out, uint32_t most, struct inject_objects_count *count);

#endif
