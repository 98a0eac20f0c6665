/* slow_request.c: a small server with one slow request: slow_request REQUESTS SLOW, whose SLOW-th waits 70 ms for a lock
 * that flush() holds while it writes log.txt.
 *
 * A request is a zone and a span "request" with about 1 ms of computing and 1 ms of sleep; the others never wait for the
 * lock.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"
#include "sonde/sonde.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t please, held;

static void rest(long ms)
{
	struct timespec time = {0, ms * 1000000};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

NO_INLINE static void flush(void)
{
	pthread_mutex_lock(&log_lock);
	sem_post(&held);
	int fd = open("log.txt", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "line\n", 5) != 5 || fsync(fd))
		perror("log.txt");
	rest(70);
	if (fd >= 0)
		close(fd);
	pthread_mutex_unlock(&log_lock);
}

NO_INLINE static uint64_t compute(void)
{
	volatile uint64_t sum = 0;
	for (uint64_t i = 0; i < 700000; i++)
		sum = sum + i;
	return sum;
}

static void *flusher(void *unused)
{
	(void)unused;
	while (!sem_wait(&please))
		flush();
	return NULL;
}

NO_INLINE static void write_log(void)
{
	pthread_mutex_lock(&log_lock);
	pthread_mutex_unlock(&log_lock);
}

NO_INLINE static void serve(int id, int is_slow)
{
	if (is_slow) {
		sem_post(&please);
		sem_wait(&held);
	}
	sonde_span_begin("request", (uint64_t)id);
	sonde_begin("request");
	sonde_message("served");
	char *volatile block = malloc(100000); /* for recordings of the heap */
	write_log();
	compute();
	rest(1);
	free(block);
	sonde_end("request");
	sonde_span_end((uint64_t)id);
}

int main(int argc, char **argv)
{
	int requests = argc > 1 ? atoi(argv[1]) : 500, slow = argc > 2 ? atoi(argv[2]) : requests / 2;
	pthread_t thread;
	sem_init(&please, 0, 0);
	sem_init(&held, 0, 0);
	if (pthread_create(&thread, NULL, flusher, NULL))
		return 1;
	for (int i = 1; i <= requests; i++)
		serve(i, i == slow);
	return 0;
}
