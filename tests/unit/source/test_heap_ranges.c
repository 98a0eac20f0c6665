/* test_heap_ranges.c: mapped ranges against a model, page by page; the heap blocks that mappings become. */
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

#include "format/heap.h"
#include "format/ring.h"
#include "session/session.h"
#include "source/heap/mappings.h"
#include "source/heap/process.h"
#include "source/heap/ranges.h"
#include "trace/writer.h"

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 33;
}

/* --- ranges ------------------------------------------------------------------------------------------------------ */

#define PAGES 400u

static void ranges_are(const struct sonde_heap_ranges *ranges, const int *model)
{
	for (size_t i = 0; i < ranges->count; i++) {
		const struct sonde_heap_piece *piece = &ranges->pieces[i];
		assert_true(piece->start < piece->end);
		assert_true(!i || ranges->pieces[i - 1].end <= piece->start);
		assert_false(i && !piece->site && !ranges->pieces[i - 1].site &&
			     ranges->pieces[i - 1].end == piece->start); /* reserved ones are one */
	}
	for (uint64_t page = 1; page < PAGES; page++) {
		const struct sonde_heap_piece *piece = sonde_heap_ranges_find(ranges, page, page + 1);
		assert_int_equal(piece ? (int)piece->site : -1, model[page]);
	}
}

/* Random cutting and putting, against an array of pages: −1 = nothing there, 0 = reserved. */
static void ranges_are_the_model(void **unused)
{
	(void)unused;
	static int model[PAGES];
	struct sonde_heap_ranges ranges = {0};
	struct sonde_heap_cut cut;
	uint64_t random = 7;
	memset(model, -1, sizeof model);
	for (uint32_t round = 0; round < 20000; round++) {
		uint64_t start = 1 + next_random(&random) % (PAGES - 1), end = start + 1 + next_random(&random) % 40;
		int site = (int)(next_random(&random) % 4) - 1;
		end = end < PAGES ? end : PAGES;
		uint64_t removed = 0, there = 0;
		for (uint64_t page = start; page < end; page++)
			there += model[page] >= 0;
		while (sonde_heap_ranges_cut(&ranges, start, end, &cut)) {
			assert_true(cut.start >= start && cut.end <= end && cut.start < cut.end);
			assert_true(cut.whole.start <= cut.start && cut.whole.end >= cut.end);
			for (uint64_t page = cut.start; page < cut.end; page++)
				assert_int_equal(model[page], cut.whole.site);
			removed += cut.end - cut.start;
		}
		assert_int_equal(removed, there);
		if (site >= 0)
			assert_int_equal(
			    sonde_heap_ranges_put(&ranges, &(struct sonde_heap_piece){start, end, (uint32_t)site}), 0);
		for (uint64_t page = start; page < end; page++)
			model[page] = site;
		if (round % 16 == 0)
			ranges_are(&ranges, model);
	}
	sonde_heap_ranges_fini(&ranges);
}

static void ranges_have_a_most(void **unused)
{
	(void)unused;
	struct sonde_heap_ranges ranges = {0};
	struct sonde_heap_cut cut;
	for (uint64_t i = 1; i < SONDE_HEAP_RANGES_MAX; i++)
		assert_int_equal(sonde_heap_ranges_put(&ranges, &(struct sonde_heap_piece){8 * i, 8 * i + 4, 1}), 0);
	struct sonde_heap_piece last = {8, 12, 1}, wide = {8 * (uint64_t)SONDE_HEAP_RANGES_MAX,
							   8 * (uint64_t)SONDE_HEAP_RANGES_MAX + 8, 1};
	assert_int_equal(sonde_heap_ranges_put(&ranges, &wide), 0);
	assert_int_equal(sonde_heap_ranges_cut(&ranges, 8, 12, &cut), 1);
	assert_int_equal(sonde_heap_ranges_put(&ranges, &last), 0);
	assert_int_equal(sonde_heap_ranges_put(&ranges, &(struct sonde_heap_piece){1, 2, 1}), -E2BIG);
	/* no room for both sides: all of it goes */
	assert_int_equal(sonde_heap_ranges_cut(&ranges, wide.start + 2, wide.start + 3, &cut), 1);
	assert_int_equal(cut.start, wide.start);
	assert_int_equal(cut.end, wide.end);
	assert_null(sonde_heap_ranges_find(&ranges, wide.start, wide.end));
	sonde_heap_ranges_fini(&ranges);
}

/* --- mappings ---------------------------------------------------------------------------------------------------- */

struct heap {
	char path[32];
	struct sonde_writer *writer;
	struct sonde_recorder *recorder;
	struct sonde_heap_chunks *chunks;
	struct sonde_heap_mappings *mappings;
	uint32_t thread, sites[3];
	uint64_t now_ns;
};

static void heap_open(struct heap *heap)
{
	static const struct sonde_record_options options;
	*heap = (struct heap){.path = "/tmp/sonde-maps-XXXXXX", .now_ns = 1000};
	close(mkstemp(heap->path));
	assert_int_equal(sonde_writer_open(&heap->writer, heap->path, &(struct sonde_writer_options){.overwrite = 1}),
			 0);
	assert_int_equal(sonde_recorder_new(&heap->recorder, heap->writer, &options), 0);
	uint32_t process = sonde_recorder_process(heap->recorder, getpid(), 1000);
	heap->thread = sonde_recorder_thread(heap->recorder, getpid(), getpid(), 1000);
	uint32_t id = sonde_recorder_heap(heap->recorder, process, SONDE_HEAP_MAPPING, NULL);
	for (uint32_t i = 0; i < 3; i++)
		heap->sites[i] = sonde_recorder_heap_site(
		    heap->recorder, &(struct sonde_recorder_heap_site){id, heap->thread + i, 0, SONDE_STACK_COMPLETE});
	assert_int_equal(sonde_heap_chunks_new(&heap->chunks, heap->recorder, process, id, 0), 0);
	assert_int_equal(sonde_heap_mappings_new(&heap->mappings, heap->chunks), 0);
}

static void map(struct heap *heap, enum sonde_heap_map what, uint32_t site, uint64_t address, uint64_t size_b)
{
	struct sonde_heap_mapping mapping = {heap->now_ns += 10, heap->thread, heap->sites[site], address, size_b};
	sonde_heap_mappings_map(heap->mappings, &mapping, what);
}

static void unmap(struct heap *heap, uint64_t address, uint64_t size_b)
{
	struct sonde_heap_mapping mapping = {heap->now_ns += 10, heap->thread, 0, address, size_b};
	sonde_heap_mappings_unmap(heap->mappings, &mapping);
}

/* Closes and reads what was written. */
static struct sonde_session *heap_close(struct heap *heap, struct sonde_heap_sums *sums)
{
	struct sonde_session *session;
	assert_int_equal(sonde_heap_mappings_lost(heap->mappings), 0);
	sonde_heap_mappings_free(heap->mappings);
	sonde_heap_chunks_close(heap->chunks);
	sonde_heap_chunks_free(heap->chunks);
	assert_int_equal(sonde_recorder_close(heap->recorder, 0, 100000), 0);
	assert_int_equal(sonde_writer_close(heap->writer), 0);
	sonde_recorder_free(heap->recorder);
	assert_int_equal(sonde_session_open(&session, heap->path, NULL), 0);
	unlink(heap->path);
	assert_int_equal(sonde_session_heap_sums(session, sums), 0);
	return session;
}

static void site_is(const struct sonde_heap_sum *site, uint64_t begins, uint64_t begun_b, uint64_t ends,
		    uint64_t ended_b)
{
	assert_int_equal(site->begins, begins);
	assert_int_equal(site->begun_b, begun_b);
	assert_int_equal(site->ends, ends);
	assert_int_equal(site->ended_b, ended_b);
}

static void parts_end_and_the_rest_stays(void **unused)
{
	(void)unused;
	struct heap heap;
	struct sonde_heap_sums sums;
	heap_open(&heap);
	map(&heap, SONDE_HEAP_MAP_MEMORY, 0, 0x10000, 0x8000);
	unmap(&heap, 0x12000, 0x1000); /* the middle: two are left */
	unmap(&heap, 0x10000, 0x1000); /* the beginning of the first */
	map(&heap, SONDE_HEAP_MAP_MEMORY, 1, 0x20000, 0x4000);
	unmap(&heap, 0x17000, 0xb000); /* the end of the second, and half of the next */
	struct sonde_session *session = heap_close(&heap, &sums);
	site_is(&sums.sites[1], 1 + 2 + 1 + 1, 0x8000, 3, 0x3000);
	site_is(&sums.sites[2], 1 + 1, 0x4000, 1, 0x2000);
	assert_int_equal(sums.heaps[1].peak_b, 0x6000 + 0x4000);
	assert_int_equal(sums.heaps[1].unknown, 0);
	sonde_heap_sums_free(&sums);
	sonde_session_close(session);
}

static void what_is_mapped_over_ends(void **unused)
{
	(void)unused;
	struct heap heap;
	struct sonde_heap_sums sums;
	heap_open(&heap);
	map(&heap, SONDE_HEAP_MAP_MEMORY, 0, 0x10000, 0x4000);
	map(&heap, SONDE_HEAP_MAP_MEMORY, 1, 0x12000, 0x4000); /* its end was not seen */
	map(&heap, SONDE_HEAP_MAP_RESERVED, 2, 0x15000, 0x1000);
	unmap(&heap, 0x40000, 0x1000); /* not ours */
	struct sonde_session *session = heap_close(&heap, &sums);
	site_is(&sums.sites[1], 2, 0x4000, 1, 0x2000);
	site_is(&sums.sites[2], 2, 0x4000, 1, 0x1000);
	site_is(&sums.sites[3], 0, 0, 0, 0);
	assert_int_equal(sums.heaps[1].peak_b, 0x6000);
	sonde_heap_sums_free(&sums);
	sonde_session_close(session);
}

static void what_was_not_unmapped_comes_back(void **unused)
{
	(void)unused;
	struct heap heap;
	struct sonde_heap_sums sums;
	heap_open(&heap);
	map(&heap, SONDE_HEAP_MAP_MEMORY, 0, 0x10000, 0x4000);
	unmap(&heap, 0x11000, 0x1000);
	map(&heap, SONDE_HEAP_MAP_KEPT, 2, 0x11000, 0x1000);
	map(&heap, SONDE_HEAP_MAP_KEPT, 2, 0x11000, 0x1000); /* once is enough */
	unmap(&heap, 0x10000, 0x4000);                       /* three pieces */
	map(&heap, SONDE_HEAP_MAP_MOVED, 1, 0x50000, 0x9000);
	unmap(&heap, 0x90000, 0x1000); /* not ours, and so is where it goes */
	map(&heap, SONDE_HEAP_MAP_MOVED, 1, 0xa0000, 0x1000);
	struct sonde_session *session = heap_close(&heap, &sums);
	assert_int_equal(sums.sites[1].begun_b - sums.sites[1].ended_b, 0);
	assert_int_equal(sums.sites[1].begins - sums.sites[1].ends, 0);
	assert_int_equal(sums.sites[1].begun_b, 0x5000);
	site_is(&sums.sites[2], 1, 0x9000, 0, 0);
	site_is(&sums.sites[3], 0, 0, 0, 0);
	sonde_heap_sums_free(&sums);
	sonde_session_close(session);
}

static void reserved_ranges_are_memory_once_opened(void **unused)
{
	(void)unused;
	struct heap heap;
	struct sonde_heap_sums sums;
	heap_open(&heap);
	map(&heap, SONDE_HEAP_MAP_RESERVED, 0, 0x10000, 0x10000);
	map(&heap, SONDE_HEAP_MAP_OPENED, 1, 0x12000, 0x2000);
	map(&heap, SONDE_HEAP_MAP_OPENED, 1, 0x11000, 0x4000); /* two pieces more */
	map(&heap, SONDE_HEAP_MAP_OPENED, 2, 0x30000, 0x4000); /* not ours */
	map(&heap, SONDE_HEAP_MAP_CLOSED, 0, 0x13000, 0x2000);
	unmap(&heap, 0x10000, 0x3000);
	map(&heap, SONDE_HEAP_MAP_MOVED, 2, 0x40000, 0x3000); /* some of it was memory */
	unmap(&heap, 0x13000, 0x1000);
	map(&heap, SONDE_HEAP_MAP_MOVED, 2, 0x50000, 0x1000); /* none of it was */
	map(&heap, SONDE_HEAP_MAP_OPENED, 2, 0x50000, 0x1000);
	struct sonde_session *session = heap_close(&heap, &sums);
	assert_int_equal(sums.heaps[1].peak_b, 0x4000);
	assert_int_equal(sums.sites[2].begun_b, 0x4000);
	assert_int_equal(sums.sites[2].ended_b, 0x4000);
	assert_int_equal(sums.sites[2].begins, sums.sites[2].ends);
	site_is(&sums.sites[3], 2, 0x4000, 0, 0);
	sonde_heap_sums_free(&sums);
	sonde_session_close(session);
}

/* Random input: the blocks that have begun and not ended are those in the ranges. */
static void any_records_end(void **unused)
{
	(void)unused;
	struct heap heap;
	struct sonde_heap_sums sums;
	uint64_t random = 11;
	heap_open(&heap);
	for (int i = 0; i < 50000; i++) {
		uint64_t address = next_random(&random) % 0x400 * 0x100, size_b = next_random(&random) % 0x4000;
		uint32_t thread = heap.thread;
		heap.thread += (uint32_t)(next_random(&random) % 3);
		if (next_random(&random) % 64 == 0)
			size_b = UINT64_MAX - next_random(&random) % 3;
		if (next_random(&random) % 3)
			map(&heap, (enum sonde_heap_map)(next_random(&random) % 8), 0, address, size_b);
		else
			unmap(&heap, address, size_b);
		heap.thread = thread;
	}
	unmap(&heap, 1, UINT64_MAX - 2);
	struct sonde_session *session = heap_close(&heap, &sums);
	assert_int_equal(sums.sites[1].begins, sums.sites[1].ends);
	assert_int_equal(sums.sites[1].begun_b, sums.sites[1].ended_b);
	assert_int_equal(sums.heaps[1].unknown, 0);
	sonde_heap_sums_free(&sums);
	sonde_session_close(session);
}

/* Any words of mappings and pools, of several threads: nothing is believed of them. */
static void any_words_end(void **unused)
{
	(void)unused;
	struct heap heap;
	struct sonde_heap_sums sums;
	struct sonde_heap_process *process;
	uint64_t random = 13, words[64];
	heap_open(&heap);
	const struct sonde_heap_process_options options = {
	    .recorder = heap.recorder, .pid = getpid(), .clock = SONDE_RING_CLOCK_NS};
	assert_int_equal(sonde_heap_process_new(&process, &options), 0);
	for (int round = 0; round < 3000; round++) {
		for (size_t i = 0; i < 64; i++) {
			uint64_t kind = next_random(&random) % 8, value = next_random(&random);
			words[i] = kind < 3   ? sonde_heap_op((enum sonde_heap_op)(value % 12))
				   : kind < 5 ? (value % 64) << 12 | 1
				   : kind < 6 ? (value % 8) << 32 | value % 300
				   : kind < 7 ? (value % 8) << SONDE_HEAP_MAP_SHIFT | (value >> 8) % 0x8000
					      : value * value;
		}
		sonde_heap_process_add(process, 1 + next_random(&random) % 3, heap.thread, words, 64);
		sonde_heap_process_run(process, 0, (uint64_t)round << 12);
	}
	sonde_heap_process_end(process);
	sonde_session_close(heap_close(&heap, &sums));
	sonde_heap_sums_free(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ranges_are_the_model),
	    cmocka_unit_test(ranges_have_a_most),
	    cmocka_unit_test(parts_end_and_the_rest_stays),
	    cmocka_unit_test(what_is_mapped_over_ends),
	    cmocka_unit_test(what_was_not_unmapped_comes_back),
	    cmocka_unit_test(reserved_ranges_are_memory_once_opened),
	    cmocka_unit_test(any_records_end),
	    cmocka_unit_test(any_words_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
