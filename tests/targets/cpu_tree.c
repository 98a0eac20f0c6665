/* cpu_tree.c: makes a known number of processes and threads, and names for them.
 *
 * cpu_tree PROCESSES THREADS: forks PROCESSES children one after the other, of which every second execs this program
 * again as "cpu_tree 0 0", then starts THREADS threads, each of which burns 20 ms.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void burn(long ms)
{
	struct timespec now;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static void *run(void *unused)
{
	burn(20);
	return unused;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	int processes = atoi(argv[1]), threads = atoi(argv[2]);
	for (int i = 0; i < processes; i++) {
		pid_t child = fork();
		if (child == 0 && i % 2)
			execl("/proc/self/exe", "cpu_tree", "0", "0", NULL);
		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	for (int i = 0; i < threads; i++) {
		pthread_t id;
		pthread_create(&id, NULL, run, NULL);
		pthread_join(id, NULL);
	}
	return 0;
}
