/* attached.c: finds descendants level by level from the kernel's list of each thread's children. Children that are not
 * listed (kernels without CONFIG_PROC_CHILDREN) are found later by sources that search for processes.
 */
#include "source/cpu/attached.h"

#include <stdlib.h>

#include "base/clock.h"
#include "source/cpu/perf_attach.h"
#include "util/file.h"

#define TREE_MAX 4096 /* processes */

void sonde_attached_adopt(struct sonde_recorder *recorder, pid_t parent, pid_t pid)
{
	uint64_t now_ns = sonde_clock_now_ns();
	char name[64];
	if (sonde_recorder_alive(recorder, pid))
		return;
	size_t name_b = sonde_file_read(name, sizeof name, "/proc/%d/comm", (int)pid);
	if (!name_b)
		return;
	name[name_b - 1] = '\0';
	sonde_recorder_fork(recorder, parent, pid, pid, now_ns);
	sonde_recorder_comm(recorder, pid, pid, name, 1, now_ns);
}

void sonde_attached_find(struct sonde_recorder *recorder, pid_t pid)
{
	pid_t *tree = malloc(TREE_MAX * sizeof *tree);
	size_t count = 1;
	if (!tree) /* they are found later */
		return;
	tree[0] = pid;
	sonde_recorder_process(recorder, pid, sonde_clock_now_ns());
	for (size_t i = 0; i < count; i++) {
		size_t first = count;
		count += sonde_perf_attach_children(tree[i], tree + count, TREE_MAX - count);
		for (size_t child = first; child < count; child++)
			sonde_attached_adopt(recorder, tree[i], tree[child]);
	}
	free(tree);
}
