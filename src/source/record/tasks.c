/* tasks.c: two tables of lifetimes (of processes and of threads), and for each pid or tid its latest lifetime.
 *
 * Ids only increase, so new rows come last and a row is found by binary search. Rows of tasks that ended long ago are
 * dropped once they are half of the table, so each row is moved a bounded number of times.
 */
#include "source/record/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fold/redact.h"
#include "util/array.h"
#include "util/error.h"
#include "util/file.h"
#include "util/search.h"

#define COMMAND_MAX_B 4096

/* --- tables ---------------------------------------------------------------------------------------------- */

static uint64_t key(pid_t number)
{
	return sonde_hash_mix((uint64_t)number + 1);
}

static struct sonde_task *row_at(const struct sonde_task_table *table, uint32_t at)
{
	return (struct sonde_task *)(void *)(table->rows + at * table->row_b);
}

/* The row of an id; NULL if it has been dropped. */
static void *row_of(const struct sonde_task_table *table, uint32_t id)
{
	uint32_t next = (uint32_t)SONDE_SEARCH(i, 0, table->count, row_at(table, (uint32_t)i)->id < id);
	return next < table->count && row_at(table, next)->id == id ? row_at(table, next) : NULL;
}

/* The latest lifetime of a number; NULL if there was none or it has been dropped. */
static void *latest(const struct sonde_task_table *table, pid_t number)
{
	uint32_t id = sonde_map_find(&table->by_number, key(number), NULL, NULL);
	return id ? row_of(table, id) : NULL;
}

/* Adds a row, all zeros except for its task; NULL when out of memory. May move rows. */
static void *add_row(struct sonde_tasks *tasks, struct sonde_task_table *table, pid_t number, uint64_t start_ns)
{
	if (sonde_array_reserve(&table->rows, &table->cap, table->count + 1, table->row_b)) {
		tasks->error = sonde_error(ENOMEM, "out of memory for %u tasks", table->count + 1);
		return NULL;
	}
	struct sonde_task *row = row_at(table, table->count++);
	memset(row, 0, table->row_b);
	*row = (struct sonde_task){.id = ++table->made, .number = number, .start_ns = start_ns};
	tasks->error |= sonde_map_set(&table->by_number, key(number), row->id);
	return row;
}

static void drop_gone(struct sonde_tasks *tasks, struct sonde_task_table *table)
{
	uint32_t kept = 0;
	sonde_map_fini(&table->by_number);
	table->by_number = (struct sonde_map){0};
	for (uint32_t i = 0; i < table->count; i++) {
		const struct sonde_task *row = row_at(table, i);
		if (row->gone)
			continue;
		memmove(row_at(table, kept), row, table->row_b);
		row = row_at(table, kept++);
		tasks->error |= sonde_map_set(&table->by_number, key(row->number), row->id);
	}
	table->count = kept;
	table->gone = 0;
}

/* Marks `task` as ended; the task that ended SONDE_TASKS_ENDED ends ago may now be dropped. */
static void end_row(struct sonde_tasks *tasks, struct sonde_task_table *table, struct sonde_task *task,
		    uint64_t time_ns)
{
	uint32_t *place = &table->ended[table->ends++ % SONDE_TASKS_ENDED];
	struct sonde_task *oldest = *place ? row_of(table, *place) : NULL;
	task->end_ns = time_ns;
	*place = task->id;
	if (!oldest)
		return;
	oldest->gone = 1;
	if (++table->gone > table->count / 2)
		drop_gone(tasks, table);
}

void sonde_tasks_init(struct sonde_tasks *tasks, struct sonde_writer *writer, struct sonde_strings *strings)
{
	*tasks = (struct sonde_tasks){.writer = writer, .strings = strings};
	tasks->processes.row_b = sizeof(struct sonde_task_process);
	tasks->threads.row_b = sizeof(struct sonde_task_thread);
}

void sonde_tasks_fini(struct sonde_tasks *tasks)
{
	free(tasks->processes.rows);
	free(tasks->threads.rows);
	sonde_map_fini(&tasks->processes.by_number);
	sonde_map_fini(&tasks->threads.by_number);
}

/* --- records --------------------------------------------------------------------------------------------- */

static void write_process(struct sonde_tasks *tasks, const struct sonde_task_process *process)
{
	struct sonde_meta_process record = {
	    .head.type = SONDE_META_PROCESS,
	    .id = process->task.id,
	    .pid = (uint32_t)process->task.number,
	    .parent = process->parent,
	    .name = process->name,
	    .command = process->command,
	    .start_ns = process->task.start_ns,
	};
	sonde_writer_meta(tasks->writer, &record, sizeof record, NULL, 0);
}

static void write_thread(struct sonde_tasks *tasks, const struct sonde_task_thread *thread)
{
	struct sonde_meta_thread record = {
	    .head.type = SONDE_META_THREAD,
	    .id = thread->task.id,
	    .process = thread->process,
	    .tid = (uint32_t)thread->task.number,
	    .name = thread->name,
	    .start_ns = thread->task.start_ns,
	};
	sonde_writer_meta(tasks->writer, &record, sizeof record, NULL, 0);
}

static size_t trimmed(const char *text, size_t len)
{
	while (len && (text[len - 1] == '\0' || text[len - 1] == '\n'))
		len--;
	return len;
}

/* Interns a name. It is redacted, too, because some programs write their arguments into their names. */
static uint32_t intern_name(struct sonde_tasks *tasks, const char *name, size_t len)
{
	char redacted[COMMAND_MAX_B];
	if (tasks->keep_arguments)
		return sonde_strings_intern(tasks->strings, name, len);
	return sonde_strings_intern(tasks->strings, redacted, sonde_redact(redacted, sizeof redacted, name, len, NULL));
}

static void read_command(struct sonde_tasks *tasks, struct sonde_task_process *process)
{
	char words[COMMAND_MAX_B], redacted[COMMAND_MAX_B], *text = words;
	size_t read_b = sonde_file_read(words, sizeof words, "/proc/%d/cmdline", process->task.number);
	size_t len = trimmed(words, read_b);
	if (!tasks->keep_arguments) {
		len = read_b == sizeof words - 1 ? sonde_redact_whole(words, len) : len;
		len = sonde_redact(redacted, sizeof redacted, words, len, NULL);
		text = redacted;
	}
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] ? text[i] : ' ';
	process->command = sonde_strings_intern(tasks->strings, text, len);
}

/* --- lifetimes --------------------------------------------------------------------------------------------------- */

/* Adds a process. `parent`: its id, or 0. */
static struct sonde_task_process *add_process(struct sonde_tasks *tasks, pid_t pid, uint32_t parent, uint64_t time_ns)
{
	struct sonde_task_process *row = add_row(tasks, &tasks->processes, pid, time_ns);
	if (!row)
		return NULL;
	const struct sonde_task_process *from = parent ? row_of(&tasks->processes, parent) : NULL;
	row->parent = parent;
	if (from) {
		row->name = from->name;
		row->command = from->command;
	} else {
		char name[64];
		size_t len = trimmed(name, sonde_file_read(name, sizeof name, "/proc/%d/comm", pid));
		row->name = intern_name(tasks, name, len);
		read_command(tasks, row);
	}
	write_process(tasks, row);
	return row;
}

/* True if `task`, which may be NULL, had not ended before time_ns. */
static int lived(const struct sonde_task *task, uint64_t time_ns)
{
	return task && (!task->end_ns || time_ns <= task->end_ns);
}

static struct sonde_task_process *get_process(struct sonde_tasks *tasks, pid_t pid, uint64_t time_ns)
{
	struct sonde_task_process *row = latest(&tasks->processes, pid);
	return row && lived(&row->task, time_ns) ? row : add_process(tasks, pid, 0, time_ns);
}

uint32_t sonde_tasks_process(struct sonde_tasks *tasks, pid_t pid, uint64_t time_ns)
{
	const struct sonde_task_process *row = get_process(tasks, pid, time_ns);
	return row ? row->task.id : 0;
}

static struct sonde_task_thread *find_thread(const struct sonde_tasks *tasks, pid_t tid, uint32_t process,
					     uint64_t time_ns)
{
	struct sonde_task_thread *row = latest(&tasks->threads, tid);
	return row && row->process == process && lived(&row->task, time_ns) ? row : NULL;
}

/* Adds a thread. A process starts at the same time as its main thread, even if the events of that thread arrive
 * later. */
static struct sonde_task_thread *add_thread(struct sonde_tasks *tasks, struct sonde_task_process *owner, pid_t tid,
					    uint64_t time_ns)
{
	if (tid == owner->task.number && time_ns > owner->task.start_ns)
		time_ns = owner->task.start_ns;
	struct sonde_task_thread *row = add_row(tasks, &tasks->threads, tid, time_ns);
	if (!row)
		return NULL;
	row->process = owner->task.id;
	row->name = owner->name;
	owner->live++;
	write_thread(tasks, row);
	return row;
}

static struct sonde_task_thread *get_thread(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns)
{
	struct sonde_task_process *process = get_process(tasks, pid, time_ns);
	struct sonde_task_thread *row = process ? find_thread(tasks, tid, process->task.id, time_ns) : NULL;
	if (!process || row)
		return row;
	row = add_thread(tasks, process, tid, time_ns);
	char name[64];
	size_t read_b = row && tid != pid ? sonde_file_read(name, sizeof name, "/proc/%d/task/%d/comm", pid, tid) : 0;
	size_t len = trimmed(name, read_b);
	if (len) {
		row->name = intern_name(tasks, name, len);
		write_thread(tasks, row);
	}
	return row;
}

uint32_t sonde_tasks_thread(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns)
{
	const struct sonde_task_thread *row = get_thread(tasks, pid, tid, time_ns);
	return row ? row->task.id : 0;
}

uint32_t sonde_tasks_known(const struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t time_ns)
{
	const struct sonde_task_process *process = latest(&tasks->processes, pid);
	const struct sonde_task_thread *row = process ? find_thread(tasks, tid, process->task.id, time_ns) : NULL;
	return row ? row->task.id : 0;
}

void sonde_tasks_born(struct sonde_tasks *tasks, uint32_t thread, uint64_t start_ns)
{
	struct sonde_task_thread *row = row_of(&tasks->threads, thread);
	if (!row || start_ns >= row->task.start_ns)
		return;
	row->task.start_ns = start_ns;
	write_thread(tasks, row);
	struct sonde_task_process *process = row_of(&tasks->processes, row->process);
	if (!process || start_ns >= process->task.start_ns)
		return;
	process->task.start_ns = start_ns;
	write_process(tasks, process);
}

void sonde_tasks_fork(struct sonde_tasks *tasks, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns)
{
	struct sonde_task_process *process = latest(&tasks->processes, pid);
	int alive = process && !process->task.end_ns;
	if (!alive && pid == tid) {
		uint32_t of = parent != pid ? sonde_tasks_process(tasks, parent, time_ns) : 0;
		process = add_process(tasks, pid, of, time_ns);
	} else if (!alive) {
		process = get_process(tasks, pid, time_ns);
	}
	const struct sonde_task_thread *known = process ? find_thread(tasks, tid, process->task.id, UINT64_MAX) : NULL;
	if (!known) {
		if (process)
			add_thread(tasks, process, tid, time_ns);
		return;
	}
	/* The thread is known from its own events, which may have been read before this fork event. */
	sonde_tasks_born(tasks, known->task.id, time_ns);
	if (pid != tid || parent == pid || process->parent)
		return;
	uint32_t of = sonde_tasks_process(tasks, parent, time_ns); /* may move rows */
	process = row_of(&tasks->processes, known->process);
	process->parent = of;
	write_process(tasks, process);
}

void sonde_tasks_comm(struct sonde_tasks *tasks, pid_t pid, pid_t tid, const char *name, int exec, uint64_t time_ns)
{
	struct sonde_task_thread *row = get_thread(tasks, pid, tid, time_ns);
	if (!row)
		return;
	uint32_t text = intern_name(tasks, name, strlen(name));
	if (exec && row->called_ns < time_ns) /* the name was set by the previous program */
		row->called_ns = 0;
	if (!row->called_ns) {
		row->name = text;
		write_thread(tasks, row);
	}
	struct sonde_task_process *process = pid == tid ? row_of(&tasks->processes, row->process) : NULL;
	if (!process)
		return;
	process->name = text;
	if (exec)
		read_command(tasks, process);
	write_process(tasks, process);
}

void sonde_tasks_call(struct sonde_tasks *tasks, uint32_t thread, const char *name, size_t name_b, uint64_t time_ns)
{
	struct sonde_task_thread *row = row_of(&tasks->threads, thread);
	if (!row)
		return;
	row->name = intern_name(tasks, name, name_b);
	row->called_ns = time_ns;
	write_thread(tasks, row);
}

uint32_t sonde_tasks_alive(const struct sonde_tasks *tasks, pid_t pid)
{
	const struct sonde_task_process *row = latest(&tasks->processes, pid);
	return row && !row->task.end_ns ? row->task.id : 0;
}

const struct sonde_task_process *sonde_tasks_next_live(const struct sonde_tasks *tasks, uint32_t after)
{
	uint32_t next =
	    (uint32_t)SONDE_SEARCH(i, 0, tasks->processes.count, row_at(&tasks->processes, (uint32_t)i)->id <= after);
	for (; next < tasks->processes.count; next++)
		if (!row_at(&tasks->processes, next)->end_ns)
			return (const struct sonde_task_process *)row_at(&tasks->processes, next);
	return NULL;
}

static void end_process(struct sonde_tasks *tasks, struct sonde_task_process *process, uint64_t time_ns)
{
	struct sonde_meta_process_end record = {
	    .head.type = SONDE_META_PROCESS_END,
	    .id = process->task.id,
	    .status = -1,
	    .end_ns = time_ns,
	};
	end_row(tasks, &tasks->processes, &process->task, time_ns);
	sonde_writer_meta(tasks->writer, &record, sizeof record, NULL, 0);
}

void sonde_tasks_exit(struct sonde_tasks *tasks, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns)
{
	struct sonde_task_process *process = latest(&tasks->processes, pid);
	struct sonde_task_thread *thread = process ? find_thread(tasks, tid, process->task.id, time_ns) : NULL;
	if (!thread || thread->task.end_ns)
		return;
	struct sonde_meta_thread_end record = {
	    .head.type = SONDE_META_THREAD_END,
	    .id = thread->task.id,
	    .end_ns = time_ns,
	    .cpu_ns = cpu_ns,
	};
	end_row(tasks, &tasks->threads, &thread->task, time_ns);
	sonde_writer_meta(tasks->writer, &record, sizeof record, NULL, 0);
	if (process->live && --process->live == 0 && !process->task.end_ns)
		end_process(tasks, process, time_ns);
}
