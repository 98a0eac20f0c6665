/* test_bytes.c: fixed events make the same bytes as ever, through every writer of ZONES, HEAP, EVENTS, STACKS and rows:
 * the recorder, a process that records itself, import, and merge.
 *
 * tests/golden/bytes.txt has a line for each chunk: its recording, type, count, sizes before compression, and a hash of
 * everything else. After an intended change: build/tests/unit/test_bytes tests/golden/bytes.txt writes it anew.
 */
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

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "import/import.h"
#include "merge/merge.h"
#include "recording.h"
#include "runtime/sink.h"
#include "runtime/sink_state.h"
#include "source/heap/chunks.h"
#include "source/record/streams.h"
#include "trace/check.h"
#include "trace/reader.h"
#include "util/error.h"

enum { SITES = 300, EVENTS = 200000, BLOCKS = 5000, CHANGES = 100000, TEXT_MAX_B = 1 << 16 };
#define NOW RECORDING_START_NS

static char folder[] = "/tmp/sonde-test-bytes-XXXXXX";
static int is_making;         /* writes bytes.txt instead of comparing */
static char made[TEXT_MAX_B]; /* a line for each chunk so far */
static const char *made_from; /* the lines of the latest recording */

static uint32_t sites[EVENTS];
static uint64_t times_ns[EVENTS];
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* The time from one event to the next: mostly short, sometimes 0 or long. */
static uint64_t step(void)
{
	if (draw(4))
		return draw(100);
	if (draw(30))
		return 0;
	uint64_t value = draw(1u << 30); /* the order of operands is unspecified, so each draw is a statement */
	return value << draw(8);
}

/* Runs of leaves, deep nests, ends without a begin; times that stand still, go on by a byte or by many. */
static void make_zones(uint64_t from, uint32_t site_count)
{
	uint64_t now_ns = NOW;
	uint32_t open = 0, run = 0, leaf = 1;
	seed = from;
	for (size_t i = 0; i < EVENTS; i++) {
		if (!run && !draw(50)) {
			run = 2 * draw(400);
			leaf = 1 + draw(site_count);
		}
		int begins = run ? run % 2 == 0 : draw(100) < (i / 3000 % 2 ? 60 : 42);
		sites[i] = !begins ? 0 : run ? leaf : 1 + draw(site_count);
		open = begins ? open + 1 : open - (open > 0);
		run -= run > 0;
		now_ns += step();
		times_ns[i] = now_ns;
	}
}

/* --- what was written --------------------------------------------------------------------------------------------- */

static const char *named(const char *name)
{
	static char paths[4][80];
	static unsigned turn;
	char *path = paths[turn++ % 4];
	snprintf(path, sizeof *paths, "%s/%s", folder, name);
	return path;
}

/* Adds the chunks of a recording. META of recorders has real times and ids of processes. */
static void note_chunks(const char *name, int has_meta)
{
	struct sonde_reader *reader;
	struct sonde_chunk_data data = {0};
	assert_int_equal(sonde_reader_open(&reader, named(name)), 0);
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	made_from = made + strlen(made);
	for (size_t i = 0; i < sonde_reader_count(reader); i++) {
		assert_int_equal(sonde_reader_read(reader, i, &data), 0);
		struct sonde_chunk_head head = *data.head;
		if (head.type == SONDE_CHUNK_META && !has_meta)
			continue;
		head.codec = 0; /* what a version of the compressor makes of it */
		head.stored_b = 0;
		head.seq = head.check = 0;
		uint64_t hash = XXH3_64bits(&head, sizeof head) ^ XXH3_64bits(data.summary, head.summary_b) * 3 ^
				XXH3_64bits(data.body, head.raw_b) * 5;
		size_t used_b = strlen(made);
		snprintf(made + used_b, sizeof made - used_b, "%s %u %u %u %u %016llx\n", name, head.type, head.count,
			 head.summary_b, head.raw_b, (unsigned long long)hash);
	}
	assert_in_range(strlen(made), 1, sizeof made - 100);
	sonde_buf_fini(&data.buf);
	sonde_reader_close(reader);
}

/* All chunks of the recording are those of the file, and there are no others. */
static void assert_as_before(const char *name)
{
	char *expected = calloc(1, TEXT_MAX_B), *remainder = expected, *line;
	FILE *file = fopen(GOLDEN "/bytes.txt", "r");
	size_t name_b = strlen(name), count = 0;
	assert_true(file && expected);
	assert_true(fread(expected, 1, TEXT_MAX_B - 1, file) > 0);
	fclose(file);
	const char *at = made_from;
	while ((line = strsep(&remainder, "\n"))) {
		size_t line_b = strlen(line);
		if (strncmp(line, name, name_b) || line[name_b] != ' ')
			continue;
		if (strncmp(at, line, line_b) || at[line_b] != '\n')
			fail_msg("chunk %zu: '%.*s' instead of '%s'", count, (int)strcspn(at, "\n"), at, line);
		at += line_b + 1;
		count++;
	}
	if (!count || *at)
		fail_msg("'%s' after %zu chunks that are expected", at, count);
	free(expected);
}

static void check(const char *name, int has_meta)
{
	note_chunks(name, has_meta);
	if (!is_making)
		assert_as_before(name);
}

/* --- recordings --------------------------------------------------------------------------------------------------- */

/* Zones and events of three threads, through the streams of the recorder; two of them with times that go back. */
static void write_streams(const char *name)
{
	struct recording recording;
	struct sonde_streams streams;
	char site[16];
	recording_open(&recording, named(name));
	recording_process(&recording, 1, 0, "p", NOW);
	for (uint32_t thread = 1; thread <= 3; thread++)
		recording_thread(&recording, 1, thread, "t", NOW);
	for (uint32_t i = 1; i <= SITES; i++) {
		snprintf(site, sizeof site, "zone %u", i);
		recording_site(&recording, SONDE_SITE_ZONE, site, "");
	}
	sonde_streams_init(&streams, recording.writer);
	for (uint32_t thread = 1; thread <= 3; thread++) {
		make_zones(thread, thread == 1 ? 90 : SITES);
		for (size_t i = 1; thread > 1 && i < EVENTS; i += 1000)
			times_ns[i] -= 7;
		for (size_t done = 0, part; done < EVENTS; done += part) {
			part = 1 + draw(3000);
			part = part < EVENTS - done ? part : EVENTS - done;
			assert_int_equal(sonde_streams_zones(&streams, 1, thread, sites + done, times_ns + done, part),
					 0);
			struct sonde_event_value value = {.head = {SONDE_EVENT_GAUGE, 3, 7, times_ns[done]},
							  .value = (double)done};
			assert_int_equal(sonde_streams_event(&streams, 1, thread, &value.head), 0);
		}
	}
	assert_int_equal(sonde_streams_flush(&streams), 0);
	sonde_streams_fini(&streams);
	recording_close(&recording, times_ns[EVENTS - 1], 0);
}

/* Blocks of a process, through the heap source of the recorder. */
static void write_heap(const char *name)
{
	struct sonde_writer *writer;
	struct sonde_recorder *recorder;
	struct sonde_heap_chunks *chunks;
	static struct sonde_heap_change changes[CHANGES];
	struct sonde_record_options options = {.output = named(name)};
	assert_int_equal(sonde_writer_open(&writer, named(name), &(struct sonde_writer_options){.overwrite = 1}), 0);
	assert_int_equal(sonde_recorder_new(&recorder, writer, &options), 0);
	uint32_t process = sonde_recorder_process(recorder, getpid(), 1000);
	uint32_t thread = sonde_recorder_thread(recorder, getpid(), getpid(), 1000);
	uint32_t heap = sonde_recorder_heap(recorder, process, SONDE_HEAP_MALLOC, NULL);
	for (uint32_t i = 0; i < SITES; i++) {
		struct sonde_recorder_heap_site row = {heap, thread, i, SONDE_STACK_COMPLETE};
		assert_int_equal(sonde_recorder_heap_site(recorder, &row), i + 1);
	}
	assert_int_equal(sonde_heap_chunks_new(&chunks, recorder, process, heap, 0), 0);
	uint64_t now_ns = NOW;
	seed = 1;
	for (size_t i = 0; i < CHANGES; i++) {
		now_ns += draw(3) ? draw(50) : draw(1u << 20);
		struct sonde_heap_change *change = &changes[i];
		change->time = now_ns;
		change->address = 16 + 16 * (uint64_t)draw(BLOCKS);
		change->size_b = draw(20) ? draw(400) : draw(1u << 28);
		change->site = draw(100) < 55 ? 1 + draw(SITES) : 0;
		change->thread = 1 + draw(40) / 39;
	}
	for (size_t done = 0, part; done < CHANGES; done += part) {
		part = 1 + draw(9000);
		part = part < CHANGES - done ? part : CHANGES - done;
		sonde_heap_chunks_changes(chunks, changes + done, part);
		sonde_heap_chunks_splits(chunks, changes[done + part - 1].time, 1, 16 * (uint64_t)draw(BLOCKS),
					 &(struct sonde_heap_split){16, 16, 32});
		if (draw(2))
			assert_int_equal(sonde_heap_chunks_flush(chunks), 0);
		if (done > CHANGES / 2)
			sonde_heap_chunks_exact_times(chunks);
	}
	sonde_heap_chunks_close(chunks);
	sonde_heap_chunks_free(chunks);
	assert_int_equal(sonde_recorder_close(recorder, 0, now_ns), 0);
	assert_int_equal(sonde_writer_close(writer), 0);
	sonde_recorder_free(recorder);
}

/* Zones, events and blocks of a pool, of a process that records itself. */
static void write_self(const char *name)
{
	struct sonde_file *file;
	struct sonde_ring_pool *ring = calloc(1, sizeof *ring);
	void *memory =
	    mmap(NULL, sonde_sink_b(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(sonde_file_open(&file, named(name)), 0);
	struct sonde_sink *sink = sonde_sink_init(memory, ring, file);
	for (uint32_t site = 2; site < 2 + SITES; site++)
		sink->sites[site] = site - 1;
	sonde_pools_name(sink->pools, 1000, "arena");
	for (uint32_t i = 1; i <= 2; i++) {
		struct sonde_drain_thread thread = {.serial = i, .index = i, .tid = (uint32_t)getpid(), .user = i};
		make_zones(10 + i, i == 1 ? 90 : SITES);
		for (size_t k = 0; k < EVENTS; k++)
			sites[k] += sites[k] ? 1 : 0;
		for (size_t done = 0, part; done < EVENTS; done += part) {
			part = 1 + draw(3000);
			part = part < EVENTS - done ? part : EVENTS - done;
			int gap = !draw(20);
			sonde_sink_take_zones(sink, &thread, sites + done, times_ns + done, part, gap);
			struct sonde_event_block block = {.head = {.site = 1000, .time = times_ns[done]},
							  .address = 16 + 16 * (uint64_t)draw(20)};
			block.head.type = draw(2) ? SONDE_EVENT_POOL_TAKE : SONDE_EVENT_POOL_GIVE;
			block.size_b = block.head.type == SONDE_EVENT_POOL_TAKE ? draw(1000) : 0;
			sonde_pools_add(sink->pools, i, &block);
			struct sonde_event_value value = {.head = {SONDE_EVENT_COUNTER, 3, 5, times_ns[done]}};
			sonde_sink_take_event(sink, &thread, &value.head);
		}
		sonde_sink_flush_zones(sink);
		sonde_sink_flush_events(sink);
		sonde_pools_run(sink->pools, times_ns[EVENTS - 1]);
	}
	assert_int_equal(sonde_sink_close(sink), 0);
	munmap(memory, sonde_sink_b());
	free(ring);
}

static void import_as(const char *from, const char *to)
{
	struct sonde_import_result result;
	FILE *out = fopen(named(to), "w+");
	assert_non_null(out);
	struct sonde_import_options options = {.path = from, .fd = fileno(out), .name = to};
	assert_int_equal(sonde_import(&result, &options), 0);
	sonde_import_result_fini(&result);
	fclose(out);
}

/* Slices that nest, counters and instant events, of four threads. */
static void write_trace(const char *name)
{
	FILE *out = fopen(named(name), "w");
	assert_non_null(out);
	fputs("[", out);
	seed = 5;
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t thread = 1 + i % 4, length = 1 + draw(300);
		uint32_t at = i * 100 + draw(40), site = draw(SITES);
		fprintf(out, "{\"name\":\"f%u\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":%u},\n", site,
			thread, at, length);
		if (!draw(10))
			fprintf(out,
				"{\"name\":\"c\",\"ph\":\"C\",\"pid\":1,\"tid\":1,\"ts\":%u,\"args\":{\"v\":%u}},\n",
				i * 100, draw(1000));
		if (!draw(10))
			fprintf(out, "{\"name\":\"m\",\"ph\":\"i\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"s\":\"t\"},\n",
				thread, i * 100);
	}
	fputs("{\"name\":\"last\",\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":9000000,\"s\":\"t\"}]\n", out);
	fclose(out);
}

static void write_stacks(const char *name)
{
	FILE *out = fopen(named(name), "w");
	assert_non_null(out);
	seed = 6;
	for (uint32_t i = 0; i < 3000; i++) {
		fputs("main", out);
		for (uint32_t depth = draw(30); depth; depth--)
			fprintf(out, ";f%u", draw(depth * 3 + 1));
		fprintf(out, " %u\n", 1 + draw(9));
	}
	fclose(out);
}

static void copy(const char *from, const char *to)
{
	FILE *in = fopen(named(from), "r"), *out = fopen(named(to), "w");
	assert_true(in && out);
	for (int byte; (byte = getc(in)) != EOF;)
		putc(byte, out);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

static void set_head(const char *name, uint64_t id, uint64_t start_ns)
{
	struct sonde_file_head head;
	FILE *file = fopen(named(name), "r+");
	assert_non_null(file);
	assert_int_equal(fread(&head, sizeof head, 1, file), 1);
	head.id[0] = id;
	head.id[1] = 0;
	head.start_mono_ns = start_ns;
	head.start_real_ns = 1700000000000000000;
	head.check = sonde_check_head(&head, sizeof head);
	rewind(file);
	assert_int_equal(fwrite(&head, sizeof head, 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void recorder_streams(void **state)
{
	(void)state;
	write_streams("streams");
	check("streams", 1);
}

static void recorder_heaps(void **state)
{
	(void)state;
	write_heap("heap");
	check("heap", 0);
}

static void own_recordings(void **state)
{
	(void)state;
	write_self("self");
	check("self", 0);
}

static void imports(void **state)
{
	(void)state;
	write_trace("trace.json");
	write_stacks("stacks.folded");
	import_as(named("stacks.folded"), "stacks");
	check("stacks", 1);
#ifdef HAS_YAJL
	import_as(named("trace.json"), "trace");
	check("trace", 1);
#endif
}

/* Each input twice, as recordings of two machines, so that ids and times change. */
static void merges(void **state)
{
	static const char *const names[] = {"streams", "heap", "self", "stacks"};
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char again[40], merged[40];
		struct sonde_merge_result result;
		snprintf(again, sizeof again, "%s.again", names[i]);
		snprintf(merged, sizeof merged, "%s.merged", names[i]);
		copy(names[i], again);
		set_head(names[i], 1, NOW);
		set_head(again, 2, NOW - 5000);
		FILE *out = fopen(named(merged), "w+");
		assert_non_null(out);
		const char *paths[] = {named(names[i]), named(again)};
		struct sonde_merge_options options = {.fd = fileno(out), .name = merged, .align = SONDE_MERGE_STARTS};
		if (sonde_merge(&result, paths, 2, &options))
			fail_msg("%s: %s", names[i], sonde_error_text());
		fclose(out);
		check(merged, 0);
	}
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int leave(void **state)
{
	char command[80];
	(void)state;
	snprintf(command, sizeof command, "rm -r '%s'", folder);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(recorder_streams), cmocka_unit_test(recorder_heaps), cmocka_unit_test(own_recordings),
	    cmocka_unit_test(imports),          cmocka_unit_test(merges),
	};
	is_making = argc == 2;
	int rc = cmocka_run_group_tests(tests, enter, leave);
	FILE *out = is_making && !rc ? fopen(argv[1], "w") : NULL;
	if (out && (fputs(made, out) < 0 || fclose(out)))
		rc = 1;
	return rc;
}
