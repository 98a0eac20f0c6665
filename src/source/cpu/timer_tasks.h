/* timer_tasks.h: the threads and processes that CPU timers sample, by tid and pid. */
#ifndef SONDE_SOURCE_CPU_TIMER_TASKS_H
#define SONDE_SOURCE_CPU_TIMER_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/map.h"

struct sonde_timer_thread {
	pid_t pid, tid;
	uint64_t clock_ns; /* CPU clock of the thread at its last sample */
	uint32_t stack;    /* its last stack: a node of the recording */
	uint8_t status;    /* of that stack: enum sonde_stack_status */
	uint8_t ended;
};

struct sonde_timer_process {
	pid_t pid;
	uint32_t links;       /* open connections: briefly two around an exec */
	int fresh;            /* its mappings have not been read yet */
	int ended;            /* a later process with that pid is a different one */
	uint64_t start_ticks; /* start time in ticks since boot; 0 = it was already gone */
	uint64_t batch;       /* batch in which its mappings were last allowed to be reread */
	uint64_t sampled_ns;  /* CPU time that samples account for */
	uint64_t clock_ns;    /* CPU time of the process, reported when it ended; 0 = not yet */
	uint32_t thread;      /* its main thread */
};

/* A zeroed struct is empty. Rows do not move until the next get. */
struct sonde_timer_tasks {
	struct sonde_timer_thread *threads;
	struct sonde_timer_process *processes;
	size_t thread_count, thread_cap, process_count, process_cap;
	struct sonde_map by_tid, by_pid;
};

void sonde_timer_tasks_fini(struct sonde_timer_tasks *tasks);

/* A thread that has not ended; NULL if unknown. */
struct sonde_timer_thread *sonde_timer_tasks_find_thread(const struct sonde_timer_tasks *tasks, pid_t pid, pid_t tid);
/* Like find_thread(), but creates a new thread; NULL when out of memory. */
struct sonde_timer_thread *sonde_timer_tasks_thread(struct sonde_timer_tasks *tasks, pid_t pid, pid_t tid);
struct sonde_timer_process *sonde_timer_tasks_find_process(const struct sonde_timer_tasks *tasks, pid_t pid);
struct sonde_timer_process *sonde_timer_tasks_process(struct sonde_timer_tasks *tasks, pid_t pid);

#endif
