/* process.c: parses /proc/PID/stat, status, io, fd and smaps_rollup (proc(5)).
 *
 * A descriptor refers to the process itself, not its pid: after the process has exited, reads fail (ESRCH), even if the
 * pid is reused. If no descriptors are kept, a process is recognised by its unchanged start time. stat counts CPU time
 * in ticks of 10 ms, too coarse for an interval of 100 ms: the process's CPU clock has the sum to the ns, and the ticks
 * only serve to divide it into user and system time. RSS is taken from stat as well, which has the same number as
 * statm.
 *
 * Context switches of a whole process are available only from wait4(2): status has only those of its main thread. For a
 * process with several threads, they are summed over its threads; when a thread exits, its last reading counts.
 */
#include "source/resource/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/resource/files.h"
#include "source/resource/proc_stat.h"
#include "util/array.h"

enum { STATE_FIELD = 3, STAT_FIELDS = 24 }; /* as numbered in proc(5) */

#define LONGEST_B ((size_t)4 << 20) /* maximum size of a file that is read as a whole */
#define FILES_MAX 4096u /* limit for counting descriptors one by one, if the kernel does not report their number */

enum sonde_metric sonde_resource_metric(enum sonde_resource resource)
{
	static const enum sonde_metric metrics[] = {
#define SONDE_RESOURCE(name) SONDE_METRIC_##name,
	    SONDE_RESOURCES(SONDE_RESOURCE)
#undef SONDE_RESOURCE
	};
	return metrics[resource];
}

static void set(struct sonde_resources *out, enum sonde_resource resource, uint64_t value)
{
	out->known |= 1u << resource;
	out->value[resource] = value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Notes if a descriptor could not be opened because none was available. Then a failure does not mean that the process
 * has exited or may not be read. */
static int opened(struct sonde_resources_process *process, int fd)
{
	process->missing_files |= fd < 0 && sonde_files_lack(errno);
	return fd;
}

static int open_at(struct sonde_resources_process *process, const char *name)
{
	if (process->directory_fd < 0)
		return -1;
	return opened(process, openat(process->directory_fd, name, O_RDONLY | O_CLOEXEC));
}

/* Reads from a descriptor, or from `name` if none is kept. */
static size_t read_file(struct sonde_resources_process *process, int fd, const char *name, char *text, size_t text_b)
{
	int own_fd = fd >= 0 ? -1 : open_at(process, name);
	ssize_t got = fd >= 0 || own_fd >= 0 ? pread(fd >= 0 ? fd : own_fd, text, text_b - 1, 0) : -1;
	if (own_fd >= 0)
		close(own_fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

/* Like read_file(), for a file that may be longer than `space`: the supplementary groups in status take up to 700 KB.
 * Returns `space` if the file fits, else memory that the caller frees; NULL = not readable. */
static char *read_long(struct sonde_resources_process *process, int fd, const char *name, char *space, size_t space_b)
{
	char *text = NULL;
	size_t cap_b = space_b, got_b = read_file(process, fd, name, space, space_b);
	if (!got_b)
		return NULL;
	if (got_b < space_b - 1)
		return space;
	while (got_b >= cap_b - 1 && cap_b < LONGEST_B) {
		free(text);
		cap_b *= 4;
		text = malloc(cap_b);
		if (!text)
			return NULL;
		got_b = read_file(process, fd, name, text, cap_b);
	}
	return text;
}

static int open_directory(struct sonde_resources_process *process)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/proc/%d", process->root, (int)process->pid);
	return opened(process, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static enum sonde_resources_found why_not(const struct sonde_resources_process *process)
{
	int is_there = !*process->root && (!kill(process->pid, 0) || errno == EPERM);
	if (!is_there)
		return SONDE_RESOURCES_GONE;
	return process->missing_files ? SONDE_RESOURCES_UNREAD : SONDE_RESOURCES_HIDDEN;
}

static int read_number(const char *text, uint64_t *out)
{
	char *end;
	*out = strtoull(text, &end, 10);
	return end != text;
}

/* The number after "\nNAME:", in the file's unit (KiB, or none). */
static int find_field(const char *text, const char *name, uint64_t *out)
{
	size_t len = strlen(name);
	for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (!strncmp(line, name, len) && line[len] == ':')
			return read_number(line + len + 1, out);
	return 0;
}

/* --- stat --------------------------------------------------------------------------------------------------------- */

struct stat_line {
	uint64_t user_ticks, system_ticks, start_ticks, minor, waited_minor, major, threads, pages;
};

/* Parses the numbers, some of which are negative, by hand: sscanf() would take as long as the kernel takes to generate
 * them. */
static int parse_stat(char *text, struct stat_line *line, struct sonde_resources *out)
{
	char *begin = strchr(text, '('), *end = begin ? strrchr(begin, ')') : NULL;
	uint64_t fields[STAT_FIELDS + 1];
	if (!end || end[1] != ' ' || !end[2])
		return -1;
	out->state = end[2];
	char *at = end + 3;
	for (unsigned i = STATE_FIELD + 1; i <= STAT_FIELDS; i++) {
		char *after;
		fields[i] = strtoull(at, &after, 10);
		if (after == at)
			return -1;
		at = after;
	}
	*line = (struct stat_line){.user_ticks = fields[14],
				   .system_ticks = fields[15],
				   .start_ticks = fields[22],
				   .minor = fields[10],
				   .waited_minor = fields[11],
				   .major = fields[12],
				   .threads = fields[20],
				   .pages = fields[24]};
	*end = '\0';
	snprintf(out->name, sizeof out->name, "%s", begin + 1);
	out->parent = (pid_t)fields[4];
	return 0;
}

/* Splits the sum from the CPU clock into user and system time, in proportion to the ticks. Neither part ever decreases.
 * If one part was too large before, the other one catches up later. */
static void set_cpu(struct sonde_resources_process *process, const struct stat_line *line, int64_t clock_ns,
		    struct sonde_resources *out)
{
	int64_t tick_ns = (int64_t)sonde_proc_tick_ns();
	int64_t system_ns = (int64_t)line->system_ticks * tick_ns;
	int64_t total_ns = clock_ns >= 0 ? clock_ns : system_ns + (int64_t)line->user_ticks * tick_ns;
	int64_t user_ns = total_ns - system_ns;
	process->user_ns = user_ns > process->user_ns ? user_ns : process->user_ns;
	system_ns = total_ns - process->user_ns;
	process->system_ns = system_ns > process->system_ns ? system_ns : process->system_ns;
	set(out, SONDE_RESOURCE_CPU_USER, (uint64_t)process->user_ns);
	set(out, SONDE_RESOURCE_CPU_SYSTEM, (uint64_t)process->system_ns);
}

/* The clock is identified by pid: it is read before stat, which shows whether the pid still belonged to the process. */
static int read_stat(struct sonde_resources_process *process, struct stat_line *line, struct sonde_resources *out)
{
	char text[1024];
	struct timespec time;
	int64_t clock_ns = -1;
	if (process->has_clock && !clock_gettime(process->clock, &time))
		clock_ns = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
	if (!read_file(process, process->stat_fd, "stat", text, sizeof text) || parse_stat(text, line, out))
		return -1;
	if (process->start_ticks && line->start_ticks != process->start_ticks)
		return -1;
	process->start_ticks = line->start_ticks;
	set_cpu(process, line, clock_ns, out);
	set(out, SONDE_RESOURCE_FAULTS_MINOR, line->minor);
	set(out, SONDE_RESOURCE_FAULTS_MAJOR, line->major);
	process->was_multi |= line->threads > 1;
	process->had_children |= line->waited_minor > 0;
	out->is_dead =
	    out->state == 'X' || (out->state == 'Z' && line->threads <= 1); /* the first thread may end before others */
	if (out->is_dead)
		return 0;
	set(out, SONDE_RESOURCE_THREADS, line->threads);
	if (line->pages)
		set(out, SONDE_RESOURCE_MEMORY_RSS, line->pages * (uint64_t)getpagesize());
	return 0;
}

/* --- other files ------------------------------------------------------------------------------------------------- */

static void read_io(struct sonde_resources_process *process, struct sonde_resources *out)
{
	static const struct {
		const char *name;
		enum sonde_resource resource;
	} fields[] = {
	    {"rchar", SONDE_RESOURCE_IO_READ_ALL},
	    {"wchar", SONDE_RESOURCE_IO_WRITTEN_ALL},
	    {"read_bytes", SONDE_RESOURCE_IO_READ},
	    {"write_bytes", SONDE_RESOURCE_IO_WRITTEN},
	};
	char text[512];
	uint64_t value;
	if (!read_file(process, process->io_fd, "io", text, sizeof text))
		return;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (find_field(text, fields[i].name, &value))
			set(out, fields[i].resource, value);
}

/* True if the size of /proc/PID/fd is the number of descriptors (since 6.2; before it is 0). */
static int size_is_count(const struct sonde_resources_process *process)
{
	struct stat own;
	return !*process->root && !stat("/proc/self/fd", &own) && own.st_size > 0;
}

static void read_files(struct sonde_resources_process *process, int is_detailed, struct sonde_resources *out)
{
	struct stat stat;
	if (process->files_fd >= 0 || size_is_count(process)) {
		if (!(process->files_fd >= 0 ? fstat(process->files_fd, &stat)
					     : fstatat(process->directory_fd, "fd", &stat, 0)))
			set(out, SONDE_RESOURCE_FILES, (uint64_t)stat.st_size);
		return;
	}
	int fd = is_detailed ? open_at(process, "fd") : -1;
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	uint64_t count = 0;
	if (!directory) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (const struct dirent *entry; count <= FILES_MAX && (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	closedir(directory);
	if (count <= FILES_MAX)
		set(out, SONDE_RESOURCE_FILES, count);
}

static void set_status(const char *text, int has_switches, struct sonde_resources *out)
{
	uint64_t kib, count;
	if (find_field(text, "VmHWM", &kib))
		set(out, SONDE_RESOURCE_MEMORY_PEAK_RSS, kib * 1024);
	if (find_field(text, "VmSwap", &kib))
		set(out, SONDE_RESOURCE_MEMORY_SWAP, kib * 1024);
	if (!has_switches)
		return;
	if (find_field(text, "voluntary_ctxt_switches", &count))
		set(out, SONDE_RESOURCE_SWITCHES_VOLUNTARY, count);
	if (find_field(text, "nonvoluntary_ctxt_switches", &count))
		set(out, SONDE_RESOURCE_SWITCHES_INVOLUNTARY, count);
}

static void read_status(struct sonde_resources_process *process, struct sonde_resources *out)
{
	char space[4096], *text = read_long(process, process->status_fd, "status", space, sizeof space);
	if (text)
		set_status(text, !process->was_multi, out);
	if (text != space)
		free(text);
}

static void read_pss(struct sonde_resources_process *process, struct sonde_resources *out)
{
	char text[2048];
	uint64_t kib;
	if (process->has_no_pss)
		return;
	process->missing_files = 0;
	int got = read_file(process, -1, "smaps_rollup", text, sizeof text) && find_field(text, "Pss", &kib);
	process->has_no_pss = !got && !process->missing_files;
	if (got)
		set(out, SONDE_RESOURCE_MEMORY_PSS, kib * 1024);
}

/* --- context switches of several threads -------------------------------------------------------------------------- */

static struct sonde_resources_task *task_of(struct sonde_resources_process *process, pid_t tid, size_t *hint)
{
	for (size_t i = 0; i < process->task_count; i++) { /* same order as before: usually the next one */
		size_t at = (*hint + i) % process->task_count;
		if (process->tasks[at].tid == tid) {
			*hint = at + 1;
			return &process->tasks[at];
		}
	}
	if (SONDE_ARRAY_RESERVE(process->tasks, process->task_cap, process->task_count + 1))
		return NULL;
	process->tasks[process->task_count] = (struct sonde_resources_task){.tid = tid};
	return &process->tasks[process->task_count++];
}

static void end_task(struct sonde_resources_process *process, const struct sonde_resources_task *task)
{
	process->ended_voluntary += task->voluntary;
	process->ended_involuntary += task->involuntary;
}

static void read_task(struct sonde_resources_process *process, pid_t tid, size_t *hint)
{
	char name[64], space[4096];
	uint64_t voluntary, involuntary;
	snprintf(name, sizeof name, "task/%d/status", (int)tid);
	char *text = read_long(process, -1, name, space, sizeof space);
	int is_read = text && find_field(text, "voluntary_ctxt_switches", &voluntary) &&
		      find_field(text, "nonvoluntary_ctxt_switches", &involuntary);
	if (text != space)
		free(text);
	if (!is_read)
		return;
	struct sonde_resources_task *task = task_of(process, tid, hint);
	if (!task)
		return;
	if (voluntary < task->voluntary || involuntary < task->involuntary) /* a new thread has the same tid */
		end_task(process, task);
	*task = (struct sonde_resources_task){tid, voluntary, involuntary, 1};
}

static void read_switches(struct sonde_resources_process *process, struct sonde_resources *out)
{
	size_t kept = 0, hint = 0;
	int fd = open_at(process, "task");
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (!directory) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(directory));)
		if (entry->d_name[0] != '.')
			read_task(process, (pid_t)atoi(entry->d_name), &hint);
	closedir(directory);
	uint64_t voluntary = 0, involuntary = 0;
	for (size_t i = 0; i < process->task_count; i++) {
		struct sonde_resources_task *task = &process->tasks[i];
		if (!task->seen) {
			end_task(process, task);
			continue;
		}
		task->seen = 0;
		voluntary += task->voluntary;
		involuntary += task->involuntary;
		process->tasks[kept++] = *task;
	}
	process->task_count = kept;
	if (!kept)
		return;
	set(out, SONDE_RESOURCE_SWITCHES_VOLUNTARY, voluntary + process->ended_voluntary);
	set(out, SONDE_RESOURCE_SWITCHES_INVOLUNTARY, involuntary + process->ended_involuntary);
}

/* --- a process ---------------------------------------------------------------------------------------------------- */

enum sonde_resources_found sonde_resources_process_open(struct sonde_resources_process *out, const char *root,
							pid_t pid, int keep)
{
	struct sonde_resources_process process = {
	    .root = root, .pid = pid, .directory_fd = -1, .stat_fd = -1, .status_fd = -1, .io_fd = -1, .files_fd = -1};
	struct sonde_resources ignored = {0};
	struct stat_line line;
	process.directory_fd = open_directory(&process);
	if (process.directory_fd < 0)
		return why_not(&process);
	process.has_clock = !*root && !clock_getcpuclockid(pid, &process.clock);
	if (keep) {
		process.stat_fd = open_at(&process, "stat");
		process.status_fd = open_at(&process, "status");
		process.io_fd = open_at(&process, "io");
		if (size_is_count(&process))
			process.files_fd = openat(process.directory_fd, "fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	int is_there = !read_stat(&process, &line, &ignored);
	if (!is_there || !keep) {
		sonde_resources_process_close(&process);
		if (!is_there)
			return process.missing_files ? why_not(&process) : SONDE_RESOURCES_GONE;
	}
	process.is_kept = keep;
	*out = process;
	return SONDE_RESOURCES_FOUND;
}

void sonde_resources_process_close(struct sonde_resources_process *process)
{
	int *fds[] = {&process->directory_fd, &process->stat_fd, &process->status_fd, &process->io_fd,
		      &process->files_fd};
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	free(process->tasks);
	process->tasks = NULL;
	process->task_count = process->task_cap = 0;
}

/* Opens the directory for one reading if it is not kept open. True if it exists. */
static int begin(struct sonde_resources_process *process)
{
	if (process->directory_fd < 0)
		process->directory_fd = open_directory(process);
	return process->directory_fd >= 0;
}

static void end(struct sonde_resources_process *process)
{
	if (process->directory_fd >= 0 && !process->is_kept)
		close(process->directory_fd);
	if (!process->is_kept)
		process->directory_fd = -1;
}

enum sonde_resources_found sonde_resources_process_read(struct sonde_resources_process *process, int is_detailed,
							struct sonde_resources *out)
{
	struct stat_line line;
	*out = (struct sonde_resources){0};
	process->missing_files = 0;
	if (!begin(process))
		return why_not(process);
	int is_there = !read_stat(process, &line, out);
	if (is_there) {
		read_io(process, out);
		if (!out->is_dead)
			read_files(process, is_detailed, out);
		if (is_detailed || out->is_dead)
			read_status(process, out);
	}
	end(process);
	if (!is_there)
		return process->missing_files ? why_not(process) : SONDE_RESOURCES_GONE;
	return SONDE_RESOURCES_FOUND;
}

void sonde_resources_process_bytes(struct sonde_resources_process *process, struct sonde_resources *out)
{
	*out = (struct sonde_resources){0};
	if (begin(process))
		read_io(process, out);
	end(process);
}

int sonde_resources_process_is_there(struct sonde_resources_process *process)
{
	struct stat_line line;
	struct sonde_resources ignored = {0};
	process->missing_files = 0;
	int is_there = begin(process) && !read_stat(process, &line, &ignored);
	end(process);
	return is_there || (process->missing_files && why_not(process) != SONDE_RESOURCES_GONE);
}

void sonde_resources_process_pss(struct sonde_resources_process *process, struct sonde_resources *out)
{
	*out = (struct sonde_resources){0};
	if (begin(process))
		read_pss(process, out);
	end(process);
}

void sonde_resources_process_switches(struct sonde_resources_process *process, struct sonde_resources *out)
{
	*out = (struct sonde_resources){0};
	if (begin(process))
		read_switches(process, out);
	end(process);
}
