/* test_heap_limits.c: losses in the recording of heaps due to a hostile process or too little memory are reported. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "format/ring.h"
#include "session/session.h"
#include "source/heap/chunks.h"
#include "source/heap/process.h"
#include "source/stack/spaces.h"
#include "trace/writer.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

struct recording {
	char path[32];
	struct sonde_writer *writer;
	struct sonde_recorder *recorder;
};

static void begin(struct recording *out)
{
	struct sonde_record_options options = {.output = out->path};
	strcpy(out->path, "/tmp/sonde-heap-XXXXXX");
	close(mkstemp(out->path));
	assert_int_equal(sonde_writer_open(&out->writer, out->path, &(struct sonde_writer_options){.overwrite = 1}), 0);
	assert_int_equal(sonde_recorder_new(&out->recorder, out->writer, &options), 0);
}

/* `error`: what writing it came to. */
static struct sonde_session *end_with(struct recording *recording, int error)
{
	struct sonde_session *session;
	assert_int_equal(sonde_recorder_close(recording->recorder, 0, sonde_clock_now_ns()), error);
	assert_int_equal(sonde_writer_close(recording->writer), 0);
	sonde_recorder_free(recording->recorder);
	assert_int_equal(sonde_session_open(&session, recording->path, NULL), 0);
	unlink(recording->path);
	return session;
}

static struct sonde_session *end(struct recording *recording)
{
	return end_with(recording, 0);
}

/* How much was lost for a cause that begins so. */
static uint64_t lost(const struct sonde_session *session, const char *cause)
{
	uint64_t count = 0;
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		if (!strncmp(sonde_session_lost(session, i)->cause, cause, strlen(cause)))
			count += sonde_session_lost(session, i)->count;
	return count;
}

static long most_memory_kb(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* A stack number far above the known ones costs no memory. */
static void numbers_of_stacks_are_not_believed(void **unused)
{
	(void)unused;
	struct recording recording;
	struct sonde_images *images;
	struct sonde_spaces *spaces;
	struct sonde_unwinder *unwinder;
	struct sonde_heap_process *process;
	begin(&recording);
	assert_int_equal(sonde_images_new(&images, recording.recorder, NULL, NULL), 0);
	assert_int_equal(sonde_spaces_new(&spaces, images), 0);
	assert_int_equal(sonde_unwinder_new(&unwinder, recording.recorder, images, spaces), 0);
	const struct sonde_heap_process_options options = {
	    .recorder = recording.recorder, .unwinder = unwinder, .pid = getpid(), .clock = SONDE_RING_CLOCK_NS};
	assert_int_equal(sonde_heap_process_new(&process, &options), 0);
	long before_kb = most_memory_kb();
	for (uint64_t number = 1; number <= 1u << 24; number += number < 3 ? 1 : number) {
		uint64_t words[] = {sonde_heap_op(SONDE_HEAP_STACK), number << 32 | 1, 0x1000};
		sonde_heap_process_add(process, 1, 1, words, 3);
		sonde_heap_process_run(process, 0, sonde_clock_now_ns());
	}
	assert_in_range(most_memory_kb() - before_kb, 0, 64 << 10);
	sonde_heap_process_end(process);
	sonde_unwinder_free(unwinder);
	sonde_spaces_free(spaces);
	sonde_images_free(images);
	struct sonde_session *session = end(&recording);
	assert_true(lost(session, "invalid stack numbers") > 0);
	sonde_session_close(session);
}

/* Without memory a heap is not recorded further, which is reported once, with the amount that was not recorded. */
static void no_memory_is_said(void **unused)
{
	(void)unused;
	struct recording recording;
	struct sonde_heap_chunks *chunks;
	struct rlimit before, none;
	uint64_t address = 0x1000;
	if (SANITIZED)
		skip();
	begin(&recording);
	uint32_t process = sonde_recorder_process(recording.recorder, getpid(), 1000);
	uint32_t thread = sonde_recorder_thread(recording.recorder, getpid(), getpid(), 1000);
	uint32_t heap = sonde_recorder_heap(recording.recorder, process, SONDE_HEAP_MALLOC, NULL);
	struct sonde_recorder_heap_site row = {heap, thread, 0, SONDE_STACK_COMPLETE};
	uint32_t site = sonde_recorder_heap_site(recording.recorder, &row);
	assert_int_equal(sonde_heap_chunks_new(&chunks, recording.recorder, process, heap, 0), 0);
	getrlimit(RLIMIT_AS, &before);
	none = before;
	none.rlim_cur = 1 << 20;
	setrlimit(RLIMIT_AS, &none);
	for (int i = 0; i < 1000000 && !sonde_heap_chunks_error(chunks); i++)
		sonde_heap_chunks_begins(chunks, 1000, thread, address += 16, 10, site);
	for (int i = 0; i < 100; i++)
		sonde_heap_chunks_ends(chunks, 2000, thread, 0x1010 + 16 * (uint64_t)i);
	setrlimit(RLIMIT_AS, &before);
	assert_int_not_equal(sonde_heap_chunks_error(chunks), 0);
	sonde_heap_chunks_close(chunks);
	sonde_heap_chunks_free(chunks);
	struct sonde_session *session = end(&recording);
	assert_int_equal(lost(session, "no memory for a heap's blocks"), 100);
	sonde_session_close(session);
}

#define CHUNK (1u << 20) /* events */

/* Takes the larger blocks (16 KiB and more) that malloc() still has when it gets no more; returns a list of them. */
static void **take_memory_left(void)
{
	void **taken = NULL;
	for (size_t size_b = 1 << 20; size_b >= 1 << 14; size_b /= 2)
		for (void **block; (block = malloc(size_b)); taken = block)
			*block = taken;
	return taken;
}

/* Nothing follows a chunk that could not be written for lack of memory: the heap is recorded up to there, and all later
 * events are counted.
 */
static void nothing_follows_a_missing_chunk(void **unused)
{
	(void)unused;
	struct recording recording;
	struct sonde_heap_chunks *chunks;
	struct sonde_heap_change changes[256];
	struct rlimit before, none;
	if (SANITIZED)
		skip();
	begin(&recording);
	uint32_t process = sonde_recorder_process(recording.recorder, getpid(), 1000);
	uint32_t thread = sonde_recorder_thread(recording.recorder, getpid(), getpid(), 1000);
	uint32_t heap = sonde_recorder_heap(recording.recorder, process, SONDE_HEAP_MALLOC, NULL);
	struct sonde_recorder_heap_site row = {heap, thread, 0, SONDE_STACK_COMPLETE};
	uint32_t site = sonde_recorder_heap_site(recording.recorder, &row);
	for (size_t i = 0; i < 256; i++) /* a block begins, and ends */
		changes[i] = (struct sonde_heap_change){1000, 0x1000, 10, i % 2 ? 0 : site, thread};
	assert_int_equal(sonde_heap_chunks_new(&chunks, recording.recorder, process, heap, 0), 0);
	for (size_t i = 0; i < CHUNK / 256; i++)
		sonde_heap_chunks_changes(chunks, changes, 256);
	assert_int_equal(sonde_heap_chunks_error(chunks), 0);
	getrlimit(RLIMIT_AS, &before);
	none = before;
	none.rlim_cur = 1 << 20;
	setrlimit(RLIMIT_AS, &none);
	void **taken = take_memory_left();
	sonde_heap_chunks_changes(chunks, changes, 256); /* the chunk before is to be written first */
	setrlimit(RLIMIT_AS, &before);
	for (void **next; taken; taken = next) {
		next = *taken;
		free(taken);
	}
	assert_int_equal(sonde_heap_chunks_error(chunks), -ENOMEM);
	sonde_heap_chunks_close(chunks);
	sonde_heap_chunks_free(chunks);
	struct sonde_session *session = end_with(&recording, -ENOMEM);
	assert_int_equal(lost(session, "no memory for a heap's blocks"), CHUNK + 256);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_of_stacks_are_not_believed),
	    cmocka_unit_test(no_memory_is_said),
	    cmocka_unit_test(nothing_follows_a_missing_chunk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
