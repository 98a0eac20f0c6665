/* clockfit.h: keeps the line from the cycle counter to CLOCK_MONOTONIC true while a recording runs.
 *
 * The two clocks are read together again and again. Each reading begins a new straight piece where the last one ended,
 * bent so that it meets the measured line one second later: the whole is continuous and rises, so converted times of a
 * thread never run backwards, and its error stays that of the readings. The caller's storage, one thread.
 */
#ifndef SONDE_FOLD_CLOCKFIT_H
#define SONDE_FOLD_CLOCKFIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define SONDE_CLOCKFIT_PIECES 8u

struct sonde_clockfit_anchor {
	uint64_t cycles;
	uint64_t mono_ns;
	uint64_t error_ns; /* how far apart the two readings may have been */
};

struct sonde_clockfit {
	struct sonde_clockfit_anchor first, last;
	struct sonde_clock_scale pieces[SONDE_CLOCKFIT_PIECES]; /* newest first */
	uint32_t count;                                         /* 0 until two anchors are far enough apart */
};

/* Whether the kernel trusts the cycle counter: the same rate at all times and on all cores. */
int sonde_clockfit_usable(void);

/* Reads both clocks: the closest of a few tries. */
struct sonde_clockfit_anchor sonde_clockfit_read(void);

void sonde_clockfit_init(struct sonde_clockfit *fit, const struct sonde_clockfit_anchor *anchor);

/* Takes a new anchor; ignored when less than 5 ms after the first or, later, 250 ms after the last one taken. */
void sonde_clockfit_add(struct sonde_clockfit *fit, const struct sonde_clockfit_anchor *anchor);

static inline uint64_t sonde_clockfit_ns(const struct sonde_clockfit *fit, uint64_t cycles)
{
	uint32_t at = 0;
	while (at + 1 < fit->count && (int64_t)(cycles - fit->pieces[at].base_cycles) < 0)
		at++;
	return sonde_clock_scale_ns(&fit->pieces[at], cycles);
}

/* The cycles at a time: the inverse, but for rounding. */
static inline uint64_t sonde_clockfit_cycles(const struct sonde_clockfit *fit, uint64_t ns)
{
	uint32_t at = 0;
	while (at + 1 < fit->count && ns < fit->pieces[at].base_ns)
		at++;
	const struct sonde_clock_scale *piece = &fit->pieces[at];
	if (!piece->mult)
		return piece->base_cycles;
	return piece->base_cycles +
	       (uint64_t)(int64_t)(((__int128)(int64_t)(ns - piece->base_ns) << 32) / (__int128)piece->mult);
}

/* The piece that all of [from, to] lies on; NULL when it is more than one. */
static inline const struct sonde_clock_scale *sonde_clockfit_piece(const struct sonde_clockfit *fit, uint64_t from,
								   uint64_t to)
{
	uint32_t at = 0;
	while (at + 1 < fit->count && (int64_t)(from - fit->pieces[at].base_cycles) < 0)
		at++;
	int ends = at && (int64_t)(to - fit->pieces[at - 1].base_cycles) >= 0;
	return ends ? NULL : &fit->pieces[at];
}

#endif
