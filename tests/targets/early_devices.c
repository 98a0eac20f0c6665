/* early_devices.c: does early what NVTX, the OpenCL loader and CUDA's driver do: loads the object that an environment
 * variable names, begins it, and calls all functions that it gives, without meaningful arguments. NVTX's are also
 * called under an allocator's lock, once it has begun; drivers of devices allocate themselves. Under the drivers
 * everything fails. The output does not depend on what is loaded, unless EARLY_COUNTS is set.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "early_calls.h"
#include "inject/nvtx/abi.h"

#define MODULES 8u
#define FUNCTIONS 32u /* of a module */
#define ENTRIES 256u  /* of OpenCL's table */
#define FAILURE (-30)

typedef long (*any)(long, long, long, long, long, long, long, long, long, long, long, long, long, long);

/* Loads the first entry of the list in an environment variable. */
static void *load(const char *variable)
{
	const char *list = getenv(variable);
	char path[512] = "";
	if (list && strlen(list) < sizeof path)
		strcpy(path, list);
	path[strcspn(path, ":")] = '\0';
	return *path ? dlopen(path, RTLD_NOW) : NULL;
}

static long call(void *function)
{
	((any)function)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	return 1;
}

/* --- NVTX --------------------------------------------------------------------------------------------------------- */

static nvtx_function given[MODULES][FUNCTIONS];
static nvtx_function *places[MODULES][FUNCTIONS];

static void nothing(void)
{
}

static int nvtx_module(uint32_t module, nvtx_function ***functions, unsigned *count)
{
	if (module >= MODULES)
		return 0;
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		given[module][i] = nothing;
		places[module][i] = &given[module][i];
	}
	*functions = places[module];
	*count = FUNCTIONS;
	return 1;
}

static const void *nvtx_table(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = {sizeof callbacks, nvtx_module};
	return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void nvtx_begin(void)
{
	void *object = load("NVTX_INJECTION64_PATH");
	int (*begin)(nvtx_tables) = object ? (int (*)(nvtx_tables))dlsym(object, "InitializeInjectionNvtx2") : NULL;
	if (begin && !begin(nvtx_table))
		early_say("NVTX is refused\n");
}

static long nvtx_call(void)
{
	long calls = 0;
	for (unsigned module = 0; module < MODULES; module++)
		for (unsigned i = 0; i < FUNCTIONS; i++)
			if (given[module][i] && given[module][i] != nothing)
				calls += call((void *)given[module][i]);
	return calls;
}

/* --- OpenCL ------------------------------------------------------------------------------------------------------- */

/* A process has one loader, so the program and the library share these symbols. */
extern void *const *early_opencl_theirs;
extern uint32_t early_opencl_count;
void *const *early_opencl_theirs;
uint32_t early_opencl_count;

static long fail(void)
{
	return FAILURE;
}

static void opencl_begin(void)
{
	static void *opencl_ours[ENTRIES];
	void *object = load("OPENCL_LAYERS");
	int (*begin)(uint32_t, void *const *, uint32_t *, void *const **) =
	    object ? (int (*)(uint32_t, void *const *, uint32_t *, void *const **))dlsym(object, "clInitLayer") : NULL;
	if (!begin || early_opencl_theirs)
		return;
	for (unsigned i = 0; i < ENTRIES; i++)
		opencl_ours[i] = (void *)fail;
	if (begin(ENTRIES, opencl_ours, &early_opencl_count, &early_opencl_theirs))
		early_say("OpenCL's layer is refused\n");
}

static long opencl_call(void)
{
	long calls = 0;
	for (uint32_t i = 0; i < early_opencl_count && i < ENTRIES; i++)
		if (early_opencl_theirs[i] && early_opencl_theirs[i] != (void *)fail)
			calls += call(early_opencl_theirs[i]);
	return calls;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static long cuda_begin(void)
{
	void *object = load("CUDA_INJECTION64_PATH");
	int (*begin)(void) = object ? (int (*)(void))dlsym(object, "InitializeInjection") : NULL;
	if (begin && begin() != 1)
		early_say("CUDA is refused\n");
	return begin != NULL;
}

static void say(const char *what, long calls)
{
	if (!getenv("EARLY_COUNTS"))
		return;
	early_say(what);
	early_say_number(calls);
	early_say("\n");
}

void early_calls_first(const char *where)
{
	early_say_end(where, 0);
}

void early_calls_second(const char *where)
{
	early_calls_first(where);
}

void early_calls_under(const char *where)
{
	nvtx_call();
	early_say_end(where, 0);
}

void early_calls_outside(const char *where)
{
	static int has_begun;
	free(malloc(1));             /* the program's own allocator initialises now, whatever is loaded */
	if (!has_begun && environ) { /* there is no environment in preinit */
		has_begun = 1;
		nvtx_begin();
		opencl_begin();
	}
	say("nvtx ", nvtx_call());
	say("opencl ", opencl_call());
	say("cuda ", cuda_begin());
	early_say_end(where, 1);
}
