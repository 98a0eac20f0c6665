/* header_timeouts.c: closes connections whose request takes too long to arrive (http/header_timeouts.h).
 *
 * libmicrohttpd only limits the time without any byte, so a client that sends a byte now and then is never closed. A
 * thread of ours sleeps until the earliest deadline for a request's headers, and indefinitely while none is pending. It
 * then shuts down the socket, which libmicrohttpd treats as the end of the connection. The mutex protects all fields
 * except the thread: a descriptor is in the table only while it is open.
 */
#include "serve/http/header_timeouts.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "util/error.h"

struct row {
	int fd;
	uint64_t until_ns; /* 0 = free row */
	uint64_t since_ns;
};

struct sonde_header_timeouts {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int ends;
	uint64_t looks_ns; /* when the thread wakes next; UINT64_MAX = only when it is signalled */
	unsigned most;
	struct row rows[];
};

static void truncated_late(struct sonde_header_timeouts *timeouts, uint64_t now_ns)
{
	for (unsigned i = 0; i < timeouts->most; i++) {
		struct row *row = &timeouts->rows[i];
		if (!row->until_ns || row->until_ns > now_ns)
			continue;
		shutdown(row->fd, SHUT_RDWR);
		row->until_ns = 0;
	}
}

static uint64_t earliest(const struct sonde_header_timeouts *timeouts)
{
	uint64_t earliest_ns = UINT64_MAX;
	for (unsigned i = 0; i < timeouts->most; i++)
		if (timeouts->rows[i].until_ns && timeouts->rows[i].until_ns < earliest_ns)
			earliest_ns = timeouts->rows[i].until_ns;
	return earliest_ns;
}

static void *watch(void *argument)
{
	struct sonde_header_timeouts *timeouts = argument;
	pthread_mutex_lock(&timeouts->mutex);
	while (!timeouts->ends) {
		truncated_late(timeouts, sonde_clock_now_ns());
		timeouts->looks_ns = earliest(timeouts);
		if (timeouts->looks_ns == UINT64_MAX) {
			pthread_cond_wait(&timeouts->changed, &timeouts->mutex);
			continue;
		}
		const struct timespec until = {.tv_sec = (time_t)(timeouts->looks_ns / 1000000000u),
					       .tv_nsec = (long)(timeouts->looks_ns % 1000000000u)};
		pthread_cond_timedwait(&timeouts->changed, &timeouts->mutex, &until);
	}
	pthread_mutex_unlock(&timeouts->mutex);
	return NULL;
}

int sonde_header_timeouts_new(struct sonde_header_timeouts **out, unsigned most)
{
	struct sonde_header_timeouts *timeouts = calloc(1, sizeof *timeouts + most * sizeof *timeouts->rows);
	pthread_condattr_t attributes;
	if (!timeouts)
		return sonde_error(ENOMEM, "out of memory for a thread");
	timeouts->most = most;
	timeouts->looks_ns = UINT64_MAX;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&timeouts->mutex, NULL);
	pthread_cond_init(&timeouts->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	int code = pthread_create(&timeouts->thread, NULL, watch, timeouts);
	if (code) {
		free(timeouts);
		return sonde_error(code, "no thread could be started");
	}
	*out = timeouts;
	return 0;
}

static struct row *find(struct sonde_header_timeouts *timeouts, int fd)
{
	for (unsigned i = 0; i < timeouts->most; i++)
		if (timeouts->rows[i].until_ns && timeouts->rows[i].fd == fd)
			return &timeouts->rows[i];
	return NULL;
}

static struct row *find_free(struct sonde_header_timeouts *timeouts)
{
	for (unsigned i = 0; i < timeouts->most; i++)
		if (!timeouts->rows[i].until_ns)
			return &timeouts->rows[i];
	return NULL;
}

/* Closes the connection that has been pending longest, and returns its row. */
static struct row *evict(struct sonde_header_timeouts *timeouts)
{
	struct row *oldest = &timeouts->rows[0];
	for (unsigned i = 1; i < timeouts->most; i++)
		if (timeouts->rows[i].since_ns < oldest->since_ns)
			oldest = &timeouts->rows[i];
	shutdown(oldest->fd, SHUT_RDWR);
	return oldest;
}

void sonde_header_timeouts_begin(struct sonde_header_timeouts *timeouts, int fd, unsigned within_ms)
{
	uint64_t now_ns = sonde_clock_now_ns(), until_ns = now_ns + (uint64_t)within_ms * 1000000;
	pthread_mutex_lock(&timeouts->mutex);
	struct row *row = find(timeouts, fd);
	row = row ? row : find_free(timeouts);
	row = row ? row : evict(timeouts);
	*row = (struct row){fd, until_ns, now_ns};
	if (until_ns < timeouts->looks_ns)
		pthread_cond_signal(&timeouts->changed);
	pthread_mutex_unlock(&timeouts->mutex);
}

void sonde_header_timeouts_end(struct sonde_header_timeouts *timeouts, int fd)
{
	pthread_mutex_lock(&timeouts->mutex);
	struct row *row = find(timeouts, fd);
	if (row)
		row->until_ns = 0;
	pthread_mutex_unlock(&timeouts->mutex);
}

void sonde_header_timeouts_free(struct sonde_header_timeouts *timeouts)
{
	if (!timeouts)
		return;
	pthread_mutex_lock(&timeouts->mutex);
	timeouts->ends = 1;
	pthread_cond_signal(&timeouts->changed);
	pthread_mutex_unlock(&timeouts->mutex);
	pthread_join(timeouts->thread, NULL);
	pthread_cond_destroy(&timeouts->changed);
	pthread_mutex_destroy(&timeouts->mutex);
	free(timeouts);
}
