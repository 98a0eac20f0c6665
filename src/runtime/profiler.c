/* profiler.c: explicit handles: named timers with immediate results (sonde.h, "profilers").
 *
 * A handle is mapped memory: a table of names and a table of running timers. Slots of both are taken with
 * compare-and-swap and totals are atomic, so threads never wait for each other. A running timer's slot is reserved,
 * filled, then published by storing its name's number; a stop claims it the same way, so that only one of two
 * concurrent stops gets it.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "runtime/runtime.h"
#include "runtime/table.h"

#define NAMES 512u
#define RUNNING 1024u
#define SLOT_RESERVED UINT32_MAX
#define SPAN_BIT (UINT64_C(1) << 63) /* separates our span ids from the program's */

struct name {
	_Atomic uint32_t state; /* 0 free, 1 being written, 2 ready */
	char text[SONDE_NAME_B];
	_Atomic uint64_t count, total_ns, not_min_ns, max_ns;
	_Atomic double square_ns, flop, bytes, items;
};

struct running {
	_Atomic uint32_t name; /* number + 1; 0 = free */
	uint32_t tid;
	uint64_t start_ns;
	uint64_t span;
};

struct sonde_profiler {
	_Atomic uint64_t spans;
	_Atomic uint32_t hint;
	struct name names[NAMES];
	struct running running[RUNNING];
};

static struct sonde_profiler global;

static struct sonde_profiler *profiler_of(struct sonde_profiler *profiler)
{
	return profiler ? profiler : &global;
}

struct sonde_profiler *sonde_profiler_new(void)
{
	int saved = errno;
	void *memory =
	    mmap(NULL, sizeof(struct sonde_profiler), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	return memory == MAP_FAILED ? NULL : memory;
}

void sonde_profiler_free(struct sonde_profiler *profiler)
{
	int saved = errno;
	if (profiler)
		munmap(profiler, sizeof(*profiler));
	errno = saved;
}

/* The number of a name, created if `make` is set; −1 = not found, or table full. */
static int name_find(struct sonde_profiler *profiler, const char *text, int make)
{
	size_t text_b = strlen(text);
	uint32_t at = (uint32_t)sonde_hash_bytes(text, text_b) % NAMES;
	for (uint32_t probe = 0; probe < NAMES; probe++, at = (at + 1) % NAMES) {
		struct name *name = &profiler->names[at];
		uint32_t state = atomic_load_explicit(&name->state, memory_order_acquire);
		if (!state && !make)
			return -1;
		if (!state && atomic_compare_exchange_strong(&name->state, &state, 1)) {
			memcpy(name->text, text, text_b + 1);
			atomic_store_explicit(&name->state, 2, memory_order_release);
			return (int)at;
		}
		while (atomic_load_explicit(&name->state, memory_order_acquire) == 1)
			;
		if (!strcmp(name->text, text))
			return (int)at;
	}
	return -1;
}

static int name_check(const char *text)
{
	return text && *text && strlen(text) < SONDE_NAME_B ? SONDE_OK : SONDE_ERR_ARGUMENT;
}

static void add_double(_Atomic double *sum, double amount)
{
	double seen = atomic_load_explicit(sum, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(sum, &seen, seen + amount, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t seen = atomic_load_explicit(most, memory_order_relaxed);
	while (seen < value &&
	       !atomic_compare_exchange_weak_explicit(most, &seen, value, memory_order_relaxed, memory_order_relaxed))
		;
}

static uint32_t tid_now(void)
{
	struct sonde_thread *thread = sonde_thread_current();
	return thread ? thread->tid : (uint32_t)syscall(SYS_gettid);
}

static struct running *slot_take(struct sonde_profiler *profiler)
{
	uint32_t at = atomic_fetch_add_explicit(&profiler->hint, 1, memory_order_relaxed);
	for (uint32_t probe = 0; probe < RUNNING; probe++, at++) {
		struct running *slot = &profiler->running[at % RUNNING];
		uint32_t none = 0;
		if (atomic_compare_exchange_strong(&slot->name, &none, SLOT_RESERVED))
			return slot;
	}
	return NULL;
}

int sonde_profiler_start_work(struct sonde_profiler *profiler, const char *name, double flop, double bytes,
			      double items)
{
	profiler = profiler_of(profiler);
	int code = name_check(name);
	if (code)
		return code;
	int number = name_find(profiler, name, 1);
	struct running *slot = number < 0 ? NULL : slot_take(profiler);
	if (!slot)
		return SONDE_ERR_FULL;
	add_double(&profiler->names[number].flop, flop);
	add_double(&profiler->names[number].bytes, bytes);
	add_double(&profiler->names[number].items, items);
	slot->tid = tid_now();
	slot->span = atomic_fetch_add(&profiler->spans, 1) | SPAN_BIT | ((uintptr_t)profiler & 0xffffff000) << 20;
	sonde_span_begin(name, slot->span);
	slot->start_ns = sonde_clock_now_ns();
	atomic_store_explicit(&slot->name, (uint32_t)number + 1, memory_order_release);
	return SONDE_OK;
}

int sonde_profiler_start(struct sonde_profiler *profiler, const char *name)
{
	return sonde_profiler_start_work(profiler, name, 0, 0, 0);
}

/* The newest running timer of a name: in this thread, else in any. */
static struct running *slot_find(struct sonde_profiler *profiler, uint32_t name, uint32_t tid)
{
	struct running *best = NULL;
	for (uint32_t i = 0; i < RUNNING; i++) {
		struct running *slot = &profiler->running[i];
		if (atomic_load_explicit(&slot->name, memory_order_acquire) != name)
			continue;
		int nearer = best && (slot->tid == tid) != (best->tid == tid)
				 ? slot->tid == tid
				 : !best || slot->start_ns >= best->start_ns;
		if (nearer)
			best = slot;
	}
	return best;
}

int sonde_profiler_stop(struct sonde_profiler *profiler, const char *name, uint64_t *out_ns)
{
	uint64_t now_ns = sonde_clock_now_ns();
	profiler = profiler_of(profiler);
	int code = name_check(name);
	int number = code ? -1 : name_find(profiler, name, 0);
	if (number < 0)
		return code ? code : SONDE_ERR_MISMATCH;
	struct running *slot;
	uint32_t mine;
	do {
		slot = slot_find(profiler, (uint32_t)number + 1, tid_now());
		mine = (uint32_t)number + 1;
	} while (slot && !atomic_compare_exchange_strong(&slot->name, &mine, SLOT_RESERVED));
	if (!slot)
		return SONDE_ERR_MISMATCH;
	uint64_t dur_ns = now_ns > slot->start_ns ? now_ns - slot->start_ns : 0;
	sonde_span_end(slot->span);
	atomic_store_explicit(&slot->name, 0, memory_order_release);
	struct name *sums = &profiler->names[number];
	atomic_fetch_add(&sums->total_ns, dur_ns);
	raise_to(&sums->not_min_ns, ~dur_ns);
	raise_to(&sums->max_ns, dur_ns);
	add_double(&sums->square_ns, (double)dur_ns * (double)dur_ns);
	atomic_fetch_add(&sums->count, 1);
	if (out_ns)
		*out_ns = dur_ns;
	return SONDE_OK;
}

static void stats_from(const struct name *name, struct sonde_stats *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->name, name->text, sizeof(out->name));
	out->count = atomic_load(&name->count);
	out->total_ns = atomic_load(&name->total_ns);
	out->self_ns = out->total_ns;
	out->min_ns = ~atomic_load(&name->not_min_ns);
	out->max_ns = atomic_load(&name->max_ns);
	out->flop = atomic_load(&name->flop);
	out->bytes = atomic_load(&name->bytes);
	out->items = atomic_load(&name->items);
	sonde_table_moments(out, out->total_ns, atomic_load(&name->square_ns));
}

int sonde_profiler_stats(struct sonde_profiler *profiler, const char *name, struct sonde_stats *out)
{
	profiler = profiler_of(profiler);
	int code = out ? name_check(name) : SONDE_ERR_ARGUMENT;
	if (code)
		return code;
	int number = name_find(profiler, name, 0);
	if (number < 0 || !atomic_load(&profiler->names[number].count))
		return SONDE_ERR_UNKNOWN;
	stats_from(&profiler->names[number], out);
	return SONDE_OK;
}

uint64_t sonde_profiler_total_ns(struct sonde_profiler *profiler, const char *name)
{
	struct sonde_stats stats;
	return sonde_profiler_stats(profiler, name, &stats) ? 0 : stats.total_ns;
}

double sonde_profiler_mean_ns(struct sonde_profiler *profiler, const char *name)
{
	struct sonde_stats stats;
	return sonde_profiler_stats(profiler, name, &stats) ? 0 : stats.mean_ns;
}

int sonde_profiler_top(struct sonde_profiler *profiler, struct sonde_stats *rows, size_t count)
{
	profiler = profiler_of(profiler);
	size_t used = 0;
	for (uint32_t i = 0; i < NAMES && count; i++) {
		const struct name *name = &profiler->names[i];
		uint64_t total_ns = atomic_load(&name->total_ns);
		if (!atomic_load(&name->count) || (used == count && rows[used - 1].total_ns >= total_ns))
			continue;
		size_t at = used < count ? used++ : used - 1;
		for (; at > 0 && rows[at - 1].total_ns < total_ns; at--)
			rows[at] = rows[at - 1];
		stats_from(name, &rows[at]);
	}
	return (int)used;
}

int sonde_profiler_print(struct sonde_profiler *profiler, int fd)
{
	struct sonde_stats rows[SONDE_LINK_ROWS];
	int count = sonde_profiler_top(profiler, rows, SONDE_LINK_ROWS);
	int saved = errno;
	sonde_table_print(fd, rows, (size_t)count, 0);
	errno = saved;
	return SONDE_OK;
}
