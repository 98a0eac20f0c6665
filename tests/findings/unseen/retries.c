/* retries.c: a client that sleeps between its tries, though the answer is there long before. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int requested, answered;

static void *server(void *unused)
{
	(void)unused;
	while (atomic_load(&answered) < 60) {
		usleep(500);
		atomic_store(&answered, atomic_load(&requested));
	}
	return NULL;
}

static void __attribute__((noinline)) fetch(int number)
{
	atomic_store(&requested, number);
	while (atomic_load(&answered) < number)
		usleep(20000);
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, server, NULL);
	for (int i = 1; i <= 60; i++)
		fetch(i);
	pthread_join(thread, NULL);
	puts("60 answers");
	return 0;
}
