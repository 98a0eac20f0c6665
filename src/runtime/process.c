/* process.c: decides whether this process records, and where to: the recorder, its own file, or nowhere.
 *
 * The process record is on a page that a forked child reads as zeros, so a child finds state NEW and initialises itself
 * at its first event: it asks the recorder for a pool of its own, or starts a file of its own if its parent wrote one.
 * The data that it needs from the parent (names from the environment, the parent's pool for its site table) is in
 * ordinary variables.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/runtime.h"

#define NAME_MAX_B 1024
#define SETUP_WAIT_NS 1000000
#define SETUP_WAITS 2000

static _Atomic(struct sonde_process *) record;
static _Atomic(struct sonde_ring_pool *) last_pool; /* in a forked child still the parent's */
static _Atomic uint32_t environment_read;
static _Atomic uint32_t set_up_before;
static char socket_name[NAME_MAX_B];
static char self_name[NAME_MAX_B];           /* "" = write no file */
static _Atomic uint32_t self_name_is_prefix; /* this process writes NAME.PID.sonde */
static struct sonde_options self_options;
static _Atomic int summary_wanted;

struct sonde_process *sonde_process_get(void)
{
	struct sonde_process *process = atomic_load_explicit(&record, memory_order_acquire);
	if (process)
		return process;
	size_t size_b = (sizeof(*process) + 4095) & ~(size_t)4095;
	struct sonde_process *fresh = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		return NULL;
	if (!madvise(fresh, size_b, MADV_WIPEONFORK) && atomic_compare_exchange_strong(&record, &process, fresh))
		return fresh;
	munmap(fresh, size_b);
	return process;
}

static void copy_name(char *to, const char *from)
{
	size_t size_b = from ? strlen(from) : 0;
	if (size_b >= NAME_MAX_B)
		size_b = 0;
	memcpy(to, from ? from : "", size_b);
	to[size_b] = 0;
}

static void read_environment(void)
{
	if (atomic_exchange(&environment_read, 1))
		return;
	copy_name(socket_name, secure_getenv(SONDE_LINK_ENV));
	copy_name(self_name, secure_getenv("SONDE_OUT"));
	atomic_store(&self_name_is_prefix, 1);
	const char *summary = secure_getenv("SONDE_SUMMARY");
	if (summary && *summary && strcmp(summary, "0") != 0)
		atomic_store(&summary_wanted, 1);
}

/* Builds this process's file name: %p is its pid; a prefix without %p gets .PID.sonde. */
static void self_path(char *out, size_t out_b)
{
	int pid = (int)getpid();
	const char *mark = strstr(self_name, "%p");
	size_t stem_b = strlen(self_name);
	if (mark)
		snprintf(out, out_b, "%.*s%d%s", (int)(mark - self_name), self_name, pid, mark + 2);
	else if (!atomic_load(&self_name_is_prefix))
		snprintf(out, out_b, "%s", self_name);
	else if (stem_b > 6 && !strcmp(self_name + stem_b - 6, ".sonde"))
		snprintf(out, out_b, "%.*s.%d.sonde", (int)stem_b - 6, self_name, pid);
	else
		snprintf(out, out_b, "%s.%d.sonde", self_name, pid);
}

static uint32_t link_flags(int forked)
{
	int tsc = PR_TSC_ENABLE;
	uint32_t flags = forked ? SONDE_LINK_FORKED : 0;
	if (!prctl(PR_GET_TSC, &tsc) && tsc == PR_TSC_SIGSEGV)
		flags |= SONDE_LINK_NO_CYCLES;
	return flags;
}

static int setup_link(struct sonde_process *process, int forked)
{
	if (!*socket_name)
		return SONDE_ERR_OFF;
	if (sonde_link_connect(process, socket_name, link_flags(forked)))
		return SONDE_ERR_RECORDER;
	atomic_store(&process->mode, SONDE_MODE_LINK);
	return SONDE_OK;
}

static int setup_self(struct sonde_process *process)
{
	char path[NAME_MAX_B + 32];
	if (!*self_name)
		return SONDE_ERR_OFF;
	self_path(path, sizeof(path));
	int code = sonde_self_start(process, path, (int)atomic_load(&self_name_is_prefix), &self_options);
	if (!code)
		atomic_store(&process->mode, SONDE_MODE_SELF);
	return code;
}

static void set_state(struct sonde_process *process, enum sonde_process_state state)
{
	atomic_store(&process->state, state);
	syscall(SYS_futex, &process->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* The caller has set the state to SETUP. */
static int setup(struct sonde_process *process)
{
	read_environment();
	process->setup_tid = (uint32_t)syscall(SYS_gettid);
	int forked = (int)atomic_exchange(&set_up_before, 1) && !atomic_load(&process->pool);
	if (forked && atomic_load(&last_pool)) {
		sonde_thread_forget_all();
		sonde_link_forget();
		sonde_self_forget();
	}
	int code = setup_link(process, forked);
	if (code)
		code = setup_self(process);
	struct sonde_ring_pool *pool = atomic_load(&process->pool), *before = atomic_load(&last_pool);
	if (!code && before && before != pool)
		sonde_place_inherit(pool, before);
	if (!code) {
		atomic_store(&last_pool, pool);
		atomic_store(&self_name_is_prefix, 1); /* for child processes */
	}
	set_state(process, code ? SONDE_PROCESS_OFF : SONDE_PROCESS_ON);
	return code;
}

/* Waits while another thread sets up, up to two seconds. A signal handler on that very thread must not wait. */
static void setup_wait(struct sonde_process *process)
{
	struct timespec step = {0, SETUP_WAIT_NS};
	if (process->setup_tid == (uint32_t)syscall(SYS_gettid))
		return;
	for (int i = 0; i < SETUP_WAITS && atomic_load(&process->state) == SONDE_PROCESS_SETUP; i++)
		syscall(SYS_futex, &process->state, FUTEX_WAIT, SONDE_PROCESS_SETUP, &step, NULL, 0);
}

struct sonde_ring_pool *sonde_process_pool(struct sonde_process *process)
{
	uint32_t state = atomic_load_explicit(&process->state, memory_order_acquire);
	if (state == SONDE_PROCESS_NEW && atomic_compare_exchange_strong(&process->state, &state, SONDE_PROCESS_SETUP))
		setup(process);
	if (state == SONDE_PROCESS_SETUP)
		setup_wait(process);
	state = atomic_load_explicit(&process->state, memory_order_acquire);
	struct sonde_ring_pool *pool = atomic_load_explicit(&process->pool, memory_order_acquire);
	if ((state == SONDE_PROCESS_ON || state == SONDE_PROCESS_PAUSED) && !atomic_load(&pool->closed))
		return pool;
	if (state == SONDE_PROCESS_ON || state == SONDE_PROCESS_PAUSED)
		sonde_process_off(process); /* the recorder has exited */
	if (state == SONDE_PROCESS_OFF)
		sonde_thread_off(process);
	return NULL;
}

void sonde_process_off(struct sonde_process *process)
{
	set_state(process, SONDE_PROCESS_OFF);
	sonde_thread_interrupt_all(1);
}

void sonde_process_lost(struct sonde_ring_pool *pool, enum sonde_ring_lost cause, uint64_t count)
{
	atomic_fetch_add_explicit(&pool->lost[cause], count, memory_order_relaxed);
}

void sonde_process_doorbell(struct sonde_process *process, struct sonde_ring_pool *pool)
{
	if (!atomic_exchange(&pool->doorbell, 1))
		sonde_process_wake(process, pool);
}

void sonde_process_wake(struct sonde_process *process, struct sonde_ring_pool *pool)
{
	if (atomic_load(&process->mode) == SONDE_MODE_SELF) {
		syscall(SYS_futex, &pool->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
		return;
	}
	struct sonde_link_head bell = {SONDE_LINK_DOORBELL, SONDE_LINK_VERSION};
	sonde_link_send(process, &bell, sizeof(bell));
}

/* --- control ------------------------------------------------------------------------------------------------------*/

static int start_from(struct sonde_process *process, uint32_t state, const char *path)
{
	if (state == SONDE_PROCESS_ON || state == SONDE_PROCESS_PAUSED) {
		if (atomic_load(&process->mode) == SONDE_MODE_LINK)
			return sonde_resume();
		return SONDE_ERR_BUSY;
	}
	if (state == SONDE_PROCESS_SETUP ||
	    !atomic_compare_exchange_strong(&process->state, &state, SONDE_PROCESS_SETUP))
		return SONDE_ERR_BUSY;
	read_environment();
	if (path) {
		copy_name(self_name, path);
		atomic_store(&self_name_is_prefix, 0);
	}
	int code = setup(process);
	if (!code)
		sonde_thread_interrupt_all(0);
	return code;
}

int sonde_start_with(const char *path, const struct sonde_options *options)
{
	if (path && (!*path || strlen(path) >= NAME_MAX_B))
		return SONDE_ERR_ARGUMENT;
	struct sonde_process *process = sonde_process_get();
	if (!process)
		return SONDE_ERR_SYSTEM;
	int saved = errno;
	uint32_t state = atomic_load(&process->state);
	if (options && (state == SONDE_PROCESS_NEW || state == SONDE_PROCESS_OFF))
		self_options = *options;
	int code = start_from(process, state, path);
	errno = saved;
	return code;
}

int sonde_start(const char *path)
{
	return sonde_start_with(path, NULL);
}

static int change(enum sonde_process_state from, enum sonde_process_state to)
{
	struct sonde_process *process = sonde_process_get();
	uint32_t state = from;
	if (!process)
		return SONDE_ERR_OFF;
	if (atomic_load(&process->state) == (uint32_t)to)
		return SONDE_OK;
	if (!atomic_compare_exchange_strong(&process->state, &state, to))
		return SONDE_ERR_OFF;
	sonde_thread_interrupt_all(0);
	return SONDE_OK;
}

int sonde_pause(void)
{
	return change(SONDE_PROCESS_ON, SONDE_PROCESS_PAUSED);
}

int sonde_resume(void)
{
	return change(SONDE_PROCESS_PAUSED, SONDE_PROCESS_ON);
}

int sonde_stop(void)
{
	struct sonde_process *process = sonde_process_get();
	if (!process || atomic_load(&process->mode) == SONDE_MODE_NONE)
		return SONDE_ERR_OFF;
	if (atomic_load(&process->mode) == SONDE_MODE_LINK)
		return sonde_pause();
	uint32_t state = atomic_load(&process->state);
	if (state != SONDE_PROCESS_ON && state != SONDE_PROCESS_PAUSED)
		return SONDE_ERR_OFF;
	if (!atomic_compare_exchange_strong(&process->state, &state, SONDE_PROCESS_OFF))
		return SONDE_ERR_BUSY;
	int saved = errno;
	sonde_thread_interrupt_all(1);
	int code = sonde_self_stop();
	*self_name = 0;
	errno = saved;
	return code;
}

int sonde_is_on(void)
{
	struct sonde_process *process = sonde_process_get();
	return process && atomic_load(&process->state) == SONDE_PROCESS_ON;
}

uint64_t sonde_lost(void)
{
	struct sonde_process *process = sonde_process_get();
	struct sonde_ring_pool *pool = process ? atomic_load(&process->pool) : NULL;
	uint64_t lost = 0;
	for (uint32_t cause = 0; pool && cause < SONDE_RING_LOST_CAUSES; cause++)
		lost += cause == SONDE_RING_LOST_SITES ? 0 : atomic_load(&pool->lost[cause]);
	return lost;
}

int sonde_file_errno(void)
{
	return sonde_self_errno();
}

void sonde_summary_at_exit(int yes)
{
	atomic_store(&summary_wanted, yes);
}

__attribute__((constructor)) static void sonde_begin_process(void)
{
	int saved = errno;
	sonde_thread_key();
	read_environment();
	struct sonde_process *process = sonde_process_get();
	if (process && (*socket_name || *self_name))
		sonde_process_pool(process);
	errno = saved;
}

__attribute__((destructor)) static void sonde_end_process(void)
{
	int saved = errno;
	struct sonde_process *process = atomic_load(&record);
	if (process && atomic_load(&process->pool)) {
		if (atomic_load(&process->mode) == SONDE_MODE_SELF)
			sonde_stop();
		if (atomic_load(&summary_wanted))
			sonde_print_summary(STDERR_FILENO);
	}
	errno = saved;
}
