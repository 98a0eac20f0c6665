/* channel.c: sends processes their pools over a socket and drains them (target/channel.h).
 *
 * A connection ends in two steps. When its socket hangs up, the process may have died, executed another program, or
 * just closed all its descriptors. In the last case it goes on writing, so the pool is drained until the process is
 * gone or no longer maps the pool. Children may inherit the socket's descriptor and keep it open, so the death of the
 * process is also detected with a pidfd.
 */
#include "source/target/channel.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/ring.h"
#include "source/resource/proc_stat.h"
#include "source/target/channel_state.h"
#include "util/array.h"
#include "util/error.h"

#define BUFFER_DEFAULT_B (64u << 20)
#define CONNECTIONS_MAX 8192u
#define ANCESTORS_MAX 64 /* bounds the walk: a parent may have ended and its pid been reused */
#define CHECK_FIRST_NS \
	10000000u /* first pause between checks of the maps of a process that hung up; doubled each time */
#define CHECK_LAST_NS 800000000u /* maximum pause */
#define FIT_NS 5000000u
#define MANY 2u /* if this many processes have connected, more are expected */

/* --- listeners --------------------------------------------------------------------------------------------------- */

int sonde_channel_listen(struct sonde_channel *channel, enum sonde_link_client client,
			 const struct sonde_channel_listener *listener)
{
	struct sonde_listeners *listeners = &channel->listeners[client];
	if (listeners->count == SONDE_LISTENERS_MAX)
		return sonde_error(ENOSPC, "too many sources listen to the same processes");
	listeners->rows[listeners->count++] = listener;
	return 0;
}

void sonde_channel_ignore(struct sonde_channel *channel, const struct sonde_channel_listener *listener)
{
	for (size_t client = 0; client < SONDE_CHANNEL_CLIENTS; client++) {
		struct sonde_listeners *listeners = &channel->listeners[client];
		size_t kept = 0;
		for (size_t i = 0; i < listeners->count; i++)
			if (listeners->rows[i] != listener)
				listeners->rows[kept++] = listeners->rows[i];
		listeners->count = kept;
	}
}

int sonde_channel_covers(const struct sonde_channel *channel, enum sonde_link_client client, pid_t pid)
{
	const struct sonde_listeners *listeners = &channel->listeners[client];
	for (size_t i = 0; i < listeners->count; i++)
		if (listeners->rows[i]->covers)
			return listeners->rows[i]->covers(listeners->rows[i]->context, pid);
	return 0;
}

int sonde_channel_covered(const struct sonde_channel *channel, enum sonde_link_client client, uint32_t process)
{
	const struct sonde_listeners *listeners = &channel->listeners[client];
	for (size_t i = 0; i < listeners->count; i++)
		if (listeners->rows[i]->covered)
			return listeners->rows[i]->covered(listeners->rows[i]->context, process);
	return 0;
}

int sonde_channel_unreachable(const struct sonde_channel *channel, enum sonde_link_client client, uint32_t process)
{
	const struct sonde_listeners *listeners = &channel->listeners[client];
	for (size_t i = 0; i < listeners->count; i++)
		if (listeners->rows[i]->unreachable)
			return listeners->rows[i]->unreachable(listeners->rows[i]->context, process);
	return 0;
}

/* --- queries ------------------------------------------------------------------------------------------------------ */

const char *sonde_channel_failure(const struct sonde_channel *channel)
{
	return *channel->failure ? channel->failure : NULL;
}

const struct sonde_clockfit *sonde_channel_fit(const struct sonde_channel *channel)
{
	return &channel->fit;
}

int sonde_channel_counts_cycles(const struct sonde_channel *channel)
{
	return channel->clock == SONDE_RING_CLOCK_CYCLES;
}

pid_t sonde_channel_tid(const struct sonde_channel *channel, pid_t pid, pid_t own)
{
	for (size_t i = 0; channel->has_own_tids && i < channel->count; i++)
		if (channel->connections[i].pid == pid && channel->connections[i].pool)
			return sonde_pool_tid(channel->connections[i].pool, own);
	return own; /* before they connect, only processes of our namespace report anything */
}

const char *sonde_channel_name(const struct sonde_channel *channel)
{
	return channel->name;
}

const char *sonde_channel_path(const struct sonde_channel *channel)
{
	return channel->path;
}

uint64_t sonde_channel_connected(const struct sonde_channel *channel)
{
	return channel->connected;
}

uint64_t sonde_channel_strangers(const struct sonde_channel *channel)
{
	return channel->strangers;
}

/* --- connections --------------------------------------------------------------------------------------------------*/

static void connection_end(struct sonde_channel *channel, struct sonde_channel_connection *connection)
{
	sonde_channel_hang_up(connection);
	if (connection->pid_fd >= 0)
		close(connection->pid_fd);
	if (!connection->pool)
		return;
	sonde_pool_free(connection->pool);
	connection->pool = NULL; /* other connections handled in this round still see this row */
	SONDE_LISTENERS_CALL(sonde_channel_listeners(channel, connection->client), closed, connection->pid);
}

/* True if the command started the process, directly or indirectly. If the parents have ended, this is known only if the
 * kernel reported the process's start. */
static int is_descendant(const struct sonde_channel *channel, pid_t pid)
{
	struct sonde_proc_stat stat = {.parent = pid};
	for (int i = 0; i < ANCESTORS_MAX && stat.parent > 1 && stat.parent != getpid(); i++)
		if (sonde_proc_stat_read(&stat, stat.parent, 0))
			break;
	return stat.parent == getpid() || sonde_recorder_alive(channel->recorder, pid);
}

/* True if the kernel lets us read the process: root may read all processes, and the creator of a user namespace those
 * in that namespace. */
static int is_open_to_us(pid_t pid)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return !geteuid() || !stat(path, &status);
}

/* Everybody can see an abstract name, so only two kinds of processes are trusted: those of our own user, and
 * descendants of the command that have changed their privileges, if the kernel lets us read them. */
static int is_trusted(const struct sonde_channel *channel, const struct ucred *peer)
{
	return peer->uid == geteuid() || (is_open_to_us(peer->pid) && is_descendant(channel, peer->pid));
}

/* Accepts a connection and takes over its descriptor, if the process is trusted. */
static int admit(struct sonde_channel *channel, int fd)
{
	struct ucred peer;
	socklen_t peer_b = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_b) || peer.pid <= 0)
		return -EPERM;
	if (!is_trusted(channel, &peer)) {
		channel->strangers++;
		return -EPERM;
	}
	struct sonde_channel_connection connection = {.fd = fd, .pid_fd = -1, .pid = peer.pid};
	if (channel->count >= channel->connections_max ||
	    SONDE_ARRAY_RESERVE(channel->connections, channel->capacity, channel->count + 1)) {
		sonde_channel_refuse(channel, &connection);
		return 0;
	}
	connection.pid_fd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	channel->connections[channel->count++] = connection;
	return 0;
}

static void accept_all(struct sonde_channel *channel, int listen_fd)
{
	for (;;) {
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		if (admit(channel, fd))
			close(fd);
	}
}

static int is_dead(const struct sonde_channel_connection *connection)
{
	struct pollfd poll_fd = {.fd = connection->pid_fd, .events = POLLIN};
	if (connection->pid_fd >= 0)
		return poll(&poll_fd, 1, 0) > 0;
	return kill(connection->pid, 0) && errno == ESRCH;
}

/* True if the process no longer maps its pool. Hooks hang up as soon as they have their pool, so the first check comes
 * a little later. The next checks follow soon after, for processes that hang up because they call exec. */
static int is_unmapped(struct sonde_channel_connection *connection)
{
	uint64_t now_ns = sonde_clock_now_ns();
	if (!connection->check_ns)
		connection->check_ns = now_ns + CHECK_FIRST_NS;
	if (now_ns < connection->check_ns)
		return 0;
	uint64_t pause_ns = 2 * connection->pause_ns;
	connection->pause_ns = pause_ns < CHECK_FIRST_NS  ? CHECK_FIRST_NS
			       : pause_ns < CHECK_LAST_NS ? pause_ns
							  : CHECK_LAST_NS;
	connection->check_ns = now_ns + connection->pause_ns;
	return !sonde_pool_is_mapped(connection->pool);
}

/* Drains a process. Returns 1 if it will write nothing more. Whether it has died is checked before draining, so that
 * nothing that it wrote before its death is missed. */
static int connection_drain(struct sonde_channel *channel, struct sonde_channel_connection *connection)
{
	int dead = is_dead(connection);
	sonde_channel_receive(channel, connection);
	if (!connection->pool)
		return dead || connection->fd < 0;
	if (dead)
		return 1;
	if (connection->fd < 0 && is_unmapped(connection))
		return 1;
	sonde_pool_drain(connection->pool, 0);
	return 0;
}

/* The first conversion needs two anchors some time apart. */
static void fit_clock(struct sonde_channel *channel)
{
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	uint64_t passed_ns = anchor.mono_ns - channel->fit.first.mono_ns;
	if (!channel->fit.count && passed_ns < FIT_NS) {
		struct timespec remainder = {0, (long)(FIT_NS - passed_ns)};
		while (nanosleep(&remainder, &remainder) && errno == EINTR)
			;
		anchor = sonde_clockfit_read();
	}
	sonde_clockfit_add(&channel->fit, &anchor);
}

/* Drains all processes. All events are taken, without a horizon, since the events of each thread are in order. */
void sonde_channel_drain(struct sonde_channel *channel, int final)
{
	if (channel->listen_fd < 0)
		return;
	uint64_t before = channel->connected;
	fit_clock(channel);
	accept_all(channel, channel->listen_fd);
	if (channel->second_fd >= 0)
		accept_all(channel, channel->second_fd);
	size_t kept = 0;
	for (size_t i = 0; i < channel->count; i++) {
		struct sonde_channel_connection *connection = &channel->connections[i];
		if (connection_drain(channel, connection))
			connection_end(channel, connection);
		else
			channel->connections[kept++] = *connection;
	}
	channel->count = kept;
	for (size_t i = 0; final && i < channel->count; i++)
		connection_end(channel, &channel->connections[i]);
	if (final)
		channel->count = 0;
	else if (before >= MANY &&
		 channel->connected == before) /* a process that has just connected will soon send another request */
		sonde_pool_prepare(&channel->budget);
}

size_t sonde_channel_poll_fds(const struct sonde_channel *channel, int *fds, size_t max)
{
	size_t used = 0;
	if (channel->listen_fd >= 0 && used < max)
		fds[used++] = channel->listen_fd;
	if (channel->second_fd >= 0 && used < max)
		fds[used++] = channel->second_fd;
	for (size_t i = 0; i < channel->count; i++) {
		if (channel->connections[i].fd >= 0 && used < max)
			fds[used++] = channel->connections[i].fd;
		if (channel->connections[i].pid_fd >= 0 && used < max)
			fds[used++] = channel->connections[i].pid_fd;
	}
	return used;
}

/* --- opening and closing ----------------------------------------------------------------------------------------- */

int sonde_channel_open(struct sonde_channel **out, struct sonde_recorder *recorder, struct sonde_snapshots *snapshots)
{
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	struct sonde_channel *channel = calloc(1, sizeof(*channel));
	if (!channel)
		return sonde_error(ENOMEM, "no memory for the channel to processes");
	channel->recorder = recorder;
	channel->connections_max = CONNECTIONS_MAX;
	channel->snapshots = snapshots;
	channel->listen_fd = channel->second_fd = channel->place_fd = -1;
	uint64_t chunks = (options->buffer_b ? options->buffer_b : BUFFER_DEFAULT_B) / SONDE_RING_CHUNK_B;
	channel->budget.cap = chunks > UINT32_MAX ? UINT32_MAX : (uint32_t)chunks;
	channel->clock = sonde_clockfit_usable() ? SONDE_RING_CLOCK_CYCLES : SONDE_RING_CLOCK_NS;
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	sonde_clockfit_init(&channel->fit, &anchor);
	*out = channel;
	if (options->only_resources)
		snprintf(channel->failure, sizeof(channel->failure), "only resources are recorded");
	else if (sonde_channel_sockets_open(channel))
		snprintf(channel->failure, sizeof(channel->failure), "%s", sonde_error_text());
	return 0;
}

void sonde_channel_close(struct sonde_channel *channel)
{
	if (!channel)
		return;
	for (size_t i = 0; i < channel->count; i++)
		connection_end(channel, &channel->connections[i]);
	sonde_channel_sockets_close(channel);
	sonde_pool_forget(&channel->budget);
	free(channel->connections);
	free(channel);
}

int sonde_channel_prepare(const struct sonde_channel *channel, struct sonde_launch *launch)
{
	return channel->listen_fd >= 0 ? sonde_launch_setenv(launch, SONDE_LINK_ENV, channel->name) : 0;
}
