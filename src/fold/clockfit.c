/* clockfit.c: piecewise linear conversion from cycles to ns (clockfit.h). */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fold/clockfit.h"

#define TRIES 5
#define FIRST_NS 5000000u
#define NEXT_NS 250000000u
#define AHEAD_NS 1000000000u

/* The kernel removes a counter that drifts or stops from this list (x86: tsc; AArch64: arch_sys_counter). */
int sonde_clockfit_usable(void)
{
	char list[256];
	int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, list, sizeof(list) - 1);
	close(fd);
	list[got > 0 ? got : 0] = 0;
	return strstr(list, "tsc") || strstr(list, "arch_sys_counter");
}

struct sonde_clockfit_anchor sonde_clockfit_read(void)
{
	struct sonde_clockfit_anchor best = {.error_ns = UINT64_MAX};
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = sonde_clock_now_ns();
		uint64_t cycles = sonde_clock_cycles();
		uint64_t after = sonde_clock_now_ns();
		if (after - before < best.error_ns)
			best = (struct sonde_clockfit_anchor){cycles, before + (after - before) / 2, after - before};
	}
	return best;
}

void sonde_clockfit_init(struct sonde_clockfit *fit, const struct sonde_clockfit_anchor *anchor)
{
	memset(fit, 0, sizeof(*fit));
	fit->first = *anchor;
	fit->last = *anchor;
}

/* ns per cycle between two anchors, 32.32 fixed point; 0 if the counter did not advance. */
static uint64_t slope(const struct sonde_clockfit_anchor *from, const struct sonde_clockfit_anchor *to)
{
	if (to->cycles <= from->cycles || to->mono_ns <= from->mono_ns)
		return 0;
	unsigned __int128 ns = (unsigned __int128)(to->mono_ns - from->mono_ns) << 32;
	return (uint64_t)(ns / (to->cycles - from->cycles));
}

static void push(struct sonde_clockfit *fit, struct sonde_clock_scale piece)
{
	memmove(fit->pieces + 1, fit->pieces, (SONDE_CLOCKFIT_PIECES - 1) * sizeof(*fit->pieces));
	fit->pieces[0] = piece;
	if (fit->count < SONDE_CLOCKFIT_PIECES)
		fit->count++;
}

void sonde_clockfit_add(struct sonde_clockfit *fit, const struct sonde_clockfit_anchor *anchor)
{
	if (anchor->mono_ns - fit->last.mono_ns < (fit->count ? NEXT_NS : FIRST_NS))
		return;
	uint64_t mult = slope(&fit->first, anchor);
	if (!mult)
		return;
	fit->last = *anchor;
	if (!fit->count) {
		push(fit, (struct sonde_clock_scale){fit->first.cycles, fit->first.mono_ns, mult});
		return;
	}
	/* Where the old line is now, and the slope that reaches the measured line in one second. */
	uint64_t here = sonde_clock_scale_ns(&fit->pieces[0], anchor->cycles);
	int64_t off_ns = (int64_t)(anchor->mono_ns - here);
	if (off_ns > (int64_t)(AHEAD_NS / 2))
		off_ns = AHEAD_NS / 2;
	if (off_ns < -(int64_t)(AHEAD_NS / 2))
		off_ns = -(int64_t)(AHEAD_NS / 2);
	__int128 bent = (__int128)mult + (__int128)mult * off_ns / AHEAD_NS;
	push(fit, (struct sonde_clock_scale){anchor->cycles, here, (uint64_t)bent});
}
