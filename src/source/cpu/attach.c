/* attach.c: opens events on all threads of a process and of its descendants, parents before their children.
 *
 * If a followed process starts a child meanwhile, the child inherits the events, and our buffers report its start. So a
 * child that is found after its parent was attached either has inherited the events or never will; cpu/perf_attach.c
 * finds out which.
 */
#include "source/cpu/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/cpu/attached.h"
#include "source/cpu/perf_attach.h"
#include "util/error.h"

#define TREE_MAX 4096 /* processes */

static int attach(struct sonde_source_run *run, pid_t pid)
{
	pid_t *tids;
	size_t count;
	sonde_cpu_switches_follow(run, pid);
	int result = sonde_perf_attach(&run->events, run->rings, pid, &tids, &count);
	if (result < 0)
		return result;
	uint64_t now_ns = sonde_clock_now_ns();
	for (size_t i = 0; i < count; i++) {
		sonde_recorder_thread(run->recorder, pid, tids[i], now_ns);
		sonde_thread_clocks_start(run->clocks, tids[i], sonde_thread_clocks_read(tids[i]),
					  sonde_clock_now_ns());
	}
	struct sonde_space *space = sonde_spaces_get(run->spaces, pid, now_ns);
	if (space && count)
		space->threads = (uint32_t)count;
	free(tids);
	return 0;
}

int sonde_cpu_attach(struct sonde_source_run *run, pid_t pid, size_t *out_left)
{
	pid_t *tree = malloc(TREE_MAX * sizeof *tree);
	size_t count = 1, left = 0;
	if (!tree)
		return sonde_error(ENOMEM, "out of memory for the processes to attach to");
	tree[0] = pid;
	int result = attach(run, pid);
	for (size_t i = 0; i < count && result == 0; i++) {
		size_t first = count;
		count += sonde_perf_attach_children(tree[i], tree + count, TREE_MAX - count);
		for (size_t child = first; child < count; child++) {
			sonde_attached_adopt(run->recorder, tree[i], tree[child]);
			int rc = attach(run, tree[child]);
			left += rc < 0 && rc != -ESRCH && rc != -ENOENT; /* ESRCH, ENOENT: it has ended */
		}
	}
	free(tree);
	*out_left = left;
	return result;
}
