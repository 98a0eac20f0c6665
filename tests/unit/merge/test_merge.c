/* test_merge.c: merged recordings contain what their parts do, on one clock, and nothing twice (src/merge/). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/merge.h"
#include "sections.h"
#include "session_fixture.h"
#include "trace/check.h"
#include "util/error.h"

#define MS 1000000ull
#define T(ms) (RECORDING_START_NS + (ms)*MS)
#define REAL_NS 1700000000000000000ull

static char file_of[8][80];

static const char *named(unsigned i)
{
	snprintf(file_of[i], sizeof file_of[i], "%s/%u.sonde", folder, i);
	return file_of[i];
}

/* Another recording than the others that are written here: its own id, and when it began by the wall clock. */
static void begin_at(const char *file, uint64_t id, uint64_t real_ns)
{
	struct sonde_file_head head;
	int fd = open(file, O_RDWR);
	assert_int_equal(pread(fd, &head, sizeof head, 0), sizeof head);
	head.id[0] = id;
	head.start_real_ns = real_ns;
	head.check = sonde_check_head(&head, sizeof head);
	assert_int_equal(pwrite(fd, &head, sizeof head, 0), sizeof head);
	close(fd);
}

struct how {
	const char *boot, *host;
	uint32_t pid;
	uint64_t late_ms; /* when all happens, after the start */
	uint64_t end_ms;
	int is_cut;
};

/* Samples, switches, zones, blocks, a wait, readings, a histogram and a loss, of one process and thread. */
static void write_one(unsigned i, struct how how)
{
	struct recording recording;
	uint64_t at = how.late_ms;
	recording_open(&recording, named(i));
	if (how.boot)
		recording_info(&recording, "host.boot_id", how.boot);
	recording_info(&recording, "host.name", how.host);
	recording_info(&recording, "host.cpus", "4");
	recording_info(&recording, "run.command", how.host);
	recording_source(&recording, "cpu", SONDE_SOURCE_ON, "perf events", "", 1000);
	uint32_t process = recording_process(&recording, how.pid, 0, "app", T(at));
	uint32_t thread = recording_thread(&recording, process, how.pid, "app", T(at));
	uint32_t module = recording_module(&recording, "/bin/app", 0);
	uint32_t stack =
	    recording_call(&recording, recording_call(&recording, 0, module, "main", 1), module, "work", 2);
	uint32_t zone = recording_site(&recording, SONDE_SITE_ZONE, "step", "");
	uint32_t values = recording_site(&recording, SONDE_SITE_HISTOGRAM, "size", "B");
	uint32_t heap = recording_heap(&recording, process, SONDE_HEAP_MALLOC, "");
	uint32_t block = recording_heap_site(&recording, heap, thread, stack);
	uint32_t load = recording_series(&recording, SONDE_METRIC_LOAD, 0, 0, "");
	uint32_t energy = recording_series(&recording, SONDE_METRIC_ENERGY, 0, 0, "package-0");
	uint32_t rss = recording_series(&recording, SONDE_METRIC_MEMORY_RSS, process, 0, "");
	uint32_t lock = recording_object(&recording, process, SONDE_OBJECT_LOCK, "queue", 0x1000);
	recording_switch(&recording, T(at), thread, SONDE_SWITCH_IN);
	for (uint64_t k = 0; k < 5; k++) {
		recording_sample(&recording, (struct recording_sample){T(at + k), thread, stack, MS, 0});
		recording_begin(&recording, thread, zone, T(at + k));
		recording_end(&recording, thread, T(at + k) + MS / 2);
		recording_ends(&recording, heap, recording_begins(&recording, block, T(at + k), 100 + k), thread,
			       T(at + k) + 10);
		recording_point(&recording, T(at + k), load, 1000);
		recording_point(&recording, T(at + k), energy, (int64_t)(1000 * k));
		recording_point(&recording, T(at + k), rss, 4096);
	}
	recording_begins(&recording, block, T(at + 5), 1000);
	recording_begin(&recording, thread, zone, T(at + 6)); /* never ended */
	recording_text(&recording, thread, SONDE_EVENT_INSTANT, 0, T(at + 6), "here");
	recording_wait(&recording, (struct recording_wait){.start_ns = T(at + 6),
							   .dur_ns = 3 * MS,
							   .thread = thread,
							   .kind = SONDE_WAIT_MUTEX,
							   .stack = stack,
							   .object = lock});
	recording_histogram(&recording, values, process, (const uint64_t[]){1, 2, 300}, 3);
	recording_lost_of(&recording, "cpu", "buffer full", process, 7);
	recording_cost(&recording, "recorder.user_ns", 11);
	if (how.is_cut) {
		recording_flush(&recording);
		recording_abandon(&recording);
	} else {
		recording_process_end(&recording, process, T(at + 9), 5 * MS, MS);
		recording_close(&recording, T(how.end_ms), 0);
	}
	begin_at(named(i), i + 1, REAL_NS);
}

static int merge_as(const char *out, const char *const *paths, size_t count, struct sonde_merge_options options)
{
	struct sonde_merge_result result;
	options.fd = open(out, O_RDWR | O_CREAT | O_TRUNC, 0600);
	options.name = out;
	int rc = sonde_merge(&result, paths, count, &options);
	close(options.fd);
	return rc;
}

static int merge_files(const char *out, unsigned first, unsigned count)
{
	const char *paths[8];
	for (unsigned i = 0; i < count; i++)
		paths[i] = named(first + i);
	return merge_as(out, paths, count, (struct sonde_merge_options){0});
}

static void merged(const char *out, unsigned first, unsigned count)
{
	if (merge_files(out, first, count))
		fail_msg("%s", sonde_error_text());
}

static const struct how here = {"boot-a", "a", 100, 0, 20, 0}, later = {"boot-a", "a", 101, 3, 25, 0},
			there = {"boot-b", "b", 100, 0, 20, 0};

/* --- sums --------------------------------------------------------------------------------------------------------- */

struct totals {
	uint64_t samples, stacks, weight, zones, zone_ns, unfinished_ns, blocks, bytes, waits, wait_ns, points, events,
	    switches;
	uint64_t left_b, lost, values, user_ns, first_ns, is_disordered;
};

static void add_batch(struct totals *totals, const struct sonde_batch *batch, uint64_t *last_ns)
{
	for (size_t i = 0; i < batch->count; i++) {
		int is_row = batch->type == SONDE_CHUNK_SAMPLES || batch->type == SONDE_CHUNK_SWITCHES ||
			     batch->type == SONDE_CHUNK_SERIES;
		if (is_row) {
			uint64_t time_ns = batch->samples.time_ns[i]; /* the first column of all three */
			totals->is_disordered |= time_ns < last_ns[batch->type];
			last_ns[batch->type] = time_ns;
		}
		switch (batch->type) {
		case SONDE_CHUNK_SAMPLES:
			totals->samples++;
			totals->weight += batch->samples.weight_ns[i];
			totals->stacks += batch->samples.stack[i] != 0;
			break;
		case SONDE_CHUNK_SWITCHES:
			totals->switches++;
			break;
		case SONDE_CHUNK_ZONES:
			totals->zones++;
			*(batch->zones.flags[i] & SONDE_ZONE_UNFINISHED ? &totals->unfinished_ns : &totals->zone_ns) +=
			    batch->zones.dur_ns[i];
			break;
		case SONDE_CHUNK_HEAP:
			totals->blocks++;
			totals->bytes += batch->heap.size_b[i];
			break;
		case SONDE_CHUNK_WAITS:
			totals->waits++;
			totals->wait_ns += batch->waits.dur_ns[i];
			break;
		case SONDE_CHUNK_SERIES:
			totals->points++;
			break;
		default:
			totals->events++;
		}
	}
}

static struct totals totals_of(const char *file)
{
	struct totals totals = {0};
	struct sonde_session *session;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	struct sonde_heap_sums sums;
	uint64_t last_ns[SONDE_CHUNK_WAITS + 1] = {0};
	assert_int_equal(sonde_session_open(&session, file, &plain), 0);
	for (uint32_t type = SONDE_CHUNK_SAMPLES; type <= SONDE_CHUNK_WAITS; type++) {
		if (type == SONDE_CHUNK_INDEX)
			continue;
		assert_int_equal(sonde_cursor_open(&cursor, session, 1u << type), 0);
		while (sonde_cursor_next(cursor, &batch) > 0)
			add_batch(&totals, batch, last_ns);
		sonde_cursor_close(cursor);
	}
	assert_int_equal(sonde_session_heap_sums(session, &sums), 0);
	for (size_t i = 1; i <= sonde_session_heap_count(session); i++)
		totals.left_b += sums.heaps[i].left_b;
	sonde_heap_sums_free(&sums);
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		totals.lost += sonde_session_lost(session, i)->count;
	for (size_t i = 0; i < sonde_session_histogram_count(session); i++)
		totals.values += sonde_session_histogram(session, i)->sum;
	totals.user_ns = sonde_session_run(session)->user_ns;
	sonde_session_close(session);
	return totals;
}

static void expect_sums(const struct totals *sum, const struct totals *all)
{
	const uint64_t *a = (const uint64_t *)sum, *b = (const uint64_t *)all;
	for (size_t i = 0; i < sizeof *sum / sizeof *a; i++)
		if (a[i] != b[i])
			fail_msg("total %zu is %llu in parts, %llu merged", i, (unsigned long long)a[i],
				 (unsigned long long)b[i]);
}

static struct totals sum_of(unsigned first, unsigned count)
{
	struct totals sum = {0};
	for (unsigned i = 0; i < count; i++) {
		struct totals one = totals_of(named(first + i));
		for (size_t k = 0; k < sizeof sum / sizeof(uint64_t); k++)
			((uint64_t *)&sum)[k] += ((const uint64_t *)&one)[k];
	}
	return sum;
}

static void whatever_parts_hold_is_in_the_merged_one(void **state)
{
	(void)state;
	write_one(0, here);
	write_one(1, later);
	merged(path, 0, 2);
	struct totals parts = sum_of(0, 2), all = totals_of(path);
	assert_int_equal(all.points, parts.points - 10); /* system-wide data is taken once: load and energy */
	parts.points -= 10;
	expect_sums(&parts, &all);
}

static void recordings_of_two_boots_are_laid_by_the_wall_clock(void **state)
{
	(void)state;
	write_one(0, here);
	write_one(1, there);
	begin_at(named(1), 2, REAL_NS + 5000 * MS);
	merged(path, 0, 2);
	struct totals parts = sum_of(0, 2), all = totals_of(path);
	expect_sums(&parts, &all);
	struct sonde_session *session = opened();
	const struct sonde_run *run = sonde_session_run(session);
	assert_int_equal(run->wall_ns, 5020 * MS);
	assert_int_equal(sonde_session_process(session, 2)->start_ns - sonde_session_process(session, 1)->start_ns,
			 5000 * MS);
	assert_string_equal(sonde_session_process(session, 1)->name, "0 on a: app");
	assert_string_equal(sonde_session_process(session, 2)->name, "1 on b: app");
	assert_string_equal(sonde_session_info(session, "host.cpus"), "8");
	assert_null(sonde_session_info(session, "host.name"));
	assert_string_equal(sonde_session_info(session, "merged.2.host.name"), "b");
	assert_string_equal(sonde_session_info(session, "merged.aligned"), "wall clock");
	assert_int_equal(sonde_session_head(session)->start_real_ns, REAL_NS);
	assert_string_equal(sonde_session_series(session, 1)->name, "load@a");
	assert_string_equal(sonde_session_series(session, 2)->object, "package-0@a");
	sonde_session_close(session);
}

static void functions_and_zones_of_ranks_are_one_row(void **state)
{
	(void)state;
	write_one(0, here);
	write_one(1, later);
	merged(path, 0, 2);
	struct sections report = sections_of(path, "zones heap processes", NULL);
	const struct sonde_section *zones = sections_get(&report, "zones");
	assert_int_equal(sections_int(zones, "zone", "step", "calls"), 12);
	assert_int_equal(sections_int(zones, "zone", "step", "total_ns"),
			 2 * 5 * MS / 2 + (9 - 6 + 11) * MS + (25 - 9) * MS);
	assert_true(sections_noted(report.report->notes, "merged of 2 recordings (0, 1)"));
	sections_free(&report);
}

/* A thread that was not seen to end lived as long as its own recording, not as that of another. */
static void parts_keep_their_windows(void **state)
{
	(void)state;
	write_one(0, here);
	write_one(1, (struct how){"boot-a", "a", 101, 3, 1000, 0});
	merged(path, 0, 2);
	struct totals parts = sum_of(0, 2), all = totals_of(path);
	assert_int_equal(parts.unfinished_ns, all.unfinished_ns);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_part_count(session), 2);
	assert_int_equal(sonde_session_part_of(session, 1)->end_ns, T(20));
	assert_int_equal(sonde_session_part_of(session, 2)->end_ns, T(1000));
	assert_int_equal(sonde_session_run(session)->root_process, 0);
	sonde_session_close(session);
}

static void order_does_not_matter(void **state)
{
	(void)state;
	write_one(0, here);
	write_one(1, there);
	write_one(2, later);
	begin_at(named(1), 2, REAL_NS + 70 * MS);
	merged(path, 0, 3);
	struct totals forward = totals_of(path);
	const char *paths[] = {named(2), named(0), named(1)};
	assert_int_equal(merge_as(path, paths, 3, (struct sonde_merge_options){0}), 0);
	struct totals backward = totals_of(path);
	expect_sums(&forward, &backward);
	struct sonde_session *session = opened();
	assert_string_equal(sonde_session_process(session, 1)->name, "0 on a: app");
	sonde_session_close(session);
}

static void what_was_merged_can_be_merged_again(void **state)
{
	(void)state;
	write_one(0, here);
	write_one(1, there);
	write_one(2, later);
	begin_at(named(1), 2, REAL_NS + 70 * MS);
	merged(path, 0, 3);
	struct totals at_once = totals_of(path);
	merged(named(4), 0, 2);
	const char *paths[] = {named(2), named(4)};
	assert_int_equal(merge_as(path, paths, 2, (struct sonde_merge_options){0}), 0);
	struct totals by_steps = totals_of(path);
	expect_sums(&at_once, &by_steps);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_part_count(session), 3);
	assert_string_equal(sonde_session_info(session, "merged.count"), "3");
	sonde_session_close(session);
	const char *again[] = {named(0), named(4)};
	assert_int_equal(merge_as(path, again, 2, (struct sonde_merge_options){0}), -EEXIST);
}

static void one_alone_is_what_it_was(void **state)
{
	(void)state;
	write_one(0, here);
	merged(path, 0, 1);
	struct totals before = totals_of(named(0)), after = totals_of(path);
	expect_sums(&before, &after);
	struct sonde_session *session = opened();
	assert_string_equal(sonde_session_process(session, 1)->name, "app");
	assert_int_equal(sonde_session_run(session)->root_process, 1);
	sonde_session_close(session);
}

/* --- what is refused --------------------------------------------------------------------------------------------- */

static void nothing_counts_twice(void **state)
{
	(void)state;
	write_one(0, here);
	write_one(1, here);
	assert_int_equal(merge_files(path, 0, 2), -EEXIST);
	assert_non_null(strstr(sonde_error_text(), "process 100 (app)"));
	begin_at(named(1), 1, REAL_NS);
	assert_int_equal(merge_files(path, 0, 2), -EEXIST);
	assert_non_null(strstr(sonde_error_text(), "same recording"));
	write_one(1, (struct how){"boot-c", "a", 100, 0, 20, 0}); /* the same pid after another boot */
	assert_int_equal(merge_files(path, 0, 2), 0);
	write_one(1, (struct how){"boot-a", "container", 100, 0, 20, 0}); /* which has pids of its own */
	assert_int_equal(merge_files(path, 0, 2), 0);
	struct sonde_session *session = opened();
	assert_null(sonde_session_info(session, "merged.aligned"));
	assert_string_equal(sonde_session_info(session, "host.cpus"), "4");
	sonde_session_close(session);
	write_one(1, (struct how){NULL, "a", 100, 0, 20, 0}); /* a boot that is not known is another one */
	assert_int_equal(merge_files(path, 0, 2), 0);
}

static void flight_recordings_are_not_mixed_with_others(void **state)
{
	(void)state;
	struct recording recording;
	write_one(0, here);
	recording_open(&recording, named(1));
	recording_info(&recording, "option.keep_ns", "1000000000");
	recording_close(&recording, T(5), 0);
	begin_at(named(1), 2, REAL_NS);
	assert_int_equal(merge_files(path, 0, 2), -EINVAL);
	assert_non_null(strstr(sonde_error_text(), "flight recording"));
}

static void zones_lay_recordings_on_each_other(void **state)
{
	(void)state;
	const char *paths[] = {named(0), named(1)};
	const struct sonde_merge_options by_zone = {.align = SONDE_MERGE_ZONES, .zone = "step"};
	const struct sonde_merge_options by_none = {.align = SONDE_MERGE_ZONES, .zone = "nobody"};
	write_one(0, here);
	write_one(1, later);
	assert_int_equal(merge_as(path, paths, 2, by_zone), 0);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_process(session, 1)->start_ns, sonde_session_process(session, 2)->start_ns);
	assert_string_equal(sonde_session_info(session, "merged.aligned"), "zone step");
	sonde_session_close(session);
	assert_int_equal(merge_as(path, paths, 2, by_none), -EINVAL);
	assert_non_null(strstr(sonde_error_text(), "nobody"));
	assert_int_equal(merge_as(path, paths, 2, (struct sonde_merge_options){.align = SONDE_MERGE_STARTS}), 0);
}

/* --- damage ------------------------------------------------------------------------------------------------------ */

static void cut_recordings_give_what_they_hold(void **state)
{
	(void)state;
	write_one(0, here);
	write_one(1, (struct how){"boot-a", "a", 101, 3, 25, 1});
	merged(path, 0, 2);
	struct totals all = totals_of(path);
	assert_int_equal(all.samples, 10);
	struct sonde_session *session = opened();
	assert_false(sonde_session_run(session)->closed);
	assert_true(sonde_session_part(session, 0)->closed);
	assert_false(sonde_session_part(session, 1)->closed);
	sonde_session_close(session);
	struct sections report = sections_of(path, "summary", NULL);
	assert_true(sections_noted(report.report->notes, "incomplete, so the end is missing: 1"));
	sections_free(&report);
}

/* Whatever bytes are changed: the merge succeeds or is refused, and a merged file can be read. */
static void damage_is_survived_and_counted(void **state)
{
	(void)state;
	struct stat stat_of;
	size_t merges = 0, told = 0;
	write_one(0, here);
	for (size_t step = 0; step < 60; step++) {
		write_one(1, later);
		assert_int_equal(stat(named(1), &stat_of), 0);
		off_t at = 64 + (off_t)(((size_t)stat_of.st_size - 64) * step / 60);
		int fd = open(named(1), O_RDWR);
		uint8_t bytes[4];
		assert_int_equal(pread(fd, bytes, 4, at), 4);
		for (size_t k = 0; k < 4; k++)
			bytes[k] ^= 0x5a;
		assert_int_equal(pwrite(fd, bytes, 4, at), 4);
		close(fd);
		if (merge_files(path, 0, 2))
			continue;
		merges++;
		struct sonde_session *session = opened();
		told += sonde_session_damaged_b(session) > 0;
		sonde_session_close(session);
		assert_true(totals_of(path).samples >= 5);
	}
	assert_true(merges > 50);
	assert_true(told > 40);
}

static int clean(void **state)
{
	for (unsigned i = 0; i < 8; i++)
		unlink(named(i));
	return leave(state);
}

/* A recording of three zones whose site has another number than in the others. */
static void write_nodes(unsigned i, uint32_t pid, int sites)
{
	static const char *const names[] = {"first", "second", "third"};
	struct recording recording;
	recording_open(&recording, named(i));
	recording.has_nodes = 1;
	recording_info(&recording, "host.boot_id", "boot");
	uint32_t process = recording_process(&recording, pid, 0, "app", T(0)), site = 0;
	uint32_t thread = recording_thread(&recording, process, pid, "app", T(0));
	for (int k = 0; k < sites; k++)
		site = recording_site(&recording, SONDE_SITE_ZONE, names[k], "");
	recording_begin(&recording, thread, site, T(1));
	for (uint64_t k = 0; k < 3; k++) {
		recording_begin(&recording, thread, site, T(2 + k));
		recording_end(&recording, thread, T(2 + k) + MS / 2);
	}
	recording_flush(&recording);
	recording_end(&recording, thread, T(8));
	recording_close(&recording, T(9), 0);
	begin_at(named(i), i + 1, REAL_NS);
}

struct nodes_seen {
	struct sonde_session *session;
	size_t chunks, nodes;
};

static int expect_node(void *context, const struct sonde_zone_chunk *chunk)
{
	struct nodes_seen *seen = context;
	const char *expected = sonde_session_thread(seen->session, chunk->thread)->tid == 20 ? "third" : "first";
	assert_true(chunk->has_nodes);
	assert_int_equal(chunk->node_count, 1);
	const struct sonde_zone_node *node = &chunk->nodes[0];
	assert_string_equal(sonde_session_site(seen->session, node->site)->name, expected);
	assert_int_equal(node->depth, node->count == 3);
	assert_int_equal(node->from_ns, node->count == 3 ? T(2) : T(1));
	assert_int_equal(node->to_ns, node->count == 3 ? T(4) + MS / 2 : T(8));
	assert_int_equal(node->busy_ns, node->count == 3 ? 3 * MS / 2 : 7 * MS);
	seen->chunks++;
	seen->nodes += node->count;
	return 0;
}

static void nodes_of_zones_have_their_sites(void **state)
{
	(void)state;
	write_nodes(0, 10, 1);
	write_nodes(1, 20, 3);
	merged(path, 0, 2);
	struct nodes_seen seen = {.session = opened()};
	assert_int_equal(sonde_session_zone_chunks(seen.session, expect_node, &seen), 0);
	assert_int_equal(seen.chunks, 4);
	assert_int_equal(seen.nodes, 8);
	sonde_session_close(seen.session);
}

/* Two devices with the same UUIDs in both; a copy from the first to the second of a number of bytes, in 10 ms. */
static void write_peers(unsigned i, const char *host, uint64_t size_b)
{
	struct recording r;
	uint32_t devices[2];
	recording_open(&r, named(i));
	recording_info(&r, "host.boot_id", host);
	recording_info(&r, "host.name", host);
	recording_thread(&r, recording_process(&r, 100, 0, "app", T(0)), 100, "app", T(0));
	for (uint32_t k = 0; k < 2; k++)
		devices[k] = recording_device(&r, 1, "CUDA", "G1",
					      (struct sonde_meta_device){.index = k,
									 .kind = 1,
									 .uuid = recording_string(&r, k ? "b" : "a"),
									 .capability = 90,
									 .memory_b_per_s = 1000000 + k});
	struct sonde_meta_operation to_peer = {.from = 3, .to = 6, .from_device = devices[0], .to_device = devices[1]};
	recording_activity(
	    &r, (struct recording_activity){.start_ns = T(5),
					    .dur_ns = 10 * MS,
					    .operation = recording_operation(&r, SONDE_ACTIVITY_COPY, "copy", to_peer),
					    .queue = recording_queue(&r, devices[0], "q", 1),
					    .thread = 1,
					    .size_b = size_b});
	recording_close(&r, T(20), 0);
	begin_at(named(i), i + 1, REAL_NS);
}

/* Each part has devices of its own, and its copies name them. */
static void copies_between_devices_name_those_of_their_part(void **state)
{
	(void)state;
	write_peers(0, "a", 1000);
	write_peers(1, "b", 2000);
	merged(path, 0, 2);
	struct sections report = sections_of(path, "peers", NULL);
	const struct sonde_section *peers = sections_get(&report, "peers");
	assert_int_equal(peers->table.row_count, 2);
	static const char *const names[2][2] = {
	    {"CUDA G1 0 of 1 on b: app (100)", "CUDA G1 1 of 1 on b: app (100)"},
	    {"CUDA G1 0 of 0 on a: app (100)", "CUDA G1 1 of 0 on a: app (100)"},
	};
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(sonde_report_cell_text(peers, i, "from"), names[i][0]);
		assert_string_equal(sonde_report_cell_text(peers, i, "to"), names[i][1]);
		assert_int_equal(sonde_report_cell(peers, i, "size_b")->integer, i ? 1000 : 2000);
	}
	sections_free(&report);
	struct sonde_session *session;
	assert_int_equal(sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1}), 0);
	assert_int_equal(sonde_session_device_count(session), 4);
	for (uint32_t id = 1; id <= 4; id++) {
		const struct sonde_device *device = sonde_session_device(session, id);
		assert_int_equal(device->same, id);
		assert_int_equal(device->capability, 90);
		assert_int_equal(device->memory_b_per_s, 1000000 + device->index);
	}
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(whatever_parts_hold_is_in_the_merged_one),
	    cmocka_unit_test(recordings_of_two_boots_are_laid_by_the_wall_clock),
	    cmocka_unit_test(functions_and_zones_of_ranks_are_one_row),
	    cmocka_unit_test(parts_keep_their_windows),
	    cmocka_unit_test(order_does_not_matter),
	    cmocka_unit_test(what_was_merged_can_be_merged_again),
	    cmocka_unit_test(one_alone_is_what_it_was),
	    cmocka_unit_test(nothing_counts_twice),
	    cmocka_unit_test(flight_recordings_are_not_mixed_with_others),
	    cmocka_unit_test(zones_lay_recordings_on_each_other),
	    cmocka_unit_test(cut_recordings_give_what_they_hold),
	    cmocka_unit_test(damage_is_survived_and_counted),
	    cmocka_unit_test(nodes_of_zones_have_their_sites),
	    cmocka_unit_test(copies_between_devices_name_those_of_their_part),
	};
	return cmocka_run_group_tests(tests, enter, clean);
}
