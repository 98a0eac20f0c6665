/* objects.h: what the dynamic loader has loaded, and the functions that it finds there, without asking it.
 *
 * dlopen() holds the loader's lock while it runs constructors, which may wait for threads that call us: what we looked
 * up by dlsym() or dladdr() would never be answered. dl_iterate_phdr() takes another lock, which is held only while the
 * list of objects changes; tables of symbols are read where the loader has mapped them.
 *
 * Nothing here allocates, makes system calls (but for that lock, when somebody else has it), or sets errno or what
 * dlerror() says.
 */
#ifndef SONDE_INJECT_HOOK_OBJECTS_H
#define SONDE_INJECT_HOOK_OBJECTS_H

#include <elf.h>
#include <link.h>
#include <stdint.h>

/* Valid while the object is loaded. */
struct inject_object {
	uintptr_t base;            /* what its own addresses are counted from */
	const ElfW(Dyn) * dynamic; /* NULL = none; no two objects have the same */
	const char *path;          /* empty: the executable's */
};

/* Objects that were loaded and unloaded so far. */
struct inject_objects_count {
	uint64_t loads, unloads;
	int is_known; /* 0 = the C library does not say */
};

struct inject_objects_range {
	uintptr_t start, end;
};

/* As dl_iterate_phdr(). */
int inject_objects_each(int (*visit)(struct dl_phdr_info *info, size_t info_b, void *data), void *data);

/* Calls `visit` once, while no object comes or goes (musl: while none goes: there none ever does). 0 = it was not
 * called. What follows may be called in it. */
int inject_objects_hold(void (*visit)(const struct inject_objects_count *count, void *data), void *data);

/* The object in which an address lies; 0 = in none. */
int inject_objects_find(uintptr_t address, struct inject_object *out);
/* A function that other objects may call by this name; NULL = none, or one that is chosen when it is bound (IFUNC). */
void *inject_objects_function(const struct inject_object *object, const char *name);
/* What calls of `from` to functions of these names would be bound to without our object; from.dynamic NULL: whatever
 * has them. What is not NULL in `out` already stays. */
void inject_objects_bind(const struct inject_object *from, const char *const *names, uint32_t count, void **out);

/* By themselves: */

void inject_objects_counted(struct inject_objects_count *out);
/* Where all objects lie, `most` of them, and the count then. Returns how many there are. */
uint32_t inject_objects_ranges(struct inject_objects_range *out, uint32_t most, struct inject_objects_count *count);

#endif
