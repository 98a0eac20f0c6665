/* hot.h: what the macros of sonde.h expand to. Include sonde.h, not this file.
 *
 * Each thread has a cursor and a limit on a page of its own. An event reserves the next word by adding to the cursor
 * with one instruction, so that a signal handler that interrupts it gets a word of its own; then the event stores time
 * and site in its word. All other cases (not started, paused, chunk full, forked, cycle counter unavailable, site
 * without an id) appear as a limit of 0, a cursor at its limit, or a sum that overflows; they go to sonde_hot_slow(),
 * which returns the reservation. While nothing is recorded, an event costs one test that falls through: all other code
 * is moved out of line.
 */
#ifndef SONDE_SONDE_H
#include <sonde/sonde.h> /* sonde.h includes this file where it is needed */
#elif !defined(SONDE_HOT_H) && !defined(SONDE_DISABLE)
#define SONDE_HOT_H

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct sonde_hot {
	uint64_t cursor;               /* address of the next word */
	uint64_t limit;                /* end address of the chunk; 0 = call sonde_hot_slow() */
	uint64_t off;                  /* nothing is recorded and no check is needed; any thread may change it */
	uint64_t *counters;            /* this thread's totals by site id; NULL = take the slow path */
	struct sonde_hot_hist **hists; /* of this thread, by site id; NULL = slow path */
};

#define SONDE_HOT_HISTS 64u
#define SONDE_HOT_HIST_BITS 7 /* sub-bucket bits: 128 buckets per octave */

/* A histogram of one site and thread, in shared memory. */
struct sonde_hot_hist {
	uint32_t head_a[3];
	uint32_t site;
	uint64_t head_b[3];
	uint64_t sum, not_min, max; /* not_min: ~min */
	uint64_t head_c[8];
	uint64_t hits[(64 - SONDE_HOT_HIST_BITS + 1) << SONDE_HOT_HIST_BITS];
};

extern __thread struct sonde_hot *sonde_hot_self __attribute__((tls_model("initial-exec")));

/* `site` is NULL for the end of a zone. `slot` is the reserved address, 8 bytes per event. */
void sonde_hot_slow(struct sonde_place *site, uint64_t slot) __attribute__((cold));
void sonde_hot_slow_next(struct sonde_place *site, uint64_t slot) __attribute__((cold));
void sonde_hot_slow_count(struct sonde_place *site, uint64_t amount) __attribute__((cold));
void sonde_place_gauge(struct sonde_place *site, double value);
void sonde_place_histogram(struct sonde_place *site, uint64_t value);
void sonde_place_instant(struct sonde_place *site);
void sonde_place_iteration(struct sonde_place *site, double items);
void sonde_place_span(struct sonde_place *site, uint64_t id);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#define SONDE_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define SONDE_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Adds to a word of this thread and returns its previous value. A single instruction, so that signal handlers see all
 * or nothing; without the lock prefix, because other threads only read. */
#if defined(__x86_64__)
static inline uint64_t sonde_hot_add(uint64_t *word, uint64_t amount)
{
	__asm__ volatile("xaddq %0, %1" : "+r"(amount), "+m"(*word) : : "cc");
	return amount;
}

/* The asm lists `limit` as changed, because a signal handler may have switched to the next chunk: the compiler must
 * reload it. */
static inline uint64_t sonde_hot_reserve(struct sonde_hot *hot, uint64_t size_b)
{
	__asm__ volatile("xaddq %0, %1" : "+r"(size_b), "+m"(hot->cursor), "+m"(hot->limit) : : "cc");
	return size_b;
}

static inline uint64_t sonde_hot_time(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t sonde_hot_add(uint64_t *word, uint64_t amount)
{
	return __atomic_fetch_add(word, amount, __ATOMIC_RELAXED);
}

static inline uint64_t sonde_hot_reserve(struct sonde_hot *hot, uint64_t size_b)
{
	size_b = __atomic_fetch_add(&hot->cursor, size_b, __ATOMIC_RELAXED);
	__atomic_signal_fence(
	    __ATOMIC_SEQ_CST); /* the limit is read afterwards: a handler may have switched to the next chunk */
	return size_b;
}

static inline uint64_t sonde_hot_time(void)
{
	uint64_t value;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}
#endif

static inline void sonde_hot_store(uint64_t slot, uint64_t word)
{
	__atomic_store_n((uint64_t *)(uintptr_t)slot, word, __ATOMIC_RELEASE);
}

/* Aligned words are read atomically on all supported machines. Plain reads fold into the comparison, which saves two
 * instructions per event; thread sanitizers need to see that the race is intended. */
#if defined(__SANITIZE_THREAD__) || defined(__aarch64__)
#define SONDE_HOT_LOAD(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#else
#define SONDE_HOT_LOAD(word) (word)
#endif

static inline __attribute__((always_inline)) void sonde_hot_begin(struct sonde_place *site)
{
	struct sonde_hot *hot = sonde_hot_self;
	if (SONDE_LIKELY(SONDE_HOT_LOAD(hot->off)))
		return;
	uint64_t word, slot = sonde_hot_reserve(hot, 8);
	if (SONDE_UNLIKELY(slot >= SONDE_HOT_LOAD(hot->limit) ||
			   __builtin_add_overflow(sonde_hot_time() << 20, SONDE_HOT_LOAD(site->id), &word)))
		sonde_hot_slow(site, slot);
	else
		sonde_hot_store(slot, word);
}

static inline __attribute__((always_inline)) void sonde_hot_end(void)
{
	struct sonde_hot *hot = sonde_hot_self;
	if (SONDE_LIKELY(SONDE_HOT_LOAD(hot->off)))
		return;
	uint64_t slot = sonde_hot_reserve(hot, 8);
	if (SONDE_UNLIKELY(slot >= SONDE_HOT_LOAD(hot->limit)))
		sonde_hot_slow(NULL, slot);
	else
		sonde_hot_store(slot, sonde_hot_time() << 20);
}

/* Ends the innermost zone and begins another, with one clock reading. */
static inline __attribute__((always_inline)) void sonde_hot_next(struct sonde_place *site)
{
	struct sonde_hot *hot = sonde_hot_self;
	if (SONDE_LIKELY(SONDE_HOT_LOAD(hot->off)))
		return;
	uint64_t time = 0, word, slot = sonde_hot_reserve(hot, 16);
	if (SONDE_UNLIKELY(slot + 8 >= SONDE_HOT_LOAD(hot->limit) ||
			   __builtin_add_overflow(time = sonde_hot_time() << 20, SONDE_HOT_LOAD(site->id), &word))) {
		sonde_hot_slow_next(site, slot);
		return;
	}
	sonde_hot_store(slot, time);
	sonde_hot_store(slot + 8, word);
}

static inline __attribute__((always_inline)) void sonde_hot_count(struct sonde_place *site, uint64_t amount)
{
	struct sonde_hot *hot = sonde_hot_self;
	if (SONDE_LIKELY(SONDE_HOT_LOAD(hot->off)))
		return;
	uint64_t *counters = __atomic_load_n(&hot->counters, __ATOMIC_RELAXED);
	uint64_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
	if (SONDE_UNLIKELY(!counters || id >= SONDE_PLACE_NEW))
		sonde_hot_slow_count(site, amount);
	else
		sonde_hot_add(&counters[id], amount);
}

/* Adds to a word of this thread, in one instruction on x86-64. */
static inline void sonde_hot_bump(uint64_t *word, uint64_t amount)
{
#if defined(__x86_64__)
	__asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(amount) : "cc");
#else
	__atomic_fetch_add(word, amount, __ATOMIC_RELAXED);
#endif
}

/* A new minimum or maximum, like every rare case, goes to sonde_place_histogram(). Each value below 128 has its own
 * bucket. Setting bit 7 of such a value gives it the shift of the values up to 255, without an unpredictable branch. */
static inline __attribute__((always_inline)) void sonde_hot_histogram(struct sonde_place *site, uint64_t value)
{
	struct sonde_hot *hot = sonde_hot_self;
	if (SONDE_LIKELY(SONDE_HOT_LOAD(hot->off)))
		return;
	struct sonde_hot_hist **hists = __atomic_load_n(&hot->hists, __ATOMIC_RELAXED);
	uint64_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
	struct sonde_hot_hist *hist = hists ? hists[id % SONDE_HOT_HISTS] : NULL;
	if (SONDE_UNLIKELY(!hist || hist->site != id || ~value > SONDE_HOT_LOAD(hist->not_min) ||
			   value > SONDE_HOT_LOAD(hist->max))) {
		sonde_place_histogram(site, value);
		return;
	}
	uint32_t shift = 63u - SONDE_HOT_HIST_BITS - (uint32_t)__builtin_clzll(value | 1u << SONDE_HOT_HIST_BITS);
	uint64_t bucket = ((uint64_t)shift << SONDE_HOT_HIST_BITS) + (value >> shift);
	sonde_hot_bump(&hist->sum, value);
	sonde_hot_bump(&hist->hits[bucket], 1);
}

#define SONDE_PASTE_(a, b) a##b
#define SONDE_PASTE(a, b) SONDE_PASTE_(a, b)
#define SONDE_UNIQUE(stem) SONDE_PASTE(stem, __LINE__)

#define SONDE_SITE(variable, kind, name, unit, rgb) \
	static struct sonde_place variable = {SONDE_PLACE_NEW, name, __func__, __FILE__, unit, kind, __LINE__, rgb}

#define SONDE_KIND_ZONE 1
#define SONDE_KIND_COUNTER 2
#define SONDE_KIND_GAUGE 3
#define SONDE_KIND_HISTOGRAM 4
#define SONDE_KIND_SPAN 5
#define SONDE_KIND_INSTANT 6
#define SONDE_KIND_ITERATION 7
#define SONDE_KIND_COUNT 8

#ifdef __cplusplus
struct sonde_scope {
	explicit sonde_scope(struct sonde_place *site)
	{
		sonde_hot_begin(site);
	}
	~sonde_scope()
	{
		sonde_hot_end();
	}
	sonde_scope(const sonde_scope &) = delete;
	sonde_scope &operator=(const sonde_scope &) = delete;
};
#define SONDE_SCOPE_(site) struct sonde_scope SONDE_UNIQUE(sonde_scope_)(&site)
#else
static inline __attribute__((always_inline)) char sonde_scope_begin(struct sonde_place *site)
{
	sonde_hot_begin(site);
	return 0;
}

static inline __attribute__((always_inline)) void sonde_scope_end(char *scope)
{
	(void)scope;
	sonde_hot_end();
}
#define SONDE_SCOPE_(site) \
	char SONDE_UNIQUE(sonde_scope_) __attribute__((cleanup(sonde_scope_end), unused)) = sonde_scope_begin(&site)
#endif

/* A zone from here to the end of the block. `name`: a literal; `rgb`: 0xRRGGBB, 0 = chosen by the viewer. */
#define SONDE_ZONE_COLOR(name, rgb)                                              \
	SONDE_SITE(SONDE_UNIQUE(sonde_site_), SONDE_KIND_ZONE, name, NULL, rgb); \
	SONDE_SCOPE_(SONDE_UNIQUE(sonde_site_))
#define SONDE_ZONE(name) SONDE_ZONE_COLOR(name, 0)

#define SONDE_WITH_SITE_(kind, name, call)                        \
	do {                                                      \
		SONDE_SITE(sonde_site_here, kind, name, NULL, 0); \
		call;                                             \
	} while (0)

/* A zone that is not bound to a block: each begin needs an end in the same thread. */
#define SONDE_BEGIN(name) SONDE_WITH_SITE_(SONDE_KIND_ZONE, name, sonde_hot_begin(&sonde_site_here))
#define SONDE_END() sonde_hot_end()
/* Ends the innermost zone and begins another, with a single clock reading. */
#define SONDE_ZONE_NEXT(name) SONDE_WITH_SITE_(SONDE_KIND_ZONE, name, sonde_hot_next(&sonde_site_here))
#define SONDE_ZONE_WORK(flop, bytes, items) ((void)sonde_zone_work((double)(flop), (double)(bytes), (double)(items)))
#define SONDE_ZONE_ARG(key, value) ((void)sonde_arg_double(key, (double)(value)))
/* Counts calls without timing them. */
#define SONDE_COUNT(name) SONDE_WITH_SITE_(SONDE_KIND_COUNT, name, sonde_hot_count(&sonde_site_here, 1))
#define SONDE_COUNTER_ADD(name, amount) \
	SONDE_WITH_SITE_(SONDE_KIND_COUNTER, name, sonde_hot_count(&sonde_site_here, (uint64_t)(amount)))
#define SONDE_GAUGE_SET(name, value) \
	SONDE_WITH_SITE_(SONDE_KIND_GAUGE, name, sonde_place_gauge(&sonde_site_here, (double)(value)))
#define SONDE_HISTOGRAM(name, value) \
	SONDE_WITH_SITE_(SONDE_KIND_HISTOGRAM, name, sonde_hot_histogram(&sonde_site_here, (uint64_t)(value)))
#define SONDE_INSTANT(name) SONDE_WITH_SITE_(SONDE_KIND_INSTANT, name, sonde_place_instant(&sonde_site_here))
#define SONDE_ITERATION(name, items) \
	SONDE_WITH_SITE_(SONDE_KIND_ITERATION, name, sonde_place_iteration(&sonde_site_here, (double)(items)))
#define SONDE_SPAN_BEGIN(name, id) \
	SONDE_WITH_SITE_(SONDE_KIND_SPAN, name, sonde_place_span(&sonde_site_here, (uint64_t)(id)))
#define SONDE_SPAN_END(id) ((void)sonde_span_end((uint64_t)(id)))

#endif
