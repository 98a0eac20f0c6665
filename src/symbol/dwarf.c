/* dwarf.c: finds compile units by their own ranges and reads them in parallel.
 *
 * .debug_aranges is not used: clang does not write it, and the first entry of every unit is read in a few µs. libdw
 * keeps its state without locks, so each thread opens the file for itself; they share a counter of units to read and
 * merge what they read under a lock, one unit at a time, so that memory holds one unit a thread besides the index.
 */
#include "symbol/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/dwarf_unit.h"
#include "util/error.h"

#define WORKERS_MAX 8
#define UNIT_RANGES_MAX 65536
#define RANGES_MAX ((size_t)32 << 20)
#define PARALLEL_MIN_B (1u << 20) /* DWARF that takes longer to read than a thread and a second handle cost */

struct range {
	uint64_t low, high;
	uint32_t unit;
};

struct unit {
	Dwarf_Off entry;
	uint8_t is_wanted;
};

struct sonde_dwarf {
	int fd;
	Dwarf *handle;
	struct sonde_dwarf_sections sections;
	struct unit *units;
	struct range *ranges; /* by low */
	size_t unit_count, unit_capacity, range_count, range_capacity;
};

static int grow(void **array, size_t count, size_t *capacity, size_t each_b)
{
	if (count < *capacity)
		return 0;
	size_t next = *capacity ? *capacity * 2 : 256;
	void *grown = next > RANGES_MAX ? NULL : realloc(*array, next * each_b);
	if (!grown)
		return sonde_error(ENOMEM, "out of memory for %zu compile units", next);
	*array = grown;
	*capacity = next;
	return 0;
}

static int add_unit(struct sonde_dwarf *dwarf, Dwarf_Die *entry)
{
	Dwarf_Addr base, low, high;
	unsigned count = 0;
	int error = grow((void **)&dwarf->units, dwarf->unit_count, &dwarf->unit_capacity, sizeof *dwarf->units);
	if (error)
		return error;
	dwarf->units[dwarf->unit_count++] = (struct unit){.entry = dwarf_dieoffset(entry)};
	for (ptrdiff_t at = 0; count < UNIT_RANGES_MAX && (at = dwarf_ranges(entry, at, &base, &low, &high)) > 0;
	     count++) {
		if (low >= high)
			continue;
		error =
		    grow((void **)&dwarf->ranges, dwarf->range_count, &dwarf->range_capacity, sizeof *dwarf->ranges);
		if (error)
			return error;
		dwarf->ranges[dwarf->range_count++] = (struct range){low, high, (uint32_t)(dwarf->unit_count - 1)};
	}
	return 0;
}

static int by_low(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

static int list_units(struct sonde_dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die entry, split;
	uint8_t type;
	int error = 0;
	while (!error && !dwarf_get_units(dwarf->handle, unit, &unit, NULL, &type, &entry, &split)) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			error = add_unit(dwarf, &entry);
	}
	if (dwarf->range_count)
		qsort(dwarf->ranges, dwarf->range_count, sizeof *dwarf->ranges, by_low);
	return error;
}

int sonde_dwarf_open(struct sonde_dwarf **out, const struct sonde_elf *file)
{
	struct sonde_dwarf *dwarf = calloc(1, sizeof *dwarf);
	if (!dwarf)
		return sonde_error(ENOMEM, "%s: out of memory", file->path);
	dwarf->fd = file->fd;
	dwarf->handle = dwarf_begin(file->fd, DWARF_C_READ);
	if (!dwarf->handle) {
		free(dwarf);
		return -ENOENT;
	}
	int error = list_units(dwarf);
	if (!error && !dwarf->unit_count)
		error = -ENOENT;
	if (!error)
		sonde_dwarf_sections_read(&dwarf->sections, file);
	if (error) {
		sonde_dwarf_close(dwarf);
		return error;
	}
	*out = dwarf;
	return 0;
}

void sonde_dwarf_close(struct sonde_dwarf *dwarf)
{
	if (!dwarf)
		return;
	dwarf_end(dwarf->handle);
	sonde_dwarf_sections_free(&dwarf->sections);
	free(dwarf->units);
	free(dwarf->ranges);
	free(dwarf);
}

/* The number of ranges that begin at or before an address. */
static size_t ranges_before(const struct sonde_dwarf *dwarf, uint64_t address)
{
	size_t low = 0, high = dwarf->range_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (dwarf->ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_gap(const struct sonde_dwarf *dwarf, struct sonde_index *gaps, size_t after, uint64_t address)
{
	struct sonde_index_segment *segment = sonde_index_add_segment(gaps);
	if (!segment)
		return -ENOMEM;
	uint64_t start = after ? dwarf->ranges[after - 1].high : 0;
	uint64_t end = after < dwarf->range_count ? dwarf->ranges[after].low : UINT64_MAX;
	/* Ranges that overlap may leave less. */
	*segment = (struct sonde_index_segment){start <= address ? start : address, end, 0, 0};
	return 0;
}

/* Marks the units to read; their number, or a negative errno. */
static int mark_units(struct sonde_dwarf *dwarf, struct sonde_index *index, const uint64_t *addresses, size_t count)
{
	struct sonde_index gaps = {0};
	int marked = 0, error = 0;
	uint64_t gap_end = 0;
	for (size_t i = 0; i < count && !error; i++) {
		if (sonde_index_segment(index, addresses[i]) || addresses[i] < gap_end)
			continue;
		size_t after = ranges_before(dwarf, addresses[i]);
		if (!after || addresses[i] >= dwarf->ranges[after - 1].high) {
			gap_end = after < dwarf->range_count ? dwarf->ranges[after].low : UINT64_MAX;
			error = add_gap(dwarf, &gaps, after, addresses[i]);
			continue;
		}
		struct unit *unit = &dwarf->units[dwarf->ranges[after - 1].unit];
		marked += !unit->is_wanted;
		unit->is_wanted = 1;
	}
	if (!error && gaps.segment_count)
		error = sonde_index_merge(index, &gaps);
	sonde_index_fini(&gaps);
	sonde_index_sort(index);
	return error ? error : marked;
}

/* Workers share it; `index` and `error` under the lock. */
struct job {
	struct sonde_dwarf *dwarf;
	struct sonde_index *index;
	struct sonde_dwarf_wanted wanted;
	uint64_t deadline_ns;
	pthread_mutex_t lock;
	atomic_size_t next_unit;
	int error;
};

static int is_late(uint64_t deadline_ns)
{
	return deadline_ns && sonde_clock_now_ns() >= deadline_ns;
}

static int read_unit(struct job *job, Dwarf *handle, const struct unit *unit)
{
	struct sonde_index part = {0};
	Dwarf_Die entry;
	if (!dwarf_offdie(handle, unit->entry, &entry))
		return 0;
	int error = sonde_dwarf_unit_read(&part, &entry, &job->dwarf->sections, &job->wanted);
	pthread_mutex_lock(&job->lock);
	if (!error)
		error = sonde_index_merge(job->index, &part);
	if (error && !job->error)
		job->error = error;
	pthread_mutex_unlock(&job->lock);
	sonde_index_fini(&part);
	return error;
}

static void work(struct job *job, Dwarf *handle)
{
	struct sonde_dwarf *dwarf = job->dwarf;
	while (!is_late(job->deadline_ns)) {
		size_t i = atomic_fetch_add_explicit(&job->next_unit, 1, memory_order_relaxed);
		if (i >= dwarf->unit_count)
			return;
		if (dwarf->units[i].is_wanted && read_unit(job, handle, &dwarf->units[i]))
			return;
	}
}

static void *run_worker(void *context)
{
	struct job *job = context;
	Dwarf *handle = dwarf_begin(job->dwarf->fd, DWARF_C_READ);
	if (handle)
		work(job, handle);
	dwarf_end(handle);
	return NULL;
}

/* Beside the calling thread: as many as there are processors and enough to read. */
static size_t choose_workers(const struct sonde_dwarf *dwarf, size_t marked)
{
	uint64_t wanted_b = 0;
	for (size_t i = 0; i + 1 < dwarf->unit_count; i++)
		wanted_b += dwarf->units[i].is_wanted ? dwarf->units[i + 1].entry - dwarf->units[i].entry : 0;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = wanted_b / PARALLEL_MIN_B;
	most = most < marked ? most : marked;
	most = most < WORKERS_MAX ? most : WORKERS_MAX;
	return processors > 0 && most > (size_t)processors - 1 ? (size_t)processors - 1 : most;
}

int sonde_dwarf_read(struct sonde_dwarf *dwarf, struct sonde_index *index, const uint64_t *addresses, size_t count,
		     uint64_t deadline_ns)
{
	int marked = mark_units(dwarf, index, addresses, count);
	if (marked <= 0)
		return marked;
	struct job job = {.dwarf = dwarf,
			  .index = index,
			  .wanted = {addresses, count},
			  .deadline_ns = deadline_ns,
			  .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[WORKERS_MAX];
	size_t started = 0, wanted = choose_workers(dwarf, (size_t)marked);
	while (started < wanted && !pthread_create(&threads[started], NULL, run_worker, &job))
		started++;
	work(&job, dwarf->handle);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&job.lock);
	for (size_t i = 0; i < dwarf->unit_count; i++)
		dwarf->units[i].is_wanted = 0;
	sonde_index_sort(index);
	return job.error;
}
