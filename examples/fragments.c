/* fragments.c: reads a file into records, and keeps an index of them; records and index entries are allocated
 * alternately, and the records are freed after use. There is an entry between any two holes, so no page is returned.
 *
 * sonde: fragmentation: most of the RSS after load() is not live.
 * Fix: entries come from a block of their own, so that freed memory is contiguous. The search is faster, too.
 */
#include <malloc.h>

#include "example.h"

enum { RECORDS = 120000, RECORD_B = 900, ROUNDS = 300 };

struct entry {
	uint64_t key, sum;
};

static struct entry *entries[RECORDS];
static unsigned char *records[RECORDS];

NO_INLINE static void *allocate(size_t size_b)
{
	void *block = malloc(size_b);
	must(block, "malloc");
	return block;
}

NO_INLINE static void load(bool fixed)
{
	uint64_t random = 13;
	struct entry *together = fixed ? allocate(RECORDS * sizeof *together) : NULL;
	for (size_t i = 0; i < RECORDS; i++) {
		records[i] = allocate(RECORD_B);
		entries[i] = fixed ? &together[i] : allocate(sizeof **entries);
		memset(records[i], (int)next_number(&random), RECORD_B);
	}
	for (size_t i = 0; i < RECORDS; i++) {
		*entries[i] = (struct entry){i, records[i][i % RECORD_B]};
		free(records[i]);
	}
	malloc_trim(0);
}

NO_INLINE static uint64_t search(uint64_t round)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < RECORDS; i++)
		sum += entries[i]->key % 7 == round % 7 ? mix(entries[i]->sum, 20) : 0;
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	load(is_fixed(argc, argv));
	for (uint64_t round = 0; round < ROUNDS; round++)
		sum += search(round);
	printf("sum %016llx\n", (unsigned long long)sum);
	return 0;
}
