/* zones.c: records calls through libsonde: a zone, its sizes, and a report of work.
 *
 * If the program has a libsonde of its own, that copy is used, so that our zones nest in its zones. Otherwise, the
 * libsonde installed with us is loaded at the first call, so programs without such calls pay nothing. Only its
 * functions are needed. Nothing is done once a program has sandboxed itself with seccomp (hook/sandbox.h).
 *
 * The work is reported after the routine and before the zone ends, since a report is attributed by its time. That makes
 * a zone about 0.5 µs longer than its call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inject/blas/blas.h"
#include "inject/hook/machine.h"
#include "inject/hook/sandbox.h"
#include "sonde/sonde.h"

#pragma weak dlerror
#pragma weak dlopen
#pragma weak dlsym

#define ENVIRONMENT "SONDE_BLAS=" /* number of the recorder's seccomp filters, path of libsonde */
#define ROUTINES_MAX 256u
#define NO_SLOT 1u /* sonde_hot_slow(): nothing was reserved */
#define WAIT_STEPS 2000

extern char **environ;

static struct {
	void (*event)(struct sonde_place *place, uint64_t slot);
	int (*work)(double flop, double bytes, double items);
	int (*text)(const char *key, const char *value);
} api;

enum { NOT_YET, LOADING, READY, NONE };
static _Atomic uint32_t state = NONE;
static _Atomic pid_t loader;   /* the process that loads libsonde */
static char library[PATH_MAX]; /* a copy: programs overwrite their environment (setproctitle) */
static char names[ROUTINES_MAX][BLAS_NAME_B];
static struct sonde_place places[ROUTINES_MAX];

/* --- libsonde ---------------------------------------------------------------------------------------------------- */

static int api_take(void *from)
{
	api.event = (void (*)(struct sonde_place *, uint64_t))dlsym(from, "sonde_hot_slow");
	api.work = (int (*)(double, double, double))dlsym(from, "sonde_zone_work");
	api.text = (int (*)(const char *, const char *))dlsym(from, "sonde_arg_text");
	return api.event && api.work && api.text;
}

static int api_find(void)
{
	if (!dlsym || !dlopen)
		return 0;
	if (api_take(RTLD_DEFAULT))
		return 1;
	void *there = dlopen("libsonde.so.0", RTLD_LAZY | RTLD_NOLOAD);
	if (!there)
		there = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	return there && api_take(there);
}

static void load(void)
{
	int has_api = api_find();
	if (dlerror)
		dlerror();
	atomic_store_explicit(&state, has_api ? READY : NONE, memory_order_release);
}

/* Waits until another thread has loaded libsonde. That thread may be waiting for the dynamic loader's lock, which we
 * may hold, so the wait is limited; in a forked child, where that thread does not exist, there is no wait. After that,
 * no thread waits again, but the loading thread may still set READY. */
static void wait_for_load(void)
{
	struct timespec step = {0, 1000000};
	uint32_t expected = LOADING;
	int steps = atomic_load(&loader) == inject_machine_pid() ? WAIT_STEPS : 0;
	for (int i = 0; i < steps && atomic_load(&state) == LOADING; i++)
		inject_machine_call(SYS_nanosleep, (long)&step, 0, 0, 0, 0, 0);
	atomic_compare_exchange_strong(&state, &expected, NONE);
}

static int is_ready(void)
{
	uint32_t now = atomic_load_explicit(&state, memory_order_acquire);
	if (now == NOT_YET)
		atomic_store(&loader, inject_machine_pid());
	if (now == NOT_YET && atomic_compare_exchange_strong(&state, &now, LOADING))
		load();
	else if (now == LOADING)
		wait_for_load();
	return atomic_load_explicit(&state, memory_order_acquire) == READY;
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

int blas_zone_begin(uint32_t index)
{
	int saved = errno, begun = 0;
	if (atomic_load_explicit(&state, memory_order_relaxed) == NONE || !inject_calls_begin())
		return 0;
	if (is_ready()) {
		api.event(&places[index / BLAS_FORMS], NO_SLOT);
		begun = 1;
	}
	inject_calls_end();
	errno = saved;
	return begun;
}

void blas_zone_end(const struct blas_work *work, const struct blas_sizes *sizes)
{
	char text[BLAS_SIZES_B];
	int saved = errno;
	if (!inject_calls_begin())
		return;
	if (sizes && blas_sizes_text(sizes, text))
		api.text("size", text);
	if (work)
		api.work(work->flop, work->bytes, 0);
	api.event(NULL, NO_SLOT);
	inject_calls_end();
	errno = saved;
}

/* --- start ------------------------------------------------------------------------------------------------------- */

/* Does not use getenv(): if a sanitizer replaces it, the sanitizer is not initialised yet. */
static const char *settings(void)
{
	for (char **entry = environ; entry && *entry; entry++)
		if (!strncmp(*entry, ENVIRONMENT, strlen(ENVIRONMENT)))
			return *entry + strlen(ENVIRONMENT);
	return NULL;
}

/* Maps the state, which reads as zeros in a forked child. */
static struct inject_sandbox *sandbox_new(void)
{
	long page = inject_machine_call(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page < 0 && page >= -4095)
		return NULL;
	if (inject_machine_call(SYS_madvise, page, 4096, MADV_WIPEONFORK, 0, 0, 0))
		return NULL;
	struct inject_sandbox *sandbox = (struct inject_sandbox *)page; /* NOLINT: an address */
	sandbox->pid = (pid_t)inject_machine_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	return sandbox;
}

static void begin(void)
{
	uint64_t filters = 0;
	const char *wanted = settings();
	if (!wanted || blas_routine_count > ROUTINES_MAX)
		return;
	for (; *wanted >= '0' && *wanted <= '9'; wanted++)
		filters = filters * 10 + (uint64_t)(*wanted - '0');
	if (*wanted != ' ' || inject_sandbox_is_inherited(filters))
		return;
	size_t library_b = strlen(++wanted) + 1;
	if (library_b > sizeof(library))
		return;
	memcpy(library, wanted, library_b);
	struct inject_sandbox *sandbox = sandbox_new();
	if (!sandbox)
		return;
	inject_sandbox_watch(sandbox);
	for (uint32_t i = 0; i < blas_routine_count; i++) {
		const struct blas_routine *routine = &blas_routines[i];
		names[i][0] = routine->type;
		memcpy(names[i] + 1, routine->name, strlen(routine->name));
		places[i] = (struct sonde_place){.id = SONDE_PLACE_NEW,
						 .name = names[i],
						 .unit = routine->is_lapack ? "lapack" : "blas",
						 .kind = SONDE_KIND_ZONE};
	}
	atomic_store_explicit(&state, NOT_YET, memory_order_release);
}

__attribute__((constructor)) static void blas_begin_process(void)
{
	int saved = errno;
	inject_sandbox_init();
	begin();
	errno = saved;
}
