/* fake_recorder.h: a recorder that keeps what sources hand to it in memory, for tests of sources.
 *
 * Defines the sonde_recorder_…() functions that the cpu source and the unwinder use; link it before the real ones.
 */
#ifndef FAKE_RECORDER_H
#define FAKE_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "source/record/recorder.h"

struct fake_module {
	char path[256];
	uint32_t flags;
	size_t build_id_b;
};

#define FAKE_PLACES 64
#define FAKE_PLACE_DEPTH 4

struct fake_place {
	size_t count;
	char functions[FAKE_PLACE_DEPTH][64];
	uint32_t lines[FAKE_PLACE_DEPTH];
};

struct fake_sample {
	uint64_t time_ns, weight_ns;
	uint32_t thread, stack;
	uint8_t status;
};

/* A stack's frames are frames[first … first + count − 1] of the recorder. */
struct fake_stack {
	size_t first, count;
};

struct fake_task {
	pid_t pid, tid;
	uint64_t cpu_ns;
	int ended, execs;
	char name[32];
};

struct sonde_recorder {
	struct sonde_record_options options;
	struct fake_module modules[512]; /* id − 1 */
	size_t module_count;
	struct fake_place places[FAKE_PLACES]; /* address / 16 − 1 */
	size_t place_count;
	struct sonde_trie_frame *frames;
	size_t frame_count, frame_cap;
	struct fake_stack *stacks; /* id − 1; not interned: one for each call */
	size_t stack_count, stack_cap;
	struct fake_sample *samples;
	size_t sample_count, sample_cap;
	struct fake_task *tasks; /* id − 1 */
	size_t task_count, task_cap;
	uint64_t by_status[SONDE_STACK_STATUS_COUNT];
	uint64_t kernel_samples, switches, lost, forks;
	char lost_cause[64]; /* of the latest */
	uint64_t last_ns;    /* of the last thing that has a time */
	int out_of_order;    /* things that came earlier than the one before */
	struct sonde_recorder_state state;
	char detail[512];
};

void fake_recorder_fini(struct sonde_recorder *recorder);

#endif
