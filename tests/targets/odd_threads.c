/* odd_threads.c: threads and stacks of odd kinds that allocate (odd.h).
 *
 * crowd       500 threads that all wait for each other, call keeps_one(), and end
 * small       200 threads whose stacks are the smallest that are allowed, likewise
 * bare        100 × clone() without thread-local storage of its own: a process that shares its parent's memory,
 *             likewise
 * coroutines  50 stacks of their own in each of two threads that switch between them: 10 blocks of 33 B on each
 * ends        300 threads whose destructors of keys allocate blocks of 66 B, for four rounds, and keep them
 * outlives    the main thread ends by pthread_exit(); half a second later another thread calls after(), and exit(5)
 * faults      a handler of SIGSEGV opens the page that was written to and goes on, 10,000 times, as a garbage
 *             collector's write barrier does; it allocates 22 B each time
 * alternate   20,000 signals whose handler has a stack of its own and allocates 99 B
 * errors      a timer's signal each 200 µs, and errno must stay the same over 300,000 calls
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "odd.h"

enum { CROWD = 500, SMALL = 200, BARE = 100, STACKS = 50, SWITCHES = 10, ENDS = 300, ROUNDS = 4 };
enum { PAGES = 5000, PAGE_B = 4096, STACK_B = 1 << 16, SIGNALS = 20000, CALLS = 300000, STRANGE = 77 };

static char *map(size_t size_b)
{
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

static pthread_barrier_t all;

static void *waits_and_keeps(void *unused)
{
	pthread_barrier_wait(&all);
	keeps_one();
	return unused;
}

static void *keeps(void *unused)
{
	keeps_one();
	return unused;
}

static int do_crowd(char **unused)
{
	static pthread_t threads[CROWD];
	pthread_attr_t attributes;
	(void)unused;
	pthread_barrier_init(&all, NULL, CROWD);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 4 * STACK_B);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&threads[i], &attributes, waits_and_keeps, NULL))
			return 1;
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	return after();
}

static int do_small(char **unused)
{
	pthread_attr_t attributes;
	(void)unused;
	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)))
		return 1;
	for (int i = 0; i < SMALL; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &attributes, keeps, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	return after();
}

static int is_bare(void *unused)
{
	(void)unused;
	keeps_one();
	return 0;
}

static int do_bare(char **unused)
{
	char *stack = map(STACK_B);
	(void)unused;
	for (int i = 0; stack && i < BARE; i++) {
		int status, pid = clone(is_bare, stack + STACK_B, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return !stack || after();
}

static pthread_key_t key;

NO_INLINE static void ends(void *value)
{
	static __thread int rounds;
	void *volatile block = malloc(66);
	if (++rounds < ROUNDS && block)
		pthread_setspecific(key, value);
}

static void *has_key(void *unused)
{
	pthread_setspecific(key, &key);
	return unused;
}

static int do_ends(char **unused)
{
	(void)unused;
	pthread_key_create(&key, ends);
	for (int i = 0; i < ENDS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, has_key, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	return after();
}

static void *goes_on(void *unused)
{
	(void)unused;
	usleep(500000);
	int code = after();
	puts(code ? "failed" : "outlives");
	exit(code ? 1 : 5);
}

static int do_outlives(char **unused)
{
	pthread_t thread;
	(void)unused;
	keeps_one();
	if (pthread_create(&thread, NULL, goes_on, NULL))
		return 1;
	pthread_exit(NULL);
}

/* --- stacks ------------------------------------------------------------------------------------------------------ */

struct scheduler {
	ucontext_t own, other[STACKS];
	char *memory[STACKS];
};

static __thread struct scheduler *scheduler;
static __thread int current;

NO_INLINE static void *on_own_stack(void)
{
	void *volatile block = malloc(33); /* no jump: it is the caller */
	return block;
}

static void coroutine(void)
{
	struct scheduler *mine = scheduler; /* a thread stays on its own stacks */
	int number = current;
	for (int i = 0; i < SWITCHES; i++) {
		free(on_own_stack());
		swapcontext(&mine->other[number], &mine->own);
	}
}

static int make(ucontext_t *out, ucontext_t *own, char *memory)
{
	if (!memory || getcontext(out))
		return 1;
	out->uc_stack.ss_sp = memory;
	out->uc_stack.ss_size = STACK_B;
	out->uc_link = own;
	makecontext(out, coroutine, 0);
	return 0;
}

static void *switches(void *unused)
{
	struct scheduler *mine = scheduler = calloc(1, sizeof *mine);
	int failed = !mine;
	for (int i = 0; !failed && i < STACKS; i++) {
		mine->memory[i] = map(STACK_B);
		failed = make(&mine->other[i], &mine->own, mine->memory[i]);
	}
	for (int round = 0; !failed && round < SWITCHES; round++)
		for (current = 0; current < STACKS; current++)
			swapcontext(&mine->own, &mine->other[current]);
	for (int i = 0; !failed && i < STACKS; i++)
		munmap(mine->memory[i], STACK_B);
	free(mine);
	return failed ? &all : unused;
}

static int do_coroutines(char **unused)
{
	pthread_t thread;
	void *failed = NULL;
	(void)unused;
	if (switches(NULL) || pthread_create(&thread, NULL, switches, NULL))
		return 1;
	pthread_join(thread, &failed);
	return failed || after();
}

/* --- signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;

NO_INLINE static void on_fault(int number, siginfo_t *info, void *context)
{
	void *volatile block = malloc(22);
	(void)number;
	(void)context;
	handled++;
	mprotect((char *)info->si_addr - (uintptr_t)info->si_addr % PAGE_B, PAGE_B, PROT_READ | PROT_WRITE);
	free(block);
}

static int do_faults(char **unused)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	volatile char *pages = map((size_t)PAGES * PAGE_B);
	(void)unused;
	sigaction(SIGSEGV, &action, NULL);
	for (int round = 0; pages && round < 2; round++) {
		mprotect((void *)(uintptr_t)pages, (size_t)PAGES * PAGE_B, PROT_READ);
		for (size_t i = 0; i < PAGES; i++)
			pages[i * PAGE_B] = 1;
	}
	return handled != 2 * PAGES || after();
}

NO_INLINE static void on_other_stack(int number)
{
	void *volatile block = malloc(99);
	(void)number;
	handled++;
	free(block);
}

static int do_alternate(char **unused)
{
	static char memory[STACK_B];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
	struct sigaction action = {.sa_handler = on_other_stack, .sa_flags = SA_ONSTACK};
	(void)unused;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < SIGNALS; i++)
		raise(SIGUSR1);
	return handled != SIGNALS || after();
}

static void on_alarm(int number)
{
	(void)number;
	handled++;
}

static int do_errors(char **unused)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	int changed = 0;
	(void)unused;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < CALLS; i++) {
		errno = STRANGE;
		void *volatile block = malloc((size_t)(i % 300));
		changed += errno != STRANGE;
		free(block);
		changed += errno != STRANGE;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	return changed || after();
}

int main(int count, char **arguments)
{
	static const struct odd_command commands[] = {
	    {"crowd", do_crowd},   {"small", do_small},
	    {"bare", do_bare},     {"coroutines", do_coroutines},
	    {"ends", do_ends},     {"outlives", do_outlives},
	    {"faults", do_faults}, {"alternate", do_alternate},
	    {"errors", do_errors}, {NULL, NULL},
	};
	return odd_main(count, arguments, commands);
}
