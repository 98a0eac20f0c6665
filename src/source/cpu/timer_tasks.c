/* timer_tasks.c: one row per thread and per process, found by tid and pid; a reused number takes over the row. */
#include "source/cpu/timer_tasks.h"

#include <stdlib.h>

#include "base/hash.h"
#include "format/record.h"
#include "util/array.h"

void sonde_timer_tasks_fini(struct sonde_timer_tasks *tasks)
{
	sonde_map_fini(&tasks->by_tid);
	sonde_map_fini(&tasks->by_pid);
	free(tasks->threads);
	free(tasks->processes);
}

static uint64_t key(pid_t number)
{
	return sonde_hash_mix((uint64_t)number + 1);
}

struct sonde_timer_thread *sonde_timer_tasks_find_thread(const struct sonde_timer_tasks *tasks, pid_t pid, pid_t tid)
{
	uint32_t id = sonde_map_find(&tasks->by_tid, key(tid), NULL, NULL);
	struct sonde_timer_thread *thread = id ? &tasks->threads[id - 1] : NULL;
	return thread && thread->pid == pid && !thread->ended ? thread : NULL;
}

struct sonde_timer_thread *sonde_timer_tasks_thread(struct sonde_timer_tasks *tasks, pid_t pid, pid_t tid)
{
	struct sonde_timer_thread *thread = sonde_timer_tasks_find_thread(tasks, pid, tid);
	if (thread)
		return thread;
	uint32_t id = sonde_map_find(&tasks->by_tid, key(tid), NULL, NULL);
	if (!id) {
		if (SONDE_ARRAY_RESERVE(tasks->threads, tasks->thread_cap, tasks->thread_count + 1) ||
		    sonde_map_set(&tasks->by_tid, key(tid), (uint32_t)tasks->thread_count + 1))
			return NULL;
		id = (uint32_t)++tasks->thread_count;
	}
	tasks->threads[id - 1] = (struct sonde_timer_thread){.pid = pid, .tid = tid, .status = SONDE_STACK_NOT_SAMPLED};
	return &tasks->threads[id - 1];
}

struct sonde_timer_process *sonde_timer_tasks_find_process(const struct sonde_timer_tasks *tasks, pid_t pid)
{
	uint32_t id = sonde_map_find(&tasks->by_pid, key(pid), NULL, NULL);
	return id ? &tasks->processes[id - 1] : NULL;
}

struct sonde_timer_process *sonde_timer_tasks_process(struct sonde_timer_tasks *tasks, pid_t pid)
{
	struct sonde_timer_process *process = sonde_timer_tasks_find_process(tasks, pid);
	if (process)
		return process;
	if (SONDE_ARRAY_RESERVE(tasks->processes, tasks->process_cap, tasks->process_count + 1) ||
	    sonde_map_set(&tasks->by_pid, key(pid), (uint32_t)tasks->process_count + 1))
		return NULL;
	tasks->processes[tasks->process_count] = (struct sonde_timer_process){.pid = pid};
	return &tasks->processes[tasks->process_count++];
}
