/* pair_compiled_out.c: the same zone, compiled with SONDE_DISABLE. */
#define SONDE_DISABLE 1
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

const struct pair_loop pair_compiled_out = {"compiled-out", run, &pair_empty};
