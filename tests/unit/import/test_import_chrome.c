/* test_import_chrome.c: trace events with known values as recordings: pairing, nesting, spans, arguments, names,
 * profiles, truncated files, and output of `sonde export -f chrome` read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "import_fixture.h"
#include "exchange.h"
#include "recording.h"

struct sum {
	uint64_t count, total_ns, self_ns;
};

static struct sum zone_of(struct sonde_session *session, const char *name)
{
	struct sum sum = {0};
	size_t sites = sonde_session_site_count(session);
	struct sonde_zone_stat *stats = calloc(sites + 1, sizeof *stats);
	assert_int_equal(sonde_session_zone_stats(session, stats), 0);
	for (uint32_t i = 1; i <= sites; i++)
		if (!strcmp(sonde_session_site(session, i)->name, name)) {
			sum.count += stats[i].count;
			sum.total_ns += stats[i].total_ns;
			sum.self_ns += stats[i].self_ns;
		}
	free(stats);
	return sum;
}

static void assert_zone(struct sonde_session *session, const char *name, uint64_t count, uint64_t total_ns,
			uint64_t self_ns)
{
	struct sum sum = zone_of(session, name);
	if (sum.count != count || sum.total_ns != total_ns || sum.self_ns != self_ns)
		fail_msg("%s: %llu zones, %llu ns, self %llu ns instead of %llu, %llu, %llu", name,
			 (unsigned long long)sum.count, (unsigned long long)sum.total_ns,
			 (unsigned long long)sum.self_ns, (unsigned long long)count, (unsigned long long)total_ns,
			 (unsigned long long)self_ns);
}

/* Events of a type and the name of their site (NULL = any): how many; *last the last one, if not NULL. */
static size_t events_of(struct sonde_session *session, enum sonde_event_type type, const char *name, void *last,
			size_t last_b)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t count = 0;
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_EVENTS), 0);
	while (sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++) {
			const struct sonde_event *event = batch->events[i];
			const struct sonde_site *site = sonde_session_site(session, event->site);
			if (event->type != type || (name && (!site || strcmp(site->name, name))))
				continue;
			count++;
			size_t size_b = (size_t)event->words * 8;
			if (last)
				memcpy(last, event, size_b < last_b ? size_b : last_b);
		}
	sonde_cursor_close(cursor);
	return count;
}

static void complete_events_nest(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(
	    import_text(
		&imported,
		"{\"traceEvents\":[\n"
		"{\"ph\":\"X\",\"name\":\"outer\",\"cat\":\"c\",\"pid\":7,\"tid\":8,\"ts\":100.5,\"dur\":20.25,"
		"\"args\":{}},\n"
		"{\"ph\":\"X\",\"name\":\"inner\",\"pid\":7,\"tid\":8,\"ts\":101,\"dur\":5.125},\n"
		"{\"ph\":\"X\",\"name\":\"inner\",\"pid\":7,\"tid\":8,\"ts\":110,\"dur\":1},\n"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"tid\":0,\"ts\":0,\"args\":{\"name\":\"app\"}},\n"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":8,\"ts\":0,\"args\":{\"name\":"
		"\"work\\u00e9r\"}}\n"
		"],\"baseTimeNanoseconds\":1700000000000000000}"),
	    0);
	assert_zone(imported.session, "outer", 1, 20250, 14125);
	assert_zone(imported.session, "inner", 2, 6125, 6125);
	const struct sonde_thread *thread = sonde_session_thread(imported.session, 1);
	assert_string_equal(thread->name, "work\xc3\xa9r");
	assert_int_equal(thread->tid, 8);
	assert_string_equal(sonde_session_process(imported.session, 1)->name, "app");
	assert_int_equal(sonde_session_process(imported.session, 1)->pid, 7);
	assert_int_equal(sonde_session_head(imported.session)->start_real_ns, 1700000000000100500);
	assert_int_equal(sonde_session_run(imported.session)->wall_ns, 20250);
	assert_int_equal(imported.result.note_count, 0);
	import_close(&imported);
}

static void times_since_1970_are_exact(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(
	    import_text(&imported,
			"[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1700000000000000.001,\"dur\":0.002},"
			"{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1700000000000001.004,\"dur\":1e-2}]"),
	    0);
	assert_zone(imported.session, "a", 2, 12, 12);
	assert_int_equal(sonde_session_head(imported.session)->start_real_ns, 1700000000000000001);
	assert_int_equal(sonde_session_run(imported.session)->wall_ns, 1013);
	import_close(&imported);
}

static void begins_and_ends_are_paired(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(import_text(&imported, "[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10},"
						"{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":12},"
						"{\"ph\":\"B\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":12},"
						"{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":15},"
						"{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":20},"
						"{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":21}]"),
			 0);
	assert_zone(imported.session, "a", 1, 10000, 7000);
	assert_zone(imported.session, "b", 1, 3000, 3000);
	assert_zone(imported.session, "other", 1, 8000, 8000); /* to the end of the last slice */
	assert_true(import_notes(&imported, "1 ends without a start left out"));
	assert_true(import_notes(&imported, "1 slices without an end"));
	import_close(&imported);
}

/* Of slices with the same times the outer one comes last in a file that has them in the order of their ends. */
static void slices_of_one_time_keep_their_order(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(import_text(&imported,
				     "[{\"ph\":\"X\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5},"
				     "{\"ph\":\"X\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5},"
				     "{\"ph\":\"X\",\"name\":\"last\",\"pid\":1,\"tid\":2,\"ts\":11,\"dur\":1},"
				     "{\"ph\":\"X\",\"name\":\"child\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":5},"
				     "{\"ph\":\"X\",\"name\":\"parent\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":5}]"),
			 0);
	assert_zone(imported.session, "outer", 1, 5000, 0);
	assert_zone(imported.session, "inner", 1, 5000, 5000);
	assert_zone(imported.session, "parent", 1, 5000, 0);
	assert_zone(imported.session, "child", 1, 5000, 4000);
	import_close(&imported);
}

static void slices_that_overlap_are_spans(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(
	    import_text(&imported,
			"[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":10.5},"
			"{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":15,\"dur\":10,\"args\":{\"n\":3}},"
			"{\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":20.4,\"dur\":0.101}]"),
	    0);
	assert_zone(imported.session, "a", 1, 10500, 10400);
	assert_zone(imported.session, "b", 0, 0, 0);
	assert_zone(imported.session, "c", 1, 100, 100);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_SPAN_BEGIN, "b", NULL, 0), 1);
	struct sonde_event_span end;
	assert_int_equal(events_of(imported.session, SONDE_EVENT_SPAN_END, "b", &end, sizeof end), 1);
	assert_int_equal(end.head.time - sonde_session_head(imported.session)->start_mono_ns, 15000);
	assert_true(import_notes(&imported, "1 slices that overlap others of their thread: shown as spans"));
	assert_true(import_notes(&imported, "1 slices that end up to 1 ns after their parent"));
	import_close(&imported);
}

static void asynchronous_events_are_spans(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(
	    import_text(&imported,
			"[{\"ph\":\"b\",\"cat\":\"net\",\"name\":\"get\",\"id\":\"0x1\",\"pid\":1,\"tid\":1,\"ts\":10,"
			"\"args\":{\"url\":\"x\"}},"
			"{\"ph\":\"b\",\"cat\":\"net\",\"name\":\"get\",\"id2\":{\"local\":\"0x2\"},\"pid\":1,\"tid\":"
			"1,\"ts\":11},"
			"{\"ph\":\"n\",\"cat\":\"net\",\"name\":\"head\",\"id\":\"0x1\",\"pid\":1,\"tid\":1,\"ts\":12},"
			"{\"ph\":\"e\",\"cat\":\"net\",\"name\":\"get\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":30},"
			"{\"ph\":\"b\",\"cat\":\"net\",\"name\":\"get\",\"id\":\"0x1\",\"pid\":1,\"tid\":1,\"ts\":40},"
			"{\"ph\":\"e\",\"cat\":\"net\",\"name\":\"get\",\"id\":\"0x1\",\"pid\":1,\"tid\":1,\"ts\":45},"
			"{\"ph\":\"e\",\"cat\":\"net\",\"name\":\"get\",\"id\":\"0x9\",\"pid\":1,\"tid\":1,\"ts\":46},"
			"{\"ph\":\"s\",\"id\":1,\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":46}]"),
	    0);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_SPAN_BEGIN, "get", NULL, 0), 3);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_SPAN_END, "get", NULL, 0), 2);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_INSTANT, "head", NULL, 0), 1);
	struct {
		struct sonde_event_arg arg;
		char bytes[8];
	} arg;
	assert_int_equal(events_of(imported.session, SONDE_EVENT_ARG, NULL, &arg, sizeof arg), 1);
	assert_int_equal(arg.arg.span, 1);
	assert_memory_equal(arg.bytes, "urlx", 4);
	assert_true(import_notes(&imported, "1 ends without a start left out"));
	assert_true(import_notes(&imported, "1 flow arrows left out"));
	import_close(&imported);
}

static void counters_and_instants_keep_values_and_texts(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(
	    import_text(&imported,
			"[{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":10,\"args\":{\"used\":1.5,\"free\":7}},"
			"{\"ph\":\"C\",\"name\":\"load\",\"pid\":1,\"ts\":11,\"args\":{\"value\":-2}},"
			"{\"ph\":\"I\",\"name\":\"mark\",\"pid\":1,\"tid\":1,\"ts\":12,\"s\":\"t\",\"args\":{\"text\":"
			"\"hello\"}},"
			"{\"ph\":\"i\",\"name\":\"deep\",\"pid\":1,\"tid\":1,\"ts\":13,\"args\":{\"a\":[1,{\"b\":2}],"
			"\"n\":4}}]"),
	    0);
	struct sonde_event_value value;
	assert_int_equal(events_of(imported.session, SONDE_EVENT_GAUGE, "mem.used", &value, sizeof value), 1);
	assert_true(value.value == 1.5);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_GAUGE, "mem.free", &value, sizeof value), 1);
	assert_true(value.value == 7);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_GAUGE, "load", &value, sizeof value), 1);
	assert_true(value.value == -2);
	struct {
		struct sonde_event_text text;
		char bytes[16];
	} text;
	assert_int_equal(events_of(imported.session, SONDE_EVENT_INSTANT, "mark", &text, sizeof text), 1);
	assert_int_equal(text.text.len_b, 5);
	assert_memory_equal(text.bytes, "hello", 5);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_INSTANT, "deep", &text, sizeof text), 1);
	assert_memory_equal(text.bytes, "n: 4", 4);
	assert_true(import_notes(&imported, "1 arguments left out: lists, objects"));
	import_close(&imported);
}

/* It belongs to the zone, not to the one inside it, which starts and ends with it. */
static void arguments_stay_with_their_zone(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(
	    import_text(
		&imported,
		"[{\"ph\":\"X\",\"name\":\"out\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":20,\"args\":{\"k\":\"outer\"}},"
		"{\"ph\":\"X\",\"name\":\"in\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5,\"args\":{\"k\":\"first\"}},"
		"{\"ph\":\"X\",\"name\":\"in\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":10,\"args\":{\"k\":\"second\"}}]"),
	    0);
	struct text text = exchange_export(imported.session, "chrome", &(struct sonde_format_options){0});
	assert_has(text.data, "\"name\":\"out\",\"cat\":\"zone\",\"pid\":1,\"tid\":1,\"ts\":0.000,\"dur\":20.000");
	static const char *const said[] = {"\"ts\":0.000,\"dur\":20.000",  "outer",
					   "\"ts\":0.000,\"dur\":5.000",   "first",
					   "\"ts\":10.000,\"dur\":10.000", "second"};
	for (size_t i = 0; i < 6; i += 2) {
		const char *at = strstr(text.data, said[i]);
		assert_non_null(at);
		const char *end = strchr(at, '\n'), *key = strstr(at, "\"k\":\"");
		assert_true(key && (!end || key < end));
		assert_memory_equal(key + 5, said[i + 1], strlen(said[i + 1]));
	}
	free(text.data);
	import_close(&imported);
}

static void files_that_are_cut_off_are_taken(void **state)
{
	(void)state;
	static const char text[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5},\n"
				   "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":5},\n";
	struct imported imported;
	assert_int_equal(import_text(&imported, text), 0); /* as Chrome leaves it */
	assert_zone(imported.session, "a", 2, 10000, 10000);
	assert_true(import_notes(&imported, "the end of the file is missing"));
	import_close(&imported);
	size_t first_b = (size_t)(strchr(text, '}') - text) + 1, both_b = (size_t)(strrchr(text, '}') - text) + 1;
	for (size_t size_b = first_b; size_b < sizeof text - 1; size_b += 7) {
		uint64_t whole = size_b < both_b ? 1 : 2;
		assert_int_equal(import_bytes(&imported, text, size_b, NULL), 0);
		assert_zone(imported.session, "a", whole, whole * 5000, whole * 5000);
		assert_true(import_notes(&imported, "the end of the file is missing"));
		import_close(&imported);
	}
}

static void damaged_text_is_told_with_its_place(void **state)
{
	(void)state;
	static const char text[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5}, nope]";
	import_fails(text, strlen(text), -EBADMSG, "after 1 events");
	static const char none[] = "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"a\"}}]";
	import_fails(none, strlen(none), -EBADMSG, "none of its 1 events has a time");
	import_fails("{\"a\": 1}", 8, -EBADMSG, "without trace events");
	char deep[1024] = "[{\"ph\":\"X\",\"args\":";
	for (int i = 0; i < 300; i++)
		strcat(deep, "[");
	import_fails(deep, strlen(deep), -EFBIG, "nested more than 256 deep");
}

static void a_text_without_end_is_too_big(void **state)
{
	(void)state;
	size_t size_b = (size_t)40 << 20;
	char *text = malloc(size_b);
	memset(text, 'x', size_b);
	memcpy(text, "[{\"ph\":\"", 8);
	import_fails(text, size_b, -EFBIG, "too big");
	free(text);
}

static void names_of_others_are_texts(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(
	    import_text(&imported,
			"[{\"ph\":\"X\",\"name\":\"<script>\\u0000\\u202e\",\"pid\":\"Spans\",\"tid\":\"a "
			"b\",\"ts\":1,\"dur\":1},"
			"{\"ph\":\"X\",\"name\":\"k\",\"pid\":0,\"tid\":140737353967424,\"ts\":1,\"dur\":1},"
			"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"python\"}},"
			"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":\"GPU 0\"}}]"),
	    0);
	assert_string_equal(sonde_session_process(imported.session, 1)->name, "Spans");
	assert_string_equal(sonde_session_thread(imported.session, 1)->name, "a b");
	assert_string_equal(sonde_session_process(imported.session, 2)->name, "python (GPU 0)");
	assert_string_equal(sonde_session_thread(imported.session, 2)->name, "140737353967424");
	import_close(&imported);
}

static void counters_are_told_apart_by_ids(void **state)
{
	(void)state;
	struct imported imported;
	struct sonde_event_value value;
	assert_int_equal(
	    import_text(&imported,
			"[{\"ph\":\"C\",\"name\":\"heap\",\"id\":\"0x1\",\"pid\":1,\"ts\":1,\"args\":{\"used\":5}},"
			"{\"ph\":\"C\",\"name\":\"heap\",\"id\":7,\"pid\":1,\"ts\":2,\"args\":{\"value\":6}},"
			"{\"ph\":\"C\",\"name\":\"heap\",\"pid\":1,\"ts\":3,\"args\":{\"used\":7}}]"),
	    0);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_GAUGE, "heap[0x1].used", &value, sizeof value), 1);
	assert_true(value.value == 5);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_GAUGE, "heap[7]", &value, sizeof value), 1);
	assert_true(value.value == 6);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_GAUGE, "heap.used", &value, sizeof value), 1);
	assert_true(value.value == 7);
	import_close(&imported);
}

static void global_ids_pair_across_processes(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(import_text(&imported,
				     "[{\"ph\":\"b\",\"name\":\"ipc\",\"id2\":{\"global\":\"0x1\"},\"pid\":1,\"ts\":1},"
				     "{\"ph\":\"b\",\"name\":\"own\",\"id2\":{\"local\":\"0x1\"},\"pid\":1,\"ts\":1},"
				     "{\"ph\":\"e\",\"name\":\"ipc\",\"id2\":{\"global\":\"0x1\"},\"pid\":2,\"ts\":5},"
				     "{\"ph\":\"e\",\"name\":\"own\",\"id2\":{\"local\":\"0x1\"},\"pid\":2,\"ts\":5}]"),
			 0);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_SPAN_END, "ipc", NULL, 0), 1);
	assert_int_equal(events_of(imported.session, SONDE_EVENT_SPAN_END, "own", NULL, 0), 0);
	assert_true(import_notes(&imported, "1 ends without a start left out"));
	import_close(&imported);
}

/* There are as many ids as events: they do not use up the space for names. */
static void ids_are_no_names(void **state)
{
	(void)state;
	enum { IDS = (1 << 20) + 10 };
	struct imported imported;
	char *text = NULL;
	size_t size_b;
	FILE *out = open_memstream(&text, &size_b);
	fputc('[', out);
	for (int i = 0; i < IDS; i++)
		fprintf(out, "{\"ph\":\"s\",\"id\":%d,\"ts\":1},", i);
	fputs("{\"ph\":\"b\",\"name\":\"one\",\"id\":\"x\",\"ts\":1},{\"ph\":\"b\",\"name\":\"one\",\"id\":\"y\","
	      "\"ts\":2},"
	      "{\"ph\":\"e\",\"name\":\"one\",\"id\":\"x\",\"ts\":3},"
	      "{\"ph\":\"X\",\"name\":\"after\",\"pid\":1,\"tid\":1,\"ts\":4,\"dur\":2}]",
	      out);
	fclose(out);
	assert_int_equal(import_bytes(&imported, text, size_b, NULL), 0);
	free(text);
	assert_zone(imported.session, "after", 1, 2000, 2000);
	assert_false(import_notes(&imported, "names beyond"));
	struct sonde_event_span end;
	assert_int_equal(events_of(imported.session, SONDE_EVENT_SPAN_END, "one", &end, sizeof end), 1);
	assert_int_equal(end.id, 1);
	import_close(&imported);
}

/* More rows than are sorted in memory at once. */
static void many_events_are_sorted_outside_of_memory(void **state)
{
	(void)state;
	enum { EVENTS = 600000 };
	struct imported imported;
	char *text = NULL;
	size_t size_b;
	FILE *out = open_memstream(&text, &size_b);
	fputc('[', out);
	for (int i = 0; i < EVENTS; i++) /* backwards in time */
		fprintf(out, "%s{\"ph\":\"X\",\"name\":\"n%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":2}", i ? "," : "",
			i % 3, i % 2, 4 * (EVENTS - i));
	fputs("]", out);
	fclose(out);
	assert_int_equal(import_bytes(&imported, text, size_b, NULL), 0);
	for (int i = 0; i < 3; i++) {
		char name[8];
		snprintf(name, sizeof name, "n%d", i);
		assert_zone(imported.session, name, EVENTS / 3, EVENTS / 3 * 2000ull, EVENTS / 3 * 2000ull);
	}
	free(text);
	import_close(&imported);
}

static void profiles_of_v8_are_samples(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(import_text(&imported, "[{\"ph\":\"P\",\"name\":\"Profile\",\"id\":\"0x1\",\"pid\":1,\"tid\":"
						"5,\"ts\":100,\"args\":{\"data\":{\"startTime\":100}}},"
						"{\"ph\":\"P\",\"name\":\"ProfileChunk\",\"id\":\"0x1\",\"pid\":1,"
						"\"tid\":9,\"ts\":200,\"args\":{\"data\":{\"cpuProfile\":"
						"{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"}},{"
						"\"id\":2,\"parent\":1,\"callFrame\":"
						"{\"functionName\":\"work\",\"url\":\"a.js\",\"lineNumber\":4}},{"
						"\"id\":3,\"parent\":1,\"callFrame\":{\"functionName\":\"(idle)\"}}],"
						"\"samples\":[2,3,2]},\"timeDeltas\":[10,20,30]}}}]"),
			 0);
	assert_samples(imported.session, "(root);work", 2, 20000);
	assert_int_equal(sonde_session_thread(imported.session, 1)->tid, 5);
	assert_true(import_notes(&imported, "1 samples of V8 in (idle) left out"));
	assert_true(import_notes(&imported, "2 V8 samples: wall time"));
	import_close(&imported);
}

/* --- what was exported -------------------------------------------------------------------------------------------- */

static void known_zones(struct recording *recording)
{
	uint32_t process = recording_process(recording, 10, 0, "app", RECORDING_START_NS);
	uint32_t thread = recording_thread(recording, process, 10, "main", RECORDING_START_NS);
	uint32_t other = recording_thread(recording, process, 11, "other", RECORDING_START_NS);
	uint32_t outer = recording_site(recording, SONDE_SITE_ZONE, "outer", NULL);
	uint32_t inner = recording_site(recording, SONDE_SITE_ZONE, "inner", NULL);
	uint32_t gauge = recording_site(recording, SONDE_SITE_GAUGE, "depth", NULL);
	uint64_t now = RECORDING_START_NS;
	for (uint64_t i = 0; i < 1000; i++) {
		recording_begin(recording, thread, outer, now += 3);
		recording_begin(recording, thread, inner, now);
		recording_end(recording, thread, now += 1 + i % 7);
		recording_begin(recording, thread, inner, now += i % 3);
		recording_end(recording, thread, now += 11);
		recording_end(recording, thread, now += i % 2);
		recording_begin(recording, other, inner, now);
		recording_end(recording, other, now + 1);
		recording_value(recording, thread, SONDE_EVENT_GAUGE, gauge, now, (double)i);
	}
	recording_close(recording, now + 100, 0);
}

static void exported_zones_come_back_to_the_nanosecond(void **state)
{
	(void)state;
	char path[] = "/tmp/sonde-import-zones-XXXXXX";
	close(mkstemp(path));
	unlink(path);
	struct recording recording;
	struct sonde_session *session;
	recording_open(&recording, path);
	known_zones(&recording);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	struct text text = exchange_export(session, "chrome", &(struct sonde_format_options){0});
	struct imported imported;
	assert_int_equal(import_bytes(&imported, text.data, text.size_b, NULL), 0);
	static const char *const names[] = {"outer", "inner"};
	for (size_t i = 0; i < 2; i++) {
		struct sum sum = zone_of(session, names[i]);
		assert_true(sum.count >= 1000);
		assert_zone(imported.session, names[i], sum.count, sum.total_ns, sum.self_ns);
	}
	assert_int_equal(events_of(imported.session, SONDE_EVENT_GAUGE, "depth", NULL, 0), 1000);
	free(text.data);
	import_close(&imported);
	sonde_session_close(session);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(complete_events_nest),
	    cmocka_unit_test(times_since_1970_are_exact),
	    cmocka_unit_test(begins_and_ends_are_paired),
	    cmocka_unit_test(slices_of_one_time_keep_their_order),
	    cmocka_unit_test(slices_that_overlap_are_spans),
	    cmocka_unit_test(asynchronous_events_are_spans),
	    cmocka_unit_test(counters_and_instants_keep_values_and_texts),
	    cmocka_unit_test(arguments_stay_with_their_zone),
	    cmocka_unit_test(files_that_are_cut_off_are_taken),
	    cmocka_unit_test(damaged_text_is_told_with_its_place),
	    cmocka_unit_test(a_text_without_end_is_too_big),
	    cmocka_unit_test(names_of_others_are_texts),
	    cmocka_unit_test(counters_are_told_apart_by_ids),
	    cmocka_unit_test(global_ids_pair_across_processes),
	    cmocka_unit_test(ids_are_no_names),
	    cmocka_unit_test(many_events_are_sorted_outside_of_memory),
	    cmocka_unit_test(profiles_of_v8_are_samples),
	    cmocka_unit_test(exported_zones_come_back_to_the_nanosecond),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
