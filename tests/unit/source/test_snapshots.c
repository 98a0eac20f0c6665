/* test_snapshots.c: requested snapshots are taken once, in order, for the right process, and answered. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fold/clockfit.h"
#include "format/link.h"
#include "session/session.h"
#include "source/record/snapshots.h"
#include "trace/writer.h"
#include "util/file.h"

struct fixture {
	char path[64];
	struct sonde_writer *writer;
	struct sonde_recorder *recorder;
	struct sonde_snapshots *snapshots;
	uint32_t process; /* ours */
};

static void begin(struct fixture *fixture)
{
	static const struct sonde_record_options nothing_requested;
	strcpy(fixture->path, "/tmp/sonde-snapshots-XXXXXX");
	close(mkstemp(fixture->path));
	assert_int_equal(
	    sonde_writer_open(&fixture->writer, fixture->path, &(struct sonde_writer_options){.overwrite = 1}), 0);
	assert_int_equal(sonde_recorder_new(&fixture->recorder, fixture->writer, &nothing_requested), 0);
	uint64_t start_ns = sonde_writer_start_ns(fixture->writer);
	assert_int_equal(sonde_snapshots_new(&fixture->snapshots, fixture->recorder, start_ns), 0);
	fixture->process = sonde_recorder_process(fixture->recorder, getpid(), 1);
}

/* The recording, closed and opened again. */
static struct sonde_session *end(struct fixture *fixture)
{
	struct sonde_session *session;
	assert_int_equal(sonde_recorder_close(fixture->recorder, 0, 5000), 0);
	assert_int_equal(sonde_writer_close(fixture->writer), 0);
	sonde_snapshots_free(fixture->snapshots);
	sonde_recorder_free(fixture->recorder);
	assert_int_equal(sonde_session_open(&session, fixture->path, NULL), 0);
	unlink(fixture->path);
	return session;
}

static int ask_for(struct fixture *fixture, enum sonde_snapshot_reason reason, uint32_t process, const char *label,
		   uint64_t time_ns, int answer_fd)
{
	struct sonde_snapshot_ask ask = {.process = process,
					 .pid = getpid(),
					 .reason = reason,
					 .label = label,
					 .label_b = strlen(label),
					 .time_ns = time_ns,
					 .answer_fd = answer_fd};
	return sonde_snapshots_ask(fixture->snapshots, &ask);
}

static int ask(struct fixture *fixture, uint32_t process, const char *label, uint64_t time_ns, int answer_fd)
{
	return ask_for(fixture, SONDE_SNAPSHOT_COMMAND, process, label, time_ns, answer_fd);
}

/* --- readings of /proc ----------------------------------------------------------------------------------------------
 */

/* What the process's files say, and what it takes to read its PSS; 0 pages = the real files. */
static struct {
	unsigned pages, reading_ms, computing_us;
} proc;

static void spend(uint64_t cpu_ns)
{
	uint64_t until_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
	while (sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		;
}

size_t __real_sonde_file_read(char *out, size_t max_b, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t __wrap_sonde_file_read(char *out, size_t max_b, const char *format, ...) __attribute__((format(printf, 3, 4)));

size_t __wrap_sonde_file_read(char *out, size_t max_b, const char *format, ...)
{
	const struct timespec reading = {0, (long)proc.reading_ms * 1000000};
	char path[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(path, sizeof path, format, arguments);
	va_end(arguments);
	int is_rollup = strstr(path, "/smaps_rollup") != NULL;
	if (!proc.pages || !(is_rollup || strstr(path, "/statm")))
		return __real_sonde_file_read(out, max_b, "%s", path);
	if (!is_rollup)
		return (size_t)snprintf(out, max_b, "99999 %u 10 1 0 2 0\n", proc.pages);
	nanosleep(&reading, NULL);
	spend(proc.computing_us * UINT64_C(1000));
	return (size_t)snprintf(out, max_b, "1-2 ---p 0 0:0 0 [rollup]\nRss: 1200 kB\nPss: 700 kB\nPss_Dirty: 1 kB\n");
}

struct reading {
	enum sonde_snapshot_reason reason;
	unsigned pages, reading_ms, computing_us;
};

/* Of two snapshots the first one has PSS; whether the second one has. */
static void expect_pss(const struct reading *first, const struct reading *second, int is_second)
{
	struct fixture f;
	begin(&f);
	for (int i = 0; i < 2; i++) {
		const struct reading *reading = i ? second : first;
		proc.pages = reading->pages;
		proc.reading_ms = reading->reading_ms;
		proc.computing_us = reading->computing_us;
		assert_int_equal(ask_for(&f, reading->reason, f.process, i ? "second" : "first", i ? 200 : 100, -1), 0);
	}
	proc.pages = 0;
	sonde_snapshots_take_remainder(f.snapshots);
	struct sonde_session *session = end(&f);
	assert_int_equal(sonde_session_snapshot_count(session), 2);
	assert_int_equal(sonde_session_snapshot(session, 0)->pss_b, 700 * 1024);
	assert_int_equal(sonde_session_snapshot(session, 1)->pss_b, is_second ? 700 * 1024 : 0);
	sonde_session_close(session);
}

/* Two milliseconds of CPU time at first, of which a page is expected to take 40 ns. */
static void slow_readings_cost_the_cpu_time_that_they_use(void **state)
{
	static const enum sonde_snapshot_reason requested = SONDE_SNAPSHOT_COMMAND;
	(void)state;
	expect_pss(&(struct reading){requested, 1000, 20, 0}, &(struct reading){requested, 1000, 0, 0},
		   1); /* it waits */
	expect_pss(&(struct reading){requested, 1000, 0, 2100}, &(struct reading){requested, 1000, 0, 0}, 0);
	expect_pss(&(struct reading){requested, 200, 0, 100}, &(struct reading){requested, 20000, 0, 0},
		   1); /* a small one */
	expect_pss(&(struct reading){requested, 1000, 0, 0}, &(struct reading){requested, 200000, 0, 0}, 0);
}

static void snapshots_at_an_interval_leave_others_their_share(void **state)
{
	static const struct reading interval = {SONDE_SNAPSHOT_INTERVAL, 1000, 0, 2100},
				    requested = {SONDE_SNAPSHOT_API, 200, 0, 2100},
				    end_of = {SONDE_SNAPSHOT_END, 200, 0, 2100};
	(void)state;
	expect_pss(&interval, &interval, 0);
	expect_pss(&interval, &requested, 1);
	expect_pss(&end_of, &end_of, 0);
	expect_pss(&end_of, &requested, 1);
	expect_pss(&requested, &(struct reading){SONDE_SNAPSHOT_INTERVAL, 1000, 0, 0}, 1);
}

static void taken_in_order_by_whose_they_are(void **state)
{
	(void)state;
	struct fixture f;
	struct sonde_snapshot_live live = {3, 300, 0};
	begin(&f);
	uint32_t other = f.process + 1;
	assert_int_equal(ask(&f, f.process, "later", 200, -1), 0);
	assert_int_equal(ask(&f, f.process, "earlier", 100, -1), 0);
	assert_int_equal(ask(&f, other, "nobody's", 150, -1), 0);
	sonde_snapshots_claim(f.snapshots, f.process);
	assert_int_equal(sonde_snapshots_due(f.snapshots, f.process, 99), 0);
	assert_int_equal(sonde_snapshots_due(f.snapshots, f.process, 100), 100);
	sonde_snapshots_take_remainder(f.snapshots); /* what was claimed stays */
	assert_int_equal(sonde_snapshots_due(f.snapshots, other, UINT64_MAX), 0);
	sonde_snapshots_take(f.snapshots, f.process, 101, &live); /* an event of that time had been written */
	assert_int_equal(sonde_snapshots_due(f.snapshots, f.process, UINT64_MAX), 200);
	sonde_snapshots_take(f.snapshots, f.process, 200, &live);
	assert_int_equal(sonde_snapshots_due(f.snapshots, f.process, UINT64_MAX), 0);
	sonde_snapshots_take(f.snapshots, f.process, 300, &live); /* none */
	struct sonde_session *session = end(&f);
	static const char *const labels[] = {"nobody's", "earlier", "later"};
	static const uint64_t times[] = {150, 101, 200};
	assert_int_equal(sonde_session_snapshot_count(session), 3);
	for (size_t i = 0; i < 3; i++) {
		const struct sonde_snapshot *snapshot = sonde_session_snapshot(session, i);
		assert_string_equal(snapshot->label, labels[i]);
		assert_int_equal(snapshot->time_ns, times[i]);
		assert_int_equal(snapshot->reason, SONDE_SNAPSHOT_COMMAND);
		assert_true(snapshot->rss_b > 100000); /* ours, in truth */
	}
	sonde_session_close(session);
}

static void answers_are_sent(void **state)
{
	(void)state;
	struct fixture f;
	struct sonde_snapshot_live live = {3, 300, 512};
	struct sonde_link_snapshot answer;
	int fds[2];
	begin(&f);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	assert_int_equal(ask(&f, f.process, "x", 100, fds[1]), 0);
	sonde_snapshots_take(f.snapshots, f.process, 100, &live);
	assert_int_equal(recv(fds[0], &answer, sizeof answer, MSG_DONTWAIT), sizeof answer);
	assert_int_equal(answer.head.type, SONDE_LINK_SNAPSHOT);
	assert_int_equal(answer.status, 0);
	assert_int_equal(answer.number, 1);
	assert_int_equal(answer.has_heap, 1);
	assert_int_equal(answer.live_b, 300);
	assert_int_equal(answer.live_blocks, 3);
	assert_int_equal(answer.mean_b, 512);
	assert_int_equal(recv(fds[0], &answer, sizeof answer, MSG_DONTWAIT), 0); /* closed behind it */
	close(fds[0]);
	/* One whose requester is gone, one that is never taken. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	close(fds[0]);
	assert_int_equal(ask(&f, f.process, "gone", 100, fds[1]), 0);
	sonde_snapshots_take_remainder(f.snapshots);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	assert_int_equal(ask(&f, f.process, "never", 100, fds[1]), 0);
	struct sonde_session *session = end(&f);
	assert_int_equal(recv(fds[0], &answer, sizeof answer, MSG_DONTWAIT), 0);
	close(fds[0]);
	assert_int_equal(sonde_session_snapshot_count(session), 2);
	sonde_session_close(session);
}

static void there_may_be_too_many(void **state)
{
	(void)state;
	struct fixture f;
	int result = 0;
	begin(&f);
	for (uint32_t i = 0; i < 100000 && !result; i++) {
		result = ask(&f, f.process, "again", i + 1, -1);
		sonde_snapshots_take_remainder(f.snapshots);
	}
	assert_int_equal(result, -E2BIG);
	struct sonde_session *session = end(&f);
	assert_int_equal(sonde_session_snapshot_count(session), 65536);
	assert_int_equal(sonde_session_lost_count(session), 1);
	assert_string_equal(sonde_session_lost(session, 0)->cause, "too many snapshots");
	sonde_session_close(session);
}

/* A process that has ended is not asked, but its own requests count. */
static void the_dead_have_none(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	struct sonde_snapshot_ask ask = {.process = f.process, .pid = 0x7ffffffe, .label = "", .answer_fd = -1};
	ask.reason = SONDE_SNAPSHOT_INTERVAL;
	assert_int_equal(sonde_snapshots_ask(f.snapshots, &ask), -ESRCH);
	ask.reason = SONDE_SNAPSHOT_API;
	assert_int_equal(sonde_snapshots_ask(f.snapshots, &ask), 0);
	sonde_snapshots_take_remainder(f.snapshots);
	struct sonde_session *session = end(&f);
	assert_int_equal(sonde_session_snapshot_count(session), 1);
	assert_int_equal(sonde_session_snapshot(session, 0)->rss_b, 0);
	sonde_session_close(session);
}

/* On any piece of the line: to a nanosecond there and back. */
static void cycles_are_the_inverse_of_times(void **state)
{
	(void)state;
	struct sonde_clockfit fit;
	struct sonde_clockfit_anchor anchor = {1000, 5000000000u, 10};
	sonde_clockfit_init(&fit, &anchor);
	for (int i = 1; i <= 5; i++) {
		uint64_t slower = (uint64_t)i * 1000; /* the counter drifts a little */
		anchor.cycles = 1000 + (uint64_t)i * 750000000u - slower;
		anchor.mono_ns = 5000000000u + (uint64_t)i * 300000000u;
		sonde_clockfit_add(&fit, &anchor);
	}
	assert_true(fit.count > 3);
	for (uint64_t ns = 5000000000u; ns < 7000000000u; ns += 123457) {
		uint64_t back = sonde_clockfit_ns(&fit, sonde_clockfit_cycles(&fit, ns));
		assert_true(back <= ns + 1 && back + 1 >= ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slow_readings_cost_the_cpu_time_that_they_use),
	    cmocka_unit_test(snapshots_at_an_interval_leave_others_their_share),
	    cmocka_unit_test(taken_in_order_by_whose_they_are),
	    cmocka_unit_test(answers_are_sent),
	    cmocka_unit_test(there_may_be_too_many),
	    cmocka_unit_test(the_dead_have_none),
	    cmocka_unit_test(cycles_are_the_inverse_of_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
