/* process.h: what the kernel says of one process, from /proc/PID.
 *
 * What is always read is cheap: CPU time, threads, faults, resident memory, bytes read and written, descriptors (15
 * µs). Details are the most that was resident, what is swapped out, context switches, and the proportional share. Only
 * what could be read is known.
 */
#ifndef SONDE_SOURCE_RESOURCE_PROCESS_H
#define SONDE_SOURCE_RESOURCE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "format/metric.h"

/* SONDE_RESOURCE(NAME): of the metric SONDE_METRIC_NAME. */
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
	char name[32]; /* of the program, as it is now */
	char state;
	int is_dead; /* and not waited for: what it came to is final */
	pid_t parent;
};

/* What a thread came to when its context switches were read last. */
struct sonde_resources_task {
	pid_t tid;
	uint64_t voluntary, involuntary;
	int seen;
};

struct sonde_resources_process {
	const char *root; /* "" = this machine's /proc */
	pid_t pid;
	uint64_t start_ticks; /* with the number it tells a process from every other */
	int directory_fd;     /* /proc/PID; −1 = not kept, as below */
	int stat_fd, status_fd, io_fd;
	int files_fd; /* /proc/PID/fd, for its size; −1 where that is not how many there are */
	int is_kept;
	int has_clock;
	clockid_t clock;
	int64_t user_ns, system_ns;         /* as they were said last: they never go down */
	struct sonde_resources_task *tasks; /* of a process that has, or had, several threads */
	size_t task_count, task_cap;
	uint64_t ended_voluntary, ended_involuntary; /* of threads that are gone */
	int was_multi;
	int has_no_pss;   /* it may not be read */
	int had_children; /* and waited for them: none runs without a fault */
	int lacks_files;  /* at the latest reading something was not read: no descriptor was left */
};

/* How it went. */
enum sonde_resources_found {
	SONDE_RESOURCES_FOUND = 0,
	SONDE_RESOURCES_GONE = -1,   /* there is no such process any more */
	SONDE_RESOURCES_HIDDEN = -2, /* it is there, and /proc does not show it (hidepid) */
	SONDE_RESOURCES_UNREAD = -3, /* it is there, and no descriptor was left to read it with */
};

/* `keep`: descriptors stay open from one reading to the next (5). `root` is borrowed. */
enum sonde_resources_found sonde_resources_process_open(struct sonde_resources_process *out, const char *root,
							pid_t pid, int keep);
void sonde_resources_process_close(struct sonde_resources_process *process);

/* With details: peak, swap, and context switches of a process that never had but one thread. */
enum sonde_resources_found sonde_resources_process_read(struct sonde_resources_process *process, int is_detailed,
							struct sonde_resources *out);

/* Bytes read and written alone. */
void sonde_resources_process_bytes(struct sonde_resources_process *process, struct sonde_resources *out);

/* Whether it is there, if only until somebody waits for it. */
int sonde_resources_process_is_there(struct sonde_resources_process *process);

/* What costs more, alone. The proportional share walks the process's page tables and keeps its mappings from changing
 * meanwhile; context switches of several threads are read one by one, 20 µs each. */
void sonde_resources_process_pss(struct sonde_resources_process *process, struct sonde_resources *out);
void sonde_resources_process_switches(struct sonde_resources_process *process, struct sonde_resources *out);

/* Threads, of which a process has too many for context switches to be read one by one. */
#define SONDE_RESOURCES_TASKS_MAX 1000

#endif
