/* session.h: a recording opened for reading: its tables by id, and cursors over its events.
 *
 * Everything is read-only. Pointers live as long as the session. Tables are complete after opening;
 * sonde_session_refresh() extends them while the recording is still being written, which invalidates pointers to table
 * rows. Several threads may each use their own cursor at the same time. Ids are those of the file (format/record.h):
 * dense, starting at 1. For an unknown id a getter returns NULL (or "" for names).
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
	const uint8_t *thread;   /* by thread id: not 0 = selected; NULL = all. Heaps: the allocating threads */
};

/* Whether an event at this time and of this thread is selected. */
static inline int sonde_selection_takes(const struct sonde_selection *selection, uint64_t time_ns, uint32_t thread)
{
	return time_ns >= selection->from_ns && (!selection->to_ns || time_ns < selection->to_ns) &&
	       (!selection->thread || selection->thread[thread]);
}

struct sonde_session_options {
	int no_symbols; /* use only the symbols in the recording */
	int debuginfod; /* ask debuginfod servers for missing debug files */
	int growing;    /* still being written: do not warn that its end is missing */
	int fd;         /* already open file of the recording, `path` is only its name; 0 = open `path` */
};

/* `options` may be NULL. */
int sonde_session_open(struct sonde_session **out, const char *path, const struct sonde_session_options *options);
void sonde_session_close(struct sonde_session *session);

/* Reads what was appended to the recording: the number of new chunks, or a negative errno. */
int sonde_session_refresh(struct sonde_session *session);

const char *sonde_session_path(const struct sonde_session *session);
const struct sonde_file_head *sonde_session_head(const struct sonde_session *session);

/* --- the run --------------------------------------------------------------------------------------------------- */

struct sonde_run {
	uint64_t start_ns; /* start of the recording */
	uint64_t end_ns;   /* when it was closed; if truncated, the command's exit or the last event */
	uint64_t wall_ns;
	uint64_t first_event_ns, last_event_ns; /* in the file; both start_ns if it has none */
	uint64_t user_ns;                       /* CPU time of all processes; 0 with cpu_known = 0 if not measured */
	uint64_t system_ns;
	int cpu_known;
	int closed;  /* the recorder completed the file */
	int growing; /* not closed, and still being written */
	const char
	    *incomplete;    /* why part of the run is missing: "disk full after 12.3 s of 100.1 s"; NULL = complete */
	int status;         /* exit status of the command as in wait(2); -1 = unknown */
	uint64_t damaged_b; /* unreadable bytes */
	uint64_t damaged_at;
	uint64_t skipped_chunks; /* written in a newer format, or malformed */
	uint64_t skipped_records;
	uint64_t file_b;
	uint32_t root_process;  /* process of the command; 0 = none */
	uint64_t boot_ahead_ns; /* CLOCK_BOOTTIME − CLOCK_MONOTONIC at the start: total suspend time */
	int boot_known;
};

const struct sonde_run *sonde_session_run(const struct sonde_session *session);

/* One of the recordings that a merged recording (`sonde merge`) consists of; it has its own time window and processes.
 * Any other recording is a single part. */
struct sonde_part {
	const char *name;    /* "" = the recording is not merged */
	const char *machine; /* "" = all parts are of one machine */
	const char *note;    /* what the merge omitted from this part; "" = nothing */
	uint64_t start_ns, end_ns;
	uint32_t first_process, last_process; /* ids */
	uint32_t root_process;                /* process of its command; 0 = none */
	int attached;                         /* the recorder attached to running processes */
	int closed;                           /* completed by the recorder */
};

size_t sonde_session_part_count(const struct sonde_session *session);
const struct sonde_part *sonde_session_part(const struct sonde_session *session, size_t i);
/* The part that a process belongs to, never NULL. For process 0 or a process outside all parts: the whole recording. */
const struct sonde_part *sonde_session_part_of(const struct sonde_session *session, uint32_t process);
/* Parses an INFO key "merged.N.WHAT": returns N (from 1) and sets *what to WHAT; 0 = not such a key. */
size_t sonde_part_key(const char *key, const char **what);

/* Time that one sample of the cpu source represents: 1 / effective rate; 1 ms if the rate is unknown. */
uint64_t sonde_session_period_ns(const struct sonde_session *session);

/* One user-data pointer for each higher module that attaches data to a session. `free` (NULL = no data) runs when the
 * session is closed, before anything of the session is freed. */
enum sonde_session_keeper {
	SONDE_KEPT_TILES = 0,
	SONDE_KEPT_CRITICAL, /* also freed by sonde_session_refresh() */
	SONDE_KEPT_COUNT
};

struct sonde_session_kept {
	void *data;
	void (*free)(void *data);
};

struct sonde_session_kept *sonde_session_kept(struct sonde_session *session, enum sonde_session_keeper keeper);

/* Unreadable bytes: run.damaged_b plus the damaged chunks that cursors have found since opening. */
uint64_t sonde_session_damaged_b(const struct sonde_session *session);

/* The value of an INFO record ("host.cpu"), or NULL. */
const char *sonde_session_info(const struct sonde_session *session, const char *key);
size_t sonde_session_info_count(const struct sonde_session *session);
void sonde_session_info_at(const struct sonde_session *session, size_t i, const char **key, const char **value);

/* --- tables ---------------------------------------------------------------------------------------------------- */

/* Never NULL; "" for id 0. May contain any byte except NUL; the code that displays it must escape it. */
const char *sonde_session_string(const struct sonde_session *session, uint32_t id);

struct sonde_process {
	uint32_t id, pid, parent;
	const char *name;
	const char *command; /* "" = unknown */
	uint64_t start_ns;
	uint64_t end_ns;                         /* 0 = exit not observed */
	int32_t status;                          /* as in wait(2); -1 = unknown */
	uint64_t user_ns, system_ns, peak_rss_b; /* 0 = unknown */
	/* For a process that was waited for, including the children that it waited for itself; otherwise 0. */
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t read_b, written_b; /* storage I/O */
};

struct sonde_thread {
	uint32_t id, process, tid;
	const char *name;
	uint64_t start_ns;
	uint64_t end_ns; /* 0 = exit not observed */
	uint64_t cpu_ns; /* 0 = not measured */
};

struct sonde_module {
	uint32_t id, flags, process;
	const char *path;
	const char *name;     /* last component of the path */
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

/* Merged histogram of a site. Buckets are those of fold/hist.h; `hits` has SONDE_HIST_BUCKETS values. */
struct sonde_histogram {
	uint32_t site, process;
	uint64_t count, sum, min, max;
	const uint64_t *hits;
};

/* A heap: the blocks of one kind in one process. */
struct sonde_heap {
	uint32_t id, process;
	uint32_t kind;    /* enum sonde_heap_kind */
	const char *name; /* name of a pool; "" = none */
};

struct sonde_snapshot {
	uint32_t process;
	uint32_t reason; /* enum sonde_snapshot_reason */
	const char *label;
	uint64_t time_ns;
	uint64_t rss_b, pss_b; /* 0 = unknown */
};

/* A metric that was sampled repeatedly (format/metrics.def). */
struct sonde_series {
	uint32_t id;
	uint32_t kind;            /* enum sonde_metric_kind */
	uint32_t process, thread; /* both 0: system-wide */
	const char *name, *unit;  /* "memory.rss", "B" */
	const char *object;       /* the disk, network interface or meter; "" = none */
};

/* An object that calls of a process wait for. */
struct sonde_object {
	uint32_t id, process;
	uint32_t kind;    /* enum sonde_object_kind */
	const char *name; /* "" = none */
	uint64_t address;
};

/* A device as seen by one process; 0 = unknown. For kinds, flags and the meaning of a unit see
 * include/sonde/device.h. */
struct sonde_device {
	uint32_t id, process;
	uint32_t kind;
	uint32_t index;                         /* index among the devices of its API */
	const char *api, *name, *uuid, *driver; /* "" = unknown */
	uint32_t units, clock_mhz;
	uint32_t warp, warps_unit, blocks_unit, registers_unit;
	uint64_t shared_unit_b, memory_b, memory_b_per_s;
	uint32_t capability;
	uint32_t same; /* id of the first row of the same physical device, usually this row (meta_devices.c) */
};

/* A queue or stream of a device. */
struct sonde_queue {
	uint32_t id, process;
	uint32_t device; /* id, 0 = unknown */
	uint32_t flags;
	uint64_t context, handle;
	const char *name; /* "" = none */
};

/* An operation of a device, or of the host on its behalf. */
struct sonde_operation {
	uint32_t id, process;
	uint32_t kind;    /* a number of activities.def */
	const char *name; /* as the device's API reports it */
	uint32_t grid[3], block[3];
	uint32_t registers, local_b;
	uint32_t static_shared_b, dynamic_shared_b, shared_unit_b;
	uint8_t from, to;
	uint32_t from_device, to_device; /* ids, 0 = the device of the queue */
};

/* A call site that allocates blocks of a heap. */
struct sonde_heap_site {
	uint32_t id, heap, thread;
	uint32_t stack;  /* leaf node, 0 = none */
	uint32_t status; /* enum sonde_stack_status */
};

/* Blocks of one site that were live when their process exited. */
struct sonde_heap_remainder {
	uint32_t site;
	uint32_t kind; /* enum sonde_heap_leak */
	uint64_t blocks, size_b;
	const char *detail; /* "" = none */
	double variance;    /* variance of size_b, in B², if that is an estimate */
};

/* sonde_session_process(session, id), with ids from 1 to sonde_session_process_count(session), and so on. */
#define SONDE_ROWS_BY_ID(name, rows, row, ...)                                                    \
	const struct row *sonde_session_##name(const struct sonde_session *session, uint32_t id); \
	size_t sonde_session_##name##_count(const struct sonde_session *session);
/* sonde_session_lost(session, i), by index: 0 … count − 1. */
#define SONDE_ROWS(name, rows, row, ...)                                                       \
	const struct row *sonde_session_##name(const struct sonde_session *session, size_t i); \
	size_t sonde_session_##name##_count(const struct sonde_session *session);
#include "session/tables.def"

/* NULL: there is no source of this name. */
const struct sonde_source_row *sonde_session_source_named(const struct sonde_session *session, const char *name);
uint64_t sonde_session_lost_of(const struct sonde_session *session, const char *source); /* sum over all causes */

/* --- stacks, frames, functions ----------------------------------------------------------------------------------
 *  A stack is a node of the trie; `parent` leads towards the root. The frame of a node is one machine address. It
 *  stands for one or more locations: the innermost inlined function first, the function that contains the code last. */
struct sonde_node {
	uint32_t parent; /* 0 = this is a root */
	uint32_t frame;  /* index for sonde_session_frame() */
};

/* A function is identified by (name, module), an unnamed one by its call-frame range. */
struct sonde_function {
	uint32_t id;
	uint32_t module;
	const char *name; /* "sqlite3VdbeExec"; unnamed: "libsqlite3.so.0+0xf8880" */
	const char *file; /* "" = unknown */
	uint32_t line;    /* first line of the function; 0 = unknown */
	uint64_t start;   /* address in the module; 0 = seen only inlined */
	int unnamed;
};

struct sonde_location {
	uint32_t function; /* id */
	const char *file;  /* source file of `line`; "" = unknown */
	uint32_t line;     /* 0 = unknown */
};

struct sonde_frame {
	uint32_t module;
	uint32_t location_count; /* ≥ 1 */
	uint64_t address;
	const struct sonde_location *locations;
};

size_t sonde_session_node_count(const struct sonde_session *session);
const struct sonde_node *sonde_session_node(const struct sonde_session *session, uint32_t id);
const struct sonde_frame *sonde_session_frame(const struct sonde_session *session, uint32_t index);
size_t sonde_session_frame_count(const struct sonde_session *session);
const struct sonde_function *sonde_session_function(const struct sonde_session *session, uint32_t id);
size_t sonde_session_function_count(const struct sonde_session *session);

/* --- events ----------------------------------------------------------------------------------------------------- */

/* Complete zones, in the order in which they ended. Zones still open at the end of the recording come last, marked
 * SONDE_ZONE_UNFINISHED; their duration extends to the end of their thread or else of the recording. */
struct sonde_zones_columns {
	const uint64_t *start_ns;
	const uint64_t *dur_ns;
	const uint64_t *self_ns;
	const uint32_t *site;
	const uint16_t *depth; /* 0 = outermost */
	const uint8_t *flags;  /* enum sonde_zone_flag */
};

/* Allocations and frees of blocks of one heap, in time order. */
struct sonde_blocks_columns {
	const uint64_t *time_ns; /* exact for every time_every-th event, interpolated between */
	const uint64_t *size_b;
	const uint32_t *thread;
	const uint32_t *site; /* heap site; 0 = unknown */
	const uint8_t *ends;  /* 0 = allocation, 1 = free */
	uint64_t mean_b;      /* bytes between samples; 0 = every block was recorded */
	uint32_t time_every;
	uint32_t id; /* id of the heap; 0 = unknown */
};

/* The events of one chunk, decoded into columns of `count` values; `type` determines which columns exist. Valid until
 * the next call on the cursor. */
struct sonde_batch {
	uint32_t type;            /* enum sonde_chunk_type */
	uint32_t process, thread; /* ids; only for ZONES and EVENTS */
	size_t count;
	union {
#define SONDE_COLUMNS(TYPE, chunk) struct sonde_##chunk##_columns chunk;
#include "format/chunks.def"
		struct sonde_zones_columns zones;
		struct sonde_blocks_columns heap;
		const struct sonde_event *const *events; /* format/event.h; times are CLOCK_MONOTONIC in ns */
	};
};

enum sonde_zone_flag {
	SONDE_ZONE_UNFINISHED = 1,
	SONDE_ZONE_RECURSIVE = 2, /* nested in a zone of the same site */
};

struct sonde_cursor;

/* `types`: bits 1 << enum sonde_chunk_type. Each type comes in file order; within a thread, ZONES and EVENTS come in
 * time order. */
int sonde_cursor_open(struct sonde_cursor **out, struct sonde_session *session, uint32_t types);

/* The same, but visits only every `parts`-th chunk of each type, starting with chunk number `part` (0 … parts − 1).
 * Threads can thus share the decoding: all parts together deliver every event once. */
int sonde_cursor_open_part(struct sonde_cursor **out, struct sonde_session *session, uint32_t types, unsigned part,
			   unsigned parts);
void sonde_cursor_close(struct sonde_cursor *cursor);

/* Selects events; a field of 0 selects all. */
struct sonde_cursor_wanted {
	uint64_t from_ns, to_ns; /* events that overlap this interval, both ends included */
	uint32_t process, thread;
	uint32_t site; /* zones only */
};

/* Restricts the cursor; call it before the first sonde_cursor_next(). Chunks that certainly contain no selected event
 * are skipped unread. All other chunks are delivered whole, including events that are not selected. -ENOMEM. */
int sonde_cursor_want(struct sonde_cursor *cursor, const struct sonde_cursor_wanted *wanted);

/* Returns 1 and a batch, 0 at the end, or a negative errno if a chunk cannot be decoded (call again to skip it). */
int sonde_cursor_next(struct sonde_cursor *cursor, const struct sonde_batch **out);

/* Calls `take` for each batch of these types until it returns a nonzero value, which is then the result. Chunks that
 * cannot be decoded are skipped. -ENOMEM, -EIO. */
int sonde_session_batches(struct sonde_session *session, uint32_t types,
			  int (*take)(void *context, const struct sonde_batch *batch), void *context);

/* Decodes the ZONES chunk of this number (from sonde_session_zone_chunks()): 1 and a batch as above, or a negative
 * errno. The cursor must be open for zones; do not call sonde_cursor_next() on it afterwards. */
int sonde_cursor_zones(struct sonde_cursor *cursor, size_t chunk, const struct sonde_batch **out);
/* The zones that a thread has open after the chunk decoded last, as unfinished zones. Call it directly after decoding
 * the last chunk of the thread. 0 = none. */
int sonde_cursor_zones_open(struct sonde_cursor *cursor, uint32_t thread, const struct sonde_batch **out);

/* Zones summarised over an interval at one depth (fold/nodes.h); the nodes of one depth of a chunk follow one another.
 * Times are in ns, sites as in batches. */
struct sonde_zone_node {
	uint64_t from_ns, to_ns, busy_ns, longest_ns;
	uint32_t depth, site, count;
};

/* A ZONES chunk as described by its head and summary. */
struct sonde_zone_chunk {
	size_t chunk; /* chunk number */
	uint32_t process, thread;
	uint32_t events;     /* zone begins and ends */
	uint64_t open_after; /* zones open at the end of the chunk */
	int is_damaged;      /* summary unreadable: only the fields above are valid */
	int has_nodes;       /* 0 = older recording or damaged nodes: compute them from the zones */
	uint64_t deeper;     /* zones too deep to be part of any node */
	const struct sonde_zone_node *nodes;
	size_t node_count;
	const struct sonde_zone_stat *stats; /* as in sonde_session_zone_stats_each() */
	size_t stat_count;
};

/* Calls `take` for each ZONES chunk in file order until it returns a nonzero value. Decodes no bodies. Rows are valid
 * during the call only. -ENOMEM. */
int sonde_session_zone_chunks(struct sonde_session *session,
			      int (*take)(void *context, const struct sonde_zone_chunk *chunk), void *context);
/* The same, starting at chunk number `first`: chunks added to a growing recording have higher numbers. */
int sonde_session_zone_chunks_from(struct sonde_session *session, size_t first,
				   int (*take)(void *context, const struct sonde_zone_chunk *chunk), void *context);
/* Statistics of all zones by site, from the chunk summaries, without decoding the bodies. `stats` has
 * sonde_session_site_count() + 1 rows, indexed by site id; row 0 sums up zones of unknown sites. Unreadable chunks are
 * skipped: the result is then a negative errno and the sums of all others. */
int sonde_session_zone_stats(struct sonde_session *session, struct sonde_zone_stat *stats);

/* The same sums as stored in the chunks, one row for each site and thread of a chunk: `take` is called for every row
 * until it returns a nonzero value, which is then the result. Ids are as in batches. */
int sonde_session_zone_stats_each(struct sonde_session *session,
				  int (*take)(void *context, uint32_t process, uint32_t thread,
					      const struct sonde_zone_stat *stat),
				  void *context);

/* Number of events in the chunks of a type, from the chunk heads. For zones, begins and ends are counted. */
uint64_t sonde_session_event_count(const struct sonde_session *session, enum sonde_chunk_type type);

/* Number of zone ends without a begin, from the chunk summaries that are readable. */
uint64_t sonde_session_zones_unmatched(struct sonde_session *session);

/* --- allocations: from the chunk summaries; only the chunk that contains the peak is decoded ---------------------- */

struct sonde_heap_sum {
	uint64_t begins, begun_b, ends, ended_b, temporary;
	uint64_t peak_blocks, peak_b;                                        /* live at the peak of the heap */
	uint64_t left_blocks, left_b;                                        /* live at exit */
	uint64_t largest_b;                                                  /* largest recorded block */
	double begun_variance, ended_variance, peak_variance, left_variance; /* of estimates, in B² */
};

/* Totals of one heap. */
struct sonde_heap_total {
	uint64_t peak_b, peak_blocks, peak_ns;
	uint64_t begins, begun_b, ends, ended_b, temporary, unknown;
	uint64_t left_b, left_blocks;
	uint64_t first_ns; /* first event of a chunk that overlaps the range */
	uint64_t mean_b;   /* bytes between samples; 0 = every block was recorded */
	uint64_t size_classes[SONDE_HEAP_CLASSES], life_classes[SONDE_HEAP_CLASSES];
};

struct sonde_heap_sums {
	struct sonde_heap_sum *sites;   /* by heap site id; sonde_session_heap_site_count() + 1 rows */
	struct sonde_heap_total *heaps; /* by heap id; sonde_session_heap_count() + 1 rows */
	size_t *users;                  /* reference count of the shared sums; NULL = not shared */
};

/* What a site holds at a point in time. */
struct sonde_heap_alive {
	uint64_t blocks, size_b;
	double variance; /* of an estimate, in B² */
};

/* One of the intervals, equally long, into which a range is divided. */
struct sonde_heap_interval {
	uint64_t peak_b, peak_blocks; /* maximum within the interval */
	uint64_t live_b, live_blocks; /* at the end of the interval */
	uint64_t begins, begun_b, ends, ended_b;
};

/* What was live at a point in time: sonde_session_heap_site_count() + 1 rows by heap site id, zeroed by the caller.
 * Decodes one chunk per heap. Errors are those of sonde_session_heap_sums(). */
int sonde_session_heap_alive(struct sonde_session *session, uint64_t time_ns, struct sonde_heap_alive *sites);

/* Points in time. `add` receives, for each site, the change from the previous point (or the start) to point `mark`. */
struct sonde_heap_marks {
	const uint64_t *times_ns; /* ascending */
	size_t count;
	void (*add)(void *state, uint32_t site, size_t mark, const struct sonde_heap_alive *change);
	void *state;
};

/* Reports the changes in a single pass over the chunks; those of one heap come in time order. Decodes the chunks that
 * contain one of the times. Errors are those of sonde_session_heap_sums(). */
int sonde_session_heap_marks(struct sonde_session *session, const struct sonde_heap_marks *marks);

/* What a process held at a point in time. Only blocks of the program that it ran then count, since exec() frees all
 * memory. */
struct sonde_heap_moment {
	uint32_t process; /* set by the caller, like time_ns */
	uint64_t time_ns;
	int known;                    /* allocations of this process were recorded */
	uint32_t life;                /* id of malloc's heap at that time; 0 = none */
	struct sonde_heap_alive live; /* malloc's blocks */
	uint64_t mapped_b;            /* the program's own mappings */
	uint64_t mean_b;              /* bytes between samples; 0 = every block was recorded */
};

/* For each heap id (sonde_session_heap_count() + 1 rows): the id of malloc's heap of the same program in the same
 * process. */
void sonde_session_heap_lives(const struct sonde_session *session, uint32_t *lives);
/* For each heap id (same number of rows): when the whole heap ceased to exist because its process exited or executed
 * another program; 0 = not observed. The time of the other program's first block is taken as the time of its exec().
 * -ENOMEM. */
int sonde_session_heap_ends(struct sonde_session *session, uint64_t *ends_ns);
/* Fills in the rows in one pass over the summaries; decodes one chunk for each row whose time lies within a chunk. */
int sonde_session_heap_moments(struct sonde_session *session, struct sonde_heap_moment *rows, size_t count);

/* Free the result with sonde_heap_sums_free(). Do not modify it: callers that ask for the same range share it.
 * Unreadable chunks are skipped: the result is then a negative errno and the sums of all others. */
int sonde_session_heap_sums(struct sonde_session *session, struct sonde_heap_sums *out);
/* The same for a range: decodes up to two chunks per heap, at the ends of the range, or all chunks if threads are
 * selected. NULL = the whole recording. */
int sonde_session_heap_sums_of(struct sonde_session *session, const struct sonde_selection *range,
			       struct sonde_heap_sums *out);
/* The same for one heap and `count` equal intervals of a range with both ends set; decodes the chunks that span several
 * intervals. */
int sonde_session_heap_timeline(struct sonde_session *session, uint32_t heap, const struct sonde_selection *range,
				struct sonde_heap_interval *rows, size_t count);
void sonde_heap_sums_free(struct sonde_heap_sums *sums);

#endif
