/* heap_memory.c: reads many pieces with one call, and passes over pages that cannot be read (heap_memory.h). */
#include "source/heap_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"

#define PIECES 512u
#define ENTRIES 512u /* of the page map, read at once */
#define IN_MEMORY (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define OF_FILE (UINT64_C(1) << 61)

void sonde_heap_memory_open(struct sonde_heap_memory *memory, pid_t pid, uint64_t deadline_ns)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
	*memory = (struct sonde_heap_memory){
	    .pid = pid, .page_b = (uint64_t)sysconf(_SC_PAGESIZE), .deadline_ns = deadline_ns};
	memory->page_map = open(path, O_RDONLY | O_CLOEXEC);
}

void sonde_heap_memory_close(struct sonde_heap_memory *memory)
{
	if (memory->page_map >= 0)
		close(memory->page_map);
}

/* Pieces that are still to be read, the first of them from `start` on. */
struct rest {
	const struct sonde_heap_extent *pieces;
	size_t count;
	uint64_t start;
	uint8_t *out;
};

static void pass(struct rest *rest, uint64_t size_b)
{
	rest->out += size_b;
	while (rest->count && size_b >= rest->pieces->end - rest->start) {
		size_b -= rest->pieces->end - rest->start;
		rest->pieces++;
		rest->count--;
		rest->start = rest->count ? rest->pieces->start : 0;
	}
	rest->start += size_b;
}

static ssize_t read_some(const struct sonde_heap_memory *memory, const struct rest *rest)
{
	struct iovec remote[PIECES], local = {rest->out, 0};
	size_t count = rest->count < PIECES ? rest->count : PIECES;
	for (size_t i = 0; i < count; i++) {
		uint64_t start = i ? rest->pieces[i].start : rest->start;
		size_t size_b = (size_t)(rest->pieces[i].end - start);
		/* NOLINT: an address of another process */
		remote[i] = (struct iovec){(void *)(uintptr_t)start, size_b};
		local.iov_len += size_b;
	}
	return process_vm_readv(memory->pid, &local, 1, remote, count, 0);
}

int sonde_heap_memory_read(void *context, const struct sonde_heap_extent *pieces, size_t count, void *out)
{
	struct sonde_heap_memory *memory = context;
	struct rest rest = {pieces, count, count ? pieces->start : 0, out};
	if (sonde_clock_now_ns() > memory->deadline_ns)
		return -ETIMEDOUT;
	while (rest.count) {
		ssize_t got_b = read_some(memory, &rest);
		if (got_b > 0) {
			memory->read_b += (uint64_t)got_b;
			pass(&rest, (uint64_t)got_b);
			continue;
		}
		if (got_b < 0 && errno != EFAULT)
			return -errno;
		uint64_t left_b = rest.pieces->end - rest.start, page_b = memory->page_b - rest.start % memory->page_b;
		uint64_t gap_b = left_b < page_b ? left_b : page_b;
		memset(rest.out, 0, gap_b);
		pass(&rest, gap_b);
	}
	return 0;
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
	for (uint64_t page = extent.start / memory->page_b; page * memory->page_b < extent.end;) {
		uint64_t left = (extent.end - 1) / memory->page_b + 1 - page, wanted = left < ENTRIES ? left : ENTRIES;
		ssize_t got_b =
		    pread(memory->page_map, entries, wanted * sizeof *entries, (off_t)(page * sizeof *entries));
		if (got_b < (ssize_t)sizeof *entries)
			return found.start < extent.end ? found : extent; /* nobody knows: all of it */
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
