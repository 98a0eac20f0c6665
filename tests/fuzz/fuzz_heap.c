/* fuzz_heap.c: libFuzzer target: any words come from a program's rings; the recording that they make opens and is read.
 *
 * The input is read in rounds: a number of words for one thread, then these words. A byte gives each word's kind, so
 * that valid records are more frequent than by chance.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/heap.h"
#include "format/ring.h"
#include "source/heap/process.h"
#include "source/stack/spaces.h"
#include "trace/writer.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

struct input {
	const uint8_t *at, *end;
};

static uint64_t number(struct input *input, size_t size_b)
{
	uint64_t value = 0;
	for (size_t i = 0; i < size_b && input->at < input->end; i++)
		value = value << 8 | *input->at++;
	return value;
}

static uint64_t word(struct input *input)
{
	uint64_t kind = number(input, 1), small = number(input, 1);
	switch (kind % 8) {
	case 0:
		return sonde_heap_op((enum sonde_heap_op)(small % 11));
	case 1:
	case 2:
		return SONDE_HEAP_BEGINS | sonde_heap_block(0x7f0000000000 + small * 64, kind);
	case 3:
		return sonde_heap_block(0x7f0000000000 + small * 64, kind);
	case 4:
		return small << 32 | kind >> 3;
	case 5:
		return 0x7f0000000000 + small * 4096;
	case 6:
		return small + kind;
	default:
		return number(input, 8);
	}
}

static void feed(struct sonde_heap_process *process, struct input *input)
{
	static uint64_t words[4096];
	uint64_t now = 1000000;
	while (input->at < input->end) {
		uint64_t action = number(input, 1), thread = action >> 6, count = action & 31;
		for (size_t i = 0; i < count; i++)
			words[i] = word(input);
		sonde_heap_process_add(process, thread + 1, (uint32_t)thread + 1, words, count);
		if (action & 32) {
			uint64_t what = number(input, 1);
			now += number(input, 2);
			struct sonde_snapshot_live live;
			struct sonde_link_leave leave = {.reason = 0, .time = now};
			if (what % 8 == 0)
				sonde_heap_process_thread_end(process, thread + 1);
			else if (what % 8 == 1)
				sonde_heap_process_flush(process, now, &live);
			else if (what == 2)
				sonde_heap_process_left(process, &leave);
			else if (what % 8 == 3)
				sonde_heap_process_exact_times(process);
			else
				sonde_heap_process_run(process, 0, now);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	char path[] = "/tmp/sonde-fuzz-XXXXXX";
	struct sonde_record_options options = {.output = path, .heap_mean_b = size_b & 1 ? 1000 : 0};
	struct sonde_writer *writer;
	struct sonde_recorder *recorder;
	struct sonde_images *images;
	struct sonde_spaces *spaces;
	struct sonde_unwinder *unwinder;
	struct sonde_heap_process *process;
	close(mkstemp(path));
	if (sonde_writer_open(&writer, path, &(struct sonde_writer_options){.overwrite = 1}) ||
	    sonde_recorder_new(&recorder, writer, &options) || sonde_images_new(&images, recorder, NULL, NULL) ||
	    sonde_spaces_new(&spaces, images) || sonde_unwinder_new(&unwinder, recorder, images, spaces) ||
	    sonde_heap_process_new(&process, &(struct sonde_heap_process_options){.recorder = recorder,
										  .unwinder = unwinder,
										  .pid = getpid(),
										  .clock = SONDE_RING_CLOCK_NS}))
		abort();
	struct input input = {bytes, bytes + size_b};
	feed(process, &input);
	sonde_heap_process_end(process);
	sonde_unwinder_free(unwinder);
	sonde_spaces_free(spaces);
	sonde_images_free(images);
	if (sonde_recorder_close(recorder, 0, sonde_clock_now_ns()) || sonde_writer_close(writer))
		abort();
	sonde_recorder_free(recorder);
	if (walk(path, NULL))
		abort();
	unlink(path);
	return 0;
}
