/* next.h: finds the function that a hook stands in front of. */
#ifndef SONDE_INJECT_NEXT_H
#define SONDE_INJECT_NEXT_H

/* The function that would be called without us, or NULL. Takes the dynamic loader's lock, which dlopen() holds while it
 * runs constructors: hooks ask before there are any, when our object begins, or at a call that comes even before that. */
void *inject_next(const char *name);

/* The same of an allocator's function: by the version that programs name, since glibc's debugging allocator
 * (libc_malloc_debug.so) has no other. */
void *inject_next_allocator(const char *name);

#endif
