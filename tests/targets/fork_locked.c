/* fork_locked.c: threads hold the dynamic loader's lock nearly always while another has children, which write and read:
 * fork_locked [OBJECT]. OBJECT is loaded, and its function heap_news(), which allocates, called before and in children.
 *
 * A child has one thread, and finds the lock taken for ever. What the child does is allowed there (POSIX: fork; glibc:
 * malloc), and does not take the lock. The output is always the same.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDERS 2
#define CHILDREN 10
#define MOST_S 5 /* a child that takes longer hangs */

static _Atomic int is_over;
static void (*allocate)(void); /* NULL = there is no object */

static int look(struct dl_phdr_info *info, size_t info_b, void *data)
{
	(void)info;
	(void)info_b;
	for (int i = 0; i < 2000; i++)
		__asm__ volatile("" ::: "memory");
	return data != NULL;
}

static void *hold(void *arg)
{
	while (!is_over)
		dl_iterate_phdr(look, NULL);
	return arg;
}

/* Has a child, in a thread that has not waited for anything before. */
static void *have_child(void *status)
{
	char byte = 0;
	int fds[2];
	pid_t child = fork();
	if (!child) {
		alarm(MOST_S);
		if (allocate)
			allocate();
		pid_t again = fork(); /* as a daemon does */
		if (!again)
			_exit(0);
		waitpid(again, NULL, 0);
		_exit(pipe(fds) || write(fds[1], "x", 1) != 1 || read(fds[0], &byte, 1) != 1 || close(fds[0]));
	}
	waitpid(child, status, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t holders[HOLDERS], parent;
	int failed = 0;
	void *object = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (object)
		*(void **)&allocate = dlsym(object, "heap_news");
	if (argc > 1 && !allocate)
		return 2;
	if (allocate)
		allocate();
	for (int i = 0; i < HOLDERS; i++)
		if (pthread_create(&holders[i], NULL, hold, NULL))
			abort();
	for (int i = 0; i < CHILDREN && !failed; i++) {
		int status = -1;
		if (pthread_create(&parent, NULL, have_child, &status))
			abort();
		pthread_join(parent, NULL);
		failed += status != 0;
	}
	is_over = 1;
	for (int i = 0; i < HOLDERS; i++)
		pthread_join(holders[i], NULL);
	printf("failed %d\n", failed);
	return 0;
}
