/* loading.c: trains on samples that are read from disk in random order, a batch at a time; a batch is read after the
 * previous one was processed, so the CPU waits for the disk, and the disk for the CPU.
 *
 * sonde: loading: load() takes a good part of the time, while nothing is computed.
 * Fix: the next batch is announced to the kernel before this one is processed.
 */
#include <fcntl.h>
#include <unistd.h>

#include "example.h"

enum { BATCHES = 80, BATCH = 64, SAMPLES = BATCHES * BATCH, SAMPLE_B = 4096, SAMPLE_ROUNDS = 15000 };

static unsigned char batch[BATCH][SAMPLE_B];

static off_t place_of(size_t i)
{
	return (off_t)(i * 1789 % SAMPLES * SAMPLE_B);
}

static void make_file(int fd)
{
	uint64_t random = 19;
	for (size_t i = 0; i < SAMPLES; i++) {
		batch[0][0] = (unsigned char)next_number(&random);
		must(write(fd, batch[0], SAMPLE_B) == SAMPLE_B, "write");
	}
	must(fdatasync(fd) == 0, "fdatasync");
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* as if it had been written long ago */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

NO_INLINE static void load(int fd, size_t number)
{
	for (size_t i = 0; i < BATCH; i++)
		must(pread(fd, batch[i], SAMPLE_B, place_of(number * BATCH + i)) == SAMPLE_B, "pread");
}

NO_INLINE static void announce(int fd, size_t number)
{
	for (size_t i = 0; i < BATCH; i++)
		posix_fadvise(fd, place_of(number * BATCH + i), SAMPLE_B, POSIX_FADV_WILLNEED);
}

NO_INLINE static uint64_t train(void)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < BATCH; i++)
		sum += mix(batch[i][0], SAMPLE_ROUNDS);
	return sum;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	FILE *file = tmpfile();
	uint64_t sum = 0;
	must(file, "tmpfile");
	make_file(fileno(file));
	for (size_t i = 0; i < BATCHES; i++) {
		load(fileno(file), i);
		if (fixed && i + 1 < BATCHES)
			announce(fileno(file), i + 1);
		sum += train();
	}
	printf("sum %016llx\n", (unsigned long long)sum);
	fclose(file);
	return 0;
}
