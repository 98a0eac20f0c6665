/* test_tasks.c: processes and threads are kept while they are needed, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "source/record/tasks.h"
#include "trace/writer.h"

#define PID 0x7ffffff0 /* above any that the kernel gives */
#define TIDS 1000u     /* numbers are used again */
#define ROWS_MAX (2 * SONDE_TASKS_ENDED + 16)

struct fixture {
	struct sonde_writer *writer;
	struct sonde_strings strings;
	struct sonde_tasks tasks;
};

static struct fixture fixture;

static int setup(void **state)
{
	(void)state;
	struct sonde_writer_options options = {.overwrite = 1};
	assert_int_equal(sonde_writer_open(&fixture.writer, "/dev/null", &options), 0);
	sonde_strings_init(&fixture.strings, fixture.writer);
	sonde_tasks_init(&fixture.tasks, fixture.writer, &fixture.strings);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sonde_tasks_fini(&fixture.tasks);
	sonde_strings_fini(&fixture.strings);
	sonde_writer_close(fixture.writer);
	return 0;
}

static pid_t tid_of(uint32_t i)
{
	return PID - 1 - (pid_t)(i % TIDS);
}

static void short_threads_leave_no_rows(void **state)
{
	(void)state;
	struct sonde_tasks *tasks = &fixture.tasks;
	sonde_tasks_fork(tasks, 1, PID, PID, 1);
	uint32_t main_thread = sonde_tasks_thread(tasks, PID, PID, 1), last = main_thread, late = 0;
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t start_ns = 10 * (uint64_t)i + 10;
		sonde_tasks_fork(tasks, PID, PID, tid_of(i), start_ns);
		uint32_t id = sonde_tasks_thread(tasks, PID, tid_of(i), start_ns + 1);
		assert_int_equal(id, last + 1);
		last = id;
		sonde_tasks_exit(tasks, PID, tid_of(i), 5, start_ns + 5);
		assert_int_equal(sonde_tasks_thread(tasks, PID, tid_of(i), start_ns + 3), id); /* drained late */
		assert_int_equal(sonde_tasks_known(tasks, PID, tid_of(i), start_ns + 3), id);
		assert_int_equal(sonde_tasks_known(tasks, PID, PID - 1 - (pid_t)TIDS, start_ns), 0); /* makes none */
		if (i >= TIDS / 2) { /* another has ended since, and its number is not used yet */
			uint32_t before = i - TIDS / 2;
			late = sonde_tasks_thread(tasks, PID, tid_of(before), 10 * (uint64_t)before + 12);
			assert_int_equal(late, id - TIDS / 2);
		}
		assert_true(tasks->threads.count <= ROWS_MAX);
	}
	assert_int_equal(tasks->threads.made, 20001);
	assert_int_equal(tasks->processes.count, 2);                                 /* with its parent */
	assert_int_equal(sonde_tasks_thread(tasks, PID, PID, 1000000), main_thread); /* alive: never forgotten */
	assert_int_equal(tasks->error, 0);
}

static void short_processes_leave_no_rows(void **state)
{
	(void)state;
	struct sonde_tasks *tasks = &fixture.tasks;
	uint32_t parent = sonde_tasks_process(tasks, PID, 1);
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t start_ns = 10 * (uint64_t)i + 10;
		sonde_tasks_fork(tasks, PID, tid_of(i), tid_of(i), start_ns);
		assert_int_equal(sonde_tasks_process(tasks, tid_of(i), start_ns + 1), parent + 1 + i);
		sonde_tasks_exit(tasks, tid_of(i), tid_of(i), 5, start_ns + 5);
		assert_true(tasks->processes.count <= ROWS_MAX && tasks->threads.count <= ROWS_MAX);
	}
	assert_int_equal(tasks->processes.made, 20001);
	assert_int_equal(sonde_tasks_process(tasks, PID, 1000000), parent);
	assert_int_equal(tasks->error, 0);
}

/* The call comes by the program's own ring, which may be read before the kernel's records of what went on earlier. */
static void a_name_that_is_called_outlives_an_earlier_exec_read_later(void **state)
{
	(void)state;
	struct sonde_tasks *tasks = &fixture.tasks;
	sonde_tasks_fork(tasks, 1, PID, PID, 1);
	uint32_t id = sonde_tasks_thread(tasks, PID, PID, 1);
	sonde_tasks_call(tasks, id, "called", 6, 50);
	uint32_t called = sonde_strings_intern(&fixture.strings, "called", 6);
	const struct sonde_task_thread *row = (const void *)tasks->threads.rows;
	sonde_tasks_comm(tasks, PID, PID, "program", 1, 40);
	assert_int_equal(row->name, called);
	sonde_tasks_comm(tasks, PID, PID, "renamed", 0, 60);
	assert_int_equal(row->name, called);
	sonde_tasks_comm(tasks, PID, PID, "another", 1, 70);
	assert_int_equal(row->name, sonde_strings_intern(&fixture.strings, "another", 7));
}

static void names_hold_no_secrets(void **state)
{
	(void)state;
	struct sonde_tasks *tasks = &fixture.tasks;
	sonde_tasks_fork(tasks, 1, PID, PID, 1);
	const struct sonde_task_thread *row = (const void *)tasks->threads.rows;
	uint32_t redacted = sonde_strings_intern(&fixture.strings, "--token=***", 11);
	sonde_tasks_comm(tasks, PID, PID, "--token=abcd", 0, 40);
	assert_int_equal(row->name, redacted);
	sonde_tasks_call(tasks, row->task.id, "--token=efgh", 12, 50);
	assert_int_equal(row->name, redacted);
	tasks->keep_arguments = 1;
	sonde_tasks_call(tasks, row->task.id, "--token=efgh", 12, 60);
	assert_int_equal(row->name, sonde_strings_intern(&fixture.strings, "--token=efgh", 12));
}

/* A thread's own events may be read before the kernel reports its start and end. */
static void a_thread_that_was_met_too_late_began_when_it_was_made(void **state)
{
	(void)state;
	struct sonde_tasks *tasks = &fixture.tasks;
	sonde_tasks_fork(tasks, 1, PID, PID, 1);
	uint32_t id = sonde_tasks_thread(tasks, PID, tid_of(0), 50);
	const struct sonde_task_thread *row = (const struct sonde_task_thread *)(const void *)tasks->threads.rows + 1;
	assert_int_equal(row->task.start_ns, 50);
	sonde_tasks_fork(tasks, PID, PID, tid_of(0), 10);
	assert_int_equal(row->task.id, id);
	assert_int_equal(row->task.start_ns, 10);
	sonde_tasks_fork(tasks, PID, PID, tid_of(0), 20); /* never later */
	assert_int_equal(row->task.start_ns, 10);
	sonde_tasks_exit(tasks, PID, tid_of(0), 5, 30);
	assert_int_equal(row->task.end_ns, 30);
	sonde_tasks_fork(tasks, PID, PID, tid_of(0), 40); /* another life */
	assert_int_equal(row->task.start_ns, 10);
	assert_int_equal(sonde_tasks_thread(tasks, PID, tid_of(0), 45), id + 1);
}

/* The events of a process are read before the record of its fork. */
static void a_process_begins_with_its_first_thread(void **state)
{
	(void)state;
	struct sonde_tasks *tasks = &fixture.tasks;
	uint32_t parent = sonde_tasks_process(tasks, PID, 100);
	uint32_t child = sonde_tasks_process(tasks, PID - 1, 700);
	uint32_t thread = sonde_tasks_thread(tasks, PID - 1, PID - 1, 900);
	const struct sonde_task_process *processes = (const void *)tasks->processes.rows;
	const struct sonde_task_thread *threads = (const void *)tasks->threads.rows;
	assert_int_equal(threads[thread - 1].task.start_ns, 700);
	sonde_tasks_fork(tasks, PID, PID - 1, PID - 1, 500);
	assert_int_equal(sonde_tasks_thread(tasks, PID - 1, PID - 1, 900), thread);
	assert_int_equal(threads[thread - 1].task.start_ns, 500);
	assert_int_equal(processes[child - 1].task.start_ns, 500);
	assert_int_equal(processes[child - 1].parent, parent);
	assert_int_equal(sonde_tasks_thread(tasks, PID, PID, 800), thread + 1);
	assert_int_equal(threads[thread].task.start_ns, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(short_threads_leave_no_rows, setup, teardown),
	    cmocka_unit_test_setup_teardown(short_processes_leave_no_rows, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_name_that_is_called_outlives_an_earlier_exec_read_later, setup, teardown),
	    cmocka_unit_test_setup_teardown(names_hold_no_secrets, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_thread_that_was_met_too_late_began_when_it_was_made, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_process_begins_with_its_first_thread, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
