/* thread_rows.c: rows are appended and sorted when a list of threads is complete; meanwhile the sorted ones are found
 * by binary search. Descriptors are kept open for as many threads as a recorder can afford, because repeated readings
 * then need no path lookup.
 */
#include "source/sched/thread_rows.h"

#include <stdlib.h>
#include <unistd.h>

#include "source/resource/files.h"
#include "source/sched/schedstat.h"
#include "util/array.h"
#include "util/search.h"

#define KEPT_MAX 128u /* maximum of descriptors kept open */

static int compare(const void *left, const void *right)
{
	const struct sonde_thread_row *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

void sonde_thread_rows_init(struct sonde_thread_rows *rows)
{
	*rows = (struct sonde_thread_rows){.kept_max = sonde_files_share(KEPT_MAX, 16)};
}

void sonde_thread_rows_close(struct sonde_thread_rows *rows, struct sonde_thread_row *row)
{
	if (row->fd < 0)
		return;
	close(row->fd);
	row->fd = -1;
	rows->kept--;
}

struct sonde_thread_row *sonde_thread_rows_add(struct sonde_thread_rows *rows, uint32_t process, pid_t pid, pid_t tid,
					       uint64_t now_ns)
{
	if (SONDE_ARRAY_RESERVE(rows->row, rows->cap, rows->count + 1))
		return NULL;
	struct sonde_thread_row *row = &rows->row[rows->count++];
	*row = (struct sonde_thread_row){
	    .process = process, .pid = pid, .tid = tid, .fd = -1, .listed = 1, .seen_ns = now_ns, .born_ns = now_ns};
	if (rows->kept < rows->kept_max)
		row->fd = sonde_schedstat_open(pid, tid);
	rows->kept += row->fd >= 0;
	return row;
}

void sonde_thread_rows_sort(struct sonde_thread_rows *rows)
{
	if (rows->count > rows->sorted)
		qsort(rows->row, rows->count, sizeof *rows->row, compare);
	rows->sorted = rows->count;
}

size_t sonde_thread_rows_bound(const struct sonde_thread_rows *rows, uint32_t process, pid_t tid)
{
	struct sonde_thread_row wanted = {.process = process, .tid = tid};
	return SONDE_SEARCH(i, 0, rows->sorted, compare(&rows->row[i], &wanted) < 0);
}

void sonde_thread_rows_fini(struct sonde_thread_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		sonde_thread_rows_close(rows, &rows->row[i]);
	free(rows->row);
}
