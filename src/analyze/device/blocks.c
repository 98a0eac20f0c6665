/* blocks.c: pairs allocating and freeing calls into blocks (device/memory.h). */
#include <errno.h>
#include <stdlib.h>

#include "analyze/device/memory.h"
#include "analyze/device/memory_kinds.h"
#include "base/order.h"
#include "sonde/device.h"
#include "util/error.h"

void sonde_device_blocks_fini(struct sonde_device_blocks *blocks)
{
	free(blocks->all);
	*blocks = (struct sonde_device_blocks){0};
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

struct call {
	uint64_t time_ns, address, size_b;
	uint32_t process, operation, queue;
	uint8_t kind, is_free;
};

/* Sorts a free before the next allocation of the same address. */
static int by_address(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	int by = sonde_order(a->process, b->process);
	by = by ? by : sonde_order(a->address, b->address);
	by = by ? by : sonde_order(a->time_ns, b->time_ns);
	by = by ? by : sonde_order(b->is_free, a->is_free);
	return by ? by : sonde_order(a->size_b, b->size_b);
}

#define KINDS_OF_BLOCKS (1u << SONDE_ACTIVITY_ALLOC | 1u << SONDE_ACTIVITY_FREE)
#define KINDS_OF_POOLS (1u << SONDE_ACTIVITY_POOL)

static size_t take_calls(struct call *calls, const struct sonde_device_times *times, uint32_t of_kinds,
			 uint64_t *unsized)
{
	size_t count = 0;
	for (size_t i = 0; i < times->count; i++) {
		const struct sonde_device_time *row = &times->rows[i];
		int is_free = row->kind == SONDE_ACTIVITY_FREE;
		if (!(of_kinds >> row->kind & 1))
			continue;
		if (!row->address || (row->kind == SONDE_ACTIVITY_ALLOC && !row->size_b)) {
			*unsized += !is_free;
			continue;
		}
		const struct sonde_operation *operation = sonde_session_operation(times->session, row->operation);
		calls[count++] = (struct call){is_free ? row->start_ns : row->end_ns,
					       row->address,
					       row->size_b,
					       operation->process,
					       row->operation,
					       row->queue,
					       sonde_memory_kind(operation->to),
					       (uint8_t)is_free};
	}
	qsort(calls, count, sizeof *calls, by_address);
	return count;
}

/* By process id: the process's only device; 0 = none, UINT32_MAX = several. */
static uint32_t *only_devices(const struct sonde_session *session)
{
	size_t count = sonde_session_process_count(session);
	uint32_t *only = calloc(count + 1, sizeof *only);
	for (uint32_t id = 1; only && id <= sonde_session_device_count(session); id++) {
		const struct sonde_device *device = sonde_session_device(session, id);
		if (!device || device->process > count)
			continue;
		uint32_t *known = &only[device->process];
		*known = !*known || *known == device->same ? device->same : UINT32_MAX;
	}
	return only;
}

/* The device whose memory a call allocates or frees: the device of the operation, else of the call's queue; 0 =
 * unknown. */
static uint32_t device_of(const struct sonde_session *session, const struct call *call)
{
	const struct sonde_operation *operation = sonde_session_operation(session, call->operation);
	uint32_t reported = operation ? sonde_device_same(session, operation->to_device) : 0;
	return reported ? reported : sonde_device_of_queue(session, call->queue);
}

static void pair(struct sonde_device_blocks *out, const struct sonde_device_times *times, const struct call *calls,
		 size_t count, const uint32_t *only)
{
	size_t processes = sonde_session_process_count(times->session);
	for (size_t i = 0; i < count; i++) {
		const struct call *call = &calls[i], *next = i + 1 < count ? call + 1 : NULL;
		const struct call *before = i ? call - 1 : NULL;
		if (call->is_free) {
			int is_paired = before && !before->is_free && before->process == call->process &&
					before->address == call->address;
			out->unknown_frees += !is_paired;
			continue;
		}
		/* If the address is allocated again without a recorded free, the block must have been freed by then. */
		int is_ended = next && next->process == call->process && next->address == call->address;
		uint32_t device = device_of(times->session, call);
		uint32_t sole = call->process <= processes ? only[call->process] : 0;
		if (!device && sole != UINT32_MAX)
			device = sole;
		out->all[out->count++] =
		    (struct sonde_device_block){call->time_ns, is_ended ? next->time_ns : UINT64_MAX,
						call->size_b,  call->address,
						call->process, call->operation,
						device,        call->kind};
	}
}

static int by_device(const void *left, const void *right)
{
	const struct sonde_device_block *a = left, *b = right;
	int by = sonde_order(a->device, b->device);
	by = by ? by : sonde_memory_is_host(a->kind) - sonde_memory_is_host(b->kind);
	by = by ? by : sonde_order(a->kind, b->kind);
	by = by ? by : sonde_order(a->begun_ns, b->begun_ns);
	by = by ? by : sonde_order(a->address, b->address);
	return by ? by : sonde_order(a->process, b->process);
}

static int read_kinds(struct sonde_device_blocks *out, const struct sonde_device_times *times, uint32_t of_kinds)
{
	size_t most = 0;
	for (size_t i = 0; i < times->count; i++)
		most += of_kinds >> times->rows[i].kind & 1;
	struct call *calls = calloc(most + 1, sizeof *calls);
	uint32_t *only = only_devices(times->session);
	*out = (struct sonde_device_blocks){.all = calloc(most + 1, sizeof *out->all)};
	int rc = calls && only && out->all ? 0 : sonde_error(ENOMEM, "out of memory for %zu allocations", most);
	if (!rc) {
		size_t count = take_calls(calls, times, of_kinds, &out->unsized);
		pair(out, times, calls, count, only);
		qsort(out->all, out->count, sizeof *out->all, by_device);
	} else {
		sonde_device_blocks_fini(out);
	}
	free(calls);
	free(only);
	return rc;
}

int sonde_device_blocks_read(struct sonde_device_blocks *out, const struct sonde_device_times *times)
{
	return read_kinds(out, times, KINDS_OF_BLOCKS);
}

int sonde_device_pools_read(struct sonde_device_blocks *out, const struct sonde_device_times *times)
{
	return read_kinds(out, times, KINDS_OF_POOLS);
}

/* --- over time --------------------------------------------------------------------------------------------------- */

struct change {
	uint64_t time_ns, size_b;
	int is_end;
};

static int by_time(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	int by = sonde_order(a->time_ns, b->time_ns);
	return by ? by : b->is_end - a->is_end;
}

int sonde_device_block_lives(const struct sonde_device_block *block, uint64_t at_ns)
{
	return block->begun_ns <= at_ns && at_ns < block->ended_ns;
}

int sonde_device_peak_of(struct sonde_device_peak *out, const struct sonde_device_block *blocks, size_t count,
			 const struct sonde_window *window)
{
	struct change *changes = calloc(2 * count + 1, sizeof *changes);
	size_t changed = 0;
	uint64_t now_b = 0;
	if (!changes)
		return sonde_error(ENOMEM, "out of memory for %zu allocations", count);
	*out = (struct sonde_device_peak){.peak_ns = window->from_ns};
	for (size_t i = 0; i < count; i++) {
		const struct sonde_device_block *block = &blocks[i];
		int is_begun = block->begun_ns >= window->from_ns && block->begun_ns <= window->to_ns;
		int lives = sonde_device_block_lives(block, window->to_ns);
		out->begun += (uint64_t)is_begun;
		out->begun_b += is_begun ? block->size_b : 0;
		out->end += (uint64_t)lives;
		out->end_b += lives ? block->size_b : 0;
		if (block->begun_ns > window->to_ns || block->ended_ns <= block->begun_ns)
			continue;
		changes[changed++] = (struct change){block->begun_ns, block->size_b, 0};
		if (block->ended_ns <= window->to_ns)
			changes[changed++] = (struct change){block->ended_ns, block->size_b, 1};
	}
	qsort(changes, changed, sizeof *changes, by_time);
	for (size_t i = 0; i < changed; i++) {
		now_b = changes[i].is_end ? now_b - changes[i].size_b : now_b + changes[i].size_b;
		int is_over = i + 1 < changed && changes[i + 1].time_ns <= window->from_ns;
		if (is_over || now_b <= out->peak_b)
			continue;
		out->peak_b = now_b;
		out->peak_ns = changes[i].time_ns > window->from_ns ? changes[i].time_ns : window->from_ns;
	}
	free(changes);
	return 0;
}
