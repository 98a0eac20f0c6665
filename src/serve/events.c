/* events.c: server-sent events to a limited number of pages.
 *
 * Each page has a stream, whose connection is suspended while there is nothing to send. libmicrohttpd asks for the
 * bytes of a stream in its own thread; the publishing thread resumes the suspended connections. The mutex protects all
 * fields: a stream checks for a new message and suspends its connection while it holds the mutex, so that no message
 * can arrive between the two steps. libmicrohttpd does not watch suspended connections: closed pages are detected by
 * polling their sockets now and then, and by writing to them.
 */
#include "serve/events.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

struct stream {
	struct sonde_events *events;
	struct MHD_Connection *connection; /* NULL = free slot */
	int fd, is_suspended, is_gone;
	unsigned long seen;  /* number of the last message that the stream was given */
	unsigned long beats; /* number of the last heartbeat that the stream was given */
	char text[SONDE_EVENTS_MESSAGE_B + 16];
	size_t text_b, at; /* current text, and how much of it has been sent */
};

struct sonde_events {
	pthread_mutex_t mutex;
	char message[SONDE_EVENTS_MESSAGE_B];
	unsigned long count; /* number of messages so far */
	unsigned long beats;
	int ends;
	struct stream streams[SONDE_EVENTS_PAGES_MAX];
};

int sonde_events_new(struct sonde_events **out)
{
	struct sonde_events *events = calloc(1, sizeof *events);
	if (!events)
		return sonde_error(ENOMEM, "out of memory for events");
	pthread_mutex_init(&events->mutex, NULL);
	*out = events;
	return 0;
}

void sonde_events_free(struct sonde_events *events)
{
	if (!events)
		return;
	pthread_mutex_destroy(&events->mutex);
	free(events);
}

/* --- a stream, in libmicrohttpd's thread -------------------------------------------------------------------------- */

/* Fetches the next text, if there is one. */
static void fill(struct stream *stream)
{
	const struct sonde_events *events = stream->events;
	stream->at = stream->text_b = 0;
	if (stream->seen != events->count) {
		stream->text_b =
		    (size_t)snprintf(stream->text, sizeof stream->text, "event: grown\ndata: %s\n\n", events->message);
		stream->seen = events->count;
	} else if (stream->beats != events->beats) {
		stream->text_b = (size_t)snprintf(stream->text, sizeof stream->text, ":\n\n");
	}
	stream->beats = events->beats;
}

static ssize_t read_locked(struct stream *stream, char *out, size_t out_b)
{
	if (stream->is_gone || stream->events->ends)
		return stream->is_gone ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
	if (stream->at == stream->text_b)
		fill(stream);
	size_t left_b = stream->text_b - stream->at;
	if (!left_b) {
		stream->is_suspended = 1;
		MHD_suspend_connection(stream->connection);
		return 0;
	}
	size_t part_b = left_b < out_b ? left_b : out_b;
	memcpy(out, stream->text + stream->at, part_b);
	stream->at += part_b;
	return (ssize_t)part_b;
}

static ssize_t stream_read(void *context, uint64_t at, char *out, size_t out_b)
{
	struct stream *stream = context;
	(void)at;
	pthread_mutex_lock(&stream->events->mutex);
	ssize_t got = read_locked(stream, out, out_b);
	pthread_mutex_unlock(&stream->events->mutex);
	return got;
}

static void stream_close(void *context)
{
	struct stream *stream = context;
	struct sonde_events *events = stream->events;
	pthread_mutex_lock(&events->mutex);
	stream->connection = NULL;
	pthread_mutex_unlock(&events->mutex);
}

static struct stream *take_place(struct sonde_events *events, struct MHD_Connection *connection, int fd)
{
	for (size_t i = 0; i < SONDE_EVENTS_PAGES_MAX && !events->ends; i++) {
		struct stream *stream = &events->streams[i];
		if (stream->connection)
			continue;
		*stream = (struct stream){.events = events, .connection = connection, .fd = fd, .beats = events->beats};
		return stream;
	}
	sonde_error(EBUSY, "%d pages already follow this recording: close one of them", SONDE_EVENTS_PAGES_MAX);
	return NULL;
}

struct MHD_Response *sonde_events_open(struct sonde_events *events, struct MHD_Connection *connection, int fd)
{
	pthread_mutex_lock(&events->mutex);
	struct stream *stream = take_place(events, connection, fd);
	pthread_mutex_unlock(&events->mutex);
	if (!stream)
		return NULL;
	struct MHD_Response *reply = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, SONDE_EVENTS_MESSAGE_B,
								       stream_read, stream, stream_close);
	if (!reply) {
		stream_close(stream);
		sonde_error(ENOMEM, "out of memory for a stream of events");
	}
	return reply;
}

/* --- publishing, in any thread ------------------------------------------------------------------------------------ */

static void let_go_on(struct stream *stream)
{
	if (!stream->connection || !stream->is_suspended)
		return;
	stream->is_suspended = 0;
	MHD_resume_connection(stream->connection);
}

static void all_go_on(struct sonde_events *events)
{
	for (size_t i = 0; i < SONDE_EVENTS_PAGES_MAX; i++)
		let_go_on(&events->streams[i]);
}

void sonde_events_publish(struct sonde_events *events, const char *data)
{
	pthread_mutex_lock(&events->mutex);
	snprintf(events->message, sizeof events->message, "%s", data);
	events->count++;
	all_go_on(events);
	pthread_mutex_unlock(&events->mutex);
}

void sonde_events_beat(struct sonde_events *events)
{
	pthread_mutex_lock(&events->mutex);
	events->beats++;
	all_go_on(events);
	pthread_mutex_unlock(&events->mutex);
}

/* True if the client has closed the connection. Call it only while the connection is suspended: otherwise the socket
 * may be closed and its descriptor belong to something else. */
static int has_gone(const struct stream *stream)
{
	struct pollfd socket = {.fd = stream->fd, .events = POLLRDHUP};
	return stream->is_suspended && poll(&socket, 1, 0) > 0;
}

size_t sonde_events_count(struct sonde_events *events)
{
	size_t count = 0;
	pthread_mutex_lock(&events->mutex);
	for (size_t i = 0; i < SONDE_EVENTS_PAGES_MAX; i++) {
		struct stream *stream = &events->streams[i];
		if (!stream->connection)
			continue;
		stream->is_gone |= has_gone(stream);
		if (stream->is_gone)
			let_go_on(stream);
		count += !stream->is_gone;
	}
	pthread_mutex_unlock(&events->mutex);
	return count;
}

void sonde_events_end(struct sonde_events *events)
{
	pthread_mutex_lock(&events->mutex);
	events->ends = 1;
	all_go_on(events);
	pthread_mutex_unlock(&events->mutex);
}
