/* snapshots.h: snapshots of processes: asked for now, taken when all that happened before is in the recording.
 *
 * Whoever asks (zone/program.h: the program; target/channel_messages.c: a command; resource/memory.c: an interval, a
 * signal) names a process and a moment; what is resident is read at once. The heap source claims the snapshots of its
 * processes, writes their events up to that moment, and adds what was alive; the memory source takes the others at the
 * end of the round without that. One thread.
 */
#ifndef SONDE_SOURCE_RECORD_SNAPSHOTS_H
#define SONDE_SOURCE_RECORD_SNAPSHOTS_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"

struct sonde_snapshots;

/* A snapshot that is to be taken of a process as it was at time_ns. */
struct sonde_snapshot_ask {
	uint32_t process; /* the recording's */
	pid_t pid;
	enum sonde_snapshot_reason reason;
	const char *label; /* copied */
	size_t label_b;
	uint64_t time_ns;
	uint64_t rss_b; /* as the process read it itself; 0 = it is to be read */
	int answer_fd;  /* a socket that gets a struct sonde_link_snapshot (format/link.h) and is closed; −1 = none */
};

/* start_ns: of the recording. */
int sonde_snapshots_new(struct sonde_snapshots **out, struct sonde_recorder *recorder, uint64_t start_ns);
/* Those that wait are forgotten, and their askers hear nothing. */
void sonde_snapshots_free(struct sonde_snapshots *snapshots);

/* -ENOMEM, or -E2BIG: there were too many; both are counted as lost. -ESRCH: the process has ended, and did not ask
 * itself. */
int sonde_snapshots_ask(struct sonde_snapshots *snapshots, const struct sonde_snapshot_ask *ask);

/* What of a process was asked for and is not taken yet is the caller's to take. */
void sonde_snapshots_claim(struct sonde_snapshots *snapshots, uint32_t process);
/* The moment of the earliest that waits for a process; 0 when there is none up to until_ns. */
uint64_t sonde_snapshots_due(const struct sonde_snapshots *snapshots, uint32_t process, uint64_t until_ns);

/* What was alive in a process. */
struct sonde_snapshot_live {
	uint64_t blocks, size_b;
	uint64_t mean_b; /* bytes between samples; 0 = every block */
};

/* Takes the earliest that waits for a process as of time_ns, at which its events were written. */
void sonde_snapshots_take(struct sonde_snapshots *snapshots, uint32_t process, uint64_t time_ns,
			  const struct sonde_snapshot_live *live);
/* Takes what was not claimed. */
void sonde_snapshots_take_rest(struct sonde_snapshots *snapshots);

/* Resident bytes of a process by /proc/PID/statm; 0 when it is gone. */
uint64_t sonde_snapshots_resident_b(pid_t pid);

#endif
