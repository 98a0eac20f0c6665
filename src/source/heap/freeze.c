/* freeze.c: stops threads, reads their registers, and continues them (heap/freeze.h). */
#include "source/heap/freeze.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/heap/registers.h"
#include "util/array.h"
#include "util/error.h"

#define ROUNDS 10 /* threads may start others while they are being stopped */
#define THREADS_MAX 65536u
#define WAIT_NS 500000000u /* for all threads together */
#define NAP_NS 20000
#define EVENT_STOP 128 /* PTRACE_EVENT_STOP, from kernel headers that conflict with sys/ptrace.h */

#ifndef SYS_epoll_wait /* newer architectures have only epoll_pwait */
#define SYS_epoll_wait SYS_epoll_pwait
#endif

/* --- /proc ------------------------------------------------------------------------------------------------------- */

/* System calls that fail with EINTR after a stop, or may do so if a socket has a timeout (signal(7)). `sockets`: bit
 * mask of the arguments that are descriptors; the call is affected if one of them is a socket. 0 = always affected. */
static const struct spoilt {
	long call;
	unsigned sockets;
} spoilt[] = {
    {SYS_epoll_wait, 0},     {SYS_epoll_pwait, 0},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, 0},
#endif
    {SYS_semop, 0},          {SYS_semtimedop, 0},  {SYS_rt_sigtimedwait, 0}, {SYS_msgrcv, 0},   {SYS_msgsnd, 0},
    {SYS_io_getevents, 0},
#ifdef SYS_io_pgetevents
    {SYS_io_pgetevents, 0},
#endif
#ifdef SYS_io_uring_enter
    {SYS_io_uring_enter, 0},
#endif
    {SYS_recvfrom, 0},       {SYS_recvmsg, 0},     {SYS_recvmmsg, 0},        {SYS_sendto, 0},   {SYS_sendmsg, 0},
    {SYS_sendmmsg, 0},       {SYS_accept, 0},      {SYS_accept4, 0},         {SYS_connect, 0},  {SYS_read, 1},
    {SYS_readv, 1},          {SYS_write, 1},       {SYS_writev, 1},          {SYS_sendfile, 1}, {SYS_splice, 1 | 4},
};

/* True if the descriptor is a socket, or if that cannot be determined. */
static int is_socket(pid_t pid, uint64_t descriptor)
{
	char path[64], what[16];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)descriptor);
	ssize_t size = readlink(path, what, sizeof what);
	return size < 0 || (size > 7 && !memcmp(what, "socket:", 7));
}

static int is_spoilt(const struct sonde_heap_thread *thread, pid_t pid)
{
	for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
		if (spoilt[i].call != thread->call)
			continue;
		int found = !spoilt[i].sockets;
		for (size_t k = 0; k < 6 && !found; k++)
			found = spoilt[i].sockets >> k & 1 && is_socket(pid, thread->words[k]);
		return found;
	}
	return 0;
}

/* Reads the call that a thread is blocked in, with its arguments and stack pointer; 0 if it runs, or is not
 * readable. */
static int read_call(struct sonde_heap_thread *thread, pid_t pid)
{
	char path[80], line[512];
	unsigned long long words[8];
	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)thread->tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	int got = fgets(line, sizeof line, file) != NULL;
	fclose(file);
	if (!got || sscanf(line, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &thread->call, &words[0], &words[1],
			   &words[2], &words[3], &words[4], &words[5], &words[6], &words[7]) != 9)
		return 0;
	for (size_t i = 0; i < 6; i++)
		thread->words[i] = words[i];
	thread->count = 6;
	thread->stack = words[6];
	return 1;
}

/* --- ptrace ------------------------------------------------------------------------------------------------------ */

/* Checks a thread that was requested to stop: 1 = it has stopped, 0 = not yet, −1 = it has exited. */
static int look(struct sonde_heap_thread *thread, pid_t pid)
{
	siginfo_t info = {0};
	/* the main thread is reaped by its parent; other traced threads would remain if we did not reap them */
	int wanted = WSTOPPED | WNOHANG | __WALL | (thread->tid == pid ? 0 : WEXITED);
	if (waitid(P_PID, (id_t)thread->tid, &info, wanted))
		return -1;
	if (!info.si_pid)
		return 0;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return -1;
	thread->signal = info.si_status >> 8 == EVENT_STOP ? 0 : info.si_status & 0x7f;
	return 1;
}

static int read_set(const struct sonde_heap_thread *thread, int set, void *out, size_t out_b)
{
	struct iovec part = {out, out_b};
	/* NOLINT: the kernel expects the number of a set as an address */
	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)(uintptr_t)set, &part))
		return 0;
	return (int)part.iov_len;
}

static void read_registers(struct sonde_heap_thread *thread)
{
	union {
		struct sonde_heap_registers general;
		uint64_t words[SONDE_HEAP_WORDS_MAX];
	} set = {0};
	size_t words = (size_t)read_set(thread, NT_PRSTATUS, &set, sizeof set) / 8;
	if (!words || words > SONDE_HEAP_WORDS_MAX)
		return;
	thread->stack = sonde_heap_registers_stack(&set.general);
	thread->thread_pointer = sonde_heap_registers_thread(&set.general);
	memcpy(thread->words, set.words, words * 8);
	thread->count = words;
	int more_b = read_set(thread, NT_PRFPREG, thread->words + words, (SONDE_HEAP_WORDS_MAX - words) * 8);
	thread->count += (size_t)more_b / 8;
	if (!thread->thread_pointer)
		read_set(thread, SONDE_HEAP_REGISTERS_TLS, &thread->thread_pointer, 8);
}

/* Continues a stopped thread. −1: the thread is about to exit. */
static int let_go(const struct sonde_heap_thread *thread)
{
	/* NOLINT: the kernel expects a signal number as an address */
	return ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(uintptr_t)thread->signal) ? -1 : 0;
}

/* --- all threads ------------------------------------------------------------------------------------------------- */

static struct sonde_heap_thread *add(struct sonde_heap_threads *threads, pid_t tid)
{
	if (SONDE_ARRAY_RESERVE(threads->rows, threads->cap, threads->count + 1))
		return NULL;
	threads->rows[threads->count] = (struct sonde_heap_thread){.tid = tid};
	return &threads->rows[threads->count++];
}

static int is_known(const struct sonde_heap_threads *threads, pid_t tid)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->rows[i].tid == tid)
			return 1;
	return 0;
}

/* Requests a thread to stop. */
static void stop(struct sonde_heap_threads *threads, struct sonde_heap_thread *thread)
{
	int waits = read_call(thread, threads->pid);
	if ((waits && is_spoilt(thread, threads->pid)) || ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL)) {
		thread->is_left = waits;
		threads->left += (size_t)waits;
		threads->running += !waits;
		return;
	}
	ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
	thread->is_held = 1;
}

/* Requests all threads that are new to stop. Returns the number of these threads, or -ENOMEM. */
static int stop_new(struct sonde_heap_threads *threads, pid_t except)
{
	char path[64];
	int found = 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)threads->pid);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (tid <= 0 || tid == except || is_known(threads, tid) || threads->count == THREADS_MAX)
			continue;
		struct sonde_heap_thread *thread = add(threads, tid);
		if (!thread) {
			found = sonde_error(ENOMEM, "no memory for the threads of process %d", (int)threads->pid);
			break;
		}
		stop(threads, thread);
		found++;
	}
	if (folder)
		closedir(folder);
	return found;
}

static void remember(const struct sonde_heap_threads *threads, const struct sonde_heap_thread *thread)
{
	struct sonde_heap_late *late = threads->late;
	if (late->count < SONDE_HEAP_LATE_MAX) {
		late->rows[late->count].pid = threads->pid;
		late->rows[late->count++].tid = thread->tid;
	}
}

/* Waits until the threads have stopped. */
static void await(struct sonde_heap_threads *threads, size_t from, uint64_t deadline_ns)
{
	struct timespec nap = {0, NAP_NS};
	for (size_t i = from; i < threads->count; i++) {
		struct sonde_heap_thread *thread = &threads->rows[i];
		int seen = thread->is_held ? look(thread, threads->pid) : -1;
		while (!seen && sonde_clock_now_ns() < deadline_ns) {
			nanosleep(&nap, NULL);
			seen = look(thread, threads->pid);
		}
		if (!thread->is_held)
			continue;
		thread->is_held = seen == 1;
		if (seen == 1)
			read_registers(thread);
		if (seen)
			continue;
		threads->running++;
		remember(threads, thread);
	}
}

int sonde_heap_freeze(struct sonde_heap_threads *threads, pid_t except)
{
	uint64_t deadline_ns = sonde_clock_now_ns() + WAIT_NS;
	for (int round = 0; round < ROUNDS; round++) {
		size_t from = threads->count;
		int found = stop_new(threads, except);
		await(threads, from, deadline_ns);
		if (found < 0)
			return found;
		if (!found)
			break;
	}
	return 0;
}

void sonde_heap_freeze_check(struct sonde_heap_threads *threads)
{
	for (size_t i = 0; threads->left && i < threads->count; i++) {
		struct sonde_heap_thread *thread = &threads->rows[i], now = {.tid = thread->tid};
		if (!thread->is_left || (read_call(&now, threads->pid) && now.call == thread->call &&
					 now.stack == thread->stack && !memcmp(now.words, thread->words, 6 * 8)))
			continue;
		thread->is_left = 0;
		threads->left--;
		threads->running++;
	}
}

void sonde_heap_thaw(struct sonde_heap_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->rows[i].is_held && let_go(&threads->rows[i]))
			remember(threads, &threads->rows[i]); /* released later: its process must not wait for it */
	free(threads->rows);
	sonde_heap_thaw_late(threads->late);
	*threads = (struct sonde_heap_threads){0};
}

void sonde_heap_thaw_late(struct sonde_heap_late *late)
{
	size_t kept = 0;
	for (size_t i = 0; i < late->count; i++) {
		struct sonde_heap_thread thread = {.tid = late->rows[i].tid};
		int seen = look(&thread, late->rows[i].pid);
		if (seen == 1)
			let_go(&thread);
		else if (!seen)
			late->rows[kept++] = late->rows[i];
	}
	late->count = kept;
}
