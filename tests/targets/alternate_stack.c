/* alternate_stack.c: how much of an alternate signal stack a handler needs that does I/O: alternate_stack WHEN [BYTES]
 *
 * Prints the least number of bytes, for a handler that opens, writes, reads and closes. Each size is tried in a child,
 * whose handler runs on a stack that ends at an unreadable page. WHEN: first, the handler's calls are the process's
 * first; later, the thread has made such calls before; or connected, 500 of them.
 * With BYTES, only this size is used, in the process itself.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPAN_B 65536u
#define STEP_B 64u
#define MINSIGSTKSZ_B 2048u /* the kernel accepts no smaller stack */

static void call_all(void)
{
	char byte = 0;
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	if (fd < 0 || write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1 || close(fd))
		_exit(2);
}

static void on_signal(int number)
{
	(void)number;
	call_all();
}

/* Runs in a child: exits with 0 if the handler had enough stack. */
static void try(size_t size_b, int before)
{
	char *span = mmap(NULL, (size_t)2 * SPAN_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = span + SPAN_B, .ss_size = size_b};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	if (span == MAP_FAILED || mprotect(span, SPAN_B, PROT_NONE) || sigaltstack(&stack, NULL) ||
	    sigaction(SIGUSR1, &action, NULL))
		_exit(2);
	for (int i = 0; i < before; i++)
		call_all();
	raise(SIGUSR1);
	_exit(0);
}

/* Returns 1 if the size is enough, 0 if not, −1 after another failure. */
static int is_enough(size_t size_b, int before)
{
	int status = 0;
	pid_t child = fork();
	if (!child)
		try(size_b, before);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? -1 : 1;
	return WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS ? 0 : -1;
}

int main(int argc, char **argv)
{
	size_t low = MINSIGSTKSZ_B / STEP_B, high = SPAN_B / STEP_B;
	int before = argc < 2 || !strcmp(argv[1], "first") ? 0 : !strcmp(argv[1], "later") ? 1 : 500;
	if (argc > 2)
		try((size_t)atol(argv[2]), before);
	while (low + 1 < high) {
		size_t middle = (low + high) / 2;
		int enough = is_enough(middle * STEP_B, before);
		if (enough < 0)
			return 1;
		*(enough ? &high : &low) = middle;
	}
	printf("%zu\n", high * STEP_B);
	return 0;
}
