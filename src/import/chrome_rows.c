/* chrome_rows.c: sorts rows by thread and time in bounded memory: runs of 20 MB are sorted in memory and, if there are
 * several, written to an unnamed file and merged (chrome.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/chrome.h"
#include "util/array.h"
#include "util/error.h"

enum { ROWS_A_RUN = 1 << 19, ROWS_AHEAD = 4096, RUNS_MAX = 4096 };

struct run {
	uint64_t at, end;              /* range of the run's rows in the file that are not loaded yet */
	struct sonde_chrome_row *rows; /* ROWS_AHEAD */
	uint32_t next, count;
};

struct sonde_chrome_spill {
	const char *folder;
	int fd;
	struct sonde_chrome_row *rows;
	uint32_t count, next;
	size_t cap;
	uint64_t written;
	struct run *runs;
	uint32_t run_count;
	uint32_t *heap; /* min-heap of the runs that still have rows, ordered by their first row */
	uint32_t heap_count;
};

static int row_order(const struct sonde_chrome_row *a, const struct sonde_chrome_row *b)
{
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	uint64_t a_ns = a->kind == SONDE_CHROME_SLICE ? a->value : 0,
		 b_ns = b->kind == SONDE_CHROME_SLICE ? b->value : 0;
	if (a_ns != b_ns)
		return a_ns > b_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_row(const void *a, const void *b)
{
	return row_order(a, b);
}

int sonde_chrome_spill_new(struct sonde_chrome_spill **out, const char *folder)
{
	struct sonde_chrome_spill *spill = calloc(1, sizeof *spill);
	if (!spill)
		return sonde_error(ENOMEM, "out of memory for events");
	spill->folder = folder;
	spill->fd = -1;
	*out = spill;
	return 0;
}

void sonde_chrome_spill_free(struct sonde_chrome_spill *spill)
{
	if (!spill)
		return;
	for (uint32_t i = 0; i < spill->run_count; i++)
		free(spill->runs[i].rows);
	if (spill->fd >= 0)
		close(spill->fd);
	free(spill->runs);
	free(spill->heap);
	free(spill->rows);
	free(spill);
}

/* Sorts a run, unless it is already sorted, as in many files. */
static void run_sort(struct sonde_chrome_spill *spill)
{
	for (uint32_t i = 1; i < spill->count; i++)
		if (row_order(&spill->rows[i - 1], &spill->rows[i]) > 0) {
			qsort(spill->rows, spill->count, sizeof *spill->rows, by_row);
			return;
		}
}

static int run_write(struct sonde_chrome_spill *spill)
{
	if (spill->run_count == RUNS_MAX)
		return sonde_error(EFBIG, "more than %llu events: too many for an import",
				   (unsigned long long)RUNS_MAX * ROWS_A_RUN);
	if (spill->fd < 0 && (spill->fd = sonde_input_scratch(spill->folder)) < 0)
		return spill->fd;
	struct run *runs = realloc(spill->runs, (spill->run_count + 1) * sizeof *runs);
	if (!runs)
		return sonde_error(ENOMEM, "out of memory for events");
	spill->runs = runs;
	run_sort(spill);
	runs[spill->run_count++] = (struct run){.at = spill->written, .end = spill->written + spill->count};
	const char *from = (const char *)spill->rows;
	for (size_t left_b = spill->count * sizeof *spill->rows; left_b;) {
		ssize_t wrote_b = write(spill->fd, from, left_b);
		if (wrote_b < 0 && errno == EINTR)
			continue;
		if (wrote_b <= 0)
			return sonde_error(errno ? errno : EIO, "cannot write a temporary file for events: %s",
					   strerror(errno));
		from += wrote_b;
		left_b -= (size_t)wrote_b;
	}
	spill->written += spill->count;
	spill->count = 0;
	return 0;
}

int sonde_chrome_spill_add(struct sonde_chrome_spill *spill, const struct sonde_chrome_row *row)
{
	if (spill->count < ROWS_A_RUN && SONDE_ARRAY_RESERVE(spill->rows, spill->cap, spill->count + 1))
		return sonde_error(ENOMEM, "out of memory for events");
	int rc = spill->count == ROWS_A_RUN ? run_write(spill) : 0;
	if (!rc)
		spill->rows[spill->count++] = *row;
	return rc;
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

static int ahead_read(struct sonde_chrome_spill *spill, struct run *run)
{
	uint64_t left = run->end - run->at;
	uint32_t count = left < ROWS_AHEAD ? (uint32_t)left : ROWS_AHEAD;
	size_t size_b = count * sizeof *run->rows;
	run->next = run->count = 0;
	if (!count)
		return 0;
	if (pread(spill->fd, run->rows, size_b, (off_t)(run->at * sizeof *run->rows)) != (ssize_t)size_b)
		return sonde_error(EIO, "cannot read the temporary file for events again");
	run->at += count;
	run->count = count;
	return 0;
}

static int is_before(const struct sonde_chrome_spill *spill, uint32_t a, uint32_t b)
{
	const struct run *x = &spill->runs[a], *y = &spill->runs[b];
	return row_order(&x->rows[x->next], &y->rows[y->next]) < 0;
}

static void sink(struct sonde_chrome_spill *spill, uint32_t at)
{
	uint32_t *heap = spill->heap;
	for (uint32_t child; (child = 2 * at + 1) < spill->heap_count; at = child) {
		if (child + 1 < spill->heap_count && is_before(spill, heap[child + 1], heap[child]))
			child++;
		if (!is_before(spill, heap[child], heap[at]))
			return;
		uint32_t run = heap[at];
		heap[at] = heap[child];
		heap[child] = run;
	}
}

int sonde_chrome_spill_sort(struct sonde_chrome_spill *spill)
{
	if (!spill->run_count) {
		run_sort(spill);
		return 0;
	}
	int rc = spill->count ? run_write(spill) : 0;
	free(spill->rows);
	spill->rows = NULL;
	spill->heap = calloc(spill->run_count, sizeof *spill->heap);
	for (uint32_t i = 0; !rc && i < spill->run_count; i++) {
		spill->runs[i].rows = malloc(ROWS_AHEAD * sizeof *spill->runs[i].rows);
		if (!spill->runs[i].rows || !spill->heap)
			return sonde_error(ENOMEM, "out of memory for events");
		rc = ahead_read(spill, &spill->runs[i]);
		spill->heap[spill->heap_count++] = i;
	}
	for (uint32_t i = spill->heap_count / 2; !rc && i > 0; i--)
		sink(spill, i - 1);
	return rc;
}

int sonde_chrome_spill_next(struct sonde_chrome_spill *spill, struct sonde_chrome_row *out)
{
	if (!spill->run_count) {
		if (spill->next == spill->count)
			return 0;
		*out = spill->rows[spill->next++];
		return 1;
	}
	if (!spill->heap_count)
		return 0;
	struct run *run = &spill->runs[spill->heap[0]];
	*out = run->rows[run->next++];
	if (run->next == run->count) {
		int rc = ahead_read(spill, run);
		if (rc)
			return rc;
		if (!run->count)
			spill->heap[0] = spill->heap[--spill->heap_count];
	}
	sink(spill, 0);
	return 1;
}
