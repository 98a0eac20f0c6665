/* thread_clock.c: how long threads were on a CPU, from context-switch records.
 *
 * A row a thread, found by tid; ended rows are used again, and an index entry that points to another thread's row is
 * stale. A second `in` without an `out` (a lost record) restarts the interval: time that was not seen is not counted.
 */
#include "source/thread_clock.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "util/error.h"
#include "util/map.h"

struct clock_row {
	pid_t tid;          /* 0 = unused */
	uint32_t next_free; /* id */
	uint64_t in_ns;     /* 0 = off */
	uint64_t total_ns;
};

struct sonde_thread_clocks {
	struct clock_row *rows; /* id − 1 */
	uint32_t count, cap, first_free;
	struct sonde_map by_tid;
};

int sonde_thread_clocks_new(struct sonde_thread_clocks **out)
{
	struct sonde_thread_clocks *clocks = calloc(1, sizeof *clocks);
	if (!clocks)
		return sonde_error(ENOMEM, "out of memory for thread clocks");
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

static uint32_t take_row(struct sonde_thread_clocks *clocks)
{
	uint32_t id = clocks->first_free;
	if (id) {
		clocks->first_free = clocks->rows[id - 1].next_free;
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

static struct clock_row *find(const struct sonde_thread_clocks *clocks, pid_t tid)
{
	uint32_t id = sonde_map_find(&clocks->by_tid, key(tid), NULL, NULL);
	return id && clocks->rows[id - 1].tid == tid ? &clocks->rows[id - 1] : NULL;
}

void sonde_thread_clocks_in(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns)
{
	struct clock_row *row = find(clocks, tid);
	if (!row) {
		uint32_t id = take_row(clocks);
		if (!id)
			return;
		row = &clocks->rows[id - 1];
		*row = (struct clock_row){.tid = tid};
		if (sonde_map_set(&clocks->by_tid, key(tid), id) < 0) {
			*row = (struct clock_row){.next_free = clocks->first_free};
			clocks->first_free = id;
			return;
		}
	}
	row->in_ns = time_ns;
}

static void add_interval(struct clock_row *row, uint64_t time_ns)
{
	if (row->in_ns && time_ns > row->in_ns)
		row->total_ns += time_ns - row->in_ns;
	row->in_ns = 0;
}

void sonde_thread_clocks_out(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns)
{
	struct clock_row *row = find(clocks, tid);
	if (row)
		add_interval(row, time_ns);
}

uint64_t sonde_thread_clocks_end(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns)
{
	struct clock_row *row = find(clocks, tid);
	if (!row)
		return 0;
	add_interval(row, time_ns);
	uint64_t total_ns = row->total_ns;
	*row = (struct clock_row){.next_free = clocks->first_free};
	clocks->first_free = (uint32_t)(row - clocks->rows) + 1;
	return total_ns;
}
