/* fsync_each.c: keeps a journal, and waits after each entry until the disk has it.
 *
 * sonde: fsync: the run waits for the disk in put_entry(), at each entry.
 * Fix: entries that arrive together are made durable together, 100 per fsync(). (If an entry may be acknowledged only
 * when it is durable, all hundred are acknowledged after that call.)
 */
#include <unistd.h>

#include "example.h"

enum { ENTRIES = 300, TOGETHER = 100, ENTRY_B = 512, ENTRY_ROUNDS = 40000 };

NO_INLINE static void make_entry(char *entry, uint64_t number)
{
	memset(entry, 'a' + (int)(mix(number, ENTRY_ROUNDS) % 26), ENTRY_B);
}

NO_INLINE static uint64_t put_entry(int fd, uint64_t number, bool safe)
{
	char entry[ENTRY_B];
	make_entry(entry, number);
	must(write(fd, entry, ENTRY_B) == ENTRY_B, "write");
	if (safe)
		must(fsync(fd) == 0, "fsync");
	return (uint64_t)entry[0];
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	FILE *file = tmpfile();
	uint64_t sum = 0;
	must(file, "tmpfile");
	for (uint64_t i = 0; i < ENTRIES; i++)
		sum += put_entry(fileno(file), i, !fixed || i % TOGETHER == TOGETHER - 1);
	printf("sum %llu\n", (unsigned long long)sum);
	fclose(file);
	return 0;
}
