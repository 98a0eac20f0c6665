/* channel.h: the recorder's side of the connections over which processes report zones, allocations, waits, CPU samples.
 *
 * The supervisor (supervise.c) opens one channel per recording, passes it to each source's open() and drains it
 * before the sources in each round. The channel owns two sockets (target/channel_sockets.c), the connections of
 * processes, and a pool of rings for each process (target/pool.h). A source registers a listener (target/listener.h),
 * whose functions are called inside sonde_channel_drain():
 *
 *	run->listener = (struct sonde_channel_listener){.context = run, .source = "heap", .opened = on_opened, …};
 *	sonde_channel_listen(channel, SONDE_LINK_HEAP, &run->listener);
 *
 * One thread. Processes are untrusted: every message is checked.
 */
#ifndef SONDE_SOURCE_TARGET_CHANNEL_H
#define SONDE_SOURCE_TARGET_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fold/clockfit.h"
#include "format/link.h"
#include "run/launch.h"
#include "source/record/recorder.h"
#include "source/target/listener.h"

struct sonde_channel;
struct sonde_snapshots;

/* -ENOMEM. Sockets that cannot be opened are no error here: see sonde_channel_failure(). Opens no sockets if only
 * resources are recorded. */
int sonde_channel_open(struct sonde_channel **out, struct sonde_recorder *recorder, struct sonde_snapshots *snapshots);
/* Closes all connections and frees the channel. `channel` may be NULL. */
void sonde_channel_close(struct sonde_channel *channel);
/* Why processes cannot connect; NULL = they can. */
const char *sonde_channel_failure(const struct sonde_channel *channel);

/* Sets the environment variable that tells the command where to connect. 0, or a negative errno. */
int sonde_channel_prepare(const struct sonde_channel *channel, struct sonde_launch *launch);
/* Accepts processes, answers their messages, drains their rings. `final`: closes all connections. */
void sonde_channel_drain(struct sonde_channel *channel, int final);
/* Writes the descriptors to wait on to fds (at most max) and returns their number. */
size_t sonde_channel_poll_fds(const struct sonde_channel *channel, int *fds, size_t max);

/* Registers a listener, which is borrowed until sonde_channel_ignore(). -ENOSPC: the client already has
 * SONDE_LISTENERS_MAX listeners. */
int sonde_channel_listen(struct sonde_channel *channel, enum sonde_link_client client,
			 const struct sonde_channel_listener *listener);
/* Removes a listener; one that was never registered is fine. */
void sonde_channel_ignore(struct sonde_channel *channel, const struct sonde_channel_listener *listener);

/* Converts the targets' cycles to ns; valid as long as the channel is open. */
const struct sonde_clockfit *sonde_channel_fit(const struct sonde_channel *channel);
/* True if targets write cycles, because this machine's cycle counter is stable; otherwise they write ns. */
int sonde_channel_counts_cycles(const struct sonde_channel *channel);
/* The tid, in our pid namespace, of the thread that connected process `pid` calls `own`; 0 = unknown. */
pid_t sonde_channel_tid(const struct sonde_channel *channel, pid_t pid, pid_t own);

/* True if the process at the socket `asker` still waits for an answer. A process gives up if the recorder is
 * stopped. */
int sonde_channel_is_waiting(int asker);

/* The name of the first socket, as passed in SONDE_LINK_ENV. */
const char *sonde_channel_name(const struct sonde_channel *channel);
/* The path of the second socket; "" = there is none. */
const char *sonde_channel_path(const struct sonde_channel *channel);
/* The number of processes that have connected so far, and of connections of other users that were refused. */
uint64_t sonde_channel_connected(const struct sonde_channel *channel);
uint64_t sonde_channel_strangers(const struct sonde_channel *channel);

/* --- queries about another source, the one that listens for `client` ---------------------------------------------- */

/* True if hooks in this process report now: it is connected and has not detached. */
int sonde_channel_covers(const struct sonde_channel *channel, enum sonde_link_client client, pid_t pid);
/* True if hooks have reported at some time in this process of the recording. */
int sonde_channel_covered(const struct sonde_channel *channel, enum sonde_link_client client, uint32_t process);
/* True if this process has hooks that cannot reach the recorder (target/unreachable.h). */
int sonde_channel_unreachable(const struct sonde_channel *channel, enum sonde_link_client client, uint32_t process);

#endif
