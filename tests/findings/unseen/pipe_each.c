/* pipe_each.c: two threads that send each other every item by a pipe, and wait for it to come back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int to_worker[2], back[2];

static void *worker(void *unused)
{
	long item;
	(void)unused;
	while (read(to_worker[0], &item, sizeof item) == sizeof item) {
		item = item * 3 + 1;
		if (write(back[1], &item, sizeof item) != sizeof item)
			exit(1);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	long sum = 0;
	if (pipe(to_worker) || pipe(back))
		return 1;
	pthread_create(&thread, NULL, worker, NULL);
	for (long i = 0; i < 60000; i++) {
		long item = i;
		if (write(to_worker[1], &item, sizeof item) != sizeof item || read(back[0], &item, sizeof item) != sizeof item)
			return 1;
		sum += item;
	}
	close(to_worker[1]);
	pthread_join(thread, NULL);
	printf("%ld\n", sum);
	return 0;
}
