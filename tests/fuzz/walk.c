/* walk.c: checks the promises of session.h over a whole recording: ids are in range or 0, texts end, chains reach a
 * root, and pointers lead to as many values as are counted. Values that are only read (a text's bytes, a column's
 * values) are added to a sum, so that a sanitizer sees each read. */
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fold/hist.h"
#include "session/session.h"

#define CHECK(promise)                                                                                \
	do {                                                                                          \
		if (!(promise)) {                                                                     \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #promise); \
			abort();                                                                      \
		}                                                                                     \
	} while (0)

#define CHAINS_MAX 10000

static volatile uint64_t sink;

static void text(const char *bytes)
{
	CHECK(bytes);
	sink += strlen(bytes);
}

static void walk_ids(const struct sonde_session *session)
{
	uint32_t processes = (uint32_t)sonde_session_process_count(session);
	uint32_t threads = (uint32_t)sonde_session_thread_count(session);
	for (uint32_t id = 1; id <= processes; id++) {
		const struct sonde_process *row = sonde_session_process(session, id);
		CHECK(row && row->id == id && row->parent < id);
		text(row->name);
		text(row->command);
	}
	for (uint32_t id = 1; id <= threads; id++) {
		const struct sonde_thread *row = sonde_session_thread(session, id);
		CHECK(row && row->id == id && row->process <= processes);
		text(row->name);
	}
	for (uint32_t id = 1; id <= sonde_session_module_count(session); id++) {
		const struct sonde_module *row = sonde_session_module(session, id);
		CHECK(row && row->id == id && row->process <= processes && *row->name);
		text(row->path);
		text(row->build_id);
	}
	for (uint32_t id = 1; id <= sonde_session_site_count(session); id++) {
		const struct sonde_site *row = sonde_session_site(session, id);
		CHECK(row && row->id == id);
		text(row->name);
		text(row->function);
		text(row->file);
		text(row->unit);
	}
	CHECK(!sonde_session_process(session, 0) && !sonde_session_process(session, processes + 1));
	CHECK(!sonde_session_thread(session, 0) && !sonde_session_thread(session, threads + 1));
}

static void walk_lists(const struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	CHECK(run->root_process <= sonde_session_process_count(session));
	CHECK(run->damaged_b <= run->file_b && run->damaged_at <= run->file_b);
	for (size_t i = 0; i < sonde_session_info_count(session); i++) {
		const char *key, *value;
		sonde_session_info_at(session, i, &key, &value);
		text(value);
		CHECK(sonde_session_info(session, key));
	}
	for (size_t i = 0; i < sonde_session_source_count(session); i++) {
		const struct sonde_source_row *row = sonde_session_source(session, i);
		text(row->name);
		text(row->method);
		text(row->detail);
	}
	for (size_t i = 0; i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *row = sonde_session_lost(session, i);
		text(row->source);
		text(row->cause);
		CHECK(row->thread <= sonde_session_thread_count(session));
	}
	for (size_t i = 0; i < sonde_session_cost_count(session); i++)
		text(sonde_session_cost(session, i)->what);
	for (size_t i = 0; i < sonde_session_histogram_count(session); i++) {
		const struct sonde_histogram *row = sonde_session_histogram(session, i);
		CHECK(row->site <= sonde_session_site_count(session));
		for (size_t bucket = 0; bucket < SONDE_HIST_BUCKETS; bucket++)
			sink += row->hits[bucket];
	}
}

static void walk_stacks(const struct sonde_session *session)
{
	size_t modules = sonde_session_module_count(session);
	size_t functions = sonde_session_function_count(session);
	for (uint32_t i = 0; i < sonde_session_frame_count(session); i++) {
		const struct sonde_frame *frame = sonde_session_frame(session, i);
		CHECK(frame->module <= modules && frame->location_count >= 1);
		for (uint32_t k = 0; k < frame->location_count; k++) {
			CHECK(frame->locations[k].function >= 1 && frame->locations[k].function <= functions);
			text(frame->locations[k].file);
		}
	}
	for (uint32_t id = 1; id <= functions; id++) {
		const struct sonde_function *row = sonde_session_function(session, id);
		CHECK(row->id == id && row->module <= modules && *row->name);
		text(row->name);
		text(row->file);
	}
	for (uint32_t id = 1; id <= sonde_session_node_count(session); id++) {
		const struct sonde_node *node = sonde_session_node(session, id);
		CHECK(node->parent < id && node->frame < sonde_session_frame_count(session));
		for (uint32_t at = id < CHAINS_MAX ? id : 0; at; at = sonde_session_node(session, at)->parent)
			sink++;
	}
}

static void walk_samples(const struct sonde_session *session, const struct sonde_batch *batch,
			 struct walk_counts *counts)
{
	counts->samples += batch->count;
	for (size_t i = 0; i < batch->count; i++) {
		CHECK(batch->samples.thread[i] <= sonde_session_thread_count(session));
		CHECK(batch->samples.stack[i] <= sonde_session_node_count(session));
		sink += batch->samples.time_ns[i] + batch->samples.status[i] + batch->samples.weight_ns[i];
	}
}

static void walk_switches(const struct sonde_session *session, const struct sonde_batch *batch,
			  struct walk_counts *counts)
{
	counts->switches += batch->count;
	for (size_t i = 0; i < batch->count; i++) {
		CHECK(batch->switches.thread[i] <= sonde_session_thread_count(session));
		CHECK(batch->switches.by[i] <= sonde_session_thread_count(session));
		sink += batch->switches.time_ns[i] + batch->switches.kind[i] + batch->switches.cpu[i] +
			batch->switches.waited_ns[i];
	}
}

static void walk_series(const struct sonde_session *session, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		CHECK(batch->series.series[i] <= sonde_session_series_count(session));
		sink += batch->series.time_ns[i] + (uint64_t)batch->series.value[i];
	}
}

static void walk_waits(const struct sonde_session *session, const struct sonde_batch *batch)
{
	size_t threads = sonde_session_thread_count(session);
	for (size_t i = 0; i < batch->count; i++) {
		CHECK(batch->waits.thread[i] <= threads && batch->waits.other[i] <= threads);
		CHECK(batch->waits.stack[i] <= sonde_session_node_count(session));
		CHECK(batch->waits.object[i] <= sonde_session_object_count(session));
		sink += batch->waits.start_ns[i] + batch->waits.dur_ns[i] + batch->waits.kind[i] +
			batch->waits.status[i] + batch->waits.amount[i];
	}
}

static void walk_call_stacks(const struct sonde_session *session, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		CHECK(batch->call_stacks.thread[i] <= sonde_session_thread_count(session));
		CHECK(batch->call_stacks.stack[i] <= sonde_session_node_count(session));
		sink +=
		    batch->call_stacks.time_ns[i] + batch->call_stacks.correlation[i] + batch->call_stacks.status[i];
	}
}

static void walk_activities(const struct sonde_session *session, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		uint64_t start_ns = batch->activities.start_ns[i];
		CHECK(batch->activities.thread[i] <= sonde_session_thread_count(session));
		CHECK(batch->activities.operation[i] <= sonde_session_operation_count(session));
		CHECK(batch->activities.queue[i] <= sonde_session_queue_count(session));
		CHECK(batch->activities.dur_ns[i] <= UINT64_MAX - start_ns);
		CHECK(!batch->activities.queued_ns[i] || batch->activities.queued_ns[i] - 1 <= start_ns);
		CHECK(!batch->activities.submitted_ns[i] || batch->activities.submitted_ns[i] - 1 <= start_ns);
		sink += batch->activities.correlation[i] + batch->activities.size_b[i] + batch->activities.address[i];
	}
}

static void walk_zones(const struct sonde_session *session, const struct sonde_batch *batch, struct walk_counts *counts)
{
	counts->zones += batch->count;
	for (size_t i = 0; i < batch->count; i++) {
		CHECK(batch->zones.site[i] <= sonde_session_site_count(session));
		CHECK(batch->zones.self_ns[i] <= batch->zones.dur_ns[i]);
		sink += batch->zones.start_ns[i] + batch->zones.depth[i];
		counts->unfinished += batch->zones.flags[i] & SONDE_ZONE_UNFINISHED;
	}
}

static void walk_events(const struct sonde_session *session, const struct sonde_batch *batch,
			struct walk_counts *counts)
{
	counts->events += batch->count;
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_event *event = batch->events[i];
		CHECK(event->site <= sonde_session_site_count(session) && event->words >= 2);
		CHECK((uintptr_t)event % 8 == 0);
		for (size_t at = 0; at < (size_t)event->words * 8; at++)
			sink += ((const uint8_t *)event)[at];
		if (event->type == SONDE_EVENT_MESSAGE)
			CHECK(((const struct sonde_event_text *)event)->len_b <= (size_t)event->words * 8 - 24);
	}
}

static void walk_blocks(const struct sonde_session *session, const struct sonde_batch *batch,
			struct walk_counts *counts)
{
	counts->blocks += batch->count;
	CHECK(batch->heap.id <= sonde_session_heap_count(session) && batch->heap.time_every);
	for (size_t i = 0; i < batch->count; i++) {
		CHECK(batch->heap.thread[i] <= sonde_session_thread_count(session));
		CHECK(batch->heap.site[i] <= sonde_session_heap_site_count(session));
		CHECK(batch->heap.ends[i] <= 1);
		sink += batch->heap.time_ns[i] + batch->heap.size_b[i];
	}
}

static void walk_devices(const struct sonde_session *session)
{
	size_t devices = sonde_session_device_count(session);
	for (uint32_t id = 1; id <= devices; id++) {
		const struct sonde_device *row = sonde_session_device(session, id);
		CHECK(row && row->same <= devices);
		text(row->api);
		text(row->name);
		text(row->uuid);
		text(row->driver);
	}
	for (uint32_t id = 1; id <= sonde_session_queue_count(session); id++)
		text(sonde_session_queue(session, id)->name);
	for (uint32_t id = 1; id <= sonde_session_operation_count(session); id++) {
		const struct sonde_operation *row = sonde_session_operation(session, id);
		CHECK(!row->kind || sonde_activity_row(row->kind)->name);
		text(row->name);
	}
}

static void walk_heap_ids(const struct sonde_session *session)
{
	size_t heaps = sonde_session_heap_count(session), sites = sonde_session_heap_site_count(session);
	for (uint32_t id = 1; id <= heaps; id++) {
		const struct sonde_heap *row = sonde_session_heap(session, id);
		CHECK(row && row->process <= sonde_session_process_count(session));
		text(row->name);
	}
	for (uint32_t id = 1; id <= sites; id++) {
		const struct sonde_heap_site *row = sonde_session_heap_site(session, id);
		CHECK(row && row->heap <= heaps && row->thread <= sonde_session_thread_count(session));
		CHECK(row->stack <= sonde_session_node_count(session));
	}
	for (size_t i = 0; i < sonde_session_heap_remainder_count(session); i++) {
		CHECK(sonde_session_heap_remainder(session, i)->site <= sites);
		text(sonde_session_heap_remainder(session, i)->detail);
	}
	for (size_t i = 0; i < sonde_session_snapshot_count(session); i++) {
		CHECK(sonde_session_snapshot(session, i)->process <= sonde_session_process_count(session));
		text(sonde_session_snapshot(session, i)->label);
	}
}

static void walk_snapshots(struct sonde_session *session)
{
	enum { ROWS = 16 };
	struct sonde_heap_moment rows[ROWS] = {0};
	size_t count = sonde_session_snapshot_count(session) < ROWS ? sonde_session_snapshot_count(session) : ROWS;
	for (size_t i = 0; i < count; i++) {
		rows[i].process = sonde_session_snapshot(session, i)->process;
		rows[i].time_ns = sonde_session_snapshot(session, i)->time_ns;
	}
	sonde_session_heap_moments(session, rows, count);
	for (size_t i = 0; i < count; i++)
		sink += rows[i].live.size_b + rows[i].mapped_b;
}

/* Of all, of the middle, of one thread. */
static void walk_heaps(struct sonde_session *session)
{
	enum { STEPS = 5 };
	const struct sonde_run *run = sonde_session_run(session);
	uint64_t third_ns = run->wall_ns / 3;
	uint8_t *thread = calloc(sonde_session_thread_count(session) + 2, 1);
	struct sonde_heap_alive *alive = calloc(sonde_session_heap_site_count(session) + 1, sizeof *alive);
	CHECK(thread && alive);
	thread[1] = 1;
	const struct sonde_selection ranges[] = {{run->start_ns, run->end_ns, NULL},
						 {run->start_ns + third_ns, run->start_ns + 2 * third_ns, NULL},
						 {run->start_ns, run->end_ns, thread}};
	walk_heap_ids(session);
	walk_snapshots(session);
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		struct sonde_heap_sums sums;
		struct sonde_heap_interval rows[STEPS];
		sonde_session_heap_sums_of(session, i ? &ranges[i] : NULL, &sums);
		for (size_t site = 0; sums.sites && site <= sonde_session_heap_site_count(session); site++)
			sink += sums.sites[site].begun_b + sums.sites[site].peak_b;
		sonde_heap_sums_free(&sums);
		for (uint32_t heap = 0; heap <= sonde_session_heap_count(session) && heap < 3; heap++)
			sonde_session_heap_timeline(session, heap, &ranges[i], rows, STEPS);
	}
	sonde_session_heap_alive(session, run->start_ns + third_ns, alive);
	free(alive);
	free(thread);
}

static void walk_batch(const struct sonde_session *session, const struct sonde_batch *batch, struct walk_counts *counts)
{
	CHECK(batch->process <= sonde_session_process_count(session));
	CHECK(batch->thread <= sonde_session_thread_count(session));
	if (batch->type == SONDE_CHUNK_ZONES)
		walk_zones(session, batch, counts);
	else if (batch->type == SONDE_CHUNK_EVENTS)
		walk_events(session, batch, counts);
	else if (batch->type == SONDE_CHUNK_HEAP)
		walk_blocks(session, batch, counts);
	else if (batch->type == SONDE_CHUNK_SERIES)
		walk_series(session, batch);
	else if (batch->type == SONDE_CHUNK_WAITS)
		walk_waits(session, batch);
	else if (batch->type == SONDE_CHUNK_ACTIVITIES)
		walk_activities(session, batch);
	else if (batch->type == SONDE_CHUNK_CALL_STACKS)
		walk_call_stacks(session, batch);
	else if (batch->type == SONDE_CHUNK_SAMPLES)
		walk_samples(session, batch, counts);
	else
		walk_switches(session, batch, counts);
}

int walk(const char *path, struct walk_counts *counts)
{
	struct walk_counts spare;
	struct sonde_session *session;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	counts = counts ? counts : &spare;
	*counts = (struct walk_counts){0};
	int rc = sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1});
	if (rc)
		return rc;
	walk_ids(session);
	walk_lists(session);
	walk_devices(session);
	walk_stacks(session);
	rc = sonde_cursor_open(&cursor, session, ~0u);
	if (!rc) {
		for (int got; (got = sonde_cursor_next(cursor, &batch));) {
			if (got > 0)
				walk_batch(session, batch, counts);
			else
				counts->errors++;
		}
		sonde_cursor_close(cursor);
	}
	struct sonde_zone_stat *stats = calloc(sonde_session_site_count(session) + 1, sizeof *stats);
	CHECK(stats);
	sonde_session_zone_stats(session, stats);
	free(stats);
	walk_heaps(session);
	sonde_session_close(session);
	return rc;
}

int walk_bytes(const uint8_t *bytes, size_t size_b, struct walk_counts *counts)
{
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, bytes, size_b) == (ssize_t)size_b);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int rc = walk(path, counts);
	close(fd);
	return rc;
}
