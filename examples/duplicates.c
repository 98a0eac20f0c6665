/* duplicates.c: counts distinct customers; each one is searched for linearly among all that were seen before.
 *
 * sonde: hot-function, seen_before() takes nearly all CPU time.
 * Fix: a bit table, in which a customer is found with one access.
 */
#include "example.h"

enum { ORDERS = 120000, CUSTOMERS = 16384 };

static uint32_t seen[CUSTOMERS];
static size_t seen_count;
static unsigned char bits[CUSTOMERS / 8];

NO_INLINE static bool seen_before(uint32_t customer)
{
	for (size_t i = 0; i < seen_count; i++)
		if (seen[i] == customer)
			return true;
	return false;
}

NO_INLINE static bool marked_before(uint32_t customer)
{
	bool before = bits[customer / 8] >> customer % 8 & 1;
	bits[customer / 8] |= (unsigned char)(1 << customer % 8);
	return before;
}

NO_INLINE static size_t count_customers(bool fixed)
{
	uint64_t random = 1;
	size_t count = 0;
	for (int i = 0; i < ORDERS; i++) {
		uint32_t customer = next_number(&random) % CUSTOMERS;
		if (fixed ? marked_before(customer) : seen_before(customer))
			continue;
		if (!fixed)
			seen[seen_count++] = customer;
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	printf("%zu customers\n", count_customers(is_fixed(argc, argv)));
	return 0;
}
