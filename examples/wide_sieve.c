/* wide_sieve.c: a sieve of primes that uses a long for each number, of which it needs one bit.
 *
 * sonde: memory-hotspot: make_sieve() holds nearly all of the peak, 128 MB.
 * Fix: bytes: an eighth of the memory, and less time too, because less is read from memory.
 */
#include "example.h"

enum { LIMIT = 16 << 20 };

NO_INLINE static void *make_sieve(size_t width)
{
	void *sieve = calloc(LIMIT, width);
	must(sieve, "calloc");
	return sieve;
}

NO_INLINE static size_t count_with_longs(long *composite)
{
	size_t count = 0;
	for (size_t i = 2; i < LIMIT; i++) {
		count += !composite[i];
		for (size_t k = i * i; !composite[i] && i < 65536 && k < LIMIT; k += i)
			composite[k] = 1;
	}
	return count;
}

NO_INLINE static size_t count_with_bytes(unsigned char *composite)
{
	size_t count = 0;
	for (size_t i = 2; i < LIMIT; i++) {
		count += !composite[i];
		for (size_t k = i * i; !composite[i] && i < 65536 && k < LIMIT; k += i)
			composite[k] = 1;
	}
	return count;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	void *sieve = make_sieve(fixed ? 1 : sizeof(long));
	printf("%zu primes\n", fixed ? count_with_bytes(sieve) : count_with_longs(sieve));
	free(sieve);
	return 0;
}
