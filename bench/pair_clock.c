/* pair_clock.c: the loop alone, and the floor: two timestamps read and nothing stored. */
#include "base/clock.h"
#include "pair.h"

static void run_empty(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		pair_use(i);
}

static void run_floor(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		pair_use(sonde_clock_cycles());
		pair_use(sonde_clock_cycles());
	}
}

const struct pair_loop pair_empty = {"empty", run_empty, 0};
const struct pair_loop pair_floor = {"floor", run_floor, &pair_empty};
