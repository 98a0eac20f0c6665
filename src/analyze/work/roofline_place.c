/* roofline_place.c: positions work under the ceilings: finds the next ceiling above it, and how close it is.
 *
 * Bytes reported by a program do not show which memory level limits it. The level assumed is the slowest that could
 * have moved the bytes as fast as observed. Calls of a library are compared with the ceilings of as many threads as it
 * may use. Work done faster than the reporting threads can do it must have been done by more threads, and is compared
 * with the ceilings of all CPUs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/work/roofline.h"
#include "util/error.h"

#define TOLERANCE 1.15 /* a ceiling is the best of a few runs, and a program may run slightly better on another day */

static double of_threads(const struct sonde_roof_figure *one, const struct sonde_roof_figure *all, double threads)
{
	if (!one || !all)
		return one && threads <= 1 ? one->best : -1;
	double many = threads * one->best;
	return threads > 1 && many > all->best ? all->best : many;
}

static double peak_of(const struct sonde_roof *roof, enum sonde_roof_precision precision, double threads)
{
	return of_threads(sonde_roof_peak(roof, precision, SONDE_ROOF_ONE),
			  sonde_roof_peak(roof, precision, SONDE_ROOF_ALL), threads);
}

double sonde_roofline_bandwidth(const struct sonde_roof *roof, enum sonde_roof_level level, double threads)
{
	return of_threads(sonde_roof_bandwidth(roof, level, SONDE_ROOF_ONE),
			  sonde_roof_bandwidth(roof, level, SONDE_ROOF_ALL), threads);
}

/* The next ceiling above a rate, or the highest one. */
struct ceiling {
	double flops; /* −1 = none is known */
	enum sonde_roofline_bound bound;
	enum sonde_roof_level level;
};

static struct ceiling next_above(const struct sonde_roof *roof, const struct sonde_roofline_place *place)
{
	struct ceiling compute = {peak_of(roof, place->precision, place->threads), SONDE_ROOFLINE_COMPUTE,
				  SONDE_ROOF_DRAM};
	struct ceiling best = {-1, SONDE_ROOFLINE_UNKNOWN, SONDE_ROOF_DRAM};
	for (int level = SONDE_ROOF_DRAM; level >= SONDE_ROOF_L1; level--) {
		double bandwidth = sonde_roofline_bandwidth(roof, (enum sonde_roof_level)level, place->threads);
		if (bandwidth < 0 || place->intensity * bandwidth <= best.flops)
			continue;
		best =
		    (struct ceiling){place->intensity * bandwidth, SONDE_ROOFLINE_MEMORY, (enum sonde_roof_level)level};
		if (best.flops * TOLERANCE >= place->flops)
			break;
	}
	if (best.flops < 0 || compute.flops < 0)
		return (struct ceiling){-1, SONDE_ROOFLINE_UNKNOWN, SONDE_ROOF_DRAM};
	if (best.flops >= compute.flops)
		best = compute;
	if (best.flops * TOLERANCE < place->flops)
		best.bound = SONDE_ROOFLINE_ABOVE;
	return best;
}

/* Without bytes, peak FLOP/s still is a ceiling, but the limiting factor is unknown. */
static struct ceiling ceiling_of(const struct sonde_roof *roof, const struct sonde_roofline_place *place)
{
	if (place->intensity > 0)
		return next_above(roof, place);
	struct ceiling compute = {peak_of(roof, place->precision, place->threads), SONDE_ROOFLINE_UNKNOWN,
				  SONDE_ROOF_DRAM};
	if (compute.flops > 0 && compute.flops * TOLERANCE < place->flops)
		compute.bound = SONDE_ROOFLINE_ABOVE;
	return compute;
}

static struct ceiling choose(const struct sonde_roof *roof, struct sonde_roofline_place *place)
{
	struct ceiling ceiling = ceiling_of(roof, place);
	if (ceiling.bound == SONDE_ROOFLINE_ABOVE && place->threads < (double)roof->threads) {
		place->threads = (double)roof->threads;
		ceiling = ceiling_of(roof, place);
	}
	if (ceiling.bound == SONDE_ROOFLINE_ABOVE && place->precision == SONDE_ROOF_FP64) {
		struct sonde_roofline_place single = *place;
		single.precision = SONDE_ROOF_FP32;
		struct ceiling higher = ceiling_of(roof, &single);
		if (higher.bound != SONDE_ROOFLINE_ABOVE && higher.flops > 0) {
			place->precision = SONDE_ROOF_FP32;
			ceiling = higher;
		}
	}
	return ceiling;
}

struct sonde_roofline_place sonde_roofline_place(const struct sonde_roof *roof, const struct sonde_roofline_work *work)
{
	double wall_s = (double)work->wall_ns / 1e9;
	struct sonde_roofline_place place = {.flops = -1,
					     .bytes = -1,
					     .intensity = -1,
					     .threads = 1,
					     .precision = work->precision,
					     .roof = -1,
					     .share = -1,
					     .machine_share = -1,
					     .dram_share = -1};
	if (wall_s <= 0)
		return place;
	if (work->thread_ns > work->wall_ns)
		place.threads = (double)work->thread_ns / (double)work->wall_ns;
	if (work->inside > 1)
		place.threads = fmin(place.threads * work->inside, fmax((double)roof->threads, place.threads));
	if (work->flop > 0)
		place.flops = work->flop / wall_s;
	if (work->bytes > 0)
		place.bytes = work->bytes / wall_s;
	if (work->flop > 0 && work->bytes > 0)
		place.intensity = work->flop / work->bytes;
	if (work->flop > 0) {
		struct ceiling ceiling = choose(roof, &place);
		struct sonde_roofline_place all = place;
		all.threads = (double)roof->threads > place.threads ? (double)roof->threads : place.threads;
		struct ceiling machine = ceiling_of(roof, &all);
		place.bound = ceiling.bound;
		place.level = ceiling.level;
		place.roof = ceiling.flops;
		place.share = ceiling.flops > 0 ? place.flops / ceiling.flops : -1;
		place.machine_share = machine.flops > 0 ? place.flops / machine.flops : -1;
	}
	double dram = sonde_roofline_bandwidth(roof, SONDE_ROOF_DRAM, place.threads);
	if (place.bytes > 0 && dram > 0)
		place.dram_share = place.bytes / dram;
	return place;
}

/* --- the machine's ceilings --------------------------------------------------------------------------------------- */

static const char *get_info(void *context, const char *key)
{
	return sonde_session_info(context, key);
}

/* True if everything known about both machines is equal. */
static int is_same_machine(const struct sonde_roof *roof, const struct sonde_session *session)
{
	const char *cpu = sonde_session_info(session, "host.cpu"), *cpus = sonde_session_info(session, "host.cpus");
	const char *machine = sonde_session_info(session, "host.machine");
	return machine && cpus && !strcmp(machine, roof->machine) && strtoull(cpus, NULL, 10) == roof->cpus &&
	       (!cpu || !strcmp(cpu, roof->cpu));
}

int sonde_roofline_roof(struct sonde_roof *out, int *from_cache, const struct sonde_session *session)
{
	struct sonde_roof roof;
	*from_cache = 0;
	if (sonde_session_info(session, "roof.version"))
		return sonde_roof_from_keys(out, get_info, (void *)(uintptr_t)session);
	int code = sonde_roof_load(&roof);
	if (code)
		return code;
	const char *cpu = sonde_session_info(session, "host.cpu");
	if (!is_same_machine(&roof, session))
		return sonde_error(ENOENT,
				   "the recording is from another machine (%.80s, %s CPUs) without ceilings: run sonde "
				   "roofline --measure there, and record again",
				   cpu ? cpu : "a processor without a name",
				   sonde_session_info(session, "host.cpus") ? sonde_session_info(session, "host.cpus")
									    : "unknown");
	*from_cache = 1;
	*out = roof;
	return 0;
}
