/* nvml_reader.c: a thread that initialises NVML, reads all GPUs each interval, and passes on the readings.
 *
 * Readings go into one of two lists under a lock: the thread fills one, the recorder empties the other. A round costs
 * CPU time of this thread in the driver; if that exceeds the allowed share of a CPU, the next round is delayed
 * (resource/budget.h). The thread blocks all signals, so that the recorder's thread receives them.
 *
 * Shared fields: `lists`, `filling`, `shared` and `is_requested_to_stop` under `lock`. Devices belong to the thread
 * until it has ended, except their names, which do not change after `shared.device_count` is set.
 */
#include "source/device/nvml_reader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/resource/budget.h"
#include "util/array.h"
#include "util/error.h"

enum { DEVICES_MAX = 64, LIST_MAX = 1 << 18 };
#define DETAIL_EVERY_NS 500000000u
#define LEFT_NS 4000000 /* how much unused budget may be saved up */

struct list {
	struct sonde_nvml_reading *readings;
	size_t count, cap;
};

struct sonde_nvml_reader {
	struct sonde_nvml_library library;
	struct sonde_nvml_reader_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int event_fd;
	struct list lists[2];
	int filling; /* index of the list being filled */
	int is_requested_to_stop, has_ended;
	struct sonde_nvml_reader_state shared;
	/* used only by the thread: */
	struct sonde_nvml_device *devices;
	struct sonde_budget budget;
	uint64_t start_ns, next_detail_ns;
};

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void put(void *context, const struct sonde_nvml_reading *reading)
{
	struct sonde_nvml_reader *reader = context;
	pthread_mutex_lock(&reader->lock);
	struct list *list = &reader->lists[reader->filling];
	if (list->count >= LIST_MAX || SONDE_ARRAY_RESERVE(list->readings, list->cap, list->count + 1))
		reader->shared.dropped++;
	else
		list->readings[list->count++] = *reading;
	pthread_mutex_unlock(&reader->lock);
}

static void open_devices(struct sonde_nvml_reader *reader, struct sonde_nvml_reader_state *state)
{
	unsigned count = 0;
	state->code = reader->library.count(&count);
	if (state->code || !count)
		return;
	state->device_count = count < DEVICES_MAX ? count : DEVICES_MAX;
	state->more = count - state->device_count;
	reader->devices = calloc(state->device_count, sizeof *reader->devices);
	state->device_count = reader->devices ? state->device_count : 0;
	for (uint32_t i = 0; i < state->device_count; i++) {
		sonde_nvml_device_open(&reader->devices[i], &reader->library, i); /* keeps its own errors */
		reader->devices[i].put = put;
		reader->devices[i].context = reader;
	}
	state->devices = reader->devices;
}

/* 0 if there is something to read. */
static int begin(struct sonde_nvml_reader *reader)
{
	struct sonde_nvml_reader_state state = {0};
	uint64_t before_ns = sonde_clock_now_ns();
	state.code = reader->library.init();
	if (!state.code) {
		if (!reader->library.driver || reader->library.driver(state.driver, sizeof state.driver))
			state.driver[0] = '\0';
		state.driver[sizeof state.driver - 1] = '\0';
		open_devices(reader, &state);
	}
	state.has_begun = 1;
	state.begin_ns = sonde_clock_now_ns() - before_ns;
	pthread_mutex_lock(&reader->lock);
	reader->shared = state;
	pthread_mutex_unlock(&reader->lock);
	return state.code || !state.device_count;
}

static uint64_t after(const struct sonde_nvml_reader *reader, uint64_t time_ns)
{
	uint64_t every_ns = reader->options.every_ns;
	return reader->start_ns + ((time_ns - reader->start_ns) / every_ns + 1) * every_ns;
}

/* Reads all GPUs; returns the time of the next round. */
static uint64_t round_of(struct sonde_nvml_reader *reader, int is_last)
{
	uint64_t cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = sonde_clock_now_ns();
	int is_detailed = is_last || now_ns >= reader->next_detail_ns;
	for (uint32_t i = 0; i < reader->shared.device_count; i++) /* set only by this thread */
		sonde_nvml_device_read(&reader->devices[i], reader->options.what, is_detailed);
	if (is_detailed)
		reader->next_detail_ns = after(reader, now_ns + DETAIL_EVERY_NS - reader->options.every_ns);
	uint64_t one = 1, done_ns = sonde_clock_now_ns();
	cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	sonde_budget_spend(&reader->budget, cpu_ns, done_ns);
	uint64_t next_ns = after(reader, done_ns), due_ns = sonde_budget_due_ns(&reader->budget);
	pthread_mutex_lock(&reader->lock);
	reader->shared.held_back += due_ns > next_ns;
	reader->shared.first_ns = reader->shared.rounds++ ? reader->shared.first_ns : now_ns;
	reader->shared.last_ns = now_ns;
	reader->shared.cpu_ns += cpu_ns;
	pthread_mutex_unlock(&reader->lock);
	if (write(reader->event_fd, &one, sizeof one) < 0)
		return next_ns; /* the recorder fetches the readings when something else wakes it */
	return due_ns > next_ns ? after(reader, due_ns) : next_ns;
}

/* Sleeps until `time_ns`, or until the reader is to stop; returns true in the latter case. */
static int sleep_until(struct sonde_nvml_reader *reader, uint64_t time_ns)
{
	struct timespec at = {.tv_sec = (time_t)(time_ns / 1000000000u), .tv_nsec = (long)(time_ns % 1000000000u)};
	int rc = 0;
	pthread_mutex_lock(&reader->lock);
	while (!reader->is_requested_to_stop && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&reader->changed, &reader->lock, &at);
	int is_over = reader->is_requested_to_stop;
	pthread_mutex_unlock(&reader->lock);
	return is_over;
}

static void *run(void *context)
{
	struct sonde_nvml_reader *reader = context;
	int can_read = !begin(reader);
	reader->start_ns = reader->next_detail_ns = sonde_clock_now_ns();
	sonde_budget_init(&reader->budget, reader->options.share, LEFT_NS, reader->start_ns);
	int is_over = sleep_until(reader, 0);
	if (can_read && !is_over) { /* a first reading after the end would not describe the recording */
		while (!is_over)
			is_over = sleep_until(reader, round_of(reader, 0));
		round_of(reader, 1);
	}
	for (uint32_t i = 0; i < reader->shared.device_count; i++)
		sonde_nvml_device_close(&reader->devices[i]);
	if (!reader->shared.code)
		reader->library.shutdown();
	pthread_mutex_lock(&reader->lock);
	reader->has_ended = 1;
	pthread_cond_broadcast(&reader->changed);
	pthread_mutex_unlock(&reader->lock);
	return NULL;
}

/* --- the recorder's side ----------------------------------------------------------------------------------------- */

static int start_thread(struct sonde_nvml_reader *reader)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int rc = pthread_create(&reader->thread, NULL, run, reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? sonde_error(rc, "no thread for NVML: %s", strerror(rc)) : 0;
}

int sonde_nvml_reader_begin(struct sonde_nvml_reader **out, const struct sonde_nvml_reader_options *options)
{
	pthread_condattr_t monotonic;
	struct sonde_nvml_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return sonde_error(ENOMEM, "out of memory for NVML");
	reader->options = *options;
	int rc = sonde_nvml_library_open(&reader->library);
	if (rc) {
		free(reader);
		return rc;
	}
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	reader->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = start_thread(reader);
	if (rc) {
		sonde_nvml_library_close(&reader->library);
		sonde_nvml_reader_end(reader);
		return rc;
	}
	*out = reader;
	return 0;
}

int sonde_nvml_reader_fd(const struct sonde_nvml_reader *reader)
{
	return reader->event_fd;
}

size_t sonde_nvml_reader_fetch(struct sonde_nvml_reader *reader, const struct sonde_nvml_reading **out)
{
	uint64_t count;
	if (read(reader->event_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		count = 0;
	pthread_mutex_lock(&reader->lock);
	const struct list *full = &reader->lists[reader->filling];
	reader->filling = !reader->filling;
	reader->lists[reader->filling].count = 0;
	pthread_mutex_unlock(&reader->lock);
	*out = full->readings;
	return full->count;
}

uint32_t sonde_nvml_reader_devices(struct sonde_nvml_reader *reader, const struct sonde_nvml_device **out)
{
	pthread_mutex_lock(&reader->lock);
	uint32_t count = reader->shared.device_count;
	*out = reader->shared.devices;
	pthread_mutex_unlock(&reader->lock);
	return count;
}

int sonde_nvml_reader_stop(struct sonde_nvml_reader *reader, uint64_t most_ns, struct sonde_nvml_reader_state *out)
{
	uint64_t end_ns = sonde_clock_now_ns() + most_ns;
	struct timespec at = {.tv_sec = (time_t)(end_ns / 1000000000u), .tv_nsec = (long)(end_ns % 1000000000u)};
	int rc = 0;
	pthread_mutex_lock(&reader->lock);
	reader->is_requested_to_stop = 1;
	pthread_cond_broadcast(&reader->changed);
	while (!reader->has_ended && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&reader->changed, &reader->lock, &at);
	int has_ended = reader->has_ended;
	*out = reader->shared;
	pthread_mutex_unlock(&reader->lock);
	if (!has_ended) {
		pthread_detach(reader->thread);
		return -ETIMEDOUT;
	}
	pthread_join(reader->thread, NULL);
	return 0;
}

/* The library stays loaded: drivers are not designed to be loaded twice in a process. */
void sonde_nvml_reader_end(struct sonde_nvml_reader *reader)
{
	if (reader->event_fd >= 0)
		close(reader->event_fd);
	pthread_cond_destroy(&reader->changed);
	pthread_mutex_destroy(&reader->lock);
	free(reader->lists[0].readings);
	free(reader->lists[1].readings);
	free(reader->devices);
	free(reader);
}
