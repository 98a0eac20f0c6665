/* early_secret.c: searches the recorder's shared memory for first calls for what was on a child's stack:
 *
 *   early_secret before FILE   the child forbids to be read (PR_SET_DUMPABLE), then writes a line to FILE with a secret
 *                              on its stack
 *   early_secret after FILE    it writes first
 *   early_secret raw FILE      as before, by a system call of its own
 *   early_secret taken FILE    it can be read, and the recorder takes its records: polled for 10 s at most
 *
 * Prints how many words of the secret there are in its slots, of how many slots; or that no slots are laid out.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/early.h"
#include "no_inline.h"

#define SECRET UINT64_C(0x7365637265742121)
#define SECRET_WORDS 8

static struct sonde_early_head *head;

/* Makes the system call in assembly, not through prctl() or syscall(), which are interposed. */
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

NO_INLINE static void write_secret(int file)
{
	volatile uint64_t secret[SECRET_WORDS];
	for (int i = 0; i < SECRET_WORDS; i++)
		secret[i] = SECRET;
	if (write(file, "line\n", 5) != 5 || secret[1] != SECRET)
		_exit(2);
}

static void be_child(const char *order, int file, int said, int requested)
{
	char byte = 0;
	if (!strcmp(order, "before"))
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!strcmp(order, "raw"))
		forbid_raw();
	write_secret(file);
	if (!strcmp(order, "after"))
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	syscall(SYS_write, said, &byte, 1);
	syscall(SYS_read, requested, &byte, 1);
	_exit(0);
}

static unsigned count_words(unsigned pid, unsigned *slots)
{
	const struct sonde_early_slot *all = (const void *)((const char *)head + SONDE_EARLY_HEAD_B);
	unsigned words = 0;
	*slots = 0;
	for (uint32_t i = 0; i < SONDE_EARLY_SLOTS && i < atomic_load(&head->committed); i++) {
		if (atomic_load(&head->owners[i]) != pid)
			continue;
		++*slots;
		for (uint32_t at = 0; at < SONDE_EARLY_WORDS; at++)
			words += atomic_load(&all[i].words[at]) == SECRET;
	}
	return words;
}

static int open_memory(void)
{
	const char *place = getenv("SONDE_WAITS");
	unsigned filters, wanted, pid, fd;
	char path[64];
	if (!place || sscanf(place, "%u %u %u %u", &filters, &wanted, &pid, &fd) != 4)
		return 0;
	snprintf(path, sizeof path, "/proc/%u/fd/%u", pid, fd);
	int file = open(path, O_RDWR);
	size_t size_b = SONDE_EARLY_HEAD_B + (size_t)SONDE_EARLY_SLOTS * SONDE_EARLY_SLOT_B;
	head = file < 0 ? MAP_FAILED : mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	return head != MAP_FAILED;
}

int main(int argc, char **argv)
{
	int said[2], requested[2], file = argc > 2 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	unsigned slots, words;
	char byte = 0;
	if (file < 0 || pipe(said) || pipe(requested))
		return 2;
	int is_open = open_memory();
	pid_t child = fork();
	if (!child)
		be_child(argv[1], file, said[1], requested[0]);
	if (child < 0 || read(said[0], &byte, 1) != 1)
		return 2;
	words = is_open ? count_words((unsigned)child, &slots) : 0;
	for (int i = 0; is_open && words && !strcmp(argv[1], "taken") && i < 1000; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		words = count_words((unsigned)child, &slots);
	}
	if (write(requested[1], &byte, 1) != 1 || waitpid(child, NULL, 0) != child)
		return 2;
	if (is_open)
		printf("%u words of %u slots\n", words, slots);
	else
		puts("no slots");
	return 0;
}
