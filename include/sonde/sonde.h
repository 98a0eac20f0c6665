/* sonde.h: put your own zones, counters, spans and instant events into a profile.
 *
 *	void parse(const char *text)
 *	{
 *		SONDE_ZONE("parse");                 // ends on every exit from this block
 *		SONDE_ZONE_WORK(0, strlen(text), 1); // flop, bytes, items
 *		...
 *	}
 *
 * Run the program under `sonde record`, or with SONDE_OUT=name, or call sonde_start("x.sonde"); otherwise every call
 * costs a load and a branch. With -DSONDE_DISABLE, everything compiles to nothing. C99 (GNU or Clang attributes) and
 * C++11 or later; Linux on x86-64 and AArch64, disabled elsewhere. Link with -lsonde.
 *
 * Threads: every function may be called from any thread, and zones, counters and instant events from signal handlers
 * too. No function takes a lock, allocates with malloc or changes errno. After a thread's first event, no function
 * makes a system call, except once per 64 KB of events, in sonde_snapshot(), and in the functions under "queries" and
 * "control". A child made by fork() records on its own. Names passed to macros must be string literals; names passed to
 * functions are copied. In an IFUNC resolver, functions record nothing, and macros may not be used. Times are in
 * nanoseconds. Functions that return int return 0 (or a count) or one of enum sonde_code.
 *
 * Sandboxes (seccomp): record something in each thread before the filter is installed, and allow futex, fstat,
 * newfstatat, sendto and madvise, which are called when 64 KB of events or a ring are full. Threads started later also
 * call gettid and mmap, and forked children reconnect (socket and related calls). A thread that waits for a full ring
 * (`--on-full block`) also calls recvfrom, and after 2 s getsockopt, openat, read and close. A program that allows less
 * must call sonde_stop() first, and must not record in threads that it starts later.
 *
 * Limits: 65535 open zones (deeper ones are left out) and 64 histograms per thread. Anything beyond a limit is counted
 * by cause in the recording, and in sonde_lost().
 */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include <stddef.h>
#include <stdint.h>

#if !defined(SONDE_DISABLE) && (!defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__)))
#define SONDE_DISABLE 1
#endif

#if defined(SONDE_DISABLE)
#define SONDE_CALL(type, declaration, value) \
	static inline type declaration       \
	{                                    \
		return value;                \
	}
#define SONDE_CALL_VOID(declaration)   \
	static inline void declaration \
	{                              \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#else
#define SONDE_CALL(type, declaration, value) type declaration;
#define SONDE_CALL_VOID(declaration) void declaration;
#endif

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* --- codes --------------------------------------------------------------------------------------------------------*/

enum sonde_code {
	SONDE_OK = 0,
	SONDE_ERR_OFF = -1,      /* nothing is being recorded */
	SONDE_ERR_MISMATCH = -2, /* the zone or span to end is not the innermost one, or was never begun */
	SONDE_ERR_UNKNOWN = -3,  /* no zone of that name has ended yet, or that pool is unknown */
	SONDE_ERR_ARGUMENT = -4, /* a null or too long name, or a quantile outside 0 … 1 */
	SONDE_ERR_FULL = -5,     /* no capacity left: the loss is counted in the recording */
	SONDE_ERR_FILE = -6,     /* the recording cannot be written; sonde_file_errno() has the cause */
	SONDE_ERR_BUSY = -7,     /* already recording to another file */
	SONDE_ERR_SYSTEM = -8,   /* memory or a thread could not be obtained */
	SONDE_ERR_RECORDER = -9, /* `sonde record` did not answer */
};

/* A message for a code; static, never NULL. */
SONDE_CALL(const char *, sonde_strerror(int code), code ? "sonde is disabled" : "no error")
/* errno of the last SONDE_ERR_FILE. */
SONDE_CALL(int, sonde_file_errno(void), 0)

/* --- control ------------------------------------------------------------------------------------------------------*/

enum sonde_full_policy {
	SONDE_FULL_DROP = 0,      /* drop the newest events and count them */
	SONDE_FULL_OVERWRITE = 1, /* drop the thread's oldest events and count them */
	SONDE_FULL_BLOCK = 2,     /* wait for free space; after 30 s without any, as SONDE_FULL_DROP until there is */
};

struct sonde_options {
	size_t buffer_b; /* memory for events that are not written yet, 0 = 16 MiB; rounded to 64 KiB chunks */
	int on_full;     /* enum sonde_full_policy */
};

/* Starts recording into `path` (verbatim, except that %p becomes the pid). A forked child writes a file of its own next
 * to it: x.sonde becomes x.PID.sonde, any other name NAME.PID.sonde. Under `sonde record`, events go to its recording
 * instead, and `path` may be NULL. Never overwrites: if the file exists, the result is SONDE_ERR_FILE, and query
 * results remain those of the previous recording. Starts one thread and maps about 140 MB of address space, most of it
 * never touched and reused by later recordings; if a limit forbids that, the result is SONDE_ERR_SYSTEM and the program
 * runs unrecorded. If a signal, even SIGKILL, kills the process, its own recording loses only about the last 20 ms
 * (events not yet drained), and a recording by `sonde record` loses nothing. `options` may be NULL. */
SONDE_CALL(int, sonde_start(const char *path), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_start_with(const char *path, const struct sonde_options *options), SONDE_ERR_OFF)
/* Stops recording and closes the file; also done at exit. Query results stay available. */
SONDE_CALL(int, sonde_stop(void), SONDE_ERR_OFF)
/* Events between pause and resume are neither recorded nor counted as lost; open zones stay open. */
SONDE_CALL(int, sonde_pause(void), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_resume(void), SONDE_ERR_OFF)
/* 1 while events are being recorded. */
SONDE_CALL(int, sonde_is_on(void), 0)
/* Events lost in this process so far, for any cause (the recording has them by cause). */
SONDE_CALL(uint64_t, sonde_lost(void), 0)

/* --- by name: for names that are not literals; slower than the macros below by a hash of the name ----------------- */

/* Begins and ends a zone. An end must name the zone that this thread began last with sonde_begin(); otherwise, the
 * result is SONDE_ERR_MISMATCH, nothing ends, and the recording counts the mismatch. */
SONDE_CALL(int, sonde_begin(const char *name), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_end(const char *name), SONDE_ERR_OFF)
/* Runs work(context) inside a zone. */
static inline void sonde_run(const char *name, void (*work)(void *), void *context)
{
	int begun = sonde_begin(name);
	work(context);
	if (begun == SONDE_OK)
		(void)sonde_end(name);
}
/* Gives this thread's innermost open zone an individual name, for instance the text of a query. */
SONDE_CALL(int, sonde_zone_name(const char *name), SONDE_ERR_OFF)
/* Attaches a key and value to this thread's innermost open zone. Keys are cut at 255 bytes, texts at 4095. */
SONDE_CALL(int, sonde_arg_int(const char *key, int64_t value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_arg_uint(const char *key, uint64_t value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_arg_double(const char *key, double value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_arg_text(const char *key, const char *value), SONDE_ERR_OFF)
/* Adds work to the innermost open zone: floating-point operations, bytes moved, items. */
SONDE_CALL(int, sonde_zone_work(double flop, double bytes, double items), SONDE_ERR_OFF)

SONDE_CALL(int, sonde_instant(const char *name, const char *text), SONDE_ERR_OFF) /* text may be NULL */
SONDE_CALL(int, sonde_message(const char *text), SONDE_ERR_OFF)
/* Marks a point in time for inspection and comparison: `sonde report --section snapshots --diff A,B`. Records the RSS
 * of the process, and under `sonde record --heap` all blocks that are live at exactly this point. Reads
 * /proc/self/statm and wakes the recorder; takes a few microseconds. */
SONDE_CALL(int, sonde_snapshot(const char *label), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_counter_add(const char *name, uint64_t amount), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_gauge_set(const char *name, double value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_histogram_record(const char *name, uint64_t value), SONDE_ERR_OFF)
/* An operation that may begin in one thread and end in another; `id` is chosen by the caller and unique while the span
 * is open. Begins and ends are matched when the recording is read, and unmatched ends are counted then. */
SONDE_CALL(int, sonde_span_begin(const char *name, uint64_t id), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_span_end(uint64_t id), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_span_arg_text(uint64_t id, const char *key, const char *value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_span_arg_double(uint64_t id, const char *key, double value), SONDE_ERR_OFF)
/* Marks the end of one iteration of a loop, with the number of items (samples, requests, frames) that it processed. */
SONDE_CALL(int, sonde_iteration(const char *name, double items), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_thread_name(const char *name), SONDE_ERR_OFF)

/* --- pools: blocks of an allocator of your own ----------------------------------------------------------------------
 * Each name is a heap of its own in the report, next to malloc's, with its live and peak bytes. Call sonde_alloc()
 * after the pool has handed out a block, and sonde_free() before the pool can reuse it. Blocks are identified by
 * address: freeing a block that was never allocated is counted as unknown, and allocating one twice implies that it was
 * freed in between. NULL is ignored. Under `sonde record --heap` each call is recorded with its stack (also between
 * sonde_pause() and sonde_resume()). Without --heap, when the library is linked statically, or when the process writes
 * its own recording, a call is recorded with its thread only. May be called from signal handlers: a call that
 * interrupts another sonde function of its thread is dropped and counted. If a ring is full, a call waits up to 30 s
 * for space, because totals with gaps are wrong; after that, calls are dropped and counted (SONDE_ERR_FULL). Names have
 * at most 255 bytes; a process can use at most 4096 names.
 */
SONDE_CALL(int, sonde_alloc(const char *name, const void *block, size_t size_b), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_free(const char *name, const void *block), SONDE_ERR_OFF)

/* --- queries --------------------------------------------------------------------------------------------------------
 * Results cover all zones of this process, in all threads, that have ended since recording began, and all its pools.
 * Under `sonde record` the recorder answers. A query takes microseconds to milliseconds; not for signal handlers.
 */
#define SONDE_NAME_B 96

struct sonde_stats {
	char name[SONDE_NAME_B];
	uint64_t count;
	uint64_t total_ns; /* nested zones of the same name count once */
	uint64_t self_ns;  /* excludes nested zones */
	uint64_t min_ns, max_ns;
	double mean_ns;            /* over all `count` zones */
	double std_ns;             /* sample standard deviation; 0 with fewer than two zones */
	double flop, bytes, items; /* from sonde_zone_work() */
};

SONDE_CALL(int, sonde_stats_of(const char *name, struct sonde_stats *out), SONDE_ERR_OFF)
/* The duration that a fraction `quantile` (0 … 1) of the zones does not exceed; relative error ≤ 0.39 %. */
SONDE_CALL(int, sonde_percentile(const char *name, double quantile, uint64_t *out_ns), SONDE_ERR_OFF)
/* The names with the largest total time, at most 64; returns the number of rows written. */
SONDE_CALL(int, sonde_top(struct sonde_stats *rows, size_t count), 0)
/* The zone that ended most recently. */
SONDE_CALL(int, sonde_last(struct sonde_stats *out), SONDE_ERR_OFF)
/* 1 once a zone has ended. */
SONDE_CALL(int, sonde_has_results(void), 0)
/* Writes a table of the zones with the largest total time to a file descriptor. With SONDE_SUMMARY=1 in the
 * environment, or after sonde_summary_at_exit(1), it is written to standard error at exit. */
SONDE_CALL(int, sonde_print_summary(int fd), SONDE_ERR_OFF)
SONDE_CALL_VOID(sonde_summary_at_exit(int yes))

struct sonde_pool_stats {
	uint64_t current_b, current_blocks;
	uint64_t peak_b, peak_blocks;      /* the most live bytes at any time, and the number of blocks at that time */
	uint64_t allocated_b, allocations; /* everything allocated since recording began */
};

/* Current and peak live memory of a pool, from all calls of sonde_alloc() and sonde_free() that any thread made before
 * this query; SONDE_ERR_UNKNOWN for an unknown name. NULL: malloc and related functions, known only under `sonde
 * record`: exact with --heap=full, else estimated (SONDE_ERR_UNKNOWN before the first sample). The figures of a forked
 * child start at 0. */
SONDE_CALL(int, sonde_pool_stats_of(const char *name, struct sonde_pool_stats *out), SONDE_ERR_OFF)

/* --- profilers: named timers with immediate results, whether or not a recording is active --------------------------
 * A timer may start in one thread and stop in another: a stop ends the newest running timer of that name in its own
 * thread, else the newest in any thread. At most 512 names and 1024 running timers per profiler. While recording, every
 * timer is also recorded as a span. NULL is the global profiler, which always exists and survives fork().
 */
struct sonde_profiler;

SONDE_CALL(struct sonde_profiler *, sonde_profiler_new(void), NULL) /* NULL if out of memory */
SONDE_CALL_VOID(sonde_profiler_free(struct sonde_profiler *profiler))
SONDE_CALL(int, sonde_profiler_start(struct sonde_profiler *profiler, const char *name), SONDE_ERR_OFF)
SONDE_CALL(int,
	   sonde_profiler_start_work(struct sonde_profiler *profiler, const char *name, double flop, double bytes,
				     double items),
	   SONDE_ERR_OFF)
/* SONDE_ERR_MISMATCH if no timer of that name is running. `out_ns`: its duration; may be NULL. */
SONDE_CALL(int, sonde_profiler_stop(struct sonde_profiler *profiler, const char *name, uint64_t *out_ns), SONDE_ERR_OFF)
/* ns; 0 if no timer of that name has stopped. */
SONDE_CALL(uint64_t, sonde_profiler_total_ns(struct sonde_profiler *profiler, const char *name), 0)
SONDE_CALL(double, sonde_profiler_mean_ns(struct sonde_profiler *profiler, const char *name), 0)
SONDE_CALL(int, sonde_profiler_stats(struct sonde_profiler *profiler, const char *name, struct sonde_stats *out),
	   SONDE_ERR_OFF)
SONDE_CALL(int, sonde_profiler_top(struct sonde_profiler *profiler, struct sonde_stats *rows, size_t count), 0)
SONDE_CALL(int, sonde_profiler_print(struct sonde_profiler *profiler, int fd), SONDE_ERR_OFF)

/* --- the hot path: use the macros below ---------------------------------------------------------------------------*/

/* One per use of a macro. It is static, so `id` is assigned once, at the first event. Until then `id` is so large that
 * adding any time to it overflows 64 bits (hot.h). */
#define SONDE_PLACE_NEW (~UINT64_C(0) << 20)
struct sonde_place {
	uint64_t id;
	const char *name, *function, *file, *unit;
	uint32_t kind, line, color;
};

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#if defined(SONDE_DISABLE)
#pragma GCC diagnostic pop
#define SONDE_ZONE(name) ((void)0)
#define SONDE_ZONE_COLOR(name, rgb) ((void)0)
#define SONDE_BEGIN(name) ((void)0)
#define SONDE_END() ((void)0)
#define SONDE_ZONE_NEXT(name) ((void)0)
#define SONDE_ZONE_WORK(flop, bytes, items) ((void)0)
#define SONDE_ZONE_ARG(key, value) ((void)0)
#define SONDE_COUNT(name) ((void)0)
#define SONDE_COUNTER_ADD(name, amount) ((void)0)
#define SONDE_GAUGE_SET(name, value) ((void)0)
#define SONDE_HISTOGRAM(name, value) ((void)0)
#define SONDE_INSTANT(name) ((void)0)
#define SONDE_ITERATION(name, items) ((void)0)
#define SONDE_SPAN_BEGIN(name, id) ((void)0)
#define SONDE_SPAN_END(id) ((void)0)
#else
#include <sonde/hot.h>
#endif

#endif
