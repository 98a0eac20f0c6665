/* header_timeouts.h: limits the time for the HTTP headers of a request to arrive, so that a few clients that send a
 * byte now and then cannot hold all connections. If there are more than `most` pending connections, the one that has
 * been pending longest is closed; a legitimate client sends its request right after connecting, so its connection is
 * always among the newest.
 *
 * Only the time until the end of the headers counts, not the time to compute an answer or the length of an event
 * stream. Any thread may call. The descriptor must be open between sonde_header_timeouts_begin() and
 * sonde_header_timeouts_end().
 */
#ifndef SONDE_SERVE_HTTP_HEADER_TIMEOUTS_H
#define SONDE_SERVE_HTTP_HEADER_TIMEOUTS_H

struct sonde_header_timeouts;

/* `most`: maximum number of pending connections, at least 1. 0, or -ENOMEM, -EAGAIN with a message. */
int sonde_header_timeouts_new(struct sonde_header_timeouts **out, unsigned most);

/* Starts the deadline for a connection's next headers. */
void sonde_header_timeouts_begin(struct sonde_header_timeouts *timeouts, int fd, unsigned within_ms);
/* The headers have arrived, or the connection ends: from now on the descriptor may be reused. */
void sonde_header_timeouts_end(struct sonde_header_timeouts *timeouts, int fd);

/* Call when no connections are left; NULL is allowed. */
void sonde_header_timeouts_free(struct sonde_header_timeouts *timeouts);

#endif
