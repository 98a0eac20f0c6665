/* test_heap.c: live blocks against a model, the order in which threads' events are merged, the content of chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/session.h"
#include "source/heap/chunks.h"
#include "source/heap/forms.h"
#include "source/heap/live.h"
#include "source/heap/merge.h"
#include "trace/writer.h"

/* --- live blocks ------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 33;
}

#define ADDRESSES 5000u

/* Random adding and taking, against an array. */
static void live_is_the_model(void **unused)
{
	(void)unused;
	static struct sonde_heap_block model[ADDRESSES]; /* address 0 = none */
	struct sonde_heap_live live = {0};
	struct sonde_heap_block found;
	uint64_t random = 1, count = 0, total_b = 0;
	for (int round = 0; round < 300000; round++) {
		uint64_t at = next_random(&random) % ADDRESSES, address = 0x7f0000000000 + at * 16;
		struct sonde_heap_block made = {.address = address,
						.born = next_random(&random) << 21,
						.size_b = next_random(&random) % 500,
						.site = (uint32_t)next_random(&random) % 9 + 1};
		int alive = model[at].address != 0, add = !alive || round % 16 == 0;
		memset(&found, 0, sizeof found);
		assert_int_equal(sonde_heap_live_find(&live, address, &found), alive);
		assert_memory_equal(&found, &model[at], sizeof found);
		if (add)
			assert_int_equal(sonde_heap_live_add(&live, &made, &found), alive);
		else
			assert_int_equal(sonde_heap_live_take(&live, address, &found), 1);
		assert_memory_equal(&found, &model[at], sizeof found);
		model[at] = add ? made : (struct sonde_heap_block){0};
		count += (uint64_t)add - (uint64_t)alive;
		assert_int_equal(live.count, count);
		if (!add)
			assert_int_equal(sonde_heap_live_take(&live, address, &found), 0);
	}
	for (size_t at = 0; sonde_heap_live_next(&live, &at, &found); count--)
		total_b += found.size_b;
	for (size_t at = 0; at < ADDRESSES; at++)
		total_b -= model[at].size_b;
	assert_int_equal(total_b, 0);
	assert_int_equal(count, 0);
	sonde_heap_live_fini(&live);
}

/* --- forms ------------------------------------------------------------------------------------------------------- */

/* A form has one number for as long as something of it is alive; others are forgotten, and their rows used again. */
static void forms_are_forgotten(void **unused)
{
	(void)unused;
	struct sonde_heap_forms forms = {0};
	uint32_t kept[100], most = 0;
	for (uint32_t i = 0; i < 100; i++) {
		kept[i] = sonde_heap_forms_id(&forms, i % 7 + 1, i);
		forms.row[kept[i]].live = 1;
	}
	for (uint64_t size_b = 1000; size_b < 2000000; size_b++) {
		uint32_t id = sonde_heap_forms_id(&forms, 3, size_b);
		most = id > most ? id : most;
		assert_int_equal(id, sonde_heap_forms_id(&forms, 3, size_b));
		assert_int_equal(forms.row[id].size_b, size_b);
		if (size_b % 1000 == 0)
			sonde_heap_forms_sweep(&forms);
	}
	assert_true(most < 70000);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(kept[i], sonde_heap_forms_id(&forms, i % 7 + 1, i));
	sonde_heap_forms_fini(&forms);
}

/* --- merging ----------------------------------------------------------------------------------------------------- */

struct seen {
	char text[4096];
	uint64_t alive; /* bit a: block 0x1000 × a */
};

static void on_blocks(void *context, struct sonde_heap_change *changes, size_t count)
{
	struct seen *seen = context;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_heap_change *change = &changes[i];
		size_t used_b = strlen(seen->text);
		uint64_t bit = UINT64_C(1) << (change->address >> 12) % 64; /* hostile words name any */
		snprintf(seen->text + used_b, sizeof seen->text - used_b, "%c%u:%llu@%llu ", "-+"[change->site != 0],
			 change -> thread, (unsigned long long)(change->address >> 12),
			 (unsigned long long)change -> time);
		seen->alive = change->site ? seen->alive | bit : seen->alive & ~bit;
	}
}

static void on_event(void *context, const struct sonde_heap_event *event)
{
	struct seen *seen = context;
	size_t used_b = strlen(seen->text);
	snprintf(seen->text + used_b, sizeof seen->text - used_b, "%c%u:%llu@%llu ", "=MUTG"[event->kind],
		 event -> thread, (unsigned long long)(event->address >> 12), (unsigned long long)event -> ticks);
}

static void on_stack(void *context, uint32_t number, uint8_t status, const uint64_t *pcs, size_t count)
{
	struct seen *seen = context;
	size_t used_b = strlen(seen->text);
	snprintf(seen->text + used_b, sizeof seen->text - used_b, "stack%u/%u:%zu:%llx ", number, status, count,
		 count ? (unsigned long long)pcs[0] : 0);
}

static void on_pool(void *context, uint32_t number, const char *name, size_t name_b)
{
	struct seen *seen = context;
	size_t used_b = strlen(seen->text);
	snprintf(seen->text + used_b, sizeof seen->text - used_b, "pool%u:%.*s ", number, (int)name_b, name);
}

static int is_alive(void *context, uint64_t address)
{
	const struct seen *seen = context;
	return seen->alive >> (address >> 12) % 64 & 1;
}

static uint64_t begins(unsigned block, uint64_t ticks)
{
	return SONDE_HEAP_BEGINS | sonde_heap_block((uint64_t)block << 12, ticks);
}

static uint64_t ends(unsigned block, uint64_t ticks)
{
	return sonde_heap_block((uint64_t)block << 12, ticks);
}

#define TIME(ticks) sonde_heap_op(SONDE_HEAP_TIME), (uint64_t)(ticks) << SONDE_HEAP_TICK_SHIFT | 1
#define WHAT(size, stack) ((uint64_t)(size) << 32 | (stack))
#define ADD(merge, serial, ...)                                                                       \
	assert_int_equal(sonde_heap_merge_add(merge, serial, serial, (const uint64_t[]){__VA_ARGS__}, \
					      sizeof((const uint64_t[]){__VA_ARGS__}) / 8),           \
			 0)

static struct sonde_heap_merge *merge_new(struct seen *seen)
{
	struct sonde_heap_merge *merge;
	struct sonde_heap_sink sink = {seen, on_blocks, on_event, on_stack, on_pool, is_alive};
	assert_int_equal(sonde_heap_merge_new(&merge, &sink), 0);
	return merge;
}

static void threads_come_in_time_order(void **unused)
{
	(void)unused;
	struct seen seen = {0};
	struct sonde_heap_merge *merge = merge_new(&seen);
	ADD(merge, 1, TIME(100), sonde_heap_op(SONDE_HEAP_STACK), UINT64_C(7) << 32 | 2, 0xabc, 0xdef, begins(1, 0),
	    WHAT(10, 7), ends(1, 30));
	ADD(merge, 2, TIME(110), begins(2, 0), WHAT(10, 7), ends(2, 10));
	sonde_heap_merge_run(merge, 115); /* what is later waits */
	assert_string_equal(seen.text, "stack7/0:2:abc +1:1@100 +2:2@110 ");
	sonde_heap_merge_run(merge, 1000);
	assert_string_equal(seen.text, "stack7/0:2:abc +1:1@100 +2:2@110 -2:2@120 -1:1@130 ");
	sonde_heap_merge_free(merge);
}

/* In one tick: a block is freed by one thread and given out to another, and handed over and freed. */
static void equal_times_are_put_in_the_possible_order(void **unused)
{
	(void)unused;
	struct seen seen = {0};
	struct sonde_heap_merge *merge = merge_new(&seen);
	ADD(merge, 1, TIME(5), begins(1, 0), WHAT(8, 1));
	sonde_heap_merge_run(merge, 5);
	ADD(merge, 2, TIME(9), begins(1, 0), WHAT(8, 1)); /* listed first, possible only after the next */
	ADD(merge, 1, ends(1, 4));
	sonde_heap_merge_run(merge, 9);
	assert_string_equal(seen.text, "+1:1@5 -1:1@9 +2:1@9 ");
	ADD(merge, 1, ends(3, 1)); /* of a block that the other thread is given in the same tick */
	ADD(merge, 2, begins(3, 1), WHAT(8, 1));
	sonde_heap_merge_run(merge, 20);
	assert_string_equal(seen.text, "+1:1@5 -1:1@9 +2:1@9 +2:3@10 -1:3@10 ");
	sonde_heap_merge_free(merge);
}

/* A record that is only partly there waits for the remainder; large sizes and failed moves. */
static void records_are_taken_whole(void **unused)
{
	(void)unused;
	struct seen seen = {0};
	struct sonde_heap_merge *merge = merge_new(&seen);
	ADD(merge, 1, TIME(1), begins(1, 0));
	sonde_heap_merge_run(merge, 100);
	assert_string_equal(seen.text, "");
	ADD(merge, 1, WHAT(8, 1), sonde_heap_op(SONDE_HEAP_STACK));
	ADD(merge, 1, UINT64_C(9) << 32 | UINT64_C(2) << 16 | 1);
	ADD(merge, 1, 0x123, ends(1, 2), sonde_heap_op(SONDE_HEAP_KEPT), 0x1000);
	sonde_heap_merge_run(merge, 100);
	assert_string_equal(seen.text, "stack9/2:1:123 +1:1@1 -1:1@3 =1:1@3 ");
	sonde_heap_merge_free(merge);
}

static void mappings_and_pools_have_the_time_before_them(void **unused)
{
	(void)unused;
	struct seen seen = {0};
	struct sonde_heap_merge *merge = merge_new(&seen);
	uint64_t name;
	memcpy(&name, "buffers", 8);
	ADD(merge, 1, TIME(7), sonde_heap_op(SONDE_HEAP_MAP), 0x3000, 0x1000, 1);
	ADD(merge, 1, TIME(8), sonde_heap_op(SONDE_HEAP_UNMAP), 0x3000);
	ADD(merge, 1, 0x1000, TIME(9), sonde_heap_op(SONDE_HEAP_POOL_NAME), UINT64_C(2) << 32 | 7, name);
	ADD(merge, 1, sonde_heap_op(SONDE_HEAP_TAKE), UINT64_C(2) << 32 | 1, 0x4000, 1, TIME(10));
	ADD(merge, 1, sonde_heap_op(SONDE_HEAP_GIVE), 2, 0x4000);
	sonde_heap_merge_run(merge, 100);
	assert_string_equal(seen.text, "M1:3@7 U1:3@8 pool2:buffers T1:4@9 G1:4@10 ");
	sonde_heap_merge_free(merge);
}

/* Impossible times, in one step or in many, delay nothing, and the queue of their thread stays in order. */
static void the_future_does_not_hold_up(void **unused)
{
	(void)unused;
	struct seen seen = {0};
	struct sonde_heap_merge *merge = merge_new(&seen);
	sonde_heap_merge_latest(merge, 1000);
	ADD(merge, 1, TIME(UINT64_C(1) << 58), begins(1, 0), WHAT(8, 1), ends(1, 5), begins(2, 400000), WHAT(8, 1));
	ADD(merge, 2, TIME(990), begins(3, 0), WHAT(8, 1), sonde_heap_op(SONDE_HEAP_UNMAP), 0x4000, 0x1000);
	sonde_heap_merge_run(merge, 999);
	assert_string_equal(seen.text, "+2:3@990 U2:4@990 ");
	sonde_heap_merge_run(merge, 1000);
	assert_string_equal(seen.text, "+2:3@990 U2:4@990 +1:1@1000 -1:1@1000 +1:2@1000 ");
	sonde_heap_merge_latest(merge, 2000);
	ADD(merge, 1, TIME(UINT64_C(1) << 58), sonde_heap_op(SONDE_HEAP_UNMAP), 0x5000, 0x1000, TIME(1500), ends(2, 1));
	sonde_heap_merge_run(merge, 2000);
	assert_string_equal(strstr(seen.text, "+1:2@1000 ") + 10, "U1:5@2000 -1:2@1501 ");
	sonde_heap_merge_free(merge);
}

/* The number of waiting records is bounded: beyond the limit, records are handed out early, and still in order. */
static void too_much_does_not_wait(void **unused)
{
	(void)unused;
	struct seen seen = {0};
	struct sonde_heap_merge *merge = merge_new(&seen);
	sonde_heap_merge_most(merge, 9);
	ADD(merge, 1, TIME(10), begins(1, 0), WHAT(8, 1), ends(1, 50));
	ADD(merge, 2, TIME(20), begins(2, 0), WHAT(8, 1));
	sonde_heap_merge_run(merge, 5);
	assert_string_equal(seen.text, "");
	assert_int_equal(sonde_heap_merge_forced(merge), 0);
	ADD(merge, 2, begins(3, 5), WHAT(8, 1), begins(4, 0), WHAT(8, 1), ends(4, 0), begins(5, 0));
	assert_string_equal(seen.text, "+1:1@10 +2:2@20 +2:3@25 +2:4@25 -2:4@25 -1:1@60 ");
	assert_int_equal(sonde_heap_merge_forced(merge), 1);
	ADD(merge, 2, WHAT(8, 1));
	sonde_heap_merge_run(merge, 25);
	assert_string_equal(seen.text, "+1:1@10 +2:2@20 +2:3@25 +2:4@25 -2:4@25 -1:1@60 +2:5@25 ");
	assert_int_equal(sonde_heap_merge_forced(merge), 1);
	sonde_heap_merge_free(merge);
}

/* Any words at all: nothing is read beyond them. */
static void hostile_words_end(void **unused)
{
	(void)unused;
	uint64_t random = 3, words[64];
	for (int round = 0; round < 2000; round++) {
		struct seen seen = {0};
		struct sonde_heap_merge *merge = merge_new(&seen);
		for (uint32_t serial = 1; serial < 4; serial++) {
			for (size_t i = 0; i < 64; i++)
				words[i] =
				    next_random(&random) % 3 ? next_random(&random) << 44 | 1 : next_random(&random);
			if (round % 2)
				sonde_heap_merge_latest(merge, 1000u + serial);
			assert_int_equal(sonde_heap_merge_add(merge, serial, serial, words, 64), 0);
		}
		seen.text[sizeof seen.text - 1] = '\0';
		memset(seen.text, 'x', sizeof seen.text - 1);
		sonde_heap_merge_run(merge, UINT64_MAX - 1);
		sonde_heap_merge_free(merge);
	}
}

/* --- chunks, read again ------------------------------------------------------------------------------------------ */

static uint32_t site(struct sonde_recorder *recorder, uint32_t heap, uint32_t thread)
{
	struct sonde_recorder_heap_site row = {heap, thread, 0, SONDE_STACK_COMPLETE};
	uint32_t id = sonde_recorder_heap_site(recorder, &row);
	assert_int_equal(id, sonde_recorder_heap_site(recorder, &row));
	return id;
}

/* Two sites; the peak lies in the second of three chunks. */
static void write_recording(const char *path, struct sonde_recorder **recorder, struct sonde_writer **writer)
{
	struct sonde_record_options options = {.output = path};
	struct sonde_heap_chunks *chunks;
	assert_int_equal(sonde_writer_open(writer, path, &(struct sonde_writer_options){.overwrite = 1}), 0);
	assert_int_equal(sonde_recorder_new(recorder, *writer, &options), 0);
	uint32_t process = sonde_recorder_process(*recorder, getpid(), 1000);
	uint32_t thread = sonde_recorder_thread(*recorder, getpid(), getpid(), 1000);
	uint32_t heap = sonde_recorder_heap(*recorder, process, SONDE_HEAP_MALLOC, NULL);
	uint32_t first = site(*recorder, heap, thread), second = site(*recorder, heap, thread + 1);
	assert_int_not_equal(first, second);
	assert_int_equal(sonde_heap_chunks_new(&chunks, *recorder, process, heap, 0), 0);
	sonde_heap_chunks_begins(chunks, 1000, thread, 0x10, 100, first);
	sonde_heap_chunks_begins(chunks, 1100, thread, 0x20, 200, second);
	sonde_heap_chunks_flush(chunks);
	sonde_heap_chunks_begins(chunks, 1200, thread, 0x30, 1000, first); /* the peak: 1300 */
	sonde_heap_chunks_ends(chunks, 3248, thread, 0x30);                /* lived 2048 ns, and nothing came between */
	sonde_heap_chunks_ends(chunks, 3300, thread, 0x20);
	sonde_heap_chunks_ends(chunks, 3300, thread, 0x99); /* not ours */
	sonde_heap_chunks_flush(chunks);
	sonde_heap_chunks_begins(chunks, 4000, thread, 0x40, 50, second);
	sonde_heap_chunks_ends(chunks, 4100, thread, 0x10);
	sonde_heap_chunks_kept(chunks, 4100, thread, 0x10);
	sonde_heap_chunks_close(chunks);
	sonde_heap_chunks_free(chunks);
}

static void sums_are_those_of_the_events(void **unused)
{
	(void)unused;
	char path[] = "/tmp/sonde-heap-XXXXXX";
	struct sonde_recorder *recorder;
	struct sonde_writer *writer;
	struct sonde_session *session;
	struct sonde_heap_sums sums;
	close(mkstemp(path));
	write_recording(path, &recorder, &writer);
	assert_int_equal(sonde_recorder_close(recorder, 0, 5000), 0);
	assert_int_equal(sonde_writer_close(writer), 0);
	sonde_recorder_free(recorder);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	unlink(path);
	assert_int_equal(sonde_session_heap_site_count(session), 2);
	assert_int_equal(sonde_session_heap_sums(session, &sums), 0);
	const struct sonde_heap_sum *first = &sums.sites[1], *second = &sums.sites[2];
	assert_int_equal(first->begins, 3); /* the one that was kept began again */
	assert_int_equal(first->begun_b, 1200);
	assert_int_equal(first->ends, 2);
	assert_int_equal(first->temporary, 1);
	assert_int_equal(first->peak_b, 1100);
	assert_int_equal(first->peak_blocks, 2);
	assert_int_equal(second->peak_b, 200);
	assert_int_equal(second->begun_b - second->ended_b, 50);
	assert_int_equal(sonde_session_heap_count(session), 1);
	assert_int_equal(sonde_session_heap(session, 1)->kind, SONDE_HEAP_MALLOC);
	const struct sonde_heap_total *total = &sums.heaps[1];
	assert_int_equal(total->peak_b, 1300);
	assert_int_equal(total->peak_blocks, 3);
	assert_int_equal(total->peak_ns, 1200);
	assert_int_equal(total->unknown, 1);
	assert_int_equal(total->life_classes[11], 3); /* 2048, 2200, 3100 ns */
	assert_int_equal(total->size_classes[6], 2);  /* 64 … 127: 100 twice */
	assert_int_equal(sonde_session_heap_remainder_count(session), 2);
	assert_int_equal(
	    sonde_session_heap_remainder(session, 0)->size_b + sonde_session_heap_remainder(session, 1)->size_b, 150);
	sonde_heap_sums_free(&sums);
	static const uint64_t moments[][3] = {/* time, then what both sites held */
					      {999, 0, 0},    {1000, 100, 0},  {1100, 100, 200}, {1200, 1100, 200},
					      {3300, 100, 0}, {4000, 100, 50}, {9999, 100, 50}};
	for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
		struct sonde_heap_alive alive[3] = {0};
		assert_int_equal(sonde_session_heap_alive(session, moments[i][0], alive), 0);
		assert_int_equal(alive[1].size_b, moments[i][1]);
		assert_int_equal(alive[2].size_b, moments[i][2]);
	}
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(live_is_the_model),
	    cmocka_unit_test(forms_are_forgotten),
	    cmocka_unit_test(threads_come_in_time_order),
	    cmocka_unit_test(equal_times_are_put_in_the_possible_order),
	    cmocka_unit_test(records_are_taken_whole),
	    cmocka_unit_test(mappings_and_pools_have_the_time_before_them),
	    cmocka_unit_test(the_future_does_not_hold_up),
	    cmocka_unit_test(too_much_does_not_wait),
	    cmocka_unit_test(hostile_words_end),
	    cmocka_unit_test(sums_are_those_of_the_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
