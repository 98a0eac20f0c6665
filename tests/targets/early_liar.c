/* early_liar.c: fills the recorder's shared memory for first calls with invalid data, under its own pid: early_liar
 * SEED. Prints how many slots it had. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/early.h"
#include "format/heap.h"

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Returns a random word for records of all kinds, whose numbers and sizes may have any value, more often a small
 * one. */
static uint64_t word(uint32_t at)
{
	uint64_t drawn = draw();
	if (at % 7 == 0)
		return sonde_heap_op((enum sonde_heap_op)(drawn % 24)) | (drawn >> 40);
	return drawn % 3 ? drawn >> (drawn % 64) : drawn % 64 << 32 | drawn % 40;
}

int main(int argc, char **argv)
{
	const char *place = getenv("SONDE_WAITS");
	unsigned filters, wanted, pid, fd, slots = 0;
	char path[64];
	state = argc > 1 ? strtoull(argv[1], NULL, 10) * 2654435761u + 1 : 1;
	if (!place || sscanf(place, "%u %u %u %u", &filters, &wanted, &pid, &fd) != 4)
		return 2;
	snprintf(path, sizeof path, "/proc/%u/fd/%u", pid, fd);
	int file = open(path, O_RDWR);
	size_t size_b = SONDE_EARLY_HEAD_B + (size_t)SONDE_EARLY_SLOTS * SONDE_EARLY_SLOT_B;
	char *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (file < 0 || memory == MAP_FAILED)
		return 2;
	struct sonde_early_head *head = (void *)memory;
	struct sonde_early_slot *all = (void *)(memory + SONDE_EARLY_HEAD_B);
	for (uint32_t i = 0; i < atomic_load(&head->committed); i++) {
		unsigned nobody = 0;
		if (!atomic_compare_exchange_strong(&head->owners[i], &nobody, (unsigned)getpid()))
			continue;
		for (uint32_t at = 0; at < SONDE_EARLY_WORDS; at++)
			atomic_store(&all[i].words[at], word(at));
		atomic_store(&all[i].moved, draw() % 2);
		atomic_store(&all[i].began, draw() >> (draw() % 64));
		slots++;
	}
	atomic_store(&head->committed, 4000000000u);
	usleep(100000); /* the recorder reads the data in the meantime */
	for (uint32_t at = 0; at < SONDE_EARLY_SLOTS; at++)
		atomic_store(&head->owners[at], (unsigned)draw());
	printf("%u slots\n", slots);
	return 0;
}
