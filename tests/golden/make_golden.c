/* make_golden.c: writes the golden recording and its dump: make_golden FOLDER.
 *
 * Run by hand when the format grows, and the new files are reviewed and committed; a test reads the committed ones.
 * Everything is deterministic but for the compressor's version, which is why tests compare dumps and not bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "recording.h"
#include "session/session.h"
#include "trace/check.h"
#include "util/error.h"

static void must(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "make_golden: %s\n", sonde_error_text());
	exit(1);
}

static void write_tables(struct recording *recording)
{
	recording_info(recording, "run.command", "./app --fast");
	recording_info(recording, "host.cpu", "Golden CPU");
	uint32_t shell = recording_process(recording, 100, 0, "app", 1000);
	uint32_t child = recording_process(recording, 101, shell, "worker", 1500);
	recording_thread(recording, shell, 100, "app", 1000);
	recording_thread(recording, child, 101, "worker", 1500);
	recording_module(recording, "/usr/bin/app", 0);
	recording_module(recording, "[kernel]", SONDE_MODULE_KERNEL);
	recording_module(recording, "/usr/lib/libstripped.so.1", 0);
	recording_site(recording, SONDE_SITE_ZONE, "frame", "");
	recording_site(recording, SONDE_SITE_ZONE, "draw", "");
	recording_site(recording, SONDE_SITE_COUNTER, "bytes read", "B");
	recording_site(recording, SONDE_SITE_HISTOGRAM, "latency", "ns");
}

static void write_samples(struct recording *recording)
{
	static const struct recording_place inlined[] = {
	    {"square", "src/math.h", 7, 0},
	    {"compute", "src/app.c", 42, 0x2000},
	};
	static const struct recording_place stripped = {NULL, NULL, 0, 0x500};
	uint32_t root = recording_call(recording, 0, 1, "main", 12);
	uint32_t node = recording_node(recording, root, 1, 0x2010);
	recording_symbol(recording, 1, 0x2010, inlined, 2);
	uint32_t library = recording_node(recording, node, 3, 0x510);
	recording_symbol(recording, 3, 0x510, &stripped, 1);
	uint32_t kernel = recording_node(recording, library, 2, 0xffffffff81000010); /* never looked up */
	const struct recording_sample samples[] = {
	    {2000, 1, node, 1000000, SONDE_STACK_COMPLETE},
	    {3000, 2, library, 2000000, SONDE_STACK_FRAME_POINTER},
	    {3000, 1, kernel, 1000000, SONDE_STACK_COMPLETE | SONDE_SAMPLE_KERNEL},
	    {4100000000, 1, 0, 500, SONDE_STACK_NO_USER},
	};
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		recording_sample(recording, samples[i]);
	recording_switch(recording, 2500, 1, SONDE_SWITCH_OUT_BLOCKED);
	recording_switch(recording, 2700, 1, SONDE_SWITCH_IN);
	recording_switch(recording, 2900, 2, SONDE_SWITCH_OUT_PREEMPTED);
}

/* Thread 1: frame(draw, frame) in two chunks, and a frame that never ends. Thread 2: an end too many. */
static void write_zones(struct recording *recording)
{
	recording_begin(recording, 1, 1, 10000);
	recording_begin(recording, 1, 2, 10100);
	recording_end(recording, 1, 10400);
	recording_begin(recording, 1, 1, 10500);
	recording_flush(recording);
	recording_end(recording, 1, 10600);
	recording_end(recording, 1, 12000);
	recording_begin(recording, 1, 1, 13000);
	recording_end(recording, 2, 10000);
	recording_begin(recording, 2, 2, 11000);
	recording_end(recording, 2, 11000);
}

static void write_events(struct recording *recording)
{
	static const uint64_t latencies[] = {5, 5, 100, 1000000};
	recording_text(recording, 1, SONDE_EVENT_MESSAGE, 0, 10200, "hello");
	recording_value(recording, 1, SONDE_EVENT_COUNTER, 3, 10300, 4096);
	recording_span(recording, 1, SONDE_EVENT_SPAN_BEGIN, 1, 10350, 77);
	recording_span(recording, 1, SONDE_EVENT_SPAN_END, 0, 10900, 77);
	recording_work(recording, 1, 10950, 1e9, 5e8, 3);
	recording_histogram(recording, 4, 1, latencies, 4);
}

/* What a later minor version may add: all of it must be skipped and counted. */
static void write_unknown(struct recording *recording)
{
	const struct sonde_meta_info record = {.head.type = 900, .key = 1};
	must(sonde_writer_meta(recording->writer, &record, sizeof record, "what?", 5));
	const struct sonde_chunk unknown = {.type = 90, .count = 3, .body = "abc", .body_b = 3};
	must(sonde_writer_chunk(recording->writer, &unknown));
	const struct sonde_chunk newer = {.type = SONDE_CHUNK_SAMPLES,
					  .version = SONDE_CHUNK_VERSION + 1,
					  .time_max_ns = 1,
					  .count = 1,
					  .body = "new",
					  .body_b = 3};
	must(sonde_writer_chunk(recording->writer, &newer));
}

/* What of a head is not the same each time. */
static void settle_head(const char *path)
{
	struct sonde_file_head head;
	FILE *file = fopen(path, "r+b");
	must(file && fread(&head, sizeof head, 1, file) == 1 ? 0 : -1);
	head.id[0] = 0x0123456789abcdef;
	head.id[1] = 0xfedcba9876543210;
	head.start_mono_ns = 1000;
	head.start_real_ns = 1700000000000000000;
	head.arch = 62;
	head.check = sonde_check_head(&head, sizeof head);
	rewind(file);
	must(fwrite(&head, sizeof head, 1, file) == 1 && fclose(file) == 0 ? 0 : -1);
}

static void make(const char *path, const struct sonde_writer_options *options)
{
	struct recording recording = {.chunk_rows = 1000};
	snprintf(recording.path, sizeof recording.path, "%s", path);
	must(sonde_writer_open(&recording.writer, path, options));
	write_tables(&recording);
	write_samples(&recording);
	write_zones(&recording);
	write_events(&recording);
	write_unknown(&recording);
	recording_source(&recording, "cpu", SONDE_SOURCE_LIMITED, "perf events", "no kernel frames", 999);
	recording_lost(&recording, "cpu", "ring full", 17);
	recording_cost(&recording, "recorder.cpu_ns", 123456);
	recording_flush(&recording);
	recording_thread_end(&recording, 2, 15000, 3000000);
	recording_process_end(&recording, 2, 15000, 2000000, 1000000);
	recording_process_end(&recording, 1, 20000, 5000000, 500000);
	recording_close(&recording, 21000, 256);
	settle_head(path);
}

/* Three kinds of heaps, in two processes, one of them in several chunks; a snapshot, what was left, and a pool's events
 * as a process writes them by itself. */
/* Zones whose chunks say how they lie in time: 300 short ones in one that goes on in the next chunk; some too deep. */
static void make_nodes(const char *path, const struct sonde_writer_options *options)
{
	struct recording recording = {.chunk_rows = 1000, .has_nodes = 1};
	snprintf(recording.path, sizeof recording.path, "%.255s", path);
	must(sonde_writer_open(&recording.writer, path, options));
	write_tables(&recording);
	recording_begin(&recording, 1, 1, 10000);
	for (uint64_t i = 0; i < 300; i++) {
		recording_begin(&recording, 1, 2, 10100 + 100 * i);
		recording_end(&recording, 1, 10110 + 100 * i + (i == 200 ? 60 : i % 7));
	}
	recording_flush(&recording);
	recording_begin(&recording, 1, 2, 60000);
	recording_end(&recording, 1, 60100);
	recording_end(&recording, 1, 70000);
	recording_begin(&recording, 1, 1, 80000);
	for (uint64_t i = 0; i < 66; i++)
		recording_begin(&recording, 2, 2, 20000 + i);
	for (uint64_t i = 0; i < 66; i++)
		recording_end(&recording, 2, 30000 + i);
	recording_close(&recording, 100000, 0);
	settle_head(path);
}

static void make_heap(const char *path, const struct sonde_writer_options *options)
{
	struct recording recording = {.chunk_rows = 1000, .time_every = 1};
	snprintf(recording.path, sizeof recording.path, "%.255s", path);
	must(sonde_writer_open(&recording.writer, path, options));
	write_tables(&recording);
	uint32_t root = recording_call(&recording, 0, 1, "main", 12);
	uint32_t leaf = recording_call(&recording, root, 1, "load", 30);
	uint32_t malloc_heap = recording_heap(&recording, 1, SONDE_HEAP_MALLOC, NULL);
	uint32_t mappings = recording_heap(&recording, 2, SONDE_HEAP_MAPPING, NULL);
	uint32_t pool = recording_heap(&recording, 1, SONDE_HEAP_POOL, "arena");
	uint32_t first = recording_heap_site(&recording, malloc_heap, 1, leaf);
	uint32_t second = recording_heap_site(&recording, malloc_heap, 1, root);
	uint32_t mapped = recording_heap_site(&recording, mappings, 2, root);
	uint32_t pooled = recording_heap_site(&recording, pool, 1, 0);
	size_t block = recording_begins(&recording, first, 2000, 100);
	recording_begins(&recording, second, 2100, 48);
	recording_ends(&recording, malloc_heap, block, 1, 2400);
	recording_flush(&recording);
	block = recording_begins(&recording, first, 3000, 5000);
	size_t area = recording_begins(&recording, mapped, 3100, 1 << 20);
	recording_begins(&recording, pooled, 3200, 64);
	recording_ends(&recording, malloc_heap, block, 1, 3300);
	recording_ends(&recording, mappings, area, 2, 3400);
	struct sonde_meta_snapshot snapshot = {.head.type = SONDE_META_SNAPSHOT,
					       .process = 1,
					       .label = recording_string(&recording, "loaded"),
					       .reason = SONDE_SNAPSHOT_API,
					       .time_ns = 3250,
					       .rss_b = 4096000};
	must(sonde_writer_meta(recording.writer, &snapshot, sizeof snapshot, NULL, 0));
	recording_leak(&recording, second, SONDE_HEAP_UNREACHABLE, 1, 48, NULL);
	recording_leak(&recording, pooled, SONDE_HEAP_NOT_KNOWN, 1, 64, "nobody looked");
	uint32_t site = recording_site(&recording, SONDE_SITE_POOL, "own", "");
	recording_block(&recording, 1, SONDE_EVENT_POOL_TAKE, site, 4000, 0x7f0000001000, 32);
	recording_block(&recording, 1, SONDE_EVENT_POOL_GIVE, site, 4100, 0x7f0000001000, 0);
	recording_flush(&recording);
	recording_close(&recording, 21000, 0);
	settle_head(path);
}

/* A process's, a thread's and the machine's numbers, in two chunks; one goes down, and one is as low as can be. */
static void make_series(const char *path, const struct sonde_writer_options *options)
{
	struct recording recording = {.chunk_rows = 1000};
	snprintf(recording.path, sizeof recording.path, "%.255s", path);
	must(sonde_writer_open(&recording.writer, path, options));
	write_tables(&recording);
	uint32_t rss = recording_series(&recording, SONDE_METRIC_MEMORY_RSS, 1, 0, "");
	uint32_t user = recording_series(&recording, SONDE_METRIC_CPU_USER, 2, 2, "");
	uint32_t disk = recording_series(&recording, SONDE_METRIC_DISK_BUSY, 0, 0, "sda");
	uint32_t faults = recording_series(&recording, SONDE_METRIC_FAULTS_MINOR, 0, 0, "");
	const struct recording_point points[] = {{2000, rss, 1 << 20},    {2000, user, 5000},
						 {2100, disk, 0},         {3000, rss, 4096},
						 {3000, disk, INT64_MAX}, {3000, faults, INT64_MIN}};
	for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
		recording_point(&recording, points[i].time_ns, points[i].series, points[i].value);
		if (i == 2)
			recording_flush(&recording);
	}
	recording_flush(&recording);
	recording_close(&recording, 21000, 0);
	settle_head(path);
}

/* Context switches with the CPU, and without in a chunk of their own. */
static void make_switches(const char *path, const struct sonde_writer_options *options)
{
	struct recording recording = {.chunk_rows = 1000};
	snprintf(recording.path, sizeof recording.path, "%.255s", path);
	must(sonde_writer_open(&recording.writer, path, options));
	write_tables(&recording);
	recording_switch_on(&recording, 2000, 1, SONDE_SWITCH_OUT_BLOCKED, 0);
	recording_switch_on(&recording, 2000, 2, SONDE_SWITCH_IN, 0);
	recording_switch_on(&recording, 2500, 1, SONDE_SWITCH_IN, 511);
	recording_switch_on(&recording, 2600, 2, SONDE_SWITCH_OUT_PREEMPTED, -1);
	recording_flush(&recording);
	recording_switch(&recording, 2700, 2, SONDE_SWITCH_IN);
	recording_flush(&recording);
	recording_close(&recording, 21000, 0);
	settle_head(path);
}

/* Blocking calls of two threads, not in time order. */
static void make_waits(const char *path, const struct sonde_writer_options *options)
{
	struct recording recording = {.chunk_rows = 1000};
	snprintf(recording.path, sizeof recording.path, "%.255s", path);
	must(sonde_writer_open(&recording.writer, path, options));
	write_tables(&recording);
	uint32_t root = recording_call(&recording, 0, 1, "main", 12);
	uint32_t leaf = recording_call(&recording, root, 1, "enqueue", 30);
	uint32_t lock = recording_object(&recording, 1, SONDE_OBJECT_LOCK, "queue_mutex", 0x555500004040);
	uint32_t file = recording_object(&recording, 2, SONDE_OBJECT_FILE, "/etc/passwd", 0);
	recording_wait(&recording, (struct recording_wait){.start_ns = 5000,
							   .dur_ns = 700,
							   .thread = 1,
							   .other = 2,
							   .kind = SONDE_WAIT_MUTEX,
							   .stack = leaf,
							   .object = lock});
	recording_wait(&recording, (struct recording_wait){.start_ns = 4000,
							   .dur_ns = 1700,
							   .thread = 2,
							   .kind = SONDE_WAIT_HELD,
							   .stack = root,
							   .status = SONDE_STACK_FRAME_POINTER,
							   .object = lock});
	recording_flush(&recording);
	recording_wait(
	    &recording,
	    (struct recording_wait){
		.start_ns = 9000, .thread = 2, .kind = SONDE_WAIT_READ, .stack = leaf, .object = file, .amount = 4096});
	recording_flush(&recording);
	recording_close(&recording, 21000, 0);
	settle_head(path);
}

/* Sampled waits: a futex and a call that were seen in several polls; one whose samples stand for more time than the
 * recording has, with a stack that could not be read; and a measured call next to them. */
static void make_sampled(const char *path, const struct sonde_writer_options *options)
{
	struct recording recording = {.chunk_rows = 1000};
	snprintf(recording.path, sizeof recording.path, "%.255s", path);
	must(sonde_writer_open(&recording.writer, path, options));
	write_tables(&recording);
	uint32_t root = recording_call(&recording, 0, 1, "main", 12);
	uint32_t leaf = recording_call(&recording, root, 1, "wait_gate", 30);
	uint32_t lock = recording_object(&recording, 1, SONDE_OBJECT_LOCK, "gate", 0x4c9a10);
	uint32_t pipe = recording_object(&recording, 2, SONDE_OBJECT_PIPE, "pipe:[4711]", 0);
	const struct recording_wait waits[] = {
	    {.start_ns = 5000,
	     .dur_ns = 900000000,
	     .thread = 1,
	     .kind = SONDE_WAIT_FUTEX,
	     .stack = leaf,
	     .status = SONDE_STACK_COMPLETE | SONDE_WAIT_SAMPLED,
	     .object = lock,
	     .amount = 45},
	    {.start_ns = 4000,
	     .dur_ns = 20000000,
	     .thread = 2,
	     .kind = SONDE_WAIT_READ,
	     .stack = root,
	     .status = SONDE_STACK_REGISTER | SONDE_WAIT_SAMPLED,
	     .object = pipe,
	     .amount = 1},
	    {.start_ns = 1000,
	     .dur_ns = 60000000000,
	     .thread = 2,
	     .kind = SONDE_WAIT_OTHER,
	     .status = SONDE_STACK_NOT_SAMPLED | SONDE_WAIT_SAMPLED,
	     .amount = 30},
	    {.start_ns = 9000, .dur_ns = 300, .thread = 1, .kind = SONDE_WAIT_SLEEP, .stack = leaf},
	};
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
		recording_wait(&recording, waits[i]);
	recording_flush(&recording);
	recording_close(&recording, 21000, 0);
	settle_head(path);
}

static void write_dump(const char *folder, const char *name)
{
	char path[4096];
	struct sonde_session *session;
	snprintf(path, sizeof path, "%s/%s.sonde", folder, name);
	must(sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1}));
	snprintf(path, sizeof path, "%s/%s.txt", folder, name);
	FILE *out = fopen(path, "w");
	must(out ? 0 : -1);
	dump(out, session);
	must(fclose(out) == 0 ? 0 : -1);
	sonde_session_close(session);
}

int main(int argc, char **argv)
{
	char path[4096];
	if (argc != 2) {
		fprintf(stderr, "usage: make_golden FOLDER\n");
		return 2;
	}
	snprintf(path, sizeof path, "%s/small.sonde", argv[1]);
	make(path, &(struct sonde_writer_options){.overwrite = 1});
	write_dump(argv[1], "small");
	snprintf(path, sizeof path, "%s/heap.sonde", argv[1]);
	make_heap(path, &(struct sonde_writer_options){.overwrite = 1});
	write_dump(argv[1], "heap");
	snprintf(path, sizeof path, "%s/series.sonde", argv[1]);
	make_series(path, &(struct sonde_writer_options){.overwrite = 1});
	write_dump(argv[1], "series");
	snprintf(path, sizeof path, "%s/switches.sonde", argv[1]);
	make_switches(path, &(struct sonde_writer_options){.overwrite = 1});
	write_dump(argv[1], "switches");
	snprintf(path, sizeof path, "%s/waits.sonde", argv[1]);
	make_waits(path, &(struct sonde_writer_options){.overwrite = 1});
	write_dump(argv[1], "waits");
	snprintf(path, sizeof path, "%s/sampled.sonde", argv[1]);
	make_sampled(path, &(struct sonde_writer_options){.overwrite = 1});
	write_dump(argv[1], "sampled");
	snprintf(path, sizeof path, "%s/nodes.sonde", argv[1]);
	make_nodes(path, &(struct sonde_writer_options){.overwrite = 1});
	write_dump(argv[1], "nodes");
	snprintf(path, sizeof path, "%s/raw.sonde", argv[1]);
	make(path, &(struct sonde_writer_options){.overwrite = 1, .no_compression = 1});
	return 0;
}
