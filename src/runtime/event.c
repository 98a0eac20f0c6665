/* event.c: variable-length events: arguments, instant events, messages, gauges, spans, annotations, names.
 *
 * Space is reserved with one addition to the thread's cursor; the next store sets the length of the event, and storing
 * its header publishes it. A signal handler in between reserves space after it. Padding is not written: a fresh chunk
 * is zero.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/runtime.h"

#define KEY_MAX_B 255u
#define TEXT_MAX_B 4095u
#define KIND_INNERMOST UINT32_MAX /* the site of the innermost open zone */

struct text {
	const void *at;
	size_t size_b;
};

/* Where an event gets its site: from a macro's place, by kind and name, or none. */
struct origin {
	struct sonde_place *place;
	uint32_t kind;
	const char *name;
};

uint64_t sonde_event_time(const struct sonde_ring_pool *pool)
{
	return pool->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clock_cycles() : sonde_clock_now_ns();
}

struct sonde_event *sonde_event_reserve(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint32_t words)
{
	if (words > SONDE_RING_WORDS) {
		sonde_process_lost(pool, SONDE_RING_LOST_LONG, 1);
		return NULL;
	}
	for (;;) {
		uint64_t slot = sonde_hot_add(&thread->event_cursor, words * 8u);
		if (thread->events.end && slot + words * 8u <= thread->events.end) {
			sonde_hot_store(slot, (uint64_t)words << 16);
			return (struct sonde_event *)(uintptr_t)slot;
		}
		if (thread->events.end && slot < thread->events.end)
			sonde_hot_store(slot, SONDE_RING_EVENTS_END);
		if (sonde_chain_next(thread, pool, &thread->events, SONDE_RING_EVENTS)) {
			sonde_process_lost(pool, SONDE_RING_LOST_FULL, 1);
			return NULL;
		}
		thread->event_cursor = (uint64_t)(uintptr_t)sonde_ring_words(thread->events.chunk);
	}
}

void sonde_event_publish(struct sonde_event *event, const struct sonde_event *head)
{
	event->time = head->time;
	uint64_t word = head->type | (uint64_t)head->words << 16 | (uint64_t)head->site << 32;
	sonde_hot_store((uint64_t)(uintptr_t)event, word);
}

static uint32_t origin_site(struct sonde_ring_pool *pool, const struct origin *origin)
{
	if (origin->place)
		return sonde_place_id(pool, origin->place);
	if (origin->kind == KIND_INNERMOST)
		return sonde_thread_innermost(sonde_thread_current());
	return origin->name ? sonde_place_named(pool, origin->kind, origin->name) : 0;
}

/* `head` starts a struct of fixed_b bytes; two texts follow it. */
static int event_put(struct sonde_thread *thread, struct sonde_ring_pool *pool, struct sonde_event *head,
		     size_t fixed_b, const struct text texts[2])
{
	size_t size_b = fixed_b + texts[0].size_b + texts[1].size_b;
	head->words = (uint16_t)((size_b + 7) / 8);
	head->time = sonde_event_time(pool);
	struct sonde_event *event = sonde_event_reserve(thread, pool, head->words);
	if (!event)
		return SONDE_ERR_FULL;
	char *to = (char *)(event + 1);
	memcpy(to, head + 1, fixed_b - sizeof(*head));
	to += fixed_b - sizeof(*head);
	memcpy(to, texts[0].at, texts[0].size_b);
	memcpy(to + texts[0].size_b, texts[1].at, texts[1].size_b);
	sonde_event_publish(event, head);
	return SONDE_OK;
}

static int event_send(struct sonde_event *head, size_t fixed_b, const struct origin *origin, const struct text texts[2])
{
	static const struct text none[2] = {{"", 0}, {"", 0}};
	if (sonde_thread_is_off())
		return SONDE_ERR_OFF;
	struct sonde_ring_pool *pool;
	struct sonde_thread *thread = sonde_thread_enter(&pool);
	if (!thread)
		return SONDE_ERR_OFF;
	int saved = errno, code = SONDE_ERR_OFF;
	if (atomic_load(&sonde_process_get()->state) == SONDE_PROCESS_ON) {
		head->site = origin ? origin_site(pool, origin) : head->site;
		thread->waits = origin && origin->kind == SONDE_SITE_POOL;
		code = event_put(thread, pool, head, fixed_b, texts ? texts : none);
		thread->waits = 0;
	}
	errno = saved;
	sonde_thread_leave(thread);
	return code;
}

int sonde_event_send(struct sonde_event *head, size_t fixed_b, const void *more, size_t more_b)
{
	const struct text texts[2] = {{more, more_b}, {"", 0}};
	return event_send(head, fixed_b, NULL, texts);
}

static int send_text(uint16_t type, const struct origin *origin, const char *text)
{
	size_t text_b = text ? strnlen(text, TEXT_MAX_B) : 0;
	struct sonde_event_text event = {.head.type = type, .len_b = text_b};
	struct text texts[2] = {{text ? text : "", text_b}, {"", 0}};
	return event_send(&event.head, sizeof(event), origin, texts);
}

static int send_value(uint16_t type, const struct origin *origin, double value)
{
	struct sonde_event_value event = {.head.type = type, .value = value};
	return event_send(&event.head, sizeof(event), origin, NULL);
}

static int send_span(uint16_t type, const struct origin *origin, uint64_t id)
{
	struct sonde_event_span event = {.head.type = type, .id = id};
	return event_send(&event.head, sizeof(event), origin, NULL);
}

static int send_arg(const char *key, struct sonde_event_arg event, struct text value)
{
	if (!key)
		return SONDE_ERR_ARGUMENT;
	struct text texts[2] = {{key, strnlen(key, KEY_MAX_B)}, value};
	event.head.type = SONDE_EVENT_ARG;
	event.key_b = (uint16_t)texts[0].size_b;
	event.value_b = (uint16_t)value.size_b;
	return event_send(&event.head, sizeof(event), NULL, texts);
}

static uint64_t double_bits(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

int sonde_zone_name(const char *name)
{
	return name ? send_text(SONDE_EVENT_ZONE_NAME, NULL, name) : SONDE_ERR_ARGUMENT;
}

int sonde_arg_int(const char *key, int64_t value)
{
	struct sonde_event_arg event = {.bits = (uint64_t)value, .kind = SONDE_ARG_INT};
	return send_arg(key, event, (struct text){"", 0});
}

int sonde_arg_uint(const char *key, uint64_t value)
{
	struct sonde_event_arg event = {.bits = value, .kind = SONDE_ARG_UINT};
	return send_arg(key, event, (struct text){"", 0});
}

int sonde_arg_double(const char *key, double value)
{
	struct sonde_event_arg event = {.bits = double_bits(value), .kind = SONDE_ARG_FLOAT};
	return send_arg(key, event, (struct text){"", 0});
}

int sonde_arg_text(const char *key, const char *value)
{
	return sonde_span_arg_text(0, key, value);
}

int sonde_span_arg_text(uint64_t id, const char *key, const char *value)
{
	if (!value)
		return SONDE_ERR_ARGUMENT;
	struct sonde_event_arg event = {.span = id, .kind = SONDE_ARG_TEXT};
	return send_arg(key, event, (struct text){value, strnlen(value, TEXT_MAX_B)});
}

int sonde_span_arg_double(uint64_t id, const char *key, double value)
{
	struct sonde_event_arg event = {.span = id, .bits = double_bits(value), .kind = SONDE_ARG_FLOAT};
	return send_arg(key, event, (struct text){"", 0});
}

int sonde_zone_work(double flop, double bytes, double items)
{
	struct sonde_event_work event = {.head.type = SONDE_EVENT_WORK, .flop = flop, .bytes = bytes, .items = items};
	return event_send(&event.head, sizeof(event), &(struct origin){.kind = KIND_INNERMOST}, NULL);
}

int sonde_instant(const char *name, const char *text)
{
	struct origin origin = {.kind = SONDE_SITE_INSTANT, .name = name};
	return name ? send_text(SONDE_EVENT_INSTANT, &origin, text) : SONDE_ERR_ARGUMENT;
}

int sonde_message(const char *text)
{
	return text ? send_text(SONDE_EVENT_MESSAGE, NULL, text) : SONDE_ERR_ARGUMENT;
}

static int send_block(uint16_t type, const char *name, const void *block, uint64_t size_b)
{
	struct sonde_event_block event = {.head.type = type, .address = (uint64_t)(uintptr_t)block, .size_b = size_b};
	if (!name || !*name)
		return SONDE_ERR_ARGUMENT;
	return block ? event_send(&event.head, sizeof(event), &(struct origin){.kind = SONDE_SITE_POOL, .name = name},
				  NULL)
		     : SONDE_OK;
}

int sonde_alloc(const char *name, const void *block, size_t size_b)
{
	return send_block(SONDE_EVENT_POOL_TAKE, name, block, size_b);
}

int sonde_free(const char *name, const void *block)
{
	return send_block(SONDE_EVENT_POOL_GIVE, name, block, 0);
}

int sonde_thread_name(const char *name)
{
	return name ? send_text(SONDE_EVENT_THREAD_NAME, NULL, name) : SONDE_ERR_ARGUMENT;
}

int sonde_gauge_set(const char *name, double value)
{
	struct origin origin = {.kind = SONDE_SITE_GAUGE, .name = name};
	return name ? send_value(SONDE_EVENT_GAUGE, &origin, value) : SONDE_ERR_ARGUMENT;
}

int sonde_iteration(const char *name, double items)
{
	struct origin origin = {.kind = SONDE_SITE_ITERATION, .name = name};
	return name ? send_value(SONDE_EVENT_ITERATION, &origin, items) : SONDE_ERR_ARGUMENT;
}

int sonde_span_begin(const char *name, uint64_t id)
{
	struct origin origin = {.kind = SONDE_SITE_SPAN, .name = name};
	return name ? send_span(SONDE_EVENT_SPAN_BEGIN, &origin, id) : SONDE_ERR_ARGUMENT;
}

int sonde_span_end(uint64_t id)
{
	return send_span(SONDE_EVENT_SPAN_END, NULL, id);
}

void sonde_place_gauge(struct sonde_place *place, double value)
{
	send_value(SONDE_EVENT_GAUGE, &(struct origin){.place = place}, value);
}

void sonde_place_instant(struct sonde_place *place)
{
	send_text(SONDE_EVENT_INSTANT, &(struct origin){.place = place}, NULL);
}

void sonde_place_iteration(struct sonde_place *place, double items)
{
	send_value(SONDE_EVENT_ITERATION, &(struct origin){.place = place}, items);
}

void sonde_place_span(struct sonde_place *place, uint64_t id)
{
	send_span(SONDE_EVENT_SPAN_BEGIN, &(struct origin){.place = place}, id);
}

/* --- zones by name: begin and end are checked against each other --------------------------------------------------*/

static uint32_t site_by_name(const char *name, struct sonde_thread **out)
{
	if (sonde_thread_is_off())
		return 0;
	struct sonde_ring_pool *pool;
	*out = sonde_thread_enter(&pool);
	if (!*out)
		return 0;
	uint32_t site = sonde_place_named(pool, SONDE_SITE_ZONE, name);
	sonde_thread_leave(*out);
	return site;
}

int sonde_begin(const char *name)
{
	struct sonde_thread *thread;
	if (!name)
		return SONDE_ERR_ARGUMENT;
	uint32_t site = site_by_name(name, &thread);
	if (!site)
		return SONDE_ERR_OFF;
	if (thread->open_depth < SONDE_THREAD_OPEN)
		thread->open[thread->open_depth] = site;
	thread->open_depth++;
	struct sonde_place place = {.id = site};
	sonde_hot_begin(&place);
	return SONDE_OK;
}

static int mismatch(uint32_t wanted, uint32_t open)
{
	char text[SONDE_NAME_B] = "nothing is open";
	struct sonde_ring_pool *pool = atomic_load(&sonde_process_get()->pool);
	size_t text_b = strlen(text);
	if (open)
		text_b = sonde_place_text(pool, open, text, sizeof(text));
	struct sonde_event_text event = {.head = {.type = SONDE_EVENT_MISMATCH, .site = wanted}, .len_b = text_b};
	event_send(&event.head, sizeof(event), NULL, (struct text[2]){{text, text_b}, {"", 0}});
	return SONDE_ERR_MISMATCH;
}

int sonde_end(const char *name)
{
	struct sonde_thread *thread;
	if (!name)
		return SONDE_ERR_ARGUMENT;
	uint32_t site = site_by_name(name, &thread);
	if (!site)
		return SONDE_ERR_OFF;
	uint32_t depth = thread->open_depth;
	if (!depth)
		return mismatch(site, 0);
	uint32_t open = sonde_thread_innermost(thread); /* includes zones of the macros */
	if (!open && depth <= SONDE_THREAD_OPEN)
		open = thread->open[depth - 1];
	if (open && open != site)
		return mismatch(site, open);
	thread->open_depth--;
	sonde_hot_end();
	return SONDE_OK;
}
