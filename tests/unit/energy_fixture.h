/* energy_fixture.h: recordings of energy whose shares were worked out by hand. */
#ifndef SONDE_TESTS_ENERGY_FIXTURE_H
#define SONDE_TESTS_ENERGY_FIXTURE_H

#include "analyze_fixture.h"

#define S 1000000000ull
#define UJ 1e-6

/* Points of a series: `count` totals, one each second from the start. */
static inline void put_each_second(struct recording *r, uint32_t series, const double *values, size_t count,
				   double scale)
{
	for (size_t i = 0; i < count; i++)
		recording_point(r, START + i * S, series, (int64_t)llround(values[i] * scale));
}

static inline void put_energy(struct recording *r, const char *meter, const double *joules, size_t count)
{
	put_each_second(r, recording_series(r, SONDE_METRIC_ENERGY, 0, 0, meter), joules, count, 1e6);
}

/* CPU time in s: of user code all of it. */
static inline void put_cpu(struct recording *r, uint32_t process, const double *seconds, size_t count)
{
	const double none[16] = {0};
	put_each_second(r, recording_series(r, SONDE_METRIC_CPU_USER, process, 0, ""), seconds, count, 1e9);
	put_each_second(r, recording_series(r, SONDE_METRIC_CPU_SYSTEM, process, 0, ""), none, count, 1e9);
}

/* A machine of two CPUs that were busy for so long. */
static inline void put_machine(struct recording *r, const double *busy_s, size_t count)
{
	double idle_s[16];
	for (size_t i = 0; i < count; i++)
		idle_s[i] = 2 * (double)i - busy_s[i];
	put_cpu(r, 0, busy_s, count);
	put_each_second(r, recording_series(r, SONDE_METRIC_CPU_IDLE, 0, 0, ""), idle_s, count, 1e9);
}

static inline void close_after(struct recording *r, uint64_t ns)
{
	recording_close(r, START + ns, 0);
}

/* Two packages that draw 20 W, and 10 W more for each busy CPU; each second:
 *   busy CPUs    0      1      2      1
 *   first        0      0.75   1      0       17.5 J
 *   second       0      0.25   0.5    0.5     12.5 J
 *   others       0      0      0.5    0.5     10 J */
static inline void begin_known(struct recording *r)
{
	simple_open(r);
	r->chunk_rows = 1;
	recording_process(r, 101, 1, "second", START);
	put_energy(r, "package-0", (const double[]){100, 110, 130, 160, 180}, 5);
	put_energy(r, "package-1", (const double[]){0, 10, 20, 30, 40}, 5);
	put_energy(r, "dram-0", (const double[]){0, 1, 2, 3, 4}, 5);
	put_machine(r, (const double[]){0, 0, 1, 3, 4}, 5);
	put_cpu(r, 1, (const double[]){0, 0, 0.75, 1.75, 1.75}, 5);
	put_cpu(r, 2, (const double[]){0, 0, 0.25, 0.75, 1.25}, 5);
}

/* 2 CPUs at 1 W idle (0.5 to 2) and 5 W busy (4 to 8), a quarter and then half of their time busy, 1 s each. */
static inline void write_modelled(void)
{
	struct recording r;
	simple_open(&r);
	r.chunk_rows = 1;
	recording_info(&r, "energy.model", "Some Processor");
	recording_info(&r, "energy.model_cpus", "2");
	recording_info(&r, "energy.model_idle_mw", "500 1000 2000");
	recording_info(&r, "energy.model_full_mw", "4000 5000 8000");
	recording_info(&r, "energy.model_virtual", "1");
	recording_source(&r, "energy", SONDE_SOURCE_LIMITED, "a model", "the processor shows no energy counter", 0);
	put_machine(&r, (const double[]){0, 0.5, 1.5}, 3);
	put_cpu(&r, 1, (const double[]){0, 0.5, 1}, 3);
	uint32_t work = recording_call(&r, 0, 1, "work", 3), site = recording_site(&r, SONDE_SITE_ZONE, "work", "");
	recording_begin(&r, 1, site, START);
	recording_sample(&r, (struct recording_sample){START + S, 1, work, S / 2, 0});
	recording_end(&r, 1, START + 2 * S);
	close_after(&r, 2 * S);
}

#endif
