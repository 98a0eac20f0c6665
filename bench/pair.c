/* pair.c: what a pair of calls adds to a loop, in ns.
 *
 *	pair ROUNDS COUNT        prints the page faults, then a line per turn: the ns that each loop adds to its base
 *	                         loop
 *	pair --stops NAME        runs that loop 100 and then 300 times between three stops, for `steps`
 *
 * PAIR_LOOPS, given by the build, lists the loops; the first line names them. The figures on one line are of one turn,
 * in which every loop and its base run once, in reverse order every other time: a change of the machine's speed affects
 * all of them, and the difference between two figures on a line is the extra time of one loop. A turn is short, so that
 * other programs disturb few turns. After TURNS turns, the program rests until the recorded events have been drained,
 * because a full ring would be another benchmark. Nothing is printed meanwhile.
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
enum { LOOPS = sizeof loops / sizeof *loops, TURNS = 5, WARM_UP_ROUNDS = 5, WARM_UP_PAIRS = 2000 };
static const struct timespec remainder = {.tv_nsec = 30000000};

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

/* `out`: TURNS lines. */
static void round_of_loops(uint64_t count, double (*out)[LOOPS])
{
	for (unsigned turn = 0; turn < TURNS; turn++)
		for (unsigned at = 0; at < LOOPS; at++) {
			unsigned i = turn % 2 ? LOOPS - 1 - at : at;
			double base_ns = loops[i]->base ? time_ns(loops[i]->base, count / TURNS) : 0;
			out[turn][i] = time_ns(loops[i], count / TURNS) - base_ns;
		}
	nanosleep(&remainder, NULL);
}

static void print_lines(const double (*lines)[LOOPS], size_t count)
{
	for (unsigned i = 0; i < LOOPS; i++)
		printf("%s%c", loops[i]->name, i + 1 < LOOPS ? '\t' : '\n');
	for (size_t line = 0; line < count; line++)
		for (unsigned i = 0; i < LOOPS; i++)
			printf("%.3f%c", lines[line][i], i + 1 < LOOPS ? '\t' : '\n');
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
	size_t rounds = (size_t)atoi(argv[1]);
	uint64_t count = strtoull(argv[2], NULL, 10);
	size_t lines_b = (rounds + 1) * TURNS * sizeof(double[LOOPS]); /* one for the warm-up */
	double(*lines)[LOOPS] = malloc(lines_b);
	if (!lines)
		return 2;
	memset(lines, 1, lines_b); /* its pages are there before the faults are counted */
	for (size_t i = 0; i < WARM_UP_ROUNDS; i++)
		round_of_loops(count, lines);
	long before = page_faults();
	for (size_t i = 0; i < rounds; i++)
		round_of_loops(count, lines + i * TURNS);
	printf("faults\t%ld\n", page_faults() - before);
	print_lines(lines, rounds * TURNS);
	free(lines);
	return 0;
}
