/* heap_odd.c: allocations at times when little is allowed, one per command; prints its name if all went well.
 *
 * overflow      a stack overflows while blocks are allocated; its handler, on a stack of its own, allocates and jumps
 *               out
 * handlers      a timer's handler allocates, wherever it interrupts (needs heap_bump.c); prints how often
 * jumps         a timer's handler jumps out of whatever it interrupts, 300 times (needs heap_bump.c)
 * doubles       frees a block twice
 * aborts        allocates, and aborts
 * keys          threads whose blocks are freed by destructors of their keys, some of them in the last round
 * cancels       threads that allocate are cancelled
 * spawns        vfork and exec, posix_spawn, system
 * forks         a program with threads that allocate forks, and the children allocate
 * children      forks 400 children, one after the other, which keep 100 blocks of 1000 B each
 * stalls        stops its parent, the recorder, until a call has waited for it in vain, and once more; then continues
 *               the recorder
 * loads A B     loads and unloads two objects in turn, 200 times
 * borrows A     loads an object that brings its own C++ library, for itself alone, and lets it work
 * starves       allocates until there is no memory, and frees everything
 *
 * Commands after which the program runs on keep 100 blocks of 1000 B in after().
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"

#define LAST_ROUND 4 /* of destructors of keys, in all C libraries */

enum { KEPT = 100, JUMPS = 300, THREADS = 20, BLOCKS = 50, FORKS = 50, CHILDREN = 400, LOADS = 200, ROUNDS = 300000 };

static void *volatile kept[KEPT];
static void *volatile last;
static sigjmp_buf back;

NO_INLINE static int after(void)
{
	for (int i = 0; i < KEPT; i++)
		if (!(kept[i] = malloc(1000)))
			return 1;
	return 0;
}

/* --- signals ----------------------------------------------------------------------------------------------------- */

static void catch (int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	sigaction(number, &action, NULL);
}

static void on_overflow(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

NO_INLINE static int overflow_on(unsigned depth)
{
	char frame[200];
	memset(frame, (int)depth, sizeof frame);
	last = malloc(50);
	free(last);
	int deeper = depth < 1u << 30 ? overflow_on(depth + 1) : 0;
	return deeper + frame[depth % sizeof frame];
}

static int do_overflow(char **args)
{
	(void)args;
	static char memory[1 << 16];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
	struct rlimit limit = {1 << 20, 1 << 20};
	setrlimit(RLIMIT_STACK, &limit);
	sigaltstack(&stack, NULL);
	catch (SIGSEGV, on_overflow, SA_ONSTACK);
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1))
			return overflow_on(0);
	return after();
}

static void start_timer(int every_us)
{
	struct itimerval timer = {{0, every_us}, {0, every_us}};
	setitimer(ITIMER_REAL, &timer, NULL);
}

static volatile sig_atomic_t handled;

NO_INLINE static void on_timer(int number)
{
	(void)number;
	if (malloc(10))
		handled++;
}

static int do_handlers(char **args)
{
	(void)args;
	catch (SIGALRM, on_timer, SA_RESTART);
	start_timer(100);
	for (int i = 0; i < ROUNDS || handled < JUMPS; i++) {
		last = malloc(20);
		free(last);
	}
	start_timer(0);
	printf("%d ", (int)handled);
	return after();
}

static void on_jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static int do_jumps(char **args)
{
	(void)args;
	volatile int jumps = 0;
	int unused = dup(0), state = -1;
	close(unused);
	catch (SIGALRM, on_jump, 0);
	start_timer(200);
	if (sigsetjmp(back, 1))
		jumps++;
	do {
		last = malloc(20);
		free(last);
	} while (jumps < JUMPS);
	start_timer(0);
	last = malloc(20); /* a hook left by a jump is noticed at the next call from as far out */
	free(last);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	if (dup(0) != unused || state != PTHREAD_CANCEL_ENABLE)
		return 1;
	return after();
}

/* --- ends -------------------------------------------------------------------------------------------------------- */

static int do_doubles(char **args)
{
	(void)args;
	if (after())
		return 1;
	void *volatile block = malloc(24);
	free(block);
	free(block);
	return 0;
}

static int do_aborts(char **args)
{
	(void)args;
	if (after())
		return 1;
	abort();
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

static pthread_key_t early, late;

static void free_early(void *blocks)
{
	for (int i = 0; i < BLOCKS; i++)
		free(((void **)blocks)[i]);
	free(blocks);
}

/* A destructor that postpones itself to the last round. */
static void free_late(void *block)
{
	static __thread int rounds;
	if (++rounds < LAST_ROUND)
		pthread_setspecific(late, block);
	else
		free(block);
}

NO_INLINE static void *uses_keys(void *unused)
{
	void **blocks = malloc(BLOCKS * sizeof *blocks);
	for (int i = 0; blocks && i < BLOCKS; i++)
		blocks[i] = malloc(30);
	pthread_setspecific(early, blocks);
	pthread_setspecific(late, malloc(40));
	return unused;
}

static int run_threads(void *(*function)(void *))
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, function, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int do_keys(char **args)
{
	(void)args;
	pthread_key_create(&early, free_early);
	pthread_key_create(&late, free_late);
	return run_threads(uses_keys) || after();
}

NO_INLINE static void *allocates(void *unused)
{
	for (;;) {
		void *volatile block = malloc(60);
		free(block);
		pthread_testcancel();
	}
	return unused;
}

static int do_cancels(char **args)
{
	(void)args;
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		void *result;
		if (pthread_create(&thread, NULL, allocates, NULL))
			return 1;
		usleep((useconds_t)i * 20);
		pthread_cancel(thread);
		if (pthread_join(thread, &result) || result != PTHREAD_CANCELED)
			return 1;
	}
	return after();
}

/* --- processes --------------------------------------------------------------------------------------------------- */

static int wait_for(pid_t pid)
{
	int status;
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int do_spawns(char **args)
{
	(void)args;
	static char name[] = "true";
	char *arguments[] = {name, NULL};
	extern char **environ;
	for (volatile int i = 0; i < 10; i++) {
		pid_t pid = vfork();
		if (!pid) {
			execvp(name, arguments);
			_exit(1);
		}
		if (wait_for(pid) || posix_spawnp(&pid, name, NULL, NULL, arguments, environ) || wait_for(pid) ||
		    system(name))
			return 1;
	}
	return after();
}

static int do_forks(char **args)
{
	(void)args;
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, allocates, NULL))
			return 1;
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();
		if (!pid) {
			for (int j = 0; j < 100; j++)
				free((last = malloc((size_t)j)));
			_exit(last ? 0 : 1);
		}
		if (wait_for(pid))
			return 1;
	}
	return after();
}

NO_INLINE static void child_keeps(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = malloc(1000);
}

static int do_children(char **args)
{
	(void)args;
	if (after())
		return 1;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		if (!pid) {
			child_keeps();
			_exit(0);
		}
		if (wait_for(pid))
			return 1;
	}
	return 0;
}

static double now_s(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Makes up to `most` calls; returns 1 as soon as one takes longer than a second. */
static int is_held_up(long most)
{
	double before_s = now_s(), after_s = before_s;
	for (long i = 0; i < most && after_s - before_s < 1; i++) {
		before_s = after_s;
		last = malloc(20);
		free(last);
		after_s = now_s();
	}
	return after_s - before_s >= 1;
}

static int do_stalls(char **args)
{
	(void)args;
	if (after() || kill(getppid(), SIGSTOP))
		return 1;
	int first = is_held_up(200 * (long)ROUNDS), again = first && is_held_up(10 * (long)ROUNDS);
	kill(getppid(), SIGCONT);
	return !first || again;
}

/* --- others ------------------------------------------------------------------------------------------------------ */

static int do_loads(char **args)
{
	for (int i = 0; i < LOADS; i++) {
		void *object = dlopen(args[i % 2], RTLD_NOW);
		void *(*plugin)(void) = object ? (void *(*)(void))dlsym(object, "plugin_allocates") : NULL;
		if (!plugin)
			return 1;
		free(plugin());
		dlclose(object);
	}
	return after();
}

/* The library's description of the error is what dlerror() returns. */
static int do_borrows(char **args)
{
	void *object = dlopen(args[0], RTLD_NOW | RTLD_LOCAL);
	int (*plugin)(void) = object ? (int (*)(void))dlsym(object, "plugin_works") : NULL;
	return !plugin || plugin() || dlerror() || after();
}

static int do_starves(char **args)
{
	(void)args;
	struct rlimit limit = {1u << 30, 1u << 30};
	static void *blocks[1 << 12];
	size_t count = 0;
	setrlimit(RLIMIT_AS, &limit);
	while (count < sizeof blocks / sizeof *blocks && (blocks[count] = malloc(1 << 20)))
		count++;
	int starved = count < sizeof blocks / sizeof *blocks;
	while (count)
		free(blocks[--count]);
	return !starved || after();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		int (*run)(char **args);
	} commands[] = {
	    {"overflow", 0, do_overflow}, {"handlers", 0, do_handlers}, {"jumps", 0, do_jumps},
	    {"doubles", 0, do_doubles},   {"aborts", 0, do_aborts},     {"keys", 0, do_keys},
	    {"cancels", 0, do_cancels},   {"spawns", 0, do_spawns},     {"forks", 0, do_forks},
	    {"loads", 2, do_loads},       {"starves", 0, do_starves},   {"borrows", 1, do_borrows},
	    {"children", 0, do_children}, {"stalls", 0, do_stalls},
	};
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
		if (strcmp(argv[1], commands[i].name) || argc - 2 < commands[i].arguments)
			continue;
		int code = commands[i].run(argv + 2);
		puts(code ? "failed" : argv[1]);
		return code;
	}
	return 2;
}
