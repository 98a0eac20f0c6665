/* cuda_driver.c: does what CUDA's driver does to a program: loads CUDA_INJECTION64_PATH, and has "a device" work.
 *
 * The device is cupti_stand_in.c, where it is loaded. Its known work: in stream 7 "alpha" 10 times for 5 ms, each
 * launched 1 ms before by a call of 0.1 ms, and once without an end; in stream 13 "beta" once for 30 ms; copies of 4 MB
 * for 2 ms from pageable memory to the device and of 1 MB for 1 ms back to pinned memory, of 2 MB to another device for
 * 1 ms; 512 B filled; 1 MiB allocated and given back; a wait of 20 ms.
 * Usage: cuda_driver WHAT: work; fork: work, and a child that ends by itself; child: a child that begins with CUDA;
 * quick: as work, but ends by _exit() after half a second; killed: the same by SIGKILL; reset: the library is loaded
 * twice; many N: N kernels. It prints its thread.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(int ms)
{
	struct timespec rest = {ms / 1000, ms % 1000 * 1000000L};
	nanosleep(&rest, NULL);
}

/* As the driver: whatever the library says, the program goes on. */
static void init(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	dlopen("libcudart.so.12", RTLD_NOW); /* where there is one: then this is a program of CUDA 12 */
	void *handle = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = handle ? (int (*)(void))dlsym(handle, "InitializeInjection") : NULL;
	if (path && !handle)
		printf("not loaded: %s\n", dlerror());
	if (begin && begin() != 1)
		puts("it did not return 1");
}

/* A function of the stand-in, if something has loaded that. */
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

static void many(uint64_t count)
{
	void (*begin)(uint64_t) = (void (*)(uint64_t))device("stand_in_many");
	pause_ms(50 + (int)(count / 50000)); /* what took time is to have begun after the recording */
	if (begin)
		begin(count);
}

static void forked(int begins)
{
	fflush(stdout);
	pid_t child = fork();
	if (!child && begins) {
		init();
		work();
	}
	if (!child)
		exit(3);
	int status = 0;
	waitpid(child, &status, 0);
	printf("the child exited with %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "work";
	if (!strcmp(what, "child")) {
		forked(1);
		return 5;
	}
	init();
	if (!strcmp(what, "reset"))
		init();
	if (!strcmp(what, "many"))
		many(argc > 2 ? strtoull(argv[2], NULL, 0) : 1000);
	else
		work();
	if (!strcmp(what, "fork"))
		forked(0);
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
