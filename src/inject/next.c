/* next.c: finds the function that a hook stands in front of. */
#include <dlfcn.h>
#include <stddef.h>

#include "inject/next.h"

#pragma weak dlsym
#pragma weak __libc_dlsym
#pragma weak __libc_dlopen_mode
void *__libc_dlsym(void *object, const char *name);
void *__libc_dlopen_mode(const char *name, int mode);

/* glibc before 2.34 keeps dlsym and threads in libraries that need not be loaded. */
void *inject_next(const char *name)
{
	if (dlsym)
		return dlsym(RTLD_NEXT, name);
	if (!__libc_dlsym || !__libc_dlopen_mode)
		return NULL;
	void *threads = __libc_dlopen_mode("libpthread.so.0", RTLD_LAZY), *found = NULL;
	if (threads)
		found = __libc_dlsym(threads, name);
	if (found)
		return found;
	void *libc = __libc_dlopen_mode("libc.so.6", RTLD_LAZY);
	return libc ? __libc_dlsym(libc, name) : NULL;
}
