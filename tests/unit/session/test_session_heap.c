/* test_session_heap.c: the allocations of a recording that is truncated anywhere or damaged: exactly the first
 * events of the whole one, never more. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "recording.h"
#include "session/session.h"

#define STEPS 150
#define ALIVE 10 /* a block is freed this many steps after its allocation */
#define HEAPS 2  /* malloc's with two sites, a pool with one */
#define EVENTS_MAX (2 * STEPS)

static char path[64];

/* What is known of a heap after each of its events. */
struct state {
	uint64_t begins, begun_b, ends, ended_b, peak_b, peak_blocks;
};

static struct {
	struct state after[EVENTS_MAX + 1];
	size_t count;
} known[HEAPS + 1];

static void know(uint32_t heap, uint64_t size_b, int ends)
{
	struct state state = known[heap].after[known[heap].count];
	state.begins += !ends;
	state.begun_b += ends ? 0 : size_b;
	state.ends += ends != 0;
	state.ended_b += ends ? size_b : 0;
	if (state.begun_b - state.ended_b > state.peak_b) {
		state.peak_b = state.begun_b - state.ended_b;
		state.peak_blocks = state.begins - state.ends;
	}
	known[heap].after[++known[heap].count] = state;
}

/* Step i begins a block in a site, and ends the block that began ALIVE steps before. */
static void make(void)
{
	static const char *const functions[] = {"first", "second", "pooled"};
	struct recording recording;
	size_t blocks[STEPS];
	uint64_t sizes[STEPS];
	memset(known, 0, sizeof known);
	recording_open(&recording, path);
	recording.chunk_rows = 16;
	uint32_t process = recording_process(&recording, 1, 0, "p", 0);
	uint32_t thread = recording_thread(&recording, process, 1, "t", 0);
	recording_module(&recording, "/m", 0);
	uint32_t heap = recording_heap(&recording, process, SONDE_HEAP_MALLOC, NULL);
	uint32_t pool = recording_heap(&recording, process, SONDE_HEAP_POOL, "pool");
	uint32_t sites[3];
	for (uint32_t i = 0; i < 3; i++)
		sites[i] = recording_heap_site(&recording, i == 2 ? pool : heap, thread,
					       recording_call(&recording, 0, 1, functions[i], i + 1));
	for (uint32_t i = 0; i < STEPS; i++) {
		sizes[i] = 1 + i * 37 % 1000;
		blocks[i] = recording_begins(&recording, sites[i % 3], 10 * i, sizes[i]);
		know(i % 3 == 2 ? pool : heap, sizes[i], 0);
		if (i < ALIVE)
			continue;
		uint32_t of = (i - ALIVE) % 3 == 2 ? pool : heap;
		recording_ends(&recording, of, blocks[i - ALIVE], thread, 10 * i + 5);
		know(of, sizes[i - ALIVE], 1);
	}
	recording_close(&recording, 10 * STEPS, 0);
}

/* The content of a recording of some bytes; -errno if it cannot be opened. */
struct found {
	struct sonde_heap_total heaps[HEAPS + 1];
	uint64_t events;
	int error; /* some chunk could not be read */
};

static void find_sites(struct sonde_session *session, const struct sonde_heap_sums *sums, int is_cut)
{
	size_t count = sonde_session_heap_site_count(session);
	struct sonde_heap_alive alive[8] = {0};
	uint64_t begins = 0, begun_b = 0, left_b = 0, all_begins = 0, all_begun_b = 0;
	assert_true(count <= 3);
	int code = sonde_session_heap_alive(session, UINT64_MAX, alive);
	assert_true(!code || (!is_cut && code == -EBADMSG));
	for (size_t i = 0; i <= count; i++) {
		begins += sums->sites[i].begins;
		begun_b += sums->sites[i].begun_b;
		left_b += sums->sites[i].left_b;
		if (is_cut)
			assert_int_equal(alive[i].size_b, sums->sites[i].left_b);
	}
	for (size_t i = 1; i <= sonde_session_heap_count(session); i++) {
		all_begins += sums->heaps[i].begins;
		all_begun_b += sums->heaps[i].begun_b;
		left_b -= sums->heaps[i].left_b;
	}
	assert_int_equal(begins, all_begins);
	assert_int_equal(begun_b, all_begun_b);
	if (is_cut)
		assert_int_equal(left_b, 0);
}

static int find(struct found *out, const uint8_t *bytes, size_t size_b, int is_cut)
{
	struct sonde_session *session;
	struct sonde_heap_sums sums;
	char name[64];
	int fd = memfd_create("recording", 0);
	assert_true(fd >= 0 && write(fd, bytes, size_b) == (ssize_t)size_b);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	*out = (struct found){0};
	int code = sonde_session_open(&session, name, NULL);
	close(fd);
	if (code)
		return code;
	out->error = sonde_session_heap_sums(session, &sums);
	assert_int_not_equal(out->error, -ENOMEM);
	assert_true(sonde_session_heap_count(session) <= HEAPS);
	for (size_t i = 1; i <= sonde_session_heap_count(session); i++) {
		out->heaps[i] = sums.heaps[i];
		out->events += sums.heaps[i].begins + sums.heaps[i].ends;
	}
	find_sites(session, &sums, is_cut);
	sonde_heap_sums_free(&sums);
	sonde_session_close(session);
	return 0;
}

static uint8_t *slurp(size_t *size_b)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size_b = (size_t)ftell(file);
	rewind(file);
	uint8_t *bytes = malloc(*size_b);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size_b, file), *size_b);
	fclose(file);
	return bytes;
}

static void a_cut_leaves_the_first_events(void **unused)
{
	(void)unused;
	size_t size_b;
	struct found found;
	uint64_t before = 0, stages = 0;
	make();
	uint8_t *bytes = slurp(&size_b);
	for (size_t cut_b = 0; cut_b <= size_b; cut_b++) {
		int code = find(&found, bytes, cut_b, 1);
		assert_int_equal(code, cut_b < 64 ? -EBADMSG : 0);
		if (code)
			continue;
		assert_int_equal(found.error, 0);
		assert_true(found.events >= before);
		stages += found.events > before;
		before = found.events;
		for (size_t i = 1; i <= HEAPS; i++) {
			const struct sonde_heap_total *total = &found.heaps[i];
			assert_true(total->begins + total->ends <= known[i].count);
			const struct state *state = &known[i].after[total->begins + total->ends];
			assert_int_equal(total->begins, state->begins);
			assert_int_equal(total->begun_b, state->begun_b);
			assert_int_equal(total->ended_b, state->ended_b);
			assert_int_equal(total->left_b, state->begun_b - state->ended_b);
			assert_int_equal(total->peak_b, state->peak_b);
			assert_int_equal(total->peak_blocks, state->peak_blocks);
		}
	}
	assert_int_equal(before, known[1].count + known[2].count);
	assert_true(stages > 10);
	free(bytes);
}

static void damage_takes_away_and_adds_nothing(void **unused)
{
	(void)unused;
	size_t size_b;
	struct found found;
	make();
	uint8_t *bytes = slurp(&size_b);
	for (size_t at = 64; at < size_b; at++) {
		bytes[at] ^= (uint8_t)(1u << at % 8);
		assert_int_equal(find(&found, bytes, size_b, 0), 0);
		bytes[at] ^= (uint8_t)(1u << at % 8);
		for (size_t i = 1; i <= HEAPS; i++) {
			const struct state *all = &known[i].after[known[i].count];
			assert_true(found.heaps[i].begins <= all->begins && found.heaps[i].begun_b <= all->begun_b);
			assert_true(found.heaps[i].ends <= all->ends && found.heaps[i].ended_b <= all->ended_b);
			assert_true(found.heaps[i].peak_b <= all->peak_b);
		}
	}
	free(bytes);
}

/* Against the blocks that were alive then, at moments within chunks and between them. */
static void what_is_alive_is_what_was_alive(void **unused)
{
	(void)unused;
	struct sonde_session *session;
	make();
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	for (uint32_t time_ns = 0; time_ns < 10 * STEPS; time_ns += 5) {
		uint64_t blocks[3] = {0}, size_b[3] = {0};
		for (uint32_t i = 0; i < STEPS && 10 * i <= time_ns; i++) {
			int ended = i + ALIVE < STEPS && 10 * (i + ALIVE) + 5 <= time_ns;
			blocks[i % 3] += !ended;
			size_b[i % 3] += ended ? 0 : 1 + i * 37 % 1000;
		}
		struct sonde_heap_alive alive[4] = {0};
		assert_int_equal(sonde_session_heap_alive(session, time_ns, alive), 0);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(alive[i + 1].blocks, blocks[i]);
			assert_int_equal(alive[i + 1].size_b, size_b[i]);
		}
	}
	sonde_session_close(session);
}

static void sums_are_shared_until_there_is_more(void **unused)
{
	(void)unused;
	struct recording recording;
	struct sonde_session *session;
	struct sonde_heap_sums first, second, part, later;
	struct sonde_selection range = {.from_ns = 1, .to_ns = 15};
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 1, 0, "p", 0);
	uint32_t thread = recording_thread(&recording, process, 1, "t", 0);
	recording_module(&recording, "/m", 0);
	uint32_t heap = recording_heap(&recording, process, SONDE_HEAP_MALLOC, NULL);
	uint32_t site = recording_heap_site(&recording, heap, thread, recording_call(&recording, 0, 1, "f", 1));
	recording_begins(&recording, site, 10, 100);
	recording_begins(&recording, site, 20, 100);
	recording_flush(&recording);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_session_heap_sums(session, &first), 0);
	assert_int_equal(sonde_session_heap_sums(session, &second), 0);
	assert_ptr_equal(first.sites, second.sites);
	sonde_heap_sums_free(&first);
	assert_int_equal(sonde_session_heap_sums_of(session, &range, &part), 0);
	assert_int_equal(part.heaps[heap].begins, 1);
	assert_int_equal(second.heaps[heap].begins, 2);
	recording_begins(&recording, site, 30, 100);
	recording_close(&recording, 500, 0);
	assert_true(sonde_session_refresh(session) > 0);
	assert_int_equal(sonde_session_heap_sums(session, &later), 0);
	assert_int_equal(later.heaps[heap].begins, 3);
	assert_int_equal(second.heaps[heap].begins, 2);
	sonde_session_close(session);
	assert_int_equal(later.sites[site].begun_b, 300);
	sonde_heap_sums_free(&later);
	sonde_heap_sums_free(&second);
	sonde_heap_sums_free(&part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_cut_leaves_the_first_events),
	    cmocka_unit_test(damage_takes_away_and_adds_nothing),
	    cmocka_unit_test(what_is_alive_is_what_was_alive),
	    cmocka_unit_test(sums_are_shared_until_there_is_more),
	};
	strcpy(path, "/tmp/sonde-cuts-XXXXXX");
	close(mkstemp(path));
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
