/* gpu.h: how long a device takes between two points of a stream or queue, asked from inside a program.
 *
 *	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
 *	for (...) {
 *		sonde_gpu_start(timer, "step", stream); // an event of the device, before
 *		launch(stream);                         // kernels, copies, scopes inside this one
 *		sonde_gpu_stop(timer, "step", stream);  // and one behind
 *	}
 *	sonde_gpu_wait(timer); // or go on, and read later
 *	sonde_gpu_stats(timer, "step", &stats);
 *
 * Start and stop put an event of the driver's into the stream of the caller and return: they never wait for a device.
 * What is done is read by later calls, by asking. Only sonde_gpu_wait() and the option `synchronize` wait. Nothing is
 * needed to build it: functions of CUDA's driver (libcuda.so.1) and of OpenCL (libOpenCL.so.1) are found in what the
 * program has loaded; nothing is loaded for it. Works whether or not something is recorded; while recording, every
 * reading behind the warm-up is also a value of the histogram of its name, in ns.
 *
 * Streams: a CUstream or cudaStream_t (NULL: the default one) with the context of the stream current, or a
 * cl_command_queue that has CL_QUEUE_PROFILING_ENABLE (a queue without one has no times: SONDE_ERR_ARGUMENT). The time
 * is from when all that was in the stream before the start is done to when all is done that was there before the stop:
 * that includes the time in which the stream waits for the host to launch. In a queue out of order what comes behind
 * the start need not wait for it. CUDA's events are exact to about 0.5 µs. A stream that is being captured into a graph
 * is refused, since events in it have no times.
 *
 * Scopes may lie in one another, and in several streams: a stop ends the newest scope of that name and stream. Up to
 * 512 scopes are under way at once in a timer, with up to 64 names. Calls of one timer take turns by a lock of it; not
 * for signal handlers. One that waits holds up the others. In a forked child a timer of its parent is SONDE_ERR_OFF.
 */
#ifndef SONDE_GPU_H
#define SONDE_GPU_H

#include <sonde/sonde.h>

#if defined(SONDE_DISABLE)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum sonde_gpu_api { SONDE_GPU_CUDA = 1, SONDE_GPU_OPENCL = 2 };

struct sonde_gpu_options {
	uint32_t warmup; /* the first so many readings of each name are in no statistics and no histogram */
	uint32_t repeat; /* of sonde_gpu_next(): how often behind the warm-up; 0 = once */
	uint32_t keep;   /* readings of each name that sonde_gpu_elapsed() knows, 0 = 16384; later ones count only */
	uint32_t synchronize; /* not 0: a stop waits until the device is done with its scope */
};

struct sonde_gpu_timer;

/* `options` may be NULL. NULL: there is no memory, or no such API. Whether the program has that API is asked at each
 * start until it has. */
SONDE_CALL(struct sonde_gpu_timer *, sonde_gpu_timer_new(int api, const struct sonde_gpu_options *options), NULL)
/* Waits for nothing: what is under way is not read. After its last use; NULL is nothing. */
SONDE_CALL_VOID(sonde_gpu_timer_free(struct sonde_gpu_timer *timer))

/* SONDE_ERR_UNKNOWN: the program has not loaded such a driver; SONDE_ERR_ARGUMENT: the stream has no times (without
 * profiling, being captured), or a null or too long name; SONDE_ERR_SYSTEM: the driver refuses; SONDE_ERR_FULL: too
 * much is under way, or too many names. sonde_gpu_why() says more. The program's work is not touched by any of them. */
SONDE_CALL(int, sonde_gpu_start(struct sonde_gpu_timer *timer, const char *name, void *stream), SONDE_ERR_OFF)
/* The same, and SONDE_ERR_MISMATCH when no scope of that name is open in that stream. */
SONDE_CALL(int, sonde_gpu_stop(struct sonde_gpu_timer *timer, const char *name, void *stream), SONDE_ERR_OFF)
/* Reads all that is done, by asking. How many scopes that were stopped are not done yet, or SONDE_ERR_OFF. */
SONDE_CALL(int, sonde_gpu_collect(struct sonde_gpu_timer *timer), SONDE_ERR_OFF)
/* Waits until the device is done with every scope that was stopped, and reads them. */
SONDE_CALL(int, sonde_gpu_wait(struct sonde_gpu_timer *timer), SONDE_ERR_OFF)

/* What the scope of that name that was started as number `repetition` (from 0, warm-up included) took.
 * SONDE_ERR_UNKNOWN: it is not done, not stopped, failed, or there was none; SONDE_ERR_FULL: it was not kept. */
SONDE_CALL(int,
	   sonde_gpu_elapsed(struct sonde_gpu_timer *timer, const char *name, uint32_t repetition, uint64_t *out_ns),
	   SONDE_ERR_OFF)
/* Of all readings of that name behind the warm-up so far; SONDE_ERR_UNKNOWN when there is none. self_ns is
 * without the scopes inside, of the same stream; flop, bytes and items are 0. */
SONDE_CALL(int, sonde_gpu_stats(struct sonde_gpu_timer *timer, const char *name, struct sonde_stats *out),
	   SONDE_ERR_OFF)
/* Scopes that were started or asked for and have no reading: too many under way, or the driver failed. */
SONDE_CALL(uint64_t, sonde_gpu_lost(struct sonde_gpu_timer *timer), 0)
/* Why the last call that failed did, and what helps; static. "" when none has. */
SONDE_CALL(const char *, sonde_gpu_why(struct sonde_gpu_timer *timer), "sonde is disabled")

/* Times work again and again: `while (sonde_gpu_next(&loop)) launch(stream);` goes round `repeat` times, before that as
 * often as its name lacks of the warm-up, and each time is a scope. The last three are 0 to begin with. Without a timer
 * (NULL) it goes round once; where timing fails it goes on. */
struct sonde_gpu_loop {
	struct sonde_gpu_timer *timer;
	const char *name;
	void *stream;
	uint32_t passes, passed, open;
};

SONDE_CALL(int, sonde_gpu_next(struct sonde_gpu_loop *loop), loop->passed++ == 0)

/* Of a device, by whomever: what is in use of what there is. */
struct sonde_gpu_memory {
	uint64_t used_b, total_b;
	double used; /* used_b ÷ total_b */
};

/* Now, of the device of the context that is current in this thread (CUDA's cuMemGetInfo; some µs to ms). `out` is left
 * as it was where it fails: SONDE_ERR_UNKNOWN: the program has not loaded such a driver, no context is current, or the
 * API has no such question (OpenCL); SONDE_ERR_SYSTEM: the driver refuses; SONDE_ERR_ARGUMENT: `out` is NULL. */
SONDE_CALL(int, sonde_gpu_memory_now(int api, struct sonde_gpu_memory *out), SONDE_ERR_OFF)

/* What SONDE_GPU_SCOPE() keeps. */
struct sonde_gpu_scope {
	struct sonde_gpu_timer *timer;
	const char *name;
	void *stream;
};

static inline struct sonde_gpu_scope sonde_gpu_scope_begin(struct sonde_gpu_timer *timer, const char *name,
							   void *stream)
{
	struct sonde_gpu_scope scope;
	scope.timer = sonde_gpu_start(timer, name, stream) == SONDE_OK ? timer : NULL;
	scope.name = name;
	scope.stream = stream;
	return scope;
}

static inline void sonde_gpu_scope_end(struct sonde_gpu_scope *scope)
{
	if (scope->timer)
		(void)sonde_gpu_stop(scope->timer, scope->name, scope->stream);
}

/* From here to the end of the block, on every way out of it. */
#define SONDE_GPU_PASTE_(a, b) a##b
#define SONDE_GPU_PASTE(a, b) SONDE_GPU_PASTE_(a, b)
#define SONDE_GPU_SCOPE(timer, name, stream)                               \
	struct sonde_gpu_scope SONDE_GPU_PASTE(sonde_gpu_scope_, __LINE__) \
	    __attribute__((cleanup(sonde_gpu_scope_end), unused)) = sonde_gpu_scope_begin(timer, name, stream)

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#if defined(SONDE_DISABLE)
#pragma GCC diagnostic pop
#endif

#endif
