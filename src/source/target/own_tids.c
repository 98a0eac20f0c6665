/* own_tids.c: reads the tids of a process when an unknown one is requested (target/own_tids.h).
 *
 * One scan reads all new threads. A thread that has ended is never found, so each request for it would cause another
 * scan; with 256 or more threads, a scan therefore runs at most every 5 ms. Tids are reused: the row of a thread that
 * is gone is replaced by that of a new thread with the same number.
 */
#include "source/target/own_tids.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "util/array.h"
#include "util/file.h"

#define EVERY_NS 5000000u
#define MANY 256 /* threads; reading their list takes some 50 us */

static uint64_t key(pid_t tid)
{
	return sonde_hash_mix((uint64_t)tid + 1);
}

/* The innermost tid of NSpid; 0 = not reported. */
static pid_t read_own(pid_t pid, pid_t ours)
{
	char *text = sonde_file_read_whole(NULL, "/proc/%d/task/%d/status", (int)pid, (int)ours);
	const char *line = text ? strstr(text, "\nNSpid:") : NULL, *end = line ? strchr(line + 1, '\n') : NULL;
	while (end && end > line && end[-1] >= '0' && end[-1] <= '9')
		end--;
	pid_t own = end ? (pid_t)strtol(end, NULL, 10) : 0;
	free(text);
	return own;
}

static void add(struct sonde_own_tids *tids, pid_t own, pid_t ours)
{
	if (SONDE_ARRAY_RESERVE(tids->rows, tids->cap, tids->count + 1))
		return;
	tids->rows[tids->count++] = (struct sonde_own_tid){own, ours};
	if (sonde_map_set(&tids->by_own, key(own), (uint32_t)tids->count) < 0 ||
	    sonde_map_set(&tids->by_ours, key(ours), (uint32_t)tids->count) < 0)
		return; /* when out of memory, the thread counts as unknown */
}

static void read_tids(struct sonde_own_tids *tids, pid_t pid)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
		pid_t ours = (pid_t)atol(entry->d_name);
		if (ours <= 0 || sonde_map_find(&tids->by_ours, key(ours), NULL, NULL))
			continue;
		pid_t own = read_own(pid, ours);
		if (own)
			add(tids, own, ours);
	}
	if (tasks)
		closedir(tasks);
}

static pid_t known(const struct sonde_own_tids *tids, pid_t own)
{
	uint32_t row = sonde_map_find(&tids->by_own, key(own), NULL, NULL);
	return row ? tids->rows[row - 1].ours : 0;
}

static int is_there(pid_t pid, pid_t ours)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%d", (int)pid, (int)ours);
	return ours && !access(path, F_OK);
}

pid_t sonde_own_tids_find(struct sonde_own_tids *tids, pid_t pid, pid_t own)
{
	uint64_t now_ns = sonde_clock_now_ns();
	pid_t ours = known(tids, own);
	if (is_there(pid, ours) || (tids->count >= MANY && now_ns < tids->read_ns + EVERY_NS))
		return ours;
	tids->read_ns = now_ns;
	read_tids(tids, pid);
	return known(tids, own);
}

void sonde_own_tids_fini(struct sonde_own_tids *tids)
{
	free(tids->rows);
	sonde_map_fini(&tids->by_own);
	sonde_map_fini(&tids->by_ours);
}
