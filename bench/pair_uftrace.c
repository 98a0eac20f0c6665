/* pair_uftrace.c: a call of a function that the compiler instruments, which is what uftrace records; and the same call
 * of a function that it does not instrument. */
#include "pair.h"

__attribute__((noinline, no_instrument_function)) static void plain(uint64_t i)
{
	pair_use(i);
}

__attribute__((noinline)) static void instrumented(uint64_t i)
{
	pair_use(i);
}

__attribute__((no_instrument_function)) static void run_call(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		plain(i);
}

__attribute__((no_instrument_function)) static void run_uftrace(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		instrumented(i);
}

const struct pair_loop pair_call = {"call", run_call, 0};
const struct pair_loop pair_uftrace = {"uftrace", run_uftrace, &pair_call};
