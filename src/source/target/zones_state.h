/* zones_state.h: what target/zones.c and target/zones_messages.c share: the connections of a recording. */
#ifndef SONDE_SOURCE_TARGET_ZONES_STATE_H
#define SONDE_SOURCE_TARGET_ZONES_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "fold/clockfit.h"
#include "source/target/pool.h"
#include "source/target/zones.h"

struct sonde_zones_connection {
	int fd;     /* −1 after it hung up */
	int pid_fd; /* −1 where the kernel has none */
	pid_t pid;
	uint32_t client;
	uint64_t look_ns, rest_ns; /* since it hung up: the next look at its maps, and the time between two */
	struct sonde_pool *pool;   /* NULL before HELLO */
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	int listen_fd;  /* in the abstract namespace */
	int second_fd;  /* for other network namespaces, −1 = none */
	int place_fd;   /* its inode */
	char path[108]; /* its path, as long as it stands there; "" = it does not */
	char name[48];  /* as struct sonde_early_head has it */
	uint32_t clock;
	struct sonde_clockfit fit;
	struct sonde_pool_budget budget;
	struct sonde_zones_connection *connections;
	size_t count;
	uint64_t connected;
	uint64_t programs;  /* of those: with zones */
	uint64_t strangers; /* connections of other users that were refused */
	int has_own_tids;   /* some process was in another pid namespace */
};

/* Never NULL. */
const struct sonde_zones_listener *sonde_zones_listener_of(uint32_t client);

static inline void sonde_zones_hang_up(struct sonde_zones_connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

/* Opens both sockets; 0 or a negative errno, after which they are closed all the same. */
int sonde_zones_listen_open(struct sonde_source_run *run);
void sonde_zones_listen_close(struct sonde_source_run *run);

/* Handles the messages that have come. */
void sonde_zones_receive(struct sonde_source_run *run, struct sonde_zones_connection *connection);

#endif
