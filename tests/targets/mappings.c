/* mappings.c: memory that a program maps itself, with known answers, one function each. Sizes in KiB:
 *
 * keeps     10 × 64, one after the other; 3 stay
 * peaks     4 × 1024 at once: the peak
 * trims     256, of which the middle, the beginning and the end go before the rest
 * moves     64, which grows to 128 and 256, shrinks to 32, and goes
 * stays     64 that cannot grow where it is: it stays, and goes
 * replaces  1024 reserved; 128 mapped into it, 64 over a half of those; all goes at once
 * opens     1024 reserved, 256 of it opened, 128 of those closed; all goes at once
 * files     16 of a file, private; the same shared, and only to be read
 * breaks    100,000 B by sbrk(), less 40,000, then the rest by brk()
 * unseen    64 by a system call of its own
 * threads   4 threads map and unmap 500 × 64 each, which get each other's addresses
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "no_inline.h"

#define KB ((size_t)1024)
#define ANYWHERE (MAP_PRIVATE | MAP_ANONYMOUS)
#define WRITABLE (PROT_READ | PROT_WRITE)

static void need(int holds, const char *what)
{
	if (holds)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static char *check(char *mapped, size_t size_b, int protection)
{
	need(mapped != MAP_FAILED, "mmap");
	if (protection & PROT_WRITE)
		mapped[size_b - 1] = 1;
	return mapped;
}

/* A macro, so that the function that uses it is the one that maps. */
#define map(at, size_b, protection, flags) check(mmap(at, size_b, protection, flags, -1, 0), size_b, protection)

NO_INLINE void keeps(void)
{
	for (int i = 0; i < 10; i++) {
		char *mapped = map(NULL, 64 * KB, WRITABLE, ANYWHERE);
		if (i % 4)
			need(!munmap(mapped, 64 * KB - 7), "munmap"); /* whole pages go */
	}
}

NO_INLINE void peaks(void)
{
	char *mapped[4];
	for (int i = 0; i < 4; i++)
		mapped[i] = map(NULL, 1024 * KB, WRITABLE, MAP_SHARED | MAP_ANONYMOUS);
	for (int i = 0; i < 4; i++)
		need(!munmap(mapped[i], 1024 * KB), "munmap");
}

NO_INLINE void trims(void)
{
	char *mapped = map(NULL, 256 * KB, WRITABLE, ANYWHERE);
	need(!munmap(mapped + 128 * KB, 32 * KB), "the middle");
	need(!munmap(mapped, 64 * KB), "the beginning");
	need(!munmap(mapped + 192 * KB, 64 * KB), "the end");
	need(!munmap(mapped, 256 * KB), "the rest"); /* two pieces */
}

NO_INLINE void moves(void)
{
	char *mapped = map(NULL, 64 * KB, WRITABLE, ANYWHERE);
	mapped[5] = 'x';
	for (size_t size_b = 64 * KB; size_b < 256 * KB; size_b *= 2) {
		mapped = mremap(mapped, size_b, 2 * size_b, MREMAP_MAYMOVE);
		need(mapped != MAP_FAILED && mapped[5] == 'x', "mremap");
	}
	need(mremap(mapped, 256 * KB, 32 * KB, 0) == mapped, "mremap to less");
	char *place = map(NULL, 32 * KB, PROT_NONE, ANYWHERE);
	need(mremap(mapped, 32 * KB, 32 * KB, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place && place[5] == 'x',
	     "mremap to a place");
	need(!munmap(place, 32 * KB), "munmap");
}

NO_INLINE void stays(void)
{
	char *both = map(NULL, 128 * KB, PROT_NONE, ANYWHERE);
	char *mapped = map(both, 64 * KB, WRITABLE, ANYWHERE | MAP_FIXED);
	need(mremap(mapped, 64 * KB, 128 * KB, 0) == MAP_FAILED && errno == ENOMEM, "no room");
	need(munmap(mapped + 1, 64 * KB) && errno == EINVAL, "no page");
	need(mmap(mapped, 64 * KB, WRITABLE, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EBADF,
	     "no file");
	mapped[7] = 1;
	need(!munmap(both, 128 * KB), "munmap");
}

NO_INLINE void replaces(void)
{
	char *reserved = map(NULL, 1024 * KB, PROT_NONE, ANYWHERE | MAP_NORESERVE);
	map(reserved + 512 * KB, 128 * KB, WRITABLE, ANYWHERE | MAP_FIXED);
	map(reserved + 576 * KB, 64 * KB, WRITABLE, ANYWHERE | MAP_FIXED);
	need(!munmap(reserved, 1024 * KB), "munmap");
}

NO_INLINE void opens(void)
{
	char *reserved = map(NULL, 1024 * KB, PROT_NONE, ANYWHERE);
	need(!mprotect(reserved + 256 * KB, 256 * KB, WRITABLE), "mprotect");
	need(!mprotect(reserved + 256 * KB, 128 * KB, PROT_NONE), "mprotect");
	need(!mprotect(reserved + 384 * KB, 128 * KB, PROT_READ), "mprotect"); /* still holds what was written */
	need(!munmap(reserved, 1024 * KB), "munmap");
}

NO_INLINE void files(void)
{
	FILE *file = tmpfile();
	need(file && !ftruncate(fileno(file), 16 * KB), "a file");
	void *own = mmap(NULL, 16 * KB, WRITABLE, MAP_PRIVATE, fileno(file), 0);
	void *shared = mmap(NULL, 16 * KB, WRITABLE, MAP_SHARED, fileno(file), 0);
	void *read = mmap(NULL, 16 * KB, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	need(own != MAP_FAILED && shared != MAP_FAILED && read != MAP_FAILED, "mmap of a file");
	need(!munmap(shared, 16 * KB) && !munmap(read, 16 * KB) && !munmap(own, 16 * KB), "munmap");
	fclose(file);
}

NO_INLINE void breaks(void)
{
	char *before = sbrk(0);
	need(sbrk(100000) == before, "sbrk");
	before[99999] = 1;
	need(sbrk(-40000) == before + 100000, "sbrk to less");
	need(!brk(before), "brk");
}

NO_INLINE void unseen(void)
{
	void *mapped = (void *)syscall(SYS_mmap, NULL, 64 * KB, WRITABLE, ANYWHERE, -1, 0);
	need(mapped != MAP_FAILED && !munmap(mapped, 64 * KB), "a system call");
}

NO_INLINE void *turns(void *unused)
{
	for (int i = 0; i < 500; i++)
		need(!munmap(map(NULL, 64 * KB, WRITABLE, ANYWHERE), 64 * KB), "munmap");
	return unused;
}

static void threads(void)
{
	pthread_t all[4];
	for (int i = 0; i < 4; i++)
		need(!pthread_create(&all[i], NULL, turns, NULL), "a thread");
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {{"keeps", keeps},   {"peaks", peaks},       {"trims", trims},    {"moves", moves},
		     {"stays", stays},   {"replaces", replaces}, {"opens", opens},    {"files", files},
		     {"breaks", breaks}, {"unseen", unseen},     {"threads", threads}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		errno = EXDEV;
		parts[i].run();
		if (i != 4)
			need(errno == EXDEV, parts[i].name);
		printf("%s\n", parts[i].name);
	}
	return 0;
}
