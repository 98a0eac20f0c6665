/* heap_plugin.c: the object that heap_odd loads: its function PLUGIN_NAME, which has a frame of PLUGIN_B bytes,
 * allocates a block of that size. */
#include <stdlib.h>
#include <string.h>

void *plugin_allocates(void);

__attribute__((noinline)) static void *PLUGIN_NAME(int value)
{
	volatile char frame[PLUGIN_B];
	frame[value % PLUGIN_B] = (char)value;
	void *block = malloc(PLUGIN_B);
	if (block)
		memset(block, frame[value % PLUGIN_B], PLUGIN_B);
	return block;
}

void *plugin_allocates(void)
{
	void *block = PLUGIN_NAME(7);
	__asm__ volatile("");
	return block;
}
