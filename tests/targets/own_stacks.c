/* own_stacks.c: programs whose stacks leave no room for a handler, cannot be read as a whole, or are managed by the
 * program: own_stacks MODE. The output is the same however the program is recorded.
 *
 *   guarded    burns CPU time, and writes, below a page of the same stack that must not be touched
 *   tiny       coroutines on stacks of 16 to 4 KB
 *   overflow   catches a stack overflow on an alternate stack, as a JVM does, in both threads
 *   dies       overflows without an alternate stack, with a handler
 *   takes      takes over whatever alternate stack there is by system calls, as Go's runtime does, in both threads
 *   asks       prints what sigaltstack() and sigaction() say, and on which stack handlers run
 *   urgent     the same of SIGURG, by which threads are sampled, with a handler that wants no alternate stack
 *   limited    starts 200 threads where RLIMIT_AS leaves 20 MB beyond their stacks
 *   locked     prints how much memory mlockall() locks for a thread
 *   pinned     prints how much it locks in all
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "no_inline.h"

#define PAGE_B ((size_t)sysconf(_SC_PAGESIZE))
#define OWN_B ((size_t)65536)

static volatile double sum;

NO_INLINE static void burn(long ms)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	long end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	do {
		for (int i = 0; i < 1000; i++)
			sum += i * .5;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end);
}

/* --- guarded ------------------------------------------------------------------------------------------------------ */

static int null_file;

NO_INLINE static void burn_below(void)
{
	burn(200);
	for (int i = 0; i < 50; i++)
		if (write(null_file, "x", 1) != 1)
			abort();
}

static int do_guarded(void)
{
	volatile char pages[3 * PAGE_B];
	char *guard = (char *)(((uintptr_t)pages + PAGE_B - 1) & ~(PAGE_B - 1));
	null_file = open("/dev/null", O_WRONLY);
	if (mprotect(guard, PAGE_B, PROT_NONE))
		return 2;
	burn_below();
	mprotect(guard, PAGE_B, PROT_READ | PROT_WRITE);
	puts("guarded");
	return 3;
}

/* --- tiny --------------------------------------------------------------------------------------------------------- */

static ucontext_t outside, inside;

/* Burns with 1 KB of 4 KB left: enough for burn(), but not for what the kernel pushes before a handler. */
static void burn_inside(void)
{
	volatile char used[2900];
	used[0] = 1;
	burn(100);
	used[1] = used[0];
}

/* Makes a stack with an inaccessible page below it. */
static char *new_stack(size_t size_b)
{
	char *guard = mmap(NULL, PAGE_B + size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guard == MAP_FAILED || mprotect(guard, PAGE_B, PROT_NONE))
		abort();
	return guard + PAGE_B;
}

static void *run_tiny(void *where)
{
	static const size_t sizes_b[] = {16384, 8192, 6144, 4096};
	for (size_t i = 0; i < sizeof sizes_b / sizeof *sizes_b; i++) {
		getcontext(&inside);
		inside.uc_stack.ss_sp = new_stack(sizes_b[i]);
		inside.uc_stack.ss_size = sizes_b[i];
		inside.uc_link = &outside;
		makecontext(&inside, burn_inside, 0);
		swapcontext(&outside, &inside);
		printf("%s: back from %zu bytes\n", (const char *)where, sizes_b[i]);
	}
	return NULL;
}

static int do_tiny(void)
{
	pthread_t thread;
	burn(1); /* the dynamic loader finds its functions now, on a large stack */
	run_tiny("main");
	if (pthread_create(&thread, NULL, run_tiny, "thread") || pthread_join(thread, NULL))
		return 2;
	fflush(stdout);
	if (!fork()) {
		run_tiny("child");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	return 3;
}

/* --- overflow ----------------------------------------------------------------------------------------------------- */

static __thread sigjmp_buf before_overflow;
static __thread volatile int depth;

static volatile int is_endless = 1 << 30;

NO_INLINE static int recurse(int n)
{
	volatile char frame[4096];
	frame[0] = (char)n;
	depth = n;
	return n < is_endless ? recurse(n + 1) + frame[0] : 0;
}

static void on_overflow(int number)
{
	burn(30);
	siglongjmp(before_overflow, number);
}

static int use_own(void)
{
	stack_t stack = {.ss_sp = new_stack(OWN_B), .ss_size = OWN_B};
	return sigaltstack(&stack, NULL);
}

static void *overflow(void *where)
{
	int number, is_set = !use_own();
	for (int i = 0; i < 3; i++) {
		number = sigsetjmp(before_overflow, 1);
		if (!number)
			recurse(0);
		printf("%s: %d after a signal %d below %d frames\n", (const char *)where, is_set, number, depth / 10);
		depth = 0;
		burn(20);
	}
	return NULL;
}

static int do_overflow(void)
{
	struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
	pthread_attr_t attr;
	pthread_t thread;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 20);
	sigaction(SIGSEGV, &action, NULL);
	burn(20);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, &attr, overflow, "thread") || pthread_join(thread, NULL))
			return 2;
	return 3;
}

static int do_dies(void)
{
	struct sigaction action = {.sa_handler = on_overflow, .sa_flags = 0};
	sigaction(SIGSEGV, &action, NULL);
	burn(20);
	puts("overflowing");
	fflush(stdout);
	return recurse(0);
}

/* --- asks --------------------------------------------------------------------------------------------------------- */

static uintptr_t handled_at;

static void on_signal(int number)
{
	(void)number;
	handled_at = (uintptr_t)__builtin_frame_address(0);
	burn(5);
}

static void print_stack(const char *when)
{
	stack_t stack;
	memset(&stack, 1, sizeof stack);
	int result = sigaltstack(NULL, &stack);
	printf("  %s: %d, at %s, %zu bytes, flags %d\n", when, result, stack.ss_sp ? "an address" : "nothing",
	       stack.ss_size, stack.ss_flags);
}

static void print_handler(const char *when)
{
	struct sigaction action;
	stack_t stack;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	sigaltstack(NULL, &stack);
	sigaction(SIGUSR1, NULL, &action);
	raise(SIGUSR1);
	printf("  %s: SA_ONSTACK %d, blocks SIGURG %d, ", when, (action.sa_flags & SA_ONSTACK) != 0,
	       sigismember(&action.sa_mask, SIGURG));
	if (handled_at - (uintptr_t)stack.ss_sp < stack.ss_size)
		puts("ran on the alternate stack");
	else if (action.sa_flags & SA_ONSTACK)
		puts("ran on another stack"); /* under sonde it is sonde's */
	else
		puts(here - handled_at < 65536 ? "ran on the stack that it interrupted" : "ran elsewhere");
}

NO_INLINE static int set_and_read(const stack_t *stack, stack_t *old)
{
	return sigaltstack(stack, old);
}

static void *ask(void *where)
{
	stack_t none = {.ss_flags = SS_DISABLE}, own = {.ss_sp = new_stack(OWN_B), .ss_size = OWN_B}, before,
		same = own;
	printf("%s\n", (const char *)where);
	print_stack("first");
	print_handler("first");
	int result = sigaltstack(&own, &before);
	printf("  set: %d, before: flags %d\n", result, before.ss_flags);
	print_stack("own");
	print_handler("own");
	burn(10);
	printf("  restored: %d\n", sigaltstack(&before, NULL));
	print_stack("restored");
	print_handler("restored");
	burn(10);
	printf("  set and read into the same: %d", set_and_read(&same, &same));
	printf(", flags %d\n", same.ss_flags);
	print_stack("own");
	printf("  disabled: %d\n", sigaltstack(&none, NULL));
	print_stack("disabled");
	own.ss_size = 100;
	printf("  too small: %d", sigaltstack(&own, NULL));
	printf(", %s\n", strerror(errno));
	printf("  from nowhere: %d", sigaltstack((const stack_t *)8, NULL)); /* NOLINT */
	printf(", %s\n", strerror(errno));
	burn(10);
	return NULL;
}

static void *take_over(void *where)
{
	stack_t stack, own = {.ss_sp = new_stack(OWN_B), .ss_size = OWN_B};
	syscall(SYS_sigaltstack, NULL, &stack);
	if (stack.ss_flags & SS_DISABLE) {
		stack = own;
		syscall(SYS_sigaltstack, &stack, NULL);
	}
	burn(20);
	raise(SIGUSR1);
	printf("%s: %s\n", (const char *)where,
	       handled_at - (uintptr_t)stack.ss_sp < stack.ss_size ? "ran on the stack taken" : "ran elsewhere");
	return NULL;
}

static void set_handler(int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
	sigaction(SIGUSR1, &action, NULL);
}

static int do_takes(void)
{
	pthread_t thread;
	set_handler(SA_ONSTACK | SA_RESTART);
	take_over("main");
	if (pthread_create(&thread, NULL, take_over, "thread") || pthread_join(thread, NULL))
		return 2;
	return 3;
}

static int do_asks(void)
{
	pthread_t thread;
	set_handler(SA_ONSTACK | SA_RESTART);
	burn(10);
	print_stack("before all");
	print_handler("before all");
	set_handler(SA_RESTART);
	print_handler("the same without the flag");
	set_handler(SA_ONSTACK | SA_RESTART);
	fflush(stdout);
	if (!fork()) {
		ask("child");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	if (pthread_create(&thread, NULL, ask, "thread") || pthread_join(thread, NULL))
		return 2;
	ask("main");
	set_handler(SA_RESTART);
	print_handler("without the flag");
	signal(SIGUSR1, on_signal);
	print_handler("by signal()");
	return 3;
}

static int do_urgent(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	if (sigaction(SIGURG, &action, NULL))
		return 2;
	burn(20);
	raise(SIGURG);
	uintptr_t here = (uintptr_t)&action;
	printf("the handler runs on the %s stack\n", here - handled_at < OWN_B ? "interrupted" : "other");
	return 3;
}

enum { THREADS = 200, THREAD_B = 131072 };

static pthread_barrier_t all_here;

static void *meet(void *unused)
{
	burn(1);
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&all_here);
	return unused;
}

/* Returns the value, in KiB, of a key in /proc/self/status. */
static long status_kib(const char *key)
{
	static char text[65536];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t size_b = read(fd, text, sizeof text - 1);
	close(fd);
	text[size_b > 0 ? size_b : 0] = 0;
	const char *at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* Starts threads that wait until they are let go; the number that could be started. */
static int start(pthread_t *threads, int most)
{
	pthread_attr_t attr;
	int count = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_B);
	while (count < most && !pthread_create(&threads[count], &attr, meet, NULL))
		count++;
	pthread_attr_destroy(&attr);
	return count;
}

static void let_go(pthread_t *threads, int count)
{
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static int do_limited(void)
{
	static pthread_t threads[THREADS];
	pthread_barrier_init(&all_here, NULL, THREADS + 1);
	burn(50); /* so that what a recorder maps at the first samples is part of the size */
	rlim_t most_b = (rlim_t)status_kib("VmSize:") * 1024 + THREADS * (THREAD_B + PAGE_B) + (20 << 20);
	struct rlimit limit = {most_b, most_b};
	if (setrlimit(RLIMIT_AS, &limit))
		return 2;
	int count = start(threads, THREADS);
	printf("%d threads\n", count);
	if (count < THREADS) {
		fflush(stdout);
		_exit(1);
	}
	pthread_barrier_wait(&all_here);
	let_go(threads, count);
	return 3;
}

static int do_locked(void)
{
	static pthread_t threads[20];
	burn(50);
	if (mlockall(MCL_FUTURE)) {
		puts("not permitted");
		return 3;
	}
	pthread_barrier_init(&all_here, NULL, 21);
	int count = start(threads, 10);
	burn(50); /* the first threads map what is mapped only once */
	long before_kib = status_kib("VmLck:");
	if (count + start(threads + count, 10) < 20)
		_exit(1);
	pthread_barrier_wait(&all_here);
	long each_kib = (status_kib("VmLck:") - before_kib) / 10;
	printf("each thread locks %s\n", each_kib < 200 ? "its stack" : "more than its stack");
	let_go(threads, 20);
	return 3;
}

static int do_pinned(void)
{
	static pthread_t threads[20];
	if (mlockall(MCL_FUTURE)) {
		puts("not permitted");
		return 3;
	}
	pthread_barrier_init(&all_here, NULL, 21);
	if (start(threads, 20) < 20)
		_exit(1);
	pthread_barrier_wait(&all_here);
	burn(50);
	let_go(threads, 20);
	printf("%s\n", status_kib("VmLck:") < 32768 ? "little is locked" : "much is locked");
	return 3;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {{"guarded", do_guarded}, {"tiny", do_tiny},    {"overflow", do_overflow}, {"dies", do_dies},
		     {"takes", do_takes},     {"asks", do_asks},    {"urgent", do_urgent},     {"limited", do_limited},
		     {"locked", do_locked},   {"pinned", do_pinned}};
	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run();
	return 1;
}
