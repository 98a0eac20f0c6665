/* zones_messages.c: what targets say and ask over their sockets (format/link.h), and what they are answered (target/zones.h).
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/ring.h"
#include "source/target/zones_state.h"

#define MESSAGES_A_ROUND 64

/* With a descriptor, if it is one. */
static int send_with(const struct sonde_zones_connection *connection, const void *answer, size_t answer_b, int fd)
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

static int send_welcome(const struct sonde_zones_connection *connection, int status)
{
	struct sonde_link_welcome welcome = {.head = {SONDE_LINK_WELCOME, SONDE_LINK_VERSION}, .status = status};
	if (!status)
		welcome.pool_b = sonde_pool_size_b(connection->pool);
	return send_with(connection, &welcome, sizeof(welcome), status ? -1 : sonde_pool_fd(connection->pool));
}

int sonde_zones_is_waiting(int asker)
{
	struct pollfd peer = {.fd = asker};
	return poll(&peer, 1, 0) == 0; /* what is always looked for: that it hung up */
}

/* Whose records a client's are. */
static const char *source_of(uint32_t client)
{
	static const char *const names[] = {
	    [SONDE_LINK_CPU] = "cpu", [SONDE_LINK_HEAP] = "heap", [SONDE_LINK_WAITS] = "waits"};
	return client < sizeof names / sizeof *names && names[client] ? names[client] : "zones";
}

/* Its rings cannot be made: it runs on as if nobody recorded it. */
static void lose_process(struct sonde_source_run *run, pid_t pid, uint32_t client, int code)
{
	uint64_t now_ns = sonde_clock_now_ns();
	char cause[160];
	if (code == -ETIMEDOUT)
		snprintf(cause, sizeof(cause),
			 "processes that are not recorded: the recorder was stopped, or too busy, when "
			 "they began");
	else
		snprintf(cause, sizeof(cause),
			 "processes that are not recorded, since their rings cannot be made: %s%s", strerror(-code),
			 code == -EFBIG ? " (the recorder's ulimit -f counts for them, too)" : "");
	struct sonde_recorder_loss loss = {
	    .source = source_of(client),
	    .cause = cause,
	    .process = sonde_recorder_process(run->recorder, pid, now_ns),
	    .count = 1,
	    .time_ns = now_ns,
	};
	sonde_recorder_lost(run->recorder, &loss);
}

static int greet(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message)
{
	const struct sonde_link_hello *hello = message;
	if (connection->pool || hello->head.version != SONDE_LINK_VERSION)
		return -EPROTO;
	if (!sonde_zones_is_waiting(connection->fd)) { /* the hooks say so themselves (SONDE_LINK_SILENT) */
		if (hello->client == SONDE_LINK_ZONES)
			lose_process(run, connection->pid, hello->client, -ETIMEDOUT);
		return -EPIPE;
	}
	const struct sonde_zones_listener *listener = sonde_zones_listener_of(hello->client);
	uint32_t size = hello->flags >> SONDE_LINK_SIZE_SHIFT;
	struct sonde_pool_options options = {
	    .recorder = run->recorder,
	    .budget = &run->budget,
	    .fit = &run->fit,
	    .pid = connection->pid,
	    .own_pid = (pid_t)hello->pid,
	    .clock = hello->flags & SONDE_LINK_NO_CYCLES ? SONDE_RING_CLOCK_NS : run->clock,
	    .on_full = (uint32_t)sonde_recorder_options(run->recorder)->on_full,
	    .most = size && size < 31 ? 1u << size : 0,
	    .source = source_of(hello->client),
	    .context = listener->context,
	    .cpu_sample = listener->sample,
	    .call = listener->call,
	    .heap = listener->heap,
	};
	run->has_own_tids |= options.own_pid != options.pid;
	connection->client = hello->client;
	if (listener->flags)
		listener->flags(listener->context, connection->pid, hello->flags);
	if (listener->opened)
		listener->opened(listener->context, connection->pid, options.clock);
	int code = sonde_pool_new(&connection->pool, &options);
	int sent = send_welcome(connection, code);
	if (code && listener->closed)
		listener->closed(listener->context, connection->pid);
	if (code) {
		lose_process(run, connection->pid, hello->client, code);
		return code;
	}
	run->connected++;
	run->programs += hello->client == SONDE_LINK_ZONES;
	return sent;
}

static int part(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message)
{
	const struct sonde_link_farewell *farewell = message;
	(void)run;
	if (connection->pool || farewell->head.version != SONDE_LINK_VERSION)
		return -EPROTO;
	const struct sonde_zones_listener *listener = sonde_zones_listener_of(SONDE_LINK_CPU);
	if (listener->farewell)
		listener->farewell(listener->context, connection->pid, farewell);
	return 0;
}

static int leave(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message)
{
	const struct sonde_link_leave *leaves = message;
	(void)run;
	const struct sonde_zones_listener *listener = sonde_zones_listener_of(leaves->client);
	if (connection->pool || leaves->head.version != SONDE_LINK_VERSION || leaves->reason >= SONDE_LINK_REASONS)
		return -EPROTO;
	if (listener->left)
		listener->left(listener->context, connection->pid, leaves);
	return 0;
}

static int answer(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message)
{
	const struct sonde_link_query *query = message;
	(void)run;
	static struct sonde_link_answer out;
	if (!connection->pool)
		return -EPROTO;
	sonde_pool_drain(connection->pool, 0);
	size_t size_b = sonde_pool_answer(connection->pool, query, &out);
	return send_with(connection, &out, size_b, -1);
}

static void drain_heap(void *context, pid_t pid)
{
	const struct sonde_source_run *run = context;
	for (size_t i = 0; i < run->count; i++)
		if (run->connections[i].pool && run->connections[i].pid == pid &&
		    run->connections[i].client != SONDE_LINK_CPU) /* snapshots come through libsonde's */
			sonde_pool_drain(run->connections[i].pool, 0);
}

static int tell_table(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message)
{
	const struct sonde_link_table_question *question = message;
	struct sonde_link_table table = {.head = {SONDE_LINK_TABLE, SONDE_LINK_VERSION}, .status = -ENOENT};
	const struct sonde_zones_listener *listener = sonde_zones_listener_of(question->client);
	struct sonde_zones_drainer drainer = {run, drain_heap, connection->fd};
	if (listener->passed)
		listener->passed(listener->context, connection->pid, &drainer);
	int fd = listener->table ? listener->table(listener->context, connection->pid, question->address, &table) : -1;
	int code = send_with(connection, &table, sizeof(table), fd);
	if (fd >= 0)
		close(fd);
	return code;
}

static int tell_scanned(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message)
{
	const struct sonde_link_scan *question = message;
	const struct sonde_zones_listener *listener = sonde_zones_listener_of(SONDE_LINK_HEAP);
	struct sonde_zones_drainer drainer = {run, drain_heap, connection->fd};
	struct sonde_link_scanned scanned = {.head = {SONDE_LINK_SCAN, SONDE_LINK_VERSION}, .status = -ENOENT};
	if (listener->scan)
		scanned.status = listener->scan(listener->context, connection->pid, question, &drainer);
	return send_with(connection, &scanned, sizeof(scanned), -1);
}

/* By the hooks in the process, where they stand before its own functions, else by its events. */
static int tell_blocks(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message)
{
	struct sonde_link_blocks_question *question = message;
	const struct sonde_zones_listener *listener = sonde_zones_listener_of(SONDE_LINK_HEAP);
	struct sonde_zones_drainer drainer = {run, drain_heap, connection->fd};
	struct sonde_link_blocks blocks = {.head = {SONDE_LINK_BLOCKS, SONDE_LINK_VERSION}, .status = -ENOENT};
	if (!connection->pool)
		return -EPROTO;
	question->name[sizeof(question->name) - 1] = '\0';
	if (listener->blocks)
		blocks.status = listener->blocks(listener->context, connection->pid, question->name, &drainer, &blocks);
	if (blocks.status)
		blocks.status = sonde_pool_blocks(connection->pool, question->name, &blocks);
	return send_with(connection, &blocks, sizeof(blocks), -1);
}

/* The answer comes when the snapshot is taken; until then the socket is whose snapshot it is. */
static int ask_snapshot(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message)
{
	const struct sonde_link_snapshot_question *question = message;
	struct sonde_snapshot_ask ask = {
	    .process = sonde_recorder_alive(run->recorder, (pid_t)question->pid),
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
	none.status = ask.process ? sonde_recorder_ask(run->recorder, &ask) : -ESRCH;
	if (!none.status)
		connection->fd = -1;
	return none.status ? send_with(connection, &none, sizeof(none), -1) : 0;
}

static const struct {
	uint32_t type; /* enum sonde_link_type */
	size_t size_b;
	int (*handle)(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message);
} kinds[] = {
    {SONDE_LINK_HELLO, sizeof(struct sonde_link_hello), greet},
    {SONDE_LINK_FAREWELL, sizeof(struct sonde_link_farewell), part},
    {SONDE_LINK_LEAVE, sizeof(struct sonde_link_leave), leave},
    {SONDE_LINK_QUERY, sizeof(struct sonde_link_query), answer},
    {SONDE_LINK_BLOCKS, sizeof(struct sonde_link_blocks_question), tell_blocks},
    {SONDE_LINK_TABLE, sizeof(struct sonde_link_table_question), tell_table},
    {SONDE_LINK_SCAN, sizeof(struct sonde_link_scan), tell_scanned},
    {SONDE_LINK_SNAPSHOT, sizeof(struct sonde_link_snapshot_question), ask_snapshot},
};

/* One message; 0, or a negative errno after which the connection is not believed any more. */
static int handle(struct sonde_source_run *run, struct sonde_zones_connection *connection, void *message, size_t size_b)
{
	const struct sonde_link_head *head = message;
	if (size_b < sizeof(*head))
		return -EPROTO;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].type == head->type && kinds[i].size_b == size_b)
			return kinds[i].handle(run, connection, message);
	return head->type == SONDE_LINK_DOORBELL ? 0 : -EPROTO; /* it has woken us */
}

void sonde_zones_receive(struct sonde_source_run *run, struct sonde_zones_connection *connection)
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
		if (got <= 0 || handle(run, connection, &message, (size_t)got))
			sonde_zones_hang_up(connection);
	}
}
