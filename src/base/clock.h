/* clock.h: the clock of every recording, CLOCK_MONOTONIC in ns, and the CPU's cycle counter, which is converted to it.
 *
 * Targets stamp events with the cycle counter where it is invariant and readable in user space: reading it is 7 ns
 * cheaper than clock_gettime(). The drain side converts the stamps with a struct sonde_clock_scale fitted between two
 * anchors (fold/clockfit.h), so files only ever contain CLOCK_MONOTONIC ns.
 */
#ifndef SONDE_BASE_CLOCK_H
#define SONDE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
static inline uint64_t sonde_clock_cycles(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t sonde_clock_cycles(void)
{
	uint64_t value;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}
#else
#error "sonde: no cycle counter is known for this machine"
#endif

static inline uint64_t sonde_clock_read_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t sonde_clock_now_ns(void)
{
	return sonde_clock_read_ns(CLOCK_MONOTONIC);
}

/* A linear conversion from cycles to ns: ns = base_ns + (cycles - base_cycles) * mult / 2^32. */
struct sonde_clock_scale {
	uint64_t base_cycles;
	uint64_t base_ns;
	uint64_t mult; /* ns per cycle, 32.32 fixed point; 1 << 32 when events are already stamped in ns */
};

static inline uint64_t sonde_clock_scale_ns(const struct sonde_clock_scale *scale, uint64_t cycles)
{
	int64_t delta = (int64_t)(cycles - scale->base_cycles);
	__int128 scaled = (__int128)delta * (__int128)scale->mult;
	return scale->base_ns + (uint64_t)(int64_t)(scaled >> 32);
}

#endif
