/* tree.h: finds processes of the recorded tree in /proc if no other source reports them.
 *
 * perf events report each process. Without them, only processes that exist at a poll are found: not those that start
 * and exit between two polls, nor those whose parent starts and exits between two polls.
 */
#ifndef SONDE_SOURCE_RESOURCE_TREE_H
#define SONDE_SOURCE_RESOURCE_TREE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"

struct sonde_resources_tree {
	struct sonde_recorder *recorder;
	uint64_t began_ns;   /* start time of a new tree, in which no process is older; 0 = the tree is not new */
	pid_t last_pid;      /* polled up to this pid; 0 = not yet */
	int missing_files;   /* at the last poll a pid could not be checked for lack of descriptors */
	int was_unread;      /* true if that ever happened */
	int may_have_missed; /* some new pids had already exited, or their parents had */
	pid_t leaving[64];   /* reported as exited, but still present at the last poll */
	size_t leaving_count;
};

/* Starts with a process as the root of the tree, and makes it known to the recorder. `is_new`: it was just forked and
 * has no children yet. */
void sonde_resources_tree_start(struct sonde_resources_tree *tree, struct sonde_recorder *recorder, pid_t pid,
				int is_new);

/* Checks the processes that were forked since the last poll. `last_pid`: the pid that the kernel assigned last; 0 =
 * unknown. */
void sonde_resources_tree_look(struct sonde_resources_tree *tree, pid_t last_pid, uint64_t now_ns);

#endif
