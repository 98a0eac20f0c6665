/* zone_target.c: programs with known zones, one per command, for the tests of the runtime. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "seccomp_filter.h"

static void nested(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		SONDE_ZONE("outer");
		for (int k = 0; k < 2; k++) {
			SONDE_ZONE_COLOR("inner", 0xff0000);
		}
	}
}

static int do_pairs(char **args)
{
	nested(atoi(args[0]));
	return 0;
}

static char pool_block;

static int do_everything(char **args)
{
	(void)args;
	errno = 77;
	sonde_thread_name("chief");
	{
		SONDE_ZONE("work");
		SONDE_ZONE_WORK(1, 2, 3);
		sonde_arg_text("file", "a.c");
		sonde_arg_double("ratio", 0.25);
		sonde_zone_name("select 1");
	}
	SONDE_BEGIN("first");
	SONDE_ZONE_NEXT("second");
	SONDE_END();
	SONDE_INSTANT("tick");
	sonde_instant("tock", "why");
	sonde_message("hello");
	sonde_snapshot("loaded");
	SONDE_GAUGE_SET("level", 0.5);
	for (int i = 0; i < 10; i++) {
		SONDE_COUNT("calls");
		SONDE_COUNTER_ADD("bytes", 100);
		sonde_counter_add("by name", 2);
	}
	for (uint64_t i = 1; i <= 1001; i++)
		SONDE_HISTOGRAM("sizes", i * 1000);
	SONDE_SPAN_BEGIN("request", 42);
	sonde_span_arg_text(42, "path", "/");
	SONDE_SPAN_END(42);
	SONDE_ITERATION("epoch", 32);
	int failed = sonde_alloc("chunks", &pool_block, 400) || sonde_free("chunks", &pool_block) ||
		     sonde_free("chunks", NULL) || sonde_alloc("", &pool_block, 4) != SONDE_ERR_ARGUMENT;
	return errno == 77 ? failed : 1;
}

static int do_mismatch(char **args)
{
	(void)args;
	if (sonde_end("a") != SONDE_ERR_MISMATCH || sonde_begin("a") || sonde_begin("b"))
		return 1;
	if (sonde_end("a") != SONDE_ERR_MISMATCH)
		return 2;
	if (sonde_end("b"))
		return 3;
	{
		SONDE_ZONE("macro");
		if (sonde_end("a") != SONDE_ERR_MISMATCH)
			return 4;
	}
	return sonde_end("a") ? 5 : sonde_end(NULL) == SONDE_ERR_ARGUMENT ? 0 : 6;
}

/* Reports on stdout how many zones it made, and loses what the buffer does not hold. */
static int do_flood(char **args)
{
	long rounds = atol(args[0]);
	SONDE_BEGIN("all");
	for (long i = 0; i < rounds; i++) {
		SONDE_ZONE("flood");
	}
	SONDE_END();
	return 0;
}

static void say_and_wait(const char *text)
{
	char byte;
	if (write(STDOUT_FILENO, text, strlen(text)) != (ssize_t)strlen(text) || read(STDIN_FILENO, &byte, 1) != 1)
		_exit(1);
}

/* Allows only what <sonde/sonde.h> names for sandboxes, and what do_halves() itself calls. */
static void allow_only_documented(void)
{
	static const unsigned calls[] = {SYS_futex,   SYS_fstat,    SYS_newfstatat, SYS_sendto,
					 SYS_madvise, SYS_recvfrom, SYS_getsockopt, SYS_openat,
					 SYS_read,    SYS_close,    SYS_write,      SYS_exit_group};
	struct seccomp_filter filter;
	seccomp_filter_make(&filter, calls, sizeof(calls) / sizeof(*calls), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter.program))
		_exit(77);
}

/* As many zones of each of two kinds, each time that a byte is read; with "sandboxed", under a filter. */
static int do_halves(char **args)
{
	long rounds = atol(args[0]);
	int is_sandboxed = args[1] != NULL;
	if (is_sandboxed) {
		SONDE_ZONE("before");
	}
	if (is_sandboxed)
		allow_only_documented();
	say_and_wait("begun\n");
	for (long i = 0; i < rounds; i++) {
		SONDE_ZONE("first");
	}
	say_and_wait("half\n");
	for (long i = 0; i < rounds; i++) {
		SONDE_ZONE("second");
	}
	if (is_sandboxed)
		_exit(0);
	return 0;
}

static void *flood_thread(void *data)
{
	do_flood(data);
	return NULL;
}

static int do_two(char **args)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, flood_thread, args);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Counts in shared memory (descriptor args[0]) what it has published, until it is killed. */
static int do_killed(char **args)
{
	_Atomic uint64_t *published = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(args[0]), 0);
	while (published != MAP_FAILED) {
		SONDE_BEGIN("killed");
		__atomic_store_n((uint64_t *)published, *published + 1, __ATOMIC_RELEASE);
		SONDE_END();
		__atomic_store_n((uint64_t *)published, *published + 1, __ATOMIC_RELEASE);
	}
	return 1;
}

static _Atomic int stop;

static void *background(void *data)
{
	(void)data;
	while (!stop) {
		SONDE_ZONE("background");
	}
	return NULL;
}

/* The thread sanitizer takes its own locks around fork() alone: a child made otherwise may find them held for ever. */
#ifdef __SANITIZE_THREAD__
#define _Fork fork
#define raw_clone fork
#else
static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
#endif

static int do_fork(char **args)
{
	(void)args;
	pthread_t thread;
	int status = 0;
	pthread_create(&thread, NULL, background, NULL);
	nested(10);
	for (int i = 0; i < 3; i++) {
		SONDE_ZONE("around fork");
		pid_t pid = i == 0 ? fork() : i == 1 ? raw_clone() : _Fork();
		if (!pid) {
			nested(10);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (status)
			return 1;
	}
	stop = 1;
	pthread_join(thread, NULL);
	return 0;
}

static void *short_thread(void *data)
{
	(void)data;
	SONDE_ZONE("short");
	SONDE_COUNT("threads");
	return NULL;
}

static int do_churn(char **args)
{
	for (int left = atoi(args[0]); left > 0; left -= 4) {
		pthread_t threads[4];
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, short_thread, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}

static int do_plugin(char **args)
{
	for (int i = 0; i < 50; i++) {
		void *plugin = dlopen(args[0], RTLD_NOW | RTLD_LOCAL);
		if (!plugin)
			return 1;
		void (*run)(void);
		*(void **)&run = dlsym(plugin, "zone_plugin_run");
		run();
		dlclose(plugin);
	}
	return 0;
}

static _Atomic long handled;

static void on_signal(int number)
{
	(void)number;
	SONDE_ZONE("handler");
	handled++;
}

static int do_signals(char **args)
{
	long wanted = atol(args[0]);
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &action, NULL);
	struct itimerval often = {{0, 50}, {0, 50}};
	nested(1); /* the first event sets up; handlers then find the thread ready */
	setitimer(ITIMER_REAL, &often, NULL);
	long rounds = 0;
	for (; handled < wanted; rounds++) {
		SONDE_ZONE("interrupted");
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	SONDE_COUNTER_ADD("handled", handled);
	SONDE_COUNTER_ADD("rounds", rounds);
	return 0;
}

#ifdef __x86_64__
#include <ucontext.h>

#define STEPS_MAX 300
#define TRAP_FLAG 0x100

static long step, step_wanted;

/* Sets or clears the flag by which the processor traps after each instruction, below the red zone. */
#define TRAPS(operation)                                                                               \
	__asm__ volatile("lea -128(%%rsp), %%rsp\npushfq\n" operation "\npopfq\nlea 128(%%rsp), %%rsp" \
			 :                                                                             \
			 :                                                                             \
			 : "cc", "memory")

static void on_step(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	if (++step < step_wanted)
		return;
	SONDE_ZONE("handler");
	handled++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

/* Three events that start `capacity` words before the end of a chunk, interrupted after `wanted` instructions. Returns
 * whether there were that many. */
static int step_through(uint64_t capacity, long wanted)
{
	if (capacity % 2)
		SONDE_BEGIN("odd");
	do {
		SONDE_ZONE("fill");
	} while (-sonde_hot_self->cursor % 65536 != capacity * 8);
	step = 0;
	step_wanted = wanted;
	TRAPS("orq $0x100, (%%rsp)");
	SONDE_BEGIN("stepped");
	SONDE_ZONE_NEXT("next");
	SONDE_END();
	TRAPS("andq $~0x100, (%%rsp)");
	if (capacity % 2)
		SONDE_END();
	return step >= wanted;
}

static int do_steps(char **args)
{
	(void)args;
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	sigaction(SIGTRAP, &action, NULL);
	long rounds = 0;
	for (uint64_t capacity = 0; capacity < 6; capacity++)
		for (long wanted = 1; wanted < STEPS_MAX && step_through(capacity, wanted); wanted++)
			rounds++;
	SONDE_COUNTER_ADD("handled", handled);
	SONDE_COUNTER_ADD("rounds", rounds);
	return 0;
}
#else
static int do_steps(char **args)
{
	(void)args;
	return 77;
}
#endif

static char *hidden_name;
static int faults;

static void known(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		SONDE_ZONE("known");
	}
}

static void on_fault(int number)
{
	(void)number;
	if (!faults++) {
		SONDE_ZONE("new");
	} else {
		known(5000);
	}
	mprotect(hidden_name, 4096, PROT_READ);
}

static void hide(struct sonde_place *place, uint32_t kind)
{
	place->id = SONDE_PLACE_NEW;
	place->kind = kind;
	place->name = hidden_name;
	mprotect(hidden_name, 4096, PROT_NONE);
}

/* Unreadable names lead a handler into the slow path of a zone and of a gauge; in the latter it fills the rest of
 * the chunk, whose last word is a begin. */
static int do_inside(char **args)
{
	(void)args;
	static struct sonde_place zone, gauge;
	struct sigaction action = {.sa_handler = on_fault};
	sigaction(SIGSEGV, &action, NULL);
	hidden_name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(hidden_name, "hidden");
	SONDE_ZONE("around");
	known(1);
	hide(&zone, SONDE_KIND_ZONE);
	sonde_hot_begin(&zone);
	sonde_hot_end();
	hide(&gauge, SONDE_KIND_GAUGE);
	sonde_place_gauge(&gauge, 1);
	known(1);
	return faults != 2;
}

static int do_pause(char **args)
{
	(void)args;
	SONDE_BEGIN("kept");
	nested(5);
	if (sonde_pause())
		return 1;
	nested(100);
	SONDE_BEGIN("across");
	if (sonde_is_on() || sonde_resume() || !sonde_is_on())
		return 2;
	nested(7);
	SONDE_END();
	SONDE_END();
	return sonde_lost() ? 3 : 0;
}

static int do_closed(char **args)
{
	(void)args;
	nested(10);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	while (open("/dev/null", 0) < 300)
		;
	nested(5000);
	return 0;
}

static int do_query(char **args)
{
	(void)args;
	struct sonde_stats stats, rows[4];
	uint64_t p100 = 0;
	if (sonde_has_results() || sonde_stats_of("outer", &stats) != SONDE_ERR_UNKNOWN)
		return 1;
	nested(1000);
	if (sonde_stats_of("outer", &stats))
		return 1;
	uint64_t rest_ns = 2000000 + stats.total_ns; /* whatever else the machine did: "slow" comes first */
	for (int i = 0; i < 3; i++) {
		SONDE_ZONE("slow");
		SONDE_ZONE_WORK(10, 20, 30);
		struct timespec rest = {(time_t)(rest_ns / 1000000000), (long)(rest_ns % 1000000000)};
		nanosleep(&rest, NULL);
	}
	if (sonde_stats_of("inner", &stats) || stats.count != 2000 || stats.self_ns != stats.total_ns)
		return 2;
	if (sonde_stats_of("outer", &stats) || stats.count != 1000 || stats.self_ns > stats.total_ns)
		return 3;
	if (sonde_top(rows, 2) != 2 || strcmp(rows[0].name, "slow") != 0 || strcmp(rows[1].name, "outer") != 0)
		return 4;
	if (rows[0].flop != 30 || rows[0].bytes != 60 || rows[0].items != 90 || rows[0].min_ns < 2000000)
		return 5;
	if (sonde_percentile("slow", 1, &p100) || p100 != rows[0].max_ns)
		return 6;
	if (sonde_last(&stats) || strcmp(stats.name, "slow") != 0 || !sonde_has_results())
		return 7;
	if (rows[0].mean_ns * 3 < (double)rows[0].total_ns - 1 || rows[0].mean_ns * 3 > (double)rows[0].total_ns + 1)
		return 8;
	return sonde_percentile("slow", 2, &p100) == SONDE_ERR_ARGUMENT ? 0 : 9;
}

static int do_exec(char **args)
{
	nested(3);
	char *again[] = {args[0], "pairs", "4", NULL};
	execv(args[0], again);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **args);
	} commands[] = {
	    {"pairs", do_pairs},   {"everything", do_everything}, {"mismatch", do_mismatch}, {"flood", do_flood},
	    {"two", do_two},       {"killed", do_killed},         {"fork", do_fork},         {"churn", do_churn},
	    {"plugin", do_plugin}, {"signals", do_signals},       {"steps", do_steps},       {"inside", do_inside},
	    {"pause", do_pause},   {"closed", do_closed},         {"query", do_query},       {"exec", do_exec},
	    {"halves", do_halves},
	};
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argv + 2);
	return 125;
}
