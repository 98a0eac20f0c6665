/* next.h: finds the function that a hook stands in front of, without the dynamic loader.
 *
 * The rule for everything that is preloaded: no hook calls the dynamic loader, allocates, or takes another library's
 * lock. A program may call a hook while it holds any lock of its own: an allocator that initialises under a spinlock
 * maps memory and reads files, and dlsym() of a name that is missing allocates its error text. So the list of loaded
 * objects is walked here, and each object's symbol table is read where the loader has mapped it (hook/symbols.h).
 *
 * Constructors look up all that their file needs. A hook that is called before that looks its function up by itself:
 * what is found is the same, and no order matters. A library's IFUNC resolver may even call us before the loader has
 * relocated our own object: then no variable of the thread and no imported function can be used yet
 * (inject_is_bound()), and the hook only passes its call on.
 */
#ifndef SONDE_INJECT_HOOK_NEXT_H
#define SONDE_INJECT_HOOK_NEXT_H

#pragma GCC visibility push(hidden)

/* What dlsym(RTLD_NEXT) gives: the first function of that name behind our own object; NULL = none. Restartable: any
 * thread, signal handlers too. */
void *inject_next(const char *name);

/* The same among the objects that were loaded when something was looked up first. */
void *inject_next_initial(const char *name);

/* The same of an allocator's function: also by the version that programs name, since glibc's debugging allocator
 * (libc_malloc_debug.so) has no other. */
void *inject_next_allocator(const char *name);

/* The C library's own function: the last one of that name, behind whatever interposes it. */
void *inject_next_last(const char *name);

/* Whether an object before our own defines the function, so that calls of others do not reach us. */
int inject_next_is_before(const char *name);

/* Whether the loader has relocated our object. */
int inject_is_bound(void);

/* Stores what inject_next() finds, NULL included, in a pointer to a function. */
#define INJECT_NEXT(into, name) ((into) = (__typeof__(into))inject_next(name))

#pragma GCC visibility pop

#endif
