/* newborn.c: stacks for processes that end before their events give a sample.
 *
 * The extra events are opened on the threads that forked since the last drain, one generation a drain, and closed two
 * drains later, which also takes them from whatever inherited them and lives on: nothing long-lived is sampled more.
 */
#include "source/newborn.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "util/error.h"
#include "util/map.h"

#define PARENTS 8u /* that get an event in one drain */
#define STORM 4u   /* processes without a sample in one drain that make it worth while */
#define GENERATIONS 2u
#define PROGRAMS_MAX 4096u

struct program {
	uint32_t thread; /* the last that ended without a stack */
	uint64_t cpu_ns;
};

struct sonde_newborns {
	struct sonde_perf_rings *rings;
	pid_t parents[PARENTS];
	size_t parent_count, missed;
	struct sonde_perf_events generations[GENERATIONS];
	unsigned oldest;
	uint64_t random;
	struct program *programs; /* id − 1 */
	uint32_t program_count, program_cap, flushed;
	struct sonde_map by_hash;
};

int sonde_newborns_new(struct sonde_newborns **out, struct sonde_perf_rings *rings)
{
	struct sonde_newborns *newborns = calloc(1, sizeof *newborns);
	if (!newborns)
		return sonde_error(ENOMEM, "out of memory for short processes");
	newborns->rings = rings;
	*out = newborns;
	return 0;
}

void sonde_newborns_free(struct sonde_newborns *newborns)
{
	if (!newborns)
		return;
	for (unsigned i = 0; i < GENERATIONS; i++)
		sonde_perf_events_close(&newborns->generations[i]);
	free(newborns->programs);
	sonde_map_fini(&newborns->by_hash);
	free(newborns);
}

void sonde_newborns_forked(struct sonde_newborns *newborns, pid_t parent)
{
	for (size_t i = 0; i < newborns->parent_count; i++)
		if (newborns->parents[i] == parent)
			return;
	if (newborns->parent_count < PARENTS)
		newborns->parents[newborns->parent_count++] = parent;
}

void sonde_newborns_missed(struct sonde_newborns *newborns)
{
	newborns->missed++;
}

/* Between a tenth and one period of the rate. */
static uint64_t draw_period(struct sonde_newborns *newborns, const struct sonde_perf_shape *shape)
{
	uint64_t period_ns = 1000000000u / shape->rate_hz;
	newborns->random = sonde_hash_mix(newborns->random + 0x9e3779b97f4a7c15u);
	return period_ns / 10 + newborns->random % (period_ns * 9 / 10 + 1);
}

void sonde_newborns_adapt(struct sonde_newborns *newborns, const struct sonde_perf_shape *shape)
{
	struct sonde_perf_events *events = &newborns->generations[newborns->oldest];
	sonde_perf_events_close(events);
	newborns->oldest = (newborns->oldest + 1) % GENERATIONS;
	if (newborns->missed >= STORM) {
		events->shape = *shape;
		events->settled = 1;
		for (size_t i = 0; i < newborns->parent_count; i++)
			sonde_perf_events_extra(events, newborns->rings, newborns->parents[i],
						draw_period(newborns, shape));
	}
	newborns->missed = newborns->parent_count = 0;
}

/* The row of a program, made when it is new; NULL when there are too many. */
static struct program *program_of(struct sonde_newborns *newborns, uint64_t hash, int make)
{
	uint32_t id = sonde_map_find(&newborns->by_hash, hash, NULL, NULL);
	if (id || !make)
		return id ? &newborns->programs[id - 1] : NULL;
	if (newborns->program_count == newborns->program_cap) {
		uint32_t cap = newborns->program_cap ? newborns->program_cap * 2 : 16;
		struct program *grown = cap > PROGRAMS_MAX ? NULL : realloc(newborns->programs, cap * sizeof *grown);
		if (!grown)
			return NULL;
		newborns->programs = grown;
		newborns->program_cap = cap;
	}
	if (sonde_map_add(&newborns->by_hash, hash, newborns->program_count + 1) < 0)
		return NULL;
	newborns->programs[newborns->program_count] = (struct program){0};
	return &newborns->programs[newborns->program_count++];
}

void sonde_newborns_put(struct sonde_newborns *newborns, uint64_t program, uint32_t thread, uint64_t cpu_ns)
{
	struct program *row = program_of(newborns, program, 1);
	if (!row)
		row = newborns->programs; /* too many programs: the first stands for all of them */
	if (!row)
		return;
	row->thread = thread;
	row->cpu_ns += cpu_ns;
}

uint64_t sonde_newborns_take(struct sonde_newborns *newborns, uint64_t program)
{
	struct program *row = program_of(newborns, program, 0);
	uint64_t cpu_ns = row ? row->cpu_ns : 0;
	if (row)
		row->cpu_ns = 0;
	return cpu_ns;
}

uint64_t sonde_newborns_rest(struct sonde_newborns *newborns, uint32_t *thread)
{
	while (newborns->flushed < newborns->program_count) {
		const struct program *row = &newborns->programs[newborns->flushed++];
		*thread = row->thread;
		if (row->cpu_ns)
			return row->cpu_ns;
	}
	return 0;
}
