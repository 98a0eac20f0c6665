/* byte_reads.c: reads a file of numbers byte by byte, with a system call for each.
 *
 * sonde: small-reads: the median read in next_byte() is 1 byte, and reading takes most of the time.
 * Fix: 64 KB are read at once.
 */
#include <unistd.h>

#include "example.h"

enum { NUMBERS = 220000, BUFFER_B = 1 << 16 };

static unsigned char buffer[BUFFER_B];
static size_t at, filled;

NO_INLINE static int next_byte(int fd)
{
	unsigned char byte;
	return read(fd, &byte, 1) == 1 ? byte : EOF;
}

NO_INLINE static int next_buffered(int fd)
{
	if (at == filled) {
		ssize_t got = read(fd, buffer, sizeof buffer);
		filled = got > 0 ? (size_t)got : 0;
		at = 0;
	}
	return at < filled ? buffer[at++] : EOF;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	FILE *file = tmpfile();
	uint64_t random = 15, number = 0, sum = 0;
	int byte;
	must(file, "tmpfile");
	for (int i = 0; i < NUMBERS; i++)
		fprintf(file, "%u\n", next_number(&random) % 1000000);
	must(fflush(file) == 0 && lseek(fileno(file), 0, SEEK_SET) == 0, "tmpfile");
	while ((byte = fixed ? next_buffered(fileno(file)) : next_byte(fileno(file))) != EOF) {
		if (byte == '\n')
			sum += number;
		number = byte == '\n' ? 0 : number * 10 + (uint64_t)(byte - '0');
	}
	printf("sum %llu\n", (unsigned long long)sum);
	fclose(file);
	return 0;
}
