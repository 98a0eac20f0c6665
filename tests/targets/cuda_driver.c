/* cuda_driver.c: does what CUDA's driver does to a program: loads CUDA_INJECTION64_PATH, and makes "a device" work.
 *
 * The device is cupti_stand_in.c, if it is loaded. Its known work: in stream 7 "alpha" 10 times for 5 ms, each launched
 * 1 ms before by a call of 0.1 ms, and once without an end; in stream 13 "beta" once for 30 ms; copies of 4 MB for 2 ms
 * from pageable memory to the device and of 1 MB for 1 ms back to pinned memory, of 2 MB to another device for 1 ms;
 * 512 B filled; 1 MiB allocated and given back; a wait of 20 ms. Usage: cuda_driver WHAT: work; fork: work, and a child
 * that ends by itself; child: a child that begins with CUDA; quick: as work, but ends by _exit() after half a second;
 * killed: as quick, but ends by SIGKILL; reset: the library is loaded twice; many N: N kernels; graph: a graph of two
 * kernels is launched 3 times; device-reset: work, before and after the device is reset; nothing: no work; fork-work: a
 * forked child makes the device work; fork-exec: a child becomes this program; early LIBRARY, profiled LIBRARY, late
 * LIBRARY: a profiler of the program's own (cuda_profiler.h) begins before CUDA; after it; or is loaded after it and
 * begins 0.5 s later; there is work before two sessions, in them, and after them. The program prints its thread, or,
 * with a profiler, what the profiler saw.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_profiler.h"

static void pause_ms(int ms)
{
	struct timespec rest = {ms / 1000, ms % 1000 * 1000000L};
	nanosleep(&rest, NULL);
}

/* Loads the library like the driver does: whatever the library returns, the program continues. */
static void init(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	/* if one of these exists, this is a program of that version */
	static const char *const run_times[] = {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.14"};
	for (size_t i = 0; i < sizeof run_times / sizeof *run_times; i++)
		dlopen(run_times[i], RTLD_NOW);
	void *handle = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = handle ? (int (*)(void))dlsym(handle, "InitializeInjection") : NULL;
	if (path && !handle)
		printf("not loaded: %s\n", dlerror());
	if (begin && begin() != 1)
		puts("it did not return 1");
}

/* Returns a function of the stand-in; NULL if the stand-in is not loaded. */
static void *device(const char *name)
{
	void *handle = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	if (!handle)
		handle = dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
	return handle ? dlsym(handle, name) : NULL;
}

static void work(void)
{
	void (*begin)(void) = (void (*)(void))device("stand_in_work");
	if (begin)
		begin();
	pause_ms(150);
}

static void reset(void)
{
	void (*begin)(void) = (void (*)(void))device("stand_in_reset");
	if (begin)
		begin();
}

static void graph(void)
{
	void (*begin)(uint32_t) = (void (*)(uint32_t))device("stand_in_graph");
	if (begin)
		begin(3);
	pause_ms(50);
}

static void many(uint64_t count)
{
	void (*begin)(uint64_t) = (void (*)(uint64_t))device("stand_in_many");
	pause_ms(50 + (int)(count / 50000)); /* timed work must start after the recording */
	if (begin)
		begin(count);
}

enum child { CHILD_ENDS, CHILD_BEGINS, CHILD_WORKS, CHILD_EXECS };

static void forked(enum child what)
{
	fflush(stdout);
	pid_t child = fork();
	if (!child && what == CHILD_EXECS) {
		execl("/proc/self/exe", "cuda_driver", "work", (char *)NULL);
		_exit(127);
	}
	if (!child && what == CHILD_BEGINS)
		init();
	if (!child && what != CHILD_ENDS)
		work();
	if (!child)
		exit(3);
	int status = 0;
	waitpid(child, &status, 0);
	printf("the child exited with %d\n", WEXITSTATUS(status));
}

/* --- a profiler of the program's own ------------------------------------------------------------------------------ */

static int (*profiler_begins)(void);
static struct profiler_events (*profiler_ends)(void);

static void load_profiler(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	profiler_begins = handle ? (int (*)(void))dlsym(handle, "profiler_begin") : NULL;
	profiler_ends = handle ? (struct profiler_events(*)(void))dlsym(handle, "profiler_end") : NULL;
	if (profiler_begins && profiler_ends)
		return;
	printf("no profiler: %s\n", dlerror());
	exit(2);
}

static void session(void)
{
	int code = profiler_begins();
	if (code) {
		printf("it has no device: %d\n", code);
		return;
	}
	work();
	struct profiler_events events = profiler_ends();
	for (int i = 0; i < 64; i++)
		if (events.counts[i])
			printf("%d of kind %d, ", events.counts[i], i);
	printf("%u outside, %d foreign, %d not returned\n", events.outside, events.foreign, events.unreturned);
}

static void *be_busy(void *unused)
{
	many(200000);
	return unused;
}

static int busy(const char *path)
{
	pthread_t thread;
	load_profiler(path);
	init();
	if (pthread_create(&thread, NULL, be_busy, NULL))
		return 2;
	pause_ms(60);
	int code = profiler_begins();
	pthread_join(thread, NULL);
	struct profiler_events events = profiler_ends();
	printf("%u kernels, %d not let, %d foreign, %d not returned\n", events.counts[10] + events.outside, code,
	       events.foreign, events.unreturned);
	return 5;
}

static int profiled(const char *when, const char *path)
{
	if (strcmp(when, "late") != 0)
		load_profiler(path);
	if (!strcmp(when, "early"))
		session();
	init();
	work();
	if (!strcmp(when, "late")) {
		load_profiler(path);
		pause_ms(500);
	}
	session();
	session();
	work();
	return 5;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *what;
		enum child child;
	} forks[] = {{"fork", CHILD_ENDS}, {"fork-work", CHILD_WORKS}, {"fork-exec", CHILD_EXECS}};
	const char *what = argc > 1 ? argv[1] : "work";
	if (argc > 2 && !strcmp(what, "busy"))
		return busy(argv[2]);
	if (argc > 2 && strcmp(what, "many") != 0)
		return profiled(what, argv[2]);
	if (!strcmp(what, "child")) {
		forked(CHILD_BEGINS);
		return 5;
	}
	init();
	if (!strcmp(what, "reset"))
		init();
	if (!strcmp(what, "many"))
		many(argc > 2 ? strtoull(argv[2], NULL, 0) : 1000);
	else if (!strcmp(what, "graph"))
		graph();
	else if (strcmp(what, "nothing") != 0)
		work();
	if (!strcmp(what, "device-reset")) {
		reset();
		work();
	}
	for (size_t i = 0; i < sizeof forks / sizeof *forks; i++)
		if (!strcmp(what, forks[i].what))
			forked(forks[i].child);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (!strcmp(what, "quick") || !strcmp(what, "killed"))
		pause_ms(500);
	if (!strcmp(what, "quick"))
		_exit(5);
	if (!strcmp(what, "killed"))
		raise(SIGKILL);
	return 5;
}
