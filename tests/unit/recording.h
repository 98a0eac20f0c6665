/* recording.h: makes small recordings with known contents for tests, straight through trace/writer.h.
 *
 * Every call succeeds or ends the program: a test that cannot make its input has nothing to say. Ids are given in the
 * order of the calls, from 1. Nothing is written before a chunk is full, recording_flush() or recording_close(). The
 * same calls make the same bytes: recordings start at RECORDING_START_NS and have a fixed id.
 */
#ifndef SONDE_TESTS_RECORDING_H
#define SONDE_TESTS_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "format/device.h"
#include "format/event.h"
#include "format/meta.h"
#include "format/metric.h"
#include "format/record.h"
#include "format/wait.h"
#include "trace/writer.h"

#define RECORDING_START_NS 1000000000ull /* CLOCK_MONOTONIC */

enum {
	RECORDING_MAX_THREADS = 256,
	RECORDING_MAX_DEPTH = 256,
	RECORDING_MAX_HEAPS = 64,
	RECORDING_MAX_HEAP_SITES = 256
};

struct recording_sample {
	uint64_t time_ns;
	uint32_t thread, stack;
	uint64_t weight_ns;
	uint8_t status;
};

struct recording_switch {
	uint64_t time_ns;
	uint32_t thread;
	uint8_t kind;
	int cpu;            /* −1 = not known */
	uint64_t waited_ns; /* + 1; 0 = not known */
	uint32_t by;
};

struct recording_point {
	uint64_t time_ns;
	uint32_t series;
	int64_t value;
};

struct recording_wait {
	uint64_t start_ns, dur_ns;
	uint32_t thread, other;
	enum sonde_wait_kind kind;
	uint32_t stack;
	uint8_t status;
	uint32_t object;
	uint64_t amount;
};

/* Times are CLOCK_MONOTONIC ns; those that are 0 are not known. */
struct recording_activity {
	uint64_t start_ns, dur_ns;
	uint32_t operation, queue, thread;
	uint64_t queued_ns, submitted_ns;
	uint64_t correlation, size_b, address;
};

struct recording_node {
	uint32_t parent, module;
	uint64_t address;
};

struct recording_mark {
	uint32_t site; /* 0 = end */
	uint64_t time_ns;
};

/* What a thread has not written yet. */
struct recording_thread {
	struct recording_mark *marks;
	size_t mark_count, mark_cap;
	struct sonde_zone_open open[RECORDING_MAX_DEPTH]; /* at the start of the chunk */
	uint32_t depth;
	struct sonde_buf *events;
	uint32_t event_count;
	uint64_t event_min_ns, event_max_ns;
};

struct recording_block {
	uint64_t time_ns, size_b, born_ns;
	uint32_t site, thread;
	uint8_t ends, temporary;
};

/* What is alive of a heap, and what happened since its last chunk. */
struct recording_heap {
	struct recording_block *events, *live; /* live: all that began, also what has ended */
	size_t event_count, event_cap, live_count, live_cap;
	uint64_t before_b, before_blocks; /* alive before the next chunk */
	size_t last;                      /* + 1: the block that began last */
};

struct recording {
	struct sonde_writer *writer;
	char path[256];
	int has_nodes;     /* chunks of zones have nodes in their summaries; may be set after opening */
	size_t spoils;     /* the so-manieth byte of each of these is another one; 0 = none */
	size_t chunk_rows; /* number of events after which a chunk is written; may be changed after opening */
	uint32_t strings, processes, threads, modules, sites, nodes;
	uint32_t process_of[RECORDING_MAX_THREADS];
	struct recording_thread *thread[RECORDING_MAX_THREADS];
	struct recording_node *node; /* all nodes by id − 1 */
	size_t node_cap, nodes_written;
	uint32_t heaps, heap_sites, heap_process[RECORDING_MAX_HEAPS];
	uint32_t heap_of[RECORDING_MAX_HEAP_SITES], heap_thread[RECORDING_MAX_HEAP_SITES]; /* by heap site */
	struct recording_heap *heap[RECORDING_MAX_HEAPS];
	uint32_t time_every; /* of HEAP chunks; 1 unless it is set after opening */
	uint64_t mean_b;     /* the same: 0 = every block was recorded */
	struct recording_sample *samples;
	size_t sample_count, sample_cap;
	struct recording_switch *switches;
	size_t switch_count, switch_cap;
	struct recording_point *points;
	size_t point_count, point_cap;
	struct recording_wait *waits;
	size_t wait_count, wait_cap;
	uint32_t series, objects;
	struct recording_activity *activities;
	size_t activity_count, activity_cap;
	uint32_t devices, queues, operations;
	char **functions; /* of recording_call() */
	size_t function_count, function_cap;
	struct recording_node *symbols; /* (0, module, address) that have a SYMBOL record */
	size_t symbol_count, symbol_cap;
};

/* One location of recording_symbol(): NULL or "" and 0 = not known. */
struct recording_place {
	const char *function, *file;
	uint32_t line;
	uint64_t start;
};

void recording_open(struct recording *recording, const char *path);
void recording_flush(struct recording *recording);
void recording_close(struct recording *recording, uint64_t time_ns, int status);
/* Ends without closing: what a killed recorder leaves. */
void recording_abandon(struct recording *recording);

uint32_t recording_string(struct recording *recording, const char *text);
void recording_info(struct recording *recording, const char *key, const char *value);
uint32_t recording_process(struct recording *recording, uint32_t pid, uint32_t parent, const char *name,
			   uint64_t start_ns);
void recording_process_end(struct recording *recording, uint32_t process, uint64_t time_ns, uint64_t user_ns,
			   uint64_t system_ns);
uint32_t recording_thread(struct recording *recording, uint32_t process, uint32_t tid, const char *name,
			  uint64_t start_ns);
void recording_thread_end(struct recording *recording, uint32_t thread, uint64_t time_ns, uint64_t cpu_ns);
uint32_t recording_module(struct recording *recording, const char *path, uint32_t flags);
uint32_t recording_site(struct recording *recording, uint32_t kind, const char *name, const char *unit);
void recording_source(struct recording *recording, const char *name, uint32_t state, const char *method,
		      const char *detail, double rate_hz);
void recording_lost(struct recording *recording, const char *source, const char *cause, uint64_t count);
void recording_lost_of(struct recording *recording, const char *source, const char *cause, uint32_t process,
		       uint64_t count);
void recording_cost(struct recording *recording, const char *what, uint64_t value);
void recording_histogram(struct recording *recording, uint32_t site, uint32_t process, const uint64_t *values,
			 size_t count);

/* Stacks. recording_call() is recording_node() of `function` at `line` of "src/FUNCTION.c", its symbol included. */
void recording_symbol(struct recording *recording, uint32_t module, uint64_t address,
		      const struct recording_place *places, uint32_t count);
uint32_t recording_node(struct recording *recording, uint32_t parent, uint32_t module, uint64_t address);
uint32_t recording_call(struct recording *recording, uint32_t parent, uint32_t module, const char *function,
			uint32_t line);

/* Events; times of one thread must not decrease. */
void recording_sample(struct recording *recording, struct recording_sample sample);
void recording_switch(struct recording *recording, uint64_t time_ns, uint32_t thread, enum sonde_switch_kind kind);
/* The same with the CPU. A chunk in which none is known has no column for it. */
void recording_switch_on(struct recording *recording, uint64_t time_ns, uint32_t thread, enum sonde_switch_kind kind,
			 int cpu);
/* It got that CPU, and was woken by a thread (0 = not known) so long before. A chunk without one lacks the columns. */
void recording_switch_woken(struct recording *recording, uint64_t time_ns, uint32_t thread, int cpu, uint64_t waited_ns,
			    uint32_t by);
/* A number over time: process and thread 0: the machine's; `object` "" = none. */
uint32_t recording_series(struct recording *recording, enum sonde_metric metric, uint32_t process, uint32_t thread,
			  const char *object);
void recording_point(struct recording *recording, uint64_t time_ns, uint32_t series, int64_t value);
uint32_t recording_object(struct recording *recording, uint32_t process, enum sonde_object_kind kind, const char *name,
			  uint64_t address);
void recording_wait(struct recording *recording, struct recording_wait wait);
/* Devices: `with` has what the other arguments do not. Queues and operations belong to process 1. */
uint32_t recording_device(struct recording *recording, uint32_t process, const char *api, const char *name,
			  struct sonde_meta_device with);
uint32_t recording_queue(struct recording *recording, uint32_t device, const char *name, uint64_t handle);
/* `flags`: enum sonde_queue_flag. */
uint32_t recording_queue_of(struct recording *recording, uint32_t process, uint32_t device, const char *name,
			    uint64_t handle);
uint32_t recording_queue_with(struct recording *recording, uint32_t device, const char *name, uint64_t handle,
			      uint32_t flags);
uint32_t recording_operation(struct recording *recording, enum sonde_activity_kind kind, const char *name,
			     struct sonde_meta_operation with);
void recording_activity(struct recording *recording, struct recording_activity activity);
void recording_begin(struct recording *recording, uint32_t thread, uint32_t site, uint64_t time_ns);
void recording_end(struct recording *recording, uint32_t thread, uint64_t time_ns);
void recording_value(struct recording *recording, uint32_t thread, enum sonde_event_type type, uint32_t site,
		     uint64_t time_ns, double value);
void recording_text(struct recording *recording, uint32_t thread, enum sonde_event_type type, uint32_t site,
		    uint64_t time_ns, const char *text);
void recording_span(struct recording *recording, uint32_t thread, enum sonde_event_type type, uint32_t site,
		    uint64_t time_ns, uint64_t id);
void recording_work(struct recording *recording, uint32_t thread, uint64_t time_ns, double flop, double bytes,
		    double items);
void recording_block(struct recording *recording, uint32_t thread, enum sonde_event_type type, uint32_t site,
		     uint64_t time_ns, uint64_t address, uint64_t size_b);
/* Blocks. One is named by what recording_begins() returns. Times of a heap must not decrease. */
uint32_t recording_heap(struct recording *recording, uint32_t process, enum sonde_heap_kind kind, const char *name);
uint32_t recording_heap_site(struct recording *recording, uint32_t heap, uint32_t thread, uint32_t stack);
size_t recording_begins(struct recording *recording, uint32_t site, uint64_t time_ns, uint64_t size_b);
void recording_ends(struct recording *recording, uint32_t heap, size_t block, uint32_t thread, uint64_t time_ns);
/* What was left of a site when its process ended, with a variance of mean_b times size_b; `detail` NULL = none. */
void recording_leak(struct recording *recording, uint32_t site, enum sonde_heap_leak kind, uint64_t blocks,
		    uint64_t size_b, const char *detail);

/* Belongs to the innermost open zone. */
void recording_arg(struct recording *recording, uint32_t thread, uint64_t time_ns, const char *key, int64_t value);
void recording_arg_text(struct recording *recording, uint32_t thread, uint64_t time_ns, const char *key,
			const char *text);

#endif
