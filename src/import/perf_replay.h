/* perf_replay.h: the state while records of a perf.data are replayed, shared by perf_import.c (samples), perf_tasks.c
 * (processes and threads) and perf_images.c (mappings and addresses).
 *
 * Errors are sticky in `error`; dropped data is counted and reported at the end. One thread.
 */
#ifndef SONDE_IMPORT_PERF_REPLAY_H
#define SONDE_IMPORT_PERF_REPLAY_H

#include <string.h>

#include "import/perf.h"

enum { SONDE_PERF_START_NS = 1000000000 };
#define SONDE_PERF_NO_PID UINT32_MAX
#define SONDE_PERF_REPLAY_MAPS_MAX_B ((uint64_t)1 << 30) /* for all processes */

struct sonde_perf_process {
	uint32_t id, pid, parent, name; /* name: id of a string */
	uint64_t start_ns;
	struct sonde_perf_maps maps;
};

struct sonde_perf_thread {
	uint32_t process, tid;
	uint64_t start_ns;
};

struct sonde_perf_replay {
	struct sonde_perf *perf;
	struct sonde_import_job *job;
	struct sonde_import_elves elves;
	struct sonde_perf_process *processes; /* index: id − 1 */
	uint32_t process_count;
	size_t process_cap;
	struct sonde_perf_thread *threads; /* index: id − 1 */
	uint32_t thread_count;
	size_t thread_cap;
	struct sonde_map alive, alive_threads, image_map; /* pid, tid, path → id */
	struct sonde_perf_image **images;
	uint32_t image_count;
	size_t image_cap;
	struct sonde_perf_maps kernel;
	uint64_t maps_b;
	struct sonde_perf_image *core; /* the kernel image itself */
	uint64_t kernel_start;
	uint64_t *kernel_addresses;
	struct sonde_map kernel_seen;
	uint32_t kernel_count;
	size_t kernel_cap;
	struct sonde_trie_frame *frames; /* DEPTH_MAX */
	double estimate;                 /* ns per unit of period; 0 = each sample counts `each_ns` */
	uint64_t each_ns;
	uint64_t other, idle, stacks, chainless, deep, unmapped, maps_lost, broken, clamped, lost;
	int error;
};

static inline void sonde_perf_keep(struct sonde_perf_replay *replay, int error)
{
	replay->error = replay->error ? replay->error : error;
}

static inline uint64_t sonde_perf_time_of(const struct sonde_perf_replay *replay, uint64_t time_ns)
{
	return SONDE_PERF_START_NS + (time_ns > replay->perf->first_ns ? time_ns - replay->perf->first_ns : 0);
}

static inline uint32_t sonde_perf_u32(const uint8_t *record, size_t at)
{
	uint32_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static inline uint64_t sonde_perf_u64(const uint8_t *record, size_t at)
{
	uint64_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

/* Makes space for one more row by doubling. -ENOMEM is sticky. */
int sonde_perf_grow(struct sonde_perf_replay *replay, void *rows, uint32_t count, size_t *cap, size_t row_b);

/* --- perf_tasks.c: processes and threads -------------------------------------------------------------------------- */

/* Returns the process that currently has that pid, and creates it if it is new; NULL = sticky error. The pointer is
 * valid until the next process is created. */
struct sonde_perf_process *sonde_perf_process_of(struct sonde_perf_replay *replay, uint32_t pid, uint64_t time_ns);
uint32_t sonde_perf_thread_of(struct sonde_perf_replay *replay, uint32_t pid, uint32_t tid, uint64_t time_ns);
/* Handle one record each; `record` has at least a head. */
void sonde_perf_comm_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns);
void sonde_perf_fork_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns);
void sonde_perf_exit_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns);

/* --- perf_images.c: mappings and addresses ------------------------------------------------------------------------ */

void sonde_perf_map_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns);
/* Returns the frame of a kernel address. Kernel addresses are stored unchanged, and the names of those that occur are
 * looked up at the end. */
struct sonde_trie_frame sonde_perf_kernel_frame(struct sonde_perf_replay *replay, uint64_t address);
/* Returns the frame of a user address. `back`: 1 for a return address, which may lie behind the last instruction of the
 * calling function; otherwise 0. */
struct sonde_trie_frame sonde_perf_user_frame(struct sonde_perf_replay *replay, uint32_t pid, uint64_t address,
					      unsigned back);
/* Looks up the names of kernel addresses if the recorded kernel is the running one. */
void sonde_perf_kernel_name(struct sonde_perf_replay *replay);

#endif
