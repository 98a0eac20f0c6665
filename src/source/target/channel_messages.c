/* channel_messages.c: handles and answers the messages of processes (format/link.h, target/channel.h). */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/ring.h"
#include "source/record/snapshots.h"
#include "source/target/channel_state.h"

#define MESSAGES_A_ROUND 64
#define REFUSED_WAIT_MS 10 /* processes send their first message as soon as they have connected */
#define TOO_MANY "too many are connected at once"

/* Sends an answer, with a descriptor if fd ≥ 0. */
static int send_with(const struct sonde_channel_connection *connection, const void *answer, size_t answer_b, int fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)(uintptr_t)answer, answer_b};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	return sendmsg(connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int send_welcome(const struct sonde_channel_connection *connection, int status)
{
	struct sonde_link_welcome welcome = {.head = {SONDE_LINK_WELCOME, SONDE_LINK_VERSION}, .status = status};
	if (!status)
		welcome.pool_b = sonde_pool_size_b(connection->pool);
	return send_with(connection, &welcome, sizeof(welcome), status ? -1 : sonde_pool_fd(connection->pool));
}

int sonde_channel_is_waiting(int asker)
{
	struct pollfd peer = {.fd = asker};
	return poll(&peer, 1, 0) == 0; /* a hang-up is always reported */
}

/* The source whose records are missing if a process of this client is not recorded. */
static const char *source_of(const struct sonde_listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++)
		if (listeners->rows[i]->source)
			return listeners->rows[i]->source;
	return "zones";
}

/* Counts a process as lost: it continues without being recorded. */
static void lose_process(struct sonde_channel *channel, pid_t pid, const char *source, const char *why)
{
	uint64_t now_ns = sonde_clock_now_ns();
	char cause[160];
	snprintf(cause, sizeof(cause), "processes that are not recorded: %s", why);
	struct sonde_recorder_loss loss = {
	    .source = source,
	    .cause = cause,
	    .process = sonde_recorder_process(channel->recorder, pid, now_ns),
	    .count = 1,
	    .time_ns = now_ns,
	};
	sonde_recorder_lost(channel->recorder, &loss);
}

static void lose_without_rings(struct sonde_channel *channel, pid_t pid, const char *source, int rc)
{
	char why[128];
	snprintf(why, sizeof(why), "their rings cannot be created: %s%s", strerror(-rc),
		 rc == -EFBIG ? " (the recorder's ulimit -f applies to them, too)" : "");
	lose_process(channel, pid, source, why);
}

static int take_hello(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message)
{
	const struct sonde_link_hello *hello = message;
	if (connection->pool || hello->head.version != SONDE_LINK_VERSION)
		return -EPROTO;
	const struct sonde_listeners *listeners = sonde_channel_listeners(channel, hello->client);
	const char *source = source_of(listeners);
	if (!sonde_channel_is_waiting(connection->fd)) { /* the hooks report this themselves (SONDE_LINK_SILENT) */
		if (hello->client == SONDE_LINK_ZONES)
			lose_process(channel, connection->pid, source,
				     "the recorder was stopped or too busy when they started");
		return -EPIPE;
	}
	if (connection->is_refused) {
		lose_process(channel, connection->pid, source, TOO_MANY);
		send_welcome(connection, -EUSERS);
		return -EUSERS;
	}
	uint32_t size = hello->flags >> SONDE_LINK_SIZE_SHIFT;
	struct sonde_pool_options options = {
	    .recorder = channel->recorder,
	    .budget = &channel->budget,
	    .fit = &channel->fit,
	    .pid = connection->pid,
	    .own_pid = (pid_t)hello->pid,
	    .clock = hello->flags & SONDE_LINK_NO_CYCLES ? SONDE_RING_CLOCK_NS : channel->clock,
	    .on_full = (uint32_t)sonde_recorder_options(channel->recorder)->on_full,
	    .most = size && size < 31 ? 1u << size : 0,
	    .source = source,
	    .listeners = listeners,
	};
	channel->has_own_tids |= options.own_pid != options.pid;
	connection->client = hello->client;
	SONDE_LISTENERS_CALL(listeners, flags, connection->pid, hello->flags);
	SONDE_LISTENERS_CALL(listeners, opened, connection->pid, options.clock);
	int rc = sonde_pool_new(&connection->pool, &options);
	int sent = send_welcome(connection, rc);
	if (rc) {
		SONDE_LISTENERS_CALL(listeners, closed, connection->pid);
		lose_without_rings(channel, connection->pid, source, rc);
		return rc;
	}
	channel->connected++;
	return sent;
}

static int take_farewell(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message)
{
	const struct sonde_link_farewell *farewell = message;
	if (connection->pool || farewell->head.version != SONDE_LINK_VERSION)
		return -EPROTO;
	SONDE_LISTENERS_CALL(&channel->listeners[SONDE_LINK_CPU], farewell, connection->pid, farewell);
	return 0;
}

static int take_leave(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message)
{
	const struct sonde_link_leave *leave = message;
	if (connection->pool || leave->head.version != SONDE_LINK_VERSION || leave->reason >= SONDE_LINK_REASONS)
		return -EPROTO;
	SONDE_LISTENERS_CALL(sonde_channel_listeners(channel, leave->client), left, connection->pid, leave);
	return 0;
}

static int answer_query(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message)
{
	const struct sonde_program_sink *program = connection->pool ? sonde_pool_program(connection->pool) : NULL;
	if (!program)
		return -EPROTO;
	sonde_pool_drain(connection->pool, 0);
	size_t size_b = program->answer(program->context, message, &channel->answer);
	return send_with(connection, &channel->answer, size_b, -1);
}

/* Drains all rings of the process, including that of libsonde, in which snapshots are requested. */
static void drain_process(void *context, pid_t pid)
{
	const struct sonde_channel *channel = context;
	for (size_t i = 0; i < channel->count; i++)
		if (channel->connections[i].pool && channel->connections[i].pid == pid &&
		    channel->connections[i].client != SONDE_LINK_CPU)
			sonde_pool_drain(channel->connections[i].pool, 0);
}

static int answer_table(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message)
{
	const struct sonde_link_table_question *question = message;
	struct sonde_link_table table = {.head = {SONDE_LINK_TABLE, SONDE_LINK_VERSION}, .status = -ENOENT};
	const struct sonde_listeners *listeners = sonde_channel_listeners(channel, question->client);
	struct sonde_channel_drainer drainer = {channel, drain_process, connection->fd};
	int fd = -1;
	SONDE_LISTENERS_CALL(listeners, passed, connection->pid, &drainer);
	for (size_t i = 0; i < listeners->count; i++) {
		const struct sonde_channel_listener *listener = listeners->rows[i];
		if (!listener->table)
			continue;
		fd = listener->table(listener->context, connection->pid, question->address, &table);
		break;
	}
	int rc = send_with(connection, &table, sizeof(table), fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int answer_scan(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message)
{
	const struct sonde_listeners *listeners = &channel->listeners[SONDE_LINK_HEAP];
	struct sonde_channel_drainer drainer = {channel, drain_process, connection->fd};
	struct sonde_link_scanned scanned = {.head = {SONDE_LINK_SCAN, SONDE_LINK_VERSION}, .status = -ENOENT};
	for (size_t i = 0; i < listeners->count; i++) {
		const struct sonde_channel_listener *listener = listeners->rows[i];
		if (!listener->scan)
			continue;
		scanned.status = listener->scan(listener->context, connection->pid, message, &drainer);
		break;
	}
	return send_with(connection, &scanned, sizeof(scanned), -1);
}

/* Answers a query for live blocks. If the process has allocation hooks, which precede libsonde's functions, the answer
 * comes from the heap source; otherwise from the process's own events. */
static int answer_blocks(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message)
{
	struct sonde_link_blocks_question *question = message;
	const struct sonde_listeners *listeners = &channel->listeners[SONDE_LINK_HEAP];
	const struct sonde_program_sink *program = connection->pool ? sonde_pool_program(connection->pool) : NULL;
	struct sonde_channel_drainer drainer = {channel, drain_process, connection->fd};
	struct sonde_link_blocks blocks = {.head = {SONDE_LINK_BLOCKS, SONDE_LINK_VERSION}, .status = -ENOENT};
	if (!connection->pool)
		return -EPROTO;
	question->name[sizeof(question->name) - 1] = '\0';
	for (size_t i = 0; i < listeners->count && blocks.status; i++) {
		const struct sonde_channel_listener *listener = listeners->rows[i];
		if (listener->blocks)
			blocks.status =
			    listener->blocks(listener->context, connection->pid, question->name, &drainer, &blocks);
	}
	if (blocks.status && program)
		blocks.status = program->blocks(program->context, question->name, &blocks);
	return send_with(connection, &blocks, sizeof(blocks), -1);
}

/* The answer is sent when the snapshot is taken; until then the snapshot owns the socket. */
static int ask_snapshot(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message)
{
	const struct sonde_link_snapshot_question *question = message;
	struct sonde_snapshot_ask ask = {
	    .process = sonde_recorder_alive(channel->recorder, (pid_t)question->pid),
	    .pid = (pid_t)question->pid,
	    .reason = SONDE_SNAPSHOT_COMMAND,
	    .label = question->label,
	    .label_b = strnlen(question->label, sizeof(question->label)),
	    .time_ns = sonde_clock_now_ns(),
	    .answer_fd = connection->fd,
	};
	if (connection->pool)
		return -EPROTO;
	struct sonde_link_snapshot none = {.head = {SONDE_LINK_SNAPSHOT, SONDE_LINK_VERSION}};
	none.status = ask.process ? sonde_snapshots_ask(channel->snapshots, &ask) : -ESRCH;
	if (!none.status)
		connection->fd = -1;
	return none.status ? send_with(connection, &none, sizeof(none), -1) : 0;
}

static const struct {
	uint32_t type; /* enum sonde_link_type */
	size_t size_b;
	int (*handle)(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message);
} kinds[] = {
    {SONDE_LINK_HELLO, sizeof(struct sonde_link_hello), take_hello},
    {SONDE_LINK_FAREWELL, sizeof(struct sonde_link_farewell), take_farewell},
    {SONDE_LINK_LEAVE, sizeof(struct sonde_link_leave), take_leave},
    {SONDE_LINK_QUERY, sizeof(struct sonde_link_query), answer_query},
    {SONDE_LINK_BLOCKS, sizeof(struct sonde_link_blocks_question), answer_blocks},
    {SONDE_LINK_TABLE, sizeof(struct sonde_link_table_question), answer_table},
    {SONDE_LINK_SCAN, sizeof(struct sonde_link_scan), answer_scan},
    {SONDE_LINK_SNAPSHOT, sizeof(struct sonde_link_snapshot_question), ask_snapshot},
};

/* Handles one message. 0, or a negative errno, after which the connection is closed. */
static int handle(struct sonde_channel *channel, struct sonde_channel_connection *connection, void *message,
		  size_t size_b)
{
	const struct sonde_link_head *head = message;
	if (size_b < sizeof(*head))
		return -EPROTO;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].type == head->type && kinds[i].size_b == size_b)
			return kinds[i].handle(channel, connection, message);
	return head->type == SONDE_LINK_DOORBELL ? 0 : -EPROTO; /* a doorbell only wakes the recorder */
}

void sonde_channel_receive(struct sonde_channel *channel, struct sonde_channel_connection *connection)
{
	union {
		struct sonde_link_head head;
		struct sonde_link_hello hello;
		struct sonde_link_query query;
		struct sonde_link_farewell farewell;
		struct sonde_link_leave leave;
		struct sonde_link_scan scan;
		struct sonde_link_blocks_question blocks;
		struct sonde_link_table_question table;
		struct sonde_link_snapshot_question snapshot;
	} message;
	for (int i = 0; i < MESSAGES_A_ROUND && connection->fd >= 0; i++) {
		ssize_t got = recv(connection->fd, &message, sizeof(message), MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0 || handle(channel, connection, &message, (size_t)got))
			sonde_channel_hang_up(connection);
	}
}

void sonde_channel_refuse(struct sonde_channel *channel, struct sonde_channel_connection *connection)
{
	struct pollfd peer = {.fd = connection->fd, .events = POLLIN};
	connection->is_refused = 1;
	if (poll(&peer, 1, REFUSED_WAIT_MS) > 0)
		sonde_channel_receive(channel, connection);
	else /* libsonde; hooks that are not answered report it themselves (SONDE_LINK_SILENT) */
		lose_process(channel, connection->pid, source_of(&channel->listeners[SONDE_LINK_ZONES]), TOO_MANY);
	sonde_channel_hang_up(connection);
}
