/* test_perfetto.c: slices of a trace are in the order in which zones began and ended, also if many did so at the
 * same time: readers sort by time and keep the file's order for equal times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "exchange.h"
#include "recording.h"

enum { THREADS = 2, SITES = 5, STEPS = 4000, ROUNDS = 20, DEPTH_MAX = 12, NAME_B = 32 };
enum { BEGIN = 1, END = 2 };

struct step {
	uint64_t time_ns, start_ns; /* start: of its zone */
	uint32_t site;
	int type, thread;
};

struct trace {
	char names[64][NAME_B]; /* by number */
	uint64_t tracks[THREADS];
	size_t track_count;
	struct step steps[THREADS * (STEPS + DEPTH_MAX)];
	size_t count;
};

static char path[64];
static uint64_t random_state;

static uint64_t random_below(uint64_t end)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % end;
}

/* Random zones of two threads, many of them at equal times; returns what was written, thread after thread. */
static size_t write_zones(struct step *steps, size_t rows)
{
	struct recording recording;
	size_t count = 0;
	uint32_t sites[SITES];
	recording_open(&recording, path);
	recording.chunk_rows = rows;
	recording_process(&recording, 100, 0, "app", RECORDING_START_NS);
	for (uint32_t i = 0; i < SITES; i++) {
		char name[NAME_B];
		snprintf(name, sizeof name, "zone%u", i);
		sites[i] = recording_site(&recording, SONDE_SITE_ZONE, name, "");
	}
	for (int thread = 0; thread < THREADS; thread++) {
		struct step open[DEPTH_MAX];
		uint64_t time_ns = RECORDING_START_NS + 1000;
		size_t depth = 0;
		recording_thread(&recording, 1, 100 + (uint32_t)thread, "worker", RECORDING_START_NS);
		for (int i = 0; i < STEPS || depth; i++) {
			struct step step = {.thread = thread};
			time_ns += random_below(3) ? 0 : random_below(3);
			if (i < STEPS && depth < DEPTH_MAX && (!depth || random_below(2))) {
				step.type = BEGIN;
				step.site = (uint32_t)random_below(SITES);
				step.start_ns = time_ns;
				recording_begin(&recording, (uint32_t)thread + 1, sites[step.site], time_ns);
				open[depth++] = step;
			} else {
				step = open[--depth];
				step.type = END;
				recording_end(&recording, (uint32_t)thread + 1, time_ns);
			}
			step.time_ns = time_ns;
			steps[count++] = step;
		}
	}
	recording_close(&recording, RECORDING_START_NS + 1000000, 0);
	return count;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static struct exchange_field find(const uint8_t *data, size_t data_b, uint32_t number)
{
	struct exchange_field field, found = {0};
	for (const uint8_t *at = data; at < data + data_b;) {
		at = exchange_field(at, data + data_b, &field);
		if (field.number == number)
			found = field;
	}
	return found;
}

static void take_names(struct trace *trace, struct exchange_field interned)
{
	struct exchange_field names = find(interned.data, interned.data_b, 2);
	if (!names.data)
		return;
	uint64_t number = find(names.data, names.data_b, 1).value;
	struct exchange_field name = find(names.data, names.data_b, 2);
	assert_true(number < 64 && name.data_b < NAME_B);
	memcpy(trace->names[number], name.data, name.data_b);
}

static void take_event(struct trace *trace, uint64_t time_ns, struct exchange_field event)
{
	uint64_t type = find(event.data, event.data_b, 9).value, track = find(event.data, event.data_b, 11).value;
	uint64_t name = find(event.data, event.data_b, 10).value;
	struct step step = {.type = (int)type, .time_ns = time_ns, .thread = -1};
	if (type != BEGIN && type != END)
		return;
	for (size_t i = 0; i < trace->track_count; i++)
		if (trace->tracks[i] == track)
			step.thread = (int)i;
	if (step.thread < 0 || trace->count >= sizeof trace->steps / sizeof *trace->steps)
		fail_msg("thread %d, %zu steps, at %llu", step.thread, trace->count, (unsigned long long)time_ns);
	if (type == BEGIN) {
		assert_memory_equal(trace->names[name], "zone", 4);
		step.site = (uint32_t)(trace->names[name][4] - '0');
	}
	trace->steps[trace->count++] = step;
}

static void read_trace(struct trace *trace, struct text text)
{
	struct exchange_field packet;
	const uint8_t *end = (const uint8_t *)text.data + text.size_b;
	memset(trace, 0, sizeof *trace);
	for (const uint8_t *at = (const uint8_t *)text.data; at < end;) {
		at = exchange_field(at, end, &packet);
		assert_int_equal(packet.number, 1);
		struct exchange_field track = find(packet.data, packet.data_b, 60),
				      event = find(packet.data, packet.data_b, 11),
				      interned = find(packet.data, packet.data_b, 12);
		if (interned.data)
			take_names(trace, interned);
		if (track.data && find(track.data, track.data_b, 4).data && trace->track_count < THREADS)
			trace->tracks[trace->track_count++] = find(track.data, track.data_b, 1).value;
		if (event.data)
			take_event(trace, find(packet.data, packet.data_b, 8).value, event);
	}
	free(text.data);
}

/* As readers do: sorted by time, and in file order for equal times. */
static void sort(struct trace *trace)
{
	for (size_t i = 1; i < trace->count; i++) {
		struct step step = trace->steps[i];
		size_t at = i;
		for (; at && trace->steps[at - 1].time_ns > step.time_ns; at--)
			trace->steps[at] = trace->steps[at - 1];
		trace->steps[at] = step;
	}
}

static void assert_steps(const struct trace *trace, const struct step *steps, size_t count, uint64_t from_ns)
{
	for (int thread = 0; thread < THREADS; thread++) {
		size_t at = 0;
		for (size_t i = 0; i < count; i++) {
			if (steps[i].thread != thread || steps[i].start_ns < from_ns)
				continue;
			while (at < trace->count && trace->steps[at].thread != thread)
				at++;
			assert_true(at < trace->count);
			assert_int_equal(trace->steps[at].type, steps[i].type);
			assert_int_equal(trace->steps[at].time_ns, steps[i].time_ns);
			if (steps[i].type == BEGIN)
				assert_int_equal(trace->steps[at].site, steps[i].site);
			at++;
		}
		while (at < trace->count)
			assert_int_not_equal(trace->steps[at++].thread, thread);
	}
}

static void slices_keep_their_order(void **state)
{
	(void)state;
	static struct step steps[THREADS * (STEPS + DEPTH_MAX)];
	static struct trace trace;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct sonde_session *session;
		random_state = round;
		size_t count = write_zones(steps, round % 2 ? 7 : 1000);
		assert_int_equal(sonde_session_open(&session, path, NULL), 0);
		for (uint64_t from_ns = 0; from_ns <= RECORDING_START_NS + 1800;
		     from_ns += from_ns ? 800 : RECORDING_START_NS + 1000) {
			const struct sonde_format_options options = {.selection.from_ns = from_ns};
			read_trace(&trace, exchange_export(session, "perfetto", &options));
			sort(&trace);
			assert_int_equal(trace.track_count, THREADS);
			assert_steps(&trace, steps, count, from_ns);
		}
		sonde_session_close(session);
	}
}

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "/tmp/sonde-test-perfetto-%d.sonde", (int)getpid());
	return 0;
}

static int remove_path(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(slices_keep_their_order)};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
