/* page_faults.c: decodes images, each into memory that is mapped before and unmapped after it: the kernel allocates,
 * clears and frees every page of every image.
 *
 * sonde: page-faults: most of the CPU time is the kernel's, in faults of decode().
 * Fix: one buffer for all images.
 */
#include <sys/mman.h>

#include "example.h"

enum { PICTURES = 900, PICTURE_B = 1 << 20, LINE_B = 512 };

NO_INLINE static uint64_t decode(unsigned char *picture, uint64_t *random)
{
	uint64_t sum = 0;
	for (size_t at = 0; at < PICTURE_B; at += LINE_B) {
		picture[at] = (unsigned char)next_number(random);
		sum += picture[at];
	}
	return sum;
}

static unsigned char *map_picture(void)
{
	void *picture = mmap(NULL, PICTURE_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(picture != MAP_FAILED, "mmap");
	return picture;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	uint64_t random = 8, sum = 0;
	unsigned char *kept = map_picture();
	for (int i = 0; i < PICTURES; i++) {
		unsigned char *picture = fixed ? kept : map_picture();
		sum += decode(picture, &random);
		if (!fixed)
			munmap(picture, PICTURE_B);
	}
	munmap(kept, PICTURE_B);
	printf("sum %llu\n", (unsigned long long)sum);
	return 0;
}
