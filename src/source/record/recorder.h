/* recorder.h: what sources write into: one recording, its ids and its event columns.
 *
 * Interns strings, processes, threads, modules, sites and stacks, buffers event columns into chunks and hands them to
 * the trace writer. One thread. Running out of memory or disk is sticky and found by sonde_recorder_error(); functions
 * that give ids return 0 then, which every caller may pass on.
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

/* Of devices: what they do; and what the host does for them; and where in the program. */
enum sonde_gpu_level { SONDE_GPU_KERNELS = 1, SONDE_GPU_API, SONDE_GPU_FULL };

#define SONDE_RESOURCES_LEAST_INTERVAL_NS 10000000u /* between two readings of what processes and the machine use */

/* What `sonde record` was asked. Texts are borrowed. */
struct sonde_record_options {
	const char *output;
	int output_fd;        /* a file that is written to instead, `output` being what it is called; 0 = none */
	char **command;       /* NULL when attaching */
	pid_t attach;         /* 0 = launch */
	uint64_t rate_hz;     /* samples per CPU second, 1 … 10000 */
	uint64_t duration_ns; /* 0 = until the command ends */
	uint64_t buffer_b;    /* cap of all rings of the session */
	enum sonde_on_full on_full;
	uint64_t keep_ns; /* flight recorder, 0 = stream */
	const char *when; /* trigger, NULL = none */
	int overwrite;
	int quiet;
	int keep_arguments; /* command lines as they are, with passwords (fold/redact.h) */
	int no_perf;        /* do not use perf events (tests, or a wish) */
	int no_inject;      /* put nothing into the target */
	int no_symbols;     /* leave symbols to the reader */
	int debuginfod;
	uint32_t stack_b;            /* stack copy per sample, 0 = default */
	uint32_t waits;              /* what threads wait for: bits of enum sonde_wait_what */
	int blas;                    /* record calls of BLAS and LAPACK */
	int gpu;                     /* enum sonde_gpu_level: what devices do; 0 = not */
	int flop;                    /* FLOP by the processor's counters */
	int heap;                    /* record allocations */
	int heap_is_light;           /* allocations alone, of processes that have a sample */
	uint64_t heap_mean_b;        /* bytes between samples; 0 = every allocation */
	uint64_t memory_every_ns;    /* resident memory over time; 0 = when the recorder is awake anyway */
	uint64_t snapshot_every_ns;  /* of all processes; 0 = not */
	int snapshot_signal;         /* SIGUSR1 takes one, and is not passed on */
	uint64_t resources_every_ns; /* processes and the machine, read again and again; 0 = the default, 100 ms */
	uint64_t flush_every_ns;     /* what was seen is in the file after so long; 0 = a second */
	int only_resources;          /* and threads: no other source runs, and none says that it did not */
	/* Joules; g/kWh and country as typed, for reports: NULL = not given. */
	int energy;
	const char *carbon_intensity, *country;
	/* Something that somebody should know while the command runs, one line without its end; NULL = not called. */
	void (*warn)(const struct sonde_record_options *options, const char *text);
	/* When all sources have begun; NULL = not called. */
	void (*begun)(void *context);
	void *begun_context;
	/* Before and after symbols are looked up, which may take a while; NULL = not called. */
	void (*looking_up)(const struct sonde_record_options *options, int over);
};

/* -EINVAL when options->when cannot be understood. */
int sonde_recorder_new(struct sonde_recorder **out, struct sonde_writer *writer,
		       const struct sonde_record_options *options);
void sonde_recorder_free(struct sonde_recorder *recorder);
const struct sonde_record_options *sonde_recorder_options(const struct sonde_recorder *recorder);
int sonde_recorder_error(const struct sonde_recorder *recorder);

/* Writes out everything that is buffered. */
int sonde_recorder_flush(struct sonde_recorder *recorder);

/* Flight recorder: saves what is kept in memory; how often that was done. */
int sonde_recorder_save(struct sonde_recorder *recorder);
unsigned sonde_recorder_saves(const struct sonde_recorder *recorder);

/* Whether the event of options->when has happened since the last call. */
int sonde_recorder_triggered(struct sonde_recorder *recorder);

/* CPU samples so far. */
uint64_t sonde_recorder_sample_count(const struct sonde_recorder *recorder);

/* Processes so far, also those that ended. */
uint32_t sonde_recorder_process_count(const struct sonde_recorder *recorder);

/* Somebody tells of each process and thread when it begins and ends: perf events that are running. Sources that start
 * later need not look for them. */
void sonde_recorder_tells(struct sonde_recorder *recorder);
int sonde_recorder_is_told(const struct sonde_recorder *recorder);

/* The process that has this number now; 0 = none that is recorded. */
uint32_t sonde_recorder_alive(const struct sonde_recorder *recorder, pid_t pid);

/* A process that was not seen to end. */
struct sonde_recorder_live {
	uint32_t id;
	pid_t pid;
};

/* The first `max` of those whose ids are above `after`; how many. */
size_t sonde_recorder_live(const struct sonde_recorder *recorder, uint32_t after, struct sonde_recorder_live *out,
			   size_t max);

uint32_t sonde_recorder_string(struct sonde_recorder *recorder, const char *text, size_t len_b);
uint32_t sonde_recorder_text(struct sonde_recorder *recorder, const char *text); /* NUL-terminated; NULL → 0 */

/* --- processes and threads: ids stay apart when the kernel uses a number again ----------------------------------- */

/* The live process or thread of that number, made when it is new (name and command from /proc where they can be read).
 */
uint32_t sonde_recorder_process(struct sonde_recorder *recorder, pid_t pid, uint64_t time_ns);
uint32_t sonde_recorder_thread(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns);
/* The thread if it is known already; 0. For numbers that a target makes up. */
uint32_t sonde_recorder_known(const struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns);

/* The thread began earlier than when it was first heard of. */
void sonde_recorder_born(struct sonde_recorder *recorder, uint32_t thread, uint64_t start_ns);

void sonde_recorder_fork(struct sonde_recorder *recorder, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns);
void sonde_recorder_comm(struct sonde_recorder *recorder, pid_t pid, pid_t tid, const char *name, int exec,
			 uint64_t time_ns);
/* cpu_ns: measured CPU time of the thread, 0 = not known. The last thread ends the process. */
void sonde_recorder_exit(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns);

/* Status and use of a process that was waited for, with the children that it waited for itself. */
struct sonde_recorder_end {
	int status; /* as wait(2) */
	uint64_t user_ns, system_ns, peak_rss_b, time_ns;
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t read_b, written_b; /* from and to storage */
};

void sonde_recorder_status(struct sonde_recorder *recorder, pid_t pid, const struct sonde_recorder_end *end);

/* --- modules and stacks --------------------------------------------------------------------------------------------*/

/* See trace/trie.h. */
uint32_t sonde_recorder_module(struct sonde_recorder *recorder, const struct sonde_stack_module_key *key);

/* A new address of the module, never 0, with a SYMBOL record that says what stands there. Not interned. */
uint64_t sonde_recorder_place(struct sonde_recorder *recorder, uint32_t module,
			      const struct sonde_trie_location *locations, size_t count);

/* Interns a stack, leaf first; its node, 0 for an empty one. */
uint32_t sonde_recorder_stack(struct sonde_recorder *recorder, const struct sonde_trie_frame *frames, size_t count);
/* The same below a node (0 = the root), with the node of each frame. 0; -ENOMEM. */
int sonde_recorder_stack_below(struct sonde_recorder *recorder, uint32_t node, const struct sonde_trie_frame *frames,
			       size_t count, uint32_t *nodes);

/* --- events ---------------------------------------------------------------------------------------------- */

void sonde_recorder_sample(struct sonde_recorder *recorder, uint64_t time_ns, uint32_t thread, uint32_t stack,
			   uint64_t weight_ns, uint8_t status);

struct sonde_recorder_switch {
	uint64_t time_ns;
	uint32_t thread;
	enum sonde_switch_kind kind;
	int cpu; /* that it got or lost; −1 = not known */
	/* IN: when it was woken or created since it last had a CPU, and the thread that did it; 0 = not known. */
	uint64_t woken_ns;
	uint32_t by;
};

void sonde_recorder_switch(struct sonde_recorder *recorder, const struct sonde_recorder_switch *event);

struct sonde_recorder_site {
	uint32_t kind, line, color;
	const char *name, *function, *file, *unit; /* NULL = none */
};

uint32_t sonde_recorder_site(struct sonde_recorder *recorder, const struct sonde_recorder_site *site);

/* `count` zone events of a thread in time order: sites[i] is the recording's site id or 0, times CLOCK_MONOTONIC ns. */
void sonde_recorder_zones(struct sonde_recorder *recorder, uint32_t process, uint32_t thread, const uint32_t *sites,
			  const uint64_t *times_ns, size_t count);

/* A thread that zones or events came from has ended and all of them have come: forgets what it needed for them. */
void sonde_recorder_thread_end(struct sonde_recorder *recorder, uint32_t thread);

/* One event; site and time already the recording's. */
void sonde_recorder_event(struct sonde_recorder *recorder, uint32_t process, uint32_t thread,
			  const struct sonde_event *event);

/* A number that is read again and again: of a thread, a process (thread 0) or the machine (both 0); `object` tells
 * several apart, NULL = none. Not interned: who asks again gets another. Its id; 0 when out of memory. */
uint32_t sonde_recorder_series(struct sonde_recorder *recorder, enum sonde_metric metric, uint32_t process,
			       uint32_t thread, const char *object);
/* What it was at a moment; series 0 is ignored. */
void sonde_recorder_point(struct sonde_recorder *recorder, uint64_t time_ns, uint32_t series, int64_t value);

/* What calls of a process wait for; `name` NULL = none. Not interned. Its id; 0 when there is no process. */
struct sonde_recorder_object {
	uint32_t process;
	enum sonde_object_kind kind;
	const char *name;
	uint64_t address;
};

uint32_t sonde_recorder_object(struct sonde_recorder *recorder, const struct sonde_recorder_object *object);

/* --- devices (target/devices.h) ------------------------------------------------------------------------------------
 */

/* Writes the record, to which it gives type and id. Not interned. The id. */
uint32_t sonde_recorder_device(struct sonde_recorder *recorder, struct sonde_meta_device *record);
uint32_t sonde_recorder_queue(struct sonde_recorder *recorder, struct sonde_meta_queue *record);
uint32_t sonde_recorder_operation(struct sonde_recorder *recorder, struct sonde_meta_operation *record);

/* How many devices there are so far, each as often as a process has told of it. */
uint32_t sonde_recorder_devices(const struct sonde_recorder *recorder);

/* In any order of time. */
void sonde_recorder_activity(struct sonde_recorder *recorder, const struct sonde_activities_row *row);
void sonde_recorder_call(struct sonde_recorder *recorder, const struct sonde_call_stacks_row *row);

struct sonde_encoder;
/* Writes the rows of a source's own encoder, and what they name before them. 0, or the writer's error. */
int sonde_recorder_rows(struct sonde_recorder *recorder, struct sonde_encoder *rows);

/* --- allocations (heap/chunks.h) --------------------------------------------------------------------------- */

struct sonde_columns;
struct sonde_chunk;

/* A new heap of a process; `name` is a pool's, else NULL. Its id; 0 when there is no process. */
uint32_t sonde_recorder_heap(struct sonde_recorder *recorder, uint32_t process, enum sonde_heap_kind kind,
			     const char *name);

/* Interned. */
struct sonde_recorder_heap_site {
	uint32_t heap, thread, stack;
	enum sonde_stack_status status;
};

uint32_t sonde_recorder_heap_site(struct sonde_recorder *recorder, const struct sonde_recorder_heap_site *site);
/* Blocks of a site that were there at the end of their process. */
struct sonde_recorder_heap_leak {
	uint32_t site;
	enum sonde_heap_leak kind;
	uint64_t blocks, size_b;
	const char *detail; /* NULL = none */
	double variance;    /* of size_b, when it is an estimate */
};

void sonde_recorder_heap_leak(struct sonde_recorder *recorder, const struct sonde_recorder_heap_leak *leak);
/* A moment of a process; sizes are 0 when they are not known. */
struct sonde_recorder_snapshot {
	uint32_t process;
	enum sonde_snapshot_reason reason;
	uint32_t label; /* a string's id */
	uint64_t time_ns, rss_b, pss_b;
};

/* Its number in the recording, from 1. */
uint32_t sonde_recorder_snapshot(struct sonde_recorder *recorder, const struct sonde_recorder_snapshot *snapshot);

/* Writes columns as a chunk, all of whose other fields are filled in. */
int sonde_recorder_chunk(struct sonde_recorder *recorder, struct sonde_columns *columns, struct sonde_chunk *chunk);

/* --- what is said about the recording -------------------------------------------------------------------- */

void sonde_recorder_info(struct sonde_recorder *recorder, const char *key, const char *value);

struct sonde_recorder_state {
	enum sonde_source_state state;
	const char *method; /* how it was measured; NULL = none */
	const char *detail; /* what is missing and how to get it; NULL = nothing */
	double rate_hz;     /* asked for; 0 = not a sampler */
	double effective_hz;
};

/* The last record of a name holds. */
void sonde_recorder_source(struct sonde_recorder *recorder, const char *name, const struct sonde_recorder_state *state);

/* Added up by (source, cause, thread) and written when the recording closes. */
struct sonde_recorder_loss {
	const char *source, *cause;
	uint32_t process, thread; /* 0 = not known */
	uint64_t count, time_ns;
};

void sonde_recorder_lost(struct sonde_recorder *recorder, const struct sonde_recorder_loss *loss);
/* All that was lost so far, and its first source and cause: "zones: the ring was full"; "" = nothing was. */
uint64_t sonde_recorder_lost_count(const struct sonde_recorder *recorder, char *first, size_t first_b);
void sonde_recorder_cost(struct sonde_recorder *recorder, const char *what, uint64_t value);

/* A merged histogram of a site; `hits`: SONDE_HIST_BUCKETS values (fold/hist.h). Written at once. */
struct sonde_recorder_histogram {
	uint32_t site, process;
	const uint64_t *hits;
	uint64_t count, sum, min, max;
};

void sonde_recorder_histogram(struct sonde_recorder *recorder, const struct sonde_recorder_histogram *histogram);

/* Looks up what was sampled and writes SYMBOL records, until deadline_ns; the rest is left to readers. */
int sonde_recorder_symbols(struct sonde_recorder *recorder, uint64_t deadline_ns);

/* Flushes and writes what was lost and the CLOSE record. The writer is closed by who opened it. */
int sonde_recorder_close(struct sonde_recorder *recorder, int status, uint64_t time_ns);

#endif
