/* clockfit.h: keeps the conversion from cycle counter to CLOCK_MONOTONIC accurate while a recording runs.
 *
 * Both clocks are read together periodically. Each reading starts a new linear piece at the end of the previous one;
 * its slope is chosen so that it meets the measured line one second later. The conversion is therefore continuous and
 * monotonic: converted times of a thread never run backwards, and the error stays within that of the readings. Storage
 * belongs to the caller; single-threaded.
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
	uint64_t error_ns; /* upper bound of the time between the two readings */
};

struct sonde_clockfit {
	struct sonde_clockfit_anchor first, last;
	struct sonde_clock_scale pieces[SONDE_CLOCKFIT_PIECES]; /* newest first */
	uint32_t count;                                         /* 0 until two anchors are far enough apart */
};

/* True if the kernel trusts the cycle counter: constant rate, synchronised across cores. */
int sonde_clockfit_usable(void);

/* Reads both clocks several times and keeps the pair that lies closest together. */
struct sonde_clockfit_anchor sonde_clockfit_read(void);

void sonde_clockfit_init(struct sonde_clockfit *fit, const struct sonde_clockfit_anchor *anchor);

/* Adds an anchor; ignored within 5 ms of the first or, later, within 250 ms of the last accepted one. */
void sonde_clockfit_add(struct sonde_clockfit *fit, const struct sonde_clockfit_anchor *anchor);

static inline uint64_t sonde_clockfit_ns(const struct sonde_clockfit *fit, uint64_t cycles)
{
	uint32_t at = 0;
	while (at + 1 < fit->count && (int64_t)(cycles - fit->pieces[at].base_cycles) < 0)
		at++;
	return sonde_clock_scale_ns(&fit->pieces[at], cycles);
}

/* Inverse of the conversion, except for rounding. */
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

/* The piece that covers all of [from, to]; NULL if the range extends over several pieces. */
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
