/* small.c: a static program with little memory: `small N` touches N KiB and prints, in bytes, its peak RSS since exec,
 * from /proc/self/status. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char capacity[1 << 20];

int main(int argc, char **argv)
{
	size_t size_b = argc > 1 ? (size_t)atoi(argv[1]) << 10 : 0;
	char text[4096];
	for (size_t at = 0; at < size_b && at < sizeof capacity; at += 4096)
		((volatile char *)capacity)[at] = 1;
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t got = read(fd, text, sizeof text - 1);
	text[got > 0 ? got : 0] = '\0';
	const char *mark = strstr(text, "\nVmHWM:");
	printf("%lld\n", mark ? atoll(mark + strlen("\nVmHWM:")) * 1024 : 0);
	return 0;
}
