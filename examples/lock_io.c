/* lock_io.c: four threads look up records in a cache; a thread that does not find one holds the cache's lock until the
 * store, another process, has answered. All others wait unnecessarily.
 *
 * sonde: lock-contention on cache_lock, held in look_up() while its holder waits for a file.
 * Fix: the lock is released during the request to the store.
 */
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "example.h"

enum { THREADS = 4, RECORDS = 400, STORE_NS = 1000000 };

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t cache[RECORDS];
static bool fixed;
static int stores[THREADS];

/* The store: a process for each connection, that answers after a millisecond. */
static int open_store(void)
{
	struct timespec dur = {.tv_nsec = STORE_NS};
	uint64_t record;
	int ends[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	pid_t child = fork();
	must(child >= 0, "fork");
	if (child > 0) {
		close(ends[1]);
		return ends[0];
	}
	close(ends[0]);
	while (read(ends[1], &record, sizeof record) == sizeof record) {
		nanosleep(&dur, NULL);
		record = mix(record, 10);
		must(write(ends[1], &record, sizeof record) == sizeof record, "write");
	}
	_exit(0);
}

NO_INLINE static uint64_t ask(int store, uint64_t record)
{
	must(write(store, &record, sizeof record) == sizeof record, "write");
	must(read(store, &record, sizeof record) == sizeof record, "read");
	return record;
}

NO_INLINE static void look_up(int store, size_t record)
{
	uint64_t value = fixed ? ask(store, record) : 0;
	pthread_mutex_lock(&cache_lock);
	cache[record] = fixed ? value : ask(store, record);
	pthread_mutex_unlock(&cache_lock);
}

static void *run(void *first)
{
	for (size_t record = (uintptr_t)first; record < RECORDS; record += THREADS)
		look_up(stores[(uintptr_t)first], record);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	fixed = is_fixed(argc, argv);
	for (size_t i = 0; i < THREADS; i++)
		stores[i] = open_store();
	for (uintptr_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "pthread_create");
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		shutdown(stores[i], SHUT_RDWR);
	}
	for (size_t i = 0; i < RECORDS; i++)
		sum += cache[i];
	printf("sum %016llx\n", (unsigned long long)sum);
	return 0;
}
