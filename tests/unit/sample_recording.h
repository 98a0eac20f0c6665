/* sample_recording.h: a small recording whose every sample, zone and event is known: what the exchange formats are
 * tested on. 100 samples stand for 100 ms of CPU time: hot 60, inner (inlined into outer) 20, rec 10 at recursion depth
 * 1 to 3, a hostile name 6, in the kernel below hot 3, without a stack 1. */
#ifndef SONDE_TESTS_SAMPLE_RECORDING_H
#define SONDE_TESTS_SAMPLE_RECORDING_H

#include "recording.h"

#define SAMPLE_HOSTILE "=ev\033[31mil<script>|`\"\n;\xff\xe2\x80\xae"

enum { SAMPLE_COUNT = 100, SAMPLE_WEIGHT_NS = 1000000, SAMPLE_START_NS = 1000000000 };

static void sample_stacks(struct recording *recording)
{
	uint32_t app = recording_module(recording, "/usr/bin/app", 0);
	uint32_t library = recording_module(recording, "/usr/lib/lib" SAMPLE_HOSTILE ".so", 0);
	const struct recording_place inlined[] = {{"inner", "src/inner.h", 7, 0x900000},
						  {"outer", "src/outer.c", 70, 0x900000}};
	recording_symbol(recording, library, 0x900010, inlined, 2);
	uint32_t main_node = recording_call(recording, 0, app, "main", 10);
	uint32_t hot = recording_call(recording, main_node, app, "hot", 20);
	uint32_t inner = recording_node(recording, main_node, library, 0x900010);
	uint32_t rec[3];
	for (int i = 0; i < 3; i++)
		rec[i] = recording_call(recording, i ? rec[i - 1] : main_node, app, "rec", 30);
	uint32_t evil = recording_call(recording, hot, library, SAMPLE_HOSTILE, 5);
	for (uint32_t i = 0; i < SAMPLE_COUNT; i++) {
		uint32_t stack = i < 60 ? hot : i < 80 ? inner : i < 90 ? rec[i % 3] : i < 96 ? evil : i < 99 ? hot : 0;
		recording_sample(recording,
				 (struct recording_sample){.time_ns = SAMPLE_START_NS + (uint64_t)i * 1000000,
							   .thread = 1 + i % 2,
							   .stack = stack,
							   .weight_ns = SAMPLE_WEIGHT_NS,
							   .status = i >= 96 && i < 99 ? SONDE_SAMPLE_KERNEL : 0});
	}
}

/* Two zones inside one on thread 1; a span from thread 1 to thread 2; counters, marks and messages. */
static void sample_events(struct recording *recording)
{
	uint32_t outer = recording_site(recording, SONDE_SITE_ZONE, "frame", "");
	uint32_t step = recording_site(recording, SONDE_SITE_ZONE, SAMPLE_HOSTILE, "");
	uint32_t request = recording_site(recording, SONDE_SITE_SPAN, "request", "");
	uint32_t bytes = recording_site(recording, SONDE_SITE_COUNTER, "bytes", "B");
	uint32_t depth = recording_site(recording, SONDE_SITE_GAUGE, "queue depth", "");
	uint32_t mark = recording_site(recording, SONDE_SITE_INSTANT, "checkpoint", "");
	uint64_t start = SAMPLE_START_NS;
	recording_begin(recording, 1, outer, start + 1000);
	recording_begin(recording, 1, step, start + 2000);
	recording_work(recording, 1, start + 2500, 1e9, 64, 3);
	recording_text(recording, 1, SONDE_EVENT_ZONE_NAME, 0, start + 2600, "step 1");
	recording_end(recording, 1, start + 3001);
	recording_begin(recording, 1, step, start + 4000);
	recording_end(recording, 1, start + 5000);
	recording_end(recording, 1, start + 9000);
	recording_begin(recording, 1, outer, start + 10000); /* never ended */
	recording_span(recording, 1, SONDE_EVENT_SPAN_BEGIN, request, start + 20000, 77);
	recording_value(recording, 1, SONDE_EVENT_COUNTER, bytes, start + 21000, 4096);
	recording_value(recording, 1, SONDE_EVENT_GAUGE, depth, start + 22000, 1.5);
	recording_text(recording, 1, SONDE_EVENT_INSTANT, mark, start + 23000, "half " SAMPLE_HOSTILE);
	recording_text(recording, 1, SONDE_EVENT_MESSAGE, 0, start + 24000, "hello");
	recording_span(recording, 2, SONDE_EVENT_SPAN_END, 0, start + 30000, 77);
	recording_span(recording, 2, SONDE_EVENT_SPAN_BEGIN, request, start + 31000,
		       77);                                                      /* the id again; never ended */
	recording_span(recording, 2, SONDE_EVENT_SPAN_END, 0, start + 32000, 5); /* never begun */
}

static void sample_recording(const char *path)
{
	struct recording recording;
	recording_open(&recording, path);
	recording_info(&recording, "run.command", "./app --size 3");
	recording_process(&recording, 100, 0, "app", SAMPLE_START_NS);
	recording_thread(&recording, 1, 100, "app", SAMPLE_START_NS);
	recording_thread(&recording, 1, 101, "work;er\033", SAMPLE_START_NS);
	recording_source(&recording, "cpu", SONDE_SOURCE_ON, "perf events", "", 1000);
	sample_stacks(&recording);
	sample_events(&recording);
	recording_close(&recording, SAMPLE_START_NS + 200000000, 0);
}

#endif
