/* tree.h: processes of the recorded tree that nobody tells of: children, found in /proc.
 *
 * Where perf events run they tell of each process. Elsewhere those are found that live when it is looked: not one that
 * came and went between two looks, nor one whose parent did.
 */
#ifndef SONDE_SOURCE_RESOURCE_TREE_H
#define SONDE_SOURCE_RESOURCE_TREE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"

struct sonde_resources_tree {
	struct sonde_recorder *recorder;
	uint64_t began_ns;   /* of a new tree: none of it began before; else 0 */
	pid_t last_pid;      /* up to which it was looked; 0 = nowhere yet */
	int lacks_files;     /* at the latest look a number could not be tried: no descriptor was left */
	int was_unread;      /* so it was once */
	int may_have_missed; /* numbers were given that are gone, or whose parent is */
	pid_t leaving[64];   /* known as over, and still there at the latest look */
	size_t leaving_count;
};

/* From a process on, which the recorder knows then. `is_new`: it was just forked, nobody is its child yet. */
void sonde_resources_tree_start(struct sonde_resources_tree *tree, struct sonde_recorder *recorder, pid_t pid,
				int is_new);

/* Among the processes that were forked since the last look. `last_pid`: the number that the kernel gave last;
 * 0 = that could not be read. */
void sonde_resources_tree_look(struct sonde_resources_tree *tree, pid_t last_pid, uint64_t now_ns);

#endif
