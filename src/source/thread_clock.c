/* thread_clock.c: how long threads were on a CPU, and what their samples left out.
 *
 * A row for each CPU that a thread visited, the first found by tid, the others chained to it. Rows of threads that
 * ended are used again, and an index entry that points to another thread's row is stale. A second `in` without an `out`
 * (a lost record) restarts the interval: time that was not seen is not counted.
 */
#include "source/thread_clock.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "format/record.h"
#include "util/error.h"
#include "util/map.h"

struct clock_row {
	pid_t tid; /* 0 = unused */
	int cpu;
	uint32_t next;  /* id of the thread's row on another CPU, or of the next free one */
	uint64_t in_ns; /* 0 = off */
	uint64_t total_ns;
	/* of the whole thread, in its first row */
	uint64_t samples;
	uint64_t kept_of; /* how many samples `stack` was chosen from */
	uint32_t stack;
	uint8_t status;
};

struct sonde_thread_clocks {
	struct sonde_thread_sampling sampling;
	struct clock_row *rows; /* id − 1 */
	uint32_t count, cap, first_free;
	uint64_t random;
	struct sonde_map by_tid;
};

int sonde_thread_clocks_new(struct sonde_thread_clocks **out, const struct sonde_thread_sampling *sampling)
{
	struct sonde_thread_clocks *clocks = calloc(1, sizeof *clocks);
	if (!clocks)
		return sonde_error(ENOMEM, "out of memory for thread clocks");
	clocks->sampling = *sampling;
	*out = clocks;
	return 0;
}

void sonde_thread_clocks_free(struct sonde_thread_clocks *clocks)
{
	if (!clocks)
		return;
	free(clocks->rows);
	sonde_map_fini(&clocks->by_tid);
	free(clocks);
}

static uint64_t key(pid_t tid)
{
	return sonde_hash_mix((uint64_t)tid + 1);
}

/* A row that was not in use, or 0 when out of memory. */
static uint32_t take_row(struct sonde_thread_clocks *clocks)
{
	uint32_t id = clocks->first_free;
	if (id) {
		clocks->first_free = clocks->rows[id - 1].next;
		return id;
	}
	if (clocks->count == clocks->cap) {
		uint32_t cap = clocks->cap ? clocks->cap * 2 : 64;
		struct clock_row *rows = realloc(clocks->rows, cap * sizeof *rows);
		if (!rows)
			return 0;
		clocks->rows = rows;
		clocks->cap = cap;
	}
	return ++clocks->count;
}

static void give_row(struct sonde_thread_clocks *clocks, uint32_t id)
{
	clocks->rows[id - 1] = (struct clock_row){.next = clocks->first_free};
	clocks->first_free = id;
}

/* The thread's first row, or 0. */
static uint32_t find(const struct sonde_thread_clocks *clocks, pid_t tid)
{
	uint32_t id = sonde_map_find(&clocks->by_tid, key(tid), NULL, NULL);
	return id && clocks->rows[id - 1].tid == tid ? id : 0;
}

/* The thread's row on `cpu`, or NULL. */
static struct clock_row *find_on(const struct sonde_thread_clocks *clocks, pid_t tid, int cpu)
{
	for (uint32_t id = find(clocks, tid); id; id = clocks->rows[id - 1].next)
		if (clocks->rows[id - 1].cpu == cpu)
			return &clocks->rows[id - 1];
	return NULL;
}

/* A row for a CPU that is new to the thread; NULL when out of memory. */
static struct clock_row *add_row(struct sonde_thread_clocks *clocks, pid_t tid, int cpu)
{
	uint32_t first = find(clocks, tid), id = take_row(clocks);
	if (!id)
		return NULL;
	struct clock_row *row = &clocks->rows[id - 1];
	*row = (struct clock_row){.tid = tid, .cpu = cpu, .status = SONDE_STACK_NO_USER};
	if (first) {
		row->next = clocks->rows[first - 1].next;
		clocks->rows[first - 1].next = id;
	} else if (sonde_map_set(&clocks->by_tid, key(tid), id) < 0) {
		give_row(clocks, id);
		return NULL;
	}
	return row;
}

void sonde_thread_clocks_in(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns)
{
	struct clock_row *row = find_on(clocks, tid, cpu);
	row = row ? row : add_row(clocks, tid, cpu);
	if (row)
		row->in_ns = time_ns;
}

static void add_interval(struct clock_row *row, uint64_t time_ns)
{
	if (row->in_ns && time_ns > row->in_ns)
		row->total_ns += time_ns - row->in_ns;
	row->in_ns = 0;
}

void sonde_thread_clocks_out(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns)
{
	struct clock_row *row = find_on(clocks, tid, cpu);
	if (row)
		add_interval(row, time_ns);
}

/* Reservoir sampling: each of the thread's samples is kept with the same probability. */
void sonde_thread_clocks_sample(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status)
{
	uint32_t id = find(clocks, tid);
	if (!id)
		return;
	struct clock_row *row = &clocks->rows[id - 1];
	row->samples++;
	clocks->random = sonde_hash_mix(clocks->random + 0x9e3779b97f4a7c15u);
	if (clocks->random % ++row->kept_of)
		return;
	row->stack = stack;
	row->status = status;
}

int sonde_thread_clocks_lacks(const struct sonde_thread_clocks *clocks, pid_t tid)
{
	uint32_t id = find(clocks, tid);
	return id && !clocks->rows[id - 1].kept_of && !clocks->rows[id - 1].stack;
}

void sonde_thread_clocks_hint(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status)
{
	uint32_t id = find(clocks, tid);
	if (!id)
		return;
	clocks->rows[id - 1].stack = stack;
	clocks->rows[id - 1].status = status;
}

void sonde_thread_clocks_exec(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns)
{
	uint32_t id = find(clocks, tid);
	if (!id) {
		sonde_thread_clocks_in(clocks, tid, cpu, time_ns);
		return;
	}
	struct clock_row *row = &clocks->rows[id - 1];
	row->kept_of = 0;
	row->stack = 0;
	row->status = SONDE_STACK_NO_USER;
}

struct sonde_thread_total sonde_thread_clocks_end(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns)
{
	uint32_t id = find(clocks, tid);
	struct sonde_thread_total total = {.status = SONDE_STACK_NO_USER};
	if (id) {
		const struct clock_row *first = &clocks->rows[id - 1];
		total.samples = first->samples;
		total.stack = first->stack;
		total.status = first->status;
	}
	while (id) {
		struct clock_row *row = &clocks->rows[id - 1];
		uint32_t next = row->next;
		add_interval(row, time_ns);
		total.cpu_ns += row->total_ns;
		for (int i = 0; i < 2; i++) {
			uint64_t period_ns = clocks->sampling.period_ns[i];
			double rest = (double)(row->total_ns % period_ns) / (double)period_ns;
			total.missing_ns += (uint64_t)(rest * (double)clocks->sampling.weight_ns);
		}
		give_row(clocks, id);
		id = next;
	}
	return total;
}
