/* heads.h: who takes too long to say what they want: a connection whose request has not come in time is cut off, so
 * that a few clients that send a byte now and then cannot hold all that there are. Of more than `most` that say nothing
 * the one that has been silent longest is cut off: whoever has something to say sends it with the connection, and is
 * always the newest.
 *
 * Only the time up to the end of a request's head counts; not that in which it is answered, nor a stream of events.
 * Any thread may call. Between sonde_heads_begin() and sonde_heads_gone() the descriptor is open.
 */
#ifndef SONDE_SERVE_HTTP_HEADS_H
#define SONDE_SERVE_HTTP_HEADS_H

struct sonde_heads;

/* `most`: connections that are waited for at a time, at least 1. 0, -ENOMEM, -EAGAIN with a sentence. */
int sonde_heads_new(struct sonde_heads **out, unsigned most);

/* Its head is to be there within so long. */
void sonde_heads_begin(struct sonde_heads *heads, int fd, unsigned within_ms);
/* It is there. */
void sonde_heads_came(struct sonde_heads *heads, int fd);
/* The connection ends: from now on the descriptor is another's. */
void sonde_heads_gone(struct sonde_heads *heads, int fd);

/* When no connection is left; NULL is nothing. */
void sonde_heads_free(struct sonde_heads *heads);

#endif
