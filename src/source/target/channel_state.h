/* channel_state.h: the channel's internals, shared by target/channel.c, channel_sockets.c and channel_messages.c. */
#ifndef SONDE_SOURCE_TARGET_CHANNEL_STATE_H
#define SONDE_SOURCE_TARGET_CHANNEL_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "fold/clockfit.h"
#include "source/target/channel.h"
#include "source/target/pool.h"

#define SONDE_CHANNEL_CLIENTS (SONDE_LINK_WAITS + 1)

struct sonde_channel_connection {
	int fd;     /* −1 after a hang-up */
	int pid_fd; /* −1 if the kernel has no pidfds */
	pid_t pid;
	uint32_t client;
	uint64_t check_ns, pause_ns; /* after a hang-up: next check of its maps, pause between checks */
	struct sonde_pool *pool;     /* NULL before HELLO */
	int is_refused;              /* no room for the process: it may report, but is not recorded */
};

struct sonde_channel {
	struct sonde_recorder *recorder;
	struct sonde_snapshots *snapshots;
	struct sonde_listeners listeners[SONDE_CHANNEL_CLIENTS];
	int listen_fd;     /* abstract socket; −1 = processes cannot connect */
	int second_fd;     /* socket for other network namespaces; −1 = none */
	int place_fd;      /* inode of the second socket */
	char path[108];    /* path of the second socket while it exists; "" = none */
	char name[48];     /* name of the first socket; fits sonde_early_head.socket */
	char failure[256]; /* "" = processes can connect */
	uint32_t clock;
	struct sonde_clockfit fit;
	struct sonde_pool_budget budget;
	struct sonde_channel_connection *connections;
	size_t count, capacity;
	size_t connections_max; /* further processes are refused, and counted as lost */
	uint64_t connected;
	uint64_t strangers;              /* refused connections of other users */
	int has_own_tids;                /* some process was in another pid namespace */
	struct sonde_link_answer answer; /* too large for the stack */
};

/* The listeners of a client; `client` is untrusted and may be any number. */
static inline const struct sonde_listeners *sonde_channel_listeners(const struct sonde_channel *channel,
								    uint32_t client)
{
	static const struct sonde_listeners nobody;
	return client < SONDE_CHANNEL_CLIENTS ? &channel->listeners[client] : &nobody;
}

static inline void sonde_channel_hang_up(struct sonde_channel_connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

/* Opens both sockets. 0, or a negative errno with none open. All three descriptors must be −1 before. */
int sonde_channel_sockets_open(struct sonde_channel *channel);
void sonde_channel_sockets_close(struct sonde_channel *channel);

/* Answers a process for which there is no room, counts it as lost if it asks to be recorded, and hangs up. */
void sonde_channel_refuse(struct sonde_channel *channel, struct sonde_channel_connection *connection);
/* Handles the messages that have arrived. */
void sonde_channel_receive(struct sonde_channel *channel, struct sonde_channel_connection *connection);

#endif
