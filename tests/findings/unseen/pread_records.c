/* pread_records.c: records of 16 bytes, each read by a call of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RECORDS = 600000 };

struct record {
	long key, value;
};

static struct record __attribute__((noinline)) get_record(int fd, long number)
{
	struct record record;
	if (pread(fd, &record, sizeof record, number * (long)sizeof record) != sizeof record)
		exit(1);
	return record;
}

int main(void)
{
	FILE *file = tmpfile();
	long sum = 0;
	if (!file)
		return 1;
	for (long i = 0; i < RECORDS; i++)
		fwrite(&(struct record){i, i * 7}, sizeof(struct record), 1, file);
	fflush(file);
	for (int round = 0; round < 2; round++)
		for (long i = 0; i < RECORDS; i++)
			sum += get_record(fileno(file), i).value;
	printf("%ld\n", sum);
	return 0;
}
