/* test_drain.c: the read side of a pool against hostile memory, wrapped clocks and events out of order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "fold/drain.h"
#include "fold/live.h"

#define CHUNKS 4u

struct seen {
	uint64_t events, zones, backwards, bad_sites, last_ns;
	uint64_t sum_ns;
	uint32_t sites[16];
	uint64_t times[16];
	struct sonde_live *live;
	uint64_t words, strangers; /* of HEAP chunks; those that are not their thread's serial */
};

static void take_site(void *context, const struct sonde_drain_site *site)
{
	struct seen *seen = context;
	seen->bad_sites += site->id >= SONDE_RING_MAX_SITES || strlen(site->name) > 65535;
	sonde_live_site(seen->live, site);
}

static void take_zones(void *context, struct sonde_drain_thread *thread, const uint32_t *sites,
		       const uint64_t *times_ns, size_t count, int gap)
{
	struct seen *seen = context;
	sonde_live_zones(seen->live, thread, sites, times_ns, count, gap);
	for (size_t i = 0; i < count; i++) {
		seen->bad_sites += sites[i] >= SONDE_RING_MAX_SITES;
		seen->backwards += i && times_ns[i] < times_ns[i - 1];
		if (seen->zones < 16) {
			seen->sites[seen->zones] = sites[i];
			seen->times[seen->zones] = times_ns[i];
		}
		seen->zones++;
		seen->sum_ns += times_ns[i];
	}
}

static void take_event(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event)
{
	(void)thread;
	struct seen *seen = context;
	seen->events += event->words >= 2;
	sonde_live_event(seen->live, event);
}

static void take_counter(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total)
{
	(void)thread;
	(void)total;
	((struct seen *)context)->bad_sites += site >= SONDE_RING_MAX_SITES;
}

static void take_histogram(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			   uint64_t sum, uint64_t min, uint64_t max)
{
	(void)thread;
	(void)hits;
	(void)sum;
	(void)min;
	(void)max;
	((struct seen *)context)->bad_sites += site >= SONDE_RING_MAX_SITES;
}

static void take_lost(void *context, enum sonde_ring_lost cause, uint64_t count)
{
	(void)context;
	(void)count;
	assert_true(cause < SONDE_RING_LOST_CAUSES);
}

static void take_thread_end(void *context, struct sonde_drain_thread *thread)
{
	if (thread->index < SONDE_DRAIN_ZONE_THREADS)
		sonde_live_thread_end(((struct seen *)context)->live, thread);
}

static int alive(void *context, uint32_t tid)
{
	(void)context;
	return tid % 2 == 0;
}

static void take_heap(void *context, struct sonde_drain_thread *thread, const uint64_t *words, size_t count)
{
	struct seen *seen = context;
	seen->words += count;
	for (size_t i = 0; i < count; i++)
		seen->strangers += words[i] != thread->serial;
}

static const struct sonde_drain_sink *sink_of(struct seen *seen)
{
	static struct sonde_drain_sink sink;
	sink =
	    (struct sonde_drain_sink){seen,      take_site,       take_zones, take_event, take_counter, take_histogram,
				      take_lost, take_thread_end, alive,      100,        take_heap};
	return &sink;
}

static void *map(size_t size_b)
{
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

struct pool {
	struct sonde_ring_pool *ring;
	struct sonde_drain *drain;
	struct sonde_clockfit fit;
	struct seen seen;
};

static void pool_make_of(struct pool *pool, uint32_t chunks)
{
	memset(pool, 0, sizeof(*pool));
	pool->ring = map(sonde_ring_pool_b(chunks));
	sonde_drain_format(pool->ring, chunks, chunks, SONDE_RING_CLOCK_NS, SONDE_RING_DROP);
	pool->drain = sonde_drain_init(map(SONDE_DRAIN_B), pool->ring, chunks, SONDE_RING_CLOCK_NS);
	pool->seen.live = sonde_live_init(map(SONDE_LIVE_B));
}

static void pool_make(struct pool *pool)
{
	pool_make_of(pool, CHUNKS);
}

static void pool_end(struct pool *pool)
{
	munmap(pool->ring, sonde_ring_pool_b(pool->ring->chunk_count));
	munmap(pool->drain, SONDE_DRAIN_B);
	munmap(pool->seen.live, SONDE_LIVE_B);
}

/* A chunk of zones of thread 1 with these words. */
static struct sonde_ring_chunk *chunk_put(struct pool *pool, const uint64_t *words, uint32_t count)
{
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(pool->ring, 0);
	atomic_fetch_and(&pool->ring->free_map[0], ~UINT64_C(1));
	chunk->thread = 1;
	chunk->tid = 2;
	atomic_store(&chunk->mark, sonde_ring_mark(1, 0));
	for (uint32_t i = 0; i < count; i++)
		atomic_store(&sonde_ring_words(chunk)[i], words[i]);
	atomic_store(&chunk->kind, SONDE_RING_ZONES);
	return chunk;
}

static void reading_stops_at_words_not_yet_stored(void **state)
{
	(void)state;
	struct pool pool;
	pool_make(&pool);
	uint64_t now = sonde_clock_now_ns() & SONDE_RING_TIME_MASK;
	/* A handler ran between the reservation and the store of the third word. */
	const uint64_t words[] = {now << 20 | 1, now << 20, 0, (now + 5) << 20 | 1, (now + 6) << 20};
	struct sonde_ring_chunk *chunk = chunk_put(&pool, words, 5);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.zones, 2);
	atomic_store(&sonde_ring_words(chunk)[2], (now + 9) << 20 | 1);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.zones, 5);
	assert_int_equal(pool.seen.times[2] + 4, pool.seen.times[4]); /* put in order of time */
	assert_int_equal(pool.seen.sites[4], 1);
	atomic_store(&sonde_ring_words(chunk)[7], (now + 20) << 20);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 1); /* the process is gone: skip what never came */
	assert_int_equal(pool.seen.zones, 6);
	assert_int_equal(pool.seen.backwards, 0);
	assert_true(atomic_load(&pool.ring->free_map[0]) & 1);
	assert_int_equal(atomic_load(&sonde_ring_words(chunk)[0]), 0); /* given back zeroed */
	pool_end(&pool);
}

/* A thread that is stopped while it writes its site does not block others; references to no site are dropped. */
static void sites_are_found_behind_one_that_is_being_written(void **state)
{
	(void)state;
	struct pool pool;
	pool_make(&pool);
	const uint32_t size_b = 64;
	struct sonde_ring_site site = {.size_b = size_b, .id = 3, .kind = SONDE_SITE_ZONE, .name_b = 4};
	char *heap = (char *)pool.ring + SONDE_RING_SITES_OFFSET;
	memcpy(heap + size_b, &site, sizeof(site)); /* the previous one has its own space, and no more */
	memcpy(heap + size_b + sizeof(site), "name", 4);
	atomic_store(&pool.ring->sites_b, 2 * size_b);
	atomic_store(&pool.ring->sites, 2);
	atomic_store(&sonde_ring_site_index(pool.ring)[3], size_b + 1);
	static const uint32_t wrong[] = {SONDE_RING_SITES_B, SONDE_RING_SITES_B - 39, 4, UINT32_MAX};
	for (uint32_t i = 0; i < 4; i++)
		atomic_store(&sonde_ring_site_index(pool.ring)[4 + i], wrong[i] + 1);
	uint64_t now = sonde_clock_now_ns() & SONDE_RING_TIME_MASK, words[8];
	for (uint32_t i = 0; i < 8; i++)
		words[i] = now << 20 | (i < 6 ? i + 2 : 0xfff00 + i);
	chunk_put(&pool, words, 8);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.zones, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(pool.seen.sites[i], i == 1 ? 3 : SONDE_RING_SITE_OTHER);
	pool_end(&pool);
}

/* Nothing of a stack that was taken remains in the ring, and everything of a stack that is still being written does. */
static void is_cleared_as_it_is_taken(uint16_t type)
{
	enum { STACK_WORDS = 4, WORDS = sizeof(struct sonde_event_cpu_sample) / 8 + STACK_WORDS };
	struct pool pool;
	pool_make(&pool);
	struct sonde_event_cpu_sample sample = {
	    .head = {.words = WORDS, .time = 5}, .cpu_ns = 1, .pc = 2, .sp = 3, .stack_b = STACK_WORDS * 8};
	uint64_t words[2 * WORDS], open_head;
	for (int i = 0; i < 2; i++) {
		memset(words + i * WORDS, 0xff, WORDS * sizeof(*words));
		sample.head.type = i ? 0 : type;
		memcpy(words + i * WORDS, &sample, sizeof(sample));
	}
	struct sonde_ring_chunk *chunk = chunk_put(&pool, words, 2 * WORDS);
	atomic_store(&chunk->kind, SONDE_RING_EVENTS);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.events, 1);
	for (int i = 2; i < 2 * WORDS; i++)
		assert_int_equal(atomic_load(&sonde_ring_words(chunk)[i]), i < WORDS ? 0 : words[i]);
	sample.head.type = type;
	memcpy(&open_head, &sample, sizeof(open_head));
	atomic_store(&sonde_ring_words(chunk)[WORDS], open_head);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.events, 2);
	for (int i = WORDS + 2; i < 2 * WORDS; i++)
		assert_int_equal(atomic_load(&sonde_ring_words(chunk)[i]), 0);
	pool_end(&pool);
}

static void copies_of_stacks_are_cleared_as_they_are_taken(void **state)
{
	(void)state;
	_Static_assert(sizeof(struct sonde_event_call_stack) == sizeof(struct sonde_event_cpu_sample) &&
			   offsetof(struct sonde_event_call_stack, stack_b) ==
			       offsetof(struct sonde_event_cpu_sample, stack_b),
		       "one event does for both");
	is_cleared_as_it_is_taken(SONDE_EVENT_CPU_SAMPLE);
	is_cleared_as_it_is_taken(SONDE_EVENT_CALL_STACK);
}

/* A handler's zone comes after the event that it interrupted, wherever that is, and loses none of its time. */
static void handlers_are_put_in_order_at_any_place(void **state)
{
	(void)state;
	uint64_t words[240], now = sonde_clock_now_ns();
	for (uint32_t place = 0; place < 200; place++) {
		struct pool pool;
		uint64_t sum_ns = 0;
		pool_make(&pool);
		for (uint32_t i = 0; i < 240; i++) {
			uint64_t time_ns = now + 10 * i;
			if (i == place)
				time_ns += 100;
			if (i > place && i < place + 10)
				time_ns -= 5;
			words[i] = time_ns << 20 | (i + 1) % 2;
			sum_ns += time_ns;
		}
		chunk_put(&pool, words, 240);
		sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
		assert_int_equal(pool.seen.zones, 240);
		assert_int_equal(pool.seen.backwards, 0);
		assert_int_equal(pool.seen.sum_ns, sum_ns);
		pool_end(&pool);
	}
}

#define PART_WORDS 5u

/* A chunk that is split, of whose parts the first `used` are those of the threads from `serial` on, which have each put
 * PART_WORDS words. */
static struct sonde_ring_chunk *split_put(struct pool *pool, uint32_t index, uint64_t serial, uint32_t used)
{
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(pool->ring, index);
	uint64_t bit = UINT64_C(1) << index % 64;
	atomic_fetch_and(&pool->ring->free_map[index / 64], ~bit);
	atomic_store(&chunk->free_parts, SONDE_RING_PARTS_ALL & ~((2u << used) - 1));
	atomic_store(&chunk->kind, SONDE_RING_SPLIT);
	atomic_fetch_or(&pool->ring->split_map[index / 64], bit);
	for (uint32_t part = 1; part <= used; part++) {
		struct sonde_ring_chunk *own = sonde_ring_part_at(chunk, part);
		own->thread = serial + part - 1;
		own->tid = 2;
		atomic_store(&own->mark, sonde_ring_mark((uint32_t)own->thread, 0));
		for (uint32_t i = 0; i < PART_WORDS; i++)
			atomic_store(&sonde_ring_words(own)[i], own->thread);
		atomic_store(&own->kind, SONDE_RING_HEAP);
	}
	return chunk;
}

static void release(struct sonde_ring_chunk *chunk, uint32_t part)
{
	atomic_store(&sonde_ring_part_at(chunk, part)->state, SONDE_RING_RELEASED);
}

/* Each part is returned separately, zeroed; once the last part is returned, the chunk is whole. */
static void parts_are_given_back_one_by_one(void **state)
{
	(void)state;
	struct pool pool;
	pool_make(&pool);
	struct sonde_ring_chunk *chunk = split_put(&pool, 1, 7, 2);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.words, 2 * PART_WORDS);
	assert_int_equal(sonde_drain_used(pool.drain), 1);
	atomic_store(&sonde_ring_words(sonde_ring_part_at(chunk, 2))[PART_WORDS], 8);
	release(chunk, 1);
	atomic_store(&pool.ring->split_map[0], 0); /* as who found no free part leaves it */
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.words, 2 * PART_WORDS + 1);
	assert_int_equal(atomic_load(&chunk->free_parts), SONDE_RING_PARTS_ALL & ~4u);
	assert_int_equal(atomic_load(&pool.ring->split_map[0]), 2);
	assert_int_equal(atomic_load(&pool.ring->free_map[0]), 13);
	assert_int_equal(atomic_load(&sonde_ring_part_at(chunk, 1)->mark), 0);
	release(chunk, 2);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(atomic_load(&pool.ring->split_map[0]), 0);
	assert_int_equal(atomic_load(&pool.ring->free_map[0]), 15);
	assert_int_equal(sonde_drain_used(pool.drain), 0);
	assert_int_equal(pool.seen.strangers, 0);
	for (uint32_t i = 0; i < SONDE_RING_CHUNK_B / 8; i++)
		assert_int_equal(((const uint64_t *)(const void *)chunk)[i], 0);
	pool_end(&pool);
}

/* One word more than a part can hold goes to another part. */
static void a_part_ends_where_the_next_one_begins(void **state)
{
	(void)state;
	struct pool pool;
	pool_make(&pool);
	struct sonde_ring_chunk *chunk = split_put(&pool, 0, 1, 2);
	for (uint32_t i = 0; i < SONDE_RING_PART_WORDS; i++)
		atomic_store(&sonde_ring_words(sonde_ring_part_at(chunk, 1))[i], 1);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.words, SONDE_RING_PART_WORDS + PART_WORDS);
	assert_int_equal(pool.seen.strangers, 0);
	pool_end(&pool);
}

/* More than sinks of zones have rows for, and all of them at once. */
static void each_of_many_threads_is_read(void **state)
{
	(void)state;
	const uint32_t chunks = 1024, parts = SONDE_RING_PARTS - 1, threads = chunks * parts;
	struct pool pool;
	pool_make_of(&pool, chunks);
	for (int round = 0; round < 2; round++) { /* rows are used again */
		uint64_t first = 1 + (uint64_t)round * threads;
		for (uint32_t i = 0; i < chunks; i++)
			split_put(&pool, i, first + (uint64_t)i * parts, parts);
		sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
		assert_int_equal(pool.seen.words, (uint64_t)(round + 1) * threads * PART_WORDS);
		assert_int_equal(sonde_drain_used(pool.drain), chunks);
		for (uint32_t i = 0; i < threads; i++)
			release(sonde_ring_chunk_at(pool.ring, i / parts), 1 + i % parts);
		sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
		assert_int_equal(sonde_drain_used(pool.drain), 0);
		for (uint32_t word = 0; word < chunks / 64; word++)
			assert_int_equal(atomic_load(&pool.ring->free_map[word]), UINT64_MAX);
		sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 1); /* all of them have ended */
	}
	assert_int_equal(pool.seen.strangers, 0);
	pool_end(&pool);
}

static void times_are_made_whole(void **state)
{
	(void)state;
	struct pool pool;
	pool_make(&pool);
	uint64_t now = sonde_clock_now_ns();
	const uint64_t words[] = {now << 20 | 1, (now + 1000) << 20};
	chunk_put(&pool, words, 2);
	sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.times[0], now);
	assert_int_equal(pool.seen.times[1], now + 1000);
	pool_end(&pool);
}

static void clocks_meet_at_anchors(void **state)
{
	(void)state;
	struct sonde_clockfit fit;
	/* 2.5 cycles a ns, then the clock is found 1000 ns ahead of the line: it is met a second later, never jumped
	 * to. */
	sonde_clockfit_init(&fit, &(struct sonde_clockfit_anchor){1000, 5000, 1});
	sonde_clockfit_add(&fit, &(struct sonde_clockfit_anchor){1000 + 25000000, 5000 + 10000000, 1});
	assert_int_equal(fit.count, 1);
	assert_in_range(sonde_clockfit_ns(&fit, 1000 + 2500000), 5000 + 1000000 - 1, 5000 + 1000000 + 1);
	uint64_t cycles = 1000 + UINT64_C(2500000000);
	sonde_clockfit_add(&fit, &(struct sonde_clockfit_anchor){cycles, 5000 + 1000000000 + 1000, 1});
	assert_int_equal(fit.count, 2);
	uint64_t at = sonde_clockfit_ns(&fit, cycles), before = sonde_clockfit_ns(&fit, cycles - 3);
	assert_true(before <= at && at - before <= 2);
	assert_in_range(sonde_clockfit_ns(&fit, cycles + UINT64_C(2500000000)), 5000 + 2000000000 + 1000 - 50,
			5000 + 2000000000 + 2000 + 50);
}

/* Four events 1000 cycles apart, starting at `first`, of a clock that was read several times. */
static void check_cycles(uint64_t first, const struct sonde_clockfit *fit)
{
	struct pool pool;
	uint64_t words[4];
	pool_make(&pool);
	pool.drain = sonde_drain_init(pool.drain, pool.ring, CHUNKS, SONDE_RING_CLOCK_CYCLES);
	for (uint64_t i = 0; i < 4; i++)
		words[i] = (first + 1000 * i) << SONDE_RING_SITE_BITS | (i + 1) % 2;
	chunk_put(&pool, words, 4);
	sonde_drain_run(pool.drain, fit, sink_of(&pool.seen), 0);
	assert_int_equal(pool.seen.zones, 4);
	for (uint64_t i = 0; i < 4; i++) {
		uint64_t cycles = first + 1000 * i < fit->first.cycles ? fit->first.cycles : first + 1000 * i;
		assert_int_equal(pool.seen.times[i], sonde_clockfit_ns(fit, cycles));
	}
	pool_end(&pool);
}

static void cycles_become_ns_on_their_piece_of_the_line(void **state)
{
	(void)state;
	struct sonde_clockfit fit;
	uint64_t now = sonde_clock_cycles(), start = now - 3000000000u;
	sonde_clockfit_init(&fit, &(struct sonde_clockfit_anchor){start, 1000000, 1});
	for (uint64_t i = 1; i <= 4; i++) /* 2.5 cycles a ns, and 700 ns more or less */
		sonde_clockfit_add(&fit, &(struct sonde_clockfit_anchor){start + i * 700000000,
									 1000000 + i * 280000000 + i % 2 * 700, 1});
	assert_int_equal(fit.count, 4);
	check_cycles(start + 2900000000u, &fit);              /* on the newest */
	check_cycles(start + 800000000, &fit);                /* on an older one */
	check_cycles(fit.pieces[1].base_cycles - 1500, &fit); /* across an end */
	check_cycles(start + 100, &fit);                      /* on the oldest */
	check_cycles(start - 1500, &fit);                     /* nothing is older than the recording */
}

/* Random bytes everywhere a target can write, drained again and again, alive and dead. */
static void hostile_pools_do_no_harm(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct pool pool;
		pool_make(&pool);
		uint64_t *words = (uint64_t *)(void *)pool.ring, random = seed;
		size_t count = sonde_ring_pool_b(CHUNKS) / 8;
		for (size_t i = offsetof(struct sonde_ring_pool, committed) / 8; i < count; i++) {
			random = sonde_hash_mix(random + i);
			words[i] = seed % 3 && random % 3 ? random % 64 << (random >> 60) : random;
		}
		for (uint32_t i = 0; i < CHUNKS; i++) {
			struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(pool.ring, i);
			atomic_store(&chunk->kind, 1 + (uint32_t)(seed + i) % SONDE_RING_SPLIT);
			if (seed % 2)
				atomic_store(&chunk->mark, sonde_ring_mark(i, 0));
			chunk->thread = seed % 5 ? 1 : chunk->thread;
		}
		atomic_store(&pool.ring->free_map[0], 0);
		atomic_store(&pool.ring->committed, CHUNKS + (uint32_t)seed % 2 * 1000);
		for (int round = 0; round < 4; round++)
			sonde_drain_run(pool.drain, &pool.fit, sink_of(&pool.seen), round == 3);
		struct sonde_link_query query;
		struct sonde_link_answer answer;
		memcpy(&query, words + 1000, sizeof(query));
		for (query.what = 0; query.what < 5; query.what++)
			assert_in_range(sonde_live_answer(pool.seen.live, &query, &answer), 16, sizeof(answer));
		assert_int_equal(pool.seen.backwards, 0);
		assert_int_equal(pool.seen.bad_sites, 0);
		pool_end(&pool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reading_stops_at_words_not_yet_stored),
	    cmocka_unit_test(sites_are_found_behind_one_that_is_being_written),
	    cmocka_unit_test(copies_of_stacks_are_cleared_as_they_are_taken),
	    cmocka_unit_test(handlers_are_put_in_order_at_any_place),
	    cmocka_unit_test(times_are_made_whole),
	    cmocka_unit_test(parts_are_given_back_one_by_one),
	    cmocka_unit_test(a_part_ends_where_the_next_one_begins),
	    cmocka_unit_test(each_of_many_threads_is_read),
	    cmocka_unit_test(clocks_meet_at_anchors),
	    cmocka_unit_test(cycles_become_ns_on_their_piece_of_the_line),
	    cmocka_unit_test(hostile_pools_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
