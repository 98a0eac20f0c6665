/* recorder.h: one recording as sources write it: its ids and its event columns.
 *
 * Interns strings, processes, threads, modules, sites and stacks, buffers event columns into chunks and passes them to
 * the trace writer. One thread. Running out of memory or disk space is a sticky error that sonde_recorder_flush()
 * returns; from then on functions that return ids return 0, which is valid wherever an id is passed.
 */
#ifndef SONDE_SOURCE_RECORD_RECORDER_H
#define SONDE_SOURCE_RECORD_RECORDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/chunks.h"
#include "format/event.h"
#include "format/metric.h"
#include "format/record.h"
#include "trace/trie.h"

struct sonde_recorder;
struct sonde_writer;

enum sonde_on_full { SONDE_ON_FULL_DROP = 0, SONDE_ON_FULL_OVERWRITE, SONDE_ON_FULL_BLOCK };

/* How much of GPU activity is recorded. KERNELS: the work of devices; API: also the host's API calls; FULL: also the
 * call stacks of these calls. */
enum sonde_gpu_level { SONDE_GPU_KERNELS = 1, SONDE_GPU_API, SONDE_GPU_FULL };

#define SONDE_RESOURCES_LEAST_INTERVAL_NS 10000000u /* minimum interval between resource readings */

/* The options of `sonde record`. Strings are borrowed. */
struct sonde_record_options {
	const char *output;
	int output_fd;        /* if not 0, the recording is written to this descriptor, and `output` is only its name */
	char **command;       /* NULL when attaching */
	pid_t attach;         /* 0 = launch */
	uint64_t rate_hz;     /* samples per CPU second, 1 … 10000 */
	uint64_t duration_ns; /* 0 = until the command ends */
	uint64_t buffer_b;    /* total limit of all rings of the session */
	enum sonde_on_full on_full;
	uint64_t keep_ns; /* flight recorder: how much time to keep; 0 = write everything to the file */
	const char *when; /* trigger, NULL = none */
	int overwrite;
	int quiet;
	int keep_arguments; /* keep command lines unredacted, with passwords (fold/redact.h) */
	int no_perf;        /* do not use perf events (for tests, or on request) */
	int no_inject;      /* inject nothing into the target */
	int no_symbols;     /* do not look up symbols; readers of the recording do */
	int debuginfod;
	uint32_t stack_b;            /* stack copy per sample, 0 = default */
	uint32_t waits;              /* which waits of threads to record: bits of enum sonde_wait_what */
	int blas;                    /* record calls of BLAS and LAPACK */
	int gpu;                     /* enum sonde_gpu_level: what to record of GPUs; 0 = nothing */
	int flop;                    /* count FLOP with the processor's counters */
	int heap;                    /* record allocations */
	int heap_is_light;           /* only allocations, and only in processes that allocate enough for a sample */
	uint64_t heap_mean_b;        /* bytes between samples; 0 = every allocation */
	uint64_t memory_every_ns;    /* interval of RSS readings; 0 = whenever the recorder is awake anyway */
	uint64_t snapshot_every_ns;  /* interval of snapshots of all processes; 0 = none */
	int snapshot_signal;         /* SIGUSR1 takes a snapshot and is not forwarded */
	uint64_t resources_every_ns; /* interval of resource readings; 0 = the default, 100 ms */
	uint64_t flush_every_ns;     /* maximum delay until events are in the file; 0 = one second */
	int only_resources; /* run only the sources that read counters, and write no SOURCE record for the others */
	/* Record energy in joules. carbon_intensity (g/kWh) and country are what the user typed, for reports; NULL =
	 * not given. */
	int energy;
	const char *carbon_intensity, *country;
	/* Passes on a warning while the command runs: one line without a newline; NULL = not called. */
	void (*warn)(const struct sonde_record_options *options, const char *text);
	/* Called when all sources have started; NULL = not called. */
	void (*begun)(void *context);
	void *begun_context;
	/* Called before (`over` 0) and after (`over` 1) the possibly slow symbol lookup; NULL = not called. */
	void (*looking_up)(const struct sonde_record_options *options, int over);
};

/* -EINVAL if options->when cannot be parsed. */
int sonde_recorder_new(struct sonde_recorder **out, struct sonde_writer *writer,
		       const struct sonde_record_options *options);
void sonde_recorder_free(struct sonde_recorder *recorder);
const struct sonde_record_options *sonde_recorder_options(const struct sonde_recorder *recorder);

/* Writes out everything that is buffered. */
int sonde_recorder_flush(struct sonde_recorder *recorder);

/* Flight recorder: save() saves the data that is kept in memory; saves() returns how often that was done. */
void sonde_recorder_save(struct sonde_recorder *recorder);
unsigned sonde_recorder_saves(const struct sonde_recorder *recorder);

/* True if the event of options->when has happened since the last call. */
int sonde_recorder_triggered(struct sonde_recorder *recorder);

/* The number of CPU samples so far. */
uint64_t sonde_recorder_sample_count(const struct sonde_recorder *recorder);

/* The number of processes so far, including those that have ended. */
uint32_t sonde_recorder_process_count(const struct sonde_recorder *recorder);

/* Declares that the start and end of every process and thread is being reported (perf events are running), so that
 * sources that start later need not search for them. */
void sonde_recorder_tells(struct sonde_recorder *recorder);
int sonde_recorder_is_recorded(const struct sonde_recorder *recorder);

/* The id of the process that has this pid now; 0 if no recorded process has it. */
uint32_t sonde_recorder_alive(const struct sonde_recorder *recorder, pid_t pid);

/* A process whose end has not been seen. */
struct sonde_recorder_live {
	uint32_t id;
	pid_t pid;
};

/* Writes the first `max` live processes with ids above `after` and returns their number. */
size_t sonde_recorder_live(const struct sonde_recorder *recorder, uint32_t after, struct sonde_recorder_live *out,
			   size_t max);

uint32_t sonde_recorder_string(struct sonde_recorder *recorder, const char *text, size_t len_b);
uint32_t sonde_recorder_text(struct sonde_recorder *recorder, const char *text); /* NUL-terminated; NULL → 0 */

/* --- processes and threads: a pid or tid that the kernel reuses gets a new id ------------------------------------ */

/* The id of the live process or thread with that pid or tid. A new one is created, with name and command from /proc if
 * they can be read. */
uint32_t sonde_recorder_process(struct sonde_recorder *recorder, pid_t pid, uint64_t time_ns);
uint32_t sonde_recorder_thread(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns);
/* The id of the thread if it is already known, else 0. Used for tids that come from a target, which may have invented
 * them. */
uint32_t sonde_recorder_known(const struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns);

/* Moves the start of a thread to start_ns, which is before its first event. */
void sonde_recorder_born(struct sonde_recorder *recorder, uint32_t thread, uint64_t start_ns);

void sonde_recorder_fork(struct sonde_recorder *recorder, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns);
void sonde_recorder_comm(struct sonde_recorder *recorder, pid_t pid, pid_t tid, const char *name, int exec,
			 uint64_t time_ns);
/* cpu_ns: the measured CPU time of the thread; 0 = unknown. The exit of the last thread ends the process. */
void sonde_recorder_exit(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns);

/* Sets the record's type and id, and writes it. */
void sonde_recorder_status(struct sonde_recorder *recorder, pid_t pid, struct sonde_meta_process_end *record);

/* --- modules and stacks --------------------------------------------------------------------------------------------*/

/* See trace/trie.h. */
uint32_t sonde_recorder_module(struct sonde_recorder *recorder, const struct sonde_stack_module_key *key);

/* Returns a new artificial address of the module, never 0, and writes a SYMBOL record for it. Not interned. */
uint64_t sonde_recorder_place(struct sonde_recorder *recorder, uint32_t module,
			      const struct sonde_trie_location *locations, size_t count);

/* Interns a stack, leaf first. Returns its node; 0 for an empty stack. */
uint32_t sonde_recorder_stack(struct sonde_recorder *recorder, const struct sonde_trie_frame *frames, size_t count);
/* Interns frames below a node (0 = the root) and stores the node of each frame. 0 or -ENOMEM. */
int sonde_recorder_stack_below(struct sonde_recorder *recorder, uint32_t node, const struct sonde_trie_frame *frames,
			       size_t count, uint32_t *nodes);

/* --- events ---------------------------------------------------------------------------------------------- */

void sonde_recorder_sample(struct sonde_recorder *recorder, uint64_t time_ns, uint32_t thread, uint32_t stack,
			   uint64_t weight_ns, uint8_t status);

struct sonde_recorder_switch {
	uint64_t time_ns;
	uint32_t thread;
	enum sonde_switch_kind kind;
	int cpu; /* the CPU that the thread got or lost; −1 = unknown */
	/* For IN: when the thread was woken or created since it last had a CPU, and by which thread; 0 = unknown. */
	uint64_t woken_ns;
	uint32_t by;
};

void sonde_recorder_switch(struct sonde_recorder *recorder, const struct sonde_recorder_switch *event);

struct sonde_recorder_site {
	uint32_t kind, line, color;
	const char *name, *function, *file, *unit; /* NULL = none */
};

uint32_t sonde_recorder_site(struct sonde_recorder *recorder, const struct sonde_recorder_site *site);

/* Adds `count` zone events of a thread in time order: sites[i] is the recording's site id, or 0 for the end of a zone;
 * times are CLOCK_MONOTONIC ns. */
void sonde_recorder_zones(struct sonde_recorder *recorder, uint32_t process, uint32_t thread, const uint32_t *sites,
			  const uint64_t *times_ns, size_t count);

/* Frees the buffers of a thread that has ended. Call it after all of the thread's zones and events. */
void sonde_recorder_thread_end(struct sonde_recorder *recorder, uint32_t thread);

/* Adds one event, whose site and time have already been converted to the recording's. */
void sonde_recorder_event(struct sonde_recorder *recorder, uint32_t process, uint32_t thread,
			  const struct sonde_event *event);

/* Creates a series: a value that is read periodically, of a thread, a process (thread 0) or the machine (both 0).
 * `object` distinguishes several of them; NULL = none. Not interned: each call creates another series. Returns its id;
 * 0 when out of memory. */
uint32_t sonde_recorder_series(struct sonde_recorder *recorder, enum sonde_metric metric, uint32_t process,
			       uint32_t thread, const char *object);
/* Adds the value of a series at a time; series 0 is ignored. */
void sonde_recorder_point(struct sonde_recorder *recorder, uint64_t time_ns, uint32_t series, int64_t value);

/* An object that calls of a process wait for: writes the record after setting its type and id, and returns the id; 0 if
 * there is no process. Not interned. */
uint32_t sonde_recorder_object(struct sonde_recorder *recorder, struct sonde_meta_object *record);

/* --- devices (target/devices.h) ---------------------------------------------------------------------------------- */

/* These set the record's type and id, write the record, and return the id. Not interned. */
uint32_t sonde_recorder_device(struct sonde_recorder *recorder, struct sonde_meta_device *record);
uint32_t sonde_recorder_queue(struct sonde_recorder *recorder, struct sonde_meta_queue *record);
uint32_t sonde_recorder_operation(struct sonde_recorder *recorder, struct sonde_meta_operation *record);

/* The number of device records so far: a device counts once per process that reported it. */
uint32_t sonde_recorder_devices(const struct sonde_recorder *recorder);

/* Adds a row of device activity. Rows may arrive in any order of time. */
void sonde_recorder_activity(struct sonde_recorder *recorder, const struct sonde_activities_row *row);
void sonde_recorder_call(struct sonde_recorder *recorder, const struct sonde_call_stacks_row *row);

struct sonde_encoder;
/* Writes the rows of a source's own encoder, preceded by the stacks and strings that they refer to. 0 or the writer's
 * error. */
int sonde_recorder_rows(struct sonde_recorder *recorder, struct sonde_encoder *rows);

/* --- allocations (heap/chunks.h) --------------------------------------------------------------------------- */

struct sonde_columns;
struct sonde_chunk;

/* Creates a heap of a process; `name` is the name of a pool, else NULL. Returns its id; 0 if there is no process. */
uint32_t sonde_recorder_heap(struct sonde_recorder *recorder, uint32_t process, enum sonde_heap_kind kind,
			     const char *name);

/* A heap site, which is interned: equal sites get the same id. */
struct sonde_recorder_heap_site {
	uint32_t heap, thread, stack;
	enum sonde_stack_status status;
};

uint32_t sonde_recorder_heap_site(struct sonde_recorder *recorder, const struct sonde_recorder_heap_site *site);
/* These set the record's type and write it. heap_leak(): the blocks of a site that were live at the exit of their
 * process; nothing is written if there are none. snapshot(): the state of a process at one time; returns the number of
 * the snapshot within the recording, from 1.
 */
void sonde_recorder_heap_leak(struct sonde_recorder *recorder, struct sonde_meta_heap_leak *record);
uint32_t sonde_recorder_snapshot(struct sonde_recorder *recorder, struct sonde_meta_snapshot *record);

/* Writes columns as a chunk whose other fields the caller has filled in. */
int sonde_recorder_chunk(struct sonde_recorder *recorder, struct sonde_columns *columns, struct sonde_chunk *chunk);

/* --- metadata of the recording ----------------------------------------------------------------------------------- */

void sonde_recorder_info(struct sonde_recorder *recorder, const char *key, const char *value);

struct sonde_recorder_state {
	enum sonde_source_state state;
	const char *method; /* how it was measured; NULL = none */
	const char *detail; /* what is missing and how to get it; NULL = nothing */
	double rate_hz;     /* requested sampling rate; 0 = the source does not sample */
	double effective_hz;
};

/* A later record of the same name replaces an earlier one. */
void sonde_recorder_source(struct sonde_recorder *recorder, const char *name, const struct sonde_recorder_state *state);

/* Lost events. Their counts are summed by (source, cause, thread), and written when the recording closes unless the sum
 * is 0. */
struct sonde_recorder_loss {
	const char *source, *cause;
	uint32_t process, thread; /* 0 = unknown */
	uint64_t count, time_ns;  /* time_ns: 0 = now */
};

void sonde_recorder_lost(struct sonde_recorder *recorder, const struct sonde_recorder_loss *loss);
/* The total number of losses so far, and the first source and cause: "zones: the ring was full"; "" = none. */
uint64_t sonde_recorder_lost_count(const struct sonde_recorder *recorder, char *first, size_t first_b);
void sonde_recorder_cost(struct sonde_recorder *recorder, const char *what, uint64_t value);

/* A merged histogram of a site; `hits`: SONDE_HIST_BUCKETS values (fold/hist.h). Written at once. */
struct sonde_recorder_histogram {
	uint32_t site, process;
	const uint64_t *hits;
	uint64_t count, sum, min, max;
};

void sonde_recorder_histogram(struct sonde_recorder *recorder, const struct sonde_recorder_histogram *histogram);

/* Resolves the sampled addresses and writes SYMBOL records until deadline_ns; the rest is left to readers. */
int sonde_recorder_symbols(struct sonde_recorder *recorder, uint64_t deadline_ns);

/* Flushes, then writes the losses and the CLOSE record. The caller closes the writer. */
int sonde_recorder_close(struct sonde_recorder *recorder, int status, uint64_t time_ns);

#endif
