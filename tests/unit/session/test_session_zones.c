/* test_session_zones.c: zones paired across chunks, by one cursor and by several, and around a lost chunk. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "session/session.h"
#include "session_fixture.h"
#include "trace/reader.h"
#include "util/error.h"

/* Three threads, random nesting over many chunks, against a plain replay of the same marks. */
struct expected {
	uint64_t start_ns, dur_ns, self_ns;
	uint32_t site;
	uint16_t depth;
	uint8_t flags;
};

struct replay {
	struct expected zones[4000];
	size_t count;
	struct expected stack[40];
	uint64_t child[40];
	uint32_t depth;
};

static void replay_end(struct replay *replay, uint64_t time_ns, uint8_t flags)
{
	struct expected zone = replay->stack[--replay->depth];
	zone.dur_ns = time_ns - zone.start_ns;
	zone.self_ns = zone.dur_ns - replay->child[replay->depth];
	zone.flags |= flags;
	if (replay->depth)
		replay->child[replay->depth - 1] += zone.dur_ns;
	replay->zones[replay->count++] = zone;
}

static void replay_begin(struct replay *replay, uint32_t site, uint64_t time_ns)
{
	uint8_t flags = 0;
	for (uint32_t i = 0; i < replay->depth; i++)
		if (replay->stack[i].site == site)
			flags = SONDE_ZONE_RECURSIVE;
	replay->child[replay->depth] = 0;
	replay->stack[replay->depth] = (struct expected){time_ns, 0, 0, site, (uint16_t)replay->depth, flags};
	replay->depth++;
}

/* Writes the recording, and what it must read as. */
static struct replay *make_zones(void)
{
	const uint64_t end_ns = 100000000;
	struct replay *replays = calloc(3, sizeof *replays);
	struct recording recording;
	uint64_t random = 1, time_ns = 1000;
	recording_open(&recording, path);
	recording.chunk_rows = 37;
	uint32_t process = recording_process(&recording, 1, 0, "p", 0);
	for (uint32_t i = 1; i <= 3; i++)
		recording_thread(&recording, process, i, "t", 0);
	for (uint32_t i = 1; i <= 6; i++)
		recording_site(&recording, SONDE_SITE_ZONE, "z", "");
	for (size_t i = 0; i < 9000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint32_t thread = (uint32_t)(random >> 60) % 3 + 1;
		struct replay *replay = &replays[thread - 1];
		time_ns += (random >> 33) % 300;
		if (replay->depth < 30 && (!replay->depth || random >> 63)) {
			uint32_t site = (uint32_t)(random >> 40) % 6 + 1;
			recording_begin(&recording, thread, site, time_ns);
			replay_begin(replay, site, time_ns);
		} else {
			recording_end(&recording, thread, time_ns);
			replay_end(replay, time_ns, 0);
		}
	}
	for (size_t i = 0; i < 3; i++)
		while (replays[i].depth)
			replay_end(&replays[i], end_ns, SONDE_ZONE_UNFINISHED);
	recording_close(&recording, end_ns, 0);
	return replays;
}

static void check_zones(struct sonde_session *session, const struct replay *replays)
{
	size_t seen[3] = {0};
	const struct sonde_batch *batch;
	struct sonde_cursor *cursor = cursor_over(session, SONDE_CHUNK_ZONES);
	while (sonde_cursor_next(cursor, &batch)) {
		assert_in_range(batch->thread, 1, 3);
		const struct expected *zone = &replays[batch->thread - 1].zones[seen[batch->thread - 1]];
		for (size_t i = 0; i < batch->count; i++, zone++) {
			assert_int_equal(batch->zones.start_ns[i], zone->start_ns);
			assert_int_equal(batch->zones.dur_ns[i], zone->dur_ns);
			assert_int_equal(batch->zones.self_ns[i], zone->self_ns);
			assert_int_equal(batch->zones.site[i], zone->site);
			assert_int_equal(batch->zones.depth[i], zone->depth);
			assert_int_equal(batch->zones.flags[i], zone->flags);
		}
		seen[batch->thread - 1] += batch->count;
	}
	sonde_cursor_close(cursor);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(seen[i], replays[i].count);
}

static void check_stats(struct sonde_session *session, const struct replay *replays)
{
	struct sonde_zone_stat expected[7] = {{0}}, stats[7];
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < replays[i].count; k++) {
			const struct expected *zone = &replays[i].zones[k];
			struct sonde_zone_stat *stat = &expected[zone->site];
			if (zone->flags & SONDE_ZONE_UNFINISHED)
				continue;
			stat->min_ns = !stat->count || zone->dur_ns < stat->min_ns ? zone->dur_ns : stat->min_ns;
			stat->max_ns = zone->dur_ns > stat->max_ns ? zone->dur_ns : stat->max_ns;
			stat->count++;
			stat->self_ns += zone->self_ns;
			stat->total_ns += zone->flags & SONDE_ZONE_RECURSIVE ? 0 : zone->dur_ns;
		}
	}
	assert_int_equal(sonde_session_zone_stats(session, stats), 0);
	for (uint32_t site = 0; site <= 6; site++) {
		expected[site].site = site;
		assert_memory_equal(&stats[site], &expected[site], sizeof *stats);
	}
	assert_true(stats[1].count > 100);
}

static void zones_are_paired_across_chunks(void **state)
{
	(void)state;
	struct replay *replays = make_zones();
	struct sonde_session *session = opened();
	check_zones(session, replays);
	check_stats(session, replays);
	sonde_session_close(session);
	free(replays);
}

/* What one of several cursors, each over its part of the chunks, has seen. */
struct reading {
	pthread_t thread;
	struct sonde_session *session;
	unsigned part;
	size_t zones, unfinished;
	uint64_t self_ns;
};

enum { PARTS = 4 };

static void *read_part(void *argument)
{
	struct reading *reading = argument;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	if (sonde_cursor_open_part(&cursor, reading->session, 1u << SONDE_CHUNK_ZONES, reading->part, PARTS))
		return NULL;
	while (sonde_cursor_next(cursor, &batch) > 0) {
		reading->zones += batch->count;
		for (size_t i = 0; i < batch->count; i++) {
			reading->self_ns += batch->zones.self_ns[i];
			reading->unfinished += batch->zones.flags[i] & SONDE_ZONE_UNFINISHED;
		}
	}
	sonde_cursor_close(cursor);
	return NULL;
}

static void parts_read_at_once_are_the_whole(void **state)
{
	(void)state;
	struct replay *replays = make_zones();
	struct reading readings[PARTS];
	struct sonde_session *session = opened();
	struct reading all = {.self_ns = 0}, expected = {.self_ns = 0};
	for (unsigned i = 0; i < PARTS; i++) {
		readings[i] = (struct reading){.session = session, .part = i};
		assert_int_equal(pthread_create(&readings[i].thread, NULL, read_part, &readings[i]), 0);
	}
	for (unsigned i = 0; i < PARTS; i++) {
		assert_int_equal(pthread_join(readings[i].thread, NULL), 0);
		assert_true(readings[i].zones > 0);
		all.zones += readings[i].zones;
		all.unfinished += readings[i].unfinished;
		all.self_ns += readings[i].self_ns;
	}
	for (size_t i = 0; i < 3; i++) {
		expected.zones += replays[i].count;
		for (size_t k = 0; k < replays[i].count; k++) {
			expected.self_ns += replays[i].zones[k].self_ns;
			expected.unfinished += replays[i].zones[k].flags & SONDE_ZONE_UNFINISHED;
		}
	}
	assert_int_equal(all.zones, expected.zones);
	assert_int_equal(all.unfinished, expected.unfinished);
	assert_int_equal(all.self_ns, expected.self_ns);
	sonde_session_close(session);
	free(replays);
}

/* A chunk of a thread is lost: the next one lists what is open. */
static void a_lost_zone_chunk_costs_only_its_zones(void **state)
{
	(void)state;
	struct recording recording;
	recording_open(&recording, path);
	recording.chunk_rows = 2;
	recording_thread(&recording, recording_process(&recording, 1, 0, "p", 0), 1, "t", 0);
	recording_site(&recording, SONDE_SITE_ZONE, "outer", "");
	recording_site(&recording, SONDE_SITE_ZONE, "inner", "");
	recording_begin(&recording, 1, 1, 100);
	recording_begin(&recording, 1, 2, 110); /* chunk */
	recording_end(&recording, 1, 120);
	recording_begin(&recording, 1, 2, 130); /* chunk: to be lost */
	recording_end(&recording, 1, 150);
	recording_end(&recording, 1, 200); /* chunk */
	recording_close(&recording, 1000, 0);

	struct sonde_reader *reader;
	size_t zones = 0;
	assert_int_equal(sonde_reader_open(&reader, path), 0);
	for (size_t i = 0; i < sonde_reader_count(reader); i++) {
		const struct sonde_index_entry *entry = sonde_reader_entry(reader, i);
		if (entry->head.type != SONDE_CHUNK_ZONES || zones++ != 1)
			continue;
		FILE *file = fopen(path, "r+b");
		fseek(file, (long)entry->offset + 70, SEEK_SET);
		fputc(0x55, file);
		fclose(file);
	}
	assert_int_equal(zones, 3);
	sonde_reader_close(reader);

	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_damaged_b(session), 0);
	struct sonde_cursor *cursor = cursor_over(session, SONDE_CHUNK_ZONES);
	const struct sonde_batch *batch = next(cursor, SONDE_CHUNK_ZONES);
	assert_int_equal(batch->count, 0);
	assert_int_equal(sonde_cursor_next(cursor, &batch), -EBADMSG);
	assert_non_null(strstr(sonde_error_text(), "checksum"));
	batch = next(cursor, SONDE_CHUNK_ZONES);
	assert_int_equal(batch->count, 2);
	assert_int_equal(batch->zones.start_ns[0], 130);
	assert_int_equal(batch->zones.dur_ns[1], 100);
	assert_int_equal(batch->zones.self_ns[1], 100 - 10 - 20);
	expect_end(cursor);
	struct sonde_zone_stat stats[3];
	assert_int_equal(sonde_session_zone_stats(session, stats), -EBADMSG);
	assert_int_equal(stats[1].count, 1);
	assert_int_equal(stats[2].count, 1);                /* of two */
	assert_true(sonde_session_damaged_b(session) > 64); /* counted once, though met twice */
	assert_true(sonde_session_damaged_b(session) < 500);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(zones_are_paired_across_chunks),
	    cmocka_unit_test(parts_read_at_once_are_the_whole),
	    cmocka_unit_test(a_lost_zone_chunk_costs_only_its_zones),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
