/* drain.c: reads a pool's sites and chunks, in the order of each thread's chain (drain.h).
 *
 * A round lists the chunks in use, sorts them by thread, kind and seq, and reads each as far as it is published. Words
 * are first copied out, then claimed by moving the chunk's mark, then decoded: a thread that overwrites its own chunk
 * meanwhile wins the mark, and the copy is thrown away. A chunk whose end has not been reached holds back the ones
 * after it in its chain. Values of counters are handed on when they changed.
 */
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "format/record.h"
#include "fold/drain.h"

#define INDEX_SIZE (2 * SONDE_DRAIN_THREADS)
#define COUNTERS_SEEN 16384u
#define FUTURE_TICKS (UINT64_C(1) << 30) /* counters of two cores may differ by this much, no more */
#define SORT_MOVES 65536u                /* handlers need a few; more is a hostile order, which is clamped instead */
#define CATCH_UP 32u                     /* words of signal handlers that a block takes beyond its end */
#define ALIVE_EVERY 16u                  /* rounds between checks of threads that hold chunks */

struct entry {
	uint64_t serial;
	uint32_t seq;
	uint16_t kind;
	uint16_t chunk;
};

struct counter_seen {
	uint64_t key;
	uint64_t total;
};

struct sonde_drain {
	struct sonde_ring_pool *pool;
	uint32_t chunk_count;
	uint32_t clock;
	uint32_t sites_at;
	uint32_t site_highest;
	uint32_t rounds;
	uint32_t rows; /* highest used + 1 */
	uint32_t used;
	uint32_t freed;
	uint64_t lost_seen[SONDE_RING_LOST_CAUSES];
	uint64_t known[(SONDE_RING_MAX_SITES + 63) / 64];
	uint32_t known_below; /* all ids below it are known: programs count them up */
	struct sonde_drain_thread threads[SONDE_DRAIN_THREADS];
	uint16_t index[INDEX_SIZE]; /* row + 1 by serial; made anew each round */
	struct entry entries[SONDE_RING_MAX_CHUNKS];
	struct counter_seen counters[COUNTERS_SEEN];
	uint32_t count; /* of words[] */
	uint64_t words[SONDE_RING_WORDS];
	uint64_t event[SONDE_RING_WORDS];
	uint64_t times[SONDE_RING_WORDS];
	uint32_t sites[SONDE_RING_WORDS];
	char texts[4 * 65536];
};
_Static_assert(sizeof(struct sonde_drain) <= SONDE_DRAIN_B, "drain memory");

/* What one round hands from function to function. */
struct round {
	struct sonde_drain *drain;
	const struct sonde_clockfit *fit;
	const struct sonde_drain_sink *sink;
	int final;
};

/* Of the words in `times` and `sites`. */
struct block {
	uint32_t count;
	int unknown; /* not all sites are below `known_below` */
	int fell;    /* not in order of time */
};

void sonde_drain_commit(struct sonde_ring_pool *pool, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		atomic_fetch_or_explicit(&pool->free_map[i / 64], UINT64_C(1) << i % 64, memory_order_release);
	atomic_store_explicit(&pool->committed, to, memory_order_release);
	atomic_fetch_add(&pool->freed, 1);
	if (atomic_load(&pool->waiters))
		syscall(SYS_futex, &pool->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void sonde_drain_format(struct sonde_ring_pool *pool, uint32_t chunks, uint32_t committed, uint32_t clock,
			uint32_t on_full)
{
	pool->version = SONDE_RING_VERSION;
	pool->clock = clock;
	pool->on_full = on_full;
	pool->chunk_count = chunks;
	sonde_drain_commit(pool, 0, committed);
	pool->magic = SONDE_RING_MAGIC;
}

void sonde_drain_rewind_sites(struct sonde_drain *drain)
{
	drain->sites_at = 0;
	memset(drain->known, 0, sizeof(drain->known));
	drain->known[0] = UINT64_C(1) | UINT64_C(1) << SONDE_RING_SITE_OTHER; /* an end, and what found no room */
	drain->known_below = SONDE_RING_SITE_OTHER + 1;
}

struct sonde_drain *sonde_drain_init(void *memory, struct sonde_ring_pool *pool, uint32_t chunks, uint32_t clock)
{
	struct sonde_drain *drain = memory;
	drain->pool = pool;
	drain->chunk_count = chunks < SONDE_RING_MAX_CHUNKS ? chunks : SONDE_RING_MAX_CHUNKS;
	drain->clock = clock;
	sonde_drain_rewind_sites(drain);
	return drain;
}

uint32_t sonde_drain_used(const struct sonde_drain *drain)
{
	return drain->used;
}

/* --- sites --------------------------------------------------------------------------------------------------------*/

static int site_known(const struct sonde_drain *drain, uint32_t id)
{
	return id < SONDE_RING_MAX_SITES && drain->known[id / 64] >> id % 64 & 1;
}

static void site_announce(const struct round *round, const struct sonde_ring_site *head, const char *texts)
{
	struct sonde_drain *drain = round->drain;
	uint32_t lengths[4] = {head->name_b, head->function_b, head->file_b, head->unit_b};
	const char *parts[4];
	char *to = drain->texts;
	for (int i = 0; i < 4; i++) {
		parts[i] = to;
		memcpy(to, texts, lengths[i]);
		to[lengths[i]] = 0;
		to += lengths[i] + 1;
		texts += lengths[i] + 1;
	}
	uint32_t id = atomic_load_explicit(&head->id, memory_order_relaxed);
	struct sonde_drain_site site = {id,       head->kind, head->line, head->color & 0xffffff,
					parts[0], parts[1],   parts[2],   parts[3]};
	drain->known[id / 64] |= UINT64_C(1) << id % 64;
	while (site_known(drain, drain->known_below))
		drain->known_below++;
	if (id > drain->site_highest)
		drain->site_highest = id;
	round->sink->site(round->sink->context, &site);
}

/* Reads the entries that are complete and new. */
static void sites_read(const struct round *round)
{
	struct sonde_drain *drain = round->drain;
	const char *heap = (const char *)drain->pool + SONDE_RING_SITES_OFFSET;
	uint32_t used = atomic_load_explicit(&drain->pool->sites_b, memory_order_acquire);
	if (used > SONDE_RING_SITES_B)
		used = SONDE_RING_SITES_B;
	while (drain->sites_at + sizeof(struct sonde_ring_site) <= used) {
		const struct sonde_ring_site *entry = (const void *)(heap + drain->sites_at);
		uint32_t size_b = atomic_load_explicit(&entry->size_b, memory_order_acquire);
		uint32_t id = atomic_load_explicit(&entry->id, memory_order_acquire);
		if (!id && !round->final)
			return;
		if (size_b < sizeof(*entry) || size_b % 8 || size_b > used - drain->sites_at) {
			drain->sites_at = SONDE_RING_SITES_B; /* not what we write: believe nothing after it */
			return;
		}
		struct sonde_ring_site head;
		memcpy((void *)&head, (const void *)entry, sizeof(head));
		atomic_store_explicit(&head.id, id, memory_order_relaxed);
		size_t texts_b = (size_t)head.name_b + head.function_b + head.file_b + head.unit_b + 4;
		if (id > SONDE_RING_SITE_OTHER && id < SONDE_RING_MAX_SITES && !site_known(drain, id) &&
		    texts_b <= size_b - sizeof(head) && head.kind >= SONDE_SITE_ZONE && head.kind <= SONDE_SITE_POOL)
			site_announce(round, &head, (const char *)(entry + 1));
		drain->sites_at += size_b;
	}
}

static uint32_t site_check(const struct round *round, uint32_t id)
{
	if (site_known(round->drain, id))
		return id;
	sites_read(round);
	return site_known(round->drain, id) ? id : SONDE_RING_SITE_OTHER;
}

/* --- threads ------------------------------------------------------------------------------------------------------*/

static void index_make(struct sonde_drain *drain)
{
	memset(drain->index, 0, sizeof(drain->index));
	for (uint32_t row = 0; row < drain->rows; row++) {
		struct sonde_drain_thread *thread = &drain->threads[row];
		thread->chunks = 0;
		uint32_t at = (uint32_t)sonde_hash_mix(thread->serial) % INDEX_SIZE;
		while (thread->serial && drain->index[at])
			at = (at + 1) % INDEX_SIZE;
		if (thread->serial)
			drain->index[at] = (uint16_t)(row + 1);
	}
}

/* The row of a thread, made when it is new; NULL when there are too many. */
static struct sonde_drain_thread *thread_row(const struct round *round, uint64_t serial, uint32_t tid)
{
	struct sonde_drain *drain = round->drain;
	uint32_t at = (uint32_t)sonde_hash_mix(serial) % INDEX_SIZE;
	for (; drain->index[at]; at = (at + 1) % INDEX_SIZE)
		if (drain->threads[drain->index[at] - 1].serial == serial)
			return &drain->threads[drain->index[at] - 1];
	uint32_t row = 0;
	while (row < drain->rows && drain->threads[row].serial)
		row++;
	if (row == SONDE_DRAIN_THREADS)
		return NULL;
	if (row == drain->rows)
		drain->rows++;
	drain->index[at] = (uint16_t)(row + 1);
	drain->threads[row] = (struct sonde_drain_thread){.serial = serial, .tid = tid, .index = row};
	return &drain->threads[row];
}

/* Before chunks are listed: what a thread published, and took, before it went is then complete. Threads that hold
 * chunks are asked for now and then, those without each round. */
static void threads_check(const struct round *round)
{
	struct sonde_drain *drain = round->drain;
	for (uint32_t row = 0; row < drain->rows; row++) {
		struct sonde_drain_thread *thread = &drain->threads[row];
		int turn = !thread->chunks || (drain->rounds + row) % ALIVE_EVERY == 0;
		if (thread->serial && !thread->ended && turn)
			thread->ended = !round->sink->alive(round->sink->context, thread->tid);
	}
}

static void threads_finish(const struct round *round)
{
	struct sonde_drain *drain = round->drain;
	for (uint32_t row = 0; row < drain->rows; row++) {
		struct sonde_drain_thread *thread = &drain->threads[row];
		if (!thread->serial || (!round->final && (thread->chunks || !thread->ended)))
			continue;
		round->sink->thread_end(round->sink->context, thread);
		memset(thread, 0, sizeof(*thread));
	}
	while (drain->rows && !drain->threads[drain->rows - 1].serial)
		drain->rows--;
}

/* --- chunks -------------------------------------------------------------------------------------------------------*/

static int chunk_claim(struct sonde_ring_chunk *chunk, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(&chunk->mark, &from, to, memory_order_acq_rel,
						       memory_order_relaxed);
}

static void chunk_free(struct sonde_drain *drain, uint32_t index, uint64_t mark)
{
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	if (!chunk_claim(chunk, mark, sonde_ring_mark(SONDE_RING_TAKEN_BACK, 0)))
		return;
	atomic_store_explicit(&chunk->kind, 0, memory_order_relaxed);
	memset((void *)chunk, 0, SONDE_RING_CHUNK_B);
	/* release: whoever takes the chunk sees it zeroed */
	atomic_fetch_or_explicit(&drain->pool->free_map[index / 64], UINT64_C(1) << index % 64, memory_order_release);
	drain->freed++;
}

static int chunk_released(const struct round *round, const struct sonde_drain_thread *thread, uint32_t state)
{
	return round->final || thread->ended || state == SONDE_RING_RELEASED;
}

static uint64_t ticks_now(const struct sonde_drain *drain)
{
	return drain->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clock_cycles() : sonde_clock_now_ns();
}

/* The 44 bits of an event's time made whole: it is the past, or nearly. */
static uint64_t ticks_unwrap(uint64_t latest, uint64_t ticks)
{
	return latest - ((latest - ticks) & SONDE_RING_TIME_MASK);
}

static uint64_t ticks_ns(const struct round *round, uint64_t ticks)
{
	if (round->drain->clock != SONDE_RING_CLOCK_CYCLES)
		return ticks;
	if ((int64_t)(ticks - round->fit->first.cycles) < 0)
		ticks = round->fit->first.cycles; /* nothing can be older than the recording */
	return sonde_clockfit_ns(round->fit, ticks);
}

/* Orders words by time: a signal handler's come before those of the event that it interrupted. */
static void zones_sort(struct sonde_drain *drain, uint32_t count)
{
	uint32_t moves = 0;
	for (uint32_t i = 1; i < count; i++) {
		uint64_t ticks = drain->times[i];
		uint32_t site = drain->sites[i], at = i;
		for (; at > 0 && drain->times[at - 1] > ticks && moves < SORT_MOVES; at--, moves++) {
			drain->times[at] = drain->times[at - 1];
			drain->sites[at] = drain->sites[at - 1];
		}
		drain->times[at] = ticks;
		drain->sites[at] = site;
	}
}

/* Ticks into ns, all on one piece of the clock's line and in order of time; 0 when they are not. Counted from the first
 * one they are small, and 32 bits by 32 is what vectors multiply; the results are sonde_clock_scale_ns()'s. */
static int zones_time_straight(const struct round *round, struct sonde_drain_thread *thread, const struct block *block,
			       uint64_t latest)
{
	uint64_t *times = round->drain->times, last = block->count - 1;
	uint64_t first = ticks_unwrap(latest, times[0]), span = (times[last] - times[0]) & SONDE_RING_TIME_MASK;
	if (block->fell || span >> 31 || round->drain->clock != SONDE_RING_CLOCK_CYCLES ||
	    (int64_t)(first - round->fit->first.cycles) < 0)
		return 0;
	const struct sonde_clock_scale *piece = sonde_clockfit_piece(round->fit, first, first + span);
	if (!piece || piece->mult >> 32 || (int64_t)(first - piece->base_cycles) < 0)
		return 0;
	unsigned __int128 scaled = (unsigned __int128)(first - piece->base_cycles) * piece->mult;
	uint64_t first_ns = piece->base_ns + (uint64_t)(scaled >> 32), rest = (uint32_t)scaled;
	uint64_t mult = piece->mult, from = times[0];
	if (first_ns < thread->last_ns)
		return 0;
	for (uint64_t i = 0; i <= last; i++)
		times[i] = first_ns + ((rest + (uint64_t)(uint32_t)(times[i] - from) * mult) >> 32);
	thread->last_ns = times[last];
	return 1;
}

/* Ticks into ns that never fall. */
static void zones_time(const struct round *round, struct sonde_drain_thread *thread, const struct block *block)
{
	struct sonde_drain *drain = round->drain;
	uint64_t latest = ticks_now(drain) + FUTURE_TICKS;
	if (zones_time_straight(round, thread, block, latest))
		return;
	for (uint32_t i = 0; i < block->count; i++)
		drain->times[i] = ticks_unwrap(latest, drain->times[i]);
	if (block->fell)
		zones_sort(drain, block->count);
	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t time_ns = ticks_ns(round, drain->times[i]);
		thread->last_ns = time_ns > thread->last_ns ? time_ns : thread->last_ns;
		drain->times[i] = thread->last_ns;
	}
}

/* Copies what is published in [at, end) and returns where that stops. Words that a thread has reserved and never stored
 * are skipped once nobody can store them any more. */
static uint32_t zones_copy(struct sonde_drain *drain, struct sonde_ring_chunk *chunk, uint32_t at, uint32_t end,
			   int released)
{
	_Atomic uint64_t *words = sonde_ring_words(chunk);
	uint32_t used = 0;
	for (; at < end; at++) {
		uint64_t word = atomic_load_explicit(&words[at], memory_order_acquire);
		if (__builtin_expect(!word, 0)) {
			if (!released)
				break;
			continue;
		}
		drain->words[used++] = word;
	}
	drain->count = used;
	return at;
}

/* Adds the words after a block's end that belong before its last ones: of signal handlers that interrupted an event
 * which had its place, but not yet its word. Without them the next block's times would have to be held up. */
static uint32_t zones_catch_up(struct sonde_drain *drain, struct sonde_ring_chunk *chunk, uint32_t at)
{
	_Atomic uint64_t *words = sonde_ring_words(chunk);
	uint64_t newest = 0;
	for (uint32_t i = drain->count < CATCH_UP ? 0 : drain->count - CATCH_UP; i < drain->count; i++)
		if (drain->words[i] >> SONDE_RING_SITE_BITS > newest)
			newest = drain->words[i] >> SONDE_RING_SITE_BITS;
	for (uint32_t end = at + CATCH_UP; at < end && at < SONDE_RING_WORDS; at++) {
		uint64_t word = atomic_load_explicit(&words[at], memory_order_acquire);
		if (!word || word >> SONDE_RING_SITE_BITS >= newest)
			break;
		drain->words[drain->count++] = word;
	}
	return at;
}

/* The copied words into `times`, still of 44 bits, and `sites`: no branch, so that vectors can do it. */
static struct block zones_split(struct sonde_drain *drain)
{
	uint32_t count = drain->count, unknown = 0, known_below = drain->known_below;
	uint64_t *times = drain->times, fell = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t site = (uint32_t)drain->words[i] & SONDE_RING_SITE_MASK;
		times[i] = drain->words[i] >> SONDE_RING_SITE_BITS;
		drain->sites[i] = site;
		unknown |= (uint32_t)((int32_t)site >= (int32_t)known_below);
	}
	for (uint32_t i = 1; i < count; i++)
		fell |= times[i] - times[i - 1];
	return (struct block){count, (int)unknown, fell >> 63 != 0};
}

/* 1 = the chunk is finished and given back. */
static int zones_read(const struct round *round, struct sonde_drain_thread *thread, const struct entry *entry)
{
	struct sonde_drain *drain = round->drain;
	uint32_t index = entry->chunk;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
	uint64_t mark = atomic_load_explicit(&chunk->mark, memory_order_acquire);
	uint32_t seq = (uint32_t)(mark >> 32), prev = chunk->prev;
	if (seq != entry->seq)
		return 1; /* overwritten since it was listed: what is in it now has a later place in the chain */
	int released = chunk_released(round, thread, state), published = 1;
	int gap = seq != thread->zones_seq && thread->zones_seq && (prev != thread->zones_seq || !thread->zones_done);
	gap |= seq != thread->zones_seq && !thread->zones_seq && prev;
	uint32_t at = (uint32_t)mark, most = SONDE_RING_WORDS;
	if (round->sink->zones_max)
		most = round->sink->zones_max > 2 * CATCH_UP ? round->sink->zones_max - CATCH_UP : CATCH_UP;
	while (published && at < SONDE_RING_WORDS) {
		uint32_t from = at, end = SONDE_RING_WORDS - at < most ? SONDE_RING_WORDS : at + most;
		at = zones_copy(drain, chunk, from, end, released);
		published = at == end;
		if (published)
			at = zones_catch_up(drain, chunk, at);
		if (!chunk_claim(chunk, sonde_ring_mark(seq, from), sonde_ring_mark(seq, at)))
			return 1; /* overwritten: the thread has counted it */
		if (!drain->count)
			continue;
		thread->zones_seq = seq;
		thread->zones_done = 0;
		struct block block = zones_split(drain);
		zones_time(round, thread, &block);
		for (uint32_t i = 0; block.unknown && i < block.count; i++)
			drain->sites[i] = site_check(round, drain->sites[i]);
		round->sink->zones(round->sink->context, thread, drain->sites, drain->times, block.count, gap);
		gap = 0;
	}
	int done = released || (at >= SONDE_RING_WORDS && state == SONDE_RING_SEALED);
	if (!done)
		return 0;
	thread->zones_seq = seq;
	thread->zones_done = 1;
	chunk_free(drain, index, sonde_ring_mark(seq, at));
	return 1;
}

/* Bytes of payload that a type needs at least, and where a text's length stands. */
static int event_valid(const struct sonde_event *event)
{
	size_t size_b = (size_t)event->words * 8;
	switch (event->type) {
	case SONDE_EVENT_INSTANT:
	case SONDE_EVENT_MESSAGE:
	case SONDE_EVENT_ZONE_NAME:
	case SONDE_EVENT_THREAD_NAME:
	case SONDE_EVENT_SNAPSHOT:
	case SONDE_EVENT_MISMATCH: {
		const struct sonde_event_text *text = (const void *)event;
		return size_b >= sizeof(*text) && text->len_b <= size_b - sizeof(*text);
	}
	case SONDE_EVENT_COUNTER:
	case SONDE_EVENT_GAUGE:
	case SONDE_EVENT_ITERATION:
	case SONDE_EVENT_COUNT:
		return size_b >= sizeof(struct sonde_event_value);
	case SONDE_EVENT_SPAN_BEGIN:
	case SONDE_EVENT_SPAN_END:
		return size_b >= sizeof(struct sonde_event_span);
	case SONDE_EVENT_POOL_TAKE:
	case SONDE_EVENT_POOL_GIVE:
		return size_b >= sizeof(struct sonde_event_block);
	case SONDE_EVENT_ARG: {
		const struct sonde_event_arg *arg = (const void *)event;
		return size_b >= sizeof(*arg) && (size_t)arg->key_b + arg->value_b <= size_b - sizeof(*arg);
	}
	case SONDE_EVENT_WORK:
		return size_b >= sizeof(struct sonde_event_work);
	case SONDE_EVENT_CPU_SAMPLE: {
		const struct sonde_event_cpu_sample *sample = (const void *)event;
		return size_b >= sizeof(*sample) && sample->stack_b <= size_b - sizeof(*sample) &&
		       sample->stack_b % 8 == 0;
	}
	default:
		return 0;
	}
}

/* `words` words at `from` in drain->words: checks, converts and hands on. */
static void event_decode(const struct round *round, struct sonde_drain_thread *thread, uint32_t from, uint32_t words,
			 uint64_t latest)
{
	struct sonde_drain *drain = round->drain;
	memcpy(drain->event, drain->words + from, words * 8u);
	struct sonde_event *event = (struct sonde_event *)(void *)drain->event;
	if (!event->type || !event_valid(event))
		return;
	event->time = ticks_ns(round, ticks_unwrap(latest, event->time));
	event->site = site_check(round, event->site);
	round->sink->event(round->sink->context, thread, event);
}

/* How far a chunk of events is published, from `at` on; everything is copied to drain->words. */
static uint32_t events_copy(struct sonde_drain *drain, struct sonde_ring_chunk *chunk, uint32_t at, int released)
{
	_Atomic uint64_t *words = sonde_ring_words(chunk);
	while (at < SONDE_RING_WORDS) {
		uint64_t head = atomic_load_explicit(&words[at], memory_order_acquire);
		uint32_t size = (uint32_t)(head >> 16) & 0xffff;
		drain->words[at] = head;
		if (head == SONDE_RING_EVENTS_END || (!head && released))
			return SONDE_RING_WORDS;
		if (!head || (!(head & 0xffff) && !released))
			return at;
		if (size < 2 || size > SONDE_RING_WORDS - at) {
			drain->words[at] = SONDE_RING_EVENTS_END; /* not what we write */
			return SONDE_RING_WORDS;
		}
		for (uint32_t i = 1; i < size; i++)
			drain->words[at + i] = atomic_load_explicit(&words[at + i], memory_order_relaxed);
		at += size;
	}
	return at;
}

static int events_read(const struct round *round, struct sonde_drain_thread *thread, const struct entry *entry)
{
	struct sonde_drain *drain = round->drain;
	uint32_t index = entry->chunk;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
	uint64_t mark = atomic_load_explicit(&chunk->mark, memory_order_acquire);
	int released = chunk_released(round, thread, state);
	if ((uint32_t)(mark >> 32) != entry->seq)
		return 1;
	uint32_t from = (uint32_t)mark;
	uint32_t to = from < SONDE_RING_WORDS ? events_copy(drain, chunk, from, released) : SONDE_RING_WORDS;
	uint64_t moved = sonde_ring_mark((uint32_t)(mark >> 32), to);
	if (!chunk_claim(chunk, mark, moved))
		return 1;
	uint64_t latest = ticks_now(drain) + FUTURE_TICKS;
	while (from < to) {
		uint64_t head = drain->words[from];
		uint32_t size = (uint32_t)(head >> 16) & 0xffff;
		if (!head || head == SONDE_RING_EVENTS_END)
			break;
		event_decode(round, thread, from, size, latest);
		from += size;
	}
	int done = released || (to >= SONDE_RING_WORDS && state == SONDE_RING_SEALED);
	if (done)
		chunk_free(drain, index, moved);
	return done;
}

static int counter_changed(struct sonde_drain *drain, uint64_t serial, uint32_t site, uint64_t total)
{
	uint64_t key = serial << SONDE_RING_SITE_BITS | site;
	uint32_t at = (uint32_t)sonde_hash_mix(key) % COUNTERS_SEEN;
	for (uint32_t probe = 0; probe < 32; probe++, at = (at + 1) % COUNTERS_SEEN) {
		struct counter_seen *seen = &drain->counters[at];
		if (seen->key && seen->key != key)
			continue;
		int changed = seen->total != total;
		*seen = (struct counter_seen){key, total};
		return changed;
	}
	return 1;
}

static int counters_read(const struct round *round, struct sonde_drain_thread *thread, const struct entry *entry)
{
	struct sonde_drain *drain = round->drain;
	uint32_t index = entry->chunk;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
	_Atomic uint64_t *totals = sonde_ring_words(chunk);
	for (uint32_t site = SONDE_RING_SITE_OTHER; site <= drain->site_highest; site++) {
		uint64_t total = atomic_load_explicit(&totals[site], memory_order_relaxed);
		if (total && counter_changed(drain, thread->serial, site, total))
			round->sink->counter(round->sink->context, thread, site, total);
	}
	if (!chunk_released(round, thread, state))
		return 0;
	chunk_free(drain, index, atomic_load(&chunk->mark));
	return 1;
}

static int histogram_read(const struct round *round, struct sonde_drain_thread *thread, const struct entry *entry)
{
	struct sonde_drain *drain = round->drain;
	uint32_t index = entry->chunk;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	if (!chunk_released(round, thread, atomic_load_explicit(&chunk->state, memory_order_acquire)))
		return 0;
	_Atomic uint64_t *hits = sonde_ring_words(chunk);
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		drain->words[i] = atomic_load_explicit(&hits[i], memory_order_relaxed);
	round->sink->histogram(round->sink->context, thread, site_check(round, chunk->site), drain->words,
			       atomic_load(&chunk->sum), ~atomic_load(&chunk->not_min), atomic_load(&chunk->max));
	chunk_free(drain, index, atomic_load(&chunk->mark));
	return 1;
}

/* Nobody overwrites these: a thread waits for room. */
static int heap_read(const struct round *round, struct sonde_drain_thread *thread, const struct entry *entry)
{
	struct sonde_drain *drain = round->drain;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, entry->chunk);
	uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
	uint64_t mark = atomic_load_explicit(&chunk->mark, memory_order_acquire);
	_Atomic uint64_t *words = sonde_ring_words(chunk);
	uint32_t from = (uint32_t)mark, at = from, count = 0;
	if ((uint32_t)(mark >> 32) != entry->seq || from > SONDE_RING_WORDS)
		return 1;
	for (; at < SONDE_RING_WORDS; at++) {
		uint64_t word = atomic_load_explicit(&words[at], memory_order_acquire);
		if (!word)
			break;
		drain->words[count++] = word;
	}
	if (count && round->sink->heap)
		round->sink->heap(round->sink->context, thread, drain->words, count);
	uint64_t moved = sonde_ring_mark(entry->seq, at);
	if (!chunk_claim(chunk, mark, moved))
		return 1;
	int done = chunk_released(round, thread, state) || state == SONDE_RING_SEALED;
	if (done)
		chunk_free(drain, entry->chunk, moved);
	return done;
}

/* --- a round ------------------------------------------------------------------------------------------------------*/

static int entry_after(const struct entry *a, const struct entry *b)
{
	if (a->serial != b->serial)
		return a->serial > b->serial;
	return a->kind != b->kind ? a->kind > b->kind : a->seq > b->seq;
}

/* Shell sort with Ciura's gaps: at most 4096 entries, nothing allocated. */
static void entries_sort(struct entry *entries, uint32_t count)
{
	static const uint32_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
	for (size_t g = 0; g < sizeof(gaps) / sizeof(*gaps); g++)
		for (uint32_t i = gaps[g]; i < count; i++) {
			struct entry moving = entries[i];
			uint32_t at = i;
			for (; at >= gaps[g] && entry_after(&entries[at - gaps[g]], &moving); at -= gaps[g])
				entries[at] = entries[at - gaps[g]];
			entries[at] = moving;
		}
}

static uint32_t entries_list(struct sonde_drain *drain)
{
	uint32_t count = 0;
	uint32_t committed = atomic_load_explicit(&drain->pool->committed, memory_order_relaxed);
	if (committed > drain->chunk_count)
		committed = drain->chunk_count;
	for (uint32_t i = 0; i < committed; i++) {
		if (atomic_load_explicit(&drain->pool->free_map[i / 64], memory_order_relaxed) >> i % 64 & 1)
			continue;
		struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, i);
		uint32_t kind = atomic_load_explicit(&chunk->kind, memory_order_acquire);
		if (kind < SONDE_RING_ZONES || kind > SONDE_RING_HEAP || !chunk->thread)
			continue;
		uint32_t seq = (uint32_t)(atomic_load_explicit(&chunk->mark, memory_order_relaxed) >> 32);
		if (seq == SONDE_RING_TAKEN_BACK)
			continue;
		drain->entries[count++] = (struct entry){chunk->thread, seq, (uint16_t)kind, (uint16_t)i};
	}
	entries_sort(drain->entries, count);
	return count;
}

static int entry_read(const struct round *round, const struct entry *entry, struct sonde_drain_thread *thread)
{
	static int (*const readers[])(const struct round *, struct sonde_drain_thread *, const struct entry *) = {
	    [SONDE_RING_ZONES] = zones_read,         [SONDE_RING_EVENTS] = events_read,
	    [SONDE_RING_HISTOGRAM] = histogram_read, [SONDE_RING_COUNTERS] = counters_read,
	    [SONDE_RING_HEAP] = heap_read,
	};
	int done = readers[entry->kind](round, thread, entry);
	thread->chunks += (uint32_t)!done;
	int is_chain = entry->kind != SONDE_RING_HISTOGRAM && entry->kind != SONDE_RING_COUNTERS;
	return done || !is_chain; /* only chains wait for their first chunk */
}

static void entries_read(const struct round *round, uint32_t count)
{
	struct sonde_drain *drain = round->drain;
	const struct entry *blocked = NULL;
	struct sonde_drain_thread *thread = NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct entry *entry = &drain->entries[i];
		if (!thread || thread->serial != entry->serial) {
			uint32_t tid = sonde_ring_chunk_at(drain->pool, entry->chunk)->tid;
			thread = thread_row(round, entry->serial, tid);
		}
		if (!thread)
			continue;
		if (blocked && blocked->serial == entry->serial && blocked->kind == entry->kind) {
			thread->chunks++;
			continue;
		}
		if (!entry_read(round, entry, thread))
			blocked = entry;
	}
}

static void lost_read(const struct round *round)
{
	struct sonde_drain *drain = round->drain;
	for (uint32_t cause = 0; cause < SONDE_RING_LOST_CAUSES; cause++) {
		uint64_t now = atomic_load_explicit(&drain->pool->lost[cause], memory_order_relaxed);
		if (now > drain->lost_seen[cause])
			round->sink->lost(round->sink->context, (enum sonde_ring_lost)cause,
					  now - drain->lost_seen[cause]);
		drain->lost_seen[cause] = now;
	}
	uint64_t pending = atomic_load_explicit(&drain->pool->pending, memory_order_relaxed);
	if (round->final && pending && pending < UINT64_MAX / 2)
		round->sink->lost(round->sink->context, SONDE_RING_LOST_FULL, pending);
}

void sonde_drain_run(struct sonde_drain *drain, const struct sonde_clockfit *fit, const struct sonde_drain_sink *sink,
		     int final)
{
	struct round round = {drain, fit, sink, final};
	atomic_store(&drain->pool->doorbell, 0);
	drain->freed = 0;
	drain->rounds++;
	sites_read(&round);
	threads_check(&round);
	index_make(drain);
	uint32_t count = entries_list(drain);
	entries_read(&round, count);
	drain->used = count - (drain->freed < count ? drain->freed : count);
	lost_read(&round);
	threads_finish(&round);
	if (!drain->freed)
		return;
	atomic_fetch_add(&drain->pool->freed, 1);
	if (atomic_load(&drain->pool->waiters))
		syscall(SYS_futex, &drain->pool->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
