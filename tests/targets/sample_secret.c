/* sample_secret.c: searches the recorder's rings for what is on the stack of a child that uses CPU time:
 *
 *   sample_secret before   the child forbids to be read (PR_SET_DUMPABLE) first
 *   sample_secret raw      by a system call of its own
 *   sample_secret open     it can be read, and burns until something was found, 10 s at most
 *   sample_secret forked   burns itself, forks, and prints how many rings of its own are mapped, and how many of these
 *                          in the child
 *
 * The child burns half a second of CPU time, in burn_secret(). Prints the highest number of words of the secret that
 * were found meanwhile, and how many were left some time after the child had stopped (10 s at most); or that the rings
 * cannot be read.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/ring.h"
#include "no_inline.h"

#define SECRET UINT64_C(0x7365637265743f3f)
#define SECRET_WORDS 8
#define FDS 256
#define LOOK_S 10

static _Atomic int *is_over;           /* shared with the child */
static volatile uint64_t inverted = 1; /* so that the secret itself is in no register of the searching process */

/* Makes the system call without prctl() or syscall(), which are interposed. */
static void forbid_raw(void)
{
#ifdef __aarch64__
	register long number __asm__("x8") = SYS_prctl, first __asm__("x0") = PR_SET_DUMPABLE, second __asm__("x1") = 0;
	__asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second) : "memory");
#else
	long result = SYS_prctl;
	__asm__ volatile("syscall" : "+a"(result) : "D"(PR_SET_DUMPABLE), "S"(0), "d"(0) : "rcx", "r11", "memory");
#endif
}

static double now_s(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

NO_INLINE static void burn_secret(int until_over)
{
	volatile uint64_t secret[SECRET_WORDS];
	for (int i = 0; i < SECRET_WORDS; i++)
		secret[i] = SECRET;
	double begun = now_s(CLOCK_MONOTONIC);
	while (until_over ? !atomic_load(is_over) && now_s(CLOCK_MONOTONIC) < begun + LOOK_S
			  : now_s(CLOCK_PROCESS_CPUTIME_ID) < 0.5)
		for (int i = 0; i < 100000; i++)
			secret[i % SECRET_WORDS] = secret[(i + 1) % SECRET_WORDS];
	for (int i = 0; i < SECRET_WORDS; i++)
		secret[i] = 0;
}

static void be_child(const char *order, int said, int requested)
{
	char byte = 0;
	if (!strcmp(order, "before"))
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!strcmp(order, "raw"))
		forbid_raw();
	burn_secret(!strcmp(order, "open"));
	syscall(SYS_write, said, &byte, 1);
	syscall(SYS_read, requested, &byte, 1);
	_exit(0);
}

static unsigned count_pool(int fd)
{
	struct stat made;
	unsigned words = 0;
	struct sonde_ring_pool *pool = MAP_FAILED;
	if (!fstat(fd, &made))
		pool = mmap(NULL, (size_t)made.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED)
		return 0;
	uint32_t committed = atomic_load(&pool->committed);
	for (uint32_t i = 0; i < committed && sonde_ring_pool_b(i + 1) <= (size_t)made.st_size; i++) {
		const _Atomic uint64_t *at = sonde_ring_words(sonde_ring_chunk_at(pool, i));
		for (uint32_t k = 0; k < SONDE_RING_WORDS; k++)
			words += (atomic_load_explicit(&at[k], memory_order_relaxed) ^ inverted) == (SECRET ^ 1);
	}
	munmap(pool, (size_t)made.st_size);
	return words;
}

/* Counts words of the secret in all rings of the recorder; −1: the rings cannot be read. */
static int count_words(pid_t recorder)
{
	unsigned words = 0, pools = 0;
	for (int fd = 0; fd < FDS; fd++) {
		char path[64], link[64] = "";
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)recorder, fd);
		if (readlink(path, link, sizeof link - 1) < 0 || strncmp(link, "/memfd:sonde-pool", 17) != 0)
			continue;
		int file = open(path, O_RDONLY | O_CLOEXEC);
		pools += file >= 0;
		words += file < 0 ? 0 : count_pool(file);
		close(file);
	}
	return pools ? (int)words : -1;
}

/* Stores the inodes of mapped rings in `out` and returns their number; with `among`, only those that are among
 * these. */
static int list_rings(unsigned long out[FDS], const unsigned long *among, int among_count)
{
	char line[4096];
	int count = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && count < FDS && fgets(line, sizeof line, maps)) {
		unsigned long inode = 0;
		int is_wanted = !among;
		if (!strstr(line, "/memfd:sonde-pool") || sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
			continue;
		for (int i = 0; i < among_count; i++)
			is_wanted |= among[i] == inode;
		out[count] = inode;
		count += is_wanted;
	}
	if (maps)
		fclose(maps);
	return count;
}

static int be_forked(void)
{
	unsigned long own[FDS], of_child[FDS];
	int status;
	burn_secret(0);
	int count = list_rings(own, NULL, 0);
	pid_t child = fork();
	if (!child)
		_exit(list_rings(of_child, own, count));
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 2;
	printf("%d rings, %d in the child\n", count, WEXITSTATUS(status));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "forked"))
		return be_forked();
	int said[2], requested[2], most = -1, left = 0, found;
	char byte = 0;
	is_over = mmap(NULL, sizeof *is_over, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc != 2 || is_over == MAP_FAILED || pipe2(said, O_NONBLOCK) || pipe(requested))
		return 2;
	pid_t recorder = getppid(), child = fork();
	if (!child)
		be_child(argv[1], said[1], requested[0]);
	while (child > 0 && read(said[0], &byte, 1) != 1) {
		found = count_words(recorder);
		most = found > most ? found : most;
		atomic_store(is_over, most > 0);
	}
	double until = now_s(CLOCK_MONOTONIC) + LOOK_S;
	while ((left = count_words(recorder)) > 0 && now_s(CLOCK_MONOTONIC) < until)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	if (write(requested[1], &byte, 1) != 1 || waitpid(child, NULL, 0) != child)
		return 2;
	if (most < 0)
		puts("cannot look");
	else
		printf("%d words at most, %d left\n", most, left);
	return 0;
}
