/* yajl.c: loads yajl when trace events are read (yajl.h). */
#include "import/yajl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "util/error.h"

#define LIBRARY "libyajl.so.2"

/* Enough for a text of 16 MB, raw and decoded, each in a buffer that grows by doubling. */
enum { RESERVE_B = 64 << 20 };

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

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void *resize(void *context, void *from, size_t size_b)
{
	struct sonde_yajl_memory *memory = context;
	void *to = realloc(from, size_b);
	if (to || memory->is_short)
		return to;
	memory->is_short = 1;
	free(memory->reserve);
	memory->reserve = NULL;
	return realloc(from, size_b);
}

static void *allocate(void *context, size_t size_b)
{
	return resize(context, NULL, size_b);
}

static void release(void *context, void *at)
{
	(void)context;
	free(at);
}

int sonde_yajl_memory_init(struct sonde_yajl_memory *memory)
{
	*memory = (struct sonde_yajl_memory){.reserve = malloc(RESERVE_B)}; /* untouched memory does not count in RSS */
	if (!memory->reserve)
		return sonde_error(ENOMEM, "out of memory for JSON");
	memory->functions = (yajl_alloc_funcs){.malloc = allocate, .realloc = resize, .free = release, .ctx = memory};
	return 0;
}

void sonde_yajl_memory_fini(struct sonde_yajl_memory *memory)
{
	free(memory->reserve);
	memory->reserve = NULL;
}
