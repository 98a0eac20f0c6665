/* switches.c: two threads on one CPU that pass a byte back and forth through pipes: two context switches per operation.
 *
 *	switches OPERATIONS [WORK_NS]
 *
 * With WORK_NS, a thread uses that much CPU time between two switches.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

struct side {
	int from, to;
	long operations;
	uint64_t work_ns;
};

static void *hand_over(void *argument)
{
	const struct side *side = argument;
	char byte = 0;
	for (long i = 0; i < side->operations; i++) {
		if (read(side->from, &byte, 1) != 1)
			return NULL;
		if (side->work_ns) {
			uint64_t end_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + side->work_ns;
			while (sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
				;
		}
		if (write(side->to, &byte, 1) != 1)
			return NULL;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long operations = argc > 1 ? atol(argv[1]) : 100000;
	uint64_t work_ns = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int there[2], back[2];
	cpu_set_t one;
	pthread_t thread;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof one, &one);
	if (pipe(there) || pipe(back) || write(there[1], "", 1) != 1)
		return 1;
	struct side second = {there[0], back[1], operations, work_ns}, first = {back[0], there[1], operations, work_ns};
	if (pthread_create(&thread, NULL, hand_over, &second))
		return 1;
	hand_over(&first);
	return pthread_join(thread, NULL);
}
