/* pair_zone.c: a zone, begun and ended, through the installed header. */
#include <sonde/sonde.h>

#include "pair.h"

static void run(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		SONDE_BEGIN("pair");
		pair_work(i);
		SONDE_END();
	}
}

const struct pair_loop pair_zone = {"zone", run, &pair_empty};
