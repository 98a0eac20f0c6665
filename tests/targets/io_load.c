/* io_load.c: loads and computes on a known schedule: io_load DIRECTORY ROUNDS. Prints for each round, in ms, how
 * long the load took, and the time from its end to the next one. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"

enum { LOAD_MS = 300, COMPUTE_MS = 200, FILE_B = 1 << 20 };

static char block[1 << 16], buffer[1 << 16];
static volatile uint64_t sum;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void look_at(size_t size_b)
{
	for (size_t i = 0; i < size_b; i += 64)
		sum += (uint64_t)block[i];
}

static NO_INLINE void load_by_stream(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t got;
	if (!file)
		abort();
	setvbuf(file, buffer, _IOFBF, sizeof buffer); /* so few calls that a recorder on a busy machine loses none */
	while ((got = fread(block, 1, 8192, file)) > 0)
		look_at(got);
	fclose(file);
}

static NO_INLINE void load_by_read(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t got;
	while ((got = read(fd, block, sizeof block)) > 0)
		look_at((size_t)got);
	close(fd);
}

static NO_INLINE void compute(uint64_t until_ns)
{
	while (now_ns() < until_ns)
		for (int i = 0; i < 1000; i++)
			sum += (uint64_t)i * sum;
}

int main(int argc, char **argv)
{
	char path[4096];
	if (argc < 3)
		return 2;
	snprintf(path, sizeof path, "%s/data", argv[1]);
	FILE *file = fopen(path, "w");
	for (int i = 0; i < FILE_B / (int)sizeof block; i++)
		if (fwrite(block, 1, sizeof block, file) != sizeof block)
			abort();
	fclose(file);
	compute(now_ns() + COMPUTE_MS * 1000000ull);
	for (int i = 0; i < atoi(argv[2]); i++) {
		uint64_t began_ns = now_ns();
		while (now_ns() < began_ns + LOAD_MS * 1000000ull) {
			if (i & 1)
				load_by_stream(path);
			else
				load_by_read(path);
		}
		uint64_t ended_ns = now_ns();
		compute(ended_ns + COMPUTE_MS * 1000000ull);
		printf("%.3f %.3f\n", (double)(ended_ns - began_ns) / 1e6, (double)(now_ns() - ended_ns) / 1e6);
	}
	return 0;
}
