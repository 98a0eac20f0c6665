/* test_serve.c: what a request may contain, who may send it, and the answer: hostile input is rejected with a
 * message. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "recording.h"
#include "serve/answer/answer.h"
#include "serve/answer/ask.h"
#include "serve/http/guard.h"
#include "serve/http/page.h"
#include "serve/http/params.h"
#include "util/error.h"

#define START RECORDING_START_NS
#define MS 1000000ull
#define EVIL "<script>\xe2\x80\xae\x01\xff\""

static char path[64];
static struct sonde_session *session;

static int write_and_open(void **state)
{
	struct recording recording;
	(void)state;
	snprintf(path, sizeof path, "/tmp/sonde-test-serve-%d.sonde", (int)getpid());
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 100, 0, EVIL, START);
	recording_thread(&recording, process, 100, "first", START);
	recording_thread(&recording, process, 101, EVIL, START + 10 * MS);
	recording_module(&recording, "/usr/bin/prog", 0);
	uint32_t main = recording_call(&recording, 0, 1, "main", 10);
	uint32_t inner = recording_call(&recording, main, 1, "inner", 20);
	for (uint64_t i = 0; i < 40; i++)
		recording_sample(&recording, (struct recording_sample){START + i * MS, i < 10 ? 1 : 2,
								       i % 2 ? inner : main, MS, SONDE_STACK_COMPLETE});
	recording_thread_end(&recording, 1, START + 50 * MS, 10 * MS);
	recording_process_end(&recording, process, START + 50 * MS, 40 * MS, 0);
	recording_close(&recording, START + 50 * MS, 0);
	return sonde_session_open(&session, path, NULL);
}

static int close_and_remove(void **state)
{
	(void)state;
	sonde_session_close(session);
	return unlink(path);
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

static void expect_param(const char *query, const char *name, const char *value)
{
	struct sonde_params params;
	assert_int_equal(sonde_params_parse(&params, query), 0);
	if (value)
		assert_string_equal(sonde_params_get(&params, name), value);
	else
		assert_null(sonde_params_get(&params, name));
	sonde_params_fini(&params);
}

static void params_are_decoded(void **state)
{
	(void)state;
	expect_param("", "a", NULL);
	expect_param("&&a=1&", "a", "1");
	expect_param("a", "a", "");
	expect_param("a=", "a", "");
	expect_param("a=b=c", "a", "b=c");
	expect_param("a=x+y%2B%20z", "a", "x y+ z");
	expect_param("%61=%c3%A9", "a", "\xc3\xa9");
	expect_param("a=%26b=2", "b", NULL);
	expect_param("a=%25%30%30", "a", "%00");
	expect_param("a=%3Cscript%3E%ff", "a", "<script>\xff");
}

static void a_param_is_taken_once(void **state)
{
	struct sonde_params params;
	(void)state;
	assert_int_equal(sonde_params_parse(&params, "section=a&run=b&limit=3"), 0);
	assert_string_equal(sonde_params_take(&params, "run"), "b");
	assert_null(sonde_params_take(&params, "run"));
	assert_int_equal(params.count, 2);
	assert_string_equal(sonde_params_get(&params, "section"), "a");
	assert_string_equal(sonde_params_get(&params, "limit"), "3");
	assert_null(sonde_params_get(&params, "run"));
	sonde_params_fini(&params);
}

static void refuse_params(const char *query)
{
	struct sonde_params params = {.count = 77};
	if (sonde_params_parse(&params, query) != -EINVAL)
		fail_msg("not refused: %s", query);
	assert_int_equal(params.count, 77);
	assert_true(strlen(sonde_error_text()) > 10);
}

static void hostile_params_are_refused(void **state)
{
	static const char *const bad[] = {
	    "a=%", "a=%4",     "a=%4g",  "a=%g4", "a=%%41", "a=%00", "%00=1", "a=1&a=2", "a=1&%61=2", "=1",
	    "&=",  "a=%u0041", "a=% 41", "a=%-1", "a=%+1",  "a=%0",  "x%00y", "%",       "a&a",
	};
	char many[SONDE_PARAMS_MAX * 8 + 64] = "";
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuse_params(bad[i]);
	for (int i = 0; i <= SONDE_PARAMS_MAX; i++)
		snprintf(many + strlen(many), sizeof many - strlen(many), "p%d&", i);
	refuse_params(many);
}

/* Whatever the bytes are: decoded and bounded, or refused. */
static void any_bytes_are_taken_or_refused(void **state)
{
	static const char alphabet[] = "%%%%&=+0aF4g\xff ";
	uint64_t seed = 1;
	(void)state;
	for (int round = 0; round < 20000; round++) {
		char query[24];
		struct sonde_params params;
		size_t length = 0;
		for (; length < sizeof query - 1; length++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			query[length] = alphabet[(seed >> 33) % (sizeof alphabet - 1)];
		}
		query[length] = '\0';
		if (sonde_params_parse(&params, query))
			continue;
		for (size_t i = 0; i < params.count; i++)
			assert_true(strlen(params.all[i].name) + strlen(params.all[i].value) < sizeof query);
		sonde_params_fini(&params);
	}
}

/* --- who is answered ---------------------------------------------------------------------------------------------- */

static void hosts_are_exact(void **state)
{
	static const char *const ours[] = {"127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"};
	static const char *const others[] = {
	    "",
	    "127.0.0.1",
	    "127.0.0.1:80",
	    "127.0.0.1:80800",
	    "evil.example:8080",
	    "localhost:8080.",
	    "localhost.:8080",
	    "x127.0.0.1:8080",
	    "127.0.0.1:8080@evil.example",
	    "[::1]",
	    "::1:8080",
	    "127.0.0.1:8080 ",
	    "127.0.0.2:8080",
	    "localhost:8080, evil.example",
	};
	struct sonde_guard guard;
	(void)state;
	sonde_guard_init(&guard, "127.0.0.1", 8080, 1, NULL);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		assert_true(sonde_guard_knows(&guard, ours[i], NULL));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(sonde_guard_knows(&guard, others[i], NULL));
	sonde_guard_init(&guard, "2001:db8::1", 80, 0, NULL);
	assert_true(sonde_guard_knows(&guard, "[2001:db8::1]", NULL));
	assert_true(sonde_guard_knows(&guard, "[2001:db8::1]:80", NULL));
	assert_false(sonde_guard_knows(&guard, "localhost", NULL));
	sonde_guard_init(&guard, "0.0.0.0", 8080, 0, NULL);
	assert_true(sonde_guard_knows(&guard, "192.0.2.7:8080", "192.0.2.7"));
	assert_false(sonde_guard_knows(&guard, "192.0.2.8:8080", "192.0.2.7"));
}

static void tokens_are_compared(void **state)
{
	struct sonde_guard guard;
	(void)state;
	sonde_guard_init(&guard, "127.0.0.1", 8080, 1, "0123456789abcdef");
	assert_true(sonde_guard_admits(&guard, "0123456789abcdef"));
	assert_false(sonde_guard_admits(&guard, NULL));
	assert_false(sonde_guard_admits(&guard, ""));
	assert_false(sonde_guard_admits(&guard, "0123456789abcde"));
	assert_false(sonde_guard_admits(&guard, "0123456789abcdee"));
	assert_false(sonde_guard_admits(&guard, "0123456789abcdef0123456789abcdef"));
	sonde_guard_init(&guard, "127.0.0.1", 8080, 1, NULL);
	assert_true(sonde_guard_admits(&guard, NULL));
	assert_int_equal(sonde_guard_check_token("0123456789-._~aZ"), 0);
	assert_int_equal(sonde_guard_check_token("short"), -EINVAL);
	assert_int_equal(sonde_guard_check_token("0123456789abcdef; Path=/"), -EINVAL);
	assert_int_equal(sonde_guard_check_token("0123456789abcdef\r\nX: y"), -EINVAL);
}

static void gzip_is_taken_where_it_is_wanted(void **state)
{
	(void)state;
	assert_true(sonde_page_takes_gzip("gzip"));
	assert_true(sonde_page_takes_gzip("br, GZIP;q=0.5"));
	assert_true(sonde_page_takes_gzip("deflate,gzip , br"));
	assert_false(sonde_page_takes_gzip(NULL));
	assert_false(sonde_page_takes_gzip(""));
	assert_false(sonde_page_takes_gzip("br"));
	assert_false(sonde_page_takes_gzip("xgzip, gzipx"));
	assert_false(sonde_page_takes_gzip("gzip;q=0"));
	assert_false(sonde_page_takes_gzip("gzip ; q=0.000, br;q=1"));
}

/* --- what is asked ------------------------------------------------------------------------------------------------ */

static int ask(const char *query, struct sonde_ask *out)
{
	struct sonde_params params;
	assert_int_equal(sonde_params_parse(&params, query), 0);
	int rc = sonde_ask_make(out, session, &params);
	out->pass.focus = NULL; /* it is the parameters' */
	sonde_params_fini(&params);
	return rc;
}

static void selections_are_what_was_asked(void **state)
{
	struct sonde_ask out;
	(void)state;
	assert_int_equal(ask("section=functions,threads&from=10000000&to=20000000&thread=2&limit=7&weigh=peak", &out),
			 0);
	assert_int_equal(out.pass_count, 2);
	assert_string_equal(out.passes[1]->name, "threads");
	assert_true(out.pass.requested);
	assert_int_equal(out.pass.selection.from_ns, START + 10 * MS);
	assert_int_equal(out.pass.selection.to_ns, START + 20 * MS);
	assert_int_equal(out.pass.limit, 7);
	assert_int_equal(out.pass.selection.thread[1], 0);
	assert_int_equal(out.pass.selection.thread[2], 1);
	assert_string_equal(out.pass.thread_is, "1 thread with tid 101");
	assert_int_equal(out.pass.weigh.by, SONDE_WEIGH_CPU); /* nothing there is weighed */
	sonde_ask_fini(&out);
	assert_int_equal(ask("section=calltree&weigh=peak", &out), 0);
	assert_int_equal(out.pass.weigh.by, SONDE_WEIGH_PEAK);
	sonde_ask_fini(&out);
	assert_int_equal(ask("section=calltree&at=5000000", &out), 0);
	assert_int_equal(out.pass.weigh.by, SONDE_WEIGH_LIVE);
	assert_int_equal(out.pass.weigh.at_ns, START + 5 * MS);
	sonde_ask_fini(&out);
	assert_int_equal(ask("section=functions&weigh=live", &out), 0); /* nothing there is weighed */
	sonde_ask_fini(&out);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "section=",
	    "section=sumary",
	    "section=functions,functions",
	    "section=functions&from=-1",
	    "section=functions&from=1.5",
	    "section=functions&from=1s",
	    "section=functions&from=99999999999999999999",
	    "section=functions&from=50000000",
	    "section=functions&from=20&to=20",
	    "section=functions&to=0",
	    "section=functions&thread=0",
	    "section=functions&thread=3",
	    "section=functions&thread=first",
	    "section=functions&limit=0",
	    "section=functions&limit=1000001",
	    "section=functions&weigh=gold",
	    "section=calltree&weigh=live",
	    "section=calltree&weigh=peak&at=1",
	    "section=calltree&weigh=live&at=50000001",
	    "section=calltree&weigh=live&at=1ms",
	    "section=calltree&weigh=live&at=1&to=2000000",
	    "section=calltree&heap=malloc",
	    "section=calltree&weigh=unreachable&from=1",
	    "section=functions&sectoin=threads",
	    "section=functions&output=/etc/passwd",
	    "section=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct sonde_ask out;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (ask(bad[i], &out) != -EINVAL)
			fail_msg("not refused: %s", bad[i]);
		assert_true(strlen(sonde_error_text()) > 10);
		sonde_ask_fini(&out);
	}
}

/* --- what is answered --------------------------------------------------------------------------------------------- */

static int answer(sonde_answer *function, const char *query, size_t max_b, char **out)
{
	struct sonde_params params;
	struct sonde_buf buf;
	assert_int_equal(sonde_params_parse(&params, query), 0);
	sonde_buf_init(&buf, max_b);
	int rc = function(session, &params, &buf);
	*out = rc ? NULL : strndup((char *)buf.data, buf.len_b);
	sonde_buf_fini(&buf);
	sonde_params_fini(&params);
	return rc;
}

static void assert_holds(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("not there: %s, in %s", words, text);
}

static void the_recording_is_told(void **state)
{
	char *json;
	(void)state;
	assert_int_equal(answer(sonde_answer_recording, "", 1 << 20, &json), 0);
	assert_holds(json, "\"duration_ns\":50000000,");
	assert_holds(json,
		     "{\"id\":1,\"process\":1,\"tid\":100,\"name\":\"first\",\"start_ns\":0,\"end_ns\":50000000}");
	assert_holds(json, "\"start_ns\":10000000,\"end_ns\":null}");
	assert_holds(json, "\"functions\"");
	assert_null(strstr(json, "\"heap\""));
	assert_null(strstr(json, "\"waits\""));
	assert_null(strstr(json, "\"zones\""));
	assert_holds(json, "\"weights\":[{\"name\":\"cpu\",\"title\":\"CPU time\",\"unit\":\"ns\","
			   "\"of_heap\":false,\"in_range\":true}],\"heaps\":[],\"environment\":[");
	assert_holds(json, "\"\\u003cscript>\\u202e\\u0001");
	assert_null(strstr(json, "<script"));
	free(json);
	assert_int_equal(answer(sonde_answer_recording, "section=functions", 1 << 20, &json), -EINVAL);
}

/* Thread 1 has ten samples, 1 ms apart: main, inner, main … */
static void stacks_are_in_order_of_time(void **state)
{
	static const char *const bad[] = {"", "limit=1", "thread=3", "thread=1&section=functions",
					  "thread=1&from=60000000"};
	char *json;
	(void)state;
	assert_int_equal(answer(sonde_answer_stacks, "thread=1&from=1000000&to=4000000", 1 << 20, &json), 0);
	assert_holds(json, "\"thread\":1,\"count\":3,\"omitted\":0,\"beside_ns\":0,"
			   "\"time_ns\":[1000000,2000000,3000000],\"weight_ns\":[1000000,1000000,1000000],"
			   "\"node\":[1,0,1],\"nodes\":{\"parent\":[-1,0],\"function\":[0,1]},"
			   "\"functions\":[{\"name\":\"main\",\"module\":\"prog\"");
	free(json);
	assert_int_equal(answer(sonde_answer_stacks, "thread=1&limit=2", 1 << 20, &json), 0);
	assert_holds(json, "\"count\":10,\"omitted\":8,");
	assert_holds(json, "\"time_ns\":[0,1000000],");
	free(json);
	assert_int_equal(answer(sonde_answer_stacks, "thread=2&limit=1000000", 1 << 20, &json), 0);
	assert_holds(json, "\"count\":30,\"omitted\":0,");
	free(json);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (answer(sonde_answer_stacks, bad[i], 1 << 20, &json) != -EINVAL)
			fail_msg("not refused: %s", bad[i]);
	assert_int_equal(answer(sonde_answer_stacks, "thread=1", 100, &json), -EFBIG);
}

static void reports_are_bounded(void **state)
{
	char *json;
	(void)state;
	assert_int_equal(answer(sonde_answer_report, "section=functions,threads", 1 << 20, &json), 0);
	assert_holds(json, "\"id\": \"threads\"");
	assert_holds(json, "\"function\": \"inner\"");
	assert_null(strstr(json, "<script"));
	free(json);
	assert_int_equal(answer(sonde_answer_report, "section=functions,threads", 100, &json), -EFBIG);
	assert_holds(sonde_error_text(), "limit");
	assert_int_equal(answer(sonde_answer_report, "section=none", 1 << 20, &json), -EINVAL);
}

static int answer_both(sonde_answer_both *function, struct sonde_session *candidate, const char *query,
		       struct sonde_buf *out)
{
	struct sonde_session *const runs[2] = {session, candidate};
	struct sonde_params params;
	assert_int_equal(sonde_params_parse(&params, query), 0);
	sonde_buf_init(out, 1 << 20);
	int rc = function(runs, &params, out);
	sonde_params_fini(&params);
	if (!rc)
		assert_int_equal(sonde_buf_append(out, "", 1), 0);
	else
		sonde_buf_fini(out);
	return rc;
}

/* The recording and itself: two runs that do not differ. */
static void two_recordings_are_compared(void **state)
{
	static const char *const bad[] = {"section=functions", "section=diff,", "limit=0",
					  "limit=1000001",     "run=b",         "margin=1"};
	struct sonde_buf out;
	(void)state;
	assert_int_equal(answer_both(sonde_answer_runs, NULL, "", &out), 0);
	assert_holds((const char *)out.data, "\"run\":\"a\"");
	assert_null(strstr((const char *)out.data, "\"run\":\"b\""));
	sonde_buf_fini(&out);
	assert_int_equal(answer_both(sonde_answer_runs, session, "", &out), 0);
	assert_holds((const char *)out.data, "\"run\":\"b\"");
	sonde_buf_fini(&out);
	assert_int_equal(answer_both(sonde_answer_runs, session, "limit=1", &out), -EINVAL);
	assert_int_equal(answer_both(sonde_answer_diff, session, "section=diff-calltree&limit=100", &out), 0);
	assert_holds((const char *)out.data, "\"verdict\": \"inconclusive\"");
	assert_holds((const char *)out.data, "\"function\": \"inner\"");
	assert_null(strstr((const char *)out.data, "diff-functions"));
	sonde_buf_fini(&out);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (answer_both(sonde_answer_diff, session, bad[i], &out) != -EINVAL)
			fail_msg("not refused: %s", bad[i]);
	assert_int_equal(answer_both(sonde_answer_diff, NULL, "", &out), -EINVAL);
	assert_holds(sonde_error_text(), "sonde view A B");
}

/* Menus list what the recording contains, and what needs no data: for this recording, samples. */
static void sections_of_samples(void **state)
{
	static const struct {
		const char *section;
		int has;
	} rows[] = {{"findings", 1}, {"threads", 1},  {"functions", 1}, {"calltree", 1}, {"critical-path", 1},
		    {"latency", 0},  {"waits", 0},    {"heap", 0},      {"zones", 0},    {"spans", 0},
		    {"flop", 0},     {"roofline", 0}, {"devices", 0},   {"counters", 0}, {"energy", 0},
		    {"machine", 0},  {"what-if", 0},  {"snapshots", 0}};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sonde_pass *pass = sonde_pass_find(rows[i].section);
		assert_non_null(pass);
		assert_int_equal(!pass->has || pass->has(session), rows[i].has);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sections_of_samples),
	    cmocka_unit_test(params_are_decoded),
	    cmocka_unit_test(a_param_is_taken_once),
	    cmocka_unit_test(hostile_params_are_refused),
	    cmocka_unit_test(any_bytes_are_taken_or_refused),
	    cmocka_unit_test(hosts_are_exact),
	    cmocka_unit_test(tokens_are_compared),
	    cmocka_unit_test(gzip_is_taken_where_it_is_wanted),
	    cmocka_unit_test(selections_are_what_was_asked),
	    cmocka_unit_test(what_makes_no_sense_is_refused),
	    cmocka_unit_test(the_recording_is_told),
	    cmocka_unit_test(stacks_are_in_order_of_time),
	    cmocka_unit_test(reports_are_bounded),
	    cmocka_unit_test(two_recordings_are_compared),
	};
	return cmocka_run_group_tests(tests, write_and_open, close_and_remove);
}
