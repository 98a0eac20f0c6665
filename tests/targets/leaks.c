/* leaks.c: blocks that are live when a program ends, with known answers: one function each, one per command.
 *
 * known       lost: direct 20 × 100 B; heads 10 × 32 B, each of which points to a chain of 3 links × 48 B; ring
 *             10 × 64 B in pairs that point to each other; past 2 × 72 B, with a pointer behind their ends.
 *             kept: globals 30 × 40 B; nodes 50 × 24 B in a list; interior 4 × 200 B, by a pointer into the middle;
 *             locals 3 × 56 B, thread-local; onstack 1 × 88 B, on the first thread's stack; sleeper 1 × 104 B on the
 *             stack of a thread that waits, sleeper_local 1 × 120 B thread-local there; registers 1 × 136 B in a
 *             register of a thread that spins; early 5 × 152 B that a destructor frees. Ends with exit code 5
 * clean       allocates, and frees everything
 * mapped      3 × 48 B, to which only memory that the program has mapped points
 * forks       20 × 100 B lost; a child loses 7 × 30 B and ends by exit()
 * leaves HOW  20 × 100 B lost, then the end: by _exit, abort or kill
 * crowd       16 threads that wait, with 10 × 32 B each on their stacks; each has lost 10 × 16 B
 * much MB     MB megabytes in blocks of 100 B, in a list in random order; 1 % of the blocks are lost; prints how many
 * grows MS    for MS ms: a list grows by 10 × 64 B each ms, a cache of 2000 × 64 B fills up in the first half, and
 *             churn of up to 100 × 64 B comes and goes
 * calls       20 × 100 B lost; threads wait in calls that a stop would end; a thread whose call returns writes the
 *             call's result
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"

struct node {
	struct node *volatile next;
	char rest[];
};

static void *touch(void *block, size_t size)
{
	memset(block, 1, size);
	return block;
}

/* What was on the stack below is overwritten, so that nothing stale is found there. */
NO_INLINE void wipe(void)
{
	volatile char space[65536];
	for (size_t i = 0; i < sizeof space; i++)
		space[i] = 0;
}

/* --- lost -------------------------------------------------------------------------------------------------------- */

NO_INLINE void direct(void)
{
	for (int i = 0; i < 20; i++)
		touch(malloc(100), 100);
}

NO_INLINE struct node *links(struct node *next)
{
	struct node *node = touch(malloc(48), 48);
	node->next = next;
	return node;
}

NO_INLINE void heads(void)
{
	for (int i = 0; i < 10; i++) {
		struct node *head = touch(malloc(32), 32), *next = NULL;
		for (int j = 0; j < 3; j++)
			next = links(next);
		head->next = next;
	}
}

NO_INLINE void ring(void)
{
	for (int i = 0; i < 5; i++) {
		struct node *a = touch(malloc(64), 64), *b = touch(malloc(64), 64);
		a->next = b;
		b->next = a;
	}
}

static char *volatile behind[2];

NO_INLINE void past(void)
{
	for (int i = 0; i < 2; i++)
		behind[i] = (char *)touch(malloc(72), 72) + 72;
}

/* --- kept -------------------------------------------------------------------------------------------------------- */

static void *volatile in_data[30] = {(void *)1};
static char *volatile inside[4];
static struct node *volatile list;
static _Thread_local void *volatile local[3];
static void *volatile for_destructor[5];

NO_INLINE void globals(void)
{
	for (int i = 0; i < 30; i++)
		in_data[i] = touch(malloc(40), 40);
}

NO_INLINE void nodes(void)
{
	for (int i = 0; i < 50; i++) {
		struct node *node = touch(malloc(24), 24);
		node->next = list;
		list = node;
	}
}

NO_INLINE void interior(void)
{
	for (int i = 0; i < 4; i++)
		inside[i] = (char *)touch(malloc(200), 200) + 100 + i;
}

NO_INLINE void locals(void)
{
	for (int i = 0; i < 3; i++)
		local[i] = touch(malloc(56), 56);
}

NO_INLINE void *onstack(void)
{
	return touch(malloc(88), 88);
}

NO_INLINE void early(void)
{
	for (int i = 0; i < 5; i++)
		for_destructor[i] = touch(malloc(152), 152);
}

__attribute__((destructor)) static void at_end(void)
{
	for (int i = 0; i < 5; i++)
		free(for_destructor[i]);
}

static atomic_int ready;

NO_INLINE void *sleeper_local(void)
{
	return touch(malloc(120), 120);
}

NO_INLINE void *sleeper(void *unused)
{
	void *volatile block = touch(malloc(104), 104);
	local[0] = sleeper_local();
	(void)unused;
	atomic_fetch_add(&ready, 1);
	for (;;)
		pause();
	return block;
}

/* The only pointer is in a register that no call keeps. */
NO_INLINE void *registers(void *unused)
{
	(void)unused;
	void *block = touch(malloc(136), 136);
	wipe();
	atomic_fetch_add(&ready, 1);
#if defined(__x86_64__)
	register void *held __asm__("r11") = block;
	__asm__ volatile("1: pause\n jmp 1b" : : "r"(held));
#elif defined(__aarch64__)
	register void *held __asm__("x11") = block;
	__asm__ volatile("1: yield\n b 1b" : : "r"(held));
#endif
	return block;
}

static int start(void *(*function)(void *), int count)
{
	pthread_t thread;
	int already = atomic_load(&ready);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, function, NULL))
			return -1;
	while (atomic_load(&ready) < already + count)
		usleep(1000);
	return 0;
}

NO_INLINE void all_known(void)
{
	direct();
	heads();
	ring();
	past();
	globals();
	nodes();
	interior();
	locals();
	early();
}

static int do_known(char **args)
{
	(void)args;
	void *volatile block = onstack();
	all_known();
	if (start(sleeper, 1) || start(registers, 1))
		return 1;
	puts("known");
	wipe();
	exit(block ? 5 : 6);
}

static int do_clean(char **args)
{
	(void)args;
	void *blocks[100];
	for (int i = 0; i < 100; i++)
		blocks[i] = touch(malloc(1000), 1000);
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
	puts("clean");
	return 0;
}

/* --- other ends -------------------------------------------------------------------------------------------------- */

static uintptr_t *volatile mapped;

NO_INLINE void in_mapping(void)
{
	for (int i = 0; i < 3; i++)
		mapped[10 + i] = (uintptr_t)touch(malloc(48), 48);
}

static int do_mapped(char **args)
{
	(void)args;
	mapped = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	in_mapping();
	wipe();
	return 0;
}

NO_INLINE void inside_child(void)
{
	for (int i = 0; i < 7; i++)
		touch(malloc(30), 30);
}

static int do_forks(char **args)
{
	int status;
	(void)args;
	direct();
	pid_t pid = fork();
	if (!pid) {
		inside_child();
		wipe();
		exit(3);
	}
	wipe();
	return pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3;
}

static int do_leaves(char **args)
{
	direct();
	if (!strcmp(*args, "_exit"))
		_exit(4);
	if (!strcmp(*args, "abort"))
		abort();
	return kill(getpid(), SIGKILL);
}

NO_INLINE void loses(void)
{
	for (int i = 0; i < 10; i++)
		touch(malloc(16), 16);
}

NO_INLINE void *holder(void *unused)
{
	void *volatile blocks[10];
	(void)unused;
	loses();
	wipe();
	for (int i = 0; i < 10; i++)
		blocks[i] = touch(malloc(32), 32);
	atomic_fetch_add(&ready, 1);
	for (;;)
		pause();
	return blocks[0];
}

static int do_crowd(char **args)
{
	(void)args;
	int code = start(holder, 16) != 0;
	puts("crowd");
	return code;
}

/* --- much -------------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 33;
}

NO_INLINE struct node *fills(void)
{
	return touch(malloc(100), 100);
}

NO_INLINE size_t fill(size_t count, struct node **nodes)
{
	uint64_t random = 1;
	size_t lost = 0;
	for (size_t i = 0; i < count; i++)
		nodes[i] = fills();
	for (size_t i = count - 1; i > 0; i--) { /* Fisher and Yates */
		size_t other = next_random(&random) % (i + 1);
		struct node *swapped = nodes[i];
		nodes[i] = nodes[other];
		nodes[other] = swapped;
	}
	for (size_t i = 0; i < count; i++) {
		if (i % 100 == 99) {
			nodes[i]->next = NULL;
			lost++;
			continue;
		}
		nodes[i]->next = list;
		list = nodes[i];
	}
	memset(nodes, 0, count * sizeof(*nodes));
	return lost;
}

static int do_much(char **args)
{
	size_t count = (size_t)atol(args[0]) * 10000;
	struct node **nodes =
	    mmap(NULL, count * sizeof(*nodes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (nodes == MAP_FAILED)
		return 1;
	printf("%zu\n", fill(count, nodes));
	wipe();
	return 0;
}

/* --- growth ------------------------------------------------------------------------------------------------------ */

static struct node *volatile growing;
static void *volatile cached[2000];

NO_INLINE void grow(void)
{
	struct node *node = touch(malloc(64), 64);
	node->next = growing;
	growing = node;
}

NO_INLINE void fill_cache(size_t i)
{
	cached[i] = touch(malloc(64), 64);
}

NO_INLINE void *churn(void)
{
	return touch(malloc(64), 64);
}

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int do_grows(char **args)
{
	static void *churning[100];
	uint64_t begin_ms = now_ms(), ms = (uint64_t)atol(args[0]), random = 1, done_ms = 0;
	size_t in_cache = 0;
	while (done_ms < ms) {
		uint64_t passed_ms = now_ms() - begin_ms;
		for (; done_ms < passed_ms && done_ms < ms; done_ms++) {
			for (int i = 0; i < 10; i++)
				grow();
			while (in_cache < 2000 && in_cache * ms < done_ms * 4000)
				fill_cache(in_cache++);
			size_t at = next_random(&random) % 100;
			free(churning[at]);
			churning[at] = next_random(&random) % 2 ? churn() : NULL;
		}
		usleep(500);
	}
	printf("%zu\n", (size_t)ms * 640);
	return 0;
}

/* --- calls that a stop would end --------------------------------------------------------------------------------- */

static int pairs[3][2]; /* of sockets, whose first ends have timeouts */

static void say(const char *call, long got)
{
	fprintf(stderr, "%s: %ld, %s\n", call, got, strerror(errno));
}

NO_INLINE void *in_recv(void *unused)
{
	char byte;
	atomic_fetch_add(&ready, 1);
	say("recv", recv(pairs[0][0], &byte, 1, 0));
	return unused;
}

NO_INLINE void *in_read(void *unused)
{
	char byte;
	atomic_fetch_add(&ready, 1);
	say("read", read(pairs[1][0], &byte, 1));
	return unused;
}

NO_INLINE void *in_recvmsg(void *unused)
{
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	atomic_fetch_add(&ready, 1);
	say("recvmsg", recvmsg(pairs[2][0], &message, 0));
	return unused;
}

NO_INLINE void *in_epoll(void *unused)
{
	struct epoll_event event;
	int poll = epoll_create1(0);
	atomic_fetch_add(&ready, 1);
	say("epoll_pwait", epoll_pwait(poll, &event, 1, 100000, NULL));
	return unused;
}

static int do_calls(char **args)
{
	struct timeval timeout = {100, 0};
	(void)args;
	direct();
	for (int i = 0; i < 3; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) ||
		    setsockopt(pairs[i][0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout))
			return 1;
	int code = start(in_recv, 1) || start(in_read, 1) || start(in_recvmsg, 1) || start(in_epoll, 1);
	usleep(50000); /* the threads wait by then */
	wipe();
	return code;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		int (*run)(char **args);
	} commands[] = {
	    {"known", 0, do_known}, {"clean", 0, do_clean},   {"mapped", 0, do_mapped},
	    {"forks", 0, do_forks}, {"leaves", 1, do_leaves}, {"crowd", 0, do_crowd},
	    {"much", 1, do_much},   {"grows", 1, do_grows},   {"calls", 0, do_calls},
	};
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(argv[1], commands[i].name) && argc - 2 >= commands[i].arguments)
			return commands[i].run(argv + 2);
	return 2;
}
