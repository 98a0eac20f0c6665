/* test_pairings.c: the zones that a program gets from queries while it runs, those in summaries of chunks and those
 * that a session reads are the same, and equal to a simple reference pairing in this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "fold/live.h"
#include "recording.h"
#include "session/session.h"
#include "source/record/streams.h"

enum { SITES = 5, EVENTS = 20000, DEEPEST = 40 };

static uint32_t sites[EVENTS];
static uint64_t times_ns[EVENTS];

struct zone {
	uint64_t start_ns, dur_ns, self_ns;
	uint32_t site, depth, nested;
};

static struct zone zones[EVENTS];
static struct sonde_zone_stat sums[SITES + 1];

static uint32_t rolled(uint64_t *seed, uint32_t of)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % of;
}

/* Begins and ends, some of them ends without a begin, and times that stand still now and then. */
static void make_events(uint64_t seed)
{
	uint64_t now_ns = RECORDING_START_NS;
	uint32_t open = 0;
	for (size_t i = 0; i < EVENTS; i++) {
		int is_begin = open < DEEPEST && rolled(&seed, 100) < 50;
		sites[i] = is_begin ? 1 + rolled(&seed, SITES) : 0;
		open = is_begin ? open + 1 : open ? open - 1 : 0;
		now_ns += rolled(&seed, 4) ? rolled(&seed, 1000) : 0;
		times_ns[i] = now_ns;
	}
}

static size_t pair_plainly(void)
{
	struct zone stack[DEEPEST];
	uint64_t inside_ns[DEEPEST];
	size_t depth = 0, count = 0;
	memset(sums, 0, sizeof sums);
	for (size_t i = 0; i < EVENTS; i++) {
		if (sites[i]) {
			struct zone zone = {.start_ns = times_ns[i], .site = sites[i], .depth = (uint32_t)depth};
			for (size_t outer = 0; outer < depth; outer++)
				zone.nested |= stack[outer].site == sites[i];
			inside_ns[depth] = 0;
			stack[depth++] = zone;
		} else if (depth) {
			struct zone *zone = &stack[--depth];
			zone->dur_ns = times_ns[i] - zone->start_ns;
			zone->self_ns = zone->dur_ns - inside_ns[depth];
			if (depth)
				inside_ns[depth - 1] += zone->dur_ns;
			zones[count++] = *zone;
			struct sonde_zone_stat *sum = &sums[zone->site];
			sum->min_ns = !sum->count || zone->dur_ns < sum->min_ns ? zone->dur_ns : sum->min_ns;
			sum->max_ns = zone->dur_ns > sum->max_ns ? zone->dur_ns : sum->max_ns;
			sum->count++;
			sum->total_ns += zone->nested ? 0 : zone->dur_ns;
			sum->self_ns += zone->self_ns;
		}
	}
	return count;
}

static void name_of(uint32_t site, char *name)
{
	sprintf(name, "zone %u", site);
}

/* Parts as long as a recorder's rounds happen to be: pairs of events are split. */
static size_t part_of(uint64_t *seed, size_t done)
{
	size_t part = 1 + rolled(seed, 700);
	return part < EVENTS - done ? part : EVENTS - done;
}

static void live_is_alike(uint64_t seed)
{
	void *memory =
	    mmap(NULL, SONDE_LIVE_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(memory != MAP_FAILED);
	struct sonde_live *live = sonde_live_init(memory);
	const struct sonde_drain_thread thread = {.serial = 1, .index = 1};
	char name[SONDE_LINK_NAME_B];
	for (uint32_t site = 1; site <= SITES; site++) { /* 1 of a ring is "(other)" */
		name_of(site, name);
		const struct sonde_drain_site row = {site + 1, SONDE_SITE_ZONE, 0, 0, name, "", "", ""};
		sonde_live_site(live, &row);
	}
	static uint32_t shifted[EVENTS];
	for (size_t i = 0; i < EVENTS; i++)
		shifted[i] = sites[i] ? sites[i] + 1 : 0;
	for (size_t done = 0, part; done < EVENTS; done += part) {
		part = part_of(&seed, done);
		assert_int_equal(sonde_live_zones(live, &thread, shifted + done, times_ns + done, part, 0), 0);
	}
	for (uint32_t site = 1; site <= SITES; site++) {
		struct sonde_link_query query = {.what = SONDE_LINK_BY_NAME, .quantile = 0.5};
		struct sonde_link_answer answer;
		name_of(site, query.name);
		sonde_live_answer(live, &query, &answer);
		assert_int_equal(answer.rows, 1);
		assert_int_equal(answer.row[0].count, sums[site].count);
		assert_int_equal(answer.row[0].total_ns, sums[site].total_ns);
		assert_int_equal(answer.row[0].self_ns, sums[site].self_ns);
		assert_int_equal(answer.row[0].min_ns, sums[site].min_ns);
		assert_int_equal(answer.row[0].max_ns, sums[site].max_ns);
	}
	sonde_live_fini(live);
	munmap(memory, SONDE_LIVE_B);
}

/* In chunks that end anywhere, so that zones are open in summaries. */
static void write_streams(const char *path, uint64_t seed)
{
	struct recording recording;
	struct sonde_streams streams;
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 1, 0, "p", 0);
	uint32_t thread = recording_thread(&recording, process, 1, "t", 0);
	char name[32];
	for (uint32_t site = 1; site <= SITES; site++) {
		name_of(site, name);
		assert_int_equal(recording_site(&recording, SONDE_SITE_ZONE, name, ""), site);
	}
	sonde_streams_init(&streams, recording.writer);
	for (size_t done = 0, part; done < EVENTS; done += part) {
		part = part_of(&seed, done);
		assert_int_equal(sonde_streams_zones(&streams, process, thread, sites + done, times_ns + done, part),
				 0);
		if (!rolled(&seed, 3))
			assert_int_equal(sonde_streams_flush(&streams), 0);
	}
	assert_int_equal(sonde_streams_flush(&streams), 0);
	sonde_streams_fini(&streams);
	recording_close(&recording, times_ns[EVENTS - 1], 0);
}

static void session_is_alike(struct sonde_session *session, size_t count)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t at = 0;
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_ZONES), 0);
	while (sonde_cursor_next(cursor, &batch) == 1)
		for (size_t i = 0; i < batch->count; i++) {
			if (batch->zones.flags[i] & SONDE_ZONE_UNFINISHED)
				continue;
			assert_true(at < count);
			const struct zone *zone = &zones[at++];
			assert_int_equal(batch->zones.start_ns[i], zone->start_ns);
			assert_int_equal(batch->zones.dur_ns[i], zone->dur_ns);
			assert_int_equal(batch->zones.self_ns[i], zone->self_ns);
			assert_int_equal(batch->zones.site[i], zone->site);
			assert_int_equal(batch->zones.depth[i], zone->depth);
			assert_int_equal(batch->zones.flags[i], zone->nested ? SONDE_ZONE_RECURSIVE : 0);
		}
	sonde_cursor_close(cursor);
	assert_int_equal(at, count);
}

static void summaries_are_alike(struct sonde_session *session)
{
	struct sonde_zone_stat stats[SITES + 1];
	assert_int_equal(sonde_session_zone_stats(session, stats), 0);
	for (uint32_t site = 1; site <= SITES; site++) {
		assert_int_equal(stats[site].count, sums[site].count);
		assert_int_equal(stats[site].total_ns, sums[site].total_ns);
		assert_int_equal(stats[site].self_ns, sums[site].self_ns);
		assert_int_equal(stats[site].min_ns, sums[site].min_ns);
		assert_int_equal(stats[site].max_ns, sums[site].max_ns);
	}
}

static void all_pairings_make_the_same_zones(void **state)
{
	(void)state;
	char path[] = "/tmp/sonde-pairings-XXXXXX";
	close(mkstemp(path));
	for (uint64_t seed = 1; seed <= 8; seed++) {
		make_events(seed);
		size_t count = pair_plainly();
		assert_true(count > EVENTS / 3);
		live_is_alike(seed);
		write_streams(path, seed);
		struct sonde_session_options options = {.no_symbols = 1};
		struct sonde_session *session;
		assert_int_equal(sonde_session_open(&session, path, &options), 0);
		session_is_alike(session, count);
		summaries_are_alike(session);
		sonde_session_close(session);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairings_make_the_same_zones)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
