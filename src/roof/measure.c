/* measure.c: measures ceilings: selects the loops, working sets and repetitions, and computes the results.
 *
 * All single-thread figures are measured first, then all team figures. Each runs ten times for 30 ms, interleaved, so
 * that disturbances hit all of them alike, and the best run counts: no loop runs faster than the machine allows, but
 * many things make it slower. The working set of a cache level is half of that cache (or of a thread's share of it),
 * because a program never has all of the cache. For L3, it is four times the size of L2 if that is less, because the
 * rest of L3 may be used by others. For DRAM, it is twelve times the size of the last-level cache, so that each array
 * of a triad is four times as large as that cache.
 */
#include "roof/measure.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "roof/kernels.h"
#include "roof/machine.h"
#include "roof/team.h"
#include "util/error.h"
#include "util/file.h"

enum { CPUS_MAX = 1 << 14, RUNS = 10, RUNS_MAX = 100, FIGURES_MAX = 64 };
#define RUN_NS 30000000u
#define MIB ((uint64_t)1 << 20)
#define DRAM_LEAST_B (192 * MIB)
#define DRAM_MOST_B (2048 * MIB)
#define SET_MORE_B 65536u     /* extra memory per thread: arrays are slightly offset */
#define HUGE_B (2 * MIB)      /* a thread's memory is aligned to and rounded up to this (team.c) */
#define PIECE_B (512 * 1024u) /* bytes per piece of work: part of a large array, or passes over a small one */
#define PIECE_ITERATIONS 16384u

struct figure {
	struct sonde_roof_figure *out;
	const struct sonde_roof_flops_kernel *flops; /* exactly one of the two */
	const struct sonde_roof_bytes_kernel *bytes;
	uint64_t array_b;
	char what[64];
	double runs[RUNS_MAX];
};

struct plan {
	const struct sonde_roof_options *options;
	struct sonde_roof *roof;
	struct sonde_roof_caches caches; /* caches of the first CPU */
	unsigned *cpus, cpu_count;
	unsigned run_count, done, all;
	struct figure *figures;
	unsigned figure_count;
};

/* --- the loops ---------------------------------------------------------------------------------------------------- */

static double flops_piece(void *memory, uint64_t *position, const void *job)
{
	const struct sonde_roof_flops_kernel *kernel = ((const struct figure *)job)->flops;
	double wanted = (double)PIECE_ITERATIONS * kernel->lanes;
	(void)memory;
	(void)position;
	return kernel->run(PIECE_ITERATIONS) == wanted ? 2 * wanted : -1;
}

/* Arrays are slightly offset, so that equal indices of two arrays do not map to the same cache set. */
static double bytes_piece(void *memory, uint64_t *position, const void *job)
{
	static const uint64_t apart_b = 17 * 64;
	const struct figure *figure = job;
	uint64_t at = *position < figure->array_b ? *position : 0, left_b = figure->array_b - at;
	uint64_t part_b = left_b < PIECE_B ? left_b : PIECE_B;
	uint64_t passes = figure->array_b < PIECE_B ? PIECE_B / figure->array_b : 1;
	char *base = (char *)memory + at;
	struct sonde_roof_arrays arrays = {(double *)base, (double *)(base + figure->array_b + apart_b),
					   (double *)(base + 2 * (figure->array_b + apart_b))};
	figure->bytes->run(&arrays, part_b, passes);
	*position = at + part_b;
	return (double)figure->bytes->arrays * (double)part_b * (double)passes;
}

/* --- working sets ------------------------------------------------------------------------------------------------- */

/* How many of the first `threads` CPUs share a cache with the first one. */
static unsigned sharers(const struct plan *plan, int level, unsigned threads)
{
	unsigned count = 0;
	for (unsigned i = 0; i < threads; i++)
		count += sonde_roof_list_has(plan->caches.shared[level], plan->cpus[i]) != 0;
	if (count)
		return count;
	return level == SONDE_ROOF_L3 ? threads : 1; /* not listed in /sys */
}

static void choose_l1(struct plan *plan, enum sonde_roof_threads of, unsigned threads)
{
	uint64_t size_b = plan->caches.size_b[SONDE_ROOF_L1];
	plan->roof->set_b[SONDE_ROOF_L1][of] = size_b / 2 / sharers(plan, SONDE_ROOF_L1, threads);
}

static void choose_l2(struct plan *plan, enum sonde_roof_threads of, unsigned threads)
{
	uint64_t set_b = plan->caches.size_b[SONDE_ROOF_L2] / 2 / sharers(plan, SONDE_ROOF_L2, threads);
	if (set_b >= 2 * plan->caches.size_b[SONDE_ROOF_L1])
		plan->roof->set_b[SONDE_ROOF_L2][of] = set_b;
	else if (set_b)
		snprintf(plan->roof->why[SONDE_ROOF_L2][of], sizeof plan->roof->why[0][0],
			 "half of a thread's share of L2 (%llu KB) is hardly larger than L1",
			 (unsigned long long)set_b >> 10);
}

static void choose_l3(struct plan *plan, enum sonde_roof_threads of, unsigned threads)
{
	uint64_t l2_b = plan->caches.size_b[SONDE_ROOF_L2];
	uint64_t set_b = plan->caches.size_b[SONDE_ROOF_L3] / 2 / sharers(plan, SONDE_ROOF_L3, threads);
	set_b = l2_b && set_b > 4 * l2_b ? 4 * l2_b : set_b;
	if (2 * set_b >= 3 * l2_b)
		plan->roof->set_b[SONDE_ROOF_L3][of] = set_b;
	else if (set_b)
		snprintf(plan->roof->why[SONDE_ROOF_L3][of], sizeof plan->roof->why[0][0],
			 "half of a thread's share of L3 (%llu KB) is hardly larger than L2",
			 (unsigned long long)set_b >> 10);
}

/* Total size of the last-level caches of all participating CPUs. */
static uint64_t last_cache_b(const struct plan *plan, unsigned threads)
{
	for (int level = SONDE_ROOF_L3; level >= SONDE_ROOF_L1; level--)
		if (plan->caches.size_b[level]) {
			unsigned with = sharers(plan, level, threads);
			return plan->caches.size_b[level] * ((threads + with - 1) / with);
		}
	return 0;
}

/* Memory that the working sets of all threads take. */
static uint64_t sets_b(uint64_t set_b, unsigned threads)
{
	return threads * ((set_b + SET_MORE_B + HUGE_B - 1) / HUGE_B * HUGE_B + HUGE_B);
}

static void choose_dram(struct plan *plan, enum sonde_roof_threads of, unsigned threads, uint64_t free_b)
{
	uint64_t last_b = last_cache_b(plan, threads), extra_b = threads * (2 * HUGE_B + SET_MORE_B);
	uint64_t all_b = 12 * last_b > DRAM_LEAST_B ? 12 * last_b : DRAM_LEAST_B;
	uint64_t most_b = 4 * last_b > DRAM_MOST_B ? 4 * last_b : DRAM_MOST_B;
	uint64_t may_b = free_b / 4 > extra_b ? free_b / 4 - extra_b : 0;
	all_b = all_b > most_b ? most_b : all_b;
	all_b = free_b && all_b > may_b ? may_b : all_b;
	if (all_b < 3 * last_b || all_b < 16 * MIB) /* only a lack of free memory makes it this small */
		snprintf(plan->roof->why[SONDE_ROOF_DRAM][of], sizeof plan->roof->why[0][0],
			 "a quarter of the free memory (%llu MB) is too little for %u thread%s beside a cache of %llu "
			 "MB",
			 (unsigned long long)free_b / 4 >> 20, threads, threads == 1 ? "" : "s",
			 (unsigned long long)last_b >> 20);
	else
		plan->roof->set_b[SONDE_ROOF_DRAM][of] = all_b / threads;
}

/* Drops levels whose working sets would put pressure on other programs: a working set cannot be smaller than its cache
 * requires. */
static void drop_large(struct plan *plan, enum sonde_roof_threads of, unsigned threads, uint64_t free_b)
{
	for (int level = 0; level < SONDE_ROOF_DRAM && free_b; level++) {
		uint64_t *set_b = &plan->roof->set_b[level][of], all_b = sets_b(*set_b, threads);
		if (!*set_b || all_b <= free_b / 4)
			continue;
		*set_b = 0;
		snprintf(plan->roof->why[level][of], sizeof plan->roof->why[0][0],
			 "%u thread%s would take %llu MB, more than a quarter of the free memory (%llu MB)", threads,
			 threads == 1 ? "" : "s", (unsigned long long)all_b >> 20,
			 (unsigned long long)free_b / 4 >> 20);
	}
}

static void choose_sets(struct plan *plan, enum sonde_roof_threads of, unsigned threads)
{
	uint64_t free_b = sonde_roof_memory("");
	choose_l1(plan, of, threads);
	choose_l2(plan, of, threads);
	choose_l3(plan, of, threads);
	choose_dram(plan, of, threads, free_b);
	drop_large(plan, of, threads, free_b);
	for (int level = 0; level < SONDE_ROOF_DRAM; level++)
		if (!plan->caches.size_b[level])
			snprintf(plan->roof->why[level][of], sizeof plan->roof->why[0][0],
				 "neither /sys nor the processor reports an %s cache",
				 sonde_roof_level_name((enum sonde_roof_level)level));
}

/* --- the figures -------------------------------------------------------------------------------------------------- */

static struct figure *figure_add(struct plan *plan, struct sonde_roof_figure *out)
{
	struct figure *figure = &plan->figures[plan->figure_count++];
	*figure = (struct figure){.out = out};
	return figure;
}

static void add_flops(struct plan *plan, enum sonde_roof_threads of)
{
	for (const struct sonde_roof_flops_kernel *kernel = sonde_roof_flops_kernels; kernel->run; kernel++) {
		if (!kernel->can_run())
			continue;
		struct figure *figure = figure_add(plan, &plan->roof->flops[kernel->set][kernel->precision][of]);
		figure->flops = kernel;
		snprintf(figure->what, sizeof figure->what, "%s, %s", sonde_roof_set_title(kernel->set),
			 sonde_roof_precision_name(kernel->precision));
	}
}

static void add_bytes(struct plan *plan, enum sonde_roof_threads of, int level)
{
	int added[SONDE_ROOF_ACCESSES] = {0};
	for (const struct sonde_roof_bytes_kernel *kernel = sonde_roof_bytes_kernels; kernel->run; kernel++) {
		uint64_t array_b =
		    plan->roof->set_b[level][of] / kernel->arrays / SONDE_ROOF_STEP_B * SONDE_ROOF_STEP_B;
		if (added[kernel->access] || !array_b || !kernel->can_run())
			continue;
		added[kernel->access] = 1;
		struct figure *figure = figure_add(plan, &plan->roof->bytes[level][kernel->access][of]);
		figure->bytes = kernel;
		figure->array_b = array_b;
		snprintf(figure->what, sizeof figure->what, "%s, %s",
			 sonde_roof_level_name((enum sonde_roof_level)level), sonde_roof_access_name(kernel->access));
	}
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static void figure_finish(struct figure *figure, unsigned runs)
{
	qsort(figure->runs, runs, sizeof *figure->runs, ascending);
	*figure->out = (struct sonde_roof_figure){
	    .best = figure->runs[runs - 1],
	    .median = (figure->runs[runs / 2] + figure->runs[(runs - 1) / 2]) / 2,
	    .least = figure->runs[0],
	    .runs = runs,
	};
}

static int run_figure(struct plan *plan, struct sonde_roof_team *team, struct figure *figure, unsigned run)
{
	const struct sonde_roof_options *options = plan->options;
	uint64_t run_ns = options->run_ns ? options->run_ns : RUN_NS;
	if (options->progress)
		options->progress(options->context, plan->done, plan->all, figure->what);
	plan->done++;
	figure->runs[run] = sonde_roof_team_run(team, figure->flops ? flops_piece : bytes_piece, figure, run_ns);
	if (figure->runs[run] > 0)
		return 0;
	return sonde_error(EIO, "%s: the processor computed a wrong result; its measurements are discarded",
			   figure->what);
}

static int measure_team(struct plan *plan, enum sonde_roof_threads of, unsigned threads)
{
	struct sonde_roof_team *team;
	uint64_t most_b = 0;
	plan->figure_count = 0;
	choose_sets(plan, of, threads);
	add_flops(plan, of);
	for (int level = 0; level < SONDE_ROOF_LEVELS; level++) {
		add_bytes(plan, of, level);
		if (plan->roof->set_b[level][of] > most_b)
			most_b = plan->roof->set_b[level][of];
	}
	plan->all = SONDE_ROOF_THREADS * plan->figure_count * plan->run_count;
	int code = sonde_roof_team_new(&team, plan->cpus, threads, most_b + SET_MORE_B);
	if (code)
		return code;
	for (unsigned run = 0; run < plan->run_count && !code; run++)
		for (unsigned i = 0; i < plan->figure_count && !code; i++)
			code = run_figure(plan, team, &plan->figures[i], run);
	sonde_roof_team_free(team);
	for (unsigned i = 0; i < plan->figure_count && !code; i++)
		figure_finish(&plan->figures[i], plan->run_count);
	return code;
}

/* --- the machine -------------------------------------------------------------------------------------------------- */

static int read_cpus(struct plan *plan)
{
	size_t size_b = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	plan->cpus = calloc(CPUS_MAX, sizeof *plan->cpus);
	if (!set || !plan->cpus || sched_getaffinity(0, size_b, set)) {
		if (set)
			CPU_FREE(set);
		return sonde_error(EIO, "the usable CPUs are unknown: %s", strerror(errno));
	}
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, size_b, set))
			plan->cpus[plan->cpu_count++] = cpu;
	CPU_FREE(set);
	/* More threads than the CPU quota allows would only wait. */
	if (plan->options->quota > 0 && plan->options->quota < plan->cpu_count)
		plan->cpu_count = plan->options->quota < 2 ? 1 : (unsigned)plan->options->quota;
	return 0;
}

struct ticks {
	double all, stolen;
};

/* user nice system idle iowait irq softirq steal, summed over all CPUs; user includes guests. */
static struct ticks read_ticks(void)
{
	char text[512];
	double field[8] = {0};
	struct ticks ticks = {0};
	sonde_file_read(text, sizeof text, "/proc/stat");
	sscanf(text, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &field[0], &field[1], &field[2], &field[3], &field[4],
	       &field[5], &field[6], &field[7]);
	for (int i = 0; i < 8; i++)
		ticks.all += field[i];
	ticks.stolen = field[7];
	return ticks;
}

int sonde_roof_measure(struct sonde_roof *out, const struct sonde_roof_options *options)
{
	struct sonde_roof roof = {0};
	struct plan plan = {.options = options, .roof = &roof, .run_count = options->runs ? options->runs : RUNS};
	struct ticks before = read_ticks();
	if (plan.run_count > RUNS_MAX)
		return sonde_error(EINVAL, "%u runs: the maximum is %d", plan.run_count, RUNS_MAX);
	sonde_roof_machine(&roof, "");
	int code = read_cpus(&plan);
	plan.figures = calloc(FIGURES_MAX, sizeof *plan.figures);
	if (!code && !plan.figures)
		code = sonde_error(ENOMEM, "out of memory for %d figures", FIGURES_MAX);
	if (!code) {
		sonde_roof_caches(&plan.caches, "", plan.cpus[0]);
		roof.threads = plan.cpu_count;
		roof.measured_s = (uint64_t)time(NULL);
		code = measure_team(&plan, SONDE_ROOF_ONE, 1);
	}
	code = code ? code : measure_team(&plan, SONDE_ROOF_ALL, plan.cpu_count);
	free(plan.figures);
	free(plan.cpus);
	struct ticks after = read_ticks();
	if (after.all > before.all)
		roof.stolen = (after.stolen - before.stolen) / (after.all - before.all);
	if (!code)
		*out = roof;
	return code;
}
