/* storms.c: many short children.
 *
 * storms vforks COUNT   COUNT × vfork() and exec of /bin/true
 * storms forks COUNT    COUNT × fork() in a program whose other threads allocate meanwhile; the children end at once
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4

static int reap(pid_t child)
{
	int status = 0;
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Not inlined: a variable of the loop could be clobbered by vfork(). */
__attribute__((noinline)) static pid_t spawn(void)
{
	pid_t child = vfork();
	if (!child) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	return child;
}

static int run_vforks(long count)
{
	for (long i = 0; i < count; i++)
		if (reap(spawn()))
			return 1;
	return 0;
}

static _Atomic int is_over;

/* Makes some allocations per millisecond, so that children inherit an allocator that is in use, and the CPUs are mostly
 * idle.
 */
static void *allocate(void *unused)
{
	static const struct timespec pause = {0, 1000000};
	while (!atomic_load(&is_over)) {
		for (size_t size_b = 16; size_b <= 4096; size_b *= 2)
			free(malloc(size_b));
		nanosleep(&pause, NULL);
	}
	return unused;
}

static int run_forks(long count)
{
	pthread_t threads[THREADS];
	int code = 0;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, allocate, NULL))
			return 1;
	for (long i = 0; i < count && !code; i++) {
		pid_t child = fork();
		if (!child)
			_exit(malloc(100) ? 0 : 1);
		code = reap(child) != 0;
	}
	atomic_store(&is_over, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return code;
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0;
	if (count > 0 && !strcmp(argv[1], "vforks"))
		return run_vforks(count);
	if (count > 0 && !strcmp(argv[1], "forks"))
		return run_forks(count);
	fprintf(stderr, "usage: storms vforks|forks COUNT\n");
	return 2;
}
