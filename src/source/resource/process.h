/* process.h: kernel statistics of one process, from /proc/PID.
 *
 * The basic values are cheap: CPU time, threads, faults, RSS, bytes read and written, descriptors (15 µs). Details are
 * peak RSS, swap, context switches, and PSS. Only values that could be read are marked as known.
 */
#ifndef SONDE_SOURCE_RESOURCE_PROCESS_H
#define SONDE_SOURCE_RESOURCE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "format/metric.h"

/* SONDE_RESOURCE(NAME): a value, which has the metric SONDE_METRIC_NAME. */
#define SONDE_RESOURCES(SONDE_RESOURCE)    \
	SONDE_RESOURCE(CPU_USER)           \
	SONDE_RESOURCE(CPU_SYSTEM)         \
	SONDE_RESOURCE(THREADS)            \
	SONDE_RESOURCE(FAULTS_MINOR)       \
	SONDE_RESOURCE(FAULTS_MAJOR)       \
	SONDE_RESOURCE(MEMORY_RSS)         \
	SONDE_RESOURCE(FILES)              \
	SONDE_RESOURCE(IO_READ)            \
	SONDE_RESOURCE(IO_WRITTEN)         \
	SONDE_RESOURCE(IO_READ_ALL)        \
	SONDE_RESOURCE(IO_WRITTEN_ALL)     \
	SONDE_RESOURCE(MEMORY_PEAK_RSS)    \
	SONDE_RESOURCE(MEMORY_SWAP)        \
	SONDE_RESOURCE(MEMORY_PSS)         \
	SONDE_RESOURCE(SWITCHES_VOLUNTARY) \
	SONDE_RESOURCE(SWITCHES_INVOLUNTARY)

enum sonde_resource {
#define SONDE_RESOURCE(name) SONDE_RESOURCE_##name,
	SONDE_RESOURCES(SONDE_RESOURCE)
#undef SONDE_RESOURCE
	    SONDE_RESOURCE_COUNT
};

enum sonde_metric sonde_resource_metric(enum sonde_resource resource);

struct sonde_resources {
	uint32_t known; /* bits 1 << enum sonde_resource */
	int64_t value[SONDE_RESOURCE_COUNT];
	char name[32]; /* current program name */
	char state;
	int is_dead; /* it has died but has not been waited for: its values are final */
	pid_t parent;
};

/* A thread's context switches at the last reading. */
struct sonde_resources_task {
	pid_t tid;
	uint64_t voluntary, involuntary;
	int seen;
};

struct sonde_resources_process {
	const char *root; /* "" = this machine's /proc */
	pid_t pid;
	uint64_t start_ticks; /* together with the pid it identifies a process */
	int directory_fd;     /* /proc/PID; −1 = not kept open, likewise below */
	int stat_fd, status_fd, io_fd;
	int files_fd; /* /proc/PID/fd, for its size; −1 if the size is not the count */
	int is_kept;
	int has_clock;
	clockid_t clock;
	int64_t user_ns, system_ns;         /* last reported: never decrease */
	struct sonde_resources_task *tasks; /* if the process has, or had, several threads */
	size_t task_count, task_cap;
	uint64_t ended_voluntary, ended_involuntary; /* sums of exited threads */
	int was_multi;
	int has_no_pss;    /* reading PSS is not permitted */
	int had_children;  /* it has waited for children (known from their page faults) */
	int missing_files; /* at the last reading something could not be read for lack of descriptors */
};

/* The result of opening or reading a process. */
enum sonde_resources_found {
	SONDE_RESOURCES_FOUND = 0,
	SONDE_RESOURCES_GONE = -1,   /* the process has exited */
	SONDE_RESOURCES_HIDDEN = -2, /* it exists, but /proc does not show it (hidepid) */
	SONDE_RESOURCES_UNREAD = -3, /* it exists, but no descriptor was available to read it */
};

/* `keep`: keep 5 descriptors open between readings. `root` is borrowed. */
enum sonde_resources_found sonde_resources_process_open(struct sonde_resources_process *out, const char *root,
							pid_t pid, int keep);
void sonde_resources_process_close(struct sonde_resources_process *process);

/* Details: peak RSS, swap, and context switches of a process that has always been single-threaded. */
enum sonde_resources_found sonde_resources_process_read(struct sonde_resources_process *process, int is_detailed,
							struct sonde_resources *out);

/* Reads only the byte counts. */
void sonde_resources_process_bytes(struct sonde_resources_process *process, struct sonde_resources *out);

/* True if the process exists. A dead process exists until it is waited for. */
int sonde_resources_process_is_there(struct sonde_resources_process *process);

/* Expensive values, read separately. PSS walks the process's page tables and blocks changes of its mappings meanwhile;
 * context switches of several threads are read thread by thread, 20 µs each. */
void sonde_resources_process_pss(struct sonde_resources_process *process, struct sonde_resources *out);
void sonde_resources_process_switches(struct sonde_resources_process *process, struct sonde_resources *out);

/* of a process with more threads, context switches are not read */
#define SONDE_RESOURCES_TASKS_MAX 1000

#endif
