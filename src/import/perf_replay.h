/* perf_replay.h: the state that records of a perf.data are taken in, for perf.c (samples), perf_tasks.c (who ran) and
 * perf_images.c (what was mapped, and whose addresses are met).
 *
 * Errors stick in `error`; what is not kept is counted, and said at the end. One thread.
 */
#ifndef SONDE_IMPORT_PERF_REPLAY_H
#define SONDE_IMPORT_PERF_REPLAY_H

#include <string.h>

#include "import/perf.h"

enum { SONDE_PERF_START_NS = 1000000000 };
#define SONDE_PERF_NO_PID UINT32_MAX
#define SONDE_PERF_REPLAY_MAPS_MAX_B ((uint64_t)1 << 30) /* of all processes */

struct sonde_perf_process {
	uint32_t id, pid, parent, name; /* name: a string */
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
	struct sonde_perf_process *processes; /* id − 1 */
	uint32_t process_count, process_cap;
	struct sonde_perf_thread *threads; /* id − 1 */
	uint32_t thread_count, thread_cap;
	struct sonde_map alive, alive_threads, image_map; /* pid, tid, path → id */
	struct sonde_perf_image **images;
	uint32_t image_count, image_cap;
	struct sonde_perf_maps kernel;
	uint64_t maps_b;
	struct sonde_perf_image *core; /* the kernel itself */
	uint64_t kernel_start;
	uint64_t *kernel_addresses;
	struct sonde_map kernel_seen;
	uint32_t kernel_count, kernel_cap;
	struct sonde_trie_frame *frames;     /* DEPTH_MAX */
	double estimate;                     /* ns a unit of period; 0 = each sample weighs `each_ns` */
	uint64_t each_ns;
	uint64_t other, idle, stacks, chainless, chained, deep, unmapped, maps_lost, broken, clamped, lost;
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

/* Room for one row more, doubling. -ENOMEM sticks. */
int sonde_perf_grow(struct sonde_perf_replay *replay, void *rows, uint32_t count, uint32_t *cap, size_t row_b);

/* --- perf_tasks.c: processes and threads -------------------------------------------------------------------------- */

/* Who has that pid now, made when it is new; NULL: an error sticks. Pointers last until the next is made. */
struct sonde_perf_process *sonde_perf_process_of(struct sonde_perf_replay *replay, uint32_t pid, uint64_t time_ns);
uint32_t sonde_perf_thread_of(struct sonde_perf_replay *replay, uint32_t pid, uint32_t tid, uint64_t time_ns);
/* Records; `record` has at least a head. */
void sonde_perf_comm_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns);
void sonde_perf_fork_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns);
void sonde_perf_exit_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns);

/* --- perf_images.c: mappings and addresses ------------------------------------------------------------------------ */

void sonde_perf_map_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns);
/* Kernel addresses are kept as they are; those met are named when all have been read. */
struct sonde_trie_frame sonde_perf_kernel_frame(struct sonde_perf_replay *replay, uint64_t address);
/* `back`: 1 of a return address, which may stand behind the last instruction of its function. */
struct sonde_trie_frame sonde_perf_user_frame(struct sonde_perf_replay *replay, uint32_t pid, uint64_t address,
					      unsigned back);
/* Symbols of the kernel's addresses, where it is the one that runs here. */
void sonde_perf_kernel_name(struct sonde_perf_replay *replay);

#endif
