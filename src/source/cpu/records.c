/* records.c: handles the kernel's records: samples, mappings, start, exit and exec of threads, context switches,
 * losses.
 *
 * The weight of a sample comes from its thread's clock (cpu/thread_clock.h). Time that a thread's samples do not cover
 * is written when the thread ends, with one of its stacks; a thread without a stack borrows one from another thread of
 * its program (cpu/new_threads.h).
 */
#include "source/cpu/run.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#define SHORT_PERIODS 10u /* a thread that ran for more periods lends no stack to others of its program */

/* The size of a record without the TID and TIME at its end. */
static size_t body_b(const struct perf_event_header *head)
{
	return head->size - 16u;
}

/* The NUL-terminated text at `offset` of a record; NULL if it does not end within the record. */
static const char *text_at(const struct perf_event_header *head, size_t offset)
{
	size_t end = body_b(head);
	const char *text = (const char *)head + offset;
	return offset < end && memchr(text, '\0', end - offset) ? text : NULL;
}

void sonde_cpu_count_lost(struct sonde_source_run *run, const char *cause, uint64_t count, uint64_t time_ns)
{
	struct sonde_recorder_loss loss = {.source = "cpu", .cause = cause, .count = count, .time_ns = time_ns};
	sonde_recorder_lost(run->recorder, &loss);
}

static void write_time(struct sonde_source_run *run, uint64_t time_ns, const struct sonde_new_thread_time *time,
		       uint32_t stack, uint8_t status)
{
	if (!time->cpu_ns)
		return;
	run->written_ns += time->cpu_ns;
	sonde_recorder_sample(run->recorder, time_ns, time->thread, stack, time->cpu_ns, status);
}

/* Writes CPU time that has no stack. */
void sonde_cpu_write_unsampled(struct sonde_source_run *run, uint64_t time_ns, uint32_t thread, uint64_t cpu_ns)
{
	write_time(run, time_ns, &(struct sonde_new_thread_time){thread, cpu_ns}, 0, SONDE_STACK_NOT_SAMPLED);
}

/* Writes kernel time, if the kernel may not be sampled. */
void sonde_cpu_write_kernel(struct sonde_source_run *run, uint64_t time_ns, uint32_t thread, uint64_t cpu_ns)
{
	run->kernel_ns += cpu_ns;
	write_time(run, time_ns, &(struct sonde_new_thread_time){thread, cpu_ns}, 0,
		   SONDE_STACK_MEASURED | SONDE_SAMPLE_KERNEL);
}

static void on_sample(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	struct sonde_perf_sample sample;
	uint32_t stack;
	if (sonde_perf_events_decode(&run->events.shape, record, &sample) < 0) {
		sonde_cpu_count_lost(run, "malformed perf record", 1, record->time_ns);
		return;
	}
	if (sample.pid <= 0 || sample.tid <= 0) /* already reaped: cannot be attributed */
		return;
	uint64_t extra_ns = 0;
	if (sample.extra && run->events.shape.switches)
		extra_ns = sonde_thread_clocks_extra(run->clocks, sample.tid, record->cpu, record->time_ns);
	if (sample.extra && !extra_ns && !sonde_thread_clocks_missing(run->clocks, sample.tid))
		return;
	run->current = &sample;
	enum sonde_stack_status status = sonde_unwinder_run(run->unwinder, &sample.unwind, &stack);
	run->current = NULL;
	sonde_deep_stacks_note(&run->deep, status);
	uint8_t flagged = (uint8_t)(status | (sample.in_kernel ? SONDE_SAMPLE_KERNEL : 0));
	if (sample.extra && !extra_ns) {
		sonde_thread_clocks_hint(run->clocks, sample.tid, stack, flagged);
		return;
	}
	run->samples += !sample.extra;
	run->foreign += (uint64_t)(sample.unwind.leaf_only != 0);
	uint32_t thread = sonde_recorder_thread(run->recorder, sample.pid, sample.tid, record->time_ns);
	struct sonde_thread_share share = {.weight_ns = sample.extra ? extra_ns : run->weight_ns};
	if (!sample.extra && run->events.shape.switches)
		share = sonde_thread_clocks_sample(run->clocks, sample.tid, record->cpu, record->time_ns);
	sonde_thread_clocks_stack(run->clocks, sample.tid, stack, flagged);
	sonde_cpu_write_unsampled(run, record->time_ns, thread, share.lost_ns);
	write_time(run, record->time_ns, &(struct sonde_new_thread_time){thread, share.weight_ns}, stack,
		   (uint8_t)(flagged | (sample.extra ? SONDE_SAMPLE_EXTRA : 0)));
	sonde_cpu_write_kernel(run, record->time_ns, thread,
			       sonde_thread_clocks_kernel(run->clocks, sample.tid, thread, record->time_ns));
}

struct mmap2_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t address, size_b, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t build_id_b, reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char path[];
};
_Static_assert(offsetof(struct mmap2_record, path) == 72, "PERF_RECORD_MMAP2");

static void on_mmap(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	const struct mmap2_record *mmap2 = (const void *)record->header;
	const char *path = text_at(record->header, offsetof(struct mmap2_record, path));
	if (!path || !(mmap2->prot & PROT_EXEC) || mmap2->size_b > UINT64_MAX - mmap2->address)
		return;
	struct sonde_image_key key = {.path = path, .start = mmap2->address};
	if (mmap2->head.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		key.build_id = mmap2->build_id;
		key.build_id_b = mmap2->build_id_b;
	} else {
		key.device = makedev(mmap2->major, mmap2->minor);
		key.inode = mmap2->inode;
	}
	struct sonde_mapping mapping = {mmap2->address, mmap2->address + mmap2->size_b, mmap2->offset,
					sonde_images_get(run->images, &key)};
	if (mapping.image)
		sonde_spaces_map(run->spaces, (pid_t)mmap2->pid, &mapping, record->time_ns);
}

/* FORK and EXIT: pid, parent's pid, tid, parent's tid. */
static int has_task(const struct perf_event_header *head)
{
	return body_b(head) >= sizeof *head + 16;
}

/* Writes the CPU time of ended threads that was kept back until their program has a stack. */
void sonde_cpu_write_waiting(struct sonde_source_run *run, uint64_t time_ns, int final)
{
	struct sonde_new_thread_time time;
	uint32_t stack;
	while (sonde_newborns_next(run->newborns, final, &time, &stack)) {
		if (stack)
			write_time(run, time_ns, &time, stack, SONDE_STACK_BORROWED);
		else
			sonde_cpu_write_unsampled(run, time_ns, time.thread, time.cpu_ns);
	}
}

/* Writes the time that a thread's samples do not cover, with one of its stacks. A thread without a stack borrows one
 * from another thread of its program, or its time is kept back until there is one. */
static void write_left_out(struct sonde_source_run *run, const struct sonde_perf_record *record, pid_t pid, pid_t tid,
			   const struct sonde_thread_total *total)
{
	uint64_t program = sonde_spaces_program(run->spaces, pid);
	uint32_t thread = sonde_recorder_thread(run->recorder, pid, tid, record->time_ns);
	struct sonde_new_thread_time time = {thread, total->left_ns};
	sonde_cpu_write_unsampled(run, record->time_ns, thread, total->lost_ns);
	sonde_cpu_write_kernel(run, record->time_ns, thread, total->kernel_ns);
	if (!total->samples)
		sonde_newborns_missed(run->newborns);
	if (total->stack && total->cpu_ns < SHORT_PERIODS * run->weight_ns) {
		sonde_newborns_lend(run->newborns, program, total->stack);
		sonde_cpu_write_waiting(run, record->time_ns, 0);
	}
	if (!total->left_ns)
		return;
	uint32_t borrowed = total->stack ? 0 : sonde_newborns_borrow(run->newborns, program);
	if (total->stack)
		write_time(run, record->time_ns, &time, total->stack, total->status | SONDE_SAMPLE_EXTRA);
	else if (borrowed)
		write_time(run, record->time_ns, &time, borrowed, SONDE_STACK_BORROWED);
	else if (sonde_newborns_wait(run->newborns, program, &time) < 0)
		sonde_cpu_write_unsampled(run, record->time_ns, thread, total->left_ns);
}

/* Detects a program that the kernel does not let us sample. At the exec of a program with more privileges than the
 * recorder, the kernel removes all events and reports the end of the process before anything is mapped. */
static void look_for_refusal(struct sonde_source_run *run, pid_t pid)
{
	const char *name = sonde_spaces_unmapped(run->spaces, pid);
	if (name && !run->refused++)
		snprintf(run->refused_name, sizeof run->refused_name, "%s", name);
}

static void on_exit_record(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	const uint32_t *ids = (const uint32_t *)(record->header + 1);
	if (!has_task(record->header))
		return;
	pid_t pid = (pid_t)ids[0], tid = (pid_t)ids[2];
	struct sonde_thread_total total = sonde_thread_clocks_end(run->clocks, tid, record->time_ns);
	write_left_out(run, record, pid, tid, &total);
	look_for_refusal(run, pid);
	sonde_spaces_exit(run->spaces, pid);
	sonde_recorder_exit(run->recorder, pid, tid, total.cpu_ns, record->time_ns);
	sonde_cpu_switches_forget(run, tid);
}

/* Handles an exec: CPU time before it is written for the old program. */
static void on_exec(struct sonde_source_run *run, const struct sonde_perf_record *record, const char *name)
{
	const uint32_t *ids = (const uint32_t *)(record->header + 1);
	pid_t pid = (pid_t)ids[0], tid = (pid_t)ids[1];
	if (run->events.shape.kernel) {
		struct sonde_thread_total total = sonde_thread_clocks_total(run->clocks, tid, record->time_ns);
		write_left_out(run, record, pid, tid, &total);
	}
	run->has_begun = 1;
	sonde_cpu_switches_forget(run, tid);
	sonde_spaces_exec(run->spaces, pid, name);
	if (run->events.shape.switches)
		sonde_thread_clocks_exec(run->clocks, tid, record->cpu, record->time_ns);
}

static void on_comm(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	const uint32_t *ids = (const uint32_t *)(record->header + 1);
	const char *name = text_at(record->header, sizeof *record->header + 8);
	int exec = (record->header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
	if (!name)
		return;
	if (exec)
		on_exec(run, record, name);
	sonde_recorder_comm(run->recorder, (pid_t)ids[0], (pid_t)ids[1], name, exec, record->time_ns);
}

static void on_fork(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	const uint32_t *ids = (const uint32_t *)(record->header + 1);
	if (!has_task(record->header))
		return;
	if (ids[0] != ids[1]) {
		sonde_newborns_forked(run->newborns, (pid_t)ids[3]);
		sonde_thread_clocks_forked(run->clocks, (pid_t)ids[3]);
	}
	sonde_cpu_switches_born(run, (pid_t)ids[2],
				sonde_recorder_known(run->recorder, (pid_t)ids[1], (pid_t)ids[3], record->time_ns),
				record->time_ns);
	sonde_thread_clocks_start(run->clocks, (pid_t)ids[2], 0, record->time_ns);
	sonde_spaces_fork(run->spaces, (pid_t)ids[1], (pid_t)ids[0], record->time_ns);
	sonde_recorder_fork(run->recorder, (pid_t)ids[1], (pid_t)ids[0], (pid_t)ids[2], record->time_ns);
}

/* Reads the ids at the end of a record. */
static void trailing_ids(const struct perf_event_header *head, pid_t *pid, pid_t *tid)
{
	const uint32_t *ids = (const uint32_t *)((const char *)head + body_b(head));
	*pid = (pid_t)ids[0];
	*tid = (pid_t)ids[1];
}

static void on_switch(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	pid_t pid, tid;
	uint16_t misc = record->header->misc;
	enum sonde_switch_kind kind = SONDE_SWITCH_IN;
	trailing_ids(record->header, &pid, &tid);
	if (pid <= 0 || tid <= 0)
		return;
	if (misc & PERF_RECORD_MISC_SWITCH_OUT) {
		sonde_thread_clocks_out(run->clocks, tid, record->cpu, record->time_ns);
		kind =
		    misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? SONDE_SWITCH_OUT_PREEMPTED : SONDE_SWITCH_OUT_BLOCKED;
	} else {
		sonde_thread_clocks_in(run->clocks, tid, record->cpu, record->time_ns);
	}
	uint32_t thread = sonde_recorder_thread(run->recorder, pid, tid, record->time_ns);
	struct sonde_recorder_switch event = {
	    .time_ns = record->time_ns, .thread = thread, .kind = kind, .cpu = record->cpu};
	if (kind == SONDE_SWITCH_IN)
		sonde_cpu_switches_first(run, tid, &event);
	sonde_recorder_switch(run->recorder, &event);
	sonde_cpu_write_kernel(run, record->time_ns, thread,
			       sonde_thread_clocks_kernel(run->clocks, tid, thread, record->time_ns));
}

static uint64_t last_ns(const struct sonde_source_run *run, int cpu)
{
	return cpu >= 0 && (size_t)cpu < run->cpu_count ? run->last_ns[cpu] : 0;
}

static void on_lost(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	const uint64_t *words = (const uint64_t *)(record->header + 1); /* LOST: id, count; LOST_SAMPLES: count */
	size_t at = record->header->type == PERF_RECORD_LOST;
	if (body_b(record->header) < sizeof *record->header + (at + 1) * 8)
		return;
	run->lost += words[at];
	sonde_thread_clocks_lost(run->clocks, last_ns(run, record->cpu), record->time_ns);
	sonde_cpu_count_lost(run, "perf event buffer full", words[at], record->time_ns);
}

static void on_throttle(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	sonde_thread_clocks_lost(run->clocks, record->time_ns, record->time_ns);
	sonde_cpu_count_lost(run, "throttled by the kernel (kernel.perf_event_max_sample_rate)", 1, record->time_ns);
}

typedef void (*handler)(struct sonde_source_run *run, const struct sonde_perf_record *record);

static const handler handlers[PERF_RECORD_MAX] = {
    [PERF_RECORD_SAMPLE] = on_sample, [PERF_RECORD_MMAP2] = on_mmap,        [PERF_RECORD_COMM] = on_comm,
    [PERF_RECORD_FORK] = on_fork,     [PERF_RECORD_EXIT] = on_exit_record,  [PERF_RECORD_SWITCH] = on_switch,
    [PERF_RECORD_LOST] = on_lost,     [PERF_RECORD_LOST_SAMPLES] = on_lost, [PERF_RECORD_THROTTLE] = on_throttle,
};

void sonde_cpu_record(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	uint32_t type = record->header->type;
	if (type < PERF_RECORD_MAX && handlers[type])
		handlers[type](run, record);
	if ((size_t)record->cpu < run->cpu_count)
		run->last_ns[record->cpu] = record->time_ns;
}
