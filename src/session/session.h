/* session.h: a recording opened for reading: its tables by id, and cursors over its events.
 *
 * Everything is read-only. Pointers live as long as the session. Tables are complete after open (and grow in
 * sonde_session_refresh() while the recording is being written, which invalidates pointers to table rows). Cursors may
 * run in several threads at once. Ids are those of the file (format/record.h): dense, from 1; a getter given an id that
 * does not exist returns NULL (or, for names, "").
 */
#ifndef SONDE_SESSION_SESSION_H
#define SONDE_SESSION_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "format/device.h"
#include "format/event.h"
#include "format/chunks.h"
#include "format/record.h"
#include "format/wait.h"

struct sonde_session;

/* Which part of a recording; all zero: the whole. */
struct sonde_selection {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; to_ns is not included, 0 = to the end */
	const uint8_t *thread;   /* by thread id: not 0 = selected; NULL = all. Of heaps: who allocated a block */
};

/* Whether an event at this time and of this thread is selected. */
static inline int sonde_selection_takes(const struct sonde_selection *selection, uint64_t time_ns, uint32_t thread)
{
	return time_ns >= selection->from_ns && (!selection->to_ns || time_ns < selection->to_ns) &&
	       (!selection->thread || selection->thread[thread]);
}

struct sonde_session_options {
	int no_symbols; /* do not look anything up beyond what the recording holds */
	int debuginfod; /* ask debuginfod servers for missing debug files */
	int growing;    /* it is still being written: that it has no end is nothing to warn of */
	int fd;         /* of the recording where it is open, which the path then only names; 0 = it is not */
};

/* `options` may be NULL. */
int sonde_session_open(struct sonde_session **out, const char *path, const struct sonde_session_options *options);
void sonde_session_close(struct sonde_session *session);

/* How many chunks are new, or a negative errno. */
int sonde_session_refresh(struct sonde_session *session);

const char *sonde_session_path(const struct sonde_session *session);
const struct sonde_file_head *sonde_session_head(const struct sonde_session *session);

/* --- the run --------------------------------------------------------------------------------------------------- */

struct sonde_run {
	uint64_t start_ns; /* of the recording */
	uint64_t end_ns;   /* its close; of a file that was cut off the command's end, or the last event */
	uint64_t wall_ns;
	uint64_t first_event_ns, last_event_ns; /* that the file holds; both start_ns when there is none */
	uint64_t user_ns;                       /* CPU time of all processes; 0 with cpu_known = 0 when not measured */
	uint64_t system_ns;
	int cpu_known;
	int closed;  /* closed in order */
	int growing; /* not closed, and still being written */
	const char
	    *incomplete; /* why it does not have the whole run: "disk full after 12.3 s of 100.1 s"; NULL = it does */
	int status;      /* of the command, as wait(2); -1 = not known */
	uint64_t damaged_b; /* bytes that could not be read */
	uint64_t damaged_at;
	uint64_t skipped_chunks; /* of a newer format, or whose content made no sense */
	uint64_t skipped_records;
	uint64_t file_b;
	uint32_t root_process;  /* the command's, 0 = none */
	uint64_t boot_ahead_ns; /* CLOCK_BOOTTIME − CLOCK_MONOTONIC as recording began: time that it was suspended */
	int boot_known;
};

const struct sonde_run *sonde_session_run(const struct sonde_session *session);

/* A merged recording (`sonde merge`) is made of several, each with a window of time and with processes of its own; any
 * other is one part. */
struct sonde_part {
	const char *name;    /* "" = of a recording that was not merged */
	const char *machine; /* "" = there is one */
	const char *note;    /* what was left out of it; "" = nothing */
	uint64_t start_ns, end_ns;
	uint32_t first_process, last_process; /* ids */
	uint32_t root_process;                /* the command's, 0 = none */
	int attached;                         /* to what was there before */
	int closed;                           /* in order */
};

size_t sonde_session_part_count(const struct sonde_session *session);
const struct sonde_part *sonde_session_part(const struct sonde_session *session, size_t i);
/* The part of a process, never NULL; of process 0, and of one of no part, the whole recording. */
const struct sonde_part *sonde_session_part_of(const struct sonde_session *session, uint32_t process);
/* Which part an INFO key "merged.N.WHAT" is of, from 1, and WHAT; 0 = of none. */
size_t sonde_part_key(const char *key, const char **what);

/* What a sample of the cpu source stands for: the inverse of its effective rate; 1 ms where that is not known. */
uint64_t sonde_session_period_ns(const struct sonde_session *session);

/* One user-data pointer for each module above that keeps something with a session. `free` (NULL = nothing is kept) runs
 * when the session is closed, while all of it is still there. */
enum sonde_session_keeper {
	SONDE_KEPT_TILES = 0,
	SONDE_KEPT_CRITICAL, /* freed in sonde_session_refresh(), too */
	SONDE_KEPT_COUNT
};

struct sonde_session_kept {
	void *data;
	void (*free)(void *data);
};

struct sonde_session_kept *sonde_session_kept(struct sonde_session *session, enum sonde_session_keeper keeper);

/* Bytes that could not be read, as run.damaged_b, but with the damaged chunks that cursors have met since opening. */
uint64_t sonde_session_damaged_b(const struct sonde_session *session);

/* The value of an INFO record ("host.cpu"), or NULL. */
const char *sonde_session_info(const struct sonde_session *session, const char *key);
size_t sonde_session_info_count(const struct sonde_session *session);
void sonde_session_info_at(const struct sonde_session *session, size_t i, const char **key, const char **value);

/* --- tables ---------------------------------------------------------------------------------------------------- */

/* Never NULL; "" for id 0. May hold any bytes but NUL (escaped by whoever shows it). */
const char *sonde_session_string(const struct sonde_session *session, uint32_t id);

struct sonde_process {
	uint32_t id, pid, parent;
	const char *name;
	const char *command; /* "" = not known */
	uint64_t start_ns;
	uint64_t end_ns;                         /* 0 = not seen to end */
	int32_t status;                          /* as wait(2); -1 = not known */
	uint64_t user_ns, system_ns, peak_rss_b; /* 0 = not known */
	/* Of a process that was waited for, with the children that it waited for itself; else 0. */
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t read_b, written_b; /* from and to storage */
};

struct sonde_thread {
	uint32_t id, process, tid;
	const char *name;
	uint64_t start_ns;
	uint64_t end_ns; /* 0 = not seen to end */
	uint64_t cpu_ns; /* measured; 0 = not measured */
};

struct sonde_module {
	uint32_t id, flags, process;
	const char *path;
	const char *name;     /* last part of the path */
	const char *build_id; /* hex, "" = none */
};

struct sonde_site {
	uint32_t id, kind, line, color;
	const char *name, *function, *file, *unit; /* "" = none */
};

struct sonde_source_row {
	const char *name, *method, *detail; /* "" = none */
	uint32_t state;
	double rate_hz, effective_hz;
};

struct sonde_lost {
	const char *source, *cause;
	uint32_t process, thread;
	uint64_t count, from_ns, to_ns;
};

struct sonde_cost {
	const char *what;
	uint64_t value;
};

/* A merged histogram of a site; buckets by fold/hist.h, `hits` has SONDE_HIST_BUCKETS values. */
struct sonde_histogram {
	uint32_t site, process;
	uint64_t count, sum, min, max;
	const uint64_t *hits;
};

/* Blocks of one kind in one process. */
struct sonde_heap {
	uint32_t id, process;
	uint32_t kind;    /* enum sonde_heap_kind */
	const char *name; /* a pool's; "" = none */
};

struct sonde_snapshot {
	uint32_t process;
	uint32_t reason; /* enum sonde_snapshot_reason */
	const char *label;
	uint64_t time_ns;
	uint64_t rss_b, pss_b; /* 0 = not known */
};

/* A number that was read again and again (format/metrics.def). */
struct sonde_series {
	uint32_t id;
	uint32_t kind;            /* enum sonde_metric_kind */
	uint32_t process, thread; /* both 0: the machine's */
	const char *name, *unit;  /* "memory.rss", "B" */
	const char *object;       /* which disk, network, meter; "" = none */
};

/* What calls of a process wait for. */
struct sonde_object {
	uint32_t id, process;
	uint32_t kind;    /* enum sonde_object_kind */
	const char *name; /* "" = none */
	uint64_t address;
};

/* A device as one process sees it; what is 0 is not known. Kinds, flags and what a unit is: include/sonde/device.h. */
struct sonde_device {
	uint32_t id, process;
	uint32_t kind;
	uint32_t index;                         /* among the devices of its API */
	const char *api, *name, *uuid, *driver; /* "" = not known */
	uint32_t units, clock_mhz;
	uint32_t warp, warps_unit, blocks_unit, registers_unit;
	uint64_t shared_unit_b, memory_b, memory_b_per_s;
	uint32_t capability;
	uint32_t same; /* id: the first row of the same device; of most its own (meta_devices.c) */
};

/* A queue or stream of a device. */
struct sonde_queue {
	uint32_t id, process;
	uint32_t device; /* id, 0 = not known */
	uint32_t flags;
	uint64_t context, handle;
	const char *name; /* "" = none */
};

/* What a device, or the host for it, does. */
struct sonde_operation {
	uint32_t id, process;
	uint32_t kind;    /* of activities.def */
	const char *name; /* as the device's API has it */
	uint32_t grid[3], block[3];
	uint32_t registers, local_b;
	uint32_t static_shared_b, dynamic_shared_b, shared_unit_b;
	uint8_t from, to;
	uint32_t from_device, to_device; /* ids, 0 = the queue's */
};

/* Where blocks of a heap begin. */
struct sonde_heap_site {
	uint32_t id, heap, thread;
	uint32_t stack;  /* leaf node, 0 = none */
	uint32_t status; /* enum sonde_stack_status */
};

/* Blocks of a site that were there when their process ended. */
struct sonde_heap_rest {
	uint32_t site;
	uint32_t kind; /* enum sonde_heap_leak */
	uint64_t blocks, size_b;
	const char *detail; /* "" = none */
	double variance;    /* of size_b, when it is an estimate, in B² */
};

size_t sonde_session_process_count(const struct sonde_session *session);
size_t sonde_session_thread_count(const struct sonde_session *session);
size_t sonde_session_module_count(const struct sonde_session *session);
size_t sonde_session_site_count(const struct sonde_session *session);
size_t sonde_session_source_count(const struct sonde_session *session);
size_t sonde_session_lost_count(const struct sonde_session *session);
size_t sonde_session_cost_count(const struct sonde_session *session);
size_t sonde_session_histogram_count(const struct sonde_session *session);
size_t sonde_session_heap_count(const struct sonde_session *session);
size_t sonde_session_snapshot_count(const struct sonde_session *session);
size_t sonde_session_series_count(const struct sonde_session *session);
size_t sonde_session_object_count(const struct sonde_session *session);
size_t sonde_session_device_count(const struct sonde_session *session);
size_t sonde_session_queue_count(const struct sonde_session *session);
size_t sonde_session_operation_count(const struct sonde_session *session);
size_t sonde_session_heap_site_count(const struct sonde_session *session);
size_t sonde_session_heap_rest_count(const struct sonde_session *session);
size_t sonde_session_node_count(const struct sonde_session *session);

/* By id: 1 … count. */
const struct sonde_process *sonde_session_process(const struct sonde_session *session, uint32_t id);
const struct sonde_thread *sonde_session_thread(const struct sonde_session *session, uint32_t id);
const struct sonde_module *sonde_session_module(const struct sonde_session *session, uint32_t id);
const struct sonde_site *sonde_session_site(const struct sonde_session *session, uint32_t id);
const struct sonde_heap *sonde_session_heap(const struct sonde_session *session, uint32_t id);
const struct sonde_series *sonde_session_series(const struct sonde_session *session, uint32_t id);
const struct sonde_object *sonde_session_object(const struct sonde_session *session, uint32_t id);
const struct sonde_device *sonde_session_device(const struct sonde_session *session, uint32_t id);
const struct sonde_queue *sonde_session_queue(const struct sonde_session *session, uint32_t id);
const struct sonde_operation *sonde_session_operation(const struct sonde_session *session, uint32_t id);
const struct sonde_heap_site *sonde_session_heap_site(const struct sonde_session *session, uint32_t id);
/* By index: 0 … count − 1. */
const struct sonde_snapshot *sonde_session_snapshot(const struct sonde_session *session, size_t i);
const struct sonde_heap_rest *sonde_session_heap_rest(const struct sonde_session *session, size_t i);
const struct sonde_source_row *sonde_session_source(const struct sonde_session *session, size_t i);
const struct sonde_lost *sonde_session_lost(const struct sonde_session *session, size_t i);
const struct sonde_cost *sonde_session_cost(const struct sonde_session *session, size_t i);
const struct sonde_histogram *sonde_session_histogram(const struct sonde_session *session, size_t i);

/* --- stacks, frames, functions ----------------------------------------------------------------------------------
 * A stack is a node of the trie; `parent` leads towards the root. A node's frame is one machine address; it stands for
 * one or more locations: the innermost inlined function first, the function that holds the code last. */
struct sonde_node {
	uint32_t parent; /* 0 = this is a root */
	uint32_t frame;  /* index for sonde_session_frame() */
};

/* A function is one (name, module) pair, or an unnamed one (its call-frame range). */
struct sonde_function {
	uint32_t id;
	uint32_t module;
	const char *name; /* "sqlite3VdbeExec"; unnamed: "libsqlite3.so.0+0xf8880" */
	const char *file; /* "" = not known */
	uint32_t line;    /* where it starts; 0 = not known */
	uint64_t start;   /* address in the module, 0 = only ever seen inlined */
	int unnamed;
};

struct sonde_location {
	uint32_t function; /* id */
	const char *file;  /* of the line; "" = not known */
	uint32_t line;     /* 0 = not known */
};

struct sonde_frame {
	uint32_t module;
	uint32_t location_count; /* ≥ 1 */
	uint64_t address;
	const struct sonde_location *locations;
};

const struct sonde_node *sonde_session_node(const struct sonde_session *session, uint32_t id);
const struct sonde_frame *sonde_session_frame(const struct sonde_session *session, uint32_t index);
size_t sonde_session_frame_count(const struct sonde_session *session);
const struct sonde_function *sonde_session_function(const struct sonde_session *session, uint32_t id);
size_t sonde_session_function_count(const struct sonde_session *session);

/* --- events ----------------------------------------------------------------------------------------------------- */

/* Whole zones, in the order in which they ended; those still open at the end of the recording come last with
 * SONDE_ZONE_UNFINISHED and a duration up to the end of their thread, else of the recording. */
struct sonde_zones_columns {
	const uint64_t *start_ns;
	const uint64_t *dur_ns;
	const uint64_t *self_ns;
	const uint32_t *site;
	const uint16_t *depth; /* 0 = outermost */
	const uint8_t *flags;  /* enum sonde_zone_flag */
};

/* Blocks of one heap, in time order. */
struct sonde_blocks_columns {
	const uint64_t *time_ns; /* of every time_every-th event exact, between them interpolated */
	const uint64_t *size_b;
	const uint32_t *thread;
	const uint32_t *site; /* heap site; 0 = not known */
	const uint8_t *ends;  /* 0: the block begins */
	uint64_t mean_b;      /* bytes between samples; 0 = every block */
	uint32_t time_every;
	uint32_t id; /* of the heap; 0 = not known */
};

/* One chunk's worth of events, decoded into columns of `count` values; which of the columns there are, the type says.
 * Valid until the cursor's next call. */
struct sonde_batch {
	uint32_t type;            /* enum sonde_chunk_type */
	uint32_t process, thread; /* ZONES, EVENTS */
	size_t count;
	union {
		struct sonde_samples_columns samples;
		struct sonde_switches_columns switches;
		struct sonde_series_columns series;
		struct sonde_waits_columns waits;
		struct sonde_activities_columns activities;
		struct sonde_call_stacks_columns call_stacks;
		struct sonde_zones_columns zones;
		struct sonde_blocks_columns heap;
		const struct sonde_event *const *events; /* format/event.h; times are CLOCK_MONOTONIC ns */
	};
};

enum sonde_zone_flag {
	SONDE_ZONE_UNFINISHED = 1,
	SONDE_ZONE_RECURSIVE = 2, /* inside a zone of the same site */
};

struct sonde_cursor;

/* `types`: bits 1 << enum sonde_chunk_type. Each type comes in file order; ZONES and EVENTS in time order per thread.
 */
int sonde_cursor_open(struct sonde_cursor **out, struct sonde_session *session, uint32_t types);

/* The same over every `parts`-th chunk of each type only, beginning with the one numbered `part` (0 … parts − 1), so
 * that threads share the decoding: all parts together give every event once. */
int sonde_cursor_open_part(struct sonde_cursor **out, struct sonde_session *session, uint32_t types, unsigned part,
			   unsigned parts);
void sonde_cursor_close(struct sonde_cursor *cursor);

/* What of the events is wanted; a field of 0 wants all. */
struct sonde_cursor_wanted {
	uint64_t from_ns, to_ns; /* what lies in this time with any part of it, both ends included */
	uint32_t process, thread;
	uint32_t site; /* of zones */
};

/* Before the first sonde_cursor_next(): chunks in which certainly nothing is wanted are left out, unread. All of the
 * others come, with what is not wanted. -ENOMEM. */
int sonde_cursor_want(struct sonde_cursor *cursor, const struct sonde_cursor_wanted *wanted);

/* 1 and a batch, 0 at the end, or a negative errno (a chunk that cannot be decoded: skip it by calling again). */
int sonde_cursor_next(struct sonde_cursor *cursor, const struct sonde_batch **out);

/* The zones of one ZONES chunk, by its number (sonde_session_zone_chunks()): 1 and a batch as above; a negative errno.
 * The cursor is open for zones, and is not to be walked any more. */
int sonde_cursor_zones(struct sonde_cursor *cursor, size_t chunk, const struct sonde_batch **out);
/* What a thread has open behind the chunk that was read last, as unfinished: right after its last one. 0: nothing. */
int sonde_cursor_zones_open(struct sonde_cursor *cursor, uint32_t thread, const struct sonde_batch **out);

/* How zones lie in time (fold/nodes.h), one after the other of one depth of the chunk. Times are ns, sites as in
 * batches. */
struct sonde_zone_node {
	uint64_t from_ns, to_ns, busy_ns, longest_ns;
	uint32_t depth, site, count;
};

/* A ZONES chunk, from its head and summary. */
struct sonde_zone_chunk {
	size_t chunk; /* its number */
	uint32_t process, thread;
	uint32_t events;     /* begins and ends */
	uint64_t open_after; /* zones that are open when it ends */
	int is_damaged;      /* its summary cannot be read: only what is above is known, and the events */
	int has_nodes;   /* else it is of an older recording, or they are damaged: they are to be made of the zones */
	uint64_t deeper; /* zones in no node, since they are too deep */
	const struct sonde_zone_node *nodes;
	size_t node_count;
	const struct sonde_zone_stat *stats; /* as in sonde_session_zone_stats_each() */
	size_t stat_count;
};

/* Calls `take` for each ZONES chunk in file order, until it returns what is not 0. Nothing is decoded. Rows live until
 * the call returns. -ENOMEM. */
int sonde_session_zone_chunks(struct sonde_session *session,
			      int (*take)(void *context, const struct sonde_zone_chunk *chunk), void *context);
/* The same from a chunk's number on: of a recording that grows, what is new has higher numbers. */
int sonde_session_zone_chunks_from(struct sonde_session *session, size_t first,
				   int (*take)(void *context, const struct sonde_zone_chunk *chunk), void *context);
/* Statistics of all zones by site, from the chunk summaries, without decoding the bodies: `stats` has
 * sonde_session_site_count() + 1 rows, indexed by site id; row 0 sums zones of sites that are not known. Chunks that
 * cannot be read are left out; then the sums of all others and a negative errno. */
int sonde_session_zone_stats(struct sonde_session *session, struct sonde_zone_stat *stats);

/* The same sums as they lie in the chunks, of one site and thread each: `take` is called for every row, and stops all
 * by what it returns, if that is not 0. Ids are as in batches. */
int sonde_session_zone_stats_each(struct sonde_session *session,
				  int (*take)(void *context, uint32_t process, uint32_t thread,
					      const struct sonde_zone_stat *stat),
				  void *context);

/* How many events the chunks of a type hold, by their heads: of zones, begins and ends. */
uint64_t sonde_session_event_count(const struct sonde_session *session, enum sonde_chunk_type type);

/* How many zones were ended without having begun, from the same summaries: those that can be read. */
uint64_t sonde_session_zones_unmatched(struct sonde_session *session);

/* --- allocations: from the chunk summaries, without decoding but the one chunk in which the peak lies ------------- */

struct sonde_heap_sum {
	uint64_t begins, begun_b, ends, ended_b, temporary;
	uint64_t peak_blocks, peak_b;                                        /* alive at the peak of its heap */
	uint64_t left_blocks, left_b;                                        /* alive at the end */
	uint64_t largest_b;                                                  /* of the recorded blocks */
	double begun_variance, ended_variance, peak_variance, left_variance; /* of estimates, in B² */
};

/* One heap's. */
struct sonde_heap_total {
	uint64_t peak_b, peak_blocks, peak_ns;
	uint64_t begins, begun_b, ends, ended_b, temporary, unknown;
	uint64_t left_b, left_blocks;
	uint64_t first_ns; /* the first event of a chunk that lies in the part asked for */
	uint64_t mean_b;   /* bytes between samples; 0 = every block */
	uint64_t size_classes[SONDE_HEAP_CLASSES], life_classes[SONDE_HEAP_CLASSES];
};

struct sonde_heap_sums {
	struct sonde_heap_sum *sites;   /* by heap site id; sonde_session_heap_site_count() + 1 rows */
	struct sonde_heap_total *heaps; /* by heap id; sonde_session_heap_count() + 1 rows */
	size_t *users;                  /* who shares them; NULL = nobody */
};

/* What a site holds at some moment. */
struct sonde_heap_alive {
	uint64_t blocks, size_b;
	double variance; /* of an estimate, in B² */
};

/* One of the intervals, equally long, into which a range is divided. */
struct sonde_heap_interval {
	uint64_t peak_b, peak_blocks; /* the most at any moment in it */
	uint64_t live_b, live_blocks; /* at its end */
	uint64_t begins, begun_b, ends, ended_b;
};

/* What was alive at a moment: sonde_session_heap_site_count() + 1 rows by heap site id, zeroed by the caller. Decodes
 * one chunk a heap. Errors as below. */
int sonde_session_heap_alive(struct sonde_session *session, uint64_t time_ns, struct sonde_heap_alive *sites);

/* Moments, and who is told of what changed up to each since the one before it, with what was before the first. */
struct sonde_heap_marks {
	const uint64_t *times_ns; /* rising */
	size_t count;
	void (*add)(void *state, uint32_t site, size_t mark, const struct sonde_heap_alive *change);
	void *state;
};

/* Tells them in one reading, chunk by chunk: those of a heap in time order. Decodes the chunks that moments lie in.
 * Errors as below. */
int sonde_session_heap_marks(struct sonde_session *session, const struct sonde_heap_marks *marks);

/* How much a process held at a moment: what its program then had begun, since executing another one frees all. */
struct sonde_heap_moment {
	uint32_t process; /* the caller's, as is time_ns */
	uint64_t time_ns;
	int known;                    /* its allocations were recorded */
	uint32_t life;                /* malloc's heap then; 0 = none */
	struct sonde_heap_alive live; /* of malloc's blocks */
	uint64_t mapped_b;            /* by the program's own mappings */
	uint64_t mean_b;              /* bytes between samples; 0 = every block was recorded */
};

/* Of each heap by id (sonde_session_heap_count() + 1 rows) malloc's heap of the same program in the same process. */
void sonde_session_heap_lives(const struct sonde_session *session, uint32_t *lives);
/* By heap id (as many rows): when all of it was gone, since its process had ended, or executed another program, whose
 * first block this was; 0 = not seen to end. -ENOMEM. */
int sonde_session_heap_ends(struct sonde_session *session, uint64_t *ends_ns);
/* Fills in the rows, in one reading of the summaries; decodes a chunk for each moment that lies in it. */
int sonde_session_heap_moments(struct sonde_session *session, struct sonde_heap_moment *rows, size_t count);

/* Free with sonde_heap_sums_free(); not to be written, since who asks for the same gets the same. Chunks that cannot be
 * read are left out; then a negative errno, and the rest. */
int sonde_session_heap_sums(struct sonde_session *session, struct sonde_heap_sums *out);
/* Of a part: decodes the two chunks a heap at its ends; all of them where threads are chosen. NULL = the whole. */
int sonde_session_heap_sums_of(struct sonde_session *session, const struct sonde_selection *range,
			       struct sonde_heap_sums *out);
/* Of one heap, over a range that has both ends; decodes the chunks that lie in more than one interval. */
int sonde_session_heap_timeline(struct sonde_session *session, uint32_t heap, const struct sonde_selection *range,
				struct sonde_heap_interval *rows, size_t count);
void sonde_heap_sums_free(struct sonde_heap_sums *sums);

#endif
