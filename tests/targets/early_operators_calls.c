/* early_operators_calls.c: what early_calls.h calls: C++ operators, also under an allocator's lock. */
#include "early_calls.h"
#include "early_names.h"

static void call(const char *where)
{
	unsigned long calls = 0, faults = 0;
	early_operators(&calls, &faults);
	early_say_end(where, (long)calls);
	if (faults)
		early_say("wrong blocks\n");
}

void early_calls_first(const char *where)
{
	call(where);
}

void early_calls_second(const char *where)
{
	call(where);
}

void early_calls_under(const char *where)
{
	call(where);
}

void early_calls_outside(const char *where)
{
	call(where);
}
