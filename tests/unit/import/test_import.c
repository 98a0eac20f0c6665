/* test_import.c: folded stacks and pprof profiles with known values, output of `sonde export` read again, and other
 * files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "import_fixture.h"
#include "exchange.h"
#include "export/origin.h"
#include "export/proto.h"
#include "recording.h"
#include "sample_recording.h"

static struct sonde_session *original(char path[64])
{
	struct sonde_session *session;
	strcpy(path, "/tmp/sonde-import-original-XXXXXX");
	close(mkstemp(path));
	unlink(path);
	sample_recording(path);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	return session;
}

/* --- folded stacks ------------------------------------------------------------------------------------------------ */

static void folded_counts_are_samples_of_a_millisecond(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(import_text(&imported, "main;work;hot 60\nmain;work 30\r\n# a comment\n\nmain;idle fn 10\n"),
			 0);
	assert_samples(imported.session, "main;work;hot", 60, 60000000);
	assert_samples(imported.session, "main;work", 30, 30000000);
	assert_samples(imported.session, "main;idle fn", 10, 10000000);
	assert_samples(imported.session, NULL, 100, 100000000);
	assert_string_equal(sonde_session_info(imported.session, "import.from"), "folded stacks");
	assert_string_equal(sonde_session_info(imported.session, "import.untimed"), "1");
	assert_true(import_notes(&imported, "1 sample = 1 ms by convention"));
	assert_true(import_notes(&imported, "it does not show when anything ran"));
	assert_string_equal(sonde_session_info(imported.session, "import.note.2"), imported.result.notes[1]);
	assert_non_null(strstr(source_of(imported.session, "cpu")->method, "imported from folded stacks"));
	import_close(&imported);
}

static void folded_lines_that_are_none_are_counted(void **state)
{
	(void)state;
	struct imported imported;
	char text[400] = "";
	for (int i = 0; i < 20; i++)
		strcat(text, "a;b 1\n");
	strcat(text, "no number\n;; 3\nx 2");
	assert_int_equal(import_text(&imported, text), 0);
	assert_samples(imported.session, "a;b", 20, 20000000);
	assert_samples(imported.session, "x", 2, 2000000);
	assert_samples(imported.session, "", 3, 3000000);
	assert_true(import_notes(&imported, "1 line without a count at the end is left out, first line 21"));
	import_close(&imported);
}

static void folded_first_lines_may_be_long(void **state)
{
	(void)state;
	enum { CALLS = 15000 };
	struct imported imported;
	char *text = NULL;
	size_t size_b;
	FILE *out = open_memstream(&text, &size_b);
	for (int i = 0; i < CALLS; i++)
		fputs("recursive;", out);
	fputs("leaf 7\n", out);
	fclose(out);
	assert_int_equal(import_bytes(&imported, text, size_b, NULL), 0);
	assert_samples(imported.session, NULL, 7, 7000000);
	free(text);
	import_close(&imported);
}

/* As JSON does, too. */
static void folded_first_lines_may_begin_with_a_bracket(void **state)
{
	static const char *const firsts[] = {"[unknown];main", "[no stack]", "{lambda};main"};
	(void)state;
	for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
		struct imported imported;
		char text[64];
		snprintf(text, sizeof text, "%s 9\na;b 3\n", firsts[i]);
		assert_int_equal(import_text(&imported, text), 0);
		assert_samples(imported.session, firsts[i], 9, 9000000);
		import_close(&imported);
	}
}

static void folded_counts_with_fractions_keep_their_time(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(import_text(&imported, "a;little 0.4\na;half 2.5\na;whole 2.0\n"), 0);
	assert_samples(imported.session, "a;little", 1, 400000);
	assert_samples(imported.session, "a;half", 3, 2500000);
	assert_samples(imported.session, "a;whole", 2, 2000000);
	assert_true(import_notes(&imported, "2 counts are not whole numbers"));
	import_close(&imported);
}

static void folded_counts_too_big_to_be_samples_keep_their_time(void **state)
{
	(void)state;
	struct imported imported;
	assert_int_equal(import_text(&imported, "a;b 3\na;c 4000000000\n"), 0);
	assert_samples(imported.session, "a;b", 3, 3000000);
	assert_samples(imported.session, "a;c", 1, 4000000000000000);
	assert_true(import_notes(&imported, "4000000003 counts became 4 samples"));
	import_close(&imported);
	import_fails("a 99999999999999999999\n", 23, -EFBIG, "more than fits");
}

static uint64_t line_count(const char *text, const char *stack)
{
	size_t len_b = strlen(stack);
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (!strncmp(at, stack, len_b) && at[len_b] == ' ')
			return strtoull(at + len_b, NULL, 10);
	return 0;
}

static void folded_comes_back(void **state)
{
	(void)state;
	char path[64];
	struct sonde_session *session = original(path);
	struct text text = exchange_export(session, "folded", &(struct sonde_format_options){0});
	struct imported imported;
	assert_int_equal(import_bytes(&imported, text.data, text.size_b, NULL), 0);
	uint64_t lines = 0, sum = 0;
	for (char *at = text.data, *end; *at; at = end + 1) {
		char stack[4096];
		uint64_t ns;
		end = strchr(at, '\n');
		char *space = end;
		while (*space != ' ')
			space--;
		snprintf(stack, sizeof stack, "%.*s", (int)(space - at), at);
		uint64_t count = strtoull(space, NULL, 10);
		assert_int_equal(samples_of(imported.session, stack, &ns), count);
		assert_int_equal(line_count(text.data, stack), count);
		sum += count;
		lines++;
	}
	assert_true(lines > 5);
	assert_int_equal(imported.result.samples, sum);
	free(text.data);
	import_close(&imported);
	sonde_session_close(session);
	unlink(path);
}

/* --- pprof -------------------------------------------------------------------------------------------------------- */

/* Texts in the order of their numbers. */
static const char *const texts[] = {"",     "samples",      "count",       "cpu",        "nanoseconds",      "main",
				    "hot",  "app.c",        "alloc_space", "bytes",      "/bin/no-such-app", "inner",
				    "wall", "microseconds", "delay",       "contentions"};
enum {
	T_NONE,
	T_SAMPLES,
	T_COUNT,
	T_CPU,
	T_NS,
	T_MAIN,
	T_HOT,
	T_FILE,
	T_SPACE,
	T_BYTES,
	T_PATH,
	T_INNER,
	T_WALL,
	T_US,
	T_DELAY,
	T_WAITS
};

static void put_pair(struct sonde_buf *out, uint32_t field, uint64_t a, uint64_t b)
{
	struct sonde_buf inner;
	sonde_buf_init(&inner, 1024);
	sonde_proto_uint(&inner, 1, a);
	sonde_proto_uint(&inner, 2, b);
	sonde_proto_message(out, field, &inner);
	sonde_buf_fini(&inner);
}

static void put_sample(struct sonde_buf *out, const uint64_t *stack, size_t depth, const uint64_t *values, size_t count)
{
	struct sonde_buf inner, packed;
	sonde_buf_init(&inner, 4096);
	sonde_buf_init(&packed, 4096);
	for (size_t i = 0; i < depth; i++)
		sonde_buf_varint(&packed, stack[i]);
	sonde_proto_message(&inner, 1, &packed);
	for (size_t i = 0; i < count; i++) /* not packed, as old writers have it */
		sonde_proto_uint(&inner, 2, values[i]);
	sonde_proto_message(out, 2, &inner);
	sonde_buf_fini(&packed);
	sonde_buf_fini(&inner);
}

/* A location with lines of functions, innermost first. */
static void put_location(struct sonde_buf *out, uint64_t id, uint64_t mapping, uint64_t address,
			 uint64_t inner_function, uint64_t function, uint64_t line)
{
	struct sonde_buf inner;
	sonde_buf_init(&inner, 4096);
	sonde_proto_uint(&inner, 1, id);
	sonde_proto_uint(&inner, 2, mapping);
	sonde_proto_uint(&inner, 3, address);
	if (inner_function)
		put_pair(&inner, 4, inner_function, 7);
	put_pair(&inner, 4, function, line);
	sonde_proto_message(out, 4, &inner);
	sonde_buf_fini(&inner);
}

static void put_function(struct sonde_buf *out, uint64_t id, uint64_t name)
{
	struct sonde_buf inner;
	sonde_buf_init(&inner, 4096);
	sonde_proto_uint(&inner, 1, id);
	sonde_proto_uint(&inner, 2, name);
	sonde_proto_uint(&inner, 4, T_FILE);
	sonde_proto_uint(&inner, 5, 3);
	sonde_proto_message(out, 5, &inner);
	sonde_buf_fini(&inner);
}

/* main → hot, and main → hot (with inner inlined), of addresses, and of none. */
static void put_tables(struct sonde_buf *out)
{
	struct sonde_buf mapping;
	sonde_buf_init(&mapping, 1024);
	sonde_proto_uint(&mapping, 1, 1);
	sonde_proto_uint(&mapping, 2, 0x400000);
	sonde_proto_uint(&mapping, 3, 0x500000);
	sonde_proto_uint(&mapping, 5, T_PATH);
	sonde_proto_message(out, 3, &mapping);
	sonde_buf_fini(&mapping);
	put_location(out, 1, 1, 0x401000, 0, 1, 10);
	put_location(out, 77, 1, 0x401100, 0, 2, 20);
	put_location(out, 78, 0, 0, 3, 2, 21);
	put_function(out, 1, T_MAIN);
	put_function(out, 2, T_HOT);
	put_function(out, 3, T_INNER);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		sonde_proto_text(out, 6, texts[i]);
	sonde_proto_uint(out, 10, 5000000000);
}

static void pprof_stacks_keep_counts_and_time(void **state)
{
	(void)state;
	struct imported imported;
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	put_pair(&out, 1, T_SAMPLES, T_COUNT);
	put_pair(&out, 1, T_CPU, T_NS);
	put_sample(&out, (uint64_t[]){77, 1}, 2, (uint64_t[]){3, 30000001}, 2);
	put_sample(&out, (uint64_t[]){78, 1}, 2, (uint64_t[]){2, 20000000}, 2);
	put_sample(&out, (uint64_t[]){1}, 1, (uint64_t[]){1, 10000000}, 2);
	put_tables(&out);
	assert_int_equal(import_bytes(&imported, out.data, out.len_b, NULL), 0);
	assert_samples(imported.session, "main;hot", 3, 30000001);
	assert_samples(imported.session, "main;hot;inner", 2, 20000000);
	assert_samples(imported.session, "main", 1, 10000000);
	assert_samples(imported.session, NULL, 6, 60000001);
	const struct sonde_run *run = sonde_session_run(imported.session);
	assert_int_equal(run->wall_ns, 5000000000);
	for (uint32_t i = 1; i <= sonde_session_function_count(imported.session); i++)
		if (!strcmp(sonde_session_function(imported.session, i)->name, "hot"))
			assert_string_equal(sonde_session_function(imported.session, i)->file, "app.c");
	import_close(&imported);
	sonde_buf_fini(&out);
}

static void pprof_values_are_chosen(void **state)
{
	(void)state;
	struct imported imported;
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	put_pair(&out, 1, T_SPACE, T_BYTES);
	put_pair(&out, 1, T_SAMPLES, T_COUNT);
	put_sample(&out, (uint64_t[]){77, 1}, 2, (uint64_t[]){4096, 2}, 2);
	put_sample(&out, (uint64_t[]){1}, 1, (uint64_t[]){UINT64_MAX, 1}, 2); /* of a difference: −1 */
	put_tables(&out);
	assert_int_equal(import_bytes(&imported, out.data, out.len_b, "alloc_space"), 0);
	assert_samples(imported.session, NULL, 2, 4096);
	assert_true(import_notes(&imported, "1 B = 1 ns by convention"));
	assert_true(import_notes(&imported, "left out: 1 negative samples"));
	import_close(&imported);
	assert_int_equal(import_bytes(&imported, out.data, out.len_b, "wall"), -EINVAL);
	assert_non_null(strstr(sonde_error_text(), "has no such values; it has alloc_space (bytes), samples (count)"));
	import_close(&imported);
	assert_int_equal(import_bytes(&imported, out.data, out.len_b, NULL), 0); /* counts are taken */
	assert_samples(imported.session, "main;hot", 2, 2000000);
	assert_true(import_notes(&imported, "left out of the profile: alloc_space (bytes)"));
	import_close(&imported);
	sonde_buf_fini(&out);
}

/* Without counts, a period of time gives the number of samples; any other period does not. */
static void pprof_periods_count_samples_where_they_are_times(void **state)
{
	(void)state;
	struct imported imported;
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	put_pair(&out, 1, T_CPU, T_US);
	put_sample(&out, (uint64_t[]){77, 1}, 2, (uint64_t[]){30000}, 1);
	put_pair(&out, 11, T_CPU, T_NS);
	sonde_proto_uint(&out, 12, 10000000);
	put_tables(&out);
	assert_int_equal(import_bytes(&imported, out.data, out.len_b, NULL), 0);
	assert_samples(imported.session, "main;hot", 3, 30000000);
	import_close(&imported);
	sonde_buf_clear(&out); /* as Go's profiles of locks are */
	put_pair(&out, 1, T_DELAY, T_NS);
	put_sample(&out, (uint64_t[]){77, 1}, 2, (uint64_t[]){1000000}, 1);
	put_pair(&out, 11, T_WAITS, T_COUNT);
	sonde_proto_uint(&out, 12, 1);
	put_tables(&out);
	assert_int_equal(import_bytes(&imported, out.data, out.len_b, NULL), 0);
	assert_samples(imported.session, "main;hot", 1, 1000000);
	import_close(&imported);
	sonde_buf_fini(&out);
}

/* Cut off between two fields: all that is there can be read. */
static void pprof_without_its_calls_or_texts_is_damaged(void **state)
{
	(void)state;
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	put_pair(&out, 1, T_CPU, T_NS);
	put_sample(&out, (uint64_t[]){77, 1}, 2, (uint64_t[]){4096}, 1);
	import_fails(out.data, out.len_b, -EBADMSG, "damaged or cut off: it refers to text 4, but has 0");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		sonde_proto_text(&out, 6, texts[i]);
	import_fails(out.data, out.len_b, -EBADMSG, "damaged or cut off: 2 calls of its samples are missing");
	put_location(&out, 1, 0, 0x401000, 0, 1, 10);
	put_location(&out, 77, 0, 0x401100, 0, 2, 20);
	import_fails(out.data, out.len_b, -EBADMSG, "damaged or cut off: 2 calls of its samples are missing");
	sonde_buf_fini(&out);
}

static void pprof_without_time_says_what_there_is(void **state)
{
	(void)state;
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	put_pair(&out, 1, T_SPACE, T_BYTES);
	put_sample(&out, (uint64_t[]){77, 1}, 2, (uint64_t[]){4096}, 1);
	put_tables(&out);
	import_fails(out.data, out.len_b, -EINVAL,
		     "has no values of time; it has alloc_space (bytes); choose one with --type");
	import_fails(out.data, out.len_b - 3, -EBADMSG, "damaged or cut off");
	sonde_buf_fini(&out);
}

static void weights_by_function(struct sonde_session *session, const char *name, uint64_t *ns, uint64_t *count)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	char stack[4096];
	*ns = *count = 0;
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SAMPLES), 0);
	while (sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++) {
			stack_name(session, batch->samples.stack[i], stack, sizeof stack);
			const char *leaf = strrchr(stack, ';');
			if (strcmp(leaf ? leaf + 1 : stack, name))
				continue;
			*ns += batch->samples.weight_ns[i];
			*count += (uint64_t)sonde_sample_counts(batch->samples.status[i]);
		}
	sonde_cursor_close(cursor);
}

static void pprof_comes_back_to_the_nanosecond(void **state)
{
	(void)state;
	char path[64];
	struct sonde_session *session = original(path);
	struct text text = exchange_export(session, "pprof", &(struct sonde_format_options){0});
	struct imported imported;
	assert_int_equal(import_bytes(&imported, text.data, text.size_b, NULL), 0);
	uint64_t all_ns, again_ns;
	samples_of(session, NULL, &all_ns);
	samples_of(imported.session, NULL, &again_ns);
	assert_true(all_ns > 0);
	assert_int_equal(again_ns, all_ns);
	static const char *const functions[] = {"inner", "rec"};
	for (size_t i = 0; i < 2; i++) {
		uint64_t ns, count, twice_ns, twice;
		weights_by_function(session, functions[i], &ns, &count);
		weights_by_function(imported.session, functions[i], &twice_ns, &twice);
		assert_true(ns > 0);
		assert_int_equal(twice_ns, ns);
		assert_int_equal(twice, count);
	}
	free(text.data);
	import_close(&imported);
	sonde_session_close(session);
	unlink(path);
}

/* --- exports say where it comes from ------------------------------------------------------------------------------ */

static void an_origin_is_what_was_imported(void **state)
{
	(void)state;
	static const char *const facts[][2] = {{"import.from", "perf.data"},
					       {"run.command", "./app"},
					       {"import.untimed", "1"},
					       {"merged.12.import.from", "folded stacks"},
					       {"merged.12.import.note.3", "a \033[31mnote"},
					       {"merged.x.import.note.1", "of nobody"}};
	struct recording recording;
	struct sonde_session *session;
	struct sonde_origin origin = {0};
	char path[] = "/tmp/sonde-import-origin-XXXXXX", missing[64];
	close(mkstemp(path));
	recording_open(&recording, path);
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		recording_info(&recording, facts[i][0], facts[i][1]);
	for (int i = 0; i < SONDE_ORIGIN_MAX; i++)
		recording_info(&recording, "import.note.1", "again");
	recording_close(&recording, RECORDING_START_NS + 1, 0);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_string_equal(sonde_origin_next(&origin, session), "imported from perf.data");
	assert_string_equal(sonde_origin_next(&origin, session), "recording 12: imported from folded stacks");
	assert_string_equal(sonde_origin_next(&origin, session), "recording 12: a \033[31mnote");
	for (int i = 3; i < SONDE_ORIGIN_MAX; i++)
		assert_string_equal(sonde_origin_next(&origin, session), "again");
	assert_null(sonde_origin_next(&origin, session));
	assert_int_equal(sonde_origin_missing(session, missing, sizeof missing), 0);
	assert_string_equal(missing, "");
	struct text text = exchange_export(session, "speedscope", &(struct sonde_format_options){0});
	assert_harmless(text);
	assert_has(text.data, "\"name\":\"./app (imported from perf.data; recording 12: imported from folded stacks; "
			      "recording 12: a \\u001b[31mnote; again; again");
	free(text.data);
	sonde_session_close(session);
	unlink(path);
}

static void what_is_lacking_is_said(void **state)
{
	(void)state;
	struct recording recording;
	struct sonde_session *session;
	char path[] = "/tmp/sonde-import-origin-XXXXXX", missing[64];
	close(mkstemp(path));
	recording_open(&recording, path);
	recording_lost(&recording, "cpu", "no room", 3);
	recording_lost(&recording, "zones", "no room", 2);
	recording_close(&recording, RECORDING_START_NS + 1, 0);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_origin_missing(session, missing, sizeof missing), strlen("5 records were lost"));
	assert_string_equal(missing, "5 records were lost");
	struct text text = exchange_export(session, "chrome", &(struct sonde_format_options){0});
	assert_has(text.data,
		   "\"records_lost\":5,\"bytes_not_readable\":0,\"chunks_skipped\":0,\"not_closed_in_order\":0,");
	free(text.data);
	text = exchange_export(session, "speedscope", &(struct sonde_format_options){0});
	assert_has(text.data, " (the recording is incomplete: 5 records were lost)\",");
	free(text.data);
	sonde_session_close(session);
	unlink(path);
}

static void what_was_not_imported_has_no_origin(void **state)
{
	(void)state;
	char path[64];
	struct sonde_session *session = original(path);
	struct sonde_origin origin = {0};
	assert_null(sonde_origin_next(&origin, session));
	struct text text = exchange_export(session, "speedscope", &(struct sonde_format_options){0});
	assert_has(text.data, "\"name\":\"./app --size 3\",");
	free(text.data);
	sonde_session_close(session);
	unlink(path);
}

/* --- what is none of this ----------------------------------------------------------------------------------------- */

static void other_files_are_named(void **state)
{
	(void)state;
	import_fails("", 0, -EBADMSG, "the file is empty");
	import_fails("SONDEREC........", 16, -EBADMSG, "already a sonde recording");
	import_fails("\x7f"
		     "ELF............",
		     16, -EBADMSG, "a program, not a profile");
	import_fails("PK\3\4............", 16, -EBADMSG, "a zip archive");
	import_fails("2ELIFREP........", 16, -EBADMSG, "the other byte order");
	import_fails("hello, world\nnothing to see\n", 28, -EBADMSG, "no format that can be imported");
	import_fails("\x1f\x8b\x08\x00 no gzip at all", 20, -EBADMSG, "damaged");
	struct imported imported;
	assert_int_equal(import_bytes(&imported, "a 1\n", 4, "cpu"), -EINVAL);
	assert_non_null(strstr(sonde_error_text(), "--type is for pprof"));
	import_close(&imported);
}

static void a_missing_file_or_a_folder_is_named(void **state)
{
	(void)state;
	struct sonde_import_result result;
	struct sonde_import_options options = {.path = "/tmp/no such file", .fd = -1, .name = "x"};
	assert_int_equal(sonde_import(&result, &options), -ENOENT);
	options.path = "/tmp";
	assert_int_equal(sonde_import(&result, &options), -EISDIR);
	options.format = "dtrace";
	assert_int_equal(sonde_import(&result, &options), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(folded_counts_are_samples_of_a_millisecond),
	    cmocka_unit_test(folded_lines_that_are_none_are_counted),
	    cmocka_unit_test(folded_first_lines_may_be_long),
	    cmocka_unit_test(folded_first_lines_may_begin_with_a_bracket),
	    cmocka_unit_test(folded_counts_with_fractions_keep_their_time),
	    cmocka_unit_test(folded_counts_too_big_to_be_samples_keep_their_time),
	    cmocka_unit_test(folded_comes_back),
	    cmocka_unit_test(pprof_stacks_keep_counts_and_time),
	    cmocka_unit_test(pprof_values_are_chosen),
	    cmocka_unit_test(pprof_periods_count_samples_where_they_are_times),
	    cmocka_unit_test(pprof_without_its_calls_or_texts_is_damaged),
	    cmocka_unit_test(pprof_without_time_says_what_there_is),
	    cmocka_unit_test(pprof_comes_back_to_the_nanosecond),
	    cmocka_unit_test(an_origin_is_what_was_imported),
	    cmocka_unit_test(what_is_lacking_is_said),
	    cmocka_unit_test(what_was_not_imported_has_no_origin),
	    cmocka_unit_test(other_files_are_named),
	    cmocka_unit_test(a_missing_file_or_a_folder_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
