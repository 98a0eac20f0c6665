/* cpu_attach.c: events on all threads of a process and of its descendants, parents before their children.
 *
 * What a followed process starts meanwhile inherits its events, and says so in our buffers; so a child that is found
 * after its parent was attached to has them, or never will (perf_attach.c tells one from the other).
 */
#include "source/cpu_attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/perf_attach.h"
#include "util/error.h"
#include "util/file.h"

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

/* The recorder knows it as its parent's child before anything is heard of it. */
static void adopt(struct sonde_source_run *run, pid_t parent, pid_t pid)
{
	uint64_t now_ns = sonde_clock_now_ns();
	char name[64];
	size_t name_b = sonde_file_read(name, sizeof name, "/proc/%d/comm", (int)pid);
	if (!name_b)
		return;
	name[name_b - 1] = '\0';
	sonde_recorder_fork(run->recorder, parent, pid, pid, now_ns);
	sonde_recorder_comm(run->recorder, pid, pid, name, 1, now_ns);
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
			adopt(run, tree[i], tree[child]);
			int rc = attach(run, tree[child]);
			left += rc < 0 && rc != -ESRCH && rc != -ENOENT; /* it has ended */
		}
	}
	free(tree);
	*out_left = left;
	return result;
}
