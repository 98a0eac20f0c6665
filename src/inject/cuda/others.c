/* others.c: interposes the calls by which another profiler in the process starts (cuda/others.h).
 *
 * CUPTI does not report that another client starts, and a profiler that starts after we have subscribed either gives up
 * for good (PyTorch's) or continues and receives our buffers. So such a profiler must be noticed before it starts. An
 * object linked to libcupti calls it through slots that the loader has filled in, for names listed in its relocation
 * tables; the slots of a few functions are redirected to ours, which report and forward. A profiler that gets the
 * functions by dlsym() is not noticed: it finds that we have subscribed.
 *
 * An object appears in the loader's list before its slots are filled in and made read-only. So when the list has new
 * objects, we call dlopen(), which waits for a dlopen() in progress in another thread, and redirect slots only if the
 * list has not changed since.
 */
#include "inject/cuda/others.h"
#include "inject/hook/machine.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "inject/hook/bounds.h"

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#else
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#endif

static const struct cuda_library *next;
static cuda_others_taking *recorded;

/* --- interposed functions ----------------------------------------------------------------------------------------- */

static void record(const void *caller)
{
	Dl_info info;
	const char *path = dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "";
	const char *slash = strrchr(path, '/');
	recorded(slash ? slash + 1 : path);
}

#define BEGINNINGS(CALL)                                                                                              \
	CALL(cuptiSubscribe, (void **subscriber, cuda_callback *call, void *context), (subscriber, call, context))    \
	CALL(cuptiSubscribe_v2,                                                                                       \
	     (void **subscriber, cuda_callback *call, void *context, struct cuda_subscriber_params *params),          \
	     (subscriber, call, context, params))                                                                     \
	CALL(cuptiActivityRegisterTimestampCallback, (cuda_clock * clock), (clock))                                   \
	CALL(cuptiActivityRegisterCallbacks, (cuda_request * request, cuda_complete * complete), (request, complete)) \
	CALL(cuptiActivitySetAttribute, (int attribute, size_t *value_b, void *value), (attribute, value_b, value))   \
	CALL(cuptiActivityEnable, (int kind), (kind))

#define FRONT(name, parameters, arguments)           \
	static int front_##name parameters           \
	{                                            \
		record(__builtin_return_address(0)); \
		return next->name arguments;         \
	}
BEGINNINGS(FRONT)
#undef FRONT

struct front {
	const char *name;
	uintptr_t ours, theirs; /* 0: this CUPTI lacks it */
};

static struct front front_of(const char *name)
{
	struct front front = {.name = name};
#define FRONT(call, parameters, arguments)            \
	if (!strcmp(name, #call)) {                   \
		front.ours = (uintptr_t)front_##call; \
		front.theirs = (uintptr_t)next->call; \
	}
	BEGINNINGS(FRONT)
#undef FRONT
	return front;
}

/* --- slots -------------------------------------------------------------------------------------------------------- */

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * calls, *others; /* relocations */
	size_t call_count, other_count, relative_count;
};

/* glibc relocates addresses in the table where it is writable; else they are the file's values. */
static const void *address_of(const struct dl_phdr_info *info, uintptr_t pointer)
{
	return (const void *)(pointer < info->dlpi_addr ? info->dlpi_addr + pointer : pointer); /* NOLINT: it is one */
}

static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *info, uint32_t type)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == type)
			return &info->dlpi_phdr[i];
	return NULL;
}

static void read_tables(const struct dl_phdr_info *info, const ElfW(Dyn) * entry, struct tables *out)
{
	*out = (struct tables){.symbols = NULL};
	for (; entry->d_tag != DT_NULL; entry++) {
		const void *address = address_of(info, entry->d_un.d_ptr);
		if (entry->d_tag == DT_SYMTAB)
			out->symbols = address;
		else if (entry->d_tag == DT_STRTAB)
			out->strings = address;
		else if (entry->d_tag == DT_JMPREL)
			out->calls = address;
		else if (entry->d_tag == DT_PLTRELSZ)
			out->call_count = entry->d_un.d_val / sizeof *out->calls;
		else if (entry->d_tag == DT_RELA)
			out->others = address;
		else if (entry->d_tag == DT_RELASZ)
			out->other_count = entry->d_un.d_val / sizeof *out->others;
		else if (entry->d_tag == DT_RELACOUNT)
			out->relative_count = entry->d_un.d_val;
	}
}

static int needs_cupti(const ElfW(Dyn) * entry, const char *strings)
{
	for (; strings && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_NEEDED && !strncmp(strings + entry->d_un.d_val, "libcupti.so", 11))
			return 1;
	return 0;
}

static int is_within(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz)
			return 1;
	}
	return 0;
}

/* True if the slot is on a page that the loader has made read-only after filling it in: only whole pages are. */
static int is_read_only(const struct dl_phdr_info *info, uintptr_t slot, uintptr_t page_b)
{
	const ElfW(Phdr) *segment = segment_of(info, PT_GNU_RELRO);
	uintptr_t start = segment ? info->dlpi_addr + segment->p_vaddr : 0;
	return segment && slot >= (start & ~(page_b - 1)) && slot < ((start + segment->p_memsz) & ~(page_b - 1));
}

static void point(const struct dl_phdr_info *info, uintptr_t *slot, uintptr_t function)
{
	uintptr_t page_b = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)slot & ~(page_b - 1)); /* NOLINT: it is one */
	int is_fixed = is_read_only(info, (uintptr_t)slot, page_b);
	if (is_fixed && mprotect(page, page_b, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, function, __ATOMIC_RELEASE);
	if (is_fixed)
		mprotect(page, page_b, PROT_READ);
}

struct look {
	unsigned long long loads, unloads;
	int is_settled; /* all slots of the listed objects are filled in */
	int has_new, has_changed;
};

/* Redirects slots that point to this CUPTI, or to the stub for lazy binding. */
static void look_at(const struct dl_phdr_info *info, const struct tables *tables, const ElfW(Rela) * relocation,
		    struct look *look)
{
	uint32_t symbol = (uint32_t)(relocation->r_info >> 32), type = (uint32_t)relocation->r_info;
	if (!IS_SLOT(type) || !symbol)
		return;
	const char *name = tables->strings + tables->symbols[symbol].st_name;
	struct front front = {.name = NULL};
	if (!strncmp(name, "cupti", 5))
		front = front_of(name);
	if (!front.theirs)
		return;
	uintptr_t *slot = (uintptr_t *)(info->dlpi_addr + relocation->r_offset); /* NOLINT: it is one */
	uintptr_t now = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (now == front.ours)
		return;
	look->has_new = 1;
	if (look->is_settled && (now == front.theirs || is_within(info, now)))
		point(info, slot, front.ours);
}

static int look_into(struct dl_phdr_info *info, size_t info_b, void *data)
{
	struct look *look = data;
	struct tables tables;
	(void)info_b;
	if (look->is_settled && (info->dlpi_adds != look->loads || info->dlpi_subs != look->unloads)) {
		look->has_changed = 1;
		return 1;
	}
	look->loads = info->dlpi_adds;
	look->unloads = info->dlpi_subs;
	const ElfW(Phdr) *segment = segment_of(info, PT_DYNAMIC);
	if (!segment || inject_bounds_have(info->dlpi_addr + segment->p_vaddr))
		return 0;
	const ElfW(Dyn) *dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + segment->p_vaddr); /* NOLINT: it is one */
	read_tables(info, dynamic, &tables);
	if (!tables.symbols || !needs_cupti(dynamic, tables.strings))
		return 0;
	for (size_t i = 0; tables.calls && i < tables.call_count; i++)
		look_at(info, &tables, &tables.calls[i], look);
	for (size_t i = tables.relative_count; tables.others && i < tables.other_count; i++)
		look_at(info, &tables, &tables.others[i], look);
	return 0;
}

static int count(struct dl_phdr_info *info, size_t info_b, void *data)
{
	struct look *look = data;
	(void)info_b;
	look->loads = info->dlpi_adds;
	look->unloads = info->dlpi_subs;
	return 1;
}

static void watch(const struct cuda_library *cupti, cuda_others_taking *taking)
{
	static unsigned long long seen; /* number of loads for which all is done */
	struct look look = {.loads = 0};
	next = cupti;
	recorded = taking;
	dl_iterate_phdr(count, &look);
	if (look.loads == seen)
		return;
	dl_iterate_phdr(look_into, &look);
	if (look.has_new) {
		void *self = dlopen(NULL, RTLD_LAZY);
		look.is_settled = 1;
		dl_iterate_phdr(look_into, &look);
		if (self)
			dlclose(self);
	}
	if (!look.has_changed)
		seen = look.loads;
}

/* --- forks --------------------------------------------------------------------------------------------------------
 *
 * A thread that iterates over the loader's list holds a lock of the C library, which nobody releases in a child forked
 * meanwhile: the child would wait for ever when it loads something. So a fork waits until no thread iterates; but not
 * for ever, since a fork within a library's constructor holds a lock that the iteration may wait for.
 */

#define FORK_WAIT_STEPS 200
#define FORK_STEP_NS 1000000L

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int has_stopped;

static void before_fork(void)
{
	/* not pthread_mutex_timedlock(): its deadline moves when the time is set */
	static const struct timespec step = {0, FORK_STEP_NS};
	int saved = errno;
	has_stopped = !pthread_mutex_trylock(&looking);
	for (int i = 0; !has_stopped && i < FORK_WAIT_STEPS; i++) {
		INJECT_CALL(SYS_nanosleep, &step, NULL); /* not nanosleep(): a thread could be cancelled there */
		has_stopped = !pthread_mutex_trylock(&looking);
	}
	errno = saved;
}

static void in_parent(void)
{
	if (has_stopped)
		pthread_mutex_unlock(&looking);
}

static void in_child(void)
{
	pthread_mutex_init(&looking, NULL);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

void cuda_others_watch(const struct cuda_library *cupti, cuda_others_taking *taking)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&looking);
	watch(cupti, taking);
	pthread_mutex_unlock(&looking);
}
