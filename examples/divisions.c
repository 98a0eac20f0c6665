/* divisions.c: darkens an image: each point is divided by the weight of its row. A 64-bit division takes ten times as
 * long as a multiplication, although the divisor is the same for the whole row.
 *
 * sonde: hot-function, darken(), limited by computing: it waits for nothing.
 * Fix: the reciprocal is computed once per row, and each point multiplied by it (exact here: points have 16 bits).
 */
#include "example.h"

enum { WIDTH = 4096, HEIGHT = 256, ROUNDS = 75 };

static uint16_t image[HEIGHT][WIDTH];

NO_INLINE static uint64_t darken(const uint16_t *row, uint64_t weight)
{
	uint64_t sum = 0;
	for (size_t x = 0; x < WIDTH; x++)
		sum += (uint64_t)row[x] * 65536 / weight;
	return sum;
}

/* v·65536 / weight for v < 2^16 <= weight < 2^17: the inverse to 2^-52 makes an error of less than 2^-20, and the
 * fraction of the quotient is at least 2^-17 away from the next whole number. */
NO_INLINE static uint64_t darken_by_inverse(const uint16_t *row, uint64_t weight)
{
	uint64_t sum = 0, inverse = ((uint64_t)1 << 52) / weight + 1;
	for (size_t x = 0; x < WIDTH; x++)
		sum += ((uint64_t)row[x] * inverse) >> 36;
	return sum;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	uint64_t random = 3, sum = 0;
	for (size_t y = 0; y < HEIGHT; y++)
		for (size_t x = 0; x < WIDTH; x++)
			image[y][x] = (uint16_t)next_number(&random);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (size_t y = 0; y < HEIGHT; y++) {
			uint64_t weight = 65537 + (round * 7 + y * 13) % 60000;
			sum += fixed ? darken_by_inverse(image[y], weight) : darken(image[y], weight);
		}
	printf("sum %llu\n", (unsigned long long)sum);
	return 0;
}
