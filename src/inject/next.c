/* next.c: finds the function that a hook stands in front of. What is not there is not for dlerror() to tell. */
#include <dlfcn.h>
#include <stddef.h>

#include "inject/next.h"

#pragma weak dlerror
#pragma weak dlsym
#pragma weak __libc_dlsym
#pragma weak __libc_dlopen_mode
void *__libc_dlsym(void *object, const char *name);
void *__libc_dlopen_mode(const char *name, int mode);

/* glibc before 2.34 keeps dlsym and threads in libraries that need not be loaded. */
void *inject_next(const char *name)
{
	void *found = dlsym ? dlsym(RTLD_NEXT, name) : NULL;
	if (dlsym && !found && dlerror)
		dlerror();
	if (dlsym || !__libc_dlsym || !__libc_dlopen_mode)
		return found;
	void *threads = __libc_dlopen_mode("libpthread.so.0", RTLD_LAZY);
	if (threads)
		found = __libc_dlsym(threads, name);
	if (found)
		return found;
	void *libc = __libc_dlopen_mode("libc.so.6", RTLD_LAZY);
	return libc ? __libc_dlsym(libc, name) : NULL;
}
