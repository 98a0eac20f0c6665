/* plugin.c: what loader loads: one function, PLUGIN_NAME, that burns. */
#include "burn.h"

void PLUGIN_NAME(long rounds);

void PLUGIN_NAME(long rounds)
{
	burn(rounds);
	no_tail_call();
}
