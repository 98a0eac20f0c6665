/* test_chrome_threads.c: thread states and calls in Chrome traces, threads that share slices, and arrows from the
 * thread that unlocked or woke to the one that continued. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "exchange.h"
#include "recording.h"

/* Sums over the lines of a trace, one event each: durations of the slices of a state, or the values of a key. Line
 * by line, because searching a large text repeatedly is slow under a sanitizer. */
static uint64_t sum_lines(const char *text, const char *sought, const char *key, int is_micros)
{
	uint64_t sum = 0;
	char line[1024];
	for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, '\n');
		size_t size_b = (size_t)(end - at) < sizeof line ? (size_t)(end - at) : sizeof line - 1;
		memcpy(line, at, size_b);
		line[size_b] = '\0';
		char *value = !sought || strstr(line, sought) ? strstr(line, key) : NULL;
		if (!value)
			continue;
		uint64_t whole = strtoull(value + strlen(key), &value, 10);
		sum += is_micros ? whole * 1000 + strtoull(value + 1, NULL, 10) : whole;
	}
	return sum;
}

static uint64_t slices_ns(const char *text, const char *name)
{
	char sought[80];
	snprintf(sought, sizeof sought, "\"name\":\"%s\",\"cat\":\"state\"", name);
	return sum_lines(text, sought, "\"dur\":", 1);
}

static uint64_t said_ns(const char *text, const char *key)
{
	return sum_lines(text, NULL, key, 0);
}

static struct text chrome_of(const struct sonde_format_options *options)
{
	struct sonde_session *other;
	assert_int_equal(sonde_session_open(&other, path, &(struct sonde_session_options){.no_symbols = 1}), 0);
	struct text text = exchange_export(other, "chrome", options);
	sonde_session_close(other);
	unlink(path);
	return text;
}

static void begin(struct recording *recording)
{
	recording_open(recording, path);
	recording_process(recording, 100, 0, "app", START);
	recording_thread(recording, 1, 100, "app", START);
	recording_thread(recording, 1, 101, "worker", START);
}

/* Runs 10 ms on CPU 0, is blocked for 20 of which 15 lie in a lock, runs, is preempted for 5, and runs on CPU 1. */
static void chrome_has_states(void **state)
{
	(void)state;
	struct recording recording;
	for (int part = 0; part < 2; part++) {
		begin(&recording);
		uint32_t lock = recording_object(&recording, 1, SONDE_OBJECT_LOCK, "queue_mutex", 0x4040);
		recording_switch_on(&recording, START + 10 * MS, 2, SONDE_SWITCH_OUT_BLOCKED, 0);
		recording_switch_on(&recording, START + 30 * MS, 2, SONDE_SWITCH_IN, 0);
		recording_switch_on(&recording, START + 40 * MS, 2, SONDE_SWITCH_OUT_PREEMPTED, 0);
		recording_switch_on(&recording, START + 45 * MS, 2, SONDE_SWITCH_IN, 1);
		recording_wait(&recording, (struct recording_wait){START + 12 * MS, 15 * MS, 2, 0, SONDE_WAIT_MUTEX, 0,
								   SONDE_STACK_NO_TABLE, lock, 0});
		recording_close(&recording, START + 100 * MS, 0);
		const struct sonde_format_options options = {.selection.from_ns = part ? START + 25 * MS : 0,
							     .selection.to_ns = part ? START + 42 * MS : 0};
		struct text text = chrome_of(&options);
		assert_harmless(text);
		assert_int_equal(slices_ns(text.data, "running"), part ? 10 * MS : 75 * MS);
		assert_int_equal(slices_ns(text.data, "runnable"), part ? 2 * MS : 5 * MS);
		assert_int_equal(slices_ns(text.data, "blocked"), part ? 5 * MS : 20 * MS);
		assert_has(text.data, "\"tid\":1073741826,\"ts\":0.000,\"args\":{\"name\":\"worker (101): states\"}}");
		assert_has(text.data, part ? "\"cpu\":0,\"waits_for\":\"mutex\",\"waits_for_ns\":2000000,\"object\":"
					     "\"queue_mutex\",\"woken\":\"unknown"
					   : "\"ts\":10000.000,\"dur\":20000.000,\"args\":{\"cpu\":0,\"waits_for\":"
					     "\"mutex\",\"waits_for_ns\":15000000,\"object\":\"queue_mutex\"");
		assert_has(text.data, "\"states_in_shared_slices\":0");
		assert_null(strstr(text.data, "\"name\":\"unseen\""));
		free(text.data);
	}
}

/* 200,000 intervals of 10 us and less, and ten of 5 ms: the long ones keep their slices, the others share some, which
 * add up to what there was. A part has all of its own. */
static void many_states_share_slices(void **state)
{
	(void)state;
	struct recording recording;
	const unsigned pairs = 100000;
	for (int part = 0; part < 2; part++) {
		uint64_t at_ns = START, on_ns = 0, blocked_ns = 0;
		begin(&recording);
		recording.chunk_rows = 4096;
		for (unsigned i = 0; i < pairs; i++) {
			uint64_t run_ns = 6000, wait_ns = i % 10000 ? 4000 : 5 * MS;
			recording_switch_on(&recording, at_ns += run_ns, 2, SONDE_SWITCH_OUT_BLOCKED, 0);
			recording_switch_on(&recording, at_ns += wait_ns, 2, SONDE_SWITCH_IN, 1);
			on_ns += run_ns;
			blocked_ns += wait_ns;
		}
		recording_close(&recording, at_ns, 0);
		const struct sonde_format_options options = {.selection.from_ns = part ? START + 500 * MS : 0,
							     .selection.to_ns = part ? START + 502 * MS : 0};
		struct text text = chrome_of(&options);
		uint64_t ran_ns = slices_ns(text.data, "running") + said_ns(text.data, "\"running_ns\":");
		uint64_t waited_ns = slices_ns(text.data, "blocked") + said_ns(text.data, "\"blocked_ns\":");
		if (part) {
			assert_int_equal(ran_ns + waited_ns, 2 * MS);
			assert_has(text.data, "\"states_in_shared_slices\":0");
		} else {
			assert_int_equal(ran_ns, on_ns);
			assert_int_equal(waited_ns, blocked_ns);
			assert_int_equal(slices_ns(text.data, "blocked"), 50 * MS);
			assert_int_equal(said_ns(text.data, "\"states_in_shared_slices\":"), 2 * pairs - 10);
			assert_has(text.data, "\"states_shared_below_ns\":8192");
			assert_in_range(said_ns(text.data, "\"state_slices\":"), 1000, 150000);
			assert_in_range(text.size_b, 1000, 25000000);
		}
		free(text.data);
	}
}

/* Slices of one thread, in any order: none may start inside another and end after it. */
struct slice {
	uint64_t from_ns, to_ns;
};

static int compare_slices(const void *left, const void *right)
{
	const struct slice *a = left, *b = right;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->to_ns < b->to_ns) - (a->to_ns > b->to_ns);
}

static uint64_t micros_of(const char *line, const char *key)
{
	char *value = strstr(line, key);
	assert_non_null(value);
	uint64_t whole = strtoull(value + strlen(key), &value, 10);
	return whole * 1000 + strtoull(value + 1, NULL, 10);
}

static size_t assert_calls_nest(const char *text)
{
	size_t count = 0, deep = 0, nested = 0, cap = 200000;
	struct slice *slices = calloc(cap, sizeof *slices);
	uint64_t ends[8];
	char line[1024];
	assert_non_null(slices);
	for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, '\n');
		size_t size_b = (size_t)(end - at) < sizeof line ? (size_t)(end - at) : sizeof line - 1;
		memcpy(line, at, size_b);
		line[size_b] = '\0';
		if (!strstr(line, "\"cat\":\"wait\""))
			continue;
		assert_in_range(count, 0, cap - 1);
		slices[count].from_ns = micros_of(line, "\"ts\":");
		slices[count].to_ns = slices[count].from_ns + micros_of(line, "\"dur\":");
		count++;
	}
	qsort(slices, count, sizeof *slices, compare_slices);
	for (size_t i = 0; i < count; i++) {
		while (deep && ends[deep - 1] <= slices[i].from_ns)
			deep--;
		nested += deep != 0;
		assert_true(!deep || slices[i].to_ns <= ends[deep - 1]);
		assert_in_range(deep, 0, 7);
		ends[deep++] = slices[i].to_ns;
	}
	free(slices);
	return nested;
}

/* 200,000 calls of 3 us and less, and ten of 5 ms in each of which a signal's handler makes another: the long ones keep
 * their slices, the others share some, which add up to what there was. A part has all of its own. */
static void many_calls_share_slices(void **state)
{
	(void)state;
	struct recording recording;
	const unsigned turns = 100000, every = 10000, longs = turns / every;
	for (int part = 0; part < 2; part++) {
		uint64_t at_ns = START;
		begin(&recording);
		recording.chunk_rows = 4096;
		for (unsigned i = 0; i < turns; i++, at_ns += 7000) {
			recording_wait(&recording, (struct recording_wait){at_ns, 3000, 2, 0, SONDE_WAIT_READ, 0,
									   SONDE_STACK_NO_TABLE, 0, 10});
			recording_wait(&recording, (struct recording_wait){at_ns + 4000, 2000, 2, 0, SONDE_WAIT_WRITE,
									   0, SONDE_STACK_NO_TABLE, 0, 1});
			if (i % every != every - 1)
				continue;
			at_ns += 7000; /* the handler's call ends first and is reported first */
			recording_wait(&recording, (struct recording_wait){at_ns + 1000, 3000, 2, 0, SONDE_WAIT_READ, 0,
									   SONDE_STACK_NO_TABLE, 0, 10});
			recording_wait(&recording, (struct recording_wait){at_ns, 5 * MS, 2, 0, SONDE_WAIT_MUTEX, 0,
									   SONDE_STACK_NO_TABLE, 0, 0});
			at_ns += 5 * MS;
		}
		recording_close(&recording, at_ns, 0);
		const struct sonde_format_options options = {.selection.to_ns = part ? START + 7 * MS : 0};
		struct text text = chrome_of(&options);
		uint64_t read_ns = sum_lines(text.data, "\"name\":\"read\",\"cat\":\"wait\"", "\"dur\":", 1);
		uint64_t shared_ns = said_ns(text.data, "\"read\":"), written_ns = said_ns(text.data, "\"write\":");
		if (part) {
			assert_int_equal(read_ns, 3 * MS);
			assert_int_equal(shared_ns + written_ns, 0);
			assert_has(text.data, "\"wait_slices\":2000,\"waits_in_shared_slices\":0,");
		} else {
			assert_int_equal(read_ns, 0);
			assert_int_equal(shared_ns, (turns + longs) * UINT64_C(3000));
			assert_int_equal(written_ns, turns * UINT64_C(2000));
			assert_int_equal(said_ns(text.data, "\"bytes\":"), (turns + longs) * 10 + turns);
			assert_int_equal(sum_lines(text.data, "\"name\":\"mutex\"", "\"dur\":", 1), longs * 5 * MS);
			assert_int_equal(said_ns(text.data, "\"waits_in_shared_slices\":"), 2 * turns + longs);
			assert_has(text.data, "\"waits_shared_below_ns\":4096,\"waits_note\":");
			assert_in_range(said_ns(text.data, "\"wait_slices\":"), 1000, 150000);
			assert_in_range(text.size_b, 1000, 25000000);
		}
		assert_in_range(assert_calls_nest(text.data), 0, longs);
		free(text.data);
	}
}

/* --- arrows ------------------------------------------------------------------------------------------------------- */

static void put_lock_call(struct recording *recording, uint32_t thread, enum sonde_wait_kind kind, uint32_t lock,
			  uint64_t from_ms, uint64_t to_ms)
{
	recording_wait(recording, (struct recording_wait){.start_ns = START + from_ms * MS,
							  .dur_ns = (to_ms - from_ms) * MS,
							  .thread = thread,
							  .kind = kind,
							  .status = SONDE_STACK_NO_TABLE,
							  .object = lock});
}

/* A convoy: app has the lock until 20 ms, worker until 30, then third; each releases it 1 ms before the next has it.
 * The holder before app is unknown, and that of the other lock, too; a wait without a lock has no arrow. */
static void put_convoy(struct recording *recording)
{
	begin(recording);
	recording_thread(recording, 1, 102, "third", START);
	uint32_t lock = recording_object(recording, 1, SONDE_OBJECT_LOCK, "queue_mutex", 0x4040);
	uint32_t other = recording_object(recording, 1, SONDE_OBJECT_LOCK, "", 0x5050);
	put_lock_call(recording, 1, SONDE_WAIT_MUTEX, lock, 2, 10);
	put_lock_call(recording, 1, SONDE_WAIT_HELD, lock, 10, 20);
	put_lock_call(recording, 2, SONDE_WAIT_MUTEX, lock, 12, 21);
	put_lock_call(recording, 2, SONDE_WAIT_HELD, lock, 21, 30);
	put_lock_call(recording, 3, SONDE_WAIT_MUTEX, lock, 13, 31);
	put_lock_call(recording, 3, SONDE_WAIT_HELD, lock, 31, 33);
	put_lock_call(recording, 1, SONDE_WAIT_MUTEX, other, 32, 40);
	put_lock_call(recording, 2, SONDE_WAIT_SLEEP, 0, 32, 40);
	put_lock_call(recording, 2, SONDE_WAIT_MUTEX, lock, 50, 60); /* whose holder has not been seen since 33 ms */
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

static void arrows_lead_from_unlocking_to_who_waited(void **state)
{
	struct recording recording;
	(void)state;
	put_convoy(&recording);
	recording_close(&recording, START + 100 * MS, 0);
	struct text text = chrome_of(&(struct sonde_format_options){0});
	assert_harmless(text);
	assert_int_equal(count_of(text.data, "\"ph\":\"s\""), 2);
	assert_int_equal(count_of(text.data, "\"ph\":\"f\""), 2);
	assert_has(text.data,
		   "{\"ph\":\"X\",\"name\":\"unlock\",\"cat\":\"lock\",\"pid\":100,\"tid\":100,\"ts\":20000.000,"
		   "\"dur\":0.000,\"args\":{\"object\":\"queue_mutex\"}}");
	assert_has(text.data,
		   "{\"ph\":\"s\",\"name\":\"unlock\",\"cat\":\"flow\",\"pid\":100,\"tid\":100,\"ts\":20000.000,"
		   "\"id\":\"unlock:1\",\"args\":{}}");
	assert_has(text.data,
		   "{\"ph\":\"f\",\"name\":\"unlock\",\"cat\":\"flow\",\"pid\":100,\"tid\":101,\"ts\":20999.999,"
		   "\"id\":\"unlock:1\",\"bp\":\"e\",\"args\":{}}");
	assert_has(text.data, "\"tid\":101,\"ts\":30000.000,\"id\":\"unlock:2\"");
	assert_has(text.data, "\"tid\":102,\"ts\":30999.999,\"id\":\"unlock:2\"");
	assert_has(text.data, "\"lock_arrows\":2,\"wake_arrows\":0");
	free(text.data);
	put_convoy(&recording); /* of a part both ends lie in it */
	recording_close(&recording, START + 100 * MS, 0);
	text = chrome_of(&(struct sonde_format_options){.selection.from_ns = START + 25 * MS});
	assert_has(text.data, "\"lock_arrows\":1,");
	assert_has(text.data, "\"tid\":101,\"ts\":30000.000,\"id\":\"unlock:1\"");
	free(text.data);
}

static void there_are_no_arrows_where_calls_were_lost(void **state)
{
	struct recording recording;
	(void)state;
	for (uint32_t process = 1; process <= 2; process++) {
		put_convoy(&recording);
		recording_process(&recording, 200, 0, "other", START);
		recording_lost_of(&recording, "waits", "no room in the ring", process, 1);
		recording_close(&recording, START + 100 * MS, 0);
		struct text text = chrome_of(&(struct sonde_format_options){0});
		assert_has(text.data, process == 1 ? "\"lock_arrows\":0," : "\"lock_arrows\":2,");
		free(text.data);
	}
}

/* Worker is created by app at 5 ms and runs at 6, blocks at 10, is woken by third at 28 and runs at 30; later it is
 * woken by an unknown thread. */
static void arrows_lead_from_who_woke_to_who_runs(void **state)
{
	struct recording recording;
	(void)state;
	begin(&recording);
	recording_thread(&recording, 1, 102, "third", START);
	recording_switch_woken(&recording, START + 6 * MS, 2, 0, MS, 1);
	recording_switch_on(&recording, START + 10 * MS, 2, SONDE_SWITCH_OUT_BLOCKED, 0);
	recording_switch_woken(&recording, START + 30 * MS, 2, 1, 2 * MS, 3);
	recording_switch_on(&recording, START + 40 * MS, 2, SONDE_SWITCH_OUT_BLOCKED, 1);
	recording_switch_woken(&recording, START + 50 * MS, 2, 1, 3 * MS, 0);
	recording_switch_on(&recording, START + 60 * MS, 2, SONDE_SWITCH_OUT_PREEMPTED, 1);
	recording_switch_on(&recording, START + 70 * MS, 2, SONDE_SWITCH_IN, 1);
	recording_close(&recording, START + 100 * MS, 0);
	struct text text = chrome_of(&(struct sonde_format_options){0});
	assert_harmless(text);
	assert_int_equal(count_of(text.data, "\"ph\":\"s\""), 2);
	assert_has(text.data, "\"tid\":1073741825,\"ts\":5000.000,\"id\":\"wake-up:1\"");
	assert_has(text.data, "\"tid\":1073741826,\"ts\":6000.000,\"id\":\"wake-up:1\"");
	assert_has(text.data, "\"tid\":1073741827,\"ts\":28000.000,\"id\":\"wake-up:2\"");
	assert_has(text.data, "\"tid\":1073741826,\"ts\":30000.000,\"id\":\"wake-up:2\"");
	assert_has(text.data, "\"lock_arrows\":0,\"wake_arrows\":2");
	free(text.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chrome_has_states),
	    cmocka_unit_test(many_states_share_slices),
	    cmocka_unit_test(many_calls_share_slices),
	    cmocka_unit_test(arrows_lead_from_unlocking_to_who_waited),
	    cmocka_unit_test(there_are_no_arrows_where_calls_were_lost),
	    cmocka_unit_test(arrows_lead_from_who_woke_to_who_runs),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
