/* sched_bpf.c: loads the BPF programs, selects the tasks to follow, reads the rings.
 *
 * The rings are one array map, mapped here: programs write without a lock, and do not wake the recorder. A BPF ring
 * buffer is not used, since it takes a lock that all CPUs share inside the scheduler. Followed tasks are marked by task
 * storage: marks in a table by CPU would be lost when threads migrate, and marks in a table by tid when a thread calls
 * exec.
 */
#include "source/sched/sched_bpf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/sched/kernel_btf.h"
#include "source/resource/proc_stat.h"
#include "util/error.h"

#define INIT_PID_NAMESPACE 0xeffffffcu /* linux/proc_ns.h */
#define LICENSE "Dual BSD/GPL"         /* of the programs: the kernel lets only GPL-compatible ones use its clock */
#define THREAD_PIDFD O_EXCL            /* PIDFD_THREAD, Linux 6.9 */
#define RECORDS_LEAST 1024u
#define PUBLISH_EVERY 1024u
#define NOTHING UINT64_MAX

/* The reader's view of a ring. */
struct view {
	struct sonde_sched_ring *ring;
	const struct sonde_sched_record *records;
	uint64_t head, tail;
	uint64_t lost, missed; /* the part of the ring's counts that was already returned to the caller */
};

struct sonde_sched_bpf {
	struct sonde_sched_target target;
	int types_fd;
	int programs[SONDE_SCHED_PROGRAMS], links[SONDE_SCHED_PROGRAMS]; /* −1 = none */
	uint32_t attach_types[SONDE_SCHED_PROGRAMS];
	uint8_t *memory;
	size_t ring_b, memory_b;
	struct view *views;
	size_t cpus;
	struct view *current; /* the ring with the earliest records, up to time others_ns */
	uint64_t others_ns;
};

static long bpf_call(int command, union bpf_attr *attr, size_t size_b)
{
	long result = syscall(SYS_bpf, command, attr, size_b);
	return result < 0 ? -errno : result;
}

static void put_text(__u64 *out, const void *pointer)
{
	*out = (__u64)(uintptr_t)pointer;
}

/* --- loading ----------------------------------------------------------------------------------------------- */

static int explain(long code, const char *what)
{
	int rc = (int)-code;
	if (rc == EPERM || rc == EACCES)
		return sonde_error(rc, "BPF is forbidden: it needs root, or CAP_BPF and CAP_PERFMON");
	return sonde_error(rc, "BPF: %s: %s", what, strerror(rc));
}

static int find_types(struct sonde_sched_bpf *bpf)
{
	enum { PID, TGID, STATE, FLAGS, STACK, SWITCH, CALL = SWITCH + SONDE_SCHED_PROGRAMS, COUNT };
	struct sonde_btf_wish wishes[COUNT] = {
	    [PID] = {.places = {{BTF_KIND_STRUCT, "task_struct", "pid"}}},
	    [TGID] = {.places = {{BTF_KIND_STRUCT, "task_struct", "tgid"}}},
	    [STATE] = {.places = {{BTF_KIND_STRUCT, "task_struct", "__state"},
				  {BTF_KIND_STRUCT, "task_struct", "state"}}},
	    [FLAGS] = {.places = {{BTF_KIND_STRUCT, "task_struct", "flags"}}},
	    [STACK] = {.places = {{BTF_KIND_STRUCT, "task_struct", "stack"}}},
	    [CALL] = {.places = {{BTF_KIND_STRUCT, "pt_regs", "orig_ax"}, {BTF_KIND_STRUCT, "pt_regs", "syscallno"}}},
	};
	for (int i = 0; i < SONDE_SCHED_PROGRAMS; i++)
		wishes[SWITCH + i].places[0] =
		    (struct sonde_btf_place){BTF_KIND_TYPEDEF, sonde_sched_tracepoints[i], NULL};
	int result = sonde_kernel_btf_find(wishes, COUNT);
	if (result < 0)
		return result;
	for (int i = 0; i < CALL; i++)
		if (!wishes[i].id)
			return sonde_error(ENOENT, "BPF: this kernel has no %s",
					   wishes[i].places[0].member ? wishes[i].places[0].member
								      : wishes[i].places[0].name);
	for (int i = 0; i < SONDE_SCHED_PROGRAMS; i++)
		bpf->attach_types[i] = wishes[SWITCH + i].id;
	bpf->target.pid_at_b = wishes[PID].offset_b;
	bpf->target.tgid_at_b = wishes[TGID].offset_b;
	bpf->target.state_at_b = wishes[STATE].offset_b;
	bpf->target.flags_at_b = wishes[FLAGS].offset_b;
	bpf->target.stack_at_b = wishes[STACK].offset_b;
	bpf->target.call_at_b = wishes[CALL].offset_b;
	bpf->target.call_is_short = wishes[CALL].which;
	bpf->target.without_wakers = !wishes[CALL].id;
	return 0;
}

/* Loads the BTF types that the kernel requires for the map of rows: 1 int, 2 u64, 3 an array of u64. */
static int load_row_types(struct sonde_sched_bpf *bpf)
{
	static const char strings[] = "\0i\0w";
	struct {
		struct btf_header head;
		struct btf_type number;
		uint32_t number_bits;
		struct btf_type word;
		uint32_t word_bits;
		struct btf_type array_type;
		struct btf_array array;
		char strings[sizeof strings];
	} __attribute__((packed)) types = {
	    .head = {.magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof types.head},
	    .number = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4},
	    .number_bits = BTF_INT_SIGNED << 24 | 32,
	    .word = {.name_off = 3, .info = BTF_KIND_INT << 24, .size = 8},
	    .word_bits = 64,
	    .array_type = {.info = BTF_KIND_ARRAY << 24},
	    .array = {.type = 2, .index_type = 1, .nelems = sizeof(struct sonde_sched_row) / 8},
	};
	memcpy(types.strings, strings, sizeof strings);
	types.head.type_len = offsetof(__typeof__(types), strings) - sizeof types.head;
	types.head.str_off = types.head.type_len;
	types.head.str_len = sizeof strings;
	union bpf_attr attr = {.btf_size = sizeof types};
	put_text(&attr.btf, &types);
	bpf->types_fd = (int)bpf_call(BPF_BTF_LOAD, &attr, sizeof attr);
	return bpf->types_fd < 0 ? explain(bpf->types_fd, "types are refused") : 0;
}

static int make_maps(struct sonde_sched_bpf *bpf)
{
	union bpf_attr rows = {
	    .map_type = BPF_MAP_TYPE_TASK_STORAGE,
	    .key_size = sizeof(int),
	    .value_size = sizeof(struct sonde_sched_row),
	    .map_flags = BPF_F_NO_PREALLOC,
	    .map_name = "sonde_rows",
	    .btf_fd = (__u32)bpf->types_fd,
	    .btf_key_type_id = 1,
	    .btf_value_type_id = 3,
	};
	bpf->target.rows_fd = (int)bpf_call(BPF_MAP_CREATE, &rows, sizeof rows);
	if (bpf->target.rows_fd < 0)
		return explain(bpf->target.rows_fd, "no map of tasks");
	union bpf_attr rings = {
	    .map_type = BPF_MAP_TYPE_ARRAY,
	    .key_size = sizeof(uint32_t),
	    .value_size = (__u32)bpf->ring_b,
	    .max_entries = (__u32)bpf->cpus,
	    .map_flags = BPF_F_MMAPABLE,
	    .map_name = "sonde_rings",
	};
	bpf->target.rings_fd = (int)bpf_call(BPF_MAP_CREATE, &rings, sizeof rings);
	if (bpf->target.rings_fd < 0)
		return explain(bpf->target.rings_fd, "no map of rings");
	bpf->memory_b = bpf->ring_b * bpf->cpus;
	void *memory = mmap(NULL, bpf->memory_b, PROT_READ | PROT_WRITE, MAP_SHARED, bpf->target.rings_fd, 0);
	if (memory == MAP_FAILED)
		return explain(-errno, "the rings cannot be mapped");
	bpf->memory = memory;
	for (size_t i = 0; i < bpf->cpus; i++) {
		uint8_t *at = bpf->memory + i * bpf->ring_b;
		bpf->views[i] = (struct view){.ring = (void *)at, .records = (const void *)(at + SONDE_SCHED_HEAD_B)};
	}
	return 0;
}

static int load_program(struct sonde_sched_bpf *bpf, enum sonde_sched_program which)
{
	struct bpf_insn code[SONDE_SCHED_INSNS];
	union bpf_attr attr = {
	    .prog_type = BPF_PROG_TYPE_TRACING,
	    .expected_attach_type = BPF_TRACE_RAW_TP,
	    .attach_btf_id = bpf->attach_types[which],
	    .insn_cnt = (__u32)sonde_sched_program(which, &bpf->target, code),
	    .prog_name = "sonde_sched",
	};
	put_text(&attr.insns, code);
	put_text(&attr.license, LICENSE);
	long fd = bpf_call(BPF_PROG_LOAD, &attr, sizeof attr);
	if (fd < 0)
		return explain(fd, sonde_sched_tracepoints[which]);
	bpf->programs[which] = (int)fd;
	return 0;
}

static int load_programs(struct sonde_sched_bpf *bpf)
{
	for (enum sonde_sched_program i = 0; i < SONDE_SCHED_PROGRAMS; i++) {
		int result = load_program(bpf, i);
		if (result == -EINVAL && i == SONDE_SCHED_WAKING && !bpf->target.without_wakers) {
			bpf->target.without_wakers = 1; /* the kernel is older than Linux 5.15 */
			result = load_program(bpf, i);
		}
		if (result < 0)
			return result;
	}
	return 0;
}

/* The programs see tids of the initial pid namespace, which must be ours. */
static int check_namespace(void)
{
	struct stat status;
	if (stat("/proc/self/ns/pid", &status) || status.st_ino != INIT_PID_NAMESPACE)
		return sonde_error(EOPNOTSUPP, "BPF: this container has its own process ids");
	return 0;
}

int sonde_sched_bpf_open(struct sonde_sched_bpf **out, size_t ring_b)
{
	struct sonde_sched_bpf *bpf = calloc(1, sizeof *bpf);
	if (!bpf)
		return sonde_error(ENOMEM, "out of memory for BPF");
	bpf->types_fd = bpf->target.rows_fd = bpf->target.rings_fd = -1;
	for (int i = 0; i < SONDE_SCHED_PROGRAMS; i++)
		bpf->programs[i] = bpf->links[i] = -1;
	bpf->cpus = sonde_proc_cpu_numbers();
	bpf->views = calloc(bpf->cpus, sizeof *bpf->views);
	bpf->target.records = RECORDS_LEAST;
	while (bpf->target.records * 2 * sizeof(struct sonde_sched_record) <= ring_b)
		bpf->target.records *= 2;
	bpf->ring_b = SONDE_SCHED_HEAD_B + bpf->target.records * sizeof(struct sonde_sched_record);
	int result = bpf->views ? check_namespace() : sonde_error(ENOMEM, "out of memory for BPF");
	result = result ? result : load_row_types(bpf);
	result = result ? result : find_types(bpf);
	result = result ? result : make_maps(bpf);
	result = result ? result : load_programs(bpf);
	if (result < 0) {
		sonde_sched_bpf_close(bpf);
		return result;
	}
	*out = bpf;
	return 0;
}

/* --- running ----------------------------------------------------------------------------------------------- */

static int attach(struct sonde_sched_bpf *bpf, enum sonde_sched_program which)
{
	union bpf_attr attr = {.raw_tracepoint.prog_fd = (__u32)bpf->programs[which]};
	bpf->links[which] = (int)bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof attr);
	return bpf->links[which] < 0 ? explain(bpf->links[which], sonde_sched_tracepoints[which]) : 0;
}

/* Returns 1 if the task is newly followed, 0 if it was followed already or has ended. */
static int follow(struct sonde_sched_bpf *bpf, pid_t pid, pid_t tid)
{
	struct sonde_sched_row row = {0};
	int fd = (int)syscall(SYS_pidfd_open, tid, tid == pid ? 0 : THREAD_PIDFD);
	if (fd < 0 && errno == ESRCH)
		return 0;
	if (fd < 0)
		return sonde_error(errno, "BPF: following single threads needs Linux 6.9 (pidfd_open: %s)",
				   strerror(errno));
	union bpf_attr attr = {.map_fd = (__u32)bpf->target.rows_fd, .flags = BPF_NOEXIST};
	put_text(&attr.key, &fd);
	put_text(&attr.value, &row);
	long result = bpf_call(BPF_MAP_UPDATE_ELEM, &attr, sizeof attr);
	close(fd);
	if (result == -EEXIST || result == -ESRCH || result == -ENOENT)
		return 0;
	return result < 0 ? explain(result, "a task cannot be followed") : 1;
}

/* Threads that are not followed yet may create others meanwhile, so the list of threads is read again until it has no
 * new ones. */
int sonde_sched_bpf_follow(struct sonde_sched_bpf *bpf, pid_t pid)
{
	char path[64];
	int result = 0, fresh = 1;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	while (fresh && result >= 0) {
		DIR *directory = opendir(path);
		if (!directory)
			return sonde_error(errno, "process %d: %s", (int)pid, strerror(errno));
		fresh = 0;
		for (struct dirent *entry; result >= 0 && (entry = readdir(directory));)
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
				result = follow(bpf, pid, atoi(entry->d_name));
				fresh |= result > 0;
			}
		closedir(directory);
	}
	return result < 0 ? result : 0;
}

int sonde_sched_bpf_start(struct sonde_sched_bpf *bpf)
{
	int result = attach(bpf, SONDE_SCHED_NEWTASK);
	result = result ? result : attach(bpf, SONDE_SCHED_WAKING);
	return result ? result : attach(bpf, SONDE_SCHED_SWITCH);
}

static void close_all(int *fds)
{
	for (int i = 0; i < SONDE_SCHED_PROGRAMS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

void sonde_sched_bpf_stop(struct sonde_sched_bpf *bpf)
{
	close_all(bpf->links);
}

void sonde_sched_bpf_close(struct sonde_sched_bpf *bpf)
{
	if (!bpf)
		return;
	close_all(bpf->links);
	close_all(bpf->programs);
	if (bpf->memory)
		munmap(bpf->memory, bpf->memory_b);
	if (bpf->target.rings_fd >= 0)
		close(bpf->target.rings_fd);
	if (bpf->target.rows_fd >= 0)
		close(bpf->target.rows_fd);
	if (bpf->types_fd >= 0)
		close(bpf->types_fd);
	free(bpf->views);
	free(bpf);
}

/* --- reading ----------------------------------------------------------------------------------------------- */

static uint64_t time_of(const struct sonde_sched_bpf *bpf, const struct view *view)
{
	return view->tail == view->head ? NOTHING : view->records[view->tail & (bpf->target.records - 1)].time_ns;
}

/* Returns the consumed space to the programs. Release order: our reads of the records must be complete before. */
static void publish(struct view *view)
{
	atomic_store_explicit(&view->ring->tail, view->tail, memory_order_release);
}

void sonde_sched_bpf_update(struct sonde_sched_bpf *bpf)
{
	for (size_t i = 0; i < bpf->cpus; i++) /* acquire: records are written before the head */
		bpf->views[i].head = atomic_load_explicit(&bpf->views[i].ring->head, memory_order_acquire);
	bpf->current = NULL;
}

/* Selects the ring with the earliest record, and the time until which its records remain the earliest. */
static void choose(struct sonde_sched_bpf *bpf)
{
	uint64_t best_ns = NOTHING;
	bpf->current = NULL;
	bpf->others_ns = NOTHING;
	for (size_t i = 0; i < bpf->cpus; i++) {
		uint64_t time_ns = time_of(bpf, &bpf->views[i]);
		if (time_ns < best_ns) {
			bpf->others_ns = best_ns;
			best_ns = time_ns;
			bpf->current = &bpf->views[i];
		} else if (time_ns < bpf->others_ns) {
			bpf->others_ns = time_ns;
		}
	}
}

int sonde_sched_bpf_next(struct sonde_sched_bpf *bpf, uint64_t horizon_ns, struct sonde_sched_record *out, int *cpu)
{
	if (!bpf->current || time_of(bpf, bpf->current) > bpf->others_ns || bpf->current->tail == bpf->current->head)
		choose(bpf);
	struct view *view = bpf->current;
	if (!view || time_of(bpf, view) >= horizon_ns) {
		for (size_t i = 0; i < bpf->cpus; i++)
			publish(&bpf->views[i]);
		return 0;
	}
	*out = view->records[view->tail & (bpf->target.records - 1)];
	*cpu = (int)(view - bpf->views);
	if (++view->tail % PUBLISH_EVERY == 0)
		publish(view);
	return 1;
}

/* The increase of a kernel count since the last call. */
static uint64_t take(_Atomic uint64_t *count, uint64_t *recorded)
{
	uint64_t now = atomic_load_explicit(count, memory_order_relaxed), more = now - *recorded;
	*recorded = now;
	return more;
}

uint64_t sonde_sched_bpf_take_lost(struct sonde_sched_bpf *bpf)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < bpf->cpus; i++)
		lost += take(&bpf->views[i].ring->lost, &bpf->views[i].lost);
	return lost;
}

uint64_t sonde_sched_bpf_take_missed(struct sonde_sched_bpf *bpf)
{
	uint64_t missed = 0;
	for (size_t i = 0; i < bpf->cpus; i++)
		missed += take(&bpf->views[i].ring->missed, &bpf->views[i].missed);
	return missed;
}

int sonde_sched_bpf_knows_wakers(const struct sonde_sched_bpf *bpf)
{
	return !bpf->target.without_wakers;
}
