/* snapshots.c: snapshots through the API around allocations with known answers, one function each, one per command.
 *
 * known     "first" after 100 × 1000 B of first(); "second" after 50 × 3000 B of second() and without 40 of the first;
 *           "third" after 10 × 100000 B of third() and without 25 of the second
 * tight N   N times a block of 1000 B more and at once a snapshot "I", with blocks that come and go around it
 * threads N the same, while three threads allocate and free as fast as they can
 * mapped N  N times "with" while 64 MiB more are resident than at the next "without", which comes at once
 * waits DIR writes DIR/pid, holds 8 × 1 MiB of holds(), and 4 × 1 MiB of more() once DIR/more is there, which it
 * removes; ends when DIR/stop is there, or after a minute
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "no_inline.h"

static void *volatile kept[10000];
static size_t kept_count;

static void *fill(void *block, size_t size_b)
{
	if (!block || kept_count == sizeof kept / sizeof *kept)
		abort();
	return memset(block, 1, size_b);
}

#define KEEP(size_b) (kept[kept_count++] = fill(malloc(size_b), size_b)) /* no function: none is to be in the stack */

NO_INLINE void first(void)
{
	for (int i = 0; i < 100; i++)
		KEEP(1000);
}

NO_INLINE void second(void)
{
	for (int i = 0; i < 50; i++)
		KEEP(3000);
}

NO_INLINE void third(void)
{
	for (int i = 0; i < 10; i++)
		KEEP(100000);
}

NO_INLINE void drop(size_t from, size_t count)
{
	for (size_t i = from; i < from + count; i++)
		free(kept[i]);
}

static int do_known(char **args)
{
	(void)args;
	first();
	if (sonde_snapshot("first"))
		return 1;
	second();
	drop(0, 40);
	if (sonde_snapshot("second"))
		return 1;
	drop(100, 25);
	third();
	if (sonde_snapshot("third"))
		return 1;
	return sonde_snapshot(NULL) == SONDE_ERR_ARGUMENT ? 0 : 2;
}

NO_INLINE void comes_and_goes(void)
{
	void *volatile block = malloc(64);
	free(block);
}

NO_INLINE int tight(int count)
{
	char label[16];
	for (int i = 1; i <= count; i++) {
		snprintf(label, sizeof label, "%d", i);
		comes_and_goes();
		KEEP(1000);
		if (sonde_snapshot(label))
			return 1;
		comes_and_goes();
	}
	return 0;
}

static int do_mapped(char **args)
{
	enum { SIZE_B = 64 << 20 };
	for (int i = atoi(args[0]); i > 0; i--) {
		void *part =
		    mmap(NULL, SIZE_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (part == MAP_FAILED || sonde_snapshot("with") || munmap(part, SIZE_B) || sonde_snapshot("without"))
			return 1;
	}
	return 0;
}

static int do_tight(char **args)
{
	return tight(atoi(args[0]));
}

static atomic_int stop;

NO_INLINE void *churns(void *unused)
{
	void *blocks[64] = {0};
	for (size_t i = 0; !atomic_load(&stop); i++) {
		free(blocks[i % 64]);
		blocks[i % 64] = malloc(32 + i % 500);
	}
	for (size_t i = 0; i < 64; i++)
		free(blocks[i]);
	return unused;
}

static int do_threads(char **args)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, churns, NULL))
			return 1;
	usleep(30000);
	int code = tight(atoi(args[0]));
	atomic_store(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return code;
}

NO_INLINE void holds(void)
{
	for (int i = 0; i < 8; i++)
		KEEP(1 << 20);
}

NO_INLINE void more(void)
{
	for (int i = 0; i < 4; i++)
		KEEP(1 << 20);
}

static int do_waits(char **args)
{
	char pid[512], wanted[512], end[512];
	snprintf(pid, sizeof pid, "%s/pid", args[0]);
	snprintf(wanted, sizeof wanted, "%s/more", args[0]);
	snprintf(end, sizeof end, "%s/stop", args[0]);
	holds();
	FILE *file = fopen(pid, "w");
	if (!file || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file))
		return 1;
	for (int i = 0; i < 6000 && access(end, F_OK); i++) {
		if (!access(wanted, F_OK)) {
			more();
			unlink(wanted);
		}
		usleep(10000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		int (*run)(char **args);
	} commands[] = {{"known", 0, do_known},
			{"tight", 1, do_tight},
			{"mapped", 1, do_mapped},
			{"threads", 1, do_threads},
			{"waits", 1, do_waits}};
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(argv[1], commands[i].name) && argc - 2 >= commands[i].arguments)
			return commands[i].run(argv + 2);
	return 2;
}
