/* events.h: what is pushed to open pages: server-sent events, the latest state and nothing before it.
 *
 * A page that reads slowly misses states, never the last; what waits for it is one message. Any thread may call.
 */
#ifndef SONDE_SERVE_EVENTS_H
#define SONDE_SERVE_EVENTS_H

#include <stddef.h>

struct MHD_Connection;
struct MHD_Response;

enum { SONDE_EVENTS_PAGES_MAX = 8, SONDE_EVENTS_MESSAGE_B = 4096 };

struct sonde_events;

/* 0 or -ENOMEM. */
int sonde_events_new(struct sonde_events **out);

/* When no connection is left. */
void sonde_events_free(struct sonde_events *events);

/* A stream for a connection, which begins with the latest message; NULL with a sentence: too many pages, or memory is
 * short. It is the caller's to give back. `fd`: the connection's, looked at to see whether the page is still there. */
struct MHD_Response *sonde_events_open(struct sonde_events *events, struct MHD_Connection *connection, int fd);

/* What all pages are told: `data` is a line, shorter than a message. */
void sonde_events_publish(struct sonde_events *events, const char *data);

/* Says that we are still there, and lets go of pages that are not. */
void sonde_events_beat(struct sonde_events *events);

/* Lets go of those that are not there; how many are. */
size_t sonde_events_count(struct sonde_events *events);

/* All streams come to their end, and no more begin. */
void sonde_events_end(struct sonde_events *events);

#endif
