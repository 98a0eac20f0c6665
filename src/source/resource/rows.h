/* rows.h: the processes that the resources source reads: a row per live process, from its first reading to its final
 * values.
 *
 * The kernel adds the bytes that a process read and wrote to the process that waits for it. The series hold only what
 * each process read and wrote itself, as far as seen before it exited, so that they can be summed.
 */
#ifndef SONDE_SOURCE_RESOURCE_ROWS_H
#define SONDE_SOURCE_RESOURCE_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/resource/live_list.h"
#include "source/record/recorder.h"
#include "source/resource/budget.h"
#include "source/resource/process.h"

struct sonde_resources_row;

/* A detail that is read for one process after the other, as far as its budget permits. */
struct sonde_resources_turn {
	struct sonde_budget budget;
	size_t at;
};

struct sonde_resources_rows {
	struct sonde_recorder *recorder;
	struct sonde_live_list list;      /* of struct sonde_resources_row */
	struct sonde_resources_row *dead; /* dead but not waited for yet */
	size_t dead_count, dead_cap;
	size_t kept, kept_max; /* processes with open descriptors */
	pid_t command;         /* pid of the launched command; 0 = none, or it has a row already */
	int finds_processes;   /* no other source reports processes */
	int reads_rss;         /* no other source reads RSS */
	struct sonde_resources_turn pss, switches;
	uint64_t page_ns; /* PSS cost per page */
	uint32_t series_count;
	/* Numbers of processes: not visible; of other users; with too many threads for their switches. */
	uint64_t hidden, closed, crowded;
	uint64_t unread;    /* processes not read in full for lack of descriptors */
	uint64_t files_max; /* the limit on descriptors */
	int had_children;   /* a process has waited for a child */
};

/* Initialises the rows. The limit on descriptors determines for how many processes descriptors stay open. */
void sonde_resources_rows_init(struct sonde_resources_rows *rows, struct sonde_recorder *recorder);
void sonde_resources_rows_fini(struct sonde_resources_rows *rows);

/* Starts the budgets. `command` is the pid of the launched command, whose first bytes are ours (run/launch.h); 0 =
 * none. */
void sonde_resources_rows_start(struct sonde_resources_rows *rows, pid_t command, uint64_t now_ns);

/* Reads all processes; if detailed, also expensive values within their budgets. `is_final`: this is the last round. */
void sonde_resources_rows_read(struct sonde_resources_rows *rows, int is_detailed, int is_final);

/* Ends processes that were found to have exited and whose exit has not been reported. */
void sonde_resources_rows_end_gone(struct sonde_resources_rows *rows, uint64_t now_ns, int is_final);

#endif
