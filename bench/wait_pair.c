/* wait_pair.c: calls that do not wait, to be run alone and under a recorder of waits: wait_pair lock|read COUNT
 *
 * Prints the program's own CPU time per call or pair, in ns: an uncontended pthread_mutex_lock/unlock pair, or a read()
 * of a byte of /dev/zero. The first calls, in which the process connects, are not included. The fastest of several
 * parts counts, because disturbances only add time.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { PARTS = 20, FIRST = 1000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long turns;

static void lock_turns(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		turns++;
		pthread_mutex_unlock(&mutex);
	}
}

static void read_turns(unsigned long count)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY);
	for (unsigned long i = 0; i < count; i++)
		if (read(fd, &byte, 1) != 1)
			abort();
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0, each = count / PARTS;
	double best_ns = 0;
	if (!each || (strcmp(argv[1], "lock") && strcmp(argv[1], "read"))) {
		fprintf(stderr, "usage: wait_pair lock|read COUNT\n");
		return 2;
	}
	void (*run)(unsigned long) = argv[1][0] == 'l' ? lock_turns : read_turns;
	run(FIRST);
	for (int i = 0; i < PARTS; i++) {
		uint64_t start_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		run(each);
		double ns = (double)(sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns) / (double)each;
		best_ns = i && best_ns < ns ? best_ns : ns;
	}
	printf("%.2f\n", best_ns);
	return 0;
}
