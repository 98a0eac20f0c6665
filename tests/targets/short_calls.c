/* short_calls.c: processes that make a few calls and end, in every way to end: short_calls FILE COUNT END
 *
 * Writes COUNT bytes to FILE, one a write() in write_one(); then END: exit; kill (itself, by a signal); exec (itself,
 * to write as many again); fork (a child writes as many again); share (the same by a child that shares its memory, and
 * is not seen); thread (another thread does); handler (in a signal's handler).
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "no_inline.h"

static int fd;
static int count;

NO_INLINE static void write_one(void)
{
	if (write(fd, "x", 1) != 1)
		_exit(3);
}

NO_INLINE static void write_all(void)
{
	for (int i = 0; i < count; i++)
		write_one();
}

static int do_exit(char **argv)
{
	(void)argv;
	return 0;
}

static int do_kill(char **argv)
{
	(void)argv;
	return kill(getpid(), SIGKILL);
}

static int do_exec(char **argv)
{
	char *again[] = {argv[0], argv[1], argv[2], (char[]){"exit"}, NULL};
	execv(argv[0], again);
	return 1;
}

static int wait_for(pid_t child)
{
	int status = 1;
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

static int do_fork(char **argv)
{
	(void)argv;
	pid_t child = fork();
	if (!child) {
		write_all();
		_exit(0);
	}
	return wait_for(child);
}

static int do_share(char **argv)
{
	(void)argv;
	pid_t child = vfork();
	if (!child) {
		write_one();
		_exit(0);
	}
	int code = wait_for(child);
	write_all();
	return code;
}

static void *run_thread(void *data)
{
	write_all();
	return data;
}

static int do_thread(char **argv)
{
	pthread_t thread;
	(void)argv;
	return pthread_create(&thread, NULL, run_thread, NULL) || pthread_join(thread, NULL);
}

static void on_signal(int number)
{
	(void)number;
	write_all();
}

static int do_handler(char **argv)
{
	(void)argv;
	signal(SIGUSR1, on_signal);
	return raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
	} ends[] = {{"exit", do_exit},   {"kill", do_kill},     {"exec", do_exec},      {"fork", do_fork},
		    {"share", do_share}, {"thread", do_thread}, {"handler", do_handler}};
	if (argc != 4)
		return 2;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	count = atoi(argv[2]);
	if (fd < 0)
		return 2;
	write_all();
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (!strcmp(argv[3], ends[i].name))
			return ends[i].run(argv);
	return 2;
}
