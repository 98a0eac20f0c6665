/* io.c: reads and writes that are known: io MODE DIRECTORY. Prints what it measured, as "name value". */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"

enum { SMALL = 1000, BLOCK = 65536, BLOCKS = 64 };

static char block[BLOCK];
static uint64_t spent_ns;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* 1,000 writes of 10 bytes, and one fsync(). */
static NO_INLINE void write_small(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < SMALL; i++)
		if (write(fd, "0123456789", 10) != 10)
			abort();
	fsync(fd);
	close(fd);
}

/* 64 writes of 64 KB, twice as many bytes read again: by pread() and by readv() of two halves. */
static NO_INLINE void write_large(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct iovec halves[2] = {{block, BLOCK / 2}, {block + BLOCK / 2, BLOCK / 2}};
	for (int i = 0; i < BLOCKS; i++)
		if (write(fd, block, BLOCK) != BLOCK)
			abort();
	for (int i = 0; i < BLOCKS; i++)
		if (pread(fd, block, BLOCK, (off_t)i * BLOCK) != BLOCK)
			abort();
	lseek(fd, 0, SEEK_SET);
	for (int i = 0; i < BLOCKS; i++)
		if (readv(fd, halves, 2) != BLOCK)
			abort();
	if (read(fd, block, BLOCK) != 0)
		abort();
	close(fd);
}

/* The reader waits for what a child writes each 5 ms. */
static NO_INLINE void read_pipe(void)
{
	int fds[2];
	char byte;
	if (pipe(fds))
		abort();
	pid_t child = fork();
	if (!child) {
		struct timespec rest = {0, 5000000};
		close(fds[0]);
		for (int i = 0; i < 20; i++) {
			nanosleep(&rest, NULL);
			if (write(fds[1], "x", 1) != 1)
				abort();
		}
		_exit(0);
	}
	close(fds[1]);
	while (read(fds[0], &byte, 1) == 1)
		;
	spent_ns = 0;
	close(fds[0]);
	waitpid(child, NULL, 0);
}

/* Opens one file after the other under the same descriptor number; each has bytes of its own. */
static void reuse(const char *directory)
{
	char path[4096];
	for (int i = 0; i < 10; i++) {
		snprintf(path, sizeof path, "%s/reuse-%d", directory, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		for (int k = 0; k <= i; k++)
			if (write(fd, block, 100) != 100)
				abort();
		if (i & 1) {
			int other = dup(fd);
			close(fd);
			fd = other;
		}
		close(fd);
	}
}

static void sockets(void)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		abort();
	for (int i = 0; i < 50; i++)
		if (send(fds[0], block, 200, 0) != 200 || recv(fds[1], block, 200, MSG_WAITALL) != 200)
			abort();
	close(fds[0]);
	close(fds[1]);
}

/* Results and errno of calls that fail. */
static void results(void)
{
	errno = 5;
	printf("read %zd", read(-1, block, 1));
	printf(" errno %d", errno);
	printf(" write %zd", write(-1, block, 1));
	printf(" errno %d", errno);
	printf(" open %d", open("/nonexistent/x", O_RDONLY));
	printf(" errno %d", errno);
	printf(" close %d", close(-1));
	printf(" errno %d", errno);
	printf(" fsync %d", fsync(-1));
	printf(" errno %d", errno);
	errno = 9;
	int fd = open("/dev/zero", O_RDONLY);
	ssize_t got = read(fd, block, 16);
	close(fd);
	printf(" got %zd errno %d\n", got, errno);
}

/* Makes calls on descriptors without a file of their own, and with more than one buffer. */
static void odd(const char *directory)
{
	char path[4096];
	int fds[2], null = open("/dev/null", O_RDONLY);
	struct iovec part = {block, 2500};
	struct mmsghdr messages[3];
	memset(messages, 0, sizeof messages);
	snprintf(path, sizeof path, "%s/odd", directory);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (pwritev2(fd, &part, 1, 0, 0) != 2500 || pwritev2(fd, &part, 1, 2500, 0) != 2500)
		abort();
	for (int i = 0; i < 2; i++) {
		char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (mapped == MAP_FAILED)
			abort();
		mapped[i] = 'x';
		if (i)
			msync(mapped, 4096, MS_ASYNC);
		munmap(mapped, 4096);
	}
	if (read(-1, block, 1) != -1 || dup2(null, 100) != 100)
		abort();
	close(100); /* an unused descriptor */
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds))
		abort();
	part.iov_len = 100;
	for (int i = 0; i < 3; i++)
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
	if (sendmmsg(fds[0], messages, 3, 0) != 3 || recvmmsg(fds[1], messages, 3, 0, NULL) != 3)
		abort();
}

/* Makes many calls that hardly take time, to measure the overhead of one. */
static void many(int count)
{
	int fd = open("/dev/zero", O_RDONLY);
	uint64_t from_ns = now_ns();
	for (int i = 0; i < count; i++)
		if (read(fd, block, 1) != 1)
			abort();
	spent_ns = now_ns() - from_ns;
	close(fd);
	printf("calls %d\nns %llu\n", count, (unsigned long long)spent_ns);
}

int main(int argc, char **argv)
{
	char path[4096];
	if (argc < 3) {
		fprintf(stderr, "usage: io files|pipe|reuse|sockets|odd|results|many DIRECTORY|COUNT\n");
		return 2;
	}
	if (!strcmp(argv[1], "files")) {
		snprintf(path, sizeof path, "%s/small", argv[2]);
		write_small(path);
		snprintf(path, sizeof path, "%s/large", argv[2]);
		write_large(path);
	} else if (!strcmp(argv[1], "pipe"))
		read_pipe();
	else if (!strcmp(argv[1], "reuse"))
		reuse(argv[2]);
	else if (!strcmp(argv[1], "sockets"))
		sockets();
	else if (!strcmp(argv[1], "odd"))
		odd(argv[2]);
	else if (!strcmp(argv[1], "results"))
		results();
	else
		many(atoi(argv[2]));
	return 0;
}
