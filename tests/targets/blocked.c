/* blocked.c: threads that wait on a known schedule, and print how long they waited. Built statically, too.
 *
 *   schedule SECONDS   `rest` sleeps 300 ms and spins 100 ms again and again; `wait_gate` waits 150 ms for a futex, and
 *                      `wait_pipe` then 100 ms for a pipe, in another thread
 *   raw SECONDS        as schedule, by system calls that it makes itself
 *   many N SECONDS     N threads that wait for one futex
 *   sleep SECONDS      sleeps
 *   locked SECONDS     forbids others to read its memory (PR_SET_DUMPABLE)
 *   parent SECONDS CMD…  starts CMD, and waits for it as long as it runs; then sleeps
 *
 * Prints a line for each: what it waited for, and how many ns.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"

#define MS 1000000u

static uint64_t read_ns(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t now_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

static int is_raw;
static uint64_t end_ns;
int gate; /* a futex: 0 = closed */
static int ends[2];

/* --- calls: the C library's, or our own -------------------------------------------------------------------------- */

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d)
{
	long result;
	register long fourth __asm__("r10") = d;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}
#else
static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d)
{
	return syscall(number, a, b, c, d);
}
#endif

NO_INLINE static void rest(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
	if (is_raw)
		call(SYS_nanosleep, (long)&time, 0, 0, 0);
	else
		nanosleep(&time, NULL);
	__asm__ volatile("" ::: "memory");
}

NO_INLINE static void wait_gate(void)
{
	while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE)) {
		if (is_raw)
			call(SYS_futex, (long)&gate, FUTEX_WAIT, 0, 0);
		else
			syscall(SYS_futex, &gate, FUTEX_WAIT, 0, NULL, NULL, 0);
	}
	__atomic_store_n(&gate, 0, __ATOMIC_RELEASE);
}

NO_INLINE static void wait_pipe(void)
{
	char byte;
	ssize_t got = is_raw ? call(SYS_read, ends[0], (long)&byte, 1, 0) : read(ends[0], &byte, 1);
	if (got != 1)
		abort();
}

NO_INLINE static void spin(uint64_t ns)
{
	uint64_t until_ns = now_ns() + ns;
	while (now_ns() < until_ns)
		for (volatile int i = 0; i < 1000; i++) {
		}
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

static void *run_rest(void *sum)
{
	while (now_ns() < end_ns) {
		uint64_t from_ns = now_ns();
		rest(300 * MS);
		*(uint64_t *)sum += now_ns() - from_ns;
		spin(100 * MS);
	}
	return NULL;
}

struct waits {
	uint64_t gate_ns, pipe_ns;
};

static void *run_waits(void *out)
{
	struct waits *waits = out;
	while (now_ns() < end_ns) {
		uint64_t from_ns = now_ns();
		wait_gate();
		uint64_t between_ns = now_ns();
		wait_pipe();
		waits->gate_ns += between_ns - from_ns;
		waits->pipe_ns += now_ns() - between_ns;
	}
	return NULL;
}

/* Opens the futex and the pipe on which the other thread waits; makes one round more than that thread needs. */
static void *run_opens(void *unused)
{
	(void)unused;
	for (int last = 0; !last;) {
		last = now_ns() >= end_ns;
		struct timespec first = {.tv_nsec = 150 * MS}, second = {.tv_nsec = 100 * MS};
		clock_nanosleep(CLOCK_MONOTONIC, 0, &first, NULL);
		__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &gate, FUTEX_WAKE, 1, NULL, NULL, 0);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &second, NULL);
		if (write(ends[1], "", 1) != 1)
			abort();
	}
	return NULL;
}

static void schedule(void)
{
	uint64_t slept_ns = 0;
	struct waits waits = {0};
	pthread_t threads[3];
	if (pipe(ends))
		abort();
	pthread_create(&threads[0], NULL, run_rest, &slept_ns);
	pthread_create(&threads[1], NULL, run_waits, &waits);
	pthread_create(&threads[2], NULL, run_opens, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("slept %llu\ngate %llu\npipe %llu\n", (unsigned long long)slept_ns, (unsigned long long)waits.gate_ns,
	       (unsigned long long)waits.pipe_ns);
}

static void *run_one(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &gate, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

static void many(int count)
{
	pthread_t *threads = calloc((size_t)count, sizeof *threads);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &small, run_one, NULL))
			abort();
	uint64_t from_ns = now_ns();
	while (now_ns() < end_ns)
		rest(50 * MS);
	uint64_t waited_ns = now_ns() - from_ns;
	__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &gate, FUTEX_WAKE, count, NULL, NULL, 0);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("waited %llu\n", (unsigned long long)waited_ns * (unsigned)count);
	free(threads);
}

static void parent(uint64_t ns, char **command)
{
	pid_t child = fork();
	if (!child) {
		execv(command[0], command);
		_exit(127);
	}
	rest(ns);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int is_many = !strcmp(mode, "many");
	uint64_t ns = argc > 2 + is_many ? (uint64_t)(strtod(argv[2 + is_many], NULL) * 1e9) : 1000 * MS;
	end_ns = now_ns() + ns;
	is_raw = !strcmp(mode, "raw");
	if (is_many)
		many(atoi(argv[2]));
	else if (!strcmp(mode, "parent") && argc > 3)
		parent(ns, argv + 3);
	else if (!strcmp(mode, "sleep"))
		rest(ns);
	else if (!strcmp(mode, "locked")) {
		prctl(PR_SET_DUMPABLE, 0);
		rest(ns);
	} else
		schedule();
	return 0;
}
