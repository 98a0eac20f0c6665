/* gpu_timer.c: times between two points of a device stream, for programs (sonde/gpu.h).
 *
 * A timer is mapped memory: names with their statistics and readings, and scopes in the order of their starts (`live`).
 * A scope has an event before and an event after its work. Once both are done, whichever call comes next reads its time
 * and frees it. Starts and stops poll only a few of the oldest scopes, so that their cost does not depend on the number
 * pending. Reusable events are kept. One lock per timer is enough: its calls enter the driver anyway, which has locks
 * of its own.
 */
#include "sonde/gpu.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/gpu_driver.h"
#include "runtime/table.h"

enum { NAMES = 64, SCOPES = 512, REQUESTED = 4, KEPT = 16384, KEPT_MAX = 1 << 24 };

struct name {
	char text[SONDE_NAME_B];
	struct sonde_place place;
	uint32_t started;
	uint64_t count, total_ns, min_ns, max_ns; /* after the warm-up */
	uint64_t inside_ns;                       /* time of scopes nested in the counted ones */
	double square_ns;                         /* sum of squares */
};

struct scope {
	struct sonde_gpu_mark begin, end; /* end.event NULL: still open */
	void *stream;
	uint32_t name, number;
	/* The enclosing scope in the same stream (its number + 1); once that has been read, its name (+ 1). */
	uint32_t outer, outer_name;
	uint64_t inside_ns;
};

struct sonde_gpu_timer {
	pthread_mutex_t lock;
	pid_t process;
	const struct sonde_gpu_driver *driver;
	struct sonde_gpu_calls calls;
	int is_found;
	struct sonde_gpu_options options;
	const char *why;
	uint64_t lost;
	struct name names[NAMES];
	uint32_t name_count;
	struct scope scopes[SCOPES];
	uint16_t live[SCOPES], free_slots[SCOPES]; /* scope numbers, in order of their starts, and free ones */
	uint32_t live_count, free_count;
	struct sonde_gpu_mark idle[2 * SCOPES];
	uint32_t idle_count;
	size_t size_b;
	uint64_t readings[]; /* ns + 1, by name and number; 0 = none */
};

static int fail(struct sonde_gpu_timer *timer, int code, const char *why)
{
	__atomic_store_n(&timer->why, why, __ATOMIC_RELEASE);
	return code;
}

/* Takes the lock; turn_end() restores errno. */
static int turn_begin(struct sonde_gpu_timer *timer, int *saved)
{
	*saved = errno;
	if (!timer)
		return SONDE_ERR_ARGUMENT;
	if (timer->process != getpid()) /* its lock and events belong to the parent */
		return SONDE_ERR_OFF;
	pthread_mutex_lock(&timer->lock);
	return SONDE_OK;
}

static int turn_end(struct sonde_gpu_timer *timer, int saved, int code)
{
	pthread_mutex_unlock(&timer->lock);
	errno = saved;
	return code;
}

static size_t timer_size_b(const struct sonde_gpu_options *options)
{
	return sizeof(struct sonde_gpu_timer) + (size_t)NAMES * options->keep * sizeof(uint64_t);
}

struct sonde_gpu_timer *sonde_gpu_timer_new(int api, const struct sonde_gpu_options *options)
{
	const struct sonde_gpu_driver *driver = sonde_gpu_driver_of(api);
	struct sonde_gpu_options with = options ? *options : (struct sonde_gpu_options){0};
	int saved = errno;
	if (!driver)
		return NULL;
	with.keep = with.keep ? with.keep : KEPT;
	with.keep = with.keep > KEPT_MAX ? KEPT_MAX : with.keep;
	size_t size_b = timer_size_b(&with);
	struct sonde_gpu_timer *timer =
	    mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved;
	if (timer == MAP_FAILED)
		return NULL;
	pthread_mutex_init(&timer->lock, NULL);
	timer->process = getpid();
	timer->driver = driver;
	timer->options = with;
	timer->size_b = size_b;
	timer->why = "";
	for (uint16_t i = 0; i < SCOPES; i++)
		timer->free_slots[timer->free_count++] = (uint16_t)(SCOPES - 1 - i);
	return timer;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Events that failed are not reused. Failed CUDA events are left to their context, which may be destroyed. */
static void mark_drop(struct sonde_gpu_timer *timer, const struct sonde_gpu_mark *mark, int has_failed)
{
	if (!mark->event)
		return;
	if (!timer->driver->keeps_events)
		timer->driver->release(&timer->calls, mark);
	else if (!has_failed && timer->idle_count < 2 * SCOPES)
		timer->idle[timer->idle_count++] = *mark;
}

static struct sonde_gpu_mark mark_take(struct sonde_gpu_timer *timer, void *context)
{
	for (uint32_t i = timer->idle_count; i-- > 0;) {
		struct sonde_gpu_mark mark = timer->idle[i];
		if (mark.context != context)
			continue;
		timer->idle[i] = timer->idle[--timer->idle_count];
		return mark;
	}
	return (struct sonde_gpu_mark){NULL, context};
}

static int mark_put(struct sonde_gpu_timer *timer, void *stream, struct sonde_gpu_mark *out)
{
	void *context = NULL;
	const char *why = timer->driver->check(&timer->calls, stream, &context);
	if (why)
		return fail(timer, SONDE_ERR_ARGUMENT, why);
	struct sonde_gpu_mark mark = mark_take(timer, context);
	why = timer->driver->record(&timer->calls, stream, &mark);
	if (why)
		return fail(timer, SONDE_ERR_SYSTEM, why);
	*out = mark;
	return SONDE_OK;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static struct name *name_find(struct sonde_gpu_timer *timer, const char *text)
{
	for (uint32_t i = 0; text && i < timer->name_count; i++)
		if (!strcmp(timer->names[i].text, text))
			return &timer->names[i];
	return NULL;
}

static int name_make(struct sonde_gpu_timer *timer, const char *text, struct name **out)
{
	if (!text || strnlen(text, SONDE_NAME_B) == SONDE_NAME_B)
		return fail(timer, SONDE_ERR_ARGUMENT, "a scope name has at most 95 bytes");
	*out = name_find(timer, text);
	if (*out)
		return SONDE_OK;
	if (timer->name_count == NAMES)
		return fail(timer, SONDE_ERR_FULL, "a timer has at most 64 names: use another timer for more");
	struct name *name = &timer->names[timer->name_count++];
	memcpy(name->text, text, strlen(text) + 1);
	name->place =
	    (struct sonde_place){.id = SONDE_PLACE_NEW, .name = name->text, .unit = "ns", .kind = SONDE_KIND_HISTOGRAM};
	*out = name;
	return SONDE_OK;
}

static uint64_t *reading_of(struct sonde_gpu_timer *timer, const struct name *name, uint32_t number)
{
	size_t at = (size_t)(name - timer->names) * timer->options.keep + number;
	return number < timer->options.keep ? &timer->readings[at] : NULL;
}

static void reading_add(struct sonde_gpu_timer *timer, struct name *name, uint32_t number, uint64_t ns,
			uint64_t inside_ns)
{
	uint64_t *reading = reading_of(timer, name, number);
	if (reading)
		*reading = ns + 1;
	if (number < timer->options.warmup)
		return;
	name->min_ns = name->count && name->min_ns < ns ? name->min_ns : ns;
	name->max_ns = name->max_ns > ns ? name->max_ns : ns;
	name->count++;
	name->total_ns += ns;
	name->inside_ns += inside_ns;
	name->square_ns += (double)ns * (double)ns;
	sonde_place_histogram(&name->place, ns);
}

/* --- scopes ------------------------------------------------------------------------------------------------------- */

/* The scope `outer` is about to be freed: from now on, scopes nested in it refer to its name instead (outer_name), or
 * to nothing (0). */
static void insides_pass(struct sonde_gpu_timer *timer, uint32_t outer, uint32_t outer_name)
{
	for (uint32_t at = 0; at < timer->live_count; at++) {
		struct scope *scope = &timer->scopes[timer->live[at]];
		if (scope->outer != outer)
			continue;
		scope->outer = 0;
		scope->outer_name = outer_name;
	}
}

static void inside_add(struct sonde_gpu_timer *timer, const struct scope *scope, uint64_t ns)
{
	if (scope->outer)
		timer->scopes[scope->outer - 1].inside_ns += ns;
	else if (scope->outer_name)
		timer->names[scope->outer_name - 1].inside_ns += ns;
}

/* Drops the scope at index `at` of `live`. */
static void scope_drop(struct sonde_gpu_timer *timer, uint32_t at, int has_failed)
{
	struct scope *scope = &timer->scopes[timer->live[at]];
	int is_counted = !has_failed && scope->end.event && scope->number >= timer->options.warmup;
	insides_pass(timer, timer->live[at] + 1U, is_counted ? scope->name + 1 : 0);
	mark_drop(timer, &scope->begin, has_failed);
	mark_drop(timer, &scope->end, has_failed);
	timer->lost += has_failed != 0;
	timer->free_slots[timer->free_count++] = timer->live[at];
	timer->live_count--;
	memmove(&timer->live[at], &timer->live[at + 1], (timer->live_count - at) * sizeof *timer->live);
	*scope = (struct scope){0};
}

/* Reads a scope if it is done, and frees it. Returns 1 if it is gone. */
static int scope_read(struct sonde_gpu_timer *timer, uint32_t at)
{
	const struct sonde_gpu_driver *driver = timer->driver;
	struct scope *scope = &timer->scopes[timer->live[at]];
	uint64_t ns = 0;
	enum sonde_gpu_state state = driver->state(&timer->calls, &scope->end);
	if (state == SONDE_GPU_DONE) /* out-of-order queues may finish in a different order */
		state = driver->state(&timer->calls, &scope->begin);
	if (state == SONDE_GPU_DONE)
		state = driver->elapsed(&timer->calls, &scope->begin, &scope->end, &ns);
	if (state == SONDE_GPU_NOT_YET)
		return 0;
	if (state == SONDE_GPU_DONE) {
		inside_add(timer, scope, ns);
		reading_add(timer, &timer->names[scope->name], scope->number, ns, scope->inside_ns);
	} else
		fail(timer, SONDE_ERR_SYSTEM,
		     "the driver has no time for a scope: its work failed, or its context is gone");
	scope_drop(timer, at, state == SONDE_GPU_FAILED);
	return 1;
}

/* Polls up to `most` stopped scopes, oldest first. */
static void collect(struct sonde_gpu_timer *timer, uint32_t most)
{
	for (uint32_t at = 0; at < timer->live_count && most > 0;) {
		int is_open = !timer->scopes[timer->live[at]].end.event;
		most -= !is_open;
		if (is_open || !scope_read(timer, at))
			at++;
	}
}

/* The newest open scope of that name (NULL: any) and stream, as an index of `live`; live_count if there is none. */
static uint32_t open_find(const struct sonde_gpu_timer *timer, const struct name *name, const void *stream)
{
	for (uint32_t at = timer->live_count; at-- > 0;) {
		const struct scope *scope = &timer->scopes[timer->live[at]];
		if (!scope->end.event && scope->stream == stream && (!name || &timer->names[scope->name] == name))
			return at;
	}
	return timer->live_count;
}

static int start(struct sonde_gpu_timer *timer, const char *text, void *stream)
{
	struct name *name;
	struct sonde_gpu_mark mark;
	int code = name_make(timer, text, &name);
	if (code != SONDE_OK)
		return code;
	if (!timer->is_found)
		timer->is_found = sonde_gpu_driver_find(timer->driver, &timer->calls);
	if (!timer->is_found)
		return fail(timer, SONDE_ERR_UNKNOWN, timer->driver->missing);
	collect(timer, timer->free_count ? REQUESTED : SCOPES);
	if (!timer->free_count)
		return fail(timer, SONDE_ERR_FULL, "512 scopes are open: stop some, or wait for the GPU");
	code = mark_put(timer, stream, &mark);
	if (code != SONDE_OK)
		return code;
	uint32_t outer = open_find(timer, NULL, stream);
	uint16_t at = timer->free_slots[--timer->free_count];
	timer->scopes[at] = (struct scope){.begin = mark,
					   .outer = outer < timer->live_count ? timer->live[outer] + 1U : 0,
					   .stream = stream,
					   .name = (uint32_t)(name - timer->names),
					   .number = name->started++};
	timer->live[timer->live_count++] = at;
	return SONDE_OK;
}

static int stop(struct sonde_gpu_timer *timer, const char *text, void *stream)
{
	const struct name *name = name_find(timer, text);
	uint32_t at = name ? open_find(timer, name, stream) : timer->live_count;
	if (at == timer->live_count)
		return fail(timer, SONDE_ERR_MISMATCH, "no scope of that name is open in that stream");
	struct scope *scope = &timer->scopes[timer->live[at]];
	int code = mark_put(timer, stream, &scope->end);
	if (code != SONDE_OK) {
		timer->lost++;
		scope_drop(timer, at, 0);
		return code;
	}
	for (uint32_t inner = at + 1; inner < timer->live_count; inner++) { /* open scopes are not nested in it */
		struct scope *other = &timer->scopes[timer->live[inner]];
		if (!other->end.event && other->outer == timer->live[at] + 1U)
			other->outer = 0;
	}
	if (timer->options.synchronize) {
		timer->driver->wait(&timer->calls, &scope->end);
		scope_read(timer, at);
	}
	collect(timer, REQUESTED);
	return SONDE_OK;
}

int sonde_gpu_start(struct sonde_gpu_timer *timer, const char *name, void *stream)
{
	int saved, code = turn_begin(timer, &saved);
	if (code != SONDE_OK)
		return code;
	code = start(timer, name, stream);
	timer->lost += code != SONDE_OK;
	return turn_end(timer, saved, code);
}

int sonde_gpu_stop(struct sonde_gpu_timer *timer, const char *name, void *stream)
{
	int saved, code = turn_begin(timer, &saved);
	return code == SONDE_OK ? turn_end(timer, saved, stop(timer, name, stream)) : code;
}

int sonde_gpu_next(struct sonde_gpu_loop *loop)
{
	if (!loop)
		return 0;
	struct sonde_gpu_timer *timer = loop->timer;
	if (!loop->passed) {
		uint32_t warmup = timer ? timer->options.warmup : 0, repeat = timer ? timer->options.repeat : 0;
		int saved, code = turn_begin(timer, &saved);
		const struct name *name = code == SONDE_OK ? name_find(timer, loop->name) : NULL;
		uint32_t started = name ? name->started : 0;
		if (code == SONDE_OK)
			turn_end(timer, saved, code);
		loop->passes = (repeat ? repeat : 1) + (warmup > started ? warmup - started : 0);
	}
	if (loop->open)
		sonde_gpu_stop(timer, loop->name, loop->stream);
	loop->open = 0;
	if (loop->passed >= loop->passes)
		return 0;
	loop->passed++;
	loop->open = timer && sonde_gpu_start(timer, loop->name, loop->stream) == SONDE_OK;
	return 1;
}

/* --- queries ------------------------------------------------------------------------------------------------------ */

static int under_way(const struct sonde_gpu_timer *timer)
{
	int count = 0;
	for (uint32_t at = 0; at < timer->live_count; at++)
		count += timer->scopes[timer->live[at]].end.event != NULL;
	return count;
}

int sonde_gpu_collect(struct sonde_gpu_timer *timer)
{
	int saved, code = turn_begin(timer, &saved);
	if (code != SONDE_OK)
		return code;
	collect(timer, SCOPES);
	return turn_end(timer, saved, under_way(timer));
}

int sonde_gpu_wait(struct sonde_gpu_timer *timer)
{
	int saved, code = turn_begin(timer, &saved);
	if (code != SONDE_OK)
		return code;
	for (uint32_t at = 0; at < timer->live_count;) {
		const struct scope *scope = &timer->scopes[timer->live[at]];
		if (!scope->end.event || timer->driver->wait(&timer->calls, &scope->end) == SONDE_GPU_NOT_YET ||
		    !scope_read(timer, at))
			at++;
	}
	return turn_end(timer, saved, under_way(timer));
}

int sonde_gpu_elapsed(struct sonde_gpu_timer *timer, const char *name, uint32_t repetition, uint64_t *out_ns)
{
	int saved, code = turn_begin(timer, &saved);
	if (code != SONDE_OK)
		return code;
	collect(timer, SCOPES);
	const struct name *of = name_find(timer, name);
	const uint64_t *reading = of ? reading_of(timer, of, repetition) : NULL;
	if (!name || !out_ns)
		code = SONDE_ERR_ARGUMENT;
	else if (of && !reading && repetition < of->started)
		code = fail(timer, SONDE_ERR_FULL, "so many readings are not kept: see `keep`");
	else if (!reading || !*reading)
		code = fail(timer, SONDE_ERR_UNKNOWN,
			    "there is no such reading, or not yet: sonde_gpu_wait() waits for it");
	else
		*out_ns = *reading - 1;
	return turn_end(timer, saved, code);
}

int sonde_gpu_stats(struct sonde_gpu_timer *timer, const char *name, struct sonde_stats *out)
{
	int saved, code = turn_begin(timer, &saved);
	if (code != SONDE_OK)
		return code;
	collect(timer, SCOPES);
	const struct name *of = name_find(timer, name);
	if (!name || !out)
		return turn_end(timer, saved, SONDE_ERR_ARGUMENT);
	if (!of || !of->count)
		return turn_end(timer, saved,
				fail(timer, SONDE_ERR_UNKNOWN, "no reading of that name after the warm-up yet"));
	*out = (struct sonde_stats){.count = of->count,
				    .total_ns = of->total_ns,
				    .self_ns = of->total_ns > of->inside_ns ? of->total_ns - of->inside_ns : 0,
				    .min_ns = of->min_ns,
				    .max_ns = of->max_ns};
	sonde_table_moments(out, of->total_ns, of->square_ns);
	memcpy(out->name, of->text, sizeof out->name);
	return turn_end(timer, saved, SONDE_OK);
}

uint64_t sonde_gpu_lost(struct sonde_gpu_timer *timer)
{
	int saved;
	if (turn_begin(timer, &saved) != SONDE_OK)
		return 0;
	uint64_t lost = timer->lost;
	turn_end(timer, saved, SONDE_OK);
	return lost;
}

const char *sonde_gpu_why(struct sonde_gpu_timer *timer)
{
	return timer ? __atomic_load_n(&timer->why, __ATOMIC_ACQUIRE) : "no such timer";
}

void sonde_gpu_timer_free(struct sonde_gpu_timer *timer)
{
	int saved = errno;
	if (!timer)
		return;
	int is_ours = timer->process == getpid();
	for (uint32_t at = timer->live_count; is_ours && at-- > 0;)
		scope_drop(timer, at, 0);
	for (uint32_t i = 0; is_ours && i < timer->idle_count; i++)
		timer->driver->release(&timer->calls, &timer->idle[i]);
	if (is_ours)
		pthread_mutex_destroy(&timer->lock);
	munmap(timer, timer->size_b);
	errno = saved;
}
