/* test_pools.c: pools of a process that records itself (runtime/pools.h), against a model: its answers to queries,
 * and its file at the end. Events are drained one thread after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/pools.h"
#include "session_fixture.h"

enum { THREADS = 8, POOLS = 5, ADDRESSES = 64, ROUNDS = 60, ROUND_MAX = 400, SNAPSHOTS = 20 };
#define NOW UINT64_C(1000000000)

struct model_block {
	uint64_t size_b;
	int alive;
};

struct model {
	struct sonde_link_blocks sums;
	uint64_t ends, ended_b, unknown;
	struct model_block blocks[ADDRESSES];
};

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static void model_end(struct model *model, struct model_block *block)
{
	model->ends++;
	model->ended_b += block->size_b;
	model->sums.live_b -= block->size_b;
	model->sums.live_blocks--;
	block->alive = 0;
}

static void model_take(struct model *model, const struct sonde_event_block *event)
{
	struct model_block *block = &model->blocks[event->address / 16 - 1];
	struct sonde_link_blocks *sums = &model->sums;
	int gives = event->head.type == SONDE_EVENT_POOL_GIVE;
	model->unknown += gives && !block->alive;
	if (block->alive)
		model_end(model, block);
	if (gives)
		return;
	*block = (struct model_block){event->size_b, 1};
	sums->begun_b += event->size_b;
	sums->begun_blocks++;
	sums->live_b += event->size_b;
	sums->live_blocks++;
	if (sums->live_b > sums->peak_b) {
		sums->peak_b = sums->live_b;
		sums->peak_blocks = sums->live_blocks;
	}
}

/* --- a recording of pools alone ----------------------------------------------------------------------------------- */

static struct sonde_file *file;
static struct sonde_pools *pools;

static const char *name_of(uint32_t pool)
{
	static const char *const names[POOLS] = {"arena", "ring", "a name with spaces", "\xff\x01", "slab"};
	return names[pool];
}

/* Each pool has two sites of its name, as where two threads came with it at once. */
static void begin(void)
{
	unlink(path);
	assert_int_equal(sonde_file_open(&file, path), 0);
	struct sonde_meta_process process = {.head.type = SONDE_META_PROCESS, .id = 1, .pid = 100, .start_ns = NOW};
	sonde_file_meta(file, &process, sizeof process, NULL, 0);
	for (uint32_t id = 1; id <= THREADS; id++) {
		struct sonde_meta_thread thread = {
		    .head.type = SONDE_META_THREAD, .id = id, .process = 1, .tid = 100 + id, .start_ns = NOW};
		sonde_file_meta(file, &thread, sizeof thread, NULL, 0);
	}
	void *memory = mmap(NULL, sonde_pools_b(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	pools = sonde_pools_init(memory, file);
	for (uint32_t pool = 0; pool < POOLS; pool++)
		for (uint32_t twin = 0; twin < 2; twin++)
			sonde_pools_name(pools, 10 + 2 * pool + twin, name_of(pool));
}

static void end(void)
{
	sonde_pools_close(pools);
	for (int reason = 0; reason < SONDE_POOLS_LOST_COUNT; reason++)
		assert_int_equal(sonde_pools_lost(pools, (enum sonde_pools_lost)reason), 0);
	munmap(pools, sonde_pools_b());
	assert_int_equal(sonde_file_close(file), 0);
}

static void assert_answers(const struct model *models)
{
	struct sonde_link_blocks told;
	for (uint32_t pool = 0; pool < POOLS; pool++) {
		const struct sonde_link_blocks *sums = &models[pool].sums;
		sonde_pools_answer(pools, name_of(pool), &told);
		if (!sums->begun_blocks)
			continue;
		assert_int_equal(told.status, 0);
		assert_int_equal(told.live_b, sums->live_b);
		assert_int_equal(told.live_blocks, sums->live_blocks);
		assert_int_equal(told.peak_b, sums->peak_b);
		assert_int_equal(told.peak_blocks, sums->peak_blocks);
		assert_int_equal(told.begun_b, sums->begun_b);
		assert_int_equal(told.begun_blocks, sums->begun_blocks);
	}
	sonde_pools_answer(pools, "nobody", &told);
	assert_int_equal(told.status, -ENOENT);
	sonde_pools_answer(pools, "", &told);
	assert_int_equal(told.status, -ENOENT);
}

/* The heap of a name; every name has one. */
static uint32_t heap_of(const struct sonde_session *session, uint32_t pool)
{
	uint32_t found = 0;
	for (uint32_t id = 1; id <= sonde_session_heap_count(session); id++)
		if (!strcmp(sonde_session_heap(session, id)->name, name_of(pool))) {
			assert_int_equal(found, 0);
			found = id;
		}
	return found;
}

static void assert_file(struct sonde_session *session, const struct model *models)
{
	struct sonde_heap_sums sums;
	assert_int_equal(sonde_session_heap_sums(session, &sums), 0);
	for (uint32_t pool = 0; pool < POOLS; pool++) {
		const struct sonde_heap_total *total = &sums.heaps[heap_of(session, pool)];
		const struct model *model = &models[pool];
		assert_int_equal(total->peak_b, model->sums.peak_b);
		assert_int_equal(total->peak_blocks, model->sums.peak_blocks);
		assert_int_equal(total->begins, model->sums.begun_blocks);
		assert_int_equal(total->begun_b, model->sums.begun_b);
		assert_int_equal(total->ends, model->ends);
		assert_int_equal(total->ended_b, model->ended_b);
		assert_int_equal(total->unknown, model->unknown);
		assert_int_equal(total->left_b, model->sums.live_b);
		assert_int_equal(total->left_blocks, model->sums.live_blocks);
		assert_int_equal(total->mean_b, 0);
	}
	sonde_heap_sums_free(&sums);
}

/* One after the other, events are what the sums say. */
static void assert_events(struct sonde_session *session, const struct model *models)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	uint64_t live_b[POOLS + 1] = {0}, last_ns[POOLS + 1] = {0};
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_HEAP), 0);
	while (sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++) {
			assert_in_range(batch->heap.id, 1, POOLS);
			assert_in_range(batch->heap.thread[i], 1, THREADS);
			assert_true(batch->heap.time_ns[i] >= last_ns[batch->heap.id]);
			last_ns[batch->heap.id] = batch->heap.time_ns[i];
			live_b[batch->heap.id] += batch->heap.ends[i] ? -batch->heap.size_b[i] : batch->heap.size_b[i];
		}
	sonde_cursor_close(cursor);
	for (uint32_t pool = 0; pool < POOLS; pool++)
		assert_int_equal(live_b[heap_of(session, pool)], models[pool].sums.live_b);
}

static void assert_alive_at(struct sonde_session *session, uint64_t time_ns, const uint64_t *live_b)
{
	size_t sites = sonde_session_heap_site_count(session);
	struct sonde_heap_alive *alive = calloc(sites + 1, sizeof *alive);
	uint64_t sums_b[POOLS + 1] = {0};
	assert_int_equal(sonde_session_heap_alive(session, time_ns, alive), 0);
	for (uint32_t id = 1; id <= sites; id++)
		sums_b[sonde_session_heap_site(session, id)->heap] += alive[id].size_b;
	for (uint32_t pool = 0; pool < POOLS; pool++)
		assert_int_equal(sums_b[heap_of(session, pool)], live_b[pool]);
	free(alive);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static struct sonde_event_block random_event(uint64_t time_ns)
{
	int gives = draw(100) < 45;
	struct sonde_event_block event = {.address = 16 * (uint64_t)(1 + draw(ADDRESSES))};
	event.head.type = gives ? SONDE_EVENT_POOL_GIVE : SONDE_EVENT_POOL_TAKE;
	event.head.site = 10 + draw(2 * POOLS);
	event.head.time = time_ns;
	event.size_b = gives ? 0 : draw(10) ? draw(5000) : (uint64_t)draw(1u << 30) << 8;
	return event;
}

struct waiting {
	uint32_t thread;
	int is_told;
	struct sonde_event_block event;
};

/* All threads' events of a round, one thread after the other, from a thread that is drawn. */
static void tell(struct waiting *events, uint32_t count)
{
	uint32_t first = draw(THREADS);
	for (uint32_t turn = 0; turn < THREADS; turn++)
		for (uint32_t i = 0; i < count; i++)
			if (events[i].thread == 1 + (first + turn) % THREADS && !events[i].is_told) {
				sonde_pools_add(pools, events[i].thread, &events[i].event);
				events[i].is_told = 1;
			}
}

static void compare(uint64_t from)
{
	static struct waiting events[ROUNDS * ROUND_MAX];
	struct model models[POOLS] = {0};
	uint64_t snapshots_ns[SNAPSHOTS], live_b[SNAPSHOTS][POOLS], now_ns = NOW, last_ns = NOW;
	uint32_t count = 0, modelled = 0, snapshots = 0;
	seed = from;
	begin();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t more = draw(ROUND_MAX); more; more--) {
			now_ns += draw(3);
			events[count++] = (struct waiting){1 + draw(THREADS), 0, random_event(now_ns)};
		}
		/* the latest events are not in order yet: others may come in between */
		uint64_t until_ns = now_ns - draw(20);
		for (uint32_t i = 1; i < count; i++) /* events with equal times are ordered only within a thread */
			if (events[i].event.head.time == events[i - 1].event.head.time)
				events[i].thread = events[i - 1].thread;
		if (snapshots < SNAPSHOTS && until_ns > last_ns && draw(2)) {
			snapshots_ns[snapshots] = last_ns + draw((uint32_t)(until_ns - last_ns));
			for (uint32_t pool = 0; pool < POOLS; pool++)
				live_b[snapshots][pool] = models[pool].sums.live_b;
			sonde_pools_snapshot(pools, snapshots_ns[snapshots++]);
		}
		last_ns = until_ns > last_ns ? until_ns : last_ns;
		tell(events, count);
		sonde_pools_run(pools, until_ns);
		for (; modelled < count && events[modelled].event.head.time <= until_ns; modelled++) {
			const struct sonde_event_block *event = &events[modelled].event;
			model_take(&models[(event->head.site - 10) / 2], event);
			for (uint32_t i = 0; i < snapshots; i++)
				for (uint32_t pool = 0; event->head.time <= snapshots_ns[i] && pool < POOLS; pool++)
					live_b[i][pool] = models[pool].sums.live_b;
		}
		assert_answers(models);
	}
	for (; modelled < count; modelled++)
		model_take(&models[(events[modelled].event.head.site - 10) / 2], &events[modelled].event);
	end();
	assert_true(snapshots > 5);
	struct sonde_session *session = opened();
	assert_file(session, models);
	assert_events(session, models);
	for (uint32_t i = 0; i < snapshots; i++)
		assert_alive_at(session, snapshots_ns[i], live_b[i]);
	sonde_session_close(session);
}

static void is_as_the_model(void **state)
{
	(void)state;
	for (uint64_t from = 1; from <= 10; from++)
		compare(from);
}

/* More than a chunk holds, and more live blocks than the tables begin with. */
static void many_blocks_at_once(void **state)
{
	enum { MANY = 300000 };
	(void)state;
	begin();
	for (uint64_t i = 0; i < (uint64_t)2 * MANY; i++) {
		struct sonde_event_block event = {.address = 64 * (1 + i % MANY), .size_b = i < MANY ? i % 1000 : 0};
		event.head.type = i < MANY ? SONDE_EVENT_POOL_TAKE : SONDE_EVENT_POOL_GIVE;
		event.head.site = 10;
		event.head.time = NOW + i;
		sonde_pools_add(pools, 1 + (uint32_t)(i % THREADS), &event);
	}
	sonde_pools_run(pools, NOW + MANY - 1);
	struct sonde_link_blocks told;
	sonde_pools_answer(pools, name_of(0), &told);
	assert_int_equal(told.live_blocks, MANY);
	assert_int_equal(told.live_b, (uint64_t)MANY / 1000 * (999 * 1000 / 2));
	end();
	struct sonde_session *session = opened();
	struct sonde_heap_sums sums;
	assert_int_equal(sonde_session_heap_sums(session, &sums), 0);
	const struct sonde_heap_total *total = &sums.heaps[heap_of(session, 0)];
	assert_int_equal(total->peak_b, told.live_b);
	assert_int_equal(total->peak_blocks, MANY);
	assert_int_equal(total->ends, MANY);
	assert_int_equal(total->left_blocks, 0);
	assert_int_equal(total->unknown, 0);
	sonde_heap_sums_free(&sums);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(is_as_the_model),
	    cmocka_unit_test(many_blocks_at_once),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
