/* drain_events.c: reads every kind of chunk except zones: variable-length events, counters, histograms and heap words
 * (drain.h). */
#include <string.h>

#include "base/hash.h"
#include "fold/drain_state.h"
#include "format/device.h"

/* Checks the minimum payload of each type and the length of its text. */
static int event_valid(const struct sonde_event *event)
{
	size_t size_b = (size_t)event->words * 8;
	switch (event->type) {
	case SONDE_EVENT_INSTANT:
	case SONDE_EVENT_MESSAGE:
	case SONDE_EVENT_ZONE_NAME:
	case SONDE_EVENT_THREAD_NAME:
	case SONDE_EVENT_MISMATCH: {
		const struct sonde_event_text *text = (const void *)event;
		return size_b >= sizeof(*text) && text->len_b <= size_b - sizeof(*text);
	}
	case SONDE_EVENT_SNAPSHOT: {
		const struct sonde_event_snapshot *snapshot = (const void *)event;
		return size_b >= sizeof(*snapshot) && snapshot->text.len_b >= sizeof(snapshot->rss_b) &&
		       snapshot->text.len_b <= size_b - sizeof(snapshot->text);
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
	case SONDE_EVENT_DEVICE: {
		const struct sonde_event_device *device = (const void *)event;
		return size_b >= sizeof(*device) &&
		       (size_t)device->api_b + device->name_b + device->uuid_b + device->driver_b <=
			   size_b - sizeof(*device);
	}
	case SONDE_EVENT_QUEUE: {
		const struct sonde_event_queue *queue = (const void *)event;
		return size_b >= sizeof(*queue) && queue->name_b <= size_b - sizeof(*queue);
	}
	case SONDE_EVENT_OPERATION: {
		const struct sonde_event_operation *operation = (const void *)event;
		return size_b >= sizeof(*operation) && operation->name_b <= size_b - sizeof(*operation);
	}
	case SONDE_EVENT_ACTIVITY:
		return size_b >= sizeof(struct sonde_event_activity);
	case SONDE_EVENT_CALL_STACK: {
		const struct sonde_event_call_stack *call = (const void *)event;
		return size_b >= sizeof(*call) && call->stack_b <= size_b - sizeof(*call) && call->stack_b % 8 == 0;
	}
	case SONDE_EVENT_ACTIVITY_LOST: {
		const struct sonde_event_activity_lost *lost = (const void *)event;
		return size_b >= sizeof(*lost) && lost->cause_b <= size_b - sizeof(*lost);
	}
	default:
		return 0;
	}
}

/* Validates, converts and delivers `words` words at `from` in drain->words. */
static void event_decode(const struct sonde_drain_round *round, struct sonde_drain_thread *thread, uint32_t from,
			 uint32_t words, uint64_t latest)
{
	struct sonde_drain *drain = round->drain;
	memcpy(drain->event, drain->words + from, words * 8u);
	struct sonde_event *event = (struct sonde_event *)(void *)drain->event;
	if (!event->type || !event_valid(event))
		return;
	event->time = sonde_drain_ticks_ns(round, sonde_drain_ticks_unwrap(latest, event->time));
	event->site = sonde_drain_site(round, event->site);
	round->sink->event(round->sink->context, thread, event);
}

/* Copies a chunk's events from `at` on to drain->words and returns how far they are published. */
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
			drain->words[at] = SONDE_RING_EVENTS_END; /* a value that targets never write */
			return SONDE_RING_WORDS;
		}
		for (uint32_t i = 1; i < size; i++)
			drain->words[at + i] = atomic_load_explicit(&words[at + i], memory_order_relaxed);
		at += size;
	}
	return at;
}

/* Copies of stacks must not stay in memory that other processes of the user can read: clear them once taken. */
static void wipe(struct sonde_ring_chunk *chunk, uint32_t at, uint32_t size, uint64_t head)
{
	_Atomic uint64_t *words = sonde_ring_words(chunk);
	uint32_t first = sizeof(struct sonde_event) / 8; /* the first words tell where the next event is */
	if ((head & 0xffff) != SONDE_EVENT_CPU_SAMPLE && (head & 0xffff) != SONDE_EVENT_CALL_STACK)
		return;
	for (uint32_t i = first; i < size; i++)
		atomic_store_explicit(&words[at + i], 0, memory_order_relaxed);
}

int sonde_drain_events_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			    const struct sonde_drain_entry *entry)
{
	struct sonde_drain *drain = round->drain;
	uint32_t index = entry->chunk;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
	uint64_t mark = atomic_load_explicit(&chunk->mark, memory_order_acquire);
	int released = sonde_drain_chunk_released(round, thread, state);
	if ((uint32_t)(mark >> 32) != entry->seq)
		return 1;
	uint32_t from = (uint32_t)mark;
	uint32_t to = from < SONDE_RING_WORDS ? events_copy(drain, chunk, from, released) : SONDE_RING_WORDS;
	uint64_t moved = sonde_ring_mark((uint32_t)(mark >> 32), to);
	if (!sonde_drain_chunk_claim(chunk, mark, moved))
		return 1;
	uint64_t latest = sonde_drain_ticks_now(drain) + SONDE_DRAIN_FUTURE;
	while (from < to) {
		uint64_t head = drain->words[from];
		uint32_t size = (uint32_t)(head >> 16) & 0xffff;
		if (!head || head == SONDE_RING_EVENTS_END)
			break;
		wipe(chunk, from, size, head);
		event_decode(round, thread, from, size, latest);
		from += size;
	}
	int done = released || (to >= SONDE_RING_WORDS && state == SONDE_RING_SEALED);
	if (done)
		sonde_drain_chunk_free(drain, entry, moved);
	return done;
}

static int counter_changed(struct sonde_drain *drain, uint64_t serial, uint32_t site, uint64_t total)
{
	uint64_t key = serial << SONDE_RING_SITE_BITS | site;
	uint32_t at = (uint32_t)sonde_hash_mix(key) % SONDE_DRAIN_COUNTERS;
	for (uint32_t probe = 0; probe < 32; probe++, at = (at + 1) % SONDE_DRAIN_COUNTERS) {
		struct sonde_drain_counter *seen = &drain->counters[at];
		if (seen->key && seen->key != key)
			continue;
		int changed = seen->total != total;
		*seen = (struct sonde_drain_counter){key, total};
		return changed;
	}
	return 1;
}

int sonde_drain_counters_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			      const struct sonde_drain_entry *entry)
{
	struct sonde_drain *drain = round->drain;
	uint32_t index = entry->chunk;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
	_Atomic uint64_t *totals = sonde_ring_words(chunk);
	for (uint32_t site = SONDE_RING_SITE_OTHER; site <= drain->site_highest; site++) {
		uint64_t total = atomic_load_explicit(&totals[site], memory_order_relaxed);
		if (total && sonde_drain_site(round, site) == site &&
		    counter_changed(drain, thread->serial, site, total))
			round->sink->counter(round->sink->context, thread, site, total);
	}
	if (!sonde_drain_chunk_released(round, thread, state))
		return 0;
	sonde_drain_chunk_free(drain, entry, atomic_load(&chunk->mark));
	return 1;
}

int sonde_drain_histogram_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			       const struct sonde_drain_entry *entry)
{
	struct sonde_drain *drain = round->drain;
	uint32_t index = entry->chunk;
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	if (!sonde_drain_chunk_released(round, thread, atomic_load_explicit(&chunk->state, memory_order_acquire)))
		return 0;
	_Atomic uint64_t *hits = sonde_ring_words(chunk);
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		drain->words[i] = atomic_load_explicit(&hits[i], memory_order_relaxed);
	round->sink->histogram(round->sink->context, thread, sonde_drain_site(round, chunk->site), drain->words,
			       atomic_load(&chunk->sum), ~atomic_load(&chunk->not_min), atomic_load(&chunk->max));
	sonde_drain_chunk_free(drain, entry, atomic_load(&chunk->mark));
	return 1;
}

/* Threads wait for space instead of overwriting heap chunks. */
int sonde_drain_heap_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			  const struct sonde_drain_entry *entry)
{
	struct sonde_drain *drain = round->drain;
	struct sonde_ring_chunk *chunk = sonde_drain_chunk_of(drain, entry);
	uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
	uint64_t mark = atomic_load_explicit(&chunk->mark, memory_order_acquire);
	_Atomic uint64_t *words = sonde_ring_words(chunk);
	uint32_t from = (uint32_t)mark, at = from, count = 0;
	uint32_t most = entry->part ? SONDE_RING_PART_WORDS : SONDE_RING_WORDS;
	if ((uint32_t)(mark >> 32) != entry->seq || from > most)
		return 1;
	for (; at < most; at++) {
		uint64_t word = atomic_load_explicit(&words[at], memory_order_acquire);
		if (!word)
			break;
		drain->words[count++] = word;
	}
	if (count && round->sink->heap)
		round->sink->heap(round->sink->context, thread, drain->words, count);
	uint64_t moved = sonde_ring_mark(entry->seq, at);
	if (!sonde_drain_chunk_claim(chunk, mark, moved))
		return 1;
	int done = sonde_drain_chunk_released(round, thread, state) || state == SONDE_RING_SEALED;
	if (done)
		sonde_drain_chunk_free(drain, entry, moved);
	return done;
}
