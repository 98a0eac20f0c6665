/* clone_shared.c: a process and a child that shares its memory and its thread-local storage (clone() with only
 * CLONE_VM), both of which call read() at the same time: only the kernel can tell the two threads apart. The output is
 * always the same. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_B (256u << 10)
#define READS 100000
#define CHILDREN 3

static char stack[STACK_B] __attribute__((aligned(64)));

static int read_all(void *nothing)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY), failed = fd < 0;
	(void)nothing;
	for (int i = 0; i < READS && !failed; i++)
		failed = read(fd, &byte, 1) != 1;
	return failed || close(fd);
}

int main(void)
{
	int failed = 0;
	for (int i = 0; i < CHILDREN && !failed; i++) {
		int status = -1;
		pid_t child = clone(read_all, stack + STACK_B, CLONE_VM | SIGCHLD, NULL);
		failed += child < 0 || read_all(NULL);
		failed += waitpid(child, &status, 0) != child || status;
	}
	printf("failed %d\n", failed);
	return 0;
}
