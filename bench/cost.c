/* cost.c: runs a command and appends its cost to a file.
 *
 *	cost FILE COMMAND…
 *
 * It appends one line per run: wall seconds, CPU seconds (user and system), peak RSS in bytes, minor page faults. The
 * CPU time is the sum over the command and every descendant that was waited for, as in wait4(2). So the CPU time of a
 * recorder includes that of the target that it runs: `cost A recorder cost B target` gives the target's own cost in B,
 * and the recorder's by subtraction.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int complain(const char *what)
{
	fprintf(stderr, "cost: %s: %s\n", what, strerror(errno));
	return 125;
}

static int append(const char *path, uint64_t wall_ns, const struct rusage *use)
{
	FILE *file = fopen(path, "a");
	if (!file)
		return complain(path);
	fprintf(file, "%.6f %.6f %ld %ld\n", (double)wall_ns / 1e9, seconds(use->ru_utime) + seconds(use->ru_stime),
		use->ru_maxrss * 1024, use->ru_minflt);
	return fclose(file) ? complain(path) : 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: cost FILE COMMAND...\n");
		return 125;
	}
	uint64_t start_ns = sonde_clock_now_ns();
	pid_t pid = fork();
	if (pid == -1)
		return complain("fork");
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(complain(argv[2]));
	}
	int status;
	struct rusage use;
	while (wait4(pid, &status, 0, &use) == -1)
		if (errno != EINTR)
			return complain("wait4");
	int code = append(argv[1], sonde_clock_now_ns() - start_ns, &use);
	if (code)
		return code;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
