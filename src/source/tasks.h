/* tasks.h: the processes and threads of a recording.
 *
 * The kernel uses pids and tids again, so each life of a number has an id of its own. Events may come late (a ring is
 * drained after its thread has died): a look-up at a time up to a thread's end finds the thread that was.
 */
#ifndef SONDE_SOURCE_TASKS_H
#define SONDE_SOURCE_TASKS_H

#include <stdint.h>
#include <sys/types.h>

#include "source/strings.h"

struct sonde_task_process {
	pid_t pid;
	uint32_t parent;
	uint32_t name, command;
	uint32_t live;             /* threads */
	uint64_t start_ns, end_ns; /* end 0: alive */
};

struct sonde_task_thread {
	pid_t tid;
	uint32_t process;
	uint32_t name;
	int called; /* the name is the program's own */
	uint64_t start_ns, end_ns;
};

struct sonde_tasks {
	struct sonde_writer *writer;
	struct sonde_strings *strings;
	struct sonde_task_process *processes; /* id − 1 */
	struct sonde_task_thread *threads;
	uint32_t process_count, process_cap;
	uint32_t thread_count, thread_cap;
	struct sonde_map by_pid, by_tid; /* latest life */
	int error;
};

void sonde_tasks_init(struct sonde_tasks *tasks, struct sonde_writer *writer, struct sonde_strings *strings);
void sonde_tasks_fini(struct sonde_tasks *tasks);

/* All as in recorder.h. */
uint32_t sonde_tasks_process(struct sonde_tasks *tasks, pid_t pid, uint64_t time_ns);
uint32_t sonde_tasks_thread(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns);
void sonde_tasks_fork(struct sonde_tasks *tasks, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns);
void sonde_tasks_comm(struct sonde_tasks *tasks, pid_t pid, pid_t tid, const char *name, int exec, uint64_t time_ns);
/* What the program calls a thread itself; stands until the thread execs. */
void sonde_tasks_call(struct sonde_tasks *tasks, uint32_t thread, const char *name, size_t name_b);
void sonde_tasks_exit(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns);

#endif
