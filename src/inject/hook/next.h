/* next.h: finds the function that a hook interposes, without the dynamic loader.
 *
 * Rule for everything preloaded: no hook calls the dynamic loader, allocates, or takes another library's lock. A
 * program may call a hook while it holds any lock of its own: an allocator that initialises under a spinlock maps
 * memory and reads files, and dlsym() of a missing name allocates its error text. So the list of loaded objects is
 * walked here, and each object's symbol table is read where the loader has mapped it (hook/symbols.h).
 *
 * Constructors look up all that their file needs. A hook called before that looks up its function itself: the result is
 * the same, and the order does not matter. A library's IFUNC resolver may even call us before the loader has relocated
 * our own object: then no thread-local variable and no imported function can be used yet (inject_is_bound()), and the
 * hook only forwards its call.
 */
#ifndef SONDE_INJECT_HOOK_NEXT_H
#define SONDE_INJECT_HOOK_NEXT_H

#pragma GCC visibility push(hidden)

/* Like dlsym(RTLD_NEXT): the first function of that name after our own object; NULL = none. Restartable: usable in any
 * thread and in signal handlers. */
void *inject_next(const char *name);

/* Like inject_next(), but only among the objects that were loaded at the first lookup. */
void *inject_next_initial(const char *name);

/* Like inject_next(), for an allocator's function: also matches the version that programs use, since glibc's debugging
 * allocator (libc_malloc_debug.so) exports no other. */
void *inject_next_allocator(const char *name);

/* The C library's own function: the last one of that name, after anything that interposes it. */
void *inject_next_last(const char *name);

/* True if an object before our own defines the function, so that other objects' calls do not reach us. */
int inject_next_is_before(const char *name);

/* True once the loader has relocated our object. */
int inject_is_bound(void);

/* Stores the result of inject_next(), NULL included, in a function pointer. */
#define INJECT_NEXT(into, name) ((into) = (__typeof__(into))inject_next(name))

#pragma GCC visibility pop

#endif
