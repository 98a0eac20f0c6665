/* tasks.c: two arrays of lives and, for each number, its latest one. */
#include "source/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "util/error.h"

#define COMMAND_MAX_B 4096

void sonde_tasks_init(struct sonde_tasks *tasks, struct sonde_writer *writer, struct sonde_strings *strings)
{
	*tasks = (struct sonde_tasks){.writer = writer, .strings = strings};
}

void sonde_tasks_fini(struct sonde_tasks *tasks)
{
	free(tasks->processes);
	free(tasks->threads);
	sonde_map_fini(&tasks->by_pid);
	sonde_map_fini(&tasks->by_tid);
}

static uint64_t key(pid_t number)
{
	return sonde_hash_mix((uint64_t)number + 1);
}

/* A row more in an array of `size_b`-byte rows. */
static void *add_row(struct sonde_tasks *tasks, void *rows, uint32_t count, uint32_t *cap, size_t size_b)
{
	if (count < *cap)
		return rows;
	uint32_t wanted = *cap ? *cap * 2 : 64;
	void *grown = realloc(rows, wanted * size_b);
	if (!grown) {
		tasks->error = sonde_error(ENOMEM, "out of memory for %u tasks", wanted);
		return NULL;
	}
	*cap = wanted;
	return grown;
}

static void write_process(struct sonde_tasks *tasks, uint32_t id)
{
	const struct sonde_task_process *process = &tasks->processes[id - 1];
	struct sonde_meta_process record = {
	    .head.type = SONDE_META_PROCESS,
	    .id = id,
	    .pid = (uint32_t)process->pid,
	    .parent = process->parent,
	    .name = process->name,
	    .command = process->command,
	    .start_ns = process->start_ns,
	};
	sonde_writer_meta(tasks->writer, &record, sizeof record, NULL, 0);
}

static void write_thread(struct sonde_tasks *tasks, uint32_t id)
{
	const struct sonde_task_thread *thread = &tasks->threads[id - 1];
	struct sonde_meta_thread record = {
	    .head.type = SONDE_META_THREAD,
	    .id = id,
	    .process = thread->process,
	    .tid = (uint32_t)thread->tid,
	    .name = thread->name,
	    .start_ns = thread->start_ns,
	};
	sonde_writer_meta(tasks->writer, &record, sizeof record, NULL, 0);
}

/* Up to max_b − 1 bytes of a file under /proc/PID, with NULs as blanks; its length. */
static size_t read_proc(pid_t pid, const char *name, char *out, size_t max_b)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, out, max_b - 1);
	close(fd);
	size_t len = got > 0 ? (size_t)got : 0;
	while (len && (out[len - 1] == '\0' || out[len - 1] == '\n'))
		len--;
	for (size_t i = 0; i < len; i++)
		if (out[i] == '\0')
			out[i] = ' ';
	return len;
}

static void read_command(struct sonde_tasks *tasks, struct sonde_task_process *process)
{
	char text[COMMAND_MAX_B];
	size_t len = read_proc(process->pid, "cmdline", text, sizeof text);
	process->command = sonde_strings_intern(tasks->strings, text, len);
}

static uint32_t add_process(struct sonde_tasks *tasks, pid_t pid, uint32_t parent, uint64_t time_ns)
{
	struct sonde_task_process *rows =
	    add_row(tasks, tasks->processes, tasks->process_count, &tasks->process_cap, sizeof *rows);
	if (!rows)
		return 0;
	tasks->processes = rows;
	uint32_t id = ++tasks->process_count;
	rows[id - 1] = (struct sonde_task_process){.pid = pid, .parent = parent, .start_ns = time_ns};
	if (parent) {
		rows[id - 1].name = rows[parent - 1].name;
		rows[id - 1].command = rows[parent - 1].command;
	} else {
		char name[64];
		size_t len = read_proc(pid, "comm", name, sizeof name);
		rows[id - 1].name = sonde_strings_intern(tasks->strings, name, len);
		read_command(tasks, &rows[id - 1]);
	}
	tasks->error |= sonde_map_set(&tasks->by_pid, key(pid), id);
	write_process(tasks, id);
	return id;
}

uint32_t sonde_tasks_process(struct sonde_tasks *tasks, pid_t pid, uint64_t time_ns)
{
	uint32_t id = sonde_map_find(&tasks->by_pid, key(pid), NULL, NULL);
	if (id && (!tasks->processes[id - 1].end_ns || time_ns <= tasks->processes[id - 1].end_ns))
		return id;
	return add_process(tasks, pid, 0, time_ns);
}

static uint32_t find_thread(const struct sonde_tasks *tasks, pid_t tid, uint32_t process, uint64_t time_ns)
{
	uint32_t id = sonde_map_find(&tasks->by_tid, key(tid), NULL, NULL);
	if (!id || tasks->threads[id - 1].process != process)
		return 0;
	const struct sonde_task_thread *thread = &tasks->threads[id - 1];
	return !thread->end_ns || time_ns <= thread->end_ns ? id : 0;
}

static uint32_t add_thread(struct sonde_tasks *tasks, uint32_t process, pid_t tid, uint64_t time_ns)
{
	struct sonde_task_thread *rows =
	    add_row(tasks, tasks->threads, tasks->thread_count, &tasks->thread_cap, sizeof *rows);
	if (!rows)
		return 0;
	tasks->threads = rows;
	uint32_t id = ++tasks->thread_count;
	struct sonde_task_process *owner = &tasks->processes[process - 1];
	rows[id - 1] = (struct sonde_task_thread){
	    .tid = tid,
	    .process = process,
	    .name = owner->name,
	    .start_ns = time_ns,
	};
	owner->live++;
	tasks->error |= sonde_map_set(&tasks->by_tid, key(tid), id);
	write_thread(tasks, id);
	return id;
}

uint32_t sonde_tasks_thread(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns)
{
	uint32_t process = sonde_tasks_process(tasks, pid, time_ns);
	if (!process)
		return 0;
	uint32_t id = find_thread(tasks, tid, process, time_ns);
	if (id)
		return id;
	id = add_thread(tasks, process, tid, time_ns);
	char path[64];
	char name[64];
	snprintf(path, sizeof path, "task/%d/comm", tid);
	size_t len = id && tid != pid ? read_proc(pid, path, name, sizeof name) : 0;
	if (len) {
		tasks->threads[id - 1].name = sonde_strings_intern(tasks->strings, name, len);
		write_thread(tasks, id);
	}
	return id;
}

void sonde_tasks_fork(struct sonde_tasks *tasks, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns)
{
	uint32_t process = sonde_map_find(&tasks->by_pid, key(pid), NULL, NULL);
	int alive = process && !tasks->processes[process - 1].end_ns;
	if (!alive && pid == tid) {
		uint32_t of = parent != pid ? sonde_tasks_process(tasks, parent, time_ns) : 0;
		process = add_process(tasks, pid, of, time_ns);
	} else if (!alive) {
		process = sonde_tasks_process(tasks, pid, time_ns);
	}
	if (!process || find_thread(tasks, tid, process, UINT64_MAX))
		return;
	add_thread(tasks, process, tid, time_ns);
}

void sonde_tasks_comm(struct sonde_tasks *tasks, pid_t pid, pid_t tid, const char *name, int exec, uint64_t time_ns)
{
	uint32_t thread = sonde_tasks_thread(tasks, pid, tid, time_ns);
	if (!thread)
		return;
	uint32_t text = sonde_strings_intern(tasks->strings, name, strlen(name));
	struct sonde_task_thread *row = &tasks->threads[thread - 1];
	row->called = row->called && !exec;
	if (!row->called) {
		row->name = text;
		write_thread(tasks, thread);
	}
	if (pid != tid)
		return;
	uint32_t process = tasks->threads[thread - 1].process;
	tasks->processes[process - 1].name = text;
	if (exec)
		read_command(tasks, &tasks->processes[process - 1]);
	write_process(tasks, process);
}

void sonde_tasks_call(struct sonde_tasks *tasks, uint32_t thread, const char *name, size_t name_b)
{
	if (!thread || thread > tasks->thread_count)
		return;
	struct sonde_task_thread *row = &tasks->threads[thread - 1];
	row->name = sonde_strings_intern(tasks->strings, name, name_b);
	row->called = 1;
	write_thread(tasks, thread);
}

static void end_process(struct sonde_tasks *tasks, uint32_t process, uint64_t time_ns)
{
	tasks->processes[process - 1].end_ns = time_ns;
	struct sonde_meta_process_end record = {
	    .head.type = SONDE_META_PROCESS_END,
	    .id = process,
	    .status = -1,
	    .time_ns = time_ns,
	};
	sonde_writer_meta(tasks->writer, &record, sizeof record, NULL, 0);
}

void sonde_tasks_exit(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns)
{
	uint32_t process = sonde_map_find(&tasks->by_pid, key(pid), NULL, NULL);
	uint32_t thread = process ? find_thread(tasks, tid, process, time_ns) : 0;
	if (!thread || tasks->threads[thread - 1].end_ns)
		return;
	tasks->threads[thread - 1].end_ns = time_ns;
	struct sonde_meta_thread_end record = {
	    .head.type = SONDE_META_THREAD_END,
	    .id = thread,
	    .time_ns = time_ns,
	    .cpu_ns = cpu_ns,
	};
	sonde_writer_meta(tasks->writer, &record, sizeof record, NULL, 0);
	struct sonde_task_process *owner = &tasks->processes[process - 1];
	if (owner->live && --owner->live == 0 && !owner->end_ns)
		end_process(tasks, process, time_ns);
}
