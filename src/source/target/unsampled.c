/* unsampled.c: walks the process tree through /proc/PID/task/TID/children.
 *
 * Only tasks that have run for several ticks are examined, so that for most processes only one small file is read.
 * Orphans leave the tree and are not seen.
 */
#include "source/target/unsampled.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "source/target/preload.h"
#include "source/resource/proc_stat.h"
#include "util/error.h"
#include "util/file.h"
#include "util/map.h"

#define OBJECT "libsonde-cpu.so"
#define EVERY_NS 100000000u
#define TICKS_LEAST 3u      /* minimum CPU time to be examined */
#define PROCESSES_MAX 4096u /* per walk: each costs several system calls, ten times a second */
#define NAME_B 32u

enum reason { REASON_SANDBOX, REASON_FOREIGN, REASON_STATIC, REASON_HIDDEN, REASON_ENVIRONMENT, REASON_OTHER, REASONS };

struct sonde_unsampled {
	int (*known)(void *context, pid_t pid, pid_t tid);
	void *context;
	uint64_t polled_ns;
	unsigned filters;         /* number of seccomp filters on the recorder itself */
	struct sonde_map checked; /* already examined, by pid and tid */
	uint32_t counts[REASONS];
	char names[REASONS][NAME_B]; /* name of the first process counted */
	uint32_t threads;
	int is_cut_short; /* some walk met more processes than it can visit */
	pid_t queue[PROCESSES_MAX];
};

unsigned sonde_unsampled_filters(pid_t pid)
{
	unsigned mode = 0, filters = 0;
	char *text = sonde_file_read_whole(NULL, "/proc/%d/status", (int)pid);
	const char *line = text ? strstr(text, "\nSeccomp:") : NULL;
	const char *more = text ? strstr(text, "\nSeccomp_filters:") : NULL;
	if (!more || sscanf(more, "\nSeccomp_filters: %u", &filters) != 1) /* before Linux 5.9 */
		filters = line && sscanf(line, "\nSeccomp: %u", &mode) == 1 && mode;
	free(text);
	return filters;
}

int sonde_unsampled_new(struct sonde_unsampled **out, int (*known)(void *context, pid_t pid, pid_t tid), void *context)
{
	struct sonde_unsampled *unsampled = calloc(1, sizeof *unsampled);
	if (!unsampled)
		return sonde_error(ENOMEM, "out of memory for the list of processes");
	unsampled->known = known;
	unsampled->context = context;
	unsampled->filters = sonde_unsampled_filters(getpid());
	*out = unsampled;
	return 0;
}

void sonde_unsampled_free(struct sonde_unsampled *unsampled)
{
	if (!unsampled)
		return;
	sonde_map_fini(&unsampled->checked);
	free(unsampled);
}

/* True if a thread, or a whole process (tid 0), is alive and has run for some ticks; stores its name. */
static int ran_long(pid_t pid, pid_t tid, char name[NAME_B])
{
	struct sonde_proc_stat stat;
	if (sonde_proc_stat_read(&stat, pid, tid) < 0 ||
	    strchr("ZX", stat.state)) /* dead: it was examined before, or ran too briefly */
		return 0;
	snprintf(name, NAME_B, "%s", stat.name);
	return stat.user_ns + stat.system_ns >= TICKS_LEAST * sonde_proc_tick_ns();
}

static uint64_t key(pid_t pid, pid_t tid)
{
	return sonde_hash_pair((uint64_t)pid, (uint64_t)tid);
}

static int is_checked(const struct sonde_unsampled *unsampled, pid_t pid, pid_t tid)
{
	return sonde_map_find(&unsampled->checked, key(pid, tid), NULL, NULL) != 0;
}

/* Marks a task as examined. False when out of memory: then the task is not counted, because each further walk would
 * count it again. */
static int set_checked(struct sonde_unsampled *unsampled, pid_t pid, pid_t tid)
{
	return sonde_map_set(&unsampled->checked, key(pid, tid), 1) >= 0;
}

/* Finds the reason why our preloaded object is not in a process. */
static enum reason find_reason(const struct sonde_unsampled *unsampled, pid_t pid)
{
	if (sonde_unsampled_filters(pid) > unsampled->filters)
		return REASON_SANDBOX;
	union {
		Elf64_Ehdr head;
		char bytes[4096];
	} file;
	size_t got_b = sonde_file_read(file.bytes, sizeof file.bytes, "/proc/%d/exe", (int)pid);
	if (got_b < sizeof file.head || memcmp(file.head.e_ident, ELFMAG, SELFMAG) != 0)
		return REASON_OTHER;
	if (file.head.e_ident[EI_CLASS] != ELFCLASS64)
		return REASON_FOREIGN;
	int is_static = 1;
	for (size_t i = 0; i < file.head.e_phnum; i++) {
		Elf64_Phdr part;
		uint64_t at = file.head.e_phoff + i * sizeof part;
		if (at > got_b || got_b - at < sizeof part)
			return REASON_OTHER;
		memcpy(&part, file.bytes + at, sizeof part);
		is_static &= part.p_type != PT_INTERP;
	}
	if (is_static)
		return REASON_STATIC;
	size_t used_b = 0;
	char *environment = sonde_file_read_whole(&used_b, "/proc/%d/environ", (int)pid);
	int ours = environment && memmem(environment, used_b, OBJECT, strlen(OBJECT)) != NULL;
	free(environment);
	if (ours)
		return REASON_OTHER;
	return sonde_preload_is_hidden(pid, OBJECT) ? REASON_HIDDEN : REASON_ENVIRONMENT;
}

static void count_process(struct sonde_unsampled *unsampled, enum reason reason, const char *name)
{
	if (!unsampled->counts[reason]++)
		snprintf(unsampled->names[reason], NAME_B, "%s", name);
}

static void check_process(struct sonde_unsampled *unsampled, pid_t pid)
{
	char name[NAME_B] = "";
	if (unsampled->known(unsampled->context, pid, 0) || is_checked(unsampled, pid, 0) || !ran_long(pid, 0, name))
		return;
	if (set_checked(unsampled, pid, 0))
		count_process(unsampled, find_reason(unsampled, pid), name);
}

void sonde_unsampled_sandboxed(struct sonde_unsampled *unsampled, pid_t pid, const char *name)
{
	if (!is_checked(unsampled, pid, 0) && set_checked(unsampled, pid, 0))
		count_process(unsampled, REASON_SANDBOX, name);
}

static void check_thread(struct sonde_unsampled *unsampled, pid_t pid, pid_t tid)
{
	char name[NAME_B];
	if (!unsampled->known(unsampled->context, pid, 0) || unsampled->known(unsampled->context, pid, tid) ||
	    is_checked(unsampled, pid, tid) || !ran_long(pid, tid, name))
		return;
	unsampled->threads += (uint32_t)set_checked(unsampled, pid, tid);
}

/* Appends the children that one thread started to the queue and returns its new length. */
static size_t add_children(struct sonde_unsampled *unsampled, pid_t pid, pid_t tid, size_t queued)
{
	char *text = sonde_file_read_whole(NULL, "/proc/%d/task/%d/children", (int)pid, (int)tid), *end;
	for (char *at = text; at; at = end) {
		long child = strtol(at, &end, 10);
		if (end == at || child <= 0)
			break;
		if (queued == PROCESSES_MAX) {
			unsampled->is_cut_short = 1;
			break;
		}
		unsampled->queue[queued++] = (pid_t)child;
	}
	free(text);
	return queued;
}

void sonde_unsampled_poll(struct sonde_unsampled *unsampled, pid_t root, uint64_t now_ns)
{
	if (now_ns < unsampled->polled_ns + EVERY_NS)
		return;
	unsampled->polled_ns = now_ns;
	size_t queued = 1;
	unsampled->queue[0] = root;
	for (size_t i = 0; i < queued; i++) {
		char path[64];
		pid_t pid = unsampled->queue[i];
		check_process(unsampled, pid);
		snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
		DIR *tasks = opendir(path);
		for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
			pid_t tid = (pid_t)atol(entry->d_name);
			if (tid <= 0)
				continue;
			check_thread(unsampled, pid, tid);
			queued = add_children(unsampled, pid, tid, queued);
		}
		if (tasks)
			closedir(tasks);
	}
}

void sonde_unsampled_say(const struct sonde_unsampled *unsampled, struct sonde_detail *out)
{
	static const char *const reasons[REASONS] = {
	    [REASON_SANDBOX] = "sandboxed (seccomp), where a sample could get it killed; sampled until then",
	    [REASON_FOREIGN] = "of another architecture",
	    [REASON_STATIC] = "statically linked",
	    [REASON_HIDDEN] = SONDE_PRELOAD_HIDDEN,
	    [REASON_ENVIRONMENT] = "started with their own environment",
	    [REASON_OTHER] = "raw fork, no descriptors or address space left, timed out, or another user's",
	};
	for (int i = 0; i < REASONS; i++)
		if (unsampled->counts[i])
			sonde_detail_add(out, "%u %s not sampled (%s): %s", unsampled->counts[i],
					 unsampled->counts[i] == 1 ? "process was" : "processes were",
					 unsampled->names[i], reasons[i]);
	if (unsampled->threads)
		sonde_detail_add(out, "%u %s not sampled: not created by pthread_create", unsampled->threads,
				 unsampled->threads == 1 ? "thread was" : "threads were");
	if (unsampled->is_cut_short)
		sonde_detail_add(out, "only %u processes at a time were checked for missing samples", PROCESSES_MAX);
}
