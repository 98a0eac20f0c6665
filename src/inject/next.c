/* next.c: finds the function that a hook stands in front of. What is not there is not for dlerror() to tell. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inject/bounds.h"
#include "inject/next.h"

#pragma weak gnu_get_libc_version
#pragma weak dladdr
#pragma weak dlerror
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlvsym
#pragma weak __libc_dlsym
#pragma weak __libc_dlopen_mode
void *__libc_dlsym(void *object, const char *name);
void *__libc_dlopen_mode(const char *name, int mode);

const char *gnu_get_libc_version(void);

/* glibc's dlerror() translates what it tells, under the lock of locales, which who allocates for the first time may
 * hold: there a look-up that succeeds makes the loader forget. */
static void forget_error(void)
{
	if (gnu_get_libc_version && dlsym)
		(void)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	else if (dlerror)
		dlerror();
}

/* glibc before 2.34 keeps dlsym and threads in libraries that need not be loaded. */
void *inject_next(const char *name)
{
	void *found = dlsym ? dlsym(RTLD_NEXT, name) : NULL;
	if (found &&
	    inject_bounds_have((uintptr_t)found)) { /* by a dlsym() of the program's, behind which we come next */
		void *libc = dlopen ? dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD) : NULL;
		found = libc ? dlsym(libc, name) : NULL;
	}
	if (dlsym && !found)
		forget_error();
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

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#define ALIGNED_VERSION "GLIBC_2.16"
#else
#define FIRST_VERSION "GLIBC_2.17"
#define ALIGNED_VERSION FIRST_VERSION
#endif

static int is_libcs(const void *function)
{
	Dl_info info;
	const char *name = dladdr && dladdr(function, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
	return name && !strncmp(name, "/libc.so.6", sizeof("/libc.so.6"));
}

/* Only in front of the C library's own: an allocator without versions is not found by one. Asked for is what is there:
 * a message about what is not would be allocated, and be one of the program's blocks. */
void *inject_next_allocator(const char *name)
{
	const char *version = strcmp(name, "aligned_alloc") ? FIRST_VERSION : ALIGNED_VERSION;
	void *found = inject_next(name), *first = NULL;
	if (dlvsym && gnu_get_libc_version && found && is_libcs(found))
		first = dlvsym(RTLD_NEXT, name, version);
	return first && !inject_bounds_have((uintptr_t)first) ? first : found;
}
