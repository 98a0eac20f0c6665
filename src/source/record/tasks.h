/* tasks.h: the processes and threads of a recording.
 *
 * The kernel reuses pids and tids, so each lifetime of a number has its own id. Events may arrive late, because a ring
 * may be drained after its thread has ended. So a lookup with a time before a thread's end finds that thread, as long
 * as fewer than SONDE_TASKS_ENDED others have ended since. Threads that ended earlier are dropped, so that a recording
 * of many short threads does not grow without bound.
 */
#ifndef SONDE_SOURCE_RECORD_TASKS_H
#define SONDE_SOURCE_RECORD_TASKS_H

#include <stdint.h>
#include <sys/types.h>

#include "trace/strings.h"

#define SONDE_TASKS_ENDED 4096u

/* One lifetime of a pid or tid. */
struct sonde_task {
	uint32_t id;
	pid_t number;
	uint64_t start_ns, end_ns; /* end_ns 0 = alive */
	int gone;                  /* ended so long ago that the row may be dropped */
};

struct sonde_task_process {
	struct sonde_task task;
	uint32_t parent;
	uint32_t name, command;
	uint32_t live; /* live threads */
};

struct sonde_task_thread {
	struct sonde_task task;
	uint32_t process;
	uint32_t name;
	uint64_t called_ns; /* when the program itself last named the thread; 0 = never */
};

/* A table of rows that begin with a struct sonde_task. */
struct sonde_task_table {
	char *rows; /* by id, ascending */
	size_t row_b;
	uint32_t count;
	size_t cap;
	uint32_t made;                     /* ids assigned so far */
	uint32_t gone;                     /* rows that may be dropped */
	uint32_t ended[SONDE_TASKS_ENDED]; /* ring buffer of the ids of the tasks that ended last */
	uint64_t ends;
	struct sonde_map by_number; /* id of the latest lifetime */
};

struct sonde_tasks {
	struct sonde_writer *writer;
	struct sonde_strings *strings;
	struct sonde_task_table processes, threads;
	int keep_arguments; /* keep command lines unredacted (fold/redact.h) */
	int error;
};

void sonde_tasks_init(struct sonde_tasks *tasks, struct sonde_writer *writer, struct sonde_strings *strings);
void sonde_tasks_fini(struct sonde_tasks *tasks);

/* These are documented in record/recorder.h. */
uint32_t sonde_tasks_process(struct sonde_tasks *tasks, pid_t pid, uint64_t time_ns);
uint32_t sonde_tasks_thread(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns);
/* Like sonde_tasks_thread(), but returns 0 if the thread is unknown. */
uint32_t sonde_tasks_known(const struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns);
void sonde_tasks_fork(struct sonde_tasks *tasks, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns);
void sonde_tasks_comm(struct sonde_tasks *tasks, pid_t pid, pid_t tid, const char *name, int exec, uint64_t time_ns);
/* Sets the name that the program gave a thread; it stays until the thread calls exec. */
void sonde_tasks_call(struct sonde_tasks *tasks, uint32_t thread, const char *name, size_t name_b, uint64_t time_ns);
/* Moves the start of a thread to start_ns, which is before its first event. */
void sonde_tasks_born(struct sonde_tasks *tasks, uint32_t thread, uint64_t start_ns);
/* The id of the process that has a pid now, as far as is known; 0 = none. */
uint32_t sonde_tasks_alive(const struct sonde_tasks *tasks, pid_t pid);
/* The process with the lowest id above `after` whose end has not been seen; NULL if there is none. */
const struct sonde_task_process *sonde_tasks_next_live(const struct sonde_tasks *tasks, uint32_t after);
void sonde_tasks_exit(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns);

#endif
