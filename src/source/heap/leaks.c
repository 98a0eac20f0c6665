/* leaks.c: scans a waiting process (heap/scan.h), and sums the results by site. */
#include "source/heap/leaks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fold/heap_worth.h"
#include "source/heap/memory.h"
#include "source/heap/roots.h"
#include "source/heap/scan.h"
#include "source/resource/proc_stat.h"
#include "source/record/snapshots.h"
#include "source/target/channel.h"
#include "util/error.h"

#define SPARE_NS UINT64_C(1000000000) /* margin before the time at which the process gives up waiting */
#define WAIT_NS (SONDE_LINK_SCAN_S * UINT64_C(1000000000))
#define TEXT_MAX_B 65536u
#define READ_B_MS UINT64_C(1000000) /* bytes of another process's memory read and scanned in a millisecond */
#define ALWAYS_MS 32u               /* scan time that is always acceptable */
#define SHARE 200u                  /* 1/SHARE of the CPU time used by the process: 0.5 % */
#define INFO_SUPPRESSIONS "heap.suppressions"

enum { LOST, LOST_BY, REACHED, STATES };

struct sum {
	uint64_t blocks[STATES], size_b[STATES]; /* by enum sonde_heap_state */
	double variance[STATES];
};

/* --- scanning ---------------------------------------------------------------------------------------------------- */

static int is_loaders(const struct sonde_heap_leaks *leaks, uint32_t site)
{
	for (size_t i = 0; i < leaks->loader_site_count; i++)
		if (leaks->loader_sites[i] == site)
			return 1;
	return 0;
}

static int mark_loaders(const struct sonde_heap_leaks *leaks, struct sonde_heap_scan *scan)
{
	int code = 0;
	for (size_t i = 0; !code && leaks->loader_site_count && i < sonde_heap_scan_count(scan); i++)
		if (is_loaders(leaks, (uint32_t)sonde_heap_scan_block(scan, i)->site))
			code = sonde_heap_scan_mark(scan, i);
	return code;
}

static int look(const struct sonde_heap_leaks *leaks, const struct sonde_heap_reader *reader,
		struct sonde_heap_scan *scan)
{
	const struct sonde_link_scan *question = leaks->question;
	struct sonde_heap_areas map;
	struct sonde_heap_roots roots = {
	    .map = &map,
	    .reader = reader,
	    .threads = leaks->threads,
	    .mappings = leaks->mappings,
	    .stack = question->stack,
	    .thread_pointer = question->thread_pointer,
	    .all = sonde_heap_chunks_mean_b(leaks->chunks) || question->flags & SONDE_LINK_SCAN_INHERITS,
	};
	int code = sonde_heap_areas_read(&map, leaks->pid);
	code = code ? code : sonde_heap_scan_words(scan, question->registers, SONDE_LINK_REGISTERS);
	code = code ? code : sonde_heap_roots_scan(&roots, scan);
	code = code ? code : mark_loaders(leaks, scan);
	code = code ? code : sonde_heap_scan_finish(scan);
	sonde_heap_areas_free(&map);
	return code;
}

/* --- reporting --------------------------------------------------------------------------------------------------- */

/* Writes why the result is inexact; "" = it is exact. */
static void write_detail(const struct sonde_heap_leaks *leaks, char *out, size_t out_b)
{
	size_t running = leaks->threads->running;
	*out = '\0';
	if (leaks->question->flags & SONDE_LINK_SCAN_INHERITS)
		snprintf(out, out_b,
			 "a forked child: memory inherited from its parent counts as pointing to its blocks");
	else if (running)
		snprintf(out, out_b, "%zu thread%s could not be stopped: pointers in registers may be missed", running,
			 running == 1 ? "" : "s");
}

static void add_up(const struct sonde_heap_leaks *leaks, const struct sonde_heap_scan *scan, struct sum *sums,
		   uint32_t first)
{
	uint64_t mean_b = sonde_heap_chunks_mean_b(leaks->chunks);
	for (size_t i = 0; i < sonde_heap_scan_count(scan); i++) {
		const struct sonde_heap_found *block = sonde_heap_scan_block(scan, i);
		struct sonde_heap_worth worth = sonde_heap_worth(block->size_b, mean_b);
		struct sum *sum = &sums[block->site - first];
		enum sonde_heap_state state = sonde_heap_scan_state(scan, i);
		sum->blocks[state] += worth.blocks;
		sum->size_b[state] += worth.size_b;
		sum->variance[state] += worth.variance;
	}
}

static void record_site(const struct sonde_heap_leaks *leaks, uint32_t site, struct sum *sum, uint32_t detail)
{
	static const struct {
		enum sonde_heap_leak kind;
		unsigned state;
	} kinds[] = {{SONDE_HEAP_UNREACHABLE, LOST}, {SONDE_HEAP_INDIRECT, LOST_BY}, {SONDE_HEAP_REACHABLE, REACHED}};
	sum->blocks[LOST] += sum->blocks[LOST_BY];
	sum->size_b[LOST] += sum->size_b[LOST_BY];
	sum->variance[LOST] += sum->variance[LOST_BY];
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		sonde_recorder_heap_leak(leaks->recorder,
					 &(struct sonde_meta_heap_leak){.site = site,
									.kind = kinds[i].kind,
									.blocks = sum->blocks[kinds[i].state],
									.size_b = sum->size_b[kinds[i].state],
									.detail = detail,
									.variance = sum->variance[kinds[i].state]});
}

static int record(const struct sonde_heap_leaks *leaks, const struct sonde_heap_scan *scan)
{
	char detail[160];
	uint32_t first = UINT32_MAX, last = 0;
	for (size_t i = 0; i < sonde_heap_scan_count(scan); i++) {
		uint32_t site = (uint32_t)sonde_heap_scan_block(scan, i)->site;
		first = site < first ? site : first;
		last = site > last ? site : last;
	}
	if (first > last)
		return 0;
	struct sum *sums = calloc((size_t)(last - first) + 1, sizeof *sums);
	if (!sums)
		return sonde_error(ENOMEM, "no memory for the blocks of %u call sites", last - first + 1);
	write_detail(leaks, detail, sizeof detail);
	add_up(leaks, scan, sums, first);
	uint32_t text = *detail ? sonde_recorder_text(leaks->recorder, detail) : 0;
	for (uint32_t site = first; site <= last; site++)
		record_site(leaks, site, &sums[site - first], text);
	free(sums);
	return 0;
}

/* Records the program's LeakSanitizer suppressions. */
static void record_suppressions(const struct sonde_heap_leaks *leaks, struct sonde_heap_memory *memory)
{
	uint64_t at = leaks->question->suppressions;
	char *text = at ? malloc(TEXT_MAX_B) : NULL;
	if (!text)
		return;
	struct sonde_heap_extent piece = {at, at + TEXT_MAX_B - 1};
	if (at < UINT64_C(1) << 47 && !sonde_heap_memory_read(memory, &piece, 1, text)) {
		text[TEXT_MAX_B - 1] = '\0';
		if (*text)
			sonde_recorder_info(leaks->recorder, INFO_SUPPRESSIONS, text);
	}
	free(text);
}

/* True if a scan would cost too much. Recording of sampled blocks must be nearly free, but pointers to the few known
 * blocks may be anywhere in the memory of the process, so a scan must read all of it. */
static int is_dear(const struct sonde_heap_leaks *leaks, char *why, size_t why_b)
{
	struct sonde_proc_stat used;
	uint64_t size_b = sonde_snapshots_resident_b(leaks->pid), price_ms = size_b / READ_B_MS;
	if (!sonde_heap_chunks_mean_b(leaks->chunks) || price_ms <= ALWAYS_MS ||
	    sonde_proc_stat_read(&used, leaks->pid, 0) ||
	    price_ms * 1000000u <= (used.user_ns + used.system_ns) / SHARE)
		return 0;
	snprintf(why, why_b,
		 "not scanned: reading %llu MB would have cost over 0.5 %% of its CPU time; --heap=full always scans",
		 (unsigned long long)(size_b / 1000000u));
	return 1;
}

/* The time by which the answer must be sent. */
static uint64_t deadline_of(const struct sonde_link_scan *question)
{
	uint64_t now_ns = sonde_clock_now_ns();
	return (question->requested_ns < now_ns ? question->requested_ns : now_ns) + WAIT_NS - SPARE_NS;
}

int sonde_heap_leaks_record(const struct sonde_heap_leaks *leaks)
{
	struct sonde_heap_memory memory;
	struct sonde_heap_reader reader = {&memory, sonde_heap_memory_read, sonde_heap_memory_present};
	struct sonde_heap_scan *scan = NULL;
	char why[200];
	uint64_t blocks, heap_b;
	if (sonde_heap_chunks_error(leaks->chunks)) { /* ended blocks would appear alive */
		sonde_heap_chunks_looked(leaks->chunks, "the recorder had no memory for its blocks");
		return 0;
	}
	if (is_dear(leaks, why, sizeof why)) {
		sonde_heap_chunks_looked(leaks->chunks, why);
		return 0;
	}
	sonde_heap_chunks_alive(leaks->chunks, &blocks, &heap_b);
	sonde_heap_memory_open(&memory, leaks->pid, heap_b + 16 * blocks, deadline_of(leaks->question));
	int code = sonde_heap_scan_new(&scan, sonde_heap_chunks_live(leaks->chunks), &reader);
	code = code ? code : look(leaks, &reader, scan);
	sonde_heap_freeze_check(leaks->threads);
	record_suppressions(leaks, &memory);
	sonde_heap_memory_close(&memory);
	if (!code && !sonde_channel_is_waiting(leaks->asker)) /* the process went on, and changed memory */
		code = -EPIPE;
	code = code ? code : record(leaks, scan);
	if (code == -EPIPE)
		snprintf(why, sizeof why, SONDE_HEAP_SILENT);
	else if (code == -ETIMEDOUT)
		snprintf(why, sizeof why, "the scan for pointers took longer than %u s",
			 (unsigned)((WAIT_NS - SPARE_NS) / 1000000000u));
	else
		snprintf(why, sizeof why, "its memory could not be read: %s", strerror(-code));
	sonde_heap_chunks_looked(leaks->chunks, code ? why : NULL);
	sonde_heap_scan_free(scan);
	return code;
}
