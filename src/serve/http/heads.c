/* heads.c: who takes too long to say what they want (http/heads.h).
 *
 * libmicrohttpd bounds silence only, and a byte ends it. A thread of ours sleeps until the earliest time at which a
 * head is late, and for good while none is expected. Its socket is shut down then, which libmicrohttpd takes for the
 * end of the connection. The mutex guards all fields but the thread: a descriptor is in the table only while it is
 * open.
 */
#include "serve/http/heads.h"

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
	uint64_t until_ns; /* 0 = the row is free */
	uint64_t since_ns;
};

struct sonde_heads {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int ends;
	uint64_t looks_ns; /* when the thread looks next; UINT64_MAX = when it is told to */
	unsigned most;
	struct row rows[];
};

static void cut_off_late(struct sonde_heads *heads, uint64_t now_ns)
{
	for (unsigned i = 0; i < heads->most; i++) {
		struct row *row = &heads->rows[i];
		if (!row->until_ns || row->until_ns > now_ns)
			continue;
		shutdown(row->fd, SHUT_RDWR);
		row->until_ns = 0;
	}
}

static uint64_t earliest(const struct sonde_heads *heads)
{
	uint64_t earliest_ns = UINT64_MAX;
	for (unsigned i = 0; i < heads->most; i++)
		if (heads->rows[i].until_ns && heads->rows[i].until_ns < earliest_ns)
			earliest_ns = heads->rows[i].until_ns;
	return earliest_ns;
}

static void *watch(void *argument)
{
	struct sonde_heads *heads = argument;
	pthread_mutex_lock(&heads->mutex);
	while (!heads->ends) {
		cut_off_late(heads, sonde_clock_now_ns());
		heads->looks_ns = earliest(heads);
		if (heads->looks_ns == UINT64_MAX) {
			pthread_cond_wait(&heads->changed, &heads->mutex);
			continue;
		}
		const struct timespec until = {.tv_sec = (time_t)(heads->looks_ns / 1000000000u),
					       .tv_nsec = (long)(heads->looks_ns % 1000000000u)};
		pthread_cond_timedwait(&heads->changed, &heads->mutex, &until);
	}
	pthread_mutex_unlock(&heads->mutex);
	return NULL;
}

int sonde_heads_new(struct sonde_heads **out, unsigned most)
{
	struct sonde_heads *heads = calloc(1, sizeof *heads + most * sizeof *heads->rows);
	pthread_condattr_t attributes;
	if (!heads)
		return sonde_error(ENOMEM, "out of memory for a thread");
	heads->most = most;
	heads->looks_ns = UINT64_MAX;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&heads->mutex, NULL);
	pthread_cond_init(&heads->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	int code = pthread_create(&heads->thread, NULL, watch, heads);
	if (code) {
		free(heads);
		return sonde_error(code, "no thread could be made");
	}
	*out = heads;
	return 0;
}

static struct row *find(struct sonde_heads *heads, int fd)
{
	for (unsigned i = 0; i < heads->most; i++)
		if (heads->rows[i].until_ns && heads->rows[i].fd == fd)
			return &heads->rows[i];
	return NULL;
}

static struct row *find_free(struct sonde_heads *heads)
{
	for (unsigned i = 0; i < heads->most; i++)
		if (!heads->rows[i].until_ns)
			return &heads->rows[i];
	return NULL;
}

/* The row of the connection that has waited longest makes way. */
static struct row *evict(struct sonde_heads *heads)
{
	struct row *oldest = &heads->rows[0];
	for (unsigned i = 1; i < heads->most; i++)
		if (heads->rows[i].since_ns < oldest->since_ns)
			oldest = &heads->rows[i];
	shutdown(oldest->fd, SHUT_RDWR);
	return oldest;
}

void sonde_heads_begin(struct sonde_heads *heads, int fd, unsigned within_ms)
{
	uint64_t now_ns = sonde_clock_now_ns(), until_ns = now_ns + (uint64_t)within_ms * 1000000;
	pthread_mutex_lock(&heads->mutex);
	struct row *row = find(heads, fd);
	row = row ? row : find_free(heads);
	row = row ? row : evict(heads);
	*row = (struct row){fd, until_ns, now_ns};
	if (until_ns < heads->looks_ns)
		pthread_cond_signal(&heads->changed);
	pthread_mutex_unlock(&heads->mutex);
}

static void forget(struct sonde_heads *heads, int fd)
{
	pthread_mutex_lock(&heads->mutex);
	struct row *row = find(heads, fd);
	if (row)
		row->until_ns = 0;
	pthread_mutex_unlock(&heads->mutex);
}

void sonde_heads_came(struct sonde_heads *heads, int fd)
{
	forget(heads, fd);
}

void sonde_heads_gone(struct sonde_heads *heads, int fd)
{
	forget(heads, fd);
}

void sonde_heads_free(struct sonde_heads *heads)
{
	if (!heads)
		return;
	pthread_mutex_lock(&heads->mutex);
	heads->ends = 1;
	pthread_cond_signal(&heads->changed);
	pthread_mutex_unlock(&heads->mutex);
	pthread_join(heads->thread, NULL);
	pthread_cond_destroy(&heads->changed);
	pthread_mutex_destroy(&heads->mutex);
	free(heads);
}
