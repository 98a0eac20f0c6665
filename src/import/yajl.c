/* yajl.c: finds yajl when trace events are read (yajl.h). */
#include "import/yajl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "util/error.h"

#define LIBRARY "libyajl.so.2"

struct sonde_yajl sonde_yajl;

int sonde_yajl_load(void)
{
	static int loaded;
	if (loaded)
		return 0;
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return sonde_error(ENOSYS, "trace events in JSON need yajl (" LIBRARY
					   ", Debian's libyajl2), which is not installed");
	const char *missing = NULL;
#define FIND(name)                                                                    \
	sonde_yajl.name = (__typeof__(sonde_yajl.name))dlsym(library, "yajl_" #name); \
	if (!sonde_yajl.name)                                                         \
		missing = "yajl_" #name;
	SONDE_YAJL_FUNCTIONS(FIND)
#undef FIND
	if (missing) {
		dlclose(library);
		return sonde_error(ENOSYS, LIBRARY " has no %s: trace events need yajl 2", missing);
	}
	loaded = 1;
	return 0;
}
