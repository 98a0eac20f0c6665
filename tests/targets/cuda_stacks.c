/* cuda_stacks.c: the same kernel, copies and allocations of CUDA, asked for in several functions. The device is
 * cupti_stand_in.c; what CUDA's driver does to a program is done here (cuda_driver.c).
 *
 * Usage: cuda_stacks N: `assemble` launches "gamma" for 2 µs 3 N times and `solve` for 5 µs N times, both by `launch`;
 * `upload` copies 4096 bytes in 1 µs N times; `prepare` allocates 4096 bytes twice; a thread launches N times for 3 µs
 * in `thread_main`.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cupti_stand_in.h"
#include "no_inline.h"

#define US UINT64_C(1000)

static void (*call)(int what, uint64_t dur_ns);
static int times;

/* Loads the library like the driver does: whatever the library returns, the program continues. */
static void init(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *handle = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = handle ? (int (*)(void))dlsym(handle, "InitializeInjection") : NULL;
	if (begin)
		begin();
	handle = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	call = handle ? (void (*)(int, uint64_t))dlsym(handle, "stand_in_call") : NULL;
}

NO_INLINE static void launch(uint64_t dur_ns)
{
	if (call)
		call(STAND_IN_LAUNCH, dur_ns);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

NO_INLINE static void assemble(void)
{
	for (int i = 0; i < 3; i++)
		launch(2 * US);
	__asm__ volatile("" ::: "memory");
}

NO_INLINE static void solve(void)
{
	launch(5 * US);
	__asm__ volatile("" ::: "memory");
}

NO_INLINE static void upload(void)
{
	if (call)
		call(STAND_IN_COPY, US);
	__asm__ volatile("" ::: "memory");
}

NO_INLINE static void prepare(void)
{
	for (int i = 0; call && i < 2; i++)
		call(STAND_IN_ALLOCATE, 0);
	__asm__ volatile("" ::: "memory");
}

static void *thread_main(void *unused)
{
	for (int i = 0; i < times; i++)
		launch(3 * US);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	times = argc > 1 ? atoi(argv[1]) : 1;
	init();
	prepare();
	for (int i = 0; i < times; i++) {
		assemble();
		solve();
		upload();
	}
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 3;
	pthread_join(thread, NULL);
	puts("done");
	return 5;
}
