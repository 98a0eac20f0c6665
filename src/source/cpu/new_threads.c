/* new_threads.c: stacks for processes that end before their inherited events take a sample.
 *
 * Each drain opens one generation of extra events, on the threads that forked since the last drain, and closes it two
 * drains later. Closing an event also closes the copies that children inherited, so a child that lives longer is not
 * sampled too often.
 */
#include "source/cpu/new_threads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

#define PARENTS 8u /* how many parents get an event per drain, at most */
#define STORM 4u   /* processes without a sample in one drain that justify extra events */
#define GENERATIONS 2u
#define PROGRAMS_MAX 4096u
#define WAITING_MAX 16384u

struct program {
	uint32_t stack; /* the last stack lent; 0 = none */
	uint32_t waiting;
};

struct waiting {
	uint32_t program; /* id */
	struct sonde_new_thread_time time;
};

struct sonde_newborns {
	struct sonde_perf_rings *rings;
	pid_t parents[PARENTS];
	size_t parent_count, missed;
	struct sonde_perf_events generations[GENERATIONS];
	unsigned oldest;
	uint64_t random;
	struct program *programs; /* by id − 1 */
	uint32_t program_count;
	size_t program_cap;
	struct waiting *waiting; /* at most WAITING_MAX */
	size_t waiting_count, waiting_cap, ready;
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
	free(newborns->waiting);
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

/* Returns a random period, between a tenth of the sampling period and the whole period. */
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

/* The row of a program, which is created if it is missing and `make` is set. NULL if the program has no row, or if
 * there are too many rows. */
static struct program *program_of(struct sonde_newborns *newborns, uint64_t hash, int make)
{
	uint32_t id = sonde_map_find(&newborns->by_hash, hash, NULL, NULL);
	if (id || !make)
		return id ? &newborns->programs[id - 1] : NULL;
	if (newborns->program_count >= PROGRAMS_MAX ||
	    SONDE_ARRAY_RESERVE(newborns->programs, newborns->program_cap, newborns->program_count + 1))
		return NULL;
	if (sonde_map_add(&newborns->by_hash, hash, newborns->program_count + 1) < 0)
		return NULL;
	newborns->programs[newborns->program_count] = (struct program){0};
	return &newborns->programs[newborns->program_count++];
}

void sonde_newborns_lend(struct sonde_newborns *newborns, uint64_t program, uint32_t stack)
{
	struct program *row = program_of(newborns, program, 1);
	if (!row)
		return;
	row->stack = stack;
	newborns->ready += row->waiting;
	row->waiting = 0;
}

uint32_t sonde_newborns_borrow(struct sonde_newborns *newborns, uint64_t program)
{
	const struct program *row = program_of(newborns, program, 0);
	return row ? row->stack : 0;
}

int sonde_newborns_wait(struct sonde_newborns *newborns, uint64_t program, const struct sonde_new_thread_time *time)
{
	struct program *row = program_of(newborns, program, 1);
	if (!row || newborns->waiting_count == WAITING_MAX)
		return -ENOSPC;
	if (SONDE_ARRAY_RESERVE(newborns->waiting, newborns->waiting_cap, newborns->waiting_count + 1))
		return -ENOSPC;
	uint32_t id = (uint32_t)(row - newborns->programs) + 1;
	newborns->waiting[newborns->waiting_count++] = (struct waiting){id, *time};
	row->waiting++;
	return 0;
}

int sonde_newborns_next(struct sonde_newborns *newborns, int final, struct sonde_new_thread_time *out, uint32_t *stack)
{
	if (!newborns->ready && !final)
		return 0;
	for (size_t i = newborns->waiting_count; i-- > 0;) {
		const struct program *program = &newborns->programs[newborns->waiting[i].program - 1];
		if (!program->stack && !final)
			continue;
		*out = newborns->waiting[i].time;
		*stack = program->stack;
		newborns->waiting[i] = newborns->waiting[--newborns->waiting_count];
		newborns->ready -= newborns->ready > 0;
		return 1;
	}
	return 0;
}
