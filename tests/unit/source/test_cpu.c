/* test_cpu.c: programs with a known answer are sampled through real perf events; skipped where these are forbidden.
 *
 * test_cpu CPU_SPLIT CPU_TREE: the two targets.
 */
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "fake_recorder.h"
#include "run/launch.h"
#include "source/resource/proc_stat.h"
#include "source/record/recorder.h"
#include "source/source.h"

#define SLACK_NS 10000000u

static char *split_path, *tree_path;
static struct sonde_recorder recorder;
static struct rusage usage;
static uint64_t stolen_ns; /* by a hypervisor, while the last command ran */

/* How a command is recorded: with buffers of this size, which are not drained for a while: from one CPU time of the
 * command on, for another, so that a busy machine loses as many samples. */
static struct {
	uint64_t buffer_b, pause_at_ns, pause_ns;
} way;

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec time = {0, 0};
	clockid_t clock;
	if (!clock_getcpuclockid(pid, &clock))
		clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Runs a command under the source as sonde record does. */
static void record(char **command)
{
	const struct sonde_source *source = &sonde_source_cpu;
	struct sonde_launch launch;
	struct sonde_source_run *run = calloc(1, source->run_b);
	char why[512];
	memset(&recorder, 0, sizeof recorder);
	recorder.options.rate_hz = 1000;
	recorder.options.buffer_b = way.buffer_b;
	assert_non_null(run);
	if (source->probe(&recorder.options, why, sizeof why)) {
		free(run);
		assert_true(strlen(why) > 20);
		skip();
	}
	assert_int_equal(source->open(run, &(struct sonde_source_context){.recorder = &recorder}), 0);
	assert_int_equal(sonde_launch_init(&launch, command), 0);
	assert_int_equal(sonde_launch_hold(&launch), 0);
	assert_int_equal(source->start(run, launch.pid), 0);
	assert_int_equal(sonde_launch_release(&launch), 0);
	uint64_t pause_at_ns = way.pause_ns ? way.pause_at_ns : UINT64_MAX;
	int status;
	stolen_ns = sonde_proc_stolen_ns();
	while (wait4(launch.pid, &status, WNOHANG, &usage) == 0) {
		int fds[256];
		struct pollfd polls[256];
		size_t count = source->poll_fds(run, fds, 256);
		for (size_t i = 0; i < count; i++)
			polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		poll(polls, (nfds_t)count, 20);
		if (cpu_ns(launch.pid) > pause_at_ns) {
			while (cpu_ns(launch.pid) < way.pause_at_ns + way.pause_ns)
				usleep(1000);
			pause_at_ns = UINT64_MAX;
		}
		source->drain(run, sonde_clock_now_ns() - SLACK_NS, 0);
	}
	stolen_ns = sonde_proc_stolen_ns() - stolen_ns;
	assert_int_equal(status, 0);
	source->drain(run, UINT64_MAX, 1);
	source->stop(run);
	free(run);
	sonde_launch_fini(&launch);
}

/* A record is late when a hypervisor took the CPU for longer than SLACK_NS between its time and its place in the
 * buffer.
 */
static void assert_in_order(void)
{
	assert_in_range(recorder.out_of_order, 0, stolen_ns / SLACK_NS);
}

/* --- symbols of a target: its ELF symbol table ----------------------------------------------------------- */

struct range {
	uint64_t start, end;
};

static struct range find_symbol(const uint8_t *image, const char *name)
{
	const Elf64_Ehdr *head = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + head->e_shoff);
	for (int i = 0; i < head->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
		const char *names = (const char *)image + sections[sections[i].sh_link].sh_offset;
		for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++)
			if (!strcmp(names + symbols[k].st_name, name))
				return (struct range){symbols[k].st_value, symbols[k].st_value + symbols[k].st_size};
	}
	fail_msg("no symbol %s", name);
	return (struct range){0, 0};
}

/* Shares of time below each of three functions, of a thread (0 = all). */
static void shares(const char *path, uint32_t thread, double out[3])
{
	static const char *const names[] = {"alpha", "beta", "gamma_"};
	struct stat status;
	int fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &status), 0);
	const uint8_t *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(image != MAP_FAILED);
	double sum = 0;
	for (int f = 0; f < 3; f++) {
		struct range range = find_symbol(image, names[f]);
		out[f] = 0;
		for (size_t i = 0; i < recorder.sample_count; i++) {
			const struct fake_sample *sample = &recorder.samples[i];
			if (!sample->stack || (thread && sample->thread != thread))
				continue;
			const struct fake_stack *stack = &recorder.stacks[sample->stack - 1];
			for (size_t k = 0; k < stack->count; k++) {
				const struct sonde_trie_frame *frame = &recorder.frames[stack->first + k];
				const struct fake_module *module = &recorder.modules[frame->module - 1];
				if (strstr(module->path, "cpu_split") && frame->address >= range.start &&
				    frame->address < range.end)
					out[f] += (double)sample->weight_ns;
			}
		}
		sum += out[f];
	}
	for (int f = 0; f < 3; f++)
		out[f] = 100 * out[f] / sum;
	munmap((void *)(uintptr_t)image, (size_t)status.st_size);
	close(fd);
}

/* --- tests ----------------------------------------------------------------------------------------------- */

/* A cycle of exactly one sampling period, in two threads. 2 s a thread: 5 σ of random sampling are 5.5 points. */
static void a_split_in_lockstep_with_the_rate_is_right(void **state)
{
	(void)state;
	static const double truth[3] = {60, 30, 10};
	char *command[] = {split_path, "1000", "2", "2", NULL};
	record(command);
	assert_in_range(recorder.sample_count, 2000, 8000);
	assert_int_equal(recorder.task_count, 2);
	for (uint32_t thread = 0; thread <= 2; thread++) {
		double found[3];
		shares(split_path, thread, found);
		for (int f = 0; f < 3; f++)
			assert_in_range((uint64_t)(found[f] * 10), (uint64_t)(truth[f] * 10 - 55),
					(uint64_t)(truth[f] * 10 + 55));
	}
	fake_recorder_fini(&recorder);
}

static void weights_add_up_to_the_cpu_time(void **state)
{
	(void)state;
	char *command[] = {split_path, "700", "1", "2", NULL};
	record(command);
	uint64_t sampled_ns = 0, clock_ns = 0;
	for (size_t i = 0; i < recorder.sample_count; i++)
		sampled_ns += recorder.samples[i].weight_ns;
	for (size_t i = 0; i < recorder.task_count; i++) {
		assert_true(recorder.tasks[i].ended);
		clock_ns += recorder.tasks[i].cpu_ns;
	}
	uint64_t user_ns = timeval_ns(usage.ru_utime), all_ns = user_ns + timeval_ns(usage.ru_stime);
	assert_in_range(clock_ns, all_ns * 90 / 100, all_ns * 110 / 100);
	assert_in_range(sampled_ns, user_ns * 90 / 100, all_ns * 110 / 100);
	fake_recorder_fini(&recorder);
}

static void stacks_reach_the_root_in_time_order(void **state)
{
	(void)state;
	char *command[] = {split_path, "1000", "0.5", NULL};
	record(command);
	uint64_t whole = recorder.by_status[SONDE_STACK_COMPLETE] + recorder.by_status[SONDE_STACK_FRAME_POINTER];
	assert_in_range(whole * 100, recorder.sample_count * 97, recorder.sample_count * 100);
	assert_in_order();
	assert_string_equal(recorder.lost_cause, "");
	assert_true(recorder.state.state == SONDE_SOURCE_ON || strlen(recorder.detail) > 20);
	fake_recorder_fini(&recorder);
}

/* Records until nothing is lost, five times at most: these tests count every record, and a hypervisor that takes the
 * CPUs for some 20 ms makes a buffer overflow. */
static void record_all(char **command)
{
	record(command);
	for (int i = 1; i < 5 && recorder.lost; i++) {
		fake_recorder_fini(&recorder);
		record(command);
	}
	assert_string_equal(recorder.lost_cause, "");
}

static void every_process_and_thread_is_seen(void **state)
{
	(void)state;
	char *command[] = {tree_path, "300", "8", NULL};
	record_all(command);
	int execs = 0, ended = 0;
	for (size_t i = 0; i < recorder.task_count; i++) {
		execs += recorder.tasks[i].execs;
		ended += recorder.tasks[i].ended;
	}
	assert_int_equal(recorder.forks, 308);
	assert_int_equal(recorder.task_count, 309);
	assert_int_equal(execs, 151);
	assert_int_equal(ended, 309);
	assert_in_order();
	fake_recorder_fini(&recorder);
}

/* None of them lives for a sampling period. */
static void processes_that_are_too_short_to_be_sampled_have_stacks(void **state)
{
	(void)state;
	char *command[] = {tree_path, "1500", "0", NULL};
	record(command);
	uint64_t sampled_ns = 0, without_ns = 0;
	for (size_t i = 0; i < recorder.sample_count; i++) {
		const struct fake_sample *sample = &recorder.samples[i];
		sampled_ns += sample->weight_ns;
		without_ns += sample->stack ? 0 : sample->weight_ns;
	}
	uint64_t user_ns = timeval_ns(usage.ru_utime), all_ns = user_ns + timeval_ns(usage.ru_stime);
	assert_in_range(sampled_ns, user_ns / 4, all_ns * 110 / 100);
	assert_in_range(without_ns, 0, sampled_ns / 2);
	fake_recorder_fini(&recorder);
}

/* A sample stands for its millisecond and, until a loss is reported, for at most two of both periods
 * (source/cpu/thread_clock.c): 1.618 and 2.618 ms. */
#define STANDS_FOR_MOST_NS (1000000u + 2 * (1618034u + 2618034u))

/* For half of the time samples are lost. They belong to no function, and the others are right. */
static void lost_samples_are_no_functions(void **state)
{
	(void)state;
	static const double truth[3] = {60, 30, 10};
	char *command[] = {split_path, "1000", "3", NULL};
	double found[3];
	/* On one CPU: the kernel counts what a buffer lost in its next record, and reports nothing about a CPU that
	 * the thread has left for good. */
	cpu_set_t all, one;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	CPU_ZERO(&one);
	for (size_t cpu = 0; !CPU_COUNT(&one) && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	way.buffer_b = 1 << 20;
	way.pause_at_ns = 500000000;
	way.pause_ns = 1500000000;
	record(command);
	memset(&way, 0, sizeof way);
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
	uint64_t sampled_ns = 0, without_ns = 0, most_ns = 0;
	for (size_t i = 0; i < recorder.sample_count; i++) {
		const struct fake_sample *sample = &recorder.samples[i];
		sampled_ns += sample->weight_ns;
		without_ns += sample->status == SONDE_STACK_NOT_SAMPLED ? sample->weight_ns : 0;
		assert_true((sample->status == SONDE_STACK_NOT_SAMPLED) == !sample->stack);
		if (sample->stack && sample->weight_ns > most_ns)
			most_ns = sample->weight_ns;
	}
	uint64_t all_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
	assert_in_range(recorder.lost, 500, 5000);
	assert_in_range(most_ns, 999999, STANDS_FOR_MOST_NS);
	assert_in_range(without_ns, all_ns / 4, all_ns * 3 / 4);
	assert_in_range(sampled_ns, all_ns * 93 / 100, all_ns * 107 / 100);
	if (recorder.tasks[0].cpu_ns)
		assert_in_range(recorder.tasks[0].cpu_ns, all_ns * 95 / 100, all_ns * 105 / 100);
	shares(split_path, 0, found);
	for (int f = 0; f < 3; f++)
		assert_in_range((uint64_t)(found[f] * 10), (uint64_t)(truth[f] * 10 - 60),
				(uint64_t)(truth[f] * 10 + 60));
	fake_recorder_fini(&recorder);
}

/* Short processes, and threads of 20 ms: each has the time that it ran, and none that of another. */
static void every_thread_has_its_own_time(void **state)
{
	(void)state;
	char *command[] = {tree_path, "300", "30", NULL};
	record_all(command);
	uint64_t *sampled_ns = calloc(recorder.task_count, sizeof *sampled_ns), all_ns = 0, clock_ns = 0;
	for (size_t i = 0; i < recorder.sample_count; i++)
		if (recorder.samples[i].thread) /* else what no event saw of any */
			sampled_ns[recorder.samples[i].thread - 1] += recorder.samples[i].weight_ns;
	for (size_t i = 0; i < recorder.task_count; i++) {
		assert_in_range(sampled_ns[i], 0, recorder.tasks[i].cpu_ns + 1000000);
		assert_true(recorder.tasks[i].cpu_ns > 0);
		all_ns += sampled_ns[i];
		clock_ns += recorder.tasks[i].cpu_ns;
	}
	free(sampled_ns);
	if (!strstr(recorder.detail, "kernel"))
		assert_in_range(all_ns, clock_ns * 98 / 100, clock_ns * 102 / 100);
	fake_recorder_fini(&recorder);
}

static void a_wish_not_to_use_them_is_heard(void **state)
{
	(void)state;
	struct sonde_record_options options = {.no_perf = 1};
	char why[512] = "";
	assert_true(sonde_source_cpu.probe(&options, why, sizeof why) < 0);
	assert_non_null(strstr(why, "--no-perf"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_split_in_lockstep_with_the_rate_is_right),
	    cmocka_unit_test(weights_add_up_to_the_cpu_time),
	    cmocka_unit_test(stacks_reach_the_root_in_time_order),
	    cmocka_unit_test(every_process_and_thread_is_seen),
	    cmocka_unit_test(processes_that_are_too_short_to_be_sampled_have_stacks),
	    cmocka_unit_test(lost_samples_are_no_functions),
	    cmocka_unit_test(every_thread_has_its_own_time),
	    cmocka_unit_test(a_wish_not_to_use_them_is_heard),
	};
	if (argc != 3)
		return 2;
	split_path = argv[1];
	tree_path = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
