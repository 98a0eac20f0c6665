/* odd_processes.c: processes that treat descriptors, environments and each other oddly, and allocate (odd.h).
 *
 * closes      closes every descriptor but the first three, twice, with 1,000 × keeps_one() between
 * takes       takes every number from 3 to 900 for a descriptor of its own, which must all stay what they are
 * fills       calls keeps_one(), uses all descriptors up, calls it 100 times, closes them, and calls it 100 times
 * executes N  calls keeps_one() and executes itself, N times
 * descends N  forks a child that forks a child, N of them alive at once, each with keeps_one(); the last must have
 *             hardly more mappings than the first
 * detaches F  a daemon: two forks, a session of its own, no descriptors; once its parent is gone, it calls after() and
 *             writes F
 * clears      clears its environment, forks a child that calls keeps_one(), and spawns a program with an empty
 *             environment
 * borrows     200 × vfork() whose child calls keeps_one()
 * at_exit     a function registered with atexit() forks a child that calls keeps_one(), and one that calls exit()
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "odd.h"

enum { FIRST = 3, LAST = 900, MANY = 1000, FEW = 100, BORROWS = 200, SPARE_MAPPINGS = 24, OPEN_MAX_HERE = 200 };

extern char **environ;

static int wait_for(pid_t pid)
{
	int status;
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static void keeps_times(int times)
{
	for (int i = 0; i < times; i++)
		keeps_one();
}

/* --- descriptors ------------------------------------------------------------------------------------------------- */

static void close_all(void)
{
	for (int fd = FIRST; fd <= LAST; fd++)
		close(fd);
}

/* A descriptor that sonde had opened and kept would have taken a number. */
static int do_closes(char **unused)
{
	(void)unused;
	for (int round = 0; round < 2; round++) {
		close_all();
		keeps_times(MANY / 2);
		int fd = open("/dev/null", O_RDONLY);
		if (fd != FIRST)
			return 1;
	}
	return after();
}

static int do_takes(char **unused)
{
	struct stat mine, found;
	(void)unused;
	struct rlimit limit = {LAST + 100, LAST + 100};
	setrlimit(RLIMIT_NOFILE, &limit);
	int fd = open("/dev/null", O_RDONLY);
	fstat(fd, &mine);
	for (int to = FIRST; to <= LAST; to++)
		dup2(fd, to);
	keeps_times(MANY);
	for (int to = FIRST; to <= LAST; to++)
		if (fstat(to, &found) || found.st_ino != mine.st_ino || found.st_dev != mine.st_dev)
			return 1;
	return after();
}

static int do_fills(char **unused)
{
	struct rlimit limit = {OPEN_MAX_HERE, OPEN_MAX_HERE};
	int fd, last = FIRST;
	(void)unused;
	setrlimit(RLIMIT_NOFILE, &limit);
	keeps_one();
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	keeps_times(FEW);
	if (last != OPEN_MAX_HERE - 1 || open("/dev/null", O_RDONLY) >= 0)
		return 1;
	close_all();
	keeps_times(FEW);
	return after();
}

/* --- processes --------------------------------------------------------------------------------------------------- */

static int do_executes(char **arguments)
{
	char rest[16];
	int times = arguments[0] ? atoi(arguments[0]) : 0;
	keeps_one();
	if (!times)
		return after();
	snprintf(rest, sizeof rest, "%d", times - 1);
	execl("/proc/self/exe", "odd_processes", "executes", rest, (char *)NULL);
	return 1;
}

static int mappings(void)
{
	int lines = 0, character;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && (character = fgetc(maps)) != EOF)
		lines += character == '\n';
	if (maps)
		fclose(maps);
	return lines;
}

static int do_descends(char **arguments)
{
	int times = arguments[0] ? atoi(arguments[0]) : 0;
	keeps_one();
	int before = mappings();
	for (int i = 0; i < times; i++) {
		pid_t pid = fork();
		if (pid)
			_exit(wait_for(pid));
		keeps_one();
	}
	int more = mappings() - before;
	if (more > SPARE_MAPPINGS)
		fprintf(stderr, "%d mappings more\n", more);
	fflush(stderr);
	_exit(after() || more > SPARE_MAPPINGS);
}

static int do_detaches(char **arguments)
{
	pid_t parent = getpid();
	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
	for (int fd = 0; fd <= LAST; fd++)
		close(fd);
	while (!kill(parent, 0))
		usleep(1000);
	keeps_times(MANY);
	int failed = after();
	int fd = open(arguments[0], O_CREAT | O_WRONLY | O_TRUNC, 0600);
	_exit(failed || write(fd, "detaches\n", 9) != 9);
}

static int do_clears(char **unused)
{
	static char name[] = "env";
	char *none[] = {NULL}, *arguments[] = {name, NULL};
	(void)unused;
	environ = NULL;
	keeps_times(FEW);
	pid_t pid = fork();
	if (!pid) {
		keeps_one();
		_exit(0);
	}
	if (wait_for(pid) || posix_spawn(&pid, "/usr/bin/env", NULL, NULL, arguments, none))
		return 1;
	return wait_for(pid) || after();
}

static int do_borrows(char **unused)
{
	(void)unused;
	keeps_one();
	for (volatile int i = 0; i < BORROWS; i++) {
		pid_t pid = vfork();
		if (!pid) {
			keeps_one();
			_exit(0);
		}
		if (wait_for(pid))
			return 1;
	}
	return after();
}

static void forks_late(void)
{
	pid_t pid = fork();
	if (!pid) {
		keeps_one();
		_exit(0);
	}
	wait_for(pid);
	keeps_one();
	if (!(pid = fork()))
		exit(0);
	wait_for(pid);
}

static int do_at_exit(char **unused)
{
	(void)unused;
	atexit(forks_late);
	return after();
}

int main(int count, char **arguments)
{
	static const struct odd_command commands[] = {
	    {"closes", do_closes},     {"takes", do_takes},
	    {"fills", do_fills},       {"executes", do_executes},
	    {"descends", do_descends}, {"detaches", do_detaches},
	    {"clears", do_clears},     {"borrows", do_borrows},
	    {"at_exit", do_at_exit},   {NULL, NULL},
	};
	return odd_main(count, arguments, commands);
}
