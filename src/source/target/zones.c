/* zones.c: gives processes their pools over a socket and drains them (target/zones.h).
 *
 * A connection ends in two steps. When its socket hangs up, the process may have died, executed another program, or
 * just closed all its descriptors: in the last case it goes on writing, so the pool is drained until the process is
 * gone or no longer maps it. Descriptors inherited by children keep sockets open, therefore death is also seen by a
 * pidfd.
 */
#include "source/target/zones.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/ring.h"
#include "source/resource/proc_stat.h"
#include "source/target/zones_state.h"
#include "util/error.h"

#define BUFFER_DEFAULT_B (64u << 20)
#define CONNECTIONS_MAX 8192u
#define ANCESTORS_MAX 64        /* a parent may have ended, and its number be used again */
#define LOOK_FIRST_NS 10000000u /* between looks at the maps of a process that hung up: at first, doubled each time */
#define LOOK_LAST_NS 800000000u /* and at last */
#define FIT_NS 5000000u
#define MANY 2u /* processes: as many again will come */
#define METHOD "rings in shared memory, written by the program itself"

#define CLIENTS (SONDE_LINK_WAITS + 1)

static const struct sonde_zones_listener nobody;
static const struct sonde_zones_listener *listeners[CLIENTS];
static const struct sonde_clockfit *shared_fit;
static const char *shared_name, *shared_path = "";
static struct sonde_source_run *shared_run;

void sonde_zones_listen(enum sonde_link_client client, const struct sonde_zones_listener *listener)
{
	listeners[client] = listener;
}

const struct sonde_zones_listener *sonde_zones_listener_of(uint32_t client)
{
	return client < CLIENTS && listeners[client] ? listeners[client] : &nobody;
}

const struct sonde_clockfit *sonde_zones_fit(void)
{
	return shared_fit;
}

pid_t sonde_zones_tid(pid_t pid, pid_t own)
{
	for (size_t i = 0; shared_run && shared_run->has_own_tids && i < shared_run->count; i++)
		if (shared_run->connections[i].pid == pid && shared_run->connections[i].pool)
			return sonde_pool_tid(shared_run->connections[i].pool, own);
	return own; /* also before it is connected: only processes of our namespace tell of anything then */
}

const char *sonde_zones_socket(void)
{
	return shared_name;
}

const char *sonde_zones_path(void)
{
	return shared_path;
}

const char *sonde_zones_name(const struct sonde_source_run *run)
{
	return run->name;
}

uint64_t sonde_zones_connected(const struct sonde_source_run *run)
{
	return run->connected;
}

/* --- opening ------------------------------------------------------------------------------------------------------*/

static int zones_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (options && options->only_resources)
		return -ENOENT;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		int code = -errno;
		snprintf(why, why_b, "no local sockets here: %s", strerror(-code));
		return code;
	}
	close(fd);
	return 0;
}

static int zones_open(struct sonde_source_run **out, struct sonde_recorder *recorder)
{
	struct sonde_source_run *run = calloc(1, sizeof(*run));
	if (!run)
		return sonde_error(ENOMEM, "no memory for the zones source");
	run->recorder = recorder;
	uint64_t buffer_b = sonde_recorder_options(recorder)->buffer_b;
	uint64_t chunks = (buffer_b ? buffer_b : BUFFER_DEFAULT_B) / SONDE_RING_CHUNK_B;
	run->budget.cap = chunks > UINT32_MAX ? UINT32_MAX : (uint32_t)chunks;
	run->clock = sonde_clockfit_usable() ? SONDE_RING_CLOCK_CYCLES : SONDE_RING_CLOCK_NS;
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	sonde_clockfit_init(&run->fit, &anchor);
	shared_fit = &run->fit;
	int code = sonde_zones_listen_open(run);
	if (code) {
		sonde_zones_listen_close(run);
		free(run);
		return code;
	}
	shared_name = run->name;
	shared_path = run->path;
	shared_run = run;
	*out = run;
	return 0;
}

static int zones_prepare(struct sonde_source_run *run, struct sonde_launch *launch)
{
	return sonde_launch_setenv(launch, SONDE_LINK_ENV, run->name);
}

static int zones_start(struct sonde_source_run *run, pid_t pid)
{
	(void)run;
	(void)pid;
	return 0;
}

/* --- connections --------------------------------------------------------------------------------------------------*/

static void connection_end(struct sonde_zones_connection *connection)
{
	sonde_zones_hang_up(connection);
	if (connection->pid_fd >= 0)
		close(connection->pid_fd);
	if (!connection->pool)
		return;
	sonde_pool_free(connection->pool);
	connection->pool = NULL; /* others that are served in this round still look at this row */
	const struct sonde_zones_listener *listener = sonde_zones_listener_of(connection->client);
	if (listener->closed)
		listener->closed(listener->context, connection->pid);
}

/* A process that the command started, in however many steps; one whose parents have ended is known where the kernel
 * told of its birth. */
static int is_descendant(const struct sonde_source_run *run, pid_t pid)
{
	struct sonde_proc_stat stat = {.parent = pid};
	for (int i = 0; i < ANCESTORS_MAX && stat.parent > 1 && stat.parent != getpid(); i++)
		if (sonde_proc_stat_read(&stat, stat.parent, 0))
			break;
	return stat.parent == getpid() || sonde_recorder_alive(run->recorder, pid);
}

/* The kernel lets us look into it: into all for root, and for whoever made it into those of a user namespace. */
static int is_open_to_us(pid_t pid)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return !geteuid() || !stat(path, &status);
}

/* Only our own user: an abstract name can be seen by all. And what the command has started, which may have other rights
 * since then, where we may look at it anyway. */
static int is_trusted(const struct sonde_source_run *run, const struct ucred *peer)
{
	return peer->uid == geteuid() || (is_open_to_us(peer->pid) && is_descendant(run, peer->pid));
}

static int admit(struct sonde_source_run *run, int fd)
{
	struct ucred peer;
	socklen_t peer_b = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_b) || peer.pid <= 0 || run->count >= CONNECTIONS_MAX)
		return -EPERM;
	if (!is_trusted(run, &peer)) {
		run->strangers++;
		return -EPERM;
	}
	struct sonde_zones_connection *grown = realloc(run->connections, (run->count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	run->connections = grown;
	int pid_fd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	grown[run->count++] = (struct sonde_zones_connection){.fd = fd, .pid_fd = pid_fd, .pid = peer.pid};
	return 0;
}

static void accept_all(struct sonde_source_run *run, int listen_fd)
{
	for (;;) {
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		if (admit(run, fd))
			close(fd);
	}
}

static int is_dead(const struct sonde_zones_connection *connection)
{
	struct pollfd poll_fd = {.fd = connection->pid_fd, .events = POLLIN};
	if (connection->pid_fd >= 0)
		return poll(&poll_fd, 1, 0) > 0;
	return kill(connection->pid, 0) && errno == ESRCH;
}

/* Hooks hang up as soon as they have their pool: the first look comes a little later. Then the first ones follow each other
 * closely: others hang up since they are about to execute another program. */
static int is_unmapped(struct sonde_zones_connection *connection)
{
	uint64_t now_ns = sonde_clock_now_ns();
	if (!connection->look_ns)
		connection->look_ns = now_ns + LOOK_FIRST_NS;
	if (now_ns < connection->look_ns)
		return 0;
	uint64_t rest_ns = 2 * connection->rest_ns;
	connection->rest_ns = rest_ns < LOOK_FIRST_NS ? LOOK_FIRST_NS : rest_ns < LOOK_LAST_NS ? rest_ns : LOOK_LAST_NS;
	connection->look_ns = now_ns + connection->rest_ns;
	return !sonde_pool_is_mapped(connection->pool);
}

/* 1 when nothing more can come. Death is looked for before draining, so that what came before it is not missed. */
static int connection_drain(struct sonde_source_run *run, struct sonde_zones_connection *connection)
{
	int dead = is_dead(connection);
	sonde_zones_receive(run, connection);
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
static void fit_clock(struct sonde_source_run *run)
{
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	uint64_t passed_ns = anchor.mono_ns - run->fit.first.mono_ns;
	if (!run->fit.count && passed_ns < FIT_NS) {
		struct timespec rest = {0, (long)(FIT_NS - passed_ns)};
		while (nanosleep(&rest, &rest) && errno == EINTR)
			;
		anchor = sonde_clockfit_read();
	}
	sonde_clockfit_add(&run->fit, &anchor);
}

static int zones_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns; /* each thread's events are in order by themselves: all of them are taken */
	uint64_t before = run->connected;
	fit_clock(run);
	accept_all(run, run->listen_fd);
	if (run->second_fd >= 0)
		accept_all(run, run->second_fd);
	size_t kept = 0;
	for (size_t i = 0; i < run->count; i++) {
		struct sonde_zones_connection *connection = &run->connections[i];
		if (connection_drain(run, connection))
			connection_end(connection);
		else
			run->connections[kept++] = *connection;
	}
	run->count = kept;
	for (size_t i = 0; final && i < run->count; i++)
		connection_end(&run->connections[i]);
	if (final)
		run->count = 0;
	else if (before >= MANY && run->connected == before) /* whoever has just come will soon ask something else */
		sonde_pool_prepare(&run->budget);
	return sonde_recorder_error(run->recorder);
}

static size_t zones_poll_fds(struct sonde_source_run *run, int *fds, size_t max)
{
	size_t used = 0;
	if (used < max)
		fds[used++] = run->listen_fd;
	if (run->second_fd >= 0 && used < max)
		fds[used++] = run->second_fd;
	for (size_t i = 0; i < run->count; i++) {
		if (run->connections[i].fd >= 0 && used < max)
			fds[used++] = run->connections[i].fd;
		if (run->connections[i].pid_fd >= 0 && used < max)
			fds[used++] = run->connections[i].pid_fd;
	}
	return used;
}

/* What could not be seen, and why. */
static void write_detail(const struct sonde_source_run *run, char *out, size_t out_b)
{
	int used = 0;
	out[0] = '\0';
	if (run->strangers)
		used = snprintf(out, out_b,
				"%llu process%s of other users wanted to be recorded and %s refused%s: record as %sthe "
				"user who runs %s",
				(unsigned long long)run->strangers, run->strangers == 1 ? "" : "es",
				run->strangers == 1 ? "was" : "were",
				geteuid() ? "" : ", not known to come from the command",
				geteuid() ? "root, or as " : "", run->strangers == 1 ? "it" : "them");
	else if (!run->programs)
		used = snprintf(out, out_b, "no program used the sonde API");
	if (run->programs && run->clock != SONDE_RING_CLOCK_CYCLES)
		snprintf(out + used, out_b - (size_t)used,
			 "%sthe cycle counter of this machine is not stable: each event reads CLOCK_MONOTONIC, which "
			 "costs more",
			 used ? "; " : "");
}

static void zones_stop(struct sonde_source_run *run)
{
	char detail[512];
	for (size_t i = 0; i < run->count; i++)
		connection_end(&run->connections[i]);
	write_detail(run, detail, sizeof(detail));
	struct sonde_recorder_state state = {
	    .state = run->strangers  ? SONDE_SOURCE_LIMITED
		     : run->programs ? SONDE_SOURCE_ON
				     : SONDE_SOURCE_OFF,
	    .method = METHOD,
	    .detail = *detail ? detail : NULL,
	};
	sonde_recorder_source(run->recorder, "zones", &state);
	sonde_zones_listen_close(run);
	shared_run = NULL;
	shared_fit = NULL;
	shared_name = NULL;
	shared_path = "";
	sonde_pool_forget(&run->budget);
	free(run->connections);
	free(run);
}

const struct sonde_source sonde_source_zones = {
    .name = "zones",
    .title = "zones, counters and spans that programs record by themselves",
    .cost = "one pair of clock readings a zone, plus 0.5 ns",
    .probe = zones_probe,
    .open = zones_open,
    .prepare = zones_prepare,
    .start = zones_start,
    .drain = zones_drain,
    .poll_fds = zones_poll_fds,
    .stop = zones_stop,
};
