/* burn.h: CPU work of a known length, for programs with a known split.
 *
 * A round is one dependent multiplication and addition: its time does not depend on alignment or on the surrounding
 * code, so that work counted in rounds is a share of the time. The loop is inlined into the burning function, and is
 * that function's self time.
 */
#ifndef SONDE_TARGETS_BURN_H
#define SONDE_TARGETS_BURN_H

#include <stdint.h>
#include <time.h>

#define BURN_UNIT 200000L /* rounds: a few tenths of a millisecond */

static inline __attribute__((always_inline)) void burn(long rounds)
{
	uint64_t x = 1;
	for (long i = 0; i < rounds; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
}

/* Keeps the call before it from becoming a jump. */
static inline __attribute__((always_inline)) void no_tail_call(void)
{
	__asm__ volatile("" ::: "memory");
}

/* CPU time of the calling thread. */
static inline uint64_t thread_cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
