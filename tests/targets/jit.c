/* jit.c: generated code with names in /tmp/perf-PID.map: jit_major has three quarters of the work, jit_minor one.
 *
 * jit SECONDS: the map's name is printed. The code keeps frame pointers, as just-in-time compilers do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; 1: dec %rdi; jnz 1b; pop %rbp; ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#else
/* stp x29,x30,[sp,#-16]!; mov x29,sp; 1: subs x0,x0,#1; b.ne 1b; ldp x29,x30,[sp],#16; ret */
static const uint8_t code[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x04, 0x00, 0xf1,
			       0xe1, 0xff, 0xff, 0x54, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
#endif

#define MINOR_AT 256

typedef void (*generated)(long rounds);

__attribute__((noinline)) void interpret(uint8_t *page)
{
	generated major, minor;
	uint8_t *at = page + MINOR_AT;
	memcpy(&major, &page, sizeof major);
	memcpy(&minor, &at, sizeof minor);
	major(3 * BURN_UNIT);
	minor(BURN_UNIT);
	no_tail_call();
}

int main(int argc, char **argv)
{
	char path[64];
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc < 2 || page == MAP_FAILED)
		return 2;
	memcpy(page, code, sizeof code);
	memcpy(page + MINOR_AT, code, sizeof code);
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache((char *)page, (char *)page + 4096);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx jit_major\n%lx %zx jit_minor\n", (unsigned long)(uintptr_t)page, sizeof code,
		(unsigned long)(uintptr_t)page + MINOR_AT, sizeof code);
	fclose(map);
	puts(path);
	while ((double)thread_cpu_ns() < atof(argv[1]) * 1e9)
		interpret(page);
	return 0;
}
