/* small_writes.c: writes a log, with a system call for each record of 16 bytes.
 *
 * sonde: small-writes: the median write in put_record() is 16 bytes, and writing takes most of the time.
 * Fix: 64 KB are collected before they are written.
 */
#include <unistd.h>

#include "example.h"

enum { RECORDS = 1000000, RECORD_B = 16, BUFFER_B = 1 << 16 };

static char buffer[BUFFER_B];
static size_t filled;

NO_INLINE static void put_record(int fd, const uint64_t *record)
{
	must(write(fd, record, RECORD_B) == RECORD_B, "write");
}

NO_INLINE static void flush(int fd)
{
	must(write(fd, buffer, filled) == (ssize_t)filled, "write");
	filled = 0;
}

NO_INLINE static void put_buffered(int fd, const uint64_t *record)
{
	memcpy(buffer + filled, record, RECORD_B);
	filled += RECORD_B;
	if (filled == BUFFER_B)
		flush(fd);
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	FILE *file = tmpfile();
	uint64_t random = 14;
	must(file, "tmpfile");
	for (uint64_t i = 0; i < RECORDS; i++) {
		uint64_t record[2] = {i, next_number(&random)};
		fixed ? put_buffered(fileno(file), record) : put_record(fileno(file), record);
	}
	flush(fileno(file));
	printf("%lld bytes\n", (long long)lseek(fileno(file), 0, SEEK_CUR));
	fclose(file);
	return 0;
}
