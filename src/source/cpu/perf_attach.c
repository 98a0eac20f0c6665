/* perf_attach.c: follows every thread of a running process, and finds its children.
 *
 * Threads may be created meanwhile, so the list of threads is read again until it has no new ones. A thread created by
 * a followed thread has inherited events and must not get events of its own; it is recognised by the kernel's report of
 * its creation in our buffers.
 */
#include "source/cpu/perf_attach.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/array.h"
#include "util/error.h"
#include "util/file.h"

static int compare_tids(const void *a, const void *b)
{
	pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
	return (left > right) - (left < right);
}

static int append(pid_t **tids, size_t *count, size_t *cap, pid_t tid)
{
	if (SONDE_ARRAY_RESERVE(*tids, *cap, *count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu threads", *count + 1);
	(*tids)[(*count)++] = tid;
	return 0;
}

/* The threads of a process, sorted. */
static int list_threads(pid_t pid, pid_t **out, size_t *out_count)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *directory = opendir(path);
	if (!directory)
		return sonde_error(errno, "process %d: %s", (int)pid,
				   errno != ENOENT                   ? strerror(errno)
				   : access("/proc/self/stat", F_OK) ? "/proc is not mounted"
								     : "no such process");
	size_t count = 0, cap = 0;
	pid_t *tids = NULL;
	int result = 0;
	for (struct dirent *entry; !result && (entry = readdir(directory));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			result = append(&tids, &count, &cap, atoi(entry->d_name));
	closedir(directory);
	if (result < 0) {
		free(tids);
		return result;
	}
	if (count)
		qsort(tids, count, sizeof *tids, compare_tids);
	*out = tids;
	*out_count = count;
	return 0;
}

size_t sonde_perf_attach_children(pid_t pid, pid_t *out, size_t max)
{
	enum { TEXT_MAX_B = 1 << 18 };
	pid_t *tids = NULL;
	size_t threads = 0, count = 0;
	char *text = malloc(TEXT_MAX_B);
	if (!text || list_threads(pid, &tids, &threads) < 0)
		threads = 0;
	for (size_t i = 0; i < threads; i++) {
		sonde_file_read(text, TEXT_MAX_B, "/proc/%d/task/%d/children", (int)pid, (int)tids[i]);
		char *at = text, *end;
		for (long child; count < max && (child = strtol(at, &end, 10)) > 0 && end != at; at = end)
			out[count++] = (pid_t)child;
	}
	free(tids);
	free(text);
	return count;
}

static int is_fork_of(void *context, const struct perf_event_header *head)
{
	const pid_t *tid = context;
	const uint32_t *ids = (const uint32_t *)(head + 1); /* pid, parent's pid, tid, parent's tid */
	return head->type == PERF_RECORD_FORK && head->size >= sizeof *head + 16 && (pid_t)ids[2] == *tid;
}

static int follow(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t tid)
{
	if (events->count && sonde_perf_rings_peek(rings, is_fork_of, &tid))
		return 0;
	int result = sonde_perf_events_follow(events, rings, tid, 0);
	return result == -ESRCH ? 0 : result; /* it has ended */
}

int sonde_perf_attach(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t pid, pid_t **out,
		      size_t *out_count)
{
	pid_t *known = NULL;
	size_t known_count = 0;
	int result = 0, fresh = 1;
	while (!result && fresh) {
		pid_t *tids = NULL;
		size_t count = 0;
		fresh = 0;
		result = list_threads(pid, &tids, &count);
		for (size_t i = 0; i < count && !result; i++) {
			if (known && bsearch(&tids[i], known, known_count, sizeof *known, compare_tids))
				continue;
			fresh = 1;
			result = follow(events, rings, tids[i]);
		}
		free(known);
		known = tids;
		known_count = count;
	}
	if (!result && !events->count)
		result = sonde_error(ESRCH, "process %d has ended", (int)pid);
	if (result < 0) {
		free(known);
		return result;
	}
	*out = known;
	*out_count = known_count;
	return 0;
}
