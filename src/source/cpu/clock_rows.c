/* clock_rows.c: allocates the rows of thread clocks. Rows of ended threads are reused, so an index entry that points to
 * another thread's row is stale.
 */
#include "source/cpu/thread_clock_state.h"

#include <stdlib.h>

#include "base/hash.h"
#include "format/record.h"
#include "util/array.h"

static uint64_t key(pid_t tid)
{
	return sonde_hash_mix((uint64_t)tid + 1);
}

/* Takes an unused row; 0 when out of memory. */
static uint32_t take_row(struct sonde_thread_clocks *clocks)
{
	uint32_t id = clocks->first_free;
	if (id) {
		clocks->first_free = clocks->rows[id - 1].next;
		return id;
	}
	if (SONDE_ARRAY_RESERVE(clocks->rows, clocks->cap, clocks->count + 1))
		return 0;
	return ++clocks->count;
}

void sonde_clock_give(struct sonde_thread_clocks *clocks, uint32_t id)
{
	clocks->rows[id - 1] = (struct sonde_clock_row){.next = clocks->first_free};
	clocks->first_free = id;
}

/* The thread's first row, or 0. */
uint32_t sonde_clock_find(const struct sonde_thread_clocks *clocks, pid_t tid)
{
	uint32_t id = sonde_map_find(&clocks->by_tid, key(tid), NULL, NULL);
	return id && clocks->rows[id - 1].tid == tid ? id : 0;
}

/* The thread's first row; NULL if there is none. */
struct sonde_clock_row *sonde_clock_first(const struct sonde_thread_clocks *clocks, pid_t tid)
{
	uint32_t id = sonde_clock_find(clocks, tid);
	return id ? &clocks->rows[id - 1] : NULL;
}

struct sonde_clock_row *sonde_clock_next(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *row)
{
	return row->next ? &clocks->rows[row->next - 1] : NULL;
}

/* Adds the first row of a new thread; NULL when out of memory. */
struct sonde_clock_row *sonde_clock_add(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns)
{
	uint32_t id = take_row(clocks);
	if (!id)
		return NULL;
	if (sonde_map_set(&clocks->by_tid, key(tid), id) < 0) {
		sonde_clock_give(clocks, id);
		return NULL;
	}
	struct sonde_clock_row *row = &clocks->rows[id - 1];
	*row = (struct sonde_clock_row){.tid = tid,
					.cpu = -1,
					.is_first = 1,
					.set_at_ns = time_ns,
					.last_ns = time_ns,
					.losses = clocks->losses,
					.status = SONDE_STACK_NO_USER};
	return row;
}

/* The thread's row on `cpu`, created if new; NULL when out of memory. May move rows and updates *of. */
struct sonde_clock_row *sonde_clock_on(struct sonde_thread_clocks *clocks, struct sonde_clock_row **of, int cpu)
{
	uint32_t first = (uint32_t)(*of - clocks->rows) + 1;
	pid_t tid = (*of)->tid;
	if (clocks->rows[first - 1].cpu < 0)
		clocks->rows[first - 1].cpu = cpu;
	for (struct sonde_clock_row *row = &clocks->rows[first - 1]; row; row = sonde_clock_next(clocks, row))
		if (row->cpu == cpu)
			return row;
	uint32_t id = take_row(clocks);
	*of = &clocks->rows[first - 1];
	if (!id)
		return NULL;
	clocks->rows[id - 1] = (struct sonde_clock_row){.tid = tid, .cpu = cpu, .next = clocks->rows[first - 1].next};
	clocks->rows[first - 1].next = id;
	return &clocks->rows[id - 1];
}
