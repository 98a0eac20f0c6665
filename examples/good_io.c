/* good_io.c: writes a file in order, 1 MB at a time, and reads it back the same way.
 *
 * sonde: nothing critical: the kernel copies bytes, in large blocks.
 */
#include <unistd.h>

#include "example.h"

enum { PIECES = 100, PIECE_B = 1 << 20 };

static unsigned char piece[PIECE_B];

NO_INLINE static void write_all(int fd)
{
	uint64_t random = 18;
	for (int i = 0; i < PIECES; i++) {
		for (size_t k = 0; k < PIECE_B; k++)
			piece[k] = (unsigned char)next_number(&random);
		must(write(fd, piece, PIECE_B) == PIECE_B, "write");
	}
}

NO_INLINE static uint64_t read_all(int fd)
{
	uint64_t sum = 0;
	ssize_t got;
	while ((got = read(fd, piece, PIECE_B)) > 0)
		for (ssize_t k = 0; k < got; k++)
			sum = sum * 31 + piece[k];
	return sum;
}

int main(int argc, char **argv)
{
	FILE *file = tmpfile();
	(void)is_fixed(argc, argv);
	must(file, "tmpfile");
	write_all(fileno(file));
	must(lseek(fileno(file), 0, SEEK_SET) == 0, "lseek");
	printf("sum %016llx\n", (unsigned long long)read_all(fileno(file)));
	fclose(file);
	return 0;
}
