/* cpu.c: the cpu source: samples of every thread of a process tree, taken by the kernel, unwound here.
 *
 * perf events are opened on the launched child (held before its exec) or on every thread of a process, on each CPU, and
 * inherited by what these create (perf_event.h says which events). The recorder's thread drains: all records of all
 * CPUs pass in time order, so that a sample meets the mappings of its moment. Records beyond the horizon wait for the
 * next drain. Before something slow (a table to compile) what is pending is copied out of the kernel's buffers.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/priority.h"
#include "source/cpu_account.h"
#include "source/newborn.h"
#include "source/perf_attach.h"
#include "source/perf_event.h"
#include "source/perf_ring.h"
#include "source/source.h"
#include "source/thread_clock.h"
#include "source/unwinder.h"
#include "util/buf.h"
#include "util/error.h"

#define STACK_LEAST_B 16384u /* unless the user wants less */
#define STACK_MAX_B 65528u
#define RING_LEAST_B (64u << 10)
#define RING_STACKS 8u /* stack copies that a buffer must hold at least */
/* Where the recorder goes before busy threads, and where it waits for its turn among them: the buffer of a CPU, the
 * stack copies that it should hold, and the part of it that is full when the recorder is woken. The rest of 256 copies
 * is a quarter of a second in which it may be late. */
#define FRONT_RING_B (8u << 20)
#define QUEUE_RING_B (4u << 20)
#define RING_COPIES 256u
#define FRONT_WAKE 3u
#define QUEUE_WAKE 4u
#define SHORT_PERIODS 10u /* CPU time of a thread that may stand for others of its program */
#define DETAIL_MAX_B 4096u
#define METHOD "perf events (cpu-clock), user stacks from call-frame tables"

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_perf_rings *rings;
	struct sonde_perf_events events;
	struct sonde_images *images;
	struct sonde_spaces *spaces;
	struct sonde_unwinder *unwinder;
	struct sonde_thread_clocks *clocks;
	struct sonde_newborns *newborns;
	uint64_t weight_ns; /* of each sample */
	pid_t pid;
	int started;

	struct sonde_perf_sample *current; /* being unwound */
	uint8_t copy[STACK_MAX_B + 8];     /* its stack, when the buffers had to be emptied meanwhile */

	struct sonde_cpu_account account;
	uint64_t written_ns, kernel_ns; /* in the recording; the part of it that is measured time in the kernel */
	uint64_t refused;      /* programs that took their events away: they have more rights than the recorder */
	char refused_name[32]; /* the first of them */

	uint64_t samples, foreign; /* foreign: of 32-bit code */
	uint64_t lost;
	uint64_t *last_ns; /* by CPU: of the last record; the next one may say that some are missing between */
	size_t cpu_count;
};

/* --- records of the kernel ------------------------------------------------------------------------------- */

/* Bytes of `type` up to the TID, TIME that end each record. */
static size_t body_b(const struct perf_event_header *head)
{
	return head->size - 16u;
}

/* The text that begins at `offset` of a record, cut at its end; it must be NUL-terminated. */
static const char *text_at(const struct perf_event_header *head, size_t offset)
{
	size_t end = body_b(head);
	const char *text = (const char *)head + offset;
	return offset < end && memchr(text, '\0', end - offset) ? text : NULL;
}

static void count_lost(struct sonde_source_run *run, const char *cause, uint64_t count, uint64_t time_ns)
{
	struct sonde_recorder_loss loss = {.source = "cpu", .cause = cause, .count = count, .time_ns = time_ns};
	sonde_recorder_lost(run->recorder, &loss);
}

static void write_time(struct sonde_source_run *run, uint64_t time_ns, const struct sonde_newborn_time *time,
		       uint32_t stack, uint8_t status)
{
	if (!time->cpu_ns)
		return;
	run->written_ns += time->cpu_ns;
	sonde_recorder_sample(run->recorder, time_ns, time->thread, stack, time->cpu_ns, status);
}

/* Time that stands for no stack. */
static void write_unsampled(struct sonde_source_run *run, uint64_t time_ns, uint32_t thread, uint64_t cpu_ns)
{
	write_time(run, time_ns, &(struct sonde_newborn_time){thread, cpu_ns}, 0, SONDE_STACK_NOT_SAMPLED);
}

/* Time in the kernel where it may not be sampled. */
static void write_kernel(struct sonde_source_run *run, uint64_t time_ns, uint32_t thread, uint64_t cpu_ns)
{
	run->kernel_ns += cpu_ns;
	write_time(run, time_ns, &(struct sonde_newborn_time){thread, cpu_ns}, 0,
		   SONDE_STACK_MEASURED | SONDE_SAMPLE_KERNEL);
}

static void on_sample(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	struct sonde_perf_sample sample;
	uint32_t stack;
	if (sonde_perf_events_decode(&run->events.shape, record, &sample) < 0) {
		count_lost(run, "malformed perf record", 1, record->time_ns);
		return;
	}
	if (sample.pid <= 0 || sample.tid <= 0) /* already reaped: nobody's time */
		return;
	uint64_t extra_ns = 0;
	if (sample.extra && run->events.shape.switches)
		extra_ns = sonde_thread_clocks_extra(run->clocks, sample.tid, record->cpu, record->time_ns);
	if (sample.extra && !extra_ns && !sonde_thread_clocks_lacks(run->clocks, sample.tid))
		return;
	run->current = &sample;
	enum sonde_stack_status status = sonde_unwinder_run(run->unwinder, &sample.unwind, &stack);
	run->current = NULL;
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
	write_unsampled(run, record->time_ns, thread, share.lost_ns);
	write_time(run, record->time_ns, &(struct sonde_newborn_time){thread, share.weight_ns}, stack,
		   (uint8_t)(flagged | (sample.extra ? SONDE_SAMPLE_EXTRA : 0)));
	write_kernel(run, record->time_ns, thread,
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

/* Threads that waited for a stack of their program. */
static void write_waiting(struct sonde_source_run *run, uint64_t time_ns, int final)
{
	struct sonde_newborn_time time;
	uint32_t stack;
	while (sonde_newborns_next(run->newborns, final, &time, &stack)) {
		if (stack)
			write_time(run, time_ns, &time, stack, SONDE_STACK_BORROWED);
		else
			write_unsampled(run, time_ns, time.thread, time.cpu_ns);
	}
}

/* Writes what the samples of a thread left out, with one of its stacks; a thread without any borrows one of another
 * thread of its program, or waits until there is one. */
static void write_left_out(struct sonde_source_run *run, const struct sonde_perf_record *record, pid_t pid, pid_t tid,
			   const struct sonde_thread_total *total)
{
	uint64_t program = sonde_spaces_program(run->spaces, pid);
	uint32_t thread = sonde_recorder_thread(run->recorder, pid, tid, record->time_ns);
	struct sonde_newborn_time time = {thread, total->left_ns};
	write_unsampled(run, record->time_ns, thread, total->lost_ns);
	write_kernel(run, record->time_ns, thread, total->kernel_ns);
	if (!total->samples)
		sonde_newborns_missed(run->newborns);
	if (total->stack && total->cpu_ns < SHORT_PERIODS * run->weight_ns) {
		sonde_newborns_lend(run->newborns, program, total->stack);
		write_waiting(run, record->time_ns, 0);
	}
	if (!total->left_ns)
		return;
	uint32_t borrowed = total->stack ? 0 : sonde_newborns_borrow(run->newborns, program);
	if (total->stack)
		write_time(run, record->time_ns, &time, total->stack, total->status | SONDE_SAMPLE_EXTRA);
	else if (borrowed)
		write_time(run, record->time_ns, &time, borrowed, SONDE_STACK_BORROWED);
	else if (sonde_newborns_wait(run->newborns, program, &time) < 0)
		write_unsampled(run, record->time_ns, thread, total->left_ns);
}

/* At the exec of a program that has more rights than the recorder the kernel takes all events away and says that the
 * process ended, before anything is mapped. */
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
}

/* What ran before is the old program's. */
static void on_exec(struct sonde_source_run *run, const struct sonde_perf_record *record, const char *name)
{
	const uint32_t *ids = (const uint32_t *)(record->header + 1);
	pid_t pid = (pid_t)ids[0], tid = (pid_t)ids[1];
	if (run->events.shape.kernel) {
		struct sonde_thread_total total = sonde_thread_clocks_total(run->clocks, tid, record->time_ns);
		write_left_out(run, record, pid, tid, &total);
	}
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
	sonde_thread_clocks_start(run->clocks, (pid_t)ids[2], 0, record->time_ns);
	sonde_spaces_fork(run->spaces, (pid_t)ids[1], (pid_t)ids[0], record->time_ns);
	sonde_recorder_fork(run->recorder, (pid_t)ids[1], (pid_t)ids[0], (pid_t)ids[2], record->time_ns);
}

/* The ids that end a record. */
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
	sonde_recorder_switch(run->recorder, record->time_ns, thread, kind);
	write_kernel(run, record->time_ns, thread,
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
	count_lost(run, "perf event buffer full", words[at], record->time_ns);
}

static void on_throttle(struct sonde_source_run *run, const struct sonde_perf_record *record)
{
	sonde_thread_clocks_lost(run->clocks, record->time_ns, record->time_ns);
	count_lost(run, "throttled by the kernel (kernel.perf_event_max_sample_rate)", 1, record->time_ns);
}

typedef void (*handler)(struct sonde_source_run *run, const struct sonde_perf_record *record);

static const handler handlers[PERF_RECORD_MAX] = {
    [PERF_RECORD_SAMPLE] = on_sample, [PERF_RECORD_MMAP2] = on_mmap,        [PERF_RECORD_COMM] = on_comm,
    [PERF_RECORD_FORK] = on_fork,     [PERF_RECORD_EXIT] = on_exit_record,  [PERF_RECORD_SWITCH] = on_switch,
    [PERF_RECORD_LOST] = on_lost,     [PERF_RECORD_LOST_SAMPLES] = on_lost, [PERF_RECORD_THROTTLE] = on_throttle,
};

/* --- the source ------------------------------------------------------------------------------------------ */

static int cpu_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (options && options->no_perf) {
		snprintf(why, why_b, "perf events are switched off by --no-perf");
		return -EOPNOTSUPP;
	}
	int result = sonde_perf_events_probe();
	if (result < 0)
		snprintf(why, why_b, "%s", sonde_error_text());
	return result;
}

/* Called before an image is opened: saves the stack that is being walked and makes room in the kernel's buffers; all of
 * it before a table is compiled. */
static void before_slow(void *context, int compiles)
{
	struct sonde_source_run *run = context;
	struct sonde_unwind_sample *sample = run->current ? &run->current->unwind : NULL;
	if (sample && sample->stack && sample->stack != run->copy) {
		memcpy(run->copy, sample->stack, sample->stack_b);
		sample->stack = run->copy;
	}
	if (compiles)
		sonde_perf_rings_spill(run->rings);
	else
		sonde_perf_rings_relieve(run->rings);
}

static void free_run(struct sonde_source_run *run)
{
	sonde_newborns_free(run->newborns);
	sonde_perf_events_close(&run->events);
	sonde_perf_rings_close(run->rings);
	sonde_unwinder_free(run->unwinder);
	sonde_spaces_free(run->spaces);
	sonde_images_free(run->images);
	sonde_thread_clocks_free(run->clocks);
	free(run->last_ns);
	free(run);
}

/* Whether the recorder will go before busy threads: tried out. */
static int goes_first(void)
{
	struct sonde_priority before;
	sonde_priority_raise(&before);
	int nice = getpriority(PRIO_PROCESS, 0);
	sonde_priority_restore(&before);
	return nice < before.nice;
}

/* A record takes the whole size of a copy in the buffer, however shallow the stack is. */
static uint32_t stack_size(const struct sonde_record_options *options, size_t ring_b)
{
	size_t stack_b = options->stack_b, most_b = ring_b / RING_STACKS;
	if (!stack_b) {
		stack_b = ring_b / RING_COPIES;
		stack_b = stack_b < STACK_LEAST_B ? STACK_LEAST_B : stack_b;
	}
	most_b = most_b < STACK_MAX_B ? most_b : STACK_MAX_B;
	return (uint32_t)(stack_b < most_b ? stack_b : most_b) & ~7u;
}

static int open_rings(struct sonde_source_run *run, const struct sonde_record_options *options)
{
	int first = goes_first();
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN), want_b = first ? FRONT_RING_B : QUEUE_RING_B;
	run->cpu_count = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	run->last_ns = calloc(run->cpu_count, sizeof *run->last_ns);
	if (!run->last_ns)
		return sonde_error(ENOMEM, "out of memory for the cpu source");
	if (options->buffer_b && options->buffer_b / cpus < want_b)
		want_b = options->buffer_b / cpus;
	int result = sonde_perf_rings_open(&run->rings, want_b, RING_LEAST_B, first ? FRONT_WAKE : QUEUE_WAKE);
	if (result < 0)
		return result;
	run->events.shape.stack_b = stack_size(options, sonde_perf_rings_size_b(run->rings));
	return 0;
}

static int cpu_open(struct sonde_source_run **out, struct sonde_recorder *recorder)
{
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	struct sonde_source_run *run = calloc(1, sizeof *run);
	if (!run)
		return sonde_error(ENOMEM, "out of memory for the cpu source");
	uint64_t rate_hz = options->rate_hz ? options->rate_hz : 1000;
	run->recorder = recorder;
	run->weight_ns = (1000000000u + rate_hz / 2) / rate_hz;
	run->events.shape = (struct sonde_perf_shape){.rate_hz = rate_hz, .kernel = 1, .switches = 1, .build_id = 1};
	int result = sonde_images_new(&run->images, recorder, before_slow, run);
	result = result ? result : sonde_spaces_new(&run->spaces, run->images);
	result = result ? result : sonde_unwinder_new(&run->unwinder, recorder, run->images, run->spaces);
	struct sonde_thread_sampling sampling = {.period_ns = {sonde_perf_shape_period_ns(&run->events.shape, 0),
							       sonde_perf_shape_period_ns(&run->events.shape, 1)},
						 .weight_ns = run->weight_ns};
	result = result ? result : sonde_thread_clocks_new(&run->clocks, &sampling);
	result = result ? result : open_rings(run, options);
	result = result ? result : sonde_newborns_new(&run->newborns, run->rings);
	if (result < 0) {
		free_run(run);
		return result;
	}
	*out = run;
	return 0;
}

static int attach(struct sonde_source_run *run, pid_t pid)
{
	pid_t *tids;
	size_t count;
	int result = sonde_perf_attach(&run->events, run->rings, pid, &tids, &count);
	if (result < 0)
		return result;
	uint64_t now_ns = sonde_clock_now_ns();
	for (size_t i = 0; i < count; i++) {
		sonde_recorder_thread(run->recorder, pid, tids[i], now_ns);
		sonde_thread_clocks_start(run->clocks, tids[i], sonde_thread_clocks_read(tids[i]),
					  sonde_clock_now_ns());
	}
	struct sonde_space *space = sonde_spaces_get(run->spaces, pid, now_ns);
	if (space && count)
		space->threads = (uint32_t)count;
	free(tids);
	return 0;
}

static int cpu_start(struct sonde_source_run *run, pid_t pid)
{
	run->pid = pid;
	uint64_t now_ns = sonde_clock_now_ns();
	sonde_recorder_process(run->recorder, pid, now_ns);
	sonde_thread_clocks_start(run->clocks, pid, sonde_thread_clocks_read(pid), now_ns);
	sonde_cpu_account_begin(&run->account, pid, sonde_recorder_options(run->recorder)->attach != 0);
	int result = sonde_recorder_options(run->recorder)->attach
			 ? attach(run, pid)
			 : sonde_perf_events_follow(&run->events, run->rings, pid, 1);
	run->started = result == 0;
	return result;
}

/* What of all CPU time the command and the children that it waited for spend in user code. */
static void look_at_user_share(struct sonde_source_run *run)
{
	struct sonde_cpu_times times;
	if (sonde_cpu_account_read(run->pid, &times) < 0)
		return;
	uint64_t user_ns = times.user_ns + times.child_user_ns;
	uint64_t all_ns = user_ns + times.system_ns + times.child_system_ns;
	if (all_ns)
		sonde_thread_clocks_user_only(run->clocks, (double)user_ns / (double)all_ns);
}

/* Of threads that live. */
static void write_kernel_rests(struct sonde_source_run *run)
{
	uint64_t now_ns = sonde_clock_now_ns(), kernel_ns;
	uint32_t at = 0, thread;
	while (sonde_thread_clocks_next_kernel(run->clocks, &at, now_ns, &thread, &kernel_ns))
		write_kernel(run, now_ns, thread, kernel_ns);
}

static int cpu_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	struct sonde_perf_record record;
	if (final)
		for (size_t i = 0; i < run->events.count; i++)
			ioctl(run->events.fds[i], PERF_EVENT_IOC_DISABLE, 0);
	if (!run->events.shape.kernel)
		look_at_user_share(run);
	sonde_unwinder_begin(run->unwinder);
	sonde_perf_rings_update(run->rings);
	while (sonde_perf_rings_next(run->rings, horizon_ns, &record)) {
		uint32_t type = record.header->type;
		if (type < PERF_RECORD_MAX && handlers[type])
			handlers[type](run, &record);
		if ((size_t)record.cpu < run->cpu_count)
			run->last_ns[record.cpu] = record.time_ns;
	}
	sonde_perf_rings_relieve(run->rings);
	sonde_thread_clocks_settle(run->clocks);
	if (!final)
		sonde_newborns_adapt(run->newborns, &run->events.shape);
	else {
		write_waiting(run, sonde_clock_now_ns(), 1);
		write_kernel_rests(run);
	}
	return sonde_recorder_error(run->recorder);
}

static size_t cpu_poll_fds(struct sonde_source_run *run, int *fds, size_t max)
{
	return sonde_perf_rings_poll_fds(run->rings, fds, max);
}

/* CPU time of the command that nothing was written for: time in the kernel where that may not be sampled, as far as it
 * was system time, else not sampled. How much is not. */
static uint64_t write_missing(struct sonde_source_run *run, const struct sonde_cpu_account *since)
{
	uint64_t missing_ns = sonde_cpu_account_missing(since, run->written_ns), now_ns = sonde_clock_now_ns();
	/* Nobody knows when it was: no part of what a flight recorder held. */
	if (sonde_recorder_options(run->recorder)->keep_ns)
		return missing_ns;
	if (!run->events.shape.kernel && missing_ns && since->system_ns > run->kernel_ns) {
		uint64_t kernel_ns = since->system_ns - run->kernel_ns;
		kernel_ns = kernel_ns < missing_ns ? kernel_ns : missing_ns;
		write_kernel(run, now_ns, 0, kernel_ns);
		missing_ns = sonde_cpu_account_missing(since, run->written_ns);
	}
	write_unsampled(run, now_ns, 0, missing_ns);
	return missing_ns;
}

static void say_why_missing(const struct sonde_source_run *run, struct sonde_buf *out)
{
	if (run->refused == 1)
		sonde_buf_printf(out,
				 ": \"%s\" has more rights than the recorder (setuid), so the kernel takes its "
				 "events away",
				 run->refused_name);
	else if (run->refused)
		sonde_buf_printf(out,
				 ": %llu programs, \"%s\" first, have more rights than the recorder (setuid), so the "
				 "kernel takes their events away",
				 (unsigned long long)run->refused, run->refused_name);
	else if (!run->lost)
		sonde_buf_text(out, ": around context switches and at the end of processes no event counts");
}

/* What could not be seen, and how it could. */
static void write_detail(struct sonde_source_run *run, struct sonde_buf *out)
{
	struct sonde_cpu_account since = sonde_cpu_account_since(&run->account);
	uint64_t missing_ns = write_missing(run, &since);
	char text[96];
	if (!run->events.shape.kernel)
		sonde_buf_text(out, "time in the kernel is not sampled, but measured: sudo sysctl "
				    "kernel.perf_event_paranoid=1, or CAP_PERFMON, would show kernel functions");
	if (!run->events.shape.switches)
		sonde_buf_printf(out, "%scontext switches are not reported by this kernel", out->len_b ? "; " : "");
	if (run->foreign)
		sonde_buf_printf(out, "%s%llu samples of 32-bit code have no callers", out->len_b ? "; " : "",
				 (unsigned long long)run->foreign);
	if (!missing_ns)
		return;
	sonde_cpu_account_say(&since, missing_ns, text, sizeof text);
	sonde_buf_printf(out, "%s%s", out->len_b ? "; " : "", text);
	say_why_missing(run, out);
}

static void say_state(struct sonde_source_run *run)
{
	struct sonde_buf detail;
	double rate_hz = (double)run->events.shape.rate_hz;
	sonde_buf_init(&detail, DETAIL_MAX_B);
	write_detail(run, &detail);
	sonde_buf_append(&detail, "", 1);
	struct sonde_recorder_state state = {
	    .state = detail.len_b > 1 ? SONDE_SOURCE_LIMITED : SONDE_SOURCE_ON,
	    .method = METHOD,
	    .detail = detail.len_b > 1 && !sonde_buf_error(&detail) ? (const char *)detail.data : NULL,
	    .rate_hz = rate_hz,
	    .effective_hz = run->lost ? rate_hz * (double)run->samples / (double)(run->samples + run->lost) : rate_hz,
	};
	sonde_recorder_source(run->recorder, "cpu", &state);
	sonde_buf_fini(&detail);
}

static void cpu_stop(struct sonde_source_run *run)
{
	if (run->started) {
		uint64_t damaged = sonde_perf_rings_damaged(run->rings);
		say_state(run);
		if (damaged)
			count_lost(run, "perf event buffer damaged", damaged, sonde_clock_now_ns());
	}
	free_run(run);
}

const struct sonde_source sonde_source_cpu = {
    .name = "cpu",
    .title = "CPU time of every thread, by stacks",
    .cost = "at 1000 samples a CPU second 1.5 % of the program's CPU time, and for the recorder 0.6 % and 10 ms "
	    "(record -F)",
    .probe = cpu_probe,
    .open = cpu_open,
    .start = cpu_start,
    .drain = cpu_drain,
    .poll_fds = cpu_poll_fds,
    .stop = cpu_stop,
};
