/* memory.c: reads many pieces with one call, and skips unreadable pages (heap/memory.h). */
#include "source/heap/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"

#define PIECES 512u
#define WINDOW_B UINT64_C(65536)
#define WINDOWS_LEAST 4096u
#define PART 16u      /* the cache may take 1 / PART of the machine's memory */
#define SMALL_B 4096u /* maximum size of a small piece */
#define FEW 8u        /* pieces */
#define ENTRIES 512u  /* page map entries per read */
#define IN_MEMORY (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define OF_FILE (UINT64_C(1) << 61)

/* From <linux/fs.h>, since Linux 6.7. */
struct page_region {
	uint64_t start, end, categories;
};
struct page_scan {
	uint64_t size_b, flags, start, end, walk_end, regions, region_count, page_most;
	uint64_t inverted, all_of, any_of, recorded;
};
_Static_assert(sizeof(struct page_scan) == 96, "struct pm_scan_arg");
#define PAGE_SCAN _IOWR('f', 16, struct page_scan)
#define PAGE_OF_FILE (UINT64_C(1) << 2)
#define PAGE_IN_MEMORY (UINT64_C(1) << 3)
#define PAGE_SWAPPED (UINT64_C(1) << 4)

/* Allocates the cache; if out of memory, there is none. */
static void keep(struct sonde_heap_memory *memory)
{
	uint64_t all_b = (uint64_t)sysconf(_SC_PHYS_PAGES) * memory->page_b;
	memory->window_count = (size_t)(all_b / PART / WINDOW_B);
	if (memory->window_count < WINDOWS_LEAST)
		memory->window_count = WINDOWS_LEAST;
	size_t cache_b = memory->window_count * WINDOW_B;
	void *windows = mmap(NULL, cache_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	memory->in_them = calloc(memory->window_count, sizeof *memory->in_them);
	if (windows != MAP_FAILED && memory->in_them)
		memory->windows = windows;
	else if (windows != MAP_FAILED)
		munmap(windows, cache_b);
}

void sonde_heap_memory_open(struct sonde_heap_memory *memory, pid_t pid, uint64_t heap_b, uint64_t deadline_ns)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
	*memory = (struct sonde_heap_memory){
	    .pid = pid, .page_b = (uint64_t)sysconf(_SC_PAGESIZE), .deadline_ns = deadline_ns};
	memory->page_map = open(path, O_RDONLY | O_CLOEXEC);
	keep(memory);
	memory->is_small = heap_b <= memory->window_count * WINDOW_B / 2; /* half: blocks are not adjacent */
}

void sonde_heap_memory_close(struct sonde_heap_memory *memory)
{
	if (memory->page_map >= 0)
		close(memory->page_map);
	if (memory->windows)
		munmap(memory->windows, memory->window_count * WINDOW_B);
	free(memory->in_them);
}

/* The pieces that are still to be read; `start`: where to continue in the first of them. */
struct remainder {
	const struct sonde_heap_extent *pieces;
	size_t count;
	uint64_t start;
	uint8_t *out;
};

static void pass(struct remainder *remainder, uint64_t size_b)
{
	remainder->out += size_b;
	while (remainder->count && size_b >= remainder->pieces->end - remainder->start) {
		size_b -= remainder->pieces->end - remainder->start;
		remainder->pieces++;
		remainder->count--;
		remainder->start = remainder->count ? remainder->pieces->start : 0;
	}
	remainder->start += size_b;
}

static ssize_t read_some(const struct sonde_heap_memory *memory, const struct remainder *remainder)
{
	struct iovec remote[PIECES], local = {remainder->out, 0};
	size_t count = remainder->count < PIECES ? remainder->count : PIECES;
	for (size_t i = 0; i < count; i++) {
		uint64_t start = i ? remainder->pieces[i].start : remainder->start;
		size_t size_b = (size_t)(remainder->pieces[i].end - start);
		/* NOLINT: an address of another process */
		remote[i] = (struct iovec){(void *)(uintptr_t)start, size_b};
		local.iov_len += size_b;
	}
	return process_vm_readv(memory->pid, &local, 1, remote, count, 0);
}

static int read_all(struct sonde_heap_memory *memory, const struct sonde_heap_extent *pieces, size_t count, void *out)
{
	struct remainder remainder = {pieces, count, count ? pieces->start : 0, out};
	while (remainder.count) {
		ssize_t got_b = read_some(memory, &remainder);
		if (got_b > 0) {
			memory->read_b += (uint64_t)got_b;
			pass(&remainder, (uint64_t)got_b);
			continue;
		}
		if (got_b < 0 && errno != EFAULT)
			return -errno;
		uint64_t left_b = remainder.pieces->end - remainder.start,
			 page_b = memory->page_b - remainder.start % memory->page_b;
		uint64_t gap_b = left_b < page_b ? left_b : page_b;
		memset(remainder.out, 0, gap_b);
		pass(&remainder, gap_b);
	}
	return 0;
}

/* The cached window that contains an address, read if missing; NULL with *code set. */
static const uint8_t *window_of(struct sonde_heap_memory *memory, uint64_t address, int *code)
{
	uint64_t number = address / WINDOW_B;
	size_t at = number % memory->window_count;
	struct sonde_heap_extent extent = {number * WINDOW_B, (number + 1) * WINDOW_B};
	uint8_t *window = memory->windows + at * WINDOW_B;
	if (memory->in_them[at] == number + 1)
		return window;
	memory->in_them[at] = 0;
	*code = read_all(memory, &extent, 1, window);
	if (*code)
		return NULL;
	memory->in_them[at] = number + 1;
	return window;
}

static int read_kept(struct sonde_heap_memory *memory, struct sonde_heap_extent piece, uint8_t *out)
{
	int code = 0;
	while (piece.start < piece.end) {
		const uint8_t *window = window_of(memory, piece.start, &code);
		uint64_t at_b = piece.start % WINDOW_B, left_b = piece.end - piece.start;
		uint64_t size_b = left_b < WINDOW_B - at_b ? left_b : WINDOW_B - at_b;
		if (!window)
			return code;
		memcpy(out, window + at_b, size_b);
		out += size_b;
		piece.start += size_b;
	}
	return 0;
}

int sonde_heap_memory_read(void *context, const struct sonde_heap_extent *pieces, size_t count, void *out)
{
	struct sonde_heap_memory *memory = context;
	int keeps = memory->windows && (memory->is_small || count <= FEW), code = 0;
	uint8_t *at = out;
	if (sonde_clock_now_ns() > memory->deadline_ns)
		return -ETIMEDOUT;
	for (size_t i = 0, next; !code && i < count; i = next) {
		uint64_t size_b = pieces[i].end - pieces[i].start;
		next = i + 1;
		if (keeps && size_b <= SMALL_B) {
			code = read_kept(memory, pieces[i], at);
		} else {
			while (next < count && !(keeps && pieces[next].end - pieces[next].start <= SMALL_B)) {
				size_b += pieces[next].end - pieces[next].start;
				next++;
			}
			code = read_all(memory, pieces + i, next - i, at);
		}
		at += size_b;
	}
	return code;
}

/* Finds pages that are present by a request to the kernel, which quickly skips ranges without page tables (sanitizers
 * reserve terabytes). 0 if the kernel does not support this. */
static int find_present(const struct sonde_heap_memory *memory, struct sonde_heap_extent extent,
			struct sonde_heap_extent *out)
{
	struct page_region region = {0, 0, 0};
	struct page_scan scan = {.size_b = sizeof scan,
				 .start = extent.start & ~(memory->page_b - 1),
				 .end = (extent.end + memory->page_b - 1) & ~(memory->page_b - 1),
				 .regions = (uint64_t)(uintptr_t)&region,
				 .region_count = 1,
				 .inverted = PAGE_OF_FILE,
				 .all_of = PAGE_OF_FILE,
				 .any_of = PAGE_IN_MEMORY | PAGE_SWAPPED,
				 .recorded = PAGE_IN_MEMORY | PAGE_SWAPPED};
	int count = ioctl(memory->page_map, PAGE_SCAN, &scan);
	if (count < 0)
		return 0;
	*out = (struct sonde_heap_extent){extent.end, extent.end};
	if (count) {
		out->start = region.start > extent.start ? region.start : extent.start;
		out->end = region.end < extent.end ? region.end : extent.end;
	}
	return 1;
}

static int is_there(uint64_t entry)
{
	return entry & (IN_MEMORY | SWAPPED) && !(entry & OF_FILE);
}

struct sonde_heap_extent sonde_heap_memory_present(void *context, struct sonde_heap_extent extent)
{
	const struct sonde_heap_memory *memory = context;
	struct sonde_heap_extent found = {extent.end, extent.end};
	uint64_t entries[ENTRIES];
	if (sonde_clock_now_ns() <= memory->deadline_ns && find_present(memory, extent, &found))
		return found;
	for (uint64_t page = extent.start / memory->page_b; page * memory->page_b < extent.end;) {
		uint64_t left = (extent.end - 1) / memory->page_b + 1 - page, wanted = left < ENTRIES ? left : ENTRIES;
		ssize_t got_b =
		    pread(memory->page_map, entries, wanted * sizeof *entries, (off_t)(page * sizeof *entries));
		if (got_b < (ssize_t)sizeof *entries || sonde_clock_now_ns() > memory->deadline_ns)
			return found.start < extent.end ? found : extent; /* unknown: all of it */
		for (size_t i = 0; i < (size_t)got_b / sizeof *entries; i++, page++) {
			uint64_t start = page * memory->page_b > extent.start ? page * memory->page_b : extent.start;
			int there = is_there(entries[i]);
			if (there && found.start == extent.end)
				found.start = start;
			if (!there && found.start < extent.end) {
				found.end = start;
				return found;
			}
		}
	}
	return found;
}
