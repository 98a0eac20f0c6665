/* read_devices.c: device queues as lanes: operations as slices, with an arrow from the requesting thread; and allocated
 * device memory as a curve.
 *
 * Overlapping operations of a queue get further lanes. The request time is the operation's own, if recorded; otherwise
 * the start of the API call with the same correlation id.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/device/memory.h"
#include "analyze/device/memory_kinds.h"
#include "session/device_labels.h"
#include "tiles/tiles_state.h"
#include "util/error.h"

#define MEMORY_SUB 0x80000000u /* distinguishes curves of devices from those of heaps */
#define POOLS_SUB 0xC0000000u  /* distinguishes curves of the reserves of device memory pools */

struct call {
	uint64_t correlation, start_ns;
	uint32_t process, thread;
};

/* An operation that gets an arrow once all calls are known. */
struct unasked {
	uint64_t correlation, start_ns;
	uint32_t process, queue;
};

struct list {
	void *all;
	size_t count, cap;
};

struct reading {
	struct sonde_tiles *tiles;
	struct sonde_tile_items items;
	uint32_t *names; /* by operation: index of its name, + 1; 0 = none yet */
	struct list calls, unasked;
};

/* Appends an element; NULL: no memory is left for it, and it is omitted. */
static void *list_add(struct reading *reading, struct list *list, size_t size_b)
{
	if (list->count == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 256, more_b = (cap - list->cap) * size_b;
		void *all = more_b > reading->tiles->room_b ? NULL : realloc(list->all, cap * size_b);
		if (!all)
			return NULL;
		reading->tiles->room_b -= more_b;
		list->all = all;
		list->cap = cap;
	}
	return (char *)list->all + size_b * list->count++;
}

static void list_fini(struct reading *reading, struct list *list, size_t size_b)
{
	reading->tiles->room_b += list->cap * size_b;
	free(list->all);
}

/* --- operations -------------------------------------------------------------------------------------------------- */

static int name_of(struct reading *reading, const struct sonde_operation *operation, uint32_t *name)
{
	uint32_t *known = &reading->names[operation->id];
	const char *text = *operation->name ? operation->name : sonde_activity_row(operation->kind)->name;
	int rc = *known ? 0 : sonde_tiles_name_of(reading->tiles, text ? text : "(unnamed)", 0, name);
	*known = *known || rc ? *known : *name + 1;
	*name = *known - 1;
	return rc;
}

static int take_requested(struct reading *reading, const struct sonde_batch *batch, size_t i, uint32_t process)
{
	uint64_t start_ns = batch->activities.start_ns[i];
	if (batch->activities.queued_ns[i] && batch->activities.thread[i])
		return sonde_tiles_arrow(
		    reading->tiles, &(struct sonde_tile_arrow_row){start_ns - (batch->activities.queued_ns[i] - 1),
								   start_ns, batch->activities.thread[i],
								   batch->activities.queue[i], SONDE_TILE_LAUNCHES});
	struct unasked *row =
	    batch->activities.correlation[i] ? list_add(reading, &reading->unasked, sizeof(struct unasked)) : NULL;
	if (row)
		*row =
		    (struct unasked){batch->activities.correlation[i], start_ns, process, batch->activities.queue[i]};
	return 0;
}

static int take_one(struct reading *reading, const struct sonde_batch *batch, size_t i)
{
	const struct sonde_session *session = reading->tiles->session;
	const struct sonde_operation *operation = sonde_session_operation(session, batch->activities.operation[i]);
	const struct sonde_queue *queue = sonde_session_queue(session, batch->activities.queue[i]);
	if (!operation || !operation->id)
		return 0;
	if (operation->kind == SONDE_ACTIVITY_API && batch->activities.correlation[i] && batch->activities.thread[i]) {
		struct call *call = list_add(reading, &reading->calls, sizeof *call);
		if (call)
			*call = (struct call){batch->activities.correlation[i], batch->activities.start_ns[i],
					      operation->process, batch->activities.thread[i]};
	}
	if (!queue || sonde_activity_row(operation->kind)->where != SONDE_ACTIVITY_ON_DEVICE)
		return 0;
	struct sonde_tile_item item = {.from_ns = batch->activities.start_ns[i],
				       .to_ns = batch->activities.start_ns[i] + batch->activities.dur_ns[i],
				       .process = queue->process,
				       .sub = queue->id};
	int rc = name_of(reading, operation, &item.name);
	rc = rc ? rc : sonde_tile_items_add(reading->tiles, &reading->items, item);
	return rc ? rc : take_requested(reading, batch, i, operation->process);
}

static int take(void *context, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++)
		rc = take_one(context, batch, i);
	return rc;
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static int by_correlation(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

static int add_arrows(struct reading *reading)
{
	const struct unasked *unasked = reading->unasked.all;
	int rc = 0;
	if (!reading->calls.count)
		return 0;
	qsort(reading->calls.all, reading->calls.count, sizeof(struct call), by_correlation);
	for (size_t i = 0; i < reading->unasked.count && !rc; i++) {
		const struct call wanted = {.correlation = unasked[i].correlation, .process = unasked[i].process};
		const struct call *call =
		    bsearch(&wanted, reading->calls.all, reading->calls.count, sizeof wanted, by_correlation);
		if (call && call->start_ns <= unasked[i].start_ns)
			rc = sonde_tiles_arrow(reading->tiles, &(struct sonde_tile_arrow_row){
								   call->start_ns, unasked[i].start_ns, call->thread,
								   unasked[i].queue, SONDE_TILE_LAUNCHES});
	}
	return rc;
}

/* --- lanes ------------------------------------------------------------------------------------------------------- */

static const char *device_label(struct sonde_tiles *tiles, uint32_t id)
{
	char label[SONDE_DEVICE_LABEL_MAX_B];
	sonde_device_label_put(tiles->session, id, label, sizeof label);
	return *label ? sonde_arena_printf(&tiles->arena, "%s", label) : "device";
}

/* The title of a queue's lane. The lane is shown below its process, so the title does not name the process. */
static const char *title_of(struct sonde_tiles *tiles, uint32_t id)
{
	char name[SONDE_DEVICE_LABEL_MAX_B];
	const char *device = device_label(tiles, sonde_session_queue(tiles->session, id)->device);
	/* the queue first, since long titles are truncated and device names are long */
	return device ? sonde_arena_printf(&tiles->arena, "%s of %s",
					   sonde_queue_name_put(tiles->session, id, name, sizeof name), device)
		      : NULL;
}

static int lay(struct reading *reading)
{
	struct sonde_tile_items *items = &reading->items;
	int rc = 0;
	sonde_tile_items_sort(items);
	for (size_t from = 0, to; from < items->count && !rc; from = to) {
		const struct sonde_tile_item *first = &items->all[from];
		for (to = from;
		     to < items->count && items->all[to].process == first->process && items->all[to].sub == first->sub;)
			to++;
		struct sonde_tile_items queue = {.all = &items->all[from], .count = to - from};
		const struct sonde_tile_of of = {.kind = SONDE_TILE_DEVICE,
						 .form = SONDE_TILE_SLICES,
						 .sub = first->sub,
						 .title = title_of(reading->tiles, first->sub)};
		rc = of.title ? sonde_tile_items_lay(reading->tiles, &queue, &of)
			      : sonde_error(ENOMEM, "out of memory for the name of a queue");
	}
	return rc;
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

struct change {
	uint64_t time_ns;
	double b;
};

static int by_time(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

static int add_changes(struct sonde_tiles *tiles, struct sonde_tile_lane_data *lane, const struct change *changes,
		       size_t count)
{
	double now_b = 0;
	int rc = 0;
	for (size_t i = 0, next; i < count && !rc; i = next) {
		for (next = i; next < count && changes[next].time_ns == changes[i].time_ns; next++)
			now_b += changes[next].b;
		uint64_t to_ns = next < count ? changes[next].time_ns : sonde_session_run(tiles->session)->end_ns;
		to_ns = to_ns > changes[i].time_ns ? to_ns : changes[i].time_ns;
		rc = sonde_tile_lane_piece(lane, (struct sonde_tile_piece){changes[i].time_ns, to_ns, now_b, now_b},
					   &tiles->room_b);
	}
	return rc;
}

static int add_curve(struct sonde_tiles *tiles, uint32_t sub, const struct sonde_device_block *blocks, size_t count)
{
	const struct sonde_device *device = sonde_session_device(tiles->session, blocks->device);
	const char *label = device ? device_label(tiles, blocks->device) : "a device";
	const struct sonde_tile_of of = {
	    .kind = SONDE_TILE_HEAP,
	    .form = SONDE_TILE_CURVE,
	    .process = device ? device->process : blocks->process,
	    .sub = sub | blocks->device,
	    .title = label ? sonde_arena_printf(&tiles->arena,
						sub == POOLS_SUB ? "memory in reserve on %s" : "memory of %s", label)
			   : NULL,
	    .unit = "B",
	};
	struct change *changes = calloc(2 * count, sizeof *changes);
	struct sonde_tile_lane_data *lane = changes && of.title ? sonde_tiles_lane_of(tiles, &of) : NULL;
	size_t changed = 0;
	for (size_t i = 0; lane && i < count; i++) {
		if (blocks[i].ended_ns <= blocks[i].begun_ns)
			continue;
		changes[changed++] = (struct change){blocks[i].begun_ns, (double)blocks[i].size_b};
		if (blocks[i].ended_ns != UINT64_MAX)
			changes[changed++] = (struct change){blocks[i].ended_ns, -(double)blocks[i].size_b};
	}
	if (changed)
		qsort(changes, changed, sizeof *changes, by_time);
	int rc = lane ? add_changes(tiles, lane, changes, changed)
		      : sonde_error(ENOMEM, "out of memory for the memory of a device");
	free(changes);
	return rc;
}

static int add_curves(struct sonde_tiles *tiles, uint32_t sub, const struct sonde_device_blocks *blocks)
{
	int rc = 0;
	for (size_t from = 0, to; from < blocks->count && !rc; from = to) {
		uint32_t device = blocks->all[from].device;
		size_t own = from;
		for (to = from; to < blocks->count && blocks->all[to].device == device; to++)
			own += !sonde_memory_is_host(blocks->all[to].kind);
		rc = own > from ? add_curve(tiles, sub, &blocks->all[from], own - from) : 0;
	}
	return rc;
}

static int add_memory(struct sonde_tiles *tiles, const struct sonde_device_times *times)
{
	struct sonde_device_blocks blocks = {0}, pools = {0};
	int rc = sonde_device_blocks_read(&blocks, times);
	rc = rc ? rc : add_curves(tiles, MEMORY_SUB, &blocks);
	rc = rc ? rc : sonde_device_pools_read(&pools, times);
	rc = rc ? rc : add_curves(tiles, POOLS_SUB, &pools);
	sonde_device_blocks_fini(&blocks);
	sonde_device_blocks_fini(&pools);
	return rc;
}

static int take_memory(void *context, const struct sonde_batch *batch)
{
	return sonde_device_times_feed(context, batch);
}

static int read_memory(struct sonde_tiles *tiles)
{
	static const struct sonde_pass_options all;
	struct sonde_device_times times = {0};
	int rc = sonde_device_times_begin(&times, tiles->session, &all);
	if (rc)
		return rc;
	times.kinds = 1u << SONDE_ACTIVITY_ALLOC | 1u << SONDE_ACTIVITY_FREE | 1u << SONDE_ACTIVITY_POOL;
	rc = sonde_tiles_walk(tiles, 1u << SONDE_CHUNK_ACTIVITIES, take_memory, &times);
	sonde_device_times_sort(&times);
	rc = rc ? rc : add_memory(tiles, &times);
	sonde_device_times_end(&times);
	return rc;
}

int sonde_tile_read_devices(struct sonde_tiles *tiles)
{
	struct reading reading = {.tiles = tiles};
	size_t operations = sonde_session_operation_count(tiles->session);
	if (!operations)
		return 0;
	reading.names = calloc(operations + 1, sizeof *reading.names);
	int rc = reading.names ? sonde_tiles_walk(tiles, 1u << SONDE_CHUNK_ACTIVITIES, take, &reading)
			       : sonde_error(ENOMEM, "out of memory for %zu names", operations);
	rc = rc ? rc : lay(&reading);
	rc = rc ? rc : add_arrows(&reading);
	sonde_tile_items_fini(tiles, &reading.items);
	list_fini(&reading, &reading.calls, sizeof(struct call));
	list_fini(&reading, &reading.unasked, sizeof(struct unasked));
	free(reading.names);
	return rc ? rc : read_memory(tiles);
}
