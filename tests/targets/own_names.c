/* own_names.c: a program that calls functions with hooks, and has a getenv(), getpid(), getppid() and fstat() of its
 * own, each of which prints a line when it is called. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char *name)
{
	if (write(1, name, strlen(name)) < 0)
		_exit(3);
}

char *getenv(const char *name)
{
	(void)name;
	say("getenv\n");
	return NULL;
}

pid_t getpid(void)
{
	say("getpid\n");
	return 1;
}

pid_t getppid(void)
{
	say("getppid\n");
	return 1;
}

int fstat(int fd, struct stat *out)
{
	(void)fd, (void)out;
	say("fstat\n");
	return -1;
}

static void *sleep_and_keep(void *data)
{
	struct timespec time = {0, 1000000};
	nanosleep(&time, NULL);
	free(malloc(100));
	return data;
}

int main(void)
{
	pthread_t thread;
	char byte;
	int fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 1000; i++)
		if (read(fd, &byte, 1) != 1)
			return 1;
	sleep_and_keep(NULL);
	if (pthread_create(&thread, NULL, sleep_and_keep, NULL) || pthread_join(thread, NULL))
		return 1;
	pid_t child = fork();
	if (!child) {
		sleep_and_keep(NULL);
		exit(0);
	}
	if (waitpid(child, NULL, 0) != child)
		return 1;
	for (volatile unsigned turns = 0; turns < 50000000; turns++)
		;
	say("done\n");
	return 0;
}
