/* steps.c: counts the instructions a program executes between its own SIGSTOPs, by stepping through them.
 *
 *	steps COMMAND…     prints a line for each stretch between two stops
 *
 * The count is exact, and needs no hardware counters, which virtual machines often lack. Only the first thread is
 * stepped. A stretch also contains the instructions of raise(3) itself; the difference of two stretches does not.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int complain(const char *what)
{
	fprintf(stderr, "steps: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Runs on by `request`, passing signals through, until the next stop: its signal, or -1 at the end. */
static int next_stop(pid_t pid, enum __ptrace_request request, int deliver)
{
	int status;
	if (ptrace(request, pid, NULL, (void *)(intptr_t)deliver) == -1 || waitpid(pid, &status, 0) == -1)
		return -1;
	return WIFSTOPPED(status) ? WSTOPSIG(status) : -1;
}

static int run_to_stop(pid_t pid)
{
	int number = 0;
	do
		number = next_stop(pid, PTRACE_CONT, number == SIGTRAP ? 0 : number);
	while (number != SIGSTOP && number != -1);
	return number;
}

static int step_to_stop(pid_t pid, uint64_t *out_steps)
{
	uint64_t steps = 0;
	int number = 0;
	do {
		number = next_stop(pid, PTRACE_SINGLESTEP, number == SIGTRAP ? 0 : number);
		steps++;
	} while (number != SIGSTOP && number != -1);
	*out_steps = steps;
	return number;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: steps COMMAND...\n");
		return 2;
	}
	pid_t pid = fork();
	if (pid == -1)
		return complain("fork");
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[1], argv + 1);
		_exit(complain(argv[1]));
	}
	int status;
	waitpid(pid, &status, 0); /* the stop of exec */
	if (!WIFSTOPPED(status) || run_to_stop(pid) == -1) {
		fprintf(stderr, "steps: the program did not stop itself\n");
		return 1;
	}
	uint64_t steps;
	while (step_to_stop(pid, &steps) == SIGSTOP)
		printf("%lu\n", (unsigned long)steps);
	return 0;
}
