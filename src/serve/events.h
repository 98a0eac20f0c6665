/* events.h: pushes server-sent events to open pages; only the latest state is sent.
 *
 * A page that reads slowly misses intermediate states, but never the last one; at most one message is kept for it. Any
 * thread may call.
 */
#ifndef SONDE_SERVE_EVENTS_H
#define SONDE_SERVE_EVENTS_H

#include <stddef.h>

struct MHD_Connection;
struct MHD_Response;

enum { SONDE_EVENTS_PAGES_MAX = 8, SONDE_EVENTS_MESSAGE_B = 4096 };

struct sonde_events;

/* Creates an object without streams. 0 or -ENOMEM. */
int sonde_events_new(struct sonde_events **out);

/* Call when no connections are left. */
void sonde_events_free(struct sonde_events *events);

/* Opens a stream for a connection, starting with the latest message; NULL with a message: too many pages, or out of
 * memory. The caller releases the response. `fd`: the connection's socket, polled to detect a closed page. */
struct MHD_Response *sonde_events_open(struct sonde_events *events, struct MHD_Connection *connection, int fd);

/* Sends `data`, a single line shorter than a message, to all pages. */
void sonde_events_publish(struct sonde_events *events, const char *data);

/* Sends a heartbeat, and closes streams of pages that have gone. */
void sonde_events_beat(struct sonde_events *events);

/* Closes streams of pages that have gone; returns the number of remaining ones. */
size_t sonde_events_count(struct sonde_events *events);

/* Ends all streams; no new ones can be opened. */
void sonde_events_end(struct sonde_events *events);

#endif
