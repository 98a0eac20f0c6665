/* snapshots.h: snapshots of processes, each requested at one time, and taken once all events before that time are in
 * the recording.
 *
 * A request names a process and a time. It is made by the program (zone/program.h), by a command
 * (target/channel_messages.c), or by an interval or a signal (resource/memory.c). RSS is read at once. The heap source
 * claims the snapshots of its processes, writes their events up to that time and adds the live heap. The memory source
 * takes all others at the end of the round, without a live heap. One thread.
 */
#ifndef SONDE_SOURCE_RECORD_SNAPSHOTS_H
#define SONDE_SOURCE_RECORD_SNAPSHOTS_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"

struct sonde_snapshots;

/* A request for a snapshot of a process as of time_ns. */
struct sonde_snapshot_ask {
	uint32_t process; /* id in the recording */
	pid_t pid;
	enum sonde_snapshot_reason reason;
	const char *label; /* copied */
	size_t label_b;
	uint64_t time_ns;
	uint64_t rss_b; /* as read by the process itself; 0 = to be read here */
	int answer_fd; /* socket that gets a struct sonde_link_snapshot (format/link.h) and is then closed; −1 = none */
};

/* start_ns: the start of the recording. */
int sonde_snapshots_new(struct sonde_snapshots **out, struct sonde_recorder *recorder, uint64_t start_ns);
/* Drops pending requests; their sockets are closed without an answer. */
void sonde_snapshots_free(struct sonde_snapshots *snapshots);

/* Adds a request. -ENOMEM, or -E2BIG for too many snapshots; both are counted as losses. -ESRCH: the process has ended,
 * and the request was not its own. */
int sonde_snapshots_ask(struct sonde_snapshots *snapshots, const struct sonde_snapshot_ask *ask);

/* Reserves the pending requests of a process for the caller to take. */
void sonde_snapshots_claim(struct sonde_snapshots *snapshots, uint32_t process);
/* The time of the earliest pending request of a process; 0 if there is none up to until_ns. */
uint64_t sonde_snapshots_due(const struct sonde_snapshots *snapshots, uint32_t process, uint64_t until_ns);

/* The live heap of a process. */
struct sonde_snapshot_live {
	uint64_t blocks, size_b;
	uint64_t mean_b; /* bytes between samples; 0 = every block */
};

/* Takes the earliest pending snapshot of a process, as of time_ns. The caller has written all events up to that
 * time. */
void sonde_snapshots_take(struct sonde_snapshots *snapshots, uint32_t process, uint64_t time_ns,
			  const struct sonde_snapshot_live *live);
/* Takes all snapshots that were not claimed. */
void sonde_snapshots_take_remainder(struct sonde_snapshots *snapshots);

/* RSS of a process from /proc/PID/statm; 0 if the process is gone. */
uint64_t sonde_snapshots_resident_b(pid_t pid);

#endif
