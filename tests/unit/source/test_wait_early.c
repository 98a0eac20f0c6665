/* test_wait_early.c: no call that a process reports before it connects gets lost unnoticed, however late the process
 * writes and however early it ends.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "format/early.h"
#include "format/heap.h"
#include "format/wait.h"
#include "source/record/recorder.h"
#include "source/target/channel.h"
#include "source/wait/early.h"
#include "source/wait/process.h"

#define PID 1234567
#define CALL_WORDS 5u

/* --- what early.c calls ------------------------------------------------------------------------------------------- */

static struct sonde_interposed interposed;
static uint64_t calls, lost;
static int has_memory, processes;
static void (*when_asked)(void); /* called when the recorder asks whether the process lives; it does not afterwards */

int kill(pid_t pid, int number)
{
	(void)number;
	if (pid != PID || !when_asked)
		return 0;
	when_asked();
	errno = ESRCH;
	return -1;
}

int sonde_wait_process_new(struct sonde_wait_process **out, const struct sonde_wait_process_options *options)
{
	(void)options;
	*out = has_memory ? malloc(1) : NULL;
	processes++;
	return has_memory ? 0 : -ENOMEM;
}

void sonde_wait_process_end(struct sonde_wait_process *process)
{
	free(process);
}

size_t sonde_wait_process_size(uint64_t first, uint64_t second)
{
	(void)second;
	return first >> SONDE_HEAP_ADDRESS_BITS == SONDE_WAIT_CALL ? CALL_WORDS : 0;
}

void sonde_wait_process_add(struct sonde_wait_process *process, uint32_t thread, const uint64_t *words, size_t count)
{
	(void)process, (void)thread, (void)words;
	calls += count / CALL_WORDS;
}

void sonde_wait_process_settle(struct sonde_wait_process *process)
{
	(void)process;
}

const char *sonde_channel_name(const struct sonde_channel *channel)
{
	(void)channel;
	return "test";
}

const struct sonde_clockfit *sonde_channel_fit(const struct sonde_channel *channel)
{
	static struct sonde_clockfit fit;
	(void)channel;
	return &fit;
}

uint32_t sonde_recorder_process(struct sonde_recorder *recorder, pid_t pid, uint64_t time_ns)
{
	(void)recorder, (void)pid, (void)time_ns;
	return 1;
}

uint32_t sonde_recorder_thread(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns)
{
	(void)recorder, (void)pid, (void)tid, (void)time_ns;
	return 1;
}

void sonde_recorder_lost(struct sonde_recorder *recorder, const struct sonde_recorder_loss *loss)
{
	(void)recorder;
	lost += loss->count;
}

void sonde_spaces_exec(struct sonde_spaces *spaces, pid_t pid, const char *name)
{
	(void)spaces, (void)pid, (void)name;
}

void sonde_spaces_exit(struct sonde_spaces *spaces, pid_t pid)
{
	(void)spaces, (void)pid;
}

void sonde_unwinder_begin(struct sonde_unwinder *unwinder)
{
	(void)unwinder;
}

/* --- a process ---------------------------------------------------------------------------------------------------- */

static struct sonde_wait_early *early;
static struct sonde_early_head *head;
static struct sonde_early_slot *slot;

static int begin(void **state)
{
	(void)state;
	struct sonde_wait_early_options options = {.interposed = &interposed};
	char place[32];
	int fd;
	calls = lost = 0;
	processes = 0;
	has_memory = 1;
	when_asked = NULL;
	early = sonde_wait_early_new(&options);
	if (!early)
		return 0;
	sonde_wait_early_place(early, place, sizeof place);
	fd = atoi(strchr(place, ' ') + 1);
	head = mmap(NULL, SONDE_EARLY_HEAD_B + SONDE_EARLY_SLOT_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(head != MAP_FAILED);
	slot = (void *)((char *)head + SONDE_EARLY_HEAD_B);
	return 0;
}

static int end(void **state)
{
	(void)state;
	sonde_wait_early_free(early);
	if (head)
		munmap(head, SONDE_EARLY_HEAD_B + SONDE_EARLY_SLOT_B);
	early = NULL;
	head = NULL;
	return 0;
}

static void claim(void)
{
	if (!early)
		skip(); /* other processes of the user may not be read here */
	atomic_store(&head->owners[0], PID);
}

static void write_calls(void)
{
	for (uint32_t i = 0; i < 7; i++)
		atomic_store(&slot->words[CALL_WORDS * i], sonde_heap_op((enum sonde_heap_op)SONDE_WAIT_CALL) | 1);
	atomic_store(&slot->began,
		     head->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clock_cycles() : sonde_clock_now_ns());
}

static void nothing(void)
{
}

static void is_free(void)
{
	assert_int_equal(atomic_load(&head->owners[0]), 0);
	assert_int_equal(atomic_load(&slot->began), 0);
	assert_int_equal(atomic_load(&slot->words[0]), 0);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

/* All of its life passes between two looks of one round. */
static void test_brief(void **state)
{
	(void)state;
	claim();
	when_asked = write_calls;
	for (int round = 0; round < 20 && atomic_load(&head->owners[0]); round++) {
		sonde_wait_early_drain(early, 0);
		usleep(5000);
		when_asked = nothing;
	}
	assert_int_equal(calls, 7);
	assert_int_equal(lost, 0);
	assert_int_equal(processes, 1);
	is_free();
}

static void test_brief_at_the_end(void **state)
{
	(void)state;
	claim();
	write_calls();
	when_asked = nothing;
	sonde_wait_early_drain(early, 1);
	assert_int_equal(calls, 7);
	is_free();
}

/* It was killed before it wrote anything. */
static void test_killed(void **state)
{
	(void)state;
	claim();
	sonde_wait_early_drain(early, 0);
	assert_int_equal(atomic_load(&head->owners[0]), PID);
	when_asked = nothing;
	sonde_wait_early_drain(early, 0);
	assert_int_equal(calls + lost, 0);
	assert_int_equal(processes, 0);
	is_free();
}

static void test_no_memory(void **state)
{
	(void)state;
	claim();
	write_calls();
	has_memory = 0;
	sonde_wait_early_drain(early, 1);
	assert_int_equal(calls, 0);
	assert_int_equal(lost, 7);
	is_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_brief, begin, end),
	    cmocka_unit_test_setup_teardown(test_brief_at_the_end, begin, end),
	    cmocka_unit_test_setup_teardown(test_killed, begin, end),
	    cmocka_unit_test_setup_teardown(test_no_memory, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
