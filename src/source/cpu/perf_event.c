/* perf_event.c: opens and decodes the perf events of the cpu source.
 *
 * Restrictions of a kernel or user are found by trying: kernel samples need perf_event_paranoid ≤ 1 or CAP_PERFMON, and
 * build-ids need Linux 5.12. Once an event has been opened with a shape (struct sonde_perf_shape), all later events use
 * that shape.
 */
#include "source/cpu/perf_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unwind/machine.h"

/* The index of each register in a sample, by its DWARF number. */
#if defined(__x86_64__)
#include <asm/perf_regs.h>
#define REGS_MASK (((1u << (PERF_REG_X86_IP + 1)) - 1) | 0xffu << PERF_REG_X86_R8)
static const uint8_t places[SONDE_UNWIND_REGISTERS] = {0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};
#elif defined(__aarch64__)
#define REGS_MASK ((UINT64_C(1) << SONDE_UNWIND_REGISTERS) - 1)
static const uint8_t places[SONDE_UNWIND_REGISTERS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
						       11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
						       22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#else
#error "sonde: the registers of this architecture are unknown"
#endif

#include "util/array.h"
#include "util/error.h"
#include "util/file.h"

#define PHI 1.6180339887498948482
#define SECOND_NS 1e9
#define EXTRA_LESS_B 8 /* the stack copies of extra events are this much shorter */

static long open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

uint64_t sonde_perf_shape_period_ns(const struct sonde_perf_shape *shape, int second)
{
	return (uint64_t)(SECOND_NS / (double)shape->rate_hz * (second ? PHI * PHI : PHI));
}

/* The attributes of the first (0) or second (1) event of a task. */
static struct perf_event_attr attr_of(const struct sonde_perf_shape *shape, int second)
{
	struct perf_event_attr attr = {
	    .size = sizeof attr,
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .sample_period = sonde_perf_shape_period_ns(shape, second),
	    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	    .sample_regs_user = REGS_MASK,
	    .sample_stack_user = shape->stack_b,
	    .disabled = 1,
	    .inherit = 1,
	    .exclude_kernel = !shape->kernel,
	    .exclude_hv = 1,
	    .exclude_callchain_user = 1,
	    .sample_id_all = 1,
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};
	if (shape->kernel)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (!second) {
		attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
		attr.build_id = shape->build_id != 0;
		attr.context_switch = shape->switches && !shape->by_bpf;
	}
	return attr;
}

/* kernel.perf_event_paranoid, or −100 if it cannot be read. */
static int paranoid(void)
{
	char text[16];
	return sonde_file_read(text, sizeof text, "/proc/sys/kernel/perf_event_paranoid") ? atoi(text) : -100;
}

/* Explains why events on our own process are refused. */
static int explain(int code)
{
	int level = paranoid();
	if (code == ENOSYS)
		return sonde_error(code, "this kernel has no perf events, or a seccomp filter hides them "
					 "(perf_event_open: ENOSYS)");
	if ((code == EPERM || code == EACCES) && level > 2)
		return sonde_error(code,
				   "perf events are forbidden (kernel.perf_event_paranoid = %d): sudo sysctl "
				   "kernel.perf_event_paranoid=2, or give sonde CAP_PERFMON",
				   level);
	if (code == EPERM || code == EACCES)
		return sonde_error(
		    code,
		    "perf events are forbidden (perf_event_open: %s) although kernel.perf_event_paranoid = %d: a "
		    "seccomp filter (as in containers) or security module denies them; in a container try "
		    "--cap-add=PERFMON with a seccomp profile that allows perf_event_open",
		    code == EPERM ? "EPERM" : "EACCES", level);
	return sonde_error(code, "perf events cannot be opened (perf_event_open: %s)", strerror(code));
}

int sonde_perf_events_probe(void)
{
	struct sonde_perf_shape shape = {.rate_hz = 1000, .stack_b = 8192};
	struct perf_event_attr attr = attr_of(&shape, 0);
	long fd = open_event(&attr, 0, -1);
	if (fd == -EINVAL || fd == -ENOENT)
		return sonde_error((int)-fd, "this kernel cannot sample user stacks (perf_event_open: %s)",
				   strerror((int)-fd));
	if (fd < 0)
		return explain((int)-fd);
	close((int)fd);
	return 0;
}

/* Removes one feature from the shape after `error`; returns 0 if there is nothing left to remove. */
static int concede(struct sonde_perf_shape *shape, int error)
{
	if ((error == -EACCES || error == -EPERM) && shape->kernel)
		shape->kernel = 0;
	else if ((error == -EINVAL || error == -E2BIG) && shape->build_id)
		shape->build_id = 0;
	else if (error == -EINVAL && shape->switches)
		shape->switches = 0;
	else
		return 0;
	return 1;
}

static int raise_fd_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

static int reserve(struct sonde_perf_events *events)
{
	return SONDE_ARRAY_RESERVE(events->fds, events->cap, events->count + 1)
		   ? sonde_error(ENOMEM, "out of memory for %zu perf events", events->count + 1)
		   : 0;
}

/* Where to open one event. */
struct place {
	pid_t tid;
	int second, from_exec;
	uint64_t period_ns; /* 0 = the period of the shape */
	size_t ring;
};

static int explain_follow(int error, const struct place *place)
{
	if (error == -ESRCH)
		return sonde_error(ESRCH, "thread %d has ended", place->tid);
	if (error == -EMFILE)
		return sonde_error(EMFILE, "too many open files for the perf events of every thread: raise ulimit -n");
	if ((error == -EACCES || error == -EPERM) && !place->from_exec && sonde_perf_events_probe() == 0)
		return sonde_error(
		    -error,
		    "process %d may not be profiled by this user: it belongs to another user, or has more privileges",
		    place->tid);
	return explain(-error);
}

static int open_one(struct sonde_perf_events *events, struct sonde_perf_rings *rings, const struct place *place)
{
	int result = reserve(events);
	if (result < 0)
		return result;
	long fd;
	for (;;) {
		struct perf_event_attr attr = attr_of(&events->shape, place->second);
		attr.enable_on_exec = place->from_exec != 0;
		if (place->period_ns) {
			attr.sample_period = place->period_ns;
			attr.sample_stack_user -= EXTRA_LESS_B;
		}
		fd = open_event(&attr, place->tid, sonde_perf_rings_cpu(rings, place->ring));
		if (fd >= 0 || (fd == -EMFILE && !raise_fd_limit()) ||
		    (fd != -EMFILE && (events->settled || !concede(&events->shape, (int)fd))))
			break;
	}
	if (fd == -ENODEV) /* the CPU went offline meanwhile */
		return 0;
	if (fd < 0)
		return explain_follow((int)fd, place);
	events->settled = 1;
	events->fds[events->count++] = (int)fd;
	result = sonde_perf_rings_add(rings, place->ring, (int)fd);
	if (!result && !place->from_exec && ioctl((int)fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return sonde_error(errno, "a perf event cannot be switched on: %s", strerror(errno));
	return result;
}

int sonde_perf_events_follow(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t tid, int from_exec)
{
	struct place place = {.tid = tid, .from_exec = from_exec};
	for (place.ring = 0; place.ring < sonde_perf_rings_count(rings); place.ring++)
		for (place.second = 0; place.second < 2; place.second++) {
			int result = open_one(events, rings, &place);
			if (result < 0)
				return result;
		}
	return 0;
}

void sonde_perf_events_extra(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t tid,
			     uint64_t period_ns)
{
	struct place place = {.tid = tid, .second = 1, .period_ns = period_ns};
	for (place.ring = 0; place.ring < sonde_perf_rings_count(rings); place.ring++)
		if (open_one(events, rings, &place) < 0)
			return;
}

void sonde_perf_events_close(struct sonde_perf_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		close(events->fds[i]);
	free(events->fds);
	*events = (struct sonde_perf_events){0};
}

/* --- decoding -------------------------------------------------------------------------------------------- */

/* Advances *at by `count` words and returns them; NULL if the record is too short. */
static const uint64_t *take(const uint64_t **at, const uint64_t *end, uint64_t count)
{
	const uint64_t *words = *at;
	if (count > (uint64_t)(end - words))
		return NULL;
	*at = words + count;
	return words;
}

static int is_marker(uint64_t address)
{
	return address >= PERF_CONTEXT_MAX;
}

/* Kernel frames: a marker, then addresses. */
static int take_chain(const uint64_t **at, const uint64_t *end, struct sonde_unwind_sample *out)
{
	const uint64_t *count = take(at, end, 1);
	const uint64_t *chain = count ? take(at, end, *count) : NULL;
	if (!chain)
		return -EBADMSG;
	size_t left = (size_t)*count;
	while (left && is_marker(*chain))
		chain++, left--;
	out->kernel = chain;
	while (out->kernel_count < left && !is_marker(chain[out->kernel_count]))
		out->kernel_count++;
	return 0;
}

static int take_regs(const uint64_t **at, const uint64_t *end, struct sonde_unwind_sample *out)
{
	const uint64_t *abi = take(at, end, 1);
	if (!abi)
		return -EBADMSG;
	if (*abi == PERF_SAMPLE_REGS_ABI_NONE)
		return 0;
	const uint64_t *regs = take(at, end, SONDE_UNWIND_REGISTERS);
	if (!regs)
		return -EBADMSG;
	out->has_user = 1;
	out->leaf_only = *abi == PERF_SAMPLE_REGS_ABI_32;
	for (size_t i = 0; i < SONDE_UNWIND_REGISTERS; i++)
		out->registers[i] = regs[places[i]];
	sonde_unwind_sample_registers(out);
	return 0;
}

static int take_stack(const uint64_t **at, const uint64_t *end, struct sonde_unwind_sample *out, uint64_t *room_b)
{
	const uint64_t *size_b = take(at, end, 1);
	if (!size_b || *size_b % 8)
		return -EBADMSG;
	*room_b = *size_b;
	if (!*size_b)
		return 0;
	const uint64_t *bytes = take(at, end, *size_b / 8);
	const uint64_t *copied_b = bytes ? take(at, end, 1) : NULL;
	if (!copied_b || *copied_b > *size_b)
		return -EBADMSG;
	out->stack = (const uint8_t *)bytes;
	out->stack_b = *copied_b;
	return 0;
}

int sonde_perf_events_decode(const struct sonde_perf_shape *shape, const struct sonde_perf_record *record,
			     struct sonde_perf_sample *out)
{
	const struct perf_event_header *head = record->header;
	const uint64_t *at = (const uint64_t *)(head + 1), *end = at + (head->size - sizeof *head) / 8;
	const uint64_t *ids = take(&at, end, 2); /* TID, TIME */
	if (!ids)
		return sonde_error(EBADMSG, "a perf sample of %u bytes is too short", head->size);
	*out = (struct sonde_perf_sample){
	    .pid = (pid_t)(ids[0] & UINT32_MAX),
	    .tid = (pid_t)(ids[0] >> 32),
	    .in_kernel = (head->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
	};
	out->unwind.pid = out->pid;
	out->unwind.time_ns = record->time_ns;
	uint64_t room_b = 0;
	if ((shape->kernel && take_chain(&at, end, &out->unwind) < 0) || take_regs(&at, end, &out->unwind) < 0 ||
	    take_stack(&at, end, &out->unwind, &room_b) < 0)
		return sonde_error(EBADMSG, "a perf sample of %u bytes is cut off", head->size);
	out->extra = room_b + EXTRA_LESS_B == shape->stack_b;
	return 0;
}
