/* pair.c: what a pair of calls adds to a loop, in ns.
 *
 *	pair ROUNDS COUNT        prints a line a loop and round: name, ns added to its base loop; then page faults
 *	pair --stops NAME        runs that loop 100 and then 300 times between three stops, for `steps`
 *
 * PAIR_LOOPS, given by the build, lists the loops. Each round runs every loop once, so that a change of the machine's
 * speed reaches all of them, and then rests until what was recorded has been drained: a ring that is full is another
 * benchmark. Rounds are short (COUNT pairs, some milliseconds) and many.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "pair.h"

#define LOOP(name) &pair_##name,
static const struct pair_loop *const loops[] = {PAIR_LOOPS};
enum { LOOPS = sizeof loops / sizeof *loops, WARM_UP_ROUNDS = 5, WARM_UP_PAIRS = 2000 };
static const struct timespec rest = {.tv_nsec = 30000000};

static double time_ns(const struct pair_loop *loop, uint64_t count)
{
	loop->run(WARM_UP_PAIRS);
	uint64_t start_ns = sonde_clock_now_ns();
	loop->run(count);
	return (double)(sonde_clock_now_ns() - start_ns) / (double)count;
}

static long page_faults(void)
{
	struct rusage use;
	getrusage(RUSAGE_THREAD, &use);
	return use.ru_minflt;
}

static void round_of_loops(uint64_t count, int print)
{
	for (unsigned i = 0; i < LOOPS; i++) {
		if (!loops[i]->base)
			continue;
		double base_ns = time_ns(loops[i]->base, count);
		double added_ns = time_ns(loops[i], count) - base_ns;
		if (print)
			printf("%s\t%.3f\n", loops[i]->name, added_ns);
	}
	nanosleep(&rest, NULL);
}

static int stops(const char *name)
{
	for (unsigned i = 0; i < LOOPS; i++) {
		if (strcmp(loops[i]->name, name))
			continue;
		loops[i]->run(WARM_UP_PAIRS);
		raise(SIGSTOP);
		loops[i]->run(100);
		raise(SIGSTOP);
		loops[i]->run(300);
		raise(SIGSTOP);
		return 0;
	}
	fprintf(stderr, "pair: no loop '%s'\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--stops"))
		return stops(argv[2]);
	if (argc != 3) {
		fprintf(stderr, "usage: pair ROUNDS COUNT | pair --stops NAME\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	int rounds = atoi(argv[1]);
	uint64_t count = strtoull(argv[2], NULL, 10);
	for (int i = 0; i < WARM_UP_ROUNDS; i++)
		round_of_loops(count, 0);
	printf("rounds\t%d\n", rounds);
	long before = page_faults();
	for (int i = 0; i < rounds; i++)
		round_of_loops(count, 1);
	printf("faults\t%ld\n", page_faults() - before);
	return 0;
}
