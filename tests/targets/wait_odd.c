/* wait_odd.c: programs that wait in unusual ways, and print the results: wait_odd MODE. The output is always the
 * same. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, handler_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t items;
static uint64_t total;
static volatile sig_atomic_t ticks;
static int per_thread = 2000;
static sigjmp_buf back;

static void rest(long ns)
{
	struct timespec time = {0, ns};
	nanosleep(&time, NULL);
}

static void alarms(int every_us)
{
	struct itimerval timer = {{0, every_us}, {0, every_us}};
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_NODEFER};
	sigaction(number, &action, NULL);
}

/* --- signals ----------------------------------------------------------------------------------------------------- */

/* Reads and locks inside whatever was interrupted. */
static void on_storm(int number)
{
	char byte;
	int saved = errno, fd = open("/dev/zero", O_RDONLY);
	(void)number;
	if (fd < 0 || read(fd, &byte, 1) != 1 || close(fd))
		abort();
	if (!pthread_mutex_trylock(&handler_lock))
		pthread_mutex_unlock(&handler_lock);
	ticks++;
	errno = saved;
}

static void *add(void *arg)
{
	for (int i = 0; i < per_thread; i++) {
		pthread_mutex_lock(&lock);
		total += *(const int *)arg != 0;
		if (i % 100 == 0)
			rest(1000);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void add_in(int many)
{
	static int one = 1;
	pthread_t *threads = calloc((size_t)many, sizeof *threads);
	for (int i = 0; i < many; i++)
		if (pthread_create(&threads[i], NULL, add, &one))
			abort();
	for (int i = 0; i < many; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void storm(void)
{
	handle(SIGALRM, on_storm);
	alarms(300);
	add_in(4);
	while (ticks < 20)
		rest(1000000);
	alarms(0);
	printf("total %llu\n", (unsigned long long)total);
}

static void on_jump(int number)
{
	(void)number;
	ticks++;
	siglongjmp(back, 1);
}

/* Each wait is left by a jump; what follows works. */
static void jump(void)
{
	int fds[2];
	char byte = 0;
	volatile int i = 0;
	if (pipe(fds))
		abort();
	sem_init(&items, 0, 0);
	handle(SIGALRM, on_jump);
	for (; i < 60; i = i + 1) {
		if (sigsetjmp(back, 1))
			continue;
		alarms(1000);
		if (i % 3 == 0)
			(void)!read(fds[0], &byte, 1);
		else if (i % 3 == 1)
			sem_wait(&items);
		else
			for (;;)
				rest(50000);
	}
	alarms(0);
	add_in(2);
	printf("jumps %d total %llu wrote %zd", (int)ticks, (unsigned long long)total, write(fds[1], "x", 1));
	printf(" read %zd\n", read(fds[0], &byte, 1));
}

/* --- children and descriptors ------------------------------------------------------------------------------------ */

static void *have_children(void *arg)
{
	static char name[] = "true";
	char *const arguments[] = {name, NULL};
	int failed = 0;
	(void)arg;
	for (int i = 0; i < 20; i++) {
		pid_t child;
		int status = -1;
		if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ) || waitpid(child, &status, 0) != child)
			abort();
		failed += status != 0;
	}
	pthread_mutex_lock(&lock);
	total += (uint64_t)failed;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* A child that shares its parent's memory closes, and writes to another file by a number of the parent's. */
static NO_INLINE int share(int to)
{
	pid_t child = vfork();
	if (!child) {
		dup2(to, 1);
		close(0);
		execlp("echo", "echo", "from the child", (char *)NULL);
		_exit(1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	return status;
}

static void children(void)
{
	pthread_t threads[3];
	char text[64] = "";
	int fds[2];
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, have_children, NULL))
			abort();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	if (pipe(fds))
		abort();
	int status = share(fds[1]);
	ssize_t got = read(fds[0], text, sizeof text - 1);
	printf("failed %llu status %d got %zd %s", (unsigned long long)total, status, got, text);
}

/* The lowest descriptors are reused; an unused one is rejected. */
static void closed(void)
{
	int refused = 0;
	char byte;
	for (int fd = 3; fd < 70000; fd++)
		refused += close(fd) && errno == EBADF;
	int first = open("/dev/zero", O_RDONLY), second = open("/dev/null", O_RDONLY);
	FILE *file = fdopen(second, "r");
	printf("refused %d first %d second %d end %zd", refused > 69000, first, second, read(second, &byte, 1));
	fclose(file);
	second = open("/dev/zero", O_RDONLY);
	printf(" again %d got %zd", second, read(second, &byte, 1));
	close_range(3, ~0u, 0);
	printf(" gone %zd errno %d\n", read(second, &byte, 1), errno);
}

/* --- locks of other kinds ---------------------------------------------------------------------------------------- */

static void *wake(void *word)
{
	rest(5000000);
	__atomic_store_n((int *)word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static NO_INLINE void wait_for_word(int *word)
{
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void futexes(void)
{
	static int word;
	struct timespec soon = {0, 2000000};
	pthread_t thread;
	errno = 0;
	long code = syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
	printf("changed %ld errno %d", code, errno);
	code = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &soon, NULL, 0);
	printf(" late %ld errno %d", code, errno);
	for (int i = 0; i < 10; i++) {
		word = 0;
		if (pthread_create(&thread, NULL, wake, &word))
			abort();
		wait_for_word(&word);
		pthread_join(thread, NULL);
	}
	printf(" word %d\n", word);
}

/* Between processes, by priority, and by another clock. */
static void shared(void)
{
	pthread_mutexattr_t attr;
	pthread_condattr_t by;
	pthread_cond_t ready;
	struct timespec until, bad = {0, 2000000000};
	pthread_mutex_t *mutex = mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(mutex, &attr);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		pthread_mutex_lock(mutex);
		rest(20000000);
		_exit(3);
	}
	rest(5000000);
	int code = pthread_mutex_lock(mutex), status = 0;
	while (!code) { /* the child was late */
		pthread_mutex_unlock(mutex);
		rest(1000000);
		code = pthread_mutex_lock(mutex);
	}
	waitpid(child, &status, 0);
	printf("dead %d consistent %d", code == EOWNERDEAD, pthread_mutex_consistent(mutex));
	printf(" unlock %d", pthread_mutex_unlock(mutex));
	pthread_condattr_init(&by);
	pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
	pthread_cond_init(&ready, &by);
	clock_gettime(CLOCK_MONOTONIC, &until);
	pthread_mutex_lock(&lock);
	printf(" late %d", pthread_cond_timedwait(&ready, &lock, &until) == ETIMEDOUT);
	printf(" unlock %d", pthread_mutex_unlock(&lock));
	sem_init(&items, 0, 1);
	errno = 0;
	code = sem_timedwait(&items, &bad);
	printf(" bad time %d errno %d", code, errno);
	printf(" bad clock %d\n", pthread_mutex_clocklock(&lock, CLOCK_PROCESS_CPUTIME_ID, &until) == EINVAL);
}

static void *wait_unless_cancelled(void *arg)
{
	(void)arg;
	while (!sem_wait(&items))
		;
	return NULL;
}

/* Cancels a thread in a wait that always succeeds at once: it must be cancelled all the same. */
static void cancelled(void)
{
	pthread_t thread;
	void *result;
	sem_init(&items, 0, 1 << 30);
	if (pthread_create(&thread, NULL, wait_unless_cancelled, NULL))
		abort();
	rest(2000000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
}

static void crowd(void)
{
	per_thread = 200;
	add_in(1000);
	printf("total %llu\n", (unsigned long long)total);
}

static sem_t may_run;

static void *run_shortly(void *arg)
{
	sem_wait(&may_run);
	pthread_mutex_lock(&lock);
	total++;
	pthread_mutex_unlock(&lock);
	return arg;
}

/* Runs 5000 threads, 50 at a time, each with a few calls: one ring per living thread must be enough. */
static void churn(void)
{
	pthread_t threads[50];
	sem_init(&may_run, 0, 0);
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 50; i++)
			if (pthread_create(&threads[i], NULL, run_shortly, NULL))
				abort();
		for (int i = 0; i < 50; i++)
			sem_post(&may_run);
		for (int i = 0; i < 50; i++)
			pthread_join(threads[i], NULL);
	}
	printf("total %llu\n", (unsigned long long)total);
}

/* More locks than are tracked separately. */
static void *wait_for_many(void *arg)
{
	pthread_mutex_t *locks = arg;
	for (int i = 0; i < 6000; i++) {
		pthread_mutex_lock(&locks[i]);
		total++;
		pthread_mutex_unlock(&locks[i]);
	}
	return NULL;
}

static void many_locks(void)
{
	pthread_mutex_t *locks = calloc(6000, sizeof *locks);
	pthread_t thread;
	for (int i = 0; i < 6000; i++)
		pthread_mutex_lock(&locks[i]);
	if (pthread_create(&thread, NULL, wait_for_many, locks))
		abort();
	rest(5000000);
	for (int i = 0; i < 6000; i++) {
		pthread_mutex_unlock(&locks[i]);
		sched_yield();
	}
	pthread_join(thread, NULL);
	free(locks);
	printf("total %llu\n", (unsigned long long)total);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"storm", storm},           {"jump", jump},     {"children", children},   {"closed", closed},
		     {"futexes", futexes},       {"shared", shared}, {"cancelled", cancelled}, {"crowd", crowd},
		     {"many-locks", many_locks}, {"churn", churn}};
	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run();
		return 0;
	}
	fprintf(stderr, "usage: wait_odd storm|jump|children|…\n");
	return 2;
}
