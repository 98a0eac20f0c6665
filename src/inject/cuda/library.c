/* library.c: finds CUPTI and its functions (cuda/library.h).
 *
 * A program that brings a CUDA of its own (Python's wheels do) must get that copy: so a mapped copy is preferred, and
 * otherwise the major version of the mapped runtime. In a set-uid program the environment is ignored.
 */
#include "inject/cuda/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONAL, NEEDED };

struct mapped {
	char cupti[PATH_MAX]; /* "" = not mapped */
	int major;            /* version of the mapped runtime; 0 = not mapped */
};

static int look(struct dl_phdr_info *info, size_t size_b, void *context)
{
	struct mapped *mapped = context;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	(void)size_b;
	if (!slash)
		return 0;
	if (!strncmp(slash, "/libcupti.so", 12) && strlen(info->dlpi_name) < sizeof mapped->cupti)
		strcpy(mapped->cupti, info->dlpi_name);
	if (!strncmp(slash, "/libcudart.so.1", 15))
		mapped->major = 10 + (slash[15] >= '0' && slash[15] <= '9' ? slash[15] - '0' : 0);
	return 0;
}

static void *open_one(const char *directory, int major)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof path, "%s%slibcupti.so.%d", directory, *directory ? "/" : "", major);
	return len > 0 && (size_t)len < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Opens CUPTI in a complete CUDA installation at `root`; NULL: not found. */
static void *open_below(const char *root, int major)
{
	static const char *const places[] = {"extras/CUPTI/lib64", "lib64", "lib"};
	void *handle = NULL;
	for (size_t i = 0; root && *root == '/' && !handle && i < sizeof places / sizeof *places; i++) {
		char directory[PATH_MAX];
		int len = snprintf(directory, sizeof directory, "%s/%s", root, places[i]);
		if (len > 0 && (size_t)len < sizeof directory)
			handle = open_one(directory, major);
	}
	return handle;
}

static void *open_major(int major)
{
	const char *const roots[] = {secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"), "/usr/local/cuda"};
	void *handle = open_one("", major);
	for (size_t i = 0; !handle && i < sizeof roots / sizeof *roots; i++)
		handle = open_below(roots[i], major);
	return handle;
}

static void *open_library(void)
{
	struct mapped mapped = {0};
	dl_iterate_phdr(look, &mapped);
	if (*mapped.cupti)
		return dlopen(mapped.cupti, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	const int majors[] = {mapped.major > 12 ? mapped.major : 13 - (mapped.major == 12), 13, 12, 14};
	void *handle = NULL;
	for (size_t i = 0; !handle && i < sizeof majors / sizeof *majors; i++)
		handle = open_major(majors[i]);
	return handle;
}

/* Looks up all functions. Returns the name of a needed one that is missing; NULL: none is missing. */
static const char *find(struct cuda_library *library, void *handle)
{
	const char *missing = NULL;
#define CUDA_CALL(name, arguments, need)                        \
	library->name = (int(*) arguments)dlsym(handle, #name); \
	if (need == NEEDED && !library->name)                   \
		missing = #name;
	CUDA_CALLS(CUDA_CALL)
#undef CUDA_CALL
	return missing;
}

int cuda_library_load(struct cuda_library *out, char *why, size_t why_b)
{
	void *handle = open_library();
	if (!handle) {
		snprintf(why, why_b, "libcupti.so.13 or .12 is not found (CUDA_HOME, LD_LIBRARY_PATH)");
		return -1;
	}
	const char *missing = find(out, handle);
	int code = missing ? 0 : out->cuptiGetVersion(&out->version);
	if (missing)
		snprintf(why, why_b, "this libcupti has no %s", missing);
	else if (code)
		snprintf(why, why_b, "libcupti does not report its version: %s", cuda_library_error(out, code));
	else if (out->version < CUDA_12_0)
		snprintf(why, why_b, "libcupti %u is older than CUDA 12.0", out->version);
	else
		return 0;
	return -1;
}

const char *cuda_library_error(const struct cuda_library *library, int code)
{
	const char *text = NULL;
	return library->cuptiGetResultString(code, &text) || !text ? "unknown error" : text;
}
