/* fork_each.c: a child process for each request, which is answered in no time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int __attribute__((noinline)) answer(int request)
{
	pid_t child = fork();
	int status;
	if (!child)
		_exit(request % 7);
	if (child < 0 || waitpid(child, &status, 0) != child)
		exit(1);
	return WEXITSTATUS(status);
}

int main(void)
{
	int sum = 0;
	char *state = malloc(20 << 20);
	memset(state, 1, 20 << 20);
	for (int i = 0; i < 800; i++)
		sum += answer(i);
	printf("%d %d\n", sum, state[5]);
	free(state);
	return 0;
}
