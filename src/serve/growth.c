/* growth.c: keeps a live server's session up to date (growth.h). */
#include "serve/growth.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "util/error.h"

enum { BEAT_S = 10 }; /* interval of heartbeats to open pages */

#define IDLE_SAY_NS 1000000000u

size_t sonde_growth_pages(struct sonde_growth *growth)
{
	return growth->events ? sonde_events_count(growth->events) : 0;
}

int sonde_growth_is_whole(const struct sonde_growth *growth)
{
	return !growth->events || atomic_load(&growth->is_whole);
}

static void say(struct sonde_growth *growth)
{
	char line[SONDE_EVENTS_MESSAGE_B];
	sonde_follow_say(&growth->follow, line, sizeof line);
	growth->said_events = sonde_follow_events(&growth->follow);
	growth->said_ns = sonde_clock_now_ns();
	sonde_events_publish(growth->events, line);
}

/* True if pages must be notified. While the program is idle, they are notified once a second, not of every reading of
 * the system. */
static int is_news(const struct sonde_growth *growth)
{
	return sonde_follow_events(&growth->follow) != growth->said_events ||
	       sonde_clock_now_ns() - growth->said_ns >= IDLE_SAY_NS;
}

void sonde_growth_read(struct sonde_growth *growth)
{
	if (growth->events && sonde_follow_refresh(&growth->follow) > 0 && is_news(growth))
		say(growth);
}

/* Runs in the worker after sonde_growth_tick() found new data: reads it and notifies pages. */
static void refresh(struct sonde_work *work, int late)
{
	struct sonde_growth *growth = (struct sonde_growth *)((char *)work - offsetof(struct sonde_growth, refresh));
	if (!late && atomic_load(&growth->is_to_end) && !atomic_load(&growth->is_whole)) {
		sonde_follow_end(&growth->follow, growth->end);
		say(growth);
		atomic_store(&growth->is_whole, 1);
	} else if (!late) {
		sonde_growth_read(growth);
	}
	atomic_store(&growth->is_refreshing, 0);
}

static int has_grown(struct sonde_growth *growth)
{
	struct stat file;
	return !stat(growth->path, &file) && (uint64_t)file.st_size != atomic_load(&growth->follow.file_b);
}

size_t sonde_growth_tick(struct sonde_growth *growth)
{
	uint64_t now_ns = sonde_clock_now_ns();
	size_t pages = sonde_growth_pages(growth);
	if (now_ns - growth->beat_ns > BEAT_S * UINT64_C(1000000000)) {
		sonde_events_beat(growth->events);
		growth->beat_ns = now_ns;
	}
	if (atomic_load(&growth->is_whole) || atomic_load(&growth->is_refreshing))
		return pages;
	if (!atomic_load(&growth->is_to_end) && (!pages || !has_grown(growth)))
		return pages;
	atomic_store(&growth->is_refreshing, 1);
	if (sonde_worker_put(growth->worker, &growth->refresh))
		atomic_store(&growth->is_refreshing, 0); /* too many queries are waiting: retry at the next tick */
	return pages;
}

void sonde_growth_end(struct sonde_growth *growth, const char *sentence)
{
	snprintf(growth->end, sizeof growth->end, "%s", sentence);
	atomic_store(&growth->is_to_end, 1);
}

int sonde_growth_init(struct sonde_growth *growth, struct sonde_session **session, int is_live)
{
	growth->follow = (struct sonde_follow){.session = session, .is_live = is_live};
	growth->refresh.run = refresh;
	growth->path = strdup(sonde_session_path(*session));
	if (!growth->path)
		return sonde_error(ENOMEM, "out of memory for a server");
	int rc = is_live ? sonde_events_new(&growth->events) : 0;
	if (!rc && is_live)
		say(growth);
	return rc;
}

void sonde_growth_fini(struct sonde_growth *growth)
{
	sonde_events_free(growth->events);
	free(growth->path);
}
