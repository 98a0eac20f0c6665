/* gpu.h: measures how long a device takes between two points of a stream or queue, from inside a program.
 *
 *	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
 *	for (...) {
 *		sonde_gpu_start(timer, "step", stream); // a device event before
 *		launch(stream);                         // kernels, copies, nested scopes
 *		sonde_gpu_stop(timer, "step", stream);  // and one after
 *	}
 *	sonde_gpu_wait(timer); // or continue, and read later
 *	sonde_gpu_stats(timer, "step", &stats);
 *
 * Start and stop insert a driver event into the caller's stream and return: they never wait for a device. Later calls
 * read finished scopes by polling; only sonde_gpu_wait() and the option `synchronize` wait. There are no build
 * dependencies: the functions of the CUDA driver (libcuda.so.1) and of OpenCL (libOpenCL.so.1) are looked up among the
 * libraries that the program has loaded; sonde loads neither of them. Timers work with and without a recording; while
 * recording, every reading after the warm-up is also added to the histogram of its name, in ns.
 *
 * Streams: a CUstream or cudaStream_t (NULL: the default stream) whose context is current, or a cl_command_queue with
 * CL_QUEUE_PROFILING_ENABLE (a queue without it has no times: SONDE_ERR_ARGUMENT). A scope lasts from the completion of
 * everything enqueued before the start to the completion of everything enqueued before the stop, so it includes the
 * time that the stream waits for the host to launch. In an out-of-order queue, work that is enqueued after the start
 * does not necessarily wait for the start. CUDA events are accurate to about 0.5 µs. A stream that is being captured
 * into a graph is refused, because its events have no times.
 *
 * Scopes may nest and may span several streams: a stop ends the newest scope of that name and stream. A timer holds up
 * to 512 pending scopes with up to 64 names. A lock serialises the calls of one timer, so a waiting call blocks the
 * others. Do not call these functions from signal handlers. In a forked child, a timer of the parent returns
 * SONDE_ERR_OFF.
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
	uint32_t warmup; /* number of initial readings of each name that enter no statistics and no histogram */
	uint32_t repeat; /* sonde_gpu_next(): iterations after the warm-up; 0 = one */
	uint32_t keep;   /* readings of each name that sonde_gpu_elapsed() can return, 0 = 16384; later ones are only
			    counted */
	uint32_t synchronize; /* not 0: a stop waits until the device has finished the scope */
};

struct sonde_gpu_timer;

/* `options` may be NULL. Returns NULL if out of memory, or for an unknown API. Until the program has loaded the API,
 * each start looks for it again. */
SONDE_CALL(struct sonde_gpu_timer *, sonde_gpu_timer_new(int api, const struct sonde_gpu_options *options), NULL)
/* Does not wait: pending scopes are not read. Call it after the timer's last use; NULL is ignored. */
SONDE_CALL_VOID(sonde_gpu_timer_free(struct sonde_gpu_timer *timer))

/* SONDE_ERR_UNKNOWN: the program has not loaded such a driver; SONDE_ERR_ARGUMENT: the stream cannot be timed (no
 * profiling, or being captured), or the name is null or too long; SONDE_ERR_SYSTEM: the driver refuses; SONDE_ERR_FULL:
 * too many pending scopes or names. sonde_gpu_why() explains. No error affects the program's own work. */
SONDE_CALL(int, sonde_gpu_start(struct sonde_gpu_timer *timer, const char *name, void *stream), SONDE_ERR_OFF)
/* Errors as above, and SONDE_ERR_MISMATCH if no scope of that name is open in that stream. */
SONDE_CALL(int, sonde_gpu_stop(struct sonde_gpu_timer *timer, const char *name, void *stream), SONDE_ERR_OFF)
/* Reads all scopes that have finished, without waiting. Returns the number of stopped scopes still pending, or
 * SONDE_ERR_OFF. */
SONDE_CALL(int, sonde_gpu_collect(struct sonde_gpu_timer *timer), SONDE_ERR_OFF)
/* Waits until the device has finished every stopped scope, and reads them. */
SONDE_CALL(int, sonde_gpu_wait(struct sonde_gpu_timer *timer), SONDE_ERR_OFF)

/* Duration of the scope of that name that was started as number `repetition` (from 0, including warm-up).
 * SONDE_ERR_UNKNOWN: it is pending, not stopped, failed, or never existed; SONDE_ERR_FULL: it was not kept. */
SONDE_CALL(int,
	   sonde_gpu_elapsed(struct sonde_gpu_timer *timer, const char *name, uint32_t repetition, uint64_t *out_ns),
	   SONDE_ERR_OFF)
/* Statistics of all readings of that name after the warm-up; SONDE_ERR_UNKNOWN if there are none. self_ns excludes
 * nested scopes of the same stream; flop, bytes and items are 0. */
SONDE_CALL(int, sonde_gpu_stats(struct sonde_gpu_timer *timer, const char *name, struct sonde_stats *out),
	   SONDE_ERR_OFF)
/* Scopes without a reading: too many were pending, or the driver failed. */
SONDE_CALL(uint64_t, sonde_gpu_lost(struct sonde_gpu_timer *timer), 0)
/* Why the last failed call failed and what to do about it; static. "" if none has failed. */
SONDE_CALL(const char *, sonde_gpu_why(struct sonde_gpu_timer *timer), "sonde is disabled")

/* Times work repeatedly: `while (sonde_gpu_next(&loop)) launch(stream);` runs `repeat` times, preceded by the warm-up
 * iterations that the name still needs; each iteration is a scope. Initialise the last three fields to 0. Without a
 * timer (NULL) the loop runs once; if timing fails, the loop still runs to its end. */
struct sonde_gpu_loop {
	struct sonde_gpu_timer *timer;
	const char *name;
	void *stream;
	uint32_t passes, passed, open;
};

SONDE_CALL(int, sonde_gpu_next(struct sonde_gpu_loop *loop), loop->passed++ == 0)

/* Memory of a device in use, by all processes, and in total. */
struct sonde_gpu_memory {
	uint64_t used_b, total_b;
	double used; /* used_b ÷ total_b */
};

/* Current memory of the device whose context is current in this thread (CUDA's cuMemGetInfo; takes some µs to ms). On
 * failure `out` is unchanged: SONDE_ERR_UNKNOWN: the program has not loaded such a driver, no context is current, or
 * the API cannot report memory (OpenCL); SONDE_ERR_SYSTEM: the driver refuses; SONDE_ERR_ARGUMENT: `out` is NULL. */
SONDE_CALL(int, sonde_gpu_memory_now(int api, struct sonde_gpu_memory *out), SONDE_ERR_OFF)

/* State of SONDE_GPU_SCOPE(). */
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

/* A scope from here to the end of the block, on every exit from it. */
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
