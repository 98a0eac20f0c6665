/* hotspot_none.c: stub of stack/hotspot.h for machines whose Java frame layout is not supported: no VM is unwound. */
#include "source/stack/hotspot.h"

struct sonde_hotspot *sonde_hotspot_new(struct sonde_live_memory *live, pid_t pid, uint64_t base,
					struct sonde_places *places)
{
	(void)live, (void)pid, (void)base, (void)places;
	return NULL;
}

void sonde_hotspot_free(struct sonde_hotspot *vm)
{
	(void)vm;
}

struct sonde_hotspot *sonde_hotspot_new_from(const struct sonde_process_memory *memory, uint64_t base,
					     struct sonde_places *places)
{
	(void)memory, (void)base, (void)places;
	return NULL;
}

const char *sonde_hotspot_problem(const struct sonde_hotspot *vm)
{
	(void)vm;
	return NULL;
}

int sonde_hotspot_step(struct sonde_hotspot *vm, struct sonde_generated_frame *frame)
{
	(void)vm, (void)frame;
	return 0;
}
