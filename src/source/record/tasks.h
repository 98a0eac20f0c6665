/* tasks.h: the processes and threads of a recording.
 *
 * The kernel uses pids and tids again, so each life of a number has an id of its own. Events may come late (a ring is
 * drained after its thread has died): a look-up at a time up to a thread's end finds the thread that was, as long as
 * SONDE_TASKS_ENDED others have not ended since. Earlier ones are forgotten, or a recording of short threads would
 * grow.
 */
#ifndef SONDE_SOURCE_RECORD_TASKS_H
#define SONDE_SOURCE_RECORD_TASKS_H

#include <stdint.h>
#include <sys/types.h>

#include "trace/strings.h"

#define SONDE_TASKS_ENDED 4096u

/* A life of a number. */
struct sonde_task {
	uint32_t id;
	pid_t number;
	uint64_t start_ns, end_ns; /* end 0: alive */
	int gone;                  /* ended so long ago that it may be dropped */
};

struct sonde_task_process {
	struct sonde_task task;
	uint32_t parent;
	uint32_t name, command;
	uint32_t live; /* threads */
};

struct sonde_task_thread {
	struct sonde_task task;
	uint32_t process;
	uint32_t name;
	uint64_t called_ns; /* when the program gave it its name; 0 = it did not */
};

/* Rows that begin with a struct sonde_task. */
struct sonde_task_table {
	char *rows; /* by id, ascending */
	size_t row_b;
	uint32_t count, cap;
	uint32_t made;                     /* ids so far */
	uint32_t gone;                     /* rows that may be dropped */
	uint32_t ended[SONDE_TASKS_ENDED]; /* ids of the latest that ended, a ring */
	uint64_t ends;
	struct sonde_map by_number; /* id of the latest life */
};

struct sonde_tasks {
	struct sonde_writer *writer;
	struct sonde_strings *strings;
	struct sonde_task_table processes, threads;
	int keep_arguments; /* command lines as they are (fold/redact.h) */
	int error;
};

void sonde_tasks_init(struct sonde_tasks *tasks, struct sonde_writer *writer, struct sonde_strings *strings);
void sonde_tasks_fini(struct sonde_tasks *tasks);

/* All as in record/recorder.h. */
uint32_t sonde_tasks_process(struct sonde_tasks *tasks, pid_t pid, uint64_t time_ns);
uint32_t sonde_tasks_thread(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns);
/* The same if it is known already; 0. */
uint32_t sonde_tasks_known(const struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns);
void sonde_tasks_fork(struct sonde_tasks *tasks, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns);
void sonde_tasks_comm(struct sonde_tasks *tasks, pid_t pid, pid_t tid, const char *name, int exec, uint64_t time_ns);
/* What the program calls a thread itself; stands until the thread execs. */
void sonde_tasks_call(struct sonde_tasks *tasks, uint32_t thread, const char *name, size_t name_b, uint64_t time_ns);
/* The thread began earlier than when it was first heard of. */
void sonde_tasks_born(struct sonde_tasks *tasks, uint32_t thread, uint64_t start_ns);
/* The life that a number has now, as far as is known; 0 = none. */
uint32_t sonde_tasks_alive(const struct sonde_tasks *tasks, pid_t pid);
/* The process with the lowest id above `after` that was not seen to end; NULL when there is none. */
const struct sonde_task_process *sonde_tasks_next_live(const struct sonde_tasks *tasks, uint32_t after);
void sonde_tasks_exit(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns);

#endif
