/* drain_zones.c: reads chunks of zones: published words, sorted by time, converted to ns that never decrease
 * (drain.h). */
#include "fold/drain_state.h"

#define SORT_MOVES 65536u /* signal handlers need a few; a hostile order that needs more is clamped instead */
#define CATCH_UP 32u      /* words of signal handlers that a block may take from beyond its end */

/* Properties of the words in `times` and `sites`. */
struct block {
	uint32_t count;
	int unknown; /* some site is not below `known_below` */
	int fell;    /* times are not sorted */
};

/* Sorts words by time: a signal handler's words precede those of the event that it interrupted. */
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

/* Converts ticks to ns if all lie on one clock piece and are sorted; returns 0 otherwise. Relative to the first tick
 * the numbers are small, so vector units can multiply 32 by 32 bits; results equal sonde_clock_scale_ns()'s. */
static int zones_time_straight(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			       const struct block *block, uint64_t latest)
{
	uint64_t *times = round->drain->times, last = block->count - 1;
	uint64_t first = sonde_drain_ticks_unwrap(latest, times[0]),
		 span = (times[last] - times[0]) & SONDE_RING_TIME_MASK;
	if (block->fell || span >> 31 || round->drain->clock != SONDE_RING_CLOCK_CYCLES ||
	    (int64_t)(first - round->fit->first.cycles) < 0)
		return 0;
	const struct sonde_clock_scale *piece = sonde_clockfit_piece(round->fit, first, first + span);
	if (!piece || piece->mult >> 32 || (int64_t)(first - piece->base_cycles) < 0)
		return 0;
	unsigned __int128 scaled = (unsigned __int128)(first - piece->base_cycles) * piece->mult;
	uint64_t first_ns = piece->base_ns + (uint64_t)(scaled >> 32), remainder = (uint32_t)scaled;
	uint64_t mult = piece->mult, from = times[0];
	if (first_ns < thread->last_ns)
		return 0;
	for (uint64_t i = 0; i <= last; i++)
		times[i] = first_ns + ((remainder + (uint64_t)(uint32_t)(times[i] - from) * mult) >> 32);
	thread->last_ns = times[last];
	return 1;
}

/* Converts ticks to ns that never decrease. */
static void zones_time(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
		       const struct block *block)
{
	struct sonde_drain *drain = round->drain;
	uint64_t latest = sonde_drain_ticks_now(drain) + SONDE_DRAIN_FUTURE;
	if (zones_time_straight(round, thread, block, latest))
		return;
	for (uint32_t i = 0; i < block->count; i++)
		drain->times[i] = sonde_drain_ticks_unwrap(latest, drain->times[i]);
	if (block->fell)
		zones_sort(drain, block->count);
	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t time_ns = sonde_drain_ticks_ns(round, drain->times[i]);
		thread->last_ns = time_ns > thread->last_ns ? time_ns : thread->last_ns;
		drain->times[i] = thread->last_ns;
	}
}

/* Copies the published words in [at, end) and returns where they stop. A word that was reserved and never stored is
 * skipped once its thread can no longer store it. */
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

/* Adds words beyond a block's end that belong before its last ones: a signal handler interrupted an event between
 * reserving its slot and storing its word. Without them, the next block's times would have to be clamped. */
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

/* Splits the copied words into `times`, still 44 bits wide, and `sites`: branch-free, so that it can be vectorised. */
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

int sonde_drain_zones_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			   const struct sonde_drain_entry *entry)
{
	struct sonde_drain *drain = round->drain;
	uint32_t index = entry->chunk;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
	uint64_t mark = atomic_load_explicit(&chunk->mark, memory_order_acquire);
	uint32_t seq = (uint32_t)(mark >> 32), prev = chunk->prev;
	if (seq != entry->seq)
		return 1; /* overwritten since it was listed: its contents now belong to a later position of the chain
			   */
	int released = sonde_drain_chunk_released(round, thread, state), published = 1;
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
		if (!sonde_drain_chunk_claim(chunk, sonde_ring_mark(seq, from), sonde_ring_mark(seq, at)))
			return 1; /* overwritten: the thread has counted the loss */
		if (!drain->count)
			continue;
		thread->zones_seq = seq;
		thread->zones_done = 0;
		struct block block = zones_split(drain);
		zones_time(round, thread, &block);
		for (uint32_t i = 0; block.unknown && i < block.count; i++)
			drain->sites[i] = sonde_drain_site(round, drain->sites[i]);
		round->sink->zones(round->sink->context, thread, drain->sites, drain->times, block.count, gap);
		gap = 0;
	}
	int done = released || (at >= SONDE_RING_WORDS && state == SONDE_RING_SEALED);
	if (!done)
		return 0;
	thread->zones_seq = seq;
	thread->zones_done = 1;
	sonde_drain_chunk_free(drain, entry, sonde_ring_mark(seq, at));
	return 1;
}
