/* rows.h: the processes of the tree as the resources source reads them: a row for each that is alive, from
 * its first reading to what it came to.
 *
 * What the kernel counts of bytes read and written goes over from a process to whoever waits for it: points have what a
 * process read and wrote itself, as far as that was seen before it ended, so that they may be summed up.
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

/* A detail that is read of one process after the other, as far as its budget goes. */
struct sonde_resources_turn {
	struct sonde_budget budget;
	size_t at;
};

struct sonde_resources_rows {
	struct sonde_recorder *recorder;
	struct sonde_live_list list;      /* of struct sonde_resources_row */
	struct sonde_resources_row *dead; /* that were not waited for yet */
	size_t dead_count, dead_cap;
	size_t kept, kept_max; /* processes whose descriptors stay open */
	pid_t command;         /* that was launched; 0 = none, or it has its row */
	int finds_processes;   /* nobody else tells of them */
	int reads_rss;         /* no other source does */
	struct sonde_resources_turn pss, switches;
	uint64_t page_ns; /* of the proportional share */
	uint32_t series_count;
	/* Processes: that are not shown, of others, with too many threads for their switches. */
	uint64_t hidden, closed, crowded;
	uint64_t unread;    /* of which something was not read, for want of descriptors */
	uint64_t files_max; /* the limit on them */
	int had_children;   /* a process has waited for one */
};

/* Descriptors may stay open of so many processes as the limit on them allows. */
void sonde_resources_rows_init(struct sonde_resources_rows *rows, struct sonde_recorder *recorder);
void sonde_resources_rows_fini(struct sonde_resources_rows *rows);

/* Budgets begin. `command`: it was launched, and its first bytes are ours; 0 = none. */
void sonde_resources_rows_start(struct sonde_resources_rows *rows, pid_t command, uint64_t now_ns);

/* Reads all; with details what costs more, too, as far as the budgets go. `is_final`: there is no other round. */
void sonde_resources_rows_read(struct sonde_resources_rows *rows, int is_detailed, int is_final);

/* Those that were found gone, and that nobody said it of, end. */
void sonde_resources_rows_end_gone(struct sonde_resources_rows *rows, uint64_t now_ns, int is_final);

#endif
