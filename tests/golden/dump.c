/* dump.c: prints what a recording holds, for comparison with the text beside a golden file. */
#include "dump.h"

#include <inttypes.h>
#include <stdlib.h>

#include "fold/hist.h"
#include "session/session.h"

static void dump_run(FILE *out, const struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	const struct sonde_file_head *head = sonde_session_head(session);
	fprintf(out, "head version %u.%u id %016" PRIx64 "%016" PRIx64 " start %" PRIu64 " real %" PRIu64 " arch %u\n",
		head->major, head->minor, head->id[0], head->id[1], head->start_mono_ns, head->start_real_ns,
		head->arch);
	fprintf(out,
		"run start %" PRIu64 " end %" PRIu64 " wall %" PRIu64 " user %" PRIu64 " system %" PRIu64
		" known %d closed %d status %d root %u\n",
		run->start_ns, run->end_ns, run->wall_ns, run->user_ns, run->system_ns, run->cpu_known, run->closed,
		run->status, run->root_process);
	fprintf(out, "damaged %" PRIu64 " skipped chunks %" PRIu64 " records %" PRIu64 "\n", run->damaged_b,
		run->skipped_chunks, run->skipped_records);
	for (size_t i = 0; i < sonde_session_info_count(session); i++) {
		const char *key, *value;
		sonde_session_info_at(session, i, &key, &value);
		fprintf(out, "info %s = %s\n", key, value);
	}
}

static void dump_ids(FILE *out, const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_process_count(session); id++) {
		const struct sonde_process *row = sonde_session_process(session, id);
		fprintf(out,
			"process %u pid %u parent %u '%s' '%s' %" PRIu64 "-%" PRIu64 " status %d user %" PRIu64
			" system %" PRIu64 " rss %" PRIu64 "\n",
			id, row->pid, row->parent, row->name, row->command, row->start_ns, row->end_ns, row->status,
			row->user_ns, row->system_ns, row->peak_rss_b);
	}
	for (uint32_t id = 1; id <= sonde_session_thread_count(session); id++) {
		const struct sonde_thread *row = sonde_session_thread(session, id);
		fprintf(out, "thread %u process %u tid %u '%s' %" PRIu64 "-%" PRIu64 " cpu %" PRIu64 "\n", id,
			row->process, row->tid, row->name, row->start_ns, row->end_ns, row->cpu_ns);
	}
	for (uint32_t id = 1; id <= sonde_session_module_count(session); id++) {
		const struct sonde_module *row = sonde_session_module(session, id);
		fprintf(out, "module %u '%s' '%s' flags %u process %u build-id '%s'\n", id, row->path, row->name,
			row->flags, row->process, row->build_id);
	}
	for (uint32_t id = 1; id <= sonde_session_site_count(session); id++) {
		const struct sonde_site *row = sonde_session_site(session, id);
		fprintf(out, "site %u kind %u '%s' %s %s:%u color %06x unit '%s'\n", id, row->kind, row->name,
			row->function, row->file, row->line, row->color, row->unit);
	}
}

static void dump_lists(FILE *out, const struct sonde_session *session)
{
	for (size_t i = 0; i < sonde_session_source_count(session); i++) {
		const struct sonde_source_row *row = sonde_session_source(session, i);
		fprintf(out, "source %s state %u '%s' '%s' %g Hz, %g Hz\n", row->name, row->state, row->method,
			row->detail, row->rate_hz, row->effective_hz);
	}
	for (size_t i = 0; i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *row = sonde_session_lost(session, i);
		fprintf(out, "lost %s '%s' process %u thread %u count %" PRIu64 "\n", row->source, row->cause,
			row->process, row->thread, row->count);
	}
	for (size_t i = 0; i < sonde_session_cost_count(session); i++) {
		const struct sonde_cost *row = sonde_session_cost(session, i);
		fprintf(out, "cost %s %" PRIu64 "\n", row->what, row->value);
	}
	for (size_t i = 0; i < sonde_session_histogram_count(session); i++) {
		const struct sonde_histogram *row = sonde_session_histogram(session, i);
		fprintf(out,
			"histogram site %u process %u count %" PRIu64 " sum %" PRIu64 " min %" PRIu64 " max %" PRIu64,
			row->site, row->process, row->count, row->sum, row->min, row->max);
		for (uint32_t bucket = 0; bucket < SONDE_HIST_BUCKETS; bucket++)
			if (row->hits[bucket])
				fprintf(out, " %" PRIu64 ":%" PRIu64, sonde_hist_low(bucket), row->hits[bucket]);
		fprintf(out, "\n");
	}
}

static void dump_stacks(FILE *out, const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_function_count(session); id++) {
		const struct sonde_function *row = sonde_session_function(session, id);
		fprintf(out, "function %u module %u '%s' %s:%u start 0x%" PRIx64 "%s\n", id, row->module, row->name,
			row->file, row->line, row->start, row->unnamed ? " unnamed" : "");
	}
	for (uint32_t i = 0; i < sonde_session_frame_count(session); i++) {
		const struct sonde_frame *row = sonde_session_frame(session, i);
		fprintf(out, "frame %u module %u 0x%" PRIx64, i, row->module, row->address);
		for (uint32_t k = 0; k < row->location_count; k++)
			fprintf(out, " %u@%s:%u", row->locations[k].function, row->locations[k].file,
				row->locations[k].line);
		fprintf(out, "\n");
	}
	for (uint32_t id = 1; id <= sonde_session_node_count(session); id++) {
		const struct sonde_node *row = sonde_session_node(session, id);
		fprintf(out, "node %u parent %u frame %u\n", id, row->parent, row->frame);
	}
}

static void dump_heaps(FILE *out, const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_heap_count(session); id++) {
		const struct sonde_heap *row = sonde_session_heap(session, id);
		fprintf(out, "heap %u process %u kind %u '%s'\n", id, row->process, row->kind, row->name);
	}
	for (uint32_t id = 1; id <= sonde_session_heap_site_count(session); id++) {
		const struct sonde_heap_site *row = sonde_session_heap_site(session, id);
		fprintf(out, "heap site %u heap %u thread %u stack %u status %u\n", id, row->heap, row->thread,
			row->stack, row->status);
	}
	for (size_t i = 0; i < sonde_session_heap_remainder_count(session); i++) {
		const struct sonde_heap_remainder *row = sonde_session_heap_remainder(session, i);
		fprintf(out, "left of heap site %u kind %u blocks %" PRIu64 " bytes %" PRIu64 " '%s'\n", row->site,
			row->kind, row->blocks, row->size_b, row->detail);
	}
	for (size_t i = 0; i < sonde_session_snapshot_count(session); i++) {
		const struct sonde_snapshot *row = sonde_session_snapshot(session, i);
		fprintf(out, "snapshot process %u '%s' reason %u at %" PRIu64 " rss %" PRIu64 " pss %" PRIu64 "\n",
			row->process, row->label, row->reason, row->time_ns, row->rss_b, row->pss_b);
	}
}

static void dump_heap_sums(FILE *out, struct sonde_session *session)
{
	struct sonde_heap_sums sums;
	if (!sonde_session_heap_count(session))
		return;
	fprintf(out, "heap sums %d\n", sonde_session_heap_sums(session, &sums));
	for (uint32_t id = 1; id <= sonde_session_heap_count(session); id++) {
		const struct sonde_heap_total *row = &sums.heaps[id];
		fprintf(out,
			"  heap %u peak %" PRIu64 " in %" PRIu64 " at %" PRIu64 " begins %" PRIu64 " of %" PRIu64
			" ends %" PRIu64 " of %" PRIu64 " temporary %" PRIu64 " unknown %" PRIu64 " mean %" PRIu64 "\n",
			id, row->peak_b, row->peak_blocks, row->peak_ns, row->begins, row->begun_b, row->ends,
			row->ended_b, row->temporary, row->unknown, row->mean_b);
	}
	for (uint32_t id = 1; id <= sonde_session_heap_site_count(session); id++)
		fprintf(out, "  site %u peak %" PRIu64 " in %" PRIu64 " begins %" PRIu64 " ends %" PRIu64 "\n", id,
			sums.sites[id].peak_b, sums.sites[id].peak_blocks, sums.sites[id].begins, sums.sites[id].ends);
	sonde_heap_sums_free(&sums);
}

static void dump_series(FILE *out, const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_series_count(session); id++) {
		const struct sonde_series *row = sonde_session_series(session, id);
		fprintf(out, "series %u kind %u '%s' of process %u thread %u '%s' in '%s'\n", id, row->kind, row->name,
			row->process, row->thread, row->object, row->unit);
	}
}

static void dump_objects(FILE *out, const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_object_count(session); id++) {
		const struct sonde_object *row = sonde_session_object(session, id);
		fprintf(out, "object %u of process %u kind %u '%s' 0x%" PRIx64 "\n", id, row->process, row->kind,
			row->name, row->address);
	}
}

static void dump_event(FILE *out, const struct sonde_event *event)
{
	fprintf(out, "  event %u words %u site %u at %" PRIu64, event->type, event->words, event->site, event->time);
	for (size_t i = 2; i < event->words; i++)
		fprintf(out, " %016" PRIx64, ((const uint64_t *)event)[i]);
	fprintf(out, "\n");
}

/* Older recordings have no CPUs. */
static void dump_switch(FILE *out, const struct sonde_batch *batch, size_t i)
{
	fprintf(out, "  switch %" PRIu64 " thread %u kind %u", batch->switches.time_ns[i], batch->switches.thread[i],
		batch->switches.kind[i]);
	if (batch->switches.cpu[i])
		fprintf(out, " cpu %u", batch->switches.cpu[i] - 1);
	fprintf(out, "\n");
}

static void dump_batch(FILE *out, const struct sonde_batch *batch)
{
	fprintf(out, "batch type %u process %u thread %u count %zu\n", batch->type, batch->process, batch->thread,
		batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->type == SONDE_CHUNK_SAMPLES)
			fprintf(out, "  sample %" PRIu64 " thread %u stack %u weight %" PRIu64 " status %u\n",
				batch->samples.time_ns[i], batch->samples.thread[i], batch->samples.stack[i],
				batch->samples.weight_ns[i], batch->samples.status[i]);
		else if (batch->type == SONDE_CHUNK_SWITCHES)
			dump_switch(out, batch, i);
		else if (batch->type == SONDE_CHUNK_ZONES)
			fprintf(out,
				"  zone site %u start %" PRIu64 " dur %" PRIu64 " self %" PRIu64 " depth %u flags %u\n",
				batch->zones.site[i], batch->zones.start_ns[i], batch->zones.dur_ns[i],
				batch->zones.self_ns[i], batch->zones.depth[i], batch->zones.flags[i]);
		else if (batch->type == SONDE_CHUNK_SERIES)
			fprintf(out, "  series %u at %" PRIu64 " is %" PRId64 "\n", batch->series.series[i],
				batch->series.time_ns[i], batch->series.value[i]);
		else if (batch->type == SONDE_CHUNK_WAITS)
			fprintf(out,
				"  wait kind %u from %" PRIu64 " for %" PRIu64
				" thread %u other %u stack %u status %u object %u amount %" PRIu64 "\n",
				batch->waits.kind[i], batch->waits.start_ns[i], batch->waits.dur_ns[i],
				batch->waits.thread[i], batch->waits.other[i], batch->waits.stack[i],
				batch->waits.status[i], batch->waits.object[i], batch->waits.amount[i]);
		else if (batch->type == SONDE_CHUNK_HEAP)
			fprintf(out, "  block of heap %u site %u %s at %" PRIu64 " thread %u bytes %" PRIu64 "\n",
				batch->heap.id, batch->heap.site[i], batch->heap.ends[i] ? "ends" : "begins",
				batch->heap.time_ns[i], batch->heap.thread[i], batch->heap.size_b[i]);
		else
			dump_event(out, batch->events[i]);
	}
}

static void dump_events(FILE *out, struct sonde_session *session)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int got = sonde_cursor_open(&cursor, session, ~0u);
	if (got)
		return;
	while ((got = sonde_cursor_next(cursor, &batch))) {
		if (got > 0)
			dump_batch(out, batch);
		else
			fprintf(out, "bad chunk: %d\n", got);
	}
	sonde_cursor_close(cursor);
}

static void dump_stats(FILE *out, struct sonde_session *session)
{
	size_t count = sonde_session_site_count(session) + 1;
	struct sonde_zone_stat *stats = calloc(count, sizeof *stats);
	fprintf(out, "stats %d\n", sonde_session_zone_stats(session, stats));
	for (size_t i = 0; i < count; i++)
		if (stats[i].count)
			fprintf(out,
				"  site %zu count %" PRIu64 " total %" PRIu64 " self %" PRIu64 " min %" PRIu64
				" max %" PRIu64 "\n",
				i, stats[i].count, stats[i].total_ns, stats[i].self_ns, stats[i].min_ns,
				stats[i].max_ns);
	free(stats);
}

static int dump_chunk(void *out, const struct sonde_zone_chunk *chunk)
{
	if (!chunk->has_nodes)
		return 0;
	fprintf(out, "zone chunk thread %u events %u open after %" PRIu64 " deeper %" PRIu64 "\n", chunk->thread,
		chunk->events, chunk->open_after, chunk->deeper);
	for (size_t i = 0; i < chunk->node_count; i++) {
		const struct sonde_zone_node *node = &chunk->nodes[i];
		fprintf(out,
			"  node depth %u zones %u from %" PRIu64 " to %" PRIu64 " busy %" PRIu64 " longest %" PRIu64
			" site %u\n",
			node->depth, node->count, node->from_ns, node->to_ns, node->busy_ns, node->longest_ns,
			node->site);
	}
	return 0;
}

void dump(FILE *out, struct sonde_session *session)
{
	dump_run(out, session);
	dump_ids(out, session);
	dump_lists(out, session);
	dump_stacks(out, session);
	dump_heaps(out, session);
	dump_series(out, session);
	dump_objects(out, session);
	dump_events(out, session);
	dump_stats(out, session);
	sonde_session_zone_chunks(session, dump_chunk, out);
	dump_heap_sums(out, session);
}
