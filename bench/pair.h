/* pair.h: loops whose cost per pair of calls is measured and compared in one process; each has its own file
 * (pair_NAME.c). */
#ifndef SONDE_BENCH_PAIR_H
#define SONDE_BENCH_PAIR_H

#include <stdint.h>

struct pair_loop {
	const char *name;
	void (*run)(uint64_t count);
	const struct pair_loop *base; /* the same loop without the calls that are measured */
};

extern const struct pair_loop pair_empty, pair_floor, pair_zone, pair_compiled_out, pair_values, pair_histogram,
    pair_lttng, pair_call, pair_uftrace;

/* The body of a zone. Like a call, it may change any memory, so the compiler must read memory again after it. */
static inline void pair_work(uint64_t value)
{
	__asm__ volatile("" : : "r"(value) : "memory");
}

/* The compiler may neither drop nor move what makes `value`. */
static inline void pair_use(uint64_t value)
{
	__asm__ volatile("" : : "r"(value));
}

#endif
