/* channel.h: the recorder's end of everything that processes send by themselves: zones, allocations, waits, CPU
 *samples.
 *
 * The supervisor (record/supervise.c) opens one channel for a recording, hands it to each source's open() and drains it
 * before the sources in each round. The channel owns two sockets (target/channel_sockets.c), the connections of
 * processes, and a pool of rings for each (target/pool.h). A source that takes part registers a listener
 * (target/listener.h), whose functions are called inside sonde_channel_drain():
 *
 *	run->listener = (struct sonde_channel_listener){.context = run, .source = "heap", .opened = on_opened, …};
 *	sonde_channel_listen(channel, SONDE_LINK_HEAP, &run->listener);
 *
 * One thread. Processes are input: every message is checked.
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

/* -ENOMEM. Sockets that cannot be opened are no error here: see sonde_channel_failure(). Where the options ask for
 * resources alone it opens none. */
int sonde_channel_open(struct sonde_channel **out, struct sonde_recorder *recorder, struct sonde_snapshots *snapshots);
/* Ends all connections, frees. NULL is fine. */
void sonde_channel_close(struct sonde_channel *channel);
/* Why processes cannot connect; NULL = they can. */
const char *sonde_channel_failure(const struct sonde_channel *channel);

/* Tells the command where to connect. 0, or a negative errno. */
int sonde_channel_prepare(const struct sonde_channel *channel, struct sonde_launch *launch);
/* Accepts processes, answers their messages, drains their rings. `final`: all connections end. */
void sonde_channel_drain(struct sonde_channel *channel, int final);
/* Descriptors to wait on; how many were written to fds (at most max). */
size_t sonde_channel_poll_fds(const struct sonde_channel *channel, int *fds, size_t max);

/* Borrows the listener until it is taken back. -ENOSPC: SONDE_LISTENERS_MAX listen for that client already. */
int sonde_channel_listen(struct sonde_channel *channel, enum sonde_link_client client,
			 const struct sonde_channel_listener *listener);
/* Takes a listener back; one that never listened is fine. */
void sonde_channel_ignore(struct sonde_channel *channel, const struct sonde_channel_listener *listener);

/* Cycles of targets into ns; as long as the channel is open. */
const struct sonde_clockfit *sonde_channel_fit(const struct sonde_channel *channel);
/* Whether targets write cycles (else ns): the counter is stable on this machine. */
int sonde_channel_counts_cycles(const struct sonde_channel *channel);
/* Our number of a thread that process `pid`, which is connected, calls `own`; 0 = not known. */
pid_t sonde_channel_tid(const struct sonde_channel *channel, pid_t pid, pid_t own);

/* Whether the process that asked still waits for an answer: one that found us stopped does not. */
int sonde_channel_is_waiting(int asker);

/* The name of the first socket: what SONDE_LINK_ENV holds. */
const char *sonde_channel_name(const struct sonde_channel *channel);
/* The path of the second socket; "" = there is none. */
const char *sonde_channel_path(const struct sonde_channel *channel);
/* Processes that have connected so far, and those of other users that were refused. */
uint64_t sonde_channel_connected(const struct sonde_channel *channel);
uint64_t sonde_channel_strangers(const struct sonde_channel *channel);

/* --- what a source asks of another, which listens for `client` ---------------------------------------------------- */

/* Whether hooks in this process report now: it is connected, and has not left. */
int sonde_channel_covers(const struct sonde_channel *channel, enum sonde_link_client client, pid_t pid);
/* Whether they have reported at some time, in a process of the recording. */
int sonde_channel_covered(const struct sonde_channel *channel, enum sonde_link_client client, uint32_t process);
/* Whether hooks stand in it that cannot reach us (target/cut_off.h). */
int sonde_channel_unreachable(const struct sonde_channel *channel, enum sonde_link_client client, uint32_t process);

#endif
