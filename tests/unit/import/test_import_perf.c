/* test_import_perf.c: perf.data written here record by record, as recordings: processes, code mappings, sample
 * weights, losses; from a pipe, with the other byte order, truncated anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>

#include "import_fixture.h"
#include "util/buf.h"

#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD)
enum { PID = 100, CHILD = 101, SECOND = 1000000000 };

struct file {
	struct sonde_buf data;
};

static void put(struct sonde_buf *out, const void *bytes, size_t size_b)
{
	assert_int_equal(sonde_buf_append(out, bytes, size_b), 0);
}

static void put64(struct sonde_buf *out, uint64_t value)
{
	put(out, &value, sizeof value);
}

static void put32(struct sonde_buf *out, uint32_t value)
{
	put(out, &value, sizeof value);
}

/* A record with who and when behind it, as sample_id_all has it; samples are whole already (time 0). */
static void put_record(struct sonde_buf *out, uint32_t type, uint16_t misc, struct sonde_buf *body, uint64_t time_ns)
{
	if (time_ns) {
		put64(body, PID);
		put64(body, time_ns);
	}
	struct perf_event_header head = {.type = type, .misc = misc, .size = (uint16_t)(sizeof head + body->len_b)};
	put(out, &head, sizeof head);
	put(out, body->data, body->len_b);
	sonde_buf_fini(body);
}

static struct sonde_buf body_new(void)
{
	struct sonde_buf body;
	sonde_buf_init(&body, 65536);
	return body;
}

static void put_text(struct sonde_buf *out, const char *text)
{
	char bytes[256] = "";
	strcpy(bytes, text);
	put(out, bytes, (strlen(text) + 8) / 8 * 8);
}

static void put_map(struct sonde_buf *out, uint32_t pid, uint64_t start, uint64_t size_b, uint64_t offset,
		    const char *path)
{
	struct sonde_buf body = body_new();
	uint8_t id[20] = {0xab, 0xcd, (uint8_t)strlen(path)};
	put32(&body, pid);
	put32(&body, pid);
	put64(&body, start);
	put64(&body, size_b);
	put64(&body, offset);
	put32(&body, 20);
	put(&body, id, sizeof id);
	put32(&body, 5); /* read, execute */
	put32(&body, 2);
	put_text(&body, path);
	put_record(out, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1u << 14, &body, SECOND);
}

static void put_comm(struct sonde_buf *out, uint32_t pid, const char *name, uint16_t misc, uint64_t time_ns)
{
	struct sonde_buf body = body_new();
	put32(&body, pid);
	put32(&body, pid);
	put_text(&body, name);
	put_record(out, PERF_RECORD_COMM, misc, &body, time_ns);
}

static void put_task(struct sonde_buf *out, uint32_t type, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	struct sonde_buf body = body_new();
	put32(&body, pid);
	put32(&body, parent);
	put32(&body, pid);
	put32(&body, parent);
	put64(&body, time_ns);
	put_record(out, type, 0, &body, time_ns);
}

static void put_sample(struct sonde_buf *out, uint32_t pid, uint64_t time_ns, uint64_t period, const uint64_t *chain,
		       size_t count)
{
	struct sonde_buf body = body_new();
	put64(&body, count > 1 ? chain[1] : 0x401234);
	put32(&body, pid);
	put32(&body, pid);
	put64(&body, time_ns);
	put64(&body, period);
	put64(&body, count);
	put(&body, chain, count * 8);
	put_record(out, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body, 0);
}

static void put_lost(struct sonde_buf *out, uint64_t lost)
{
	struct sonde_buf body = body_new();
	put64(&body, 1);
	put64(&body, lost);
	put_record(out, PERF_RECORD_LOST, 0, &body, 2ull * SECOND);
}

/* Two processes: their records are in no order, as from two CPUs. */
static struct sonde_buf records(void)
{
	static const uint64_t deep[] = {(uint64_t)PERF_CONTEXT_USER, 0x401234, 0x402000, 0x403000};
	static const uint64_t kernel[] = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
					  (uint64_t)PERF_CONTEXT_USER,   0x401234,           0x402000};
	static const uint64_t moved[] = {(uint64_t)PERF_CONTEXT_USER, 0x701010, 0x702000};
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	put_sample(&out, CHILD, SECOND + 600, 1000000, moved, 3); /* after its exec, which stands below */
	put_comm(&out, PID, "parent", 0, SECOND);
	put_map(&out, PID, 0x400000, 0x10000, 0x1000, "/no/such/app");
	put_sample(&out, PID, SECOND + 100, 1000000, deep, 4);
	put_sample(&out, PID, SECOND + 200, 2000000, kernel, 6);
	put_task(&out, PERF_RECORD_FORK, CHILD, PID, SECOND + 300);
	put_sample(&out, CHILD, SECOND + 400, 1000000, deep, 4); /* the parent's mappings */
	put_comm(&out, CHILD, "child", 1u << 13, SECOND + 500);
	struct sonde_buf late;
	sonde_buf_init(&late, 65536);
	put_map(&late, CHILD, 0x700000, 0x10000, 0, "/no/such/other");
	uint64_t time_ns = SECOND + 550;
	memcpy(late.data + late.len_b - 8, &time_ns, 8);
	put(&out, late.data, late.len_b);
	sonde_buf_fini(&late);
	put_task(&out, PERF_RECORD_EXIT, CHILD, PID, SECOND + 700);
	put_lost(&out, 42);
	return out;
}

static struct perf_event_attr attr_of(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr){.type = type,
					.size = sizeof(struct perf_event_attr),
					.config = config,
					.sample_freq = 1000,
					.freq = 1,
					.sample_type = SAMPLE_TYPE,
					.sample_id_all = 1};
}

static struct sonde_buf file_of(const struct perf_event_attr *attr, const struct sonde_buf *data)
{
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	uint64_t attrs_at = 104, attr_b = sizeof *attr + 16, data_at = attrs_at + attr_b;
	put(&out, "PERFILE2", 8);
	put64(&out, 104);
	put64(&out, attr_b);
	put64(&out, attrs_at);
	put64(&out, attr_b);
	put64(&out, data_at);
	put64(&out, data->len_b);
	for (int i = 0; i < 6; i++) /* event types, features: none */
		put64(&out, 0);
	put(&out, attr, sizeof *attr);
	put64(&out, 0);
	put64(&out, 0);
	put(&out, data->data, data->len_b);
	return out;
}

static void check(struct imported *imported)
{
	struct sonde_session *session = imported->session;
	assert_samples(session, NULL, 4, 5000000);
	assert_int_equal(sonde_session_process_count(session), 2);
	assert_string_equal(sonde_session_process(session, 1)->name, "parent");
	assert_string_equal(sonde_session_process(session, 2)->name, "child");
	assert_int_equal(sonde_session_process(session, 2)->pid, CHILD);
	assert_int_equal(sonde_session_process(session, 2)->parent, 1);
	assert_int_equal(sonde_session_process(session, 2)->end_ns - sonde_session_process(session, 1)->start_ns, 700);
	assert_int_equal(sonde_session_lost(session, 0)->count, 42);
}

/* How many samples have a stack of modules and addresses, the outermost first. */
static size_t stacks_of(struct sonde_session *session, const char *wanted)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t count = 0;
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SAMPLES), 0);
	while (sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++) {
			char text[512] = "", more[512];
			for (uint32_t at = batch->samples.stack[i]; at; at = sonde_session_node(session, at)->parent) {
				const struct sonde_frame *frame =
				    sonde_session_frame(session, sonde_session_node(session, at)->frame);
				snprintf(more, sizeof more, "%s %llx %.400s",
					 sonde_session_module(session, frame->module)->name,
					 (unsigned long long)frame->address, text);
				strcpy(text, more);
			}
			count += !strcmp(text, wanted);
		}
	sonde_cursor_close(cursor);
	return count;
}

/* File addresses: the leaf unchanged, callers minus one. */
static void addresses_are_those_of_the_file(void **state)
{
	(void)state;
	struct sonde_buf data = records(), file;
	struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	struct imported imported;
	file = file_of(&attr, &data);
	assert_int_equal(import_bytes(&imported, file.data, file.len_b, NULL), 0);
	check(&imported);
	assert_int_equal(stacks_of(imported.session, "app 3fff app 2fff app 2234 "), 2);
	assert_int_equal(
	    stacks_of(imported.session, "app 2fff app 2234 [kernel] ffffffff8100001f [kernel] ffffffff81000010 "), 1);
	assert_int_equal(stacks_of(imported.session, "other 1fff other 1010 "), 1);
	assert_int_equal(sonde_session_module_count(imported.session), 3);
	const struct sonde_module *app = sonde_session_module(imported.session, 1);
	assert_string_equal(app->path, "/no/such/app");
	assert_memory_equal(app->build_id, "abcd0c00", 8);
	assert_true(import_notes(&imported, "2 programs and libraries are missing here"));
	assert_true(import_notes(&imported, "2 kernel addresses have no names"));
	assert_null(strstr(source_of(imported.session, "cpu")->detail, "estimate"));
	import_close(&imported);
	sonde_buf_fini(&file);
	sonde_buf_fini(&data);
}

/* Four samples at 1,000 a second are 4 ms, by their periods 1 : 1 : 1 : 2. */
static void time_of_cycles_is_an_estimate(void **state)
{
	(void)state;
	struct sonde_buf data = records(), file;
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct imported imported;
	file = file_of(&attr, &data);
	assert_int_equal(import_bytes(&imported, file.data, file.len_b, NULL), 0);
	assert_samples(imported.session, NULL, 4, 4000000);
	assert_non_null(strstr(source_of(imported.session, "cpu")->detail, "estimate"));
	assert_true(import_notes(&imported, "estimated"));
	import_close(&imported);
	sonde_buf_fini(&file);
	sonde_buf_fini(&data);
}

static void files_of_a_pipe_are_read(void **state)
{
	(void)state;
	struct sonde_buf data = records(), file, body = body_new();
	struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	struct imported imported;
	sonde_buf_init(&file, 1 << 20);
	put(&file, "PERFILE2", 8);
	put64(&file, 16);
	put(&body, &attr, sizeof attr);
	put_record(&file, 64, 0, &body, 0);
	put(&file, data.data, data.len_b);
	assert_int_equal(import_bytes(&imported, file.data, file.len_b, NULL), 0);
	check(&imported);
	import_close(&imported);
	sonde_buf_fini(&file);
	sonde_buf_fini(&data);
}

static void what_is_cut_off_is_read_or_said(void **state)
{
	(void)state;
	struct sonde_buf data = records(), file;
	struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	file = file_of(&attr, &data);
	for (size_t size_b = 1; size_b < file.len_b; size_b += 13) {
		struct imported imported;
		int rc = import_bytes(&imported, file.data, size_b, NULL);
		if (rc)
			assert_true(*sonde_error_text());
		else
			assert_true(import_notes(&imported, "cut off"));
		import_close(&imported);
	}
	import_fails("PERFILE2\x68\0\0\0\0\0\0\0", 16, -EBADMSG, "cut off at byte 16");
	import_fails("PERFILE2\x10\0\0\0\0\0\0\0", 16, -EBADMSG, "describes no events");
	sonde_buf_fini(&file);
	sonde_buf_fini(&data);
}

static void compressed_records_are_refused(void **state)
{
	(void)state;
	struct sonde_buf data, file, body = body_new();
	struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	sonde_buf_init(&data, 65536);
	put_map(&data, PID, 0x400000, 0x10000, 0x1000, "/no/such/app"); /* these perf writes as they are */
	put64(&body, 0);
	put_record(&data, 81, 0, &body, 0);
	file = file_of(&attr, &data);
	import_fails(file.data, file.len_b, -EBADMSG, "is compressed (perf record -z)");
	sonde_buf_fini(&file);
	sonde_buf_fini(&data);
}

int main(int argc, char **argv)
{
	if (argc > 1) { /* writes the file, for the corpus of the fuzz target */
		struct sonde_buf data = records();
		struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
		struct sonde_buf file = file_of(&attr, &data);
		FILE *out = fopen(argv[1], "w");
		return !out || fwrite(file.data, 1, file.len_b, out) != file.len_b || fclose(out);
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses_are_those_of_the_file), cmocka_unit_test(time_of_cycles_is_an_estimate),
	    cmocka_unit_test(files_of_a_pipe_are_read),        cmocka_unit_test(what_is_cut_off_is_read_or_said),
	    cmocka_unit_test(compressed_records_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
