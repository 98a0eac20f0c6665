/* heap_sanitized.c: for builds with a sanitizer that has its own allocator (heap-plugins.sh): four threads allocate
 * in all ways and pass blocks on; so does a child. Prints their sum. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 500

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *shared[64];

static uint64_t use(char *block, size_t size_b)
{
	memset(block, (int)size_b, size_b);
	return (uint8_t)block[size_b / 2];
}

static void pass_on(int at, void *block)
{
	pthread_mutex_lock(&lock);
	void *before = shared[at % 64];
	shared[at % 64] = block;
	pthread_mutex_unlock(&lock);
	free(before);
}

static void *work(void *data)
{
	uint64_t *sum = data;
	for (int i = 0; i < ROUNDS; i++) {
		size_t size_b = 1 + (size_t)i * 37 % 5000;
		void *aligned = NULL;
		char *block = malloc(size_b), *zeros = calloc(size_b, 2);
		char *mapped = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (!block || !zeros || mapped == MAP_FAILED || posix_memalign(&aligned, 64, size_b))
			abort();
		*sum += use(block, size_b) + (uint64_t)zeros[size_b] + use(mapped, size_b) + use(aligned, size_b);
		block = realloc(block, 2 * size_b);
		pass_on(i, block);
		munmap(mapped, 65536);
		free(zeros);
		free(aligned);
	}
	return NULL;
}

static uint64_t run(void)
{
	pthread_t ids[THREADS];
	uint64_t sums[THREADS] = {0}, all = 0;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&ids[i], NULL, work, &sums[i]))
			abort();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		all += sums[i];
	}
	return all;
}

int main(void)
{
	int status = 1;
	printf("%llu\n", (unsigned long long)run());
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		uint64_t sum = 0;
		work(&sum);
		printf("child %llu\n", (unsigned long long)sum);
		return 3;
	}
	waitpid(pid, &status, 0);
	for (int i = 0; i < 64; i++)
		free(shared[i]);
	printf("%d\n", WEXITSTATUS(status));
	return 5;
}
