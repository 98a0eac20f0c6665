/* good_copy.c: a file that is written, copied in blocks of 256 KB and added up: nothing is wrong with it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 256 << 10, BLOCKS = 400 };

static unsigned char block[BLOCK];

static unsigned __attribute__((noinline)) add_up(unsigned sum)
{
	for (int i = 0; i < BLOCK; i++)
		sum = sum * 33 + block[i];
	return sum;
}

int main(void)
{
	FILE *from = tmpfile(), *to = tmpfile();
	unsigned sum = 0;
	if (!from || !to)
		return 1;
	for (int i = 0; i < BLOCKS; i++) {
		for (int k = 0; k < BLOCK; k++)
			block[k] = (unsigned char)(k * i);
		if (write(fileno(from), block, BLOCK) != BLOCK)
			return 1;
	}
	for (int i = 0; i < BLOCKS; i++) {
		if (pread(fileno(from), block, BLOCK, (off_t)i * BLOCK) != BLOCK || write(fileno(to), block, BLOCK) != BLOCK)
			return 1;
		sum = add_up(sum);
	}
	printf("%u\n", sum);
	return 0;
}
