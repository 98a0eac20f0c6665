/* scattered_reads.c: reads the blocks of a file that is not cached in scattered order, one after the other: the
 * program requests 4 KB from the disk and waits, thousands of times.
 *
 * sonde: blocked-on-files: the run is waiting for the disk in read_block().
 * Fix: the file is read once, whole and in order, and its blocks are taken from memory.
 */
#include <fcntl.h>
#include <unistd.h>

#include "example.h"

enum { BLOCKS = 12288, BLOCK_B = 4096 };

static unsigned char blocks[BLOCKS][BLOCK_B], block[BLOCK_B];

static void make_file(int fd)
{
	uint64_t random = 16;
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i][0] = (unsigned char)next_number(&random);
	for (size_t i = 0; i < BLOCKS; i++)
		must(write(fd, blocks[i], BLOCK_B) == BLOCK_B, "write");
	must(fdatasync(fd) == 0, "fdatasync");
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* as if it had been written long ago */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

NO_INLINE static const unsigned char *read_block(int fd, size_t number)
{
	must(pread(fd, block, BLOCK_B, (off_t)(number * BLOCK_B)) == BLOCK_B, "pread");
	return block;
}

NO_INLINE static void read_all(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	must(pread(fd, blocks, sizeof blocks, 0) == sizeof blocks, "pread");
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	FILE *file = tmpfile();
	uint64_t sum = 0;
	must(file, "tmpfile");
	make_file(fileno(file));
	if (fixed)
		read_all(fileno(file));
	for (size_t i = 0; i < BLOCKS; i++) {
		size_t number = i * 1789 % BLOCKS;
		sum = sum * 31 + (fixed ? blocks[number] : read_block(fileno(file), number))[0];
	}
	printf("sum %016llx\n", (unsigned long long)sum);
	fclose(file);
	return 0;
}
