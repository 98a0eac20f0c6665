/* spawn_storm.c: starts a shell for each of many files to test whether it exists.
 *
 * sonde: process-start: the run is starting processes, hundreds a second, each of which does nearly nothing.
 * Fix: the test is one system call.
 */
#include <unistd.h>

#include "example.h"

enum { FILES = 400 };

NO_INLINE static bool there(const char *path, bool fixed)
{
	char command[64];
	if (fixed)
		return access(path, F_OK) == 0;
	snprintf(command, sizeof command, "test -e %s", path);
	return system(command) == 0;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	int count = 0;
	for (int i = 0; i < FILES; i++) {
		char path[40];
		snprintf(path, sizeof path, i % 2 ? "/proc/%d" : "/nowhere/%d", 1);
		count += there(path, fixed);
	}
	printf("%d of %d files are there\n", count, FILES);
	return 0;
}
