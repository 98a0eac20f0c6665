/* timer_tasks.h: the threads and processes that CPU timers sample, by number. */
#ifndef SONDE_SOURCE_CPU_TIMER_TASKS_H
#define SONDE_SOURCE_CPU_TIMER_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/map.h"

struct sonde_timer_thread {
	pid_t pid, tid;
	uint64_t clock_ns; /* at its last sample */
	uint32_t stack;    /* its last one: a node of the recording */
	uint8_t status;    /* of that: enum sonde_stack_status */
	uint8_t ended;
};

struct sonde_timer_process {
	pid_t pid;
	uint32_t links;       /* open connections: two for a moment around an exec */
	int fresh;            /* its mappings are not read yet */
	int ended;            /* the next of that number is another */
	uint64_t start_ticks; /* since the machine started; 0 = it was gone already */
	uint64_t batch;       /* in which they may be read again */
	uint64_t sampled_ns;  /* CPU time that samples stand for */
	uint64_t clock_ns;    /* of all of it, said when it ended; 0 = not yet */
	uint32_t thread;      /* its first */
};

/* Zeroed: none. Rows stay where they are until the next get. */
struct sonde_timer_tasks {
	struct sonde_timer_thread *threads;
	struct sonde_timer_process *processes;
	size_t thread_count, thread_cap, process_count, process_cap;
	struct sonde_map by_tid, by_pid;
};

void sonde_timer_tasks_fini(struct sonde_timer_tasks *tasks);

/* A thread that has not ended; NULL when it is not known. */
struct sonde_timer_thread *sonde_timer_tasks_find_thread(const struct sonde_timer_tasks *tasks, pid_t pid, pid_t tid);
/* The same, made when it is new; NULL when out of memory. */
struct sonde_timer_thread *sonde_timer_tasks_thread(struct sonde_timer_tasks *tasks, pid_t pid, pid_t tid);
struct sonde_timer_process *sonde_timer_tasks_find_process(const struct sonde_timer_tasks *tasks, pid_t pid);
struct sonde_timer_process *sonde_timer_tasks_process(struct sonde_timer_tasks *tasks, pid_t pid);

#endif
