/* uses.c: a program that uses known amounts of what the kernel counts: uses WHAT N [DIRECTORY].
 *
 *   memory N    touches N MiB of fresh memory, keeps them for half a second and gives them back
 *   gives N     the same, but ends when there is a file "seen" in DIRECTORY: 20 s at most
 *   faults N    touches N fresh pages, one by one
 *   sleeps N    waits N times for a moment: voluntary switches
 *   handovers N two threads hand over to each other N times, and end before the program does
 *   files N     opens N files beyond those that it has, for half a second
 *   writes N    writes N bytes to a file in DIRECTORY, by calls of 1000 bytes
 *   spins N     N ms of CPU time, half in each of two threads
 *   forks N     N children, one after the other, that each use 20 ms of CPU time, or
 *               more where a hypervisor takes the CPU meanwhile, and say how much
 *   threads N   N threads that wait for a second
 *   crowd N     N children that wait for two seconds
 *   storm N     forks and waits for children that do nothing, for N ms
 *   family N    writes N bytes to a file in DIRECTORY, has two children that write 2 N and
 *               3 N, and the second of them one that writes 4 N; each touches a page for
 *               1000 bytes, waits once for 10,000, and says who it is
 *   reuse N     a child that writes N bytes, and when it has ended one with its number that
 *               writes 2 N; exit code 3 where nobody may choose numbers
 *   litter N    N children, one after the other, that each write 1000 bytes
 * It says what getrusage() tells at the end, on standard output.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long clock_ns(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void rest_ms(int ms)
{
	poll(NULL, 0, ms);
}

static char *map_b(size_t size_b)
{
	char *map = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		exit(2);
	madvise(map, size_b, MADV_NOHUGEPAGE); /* one fault per page */
	return map;
}

static void touch(char *map, size_t size_b)
{
	size_t page_b = (size_t)getpagesize();
	for (size_t at = 0; at < size_b; at += page_b)
		((volatile char *)map)[at] = 1;
}

static void use_memory(int count)
{
	size_t size_b = (size_t)count << 20;
	char *map = map_b(size_b);
	touch(map, size_b);
	rest_ms(1200); /* two rounds of details */
	munmap(map, size_b);
	rest_ms(250);
}

static void use_gives(int count, const char *directory)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/seen", directory);
	use_memory(count);
	for (int i = 0; i < 400 && access(path, F_OK); i++)
		rest_ms(50);
}

static void use_faults(int count)
{
	size_t size_b = (size_t)count * (size_t)getpagesize();
	touch(map_b(size_b), size_b);
}

static void use_sleeps(int count)
{
	for (int i = 0; i < count; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int over[2], back[2];

static void *answer(void *count)
{
	char byte;
	for (int i = 0; i < *(int *)count; i++)
		if (read(over[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
			break;
	rest_ms(700);
	return NULL;
}

static void use_handovers(int count)
{
	pthread_t thread;
	char byte = 0;
	if (pipe(over) || pipe(back) || pthread_create(&thread, NULL, answer, &count))
		exit(2);
	for (int i = 0; i < count; i++)
		if (write(over[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			break;
	pthread_join(thread, NULL);
	rest_ms(700);
}

static void use_files(int count)
{
	rest_ms(300); /* it is read with these files open */
	for (int i = 0; i < count; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			exit(2);
	rest_ms(600);
}

static void write_b(int count, const char *directory)
{
	char path[4096], bytes[1000];
	memset(bytes, 'x', sizeof bytes);
	snprintf(path, sizeof path, "%s/written", directory);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	for (int left = count; left > 0;) {
		ssize_t done = write(fd, bytes, left < (int)sizeof bytes ? (size_t)left : sizeof bytes);
		if (done <= 0)
			exit(2);
		left -= (int)done;
	}
	close(fd);
}

static void use_writes(int count, const char *directory)
{
	write_b(count, directory);
	rest_ms(300);
}

static void use_known(int count, const char *directory)
{
	write_b(count, directory);
	use_faults(count / 1000);
	use_sleeps(count / 10000);
}

/* Makes a child that uses `times` as much and makes the next child; returns its pid. */
static pid_t have_child(int count, int times, int next, const char *directory)
{
	pid_t pid = fork(), inner = 0;
	if (pid < 0)
		exit(2);
	if (pid)
		return pid;
	if (next)
		inner = have_child(count, next, 0, directory);
	use_known(count * times, directory);
	dprintf(1, "child_%d %d\n", times, (int)getpid());
	rest_ms(900); /* the process is read by then, with details */
	if (inner && waitpid(inner, NULL, 0) != inner)
		_exit(2);
	_exit(0);
}

static void use_family(int count, const char *directory)
{
	pid_t first = have_child(count, 2, 0, directory), second = have_child(count, 3, 4, directory);
	use_known(count / 2, directory);
	if (waitpid(first, NULL, 0) != first || waitpid(second, NULL, 0) != second)
		exit(2);
	rest_ms(250);
	write_b(count - count / 2, directory); /* also what it does alone is its own */
	rest_ms(250);
}

static int choose_next(pid_t pid)
{
	char text[32];
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
	int len = snprintf(text, sizeof text, "%d", (int)pid - 1);
	int is_chosen = fd >= 0 && write(fd, text, (size_t)len) == len;
	if (fd >= 0)
		close(fd);
	return is_chosen;
}

static void use_reuse(int count, const char *directory)
{
	pid_t wanted = have_child(count, 1, 0, directory), pid = 0;
	if (waitpid(wanted, NULL, 0) != wanted)
		exit(2);
	for (int i = 0; i < 200 && pid != wanted; i++) { /* others fork, too */
		if (!choose_next(wanted))
			exit(3);
		pid = fork();
		if (!pid) {
			if (getpid() == wanted) {
				write_b(2 * count, directory);
				rest_ms(400);
			}
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			exit(2);
	}
	if (pid != wanted)
		exit(3);
}

static void use_litter(int count, const char *directory)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (!pid) {
			write_b(1000, directory);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			exit(2);
	}
}

static void *spin(void *ms)
{
	long long end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + *(int *)ms * 1000000ll;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (volatile int i = 0; i < 1000;)
			i = i + 1;
	return NULL;
}

static void use_spins(int ms)
{
	pthread_t thread;
	int half_ms = ms / 2;
	if (pthread_create(&thread, NULL, spin, &half_ms))
		exit(2);
	spin(&half_ms);
	pthread_join(thread, NULL);
}

static void use_forks(int count)
{
	int ms = 20;
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (!pid) {
			spin(&ms);
			rest_ms(250);
			dprintf(1, "child_%d_us %lld\n", (int)getpid(), clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			exit(2);
	}
}

static void *wait_s(void *ms)
{
	rest_ms(*(int *)ms);
	return NULL;
}

static void use_threads(int count)
{
	static pthread_t threads[20000];
	pthread_attr_t attributes;
	int ms = 1500, made = 0;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	while (made < count && made < 20000 && !pthread_create(&threads[made], &attributes, wait_s, &ms))
		made++;
	printf("threads %d\n", made + 1);
	for (int i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
}

static void use_crowd(int count)
{
	for (int i = 0; i < count; i++) {
		if (fork())
			continue;
		rest_ms(2000);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

static void use_storm(int ms)
{
	long long end_ns = clock_ns(CLOCK_MONOTONIC) + ms * 1000000ll;
	int forks = 0;
	for (; clock_ns(CLOCK_MONOTONIC) < end_ns; forks++) {
		pid_t pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	printf("forks %d\n", forks);
}

static void say(void)
{
	struct rusage own, children;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("user_us %ld\nsystem_us %ld\nminor %ld\nmajor %ld\nvoluntary %ld\ninvoluntary %ld\nrss_kib %ld\n",
	       own.ru_utime.tv_sec * 1000000 + own.ru_utime.tv_usec,
	       own.ru_stime.tv_sec * 1000000 + own.ru_stime.tv_usec, own.ru_minflt, own.ru_majflt, own.ru_nvcsw,
	       own.ru_nivcsw, own.ru_maxrss);
	printf("children_us %ld\n", (children.ru_utime.tv_sec + children.ru_stime.tv_sec) * 1000000 +
					children.ru_utime.tv_usec + children.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*use)(int count);
	} uses[] = {{"memory", use_memory},       {"faults", use_faults},   {"sleeps", use_sleeps},
		    {"handovers", use_handovers}, {"files", use_files},     {"spins", use_spins},
		    {"forks", use_forks},         {"threads", use_threads}, {"crowd", use_crowd},
		    {"storm", use_storm}};
	static const struct {
		const char *name;
		void (*use)(int count, const char *directory);
	} writes[] = {{"writes", use_writes},
		      {"family", use_family},
		      {"reuse", use_reuse},
		      {"litter", use_litter},
		      {"gives", use_gives}};
	if (argc < 3)
		return 2;
	for (size_t i = 0; argc > 3 && i < sizeof writes / sizeof *writes; i++)
		if (!strcmp(argv[1], writes[i].name))
			writes[i].use(atoi(argv[2]), argv[3]);
	for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
		if (!strcmp(argv[1], uses[i].name))
			uses[i].use(atoi(argv[2]));
	say();
	return 0;
}
