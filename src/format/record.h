/* record.h: the recording file (.sonde). This header IS the format; docs/FORMAT.md is its prose.
 *
 * A file is one struct sonde_file_head, then chunks, appended and never changed. Each chunk is a struct
 * sonde_chunk_head, an uncompressed summary and a stored (raw or zstd) body. A closed file ends with an index chunk and
 * a struct sonde_file_tail; a file cut off anywhere is rebuilt by scanning for chunk heads.
 *
 * Low-volume facts are tagged records in META chunks: what a reader does not know it skips by size. High-volume facts
 * have columnar chunks of their own. Everything is little-endian. All times are CLOCK_MONOTONIC ns of the recording
 * machine. Ids (strings, processes, threads, modules, sites, stack nodes) are dense, given by the recorder, and start
 * at 1; 0 means none. What an id names is written before the id is first used.
 *
 * Compatibility: `major` changes when an old reader would misread; a higher `minor` only adds records, chunk types and
 * trailing columns.
 */
#ifndef SONDE_FORMAT_RECORD_H
#define SONDE_FORMAT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_FILE_MAGIC "SONDEREC"
#define SONDE_FILE_MAJOR 1
#define SONDE_FILE_MINOR 0

struct sonde_file_head {
	char magic[8];
	uint16_t major;
	uint16_t minor;
	uint32_t head_b; /* size of this head: where the first chunk starts */
	uint64_t id[2];  /* random: names the recording */
	uint64_t start_mono_ns;
	uint64_t start_real_ns; /* CLOCK_REALTIME at start_mono_ns */
	uint32_t arch;          /* ELF e_machine of the recording machine */
	uint32_t reserved;
	uint64_t check; /* XXH3 64 of the head with check = 0 */
};
_Static_assert(sizeof(struct sonde_file_head) == 64, "file head");

#define SONDE_CHUNK_MAGIC 0x4b484353u /* "SCHK" */
#define SONDE_CHUNK_MAX_RAW_B (16u << 20)
#define SONDE_CHUNK_MAX_SUMMARY_B (2u << 20)
#define SONDE_ZONES_OPEN_MAX 65535u /* zones of a thread open at once; deeper ones are left out */

enum sonde_chunk_type {
	SONDE_CHUNK_META = 1,     /* tagged records */
	SONDE_CHUNK_STACKS = 2,   /* stack trie nodes */
	SONDE_CHUNK_SAMPLES = 3,  /* CPU samples, all threads */
	SONDE_CHUNK_SWITCHES = 4, /* context switches, all threads */
	SONDE_CHUNK_ZONES = 5,    /* zone events of one thread */
	SONDE_CHUNK_EVENTS = 6,   /* variable-length events of one thread (format/event.h) */
	SONDE_CHUNK_INDEX = 7,    /* the heads of all chunks before it */
	SONDE_CHUNK_HEAP = 8,     /* allocated blocks of one process */
	SONDE_CHUNK_SERIES = 9,   /* numbers that are read again and again, of all processes and the machine */
	SONDE_CHUNK_WAITS = 10,   /* calls that may wait, all threads */
};

#define SONDE_CHUNK_VERSION 1 /* of every type's body as described here */

enum sonde_codec { SONDE_CODEC_RAW = 0, SONDE_CODEC_ZSTD = 1 };

struct sonde_chunk_head {
	uint32_t magic;
	uint16_t type;
	uint8_t version; /* of this type's body; a higher one than known: the chunk is skipped and counted */
	uint8_t codec;
	uint32_t process; /* whose events these are; 0 = of several */
	uint32_t thread;
	uint64_t seq; /* counts chunks of the file from 0 */
	uint64_t time_min_ns;
	uint64_t time_max_ns;
	uint32_t count;     /* records or events in the body */
	uint32_t summary_b; /* uncompressed, between head and body */
	uint32_t raw_b;     /* body before compression */
	uint32_t stored_b;  /* body as stored */
	uint64_t check;     /* XXH3 64 of head with check = 0, then summary, then stored body */
};
_Static_assert(sizeof(struct sonde_chunk_head) == 64, "chunk head");

/* INDEX body: `count` times this, in file order. */
struct sonde_index_entry {
	uint64_t offset; /* of the chunk head in the file */
	struct sonde_chunk_head head;
};
_Static_assert(sizeof(struct sonde_index_entry) == 72, "index entry");

#define SONDE_TAIL_MAGIC "SONDEEND"

struct sonde_file_tail {
	uint64_t index_offset;
	char magic[8];
};
_Static_assert(sizeof(struct sonde_file_tail) == 16, "file tail");

/* --- META: tagged records ------------------------------------------------------------------------------------------
 * Each record starts with this head and is padded with zeros to a multiple of 8. size_b counts the head and excludes
 * the padding. Trailing fields a reader does not know are ignored; missing trailing ones read as 0.
 */
struct sonde_meta_head {
	uint16_t type;
	uint16_t reserved;
	uint32_t size_b;
};
_Static_assert(sizeof(struct sonde_meta_head) == 8, "meta head");

enum sonde_meta_type {
	SONDE_META_STRING = 1,
	SONDE_META_INFO = 2,
	SONDE_META_PROCESS = 3,
	SONDE_META_PROCESS_END = 4,
	SONDE_META_THREAD = 5,
	SONDE_META_THREAD_END = 6,
	SONDE_META_MODULE = 7,
	SONDE_META_SITE = 8,
	SONDE_META_SYMBOL = 9,
	SONDE_META_CLOCK = 10,
	SONDE_META_SOURCE = 11,
	SONDE_META_LOST = 12,
	SONDE_META_COST = 13,
	SONDE_META_CLOSE = 14,
	SONDE_META_HISTOGRAM = 15,
	SONDE_META_HEAP_SITE = 16,
	SONDE_META_HEAP_LEAK = 17,
	SONDE_META_HEAP = 18,
	SONDE_META_SNAPSHOT = 19,
	SONDE_META_SERIES = 20,
	SONDE_META_OBJECT = 21,
};

/* An interned string; the bytes follow, without a NUL. May hold any byte: what shows it escapes it. */
struct sonde_meta_string {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t len_b;
};

/* One fact about the run or the host: "host.cpu" = "AMD EPYC"; "run.command", "option.rate_hz", "env.LD_PRELOAD", … */
struct sonde_meta_info {
	struct sonde_meta_head head;
	uint32_t key;   /* string */
	uint32_t value; /* string */
};

/* Written again for the same id when the process execs or its name becomes known: the last one holds. */
struct sonde_meta_process {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t pid;
	uint32_t parent;  /* process id of this recording, 0 = not recorded */
	uint32_t name;    /* string: comm */
	uint32_t command; /* string: command line, 0 = not known */
	uint32_t reserved;
	uint64_t start_ns;
};

struct sonde_meta_process_end {
	struct sonde_meta_head head;
	uint32_t id;
	int32_t status; /* as wait(2) gives it; -1 = not known */
	uint64_t time_ns;
	uint64_t user_ns; /* CPU time of the process where known, else 0 */
	uint64_t system_ns;
	uint64_t peak_rss_b;
	/* As wait(2) tells of it and of the children that it waited for; 0 where nobody waited. */
	uint64_t minor_faults, major_faults;
	uint64_t voluntary_switches, involuntary_switches;
	uint64_t read_b, written_b; /* from and to storage */
};

struct sonde_meta_thread {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t process;
	uint32_t tid;
	uint32_t name; /* string */
	uint64_t start_ns;
};

struct sonde_meta_thread_end {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t reserved;
	uint64_t time_ns;
	uint64_t cpu_ns; /* on-CPU time measured for the thread; 0 = not measured */
};

enum sonde_module_flag {
	SONDE_MODULE_KERNEL = 1, /* the kernel and its modules; addresses are kernel addresses */
	SONDE_MODULE_ANONYMOUS =
	    2,                    /* no file behind it: JIT or other generated code; addresses are process addresses */
	SONDE_MODULE_SPECIAL = 4, /* [vdso] and its like */
};

struct sonde_meta_module {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t path;    /* string, as the process saw it */
	uint32_t flags;   /* enum sonde_module_flag */
	uint32_t process; /* whose, for anonymous modules; else 0 */
	uint8_t build_id_b;
	uint8_t build_id[23];
};

/* A place in the source that makes zones, counters and so on. */
enum sonde_site_kind {
	SONDE_SITE_ZONE = 1,
	SONDE_SITE_COUNTER = 2,
	SONDE_SITE_GAUGE = 3,
	SONDE_SITE_HISTOGRAM = 4,
	SONDE_SITE_SPAN = 5,
	SONDE_SITE_INSTANT = 6,
	SONDE_SITE_ITERATION = 7,
	SONDE_SITE_COUNT = 8, /* count-only zone */
	SONDE_SITE_POOL = 9,  /* in rings: what POOL_TAKE and POOL_GIVE name; a HEAP of the recording */
};

struct sonde_meta_site {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t kind;
	uint32_t name;     /* string */
	uint32_t function; /* string, 0 = none */
	uint32_t file;     /* string, 0 = none */
	uint32_t line;
	uint32_t color; /* 0xRRGGBB, 0 = none chosen */
	uint32_t unit;  /* string, 0 = none */
};

/* In head.reserved of a SYMBOL record: from symbol tables alone; the module's DWARF, which was not read, knows more. */
enum sonde_symbol_flag { SONDE_SYMBOL_NAMES_ONLY = 1 };

/* What stands at one address of a module: `count` struct sonde_meta_location follow, innermost inlined function first.
 * count = 0: looked up and not found. */
struct sonde_meta_symbol {
	struct sonde_meta_head head; /* reserved: enum sonde_symbol_flag */
	uint32_t module;
	uint32_t count;
	uint64_t address; /* as in STACKS */
};

struct sonde_meta_location {
	uint32_t function; /* string: demangled; 0 = unnamed */
	uint32_t file;     /* string, 0 = not known */
	uint32_t line;     /* of the instruction, or of the call for an outer frame; 0 = not known */
	uint32_t start_line;
	uint64_t start; /* first address of the function that holds the code (not of the inlined copy) */
};
_Static_assert(sizeof(struct sonde_meta_location) == 24, "location");

/* The clocks read together. error_ns bounds how far apart the reads were. */
struct sonde_meta_clock {
	struct sonde_meta_head head;
	uint64_t mono_ns;
	uint64_t raw_ns;
	uint64_t real_ns;
	uint64_t boot_ns;
	uint64_t cycles; /* 0 = the cycle counter is not used */
	uint64_t error_ns;
};

enum sonde_source_state {
	SONDE_SOURCE_ON = 1,          /* it ran, fully */
	SONDE_SOURCE_LIMITED = 2,     /* it ran; `detail` says what it could not see */
	SONDE_SOURCE_UNAVAILABLE = 3, /* asked for or default, but impossible here: `detail` says why and what to do */
	SONDE_SOURCE_OFF = 4,         /* not asked for */
};

struct sonde_meta_source {
	struct sonde_meta_head head;
	uint32_t name;   /* string: "cpu" */
	uint32_t state;  /* enum sonde_source_state; the last record of a name holds */
	uint32_t method; /* string: how it was measured ("perf events, user stacks from call-frame tables") */
	uint32_t detail; /* string, 0 = none */
	double rate_hz;  /* asked for; 0 = not a sampler */
	double effective_hz;
};

/* Something that happened and is not in the file. Counts of one (source, cause) add up. */
struct sonde_meta_lost {
	struct sonde_meta_head head;
	uint32_t source;  /* string */
	uint32_t cause;   /* string: "ring full" */
	uint32_t process; /* 0 = not known */
	uint32_t thread;
	uint64_t count;
	uint64_t from_ns;
	uint64_t to_ns;
};

/* What recording cost, said by whoever paid: "recorder.user_ns", "recorder.peak_rss_b", …; and "machine.stolen_ns",
 * which the hypervisor took from all CPUs of the machine meanwhile. */
struct sonde_meta_cost {
	struct sonde_meta_head head;
	uint32_t what; /* string */
	uint32_t reserved;
	uint64_t value;
};

/* The last record of a recording that was closed in order. */
struct sonde_meta_close {
	struct sonde_meta_head head;
	uint64_t time_ns;
	int32_t status; /* of the command, as wait(2) gives it; -1 = not known (attached) */
	uint32_t reserved;
};

/* A merged histogram of a HISTOGRAM site (fold/hist.h): `count` pairs follow, varint: bucket delta, then hits. */
struct sonde_meta_histogram {
	struct sonde_meta_head head;
	uint32_t site;
	uint32_t process;
	uint64_t count; /* recorded values */
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint32_t pairs;
	uint32_t reserved;
};

enum sonde_heap_kind {
	SONDE_HEAP_MALLOC = 1,  /* what the allocator's functions give out, and operators new */
	SONDE_HEAP_MAPPING = 2, /* mmap() and brk() that the program calls itself, not its allocator */
	SONDE_HEAP_POOL = 3,    /* what the program says of an allocator of its own: sonde_alloc() */
};

/* Blocks of one kind in one process: summed, and at their peak, apart from those of other heaps. */
struct sonde_meta_heap {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t process;
	uint32_t kind; /* enum sonde_heap_kind */
	uint32_t name; /* str: a pool's; 0 = none */
};

/* Where blocks of a heap begin: in a thread, by a stack. */
struct sonde_meta_heap_site {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t heap;
	uint32_t thread;
	uint32_t stack;  /* leaf node */
	uint32_t status; /* enum sonde_stack_status */
	uint32_t reserved;
};

/* A moment to look at, and what the process had of memory then. What was alive is in the HEAP chunks. */
enum sonde_snapshot_reason {
	SONDE_SNAPSHOT_API = 1,      /* sonde_snapshot() */
	SONDE_SNAPSHOT_COMMAND = 2,  /* sonde snapshot */
	SONDE_SNAPSHOT_SIGNAL = 3,   /* the recorder was sent SIGUSR1 */
	SONDE_SNAPSHOT_INTERVAL = 4, /* --snapshot-every */
	SONDE_SNAPSHOT_END = 5,      /* as the process ended */
};

struct sonde_meta_snapshot {
	struct sonde_meta_head head;
	uint32_t process;
	uint32_t label;  /* str */
	uint32_t reason; /* enum sonde_snapshot_reason */
	uint32_t reserved;
	uint64_t time_ns;
	uint64_t rss_b, pss_b; /* 0 = not known */
};

/* A number that is read again and again, and of whom: a thread, a process (thread 0), or the machine (both 0). */
struct sonde_meta_series {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t kind; /* enum sonde_metric_kind */
	uint32_t name; /* str: of metrics.def, or one that a newer writer knows */
	uint32_t unit; /* str: "ns", "B", …; 0 = a count */
	uint32_t process;
	uint32_t thread;
	uint32_t object; /* str: which disk, network, meter; 0 = none */
	uint32_t reserved;
};

/* What calls of a process wait for: a lock, a file. */
enum sonde_object_kind {
	SONDE_OBJECT_LOCK = 1,   /* address: of the lock; name: of the variable, where there is one */
	SONDE_OBJECT_FILE = 2,   /* name: its path */
	SONDE_OBJECT_SOCKET = 3, /* name: of whom it is connected to */
	SONDE_OBJECT_PIPE = 4,
	SONDE_OBJECT_OTHER = 5, /* name: as /proc/PID/fd has it */
};

struct sonde_meta_object {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t process;
	uint32_t kind; /* enum sonde_object_kind */
	uint32_t name; /* str, 0 = none */
	uint64_t address;
};

enum sonde_heap_leak {
	SONDE_HEAP_UNREACHABLE = 1, /* when the process ended, nothing pointed to them */
	SONDE_HEAP_REACHABLE = 2,
	SONDE_HEAP_NOT_KNOWN = 3, /* nobody could look */
	SONDE_HEAP_INDIRECT = 4,  /* of the unreachable, which count them: other such blocks point to them */
};

/* Why nobody looked, of a light recording. */
#define SONDE_HEAP_NOT_ASKED "leaks were not looked for: record with --heap, not light"

/* Blocks of a site that were still there when their process ended. */
struct sonde_meta_heap_leak {
	struct sonde_meta_head head;
	uint32_t site;
	uint32_t kind; /* enum sonde_heap_leak */
	uint64_t blocks;
	uint64_t size_b;
	uint32_t detail; /* string: why nobody could look, or what could not be seen; 0 = none */
	uint32_t reserved;
	double variance; /* of an estimate size_b, in B²; 0 when nothing was sampled */
};

/* --- Columnar bodies ------------------------------------------------------------------------------------------------
 * A body is its columns one after the other, each of them `count` values long; "varint" is LEB128, "delta" the
 * difference to the value before in the same column (the first: to 0, or to time_min_ns where it is a time), "zigzag"
 * a signed delta. A column directory of u32 byte sizes (as many as there are columns) stands before the columns.
 *
 * STACKS   node ids are first_node … first_node + count − 1; the summary is struct sonde_stacks_summary.
 *          0 parent  varint: node id − parent id (≥ 1; = node id for a root)
 *          1 module  varint
 *          2 address varint zigzag delta: ELF virtual address in the module (process address for anonymous modules,
 *                    kernel address for the kernel). For callers it is the return address − 1, inside the call.
 *          A stack is its leaf's node; following parents leads to the root.
 * SAMPLES  0 time    varint delta
 *          1 thread  varint
 *          2 stack   varint zigzag delta: leaf node, 0 = no stack
 *          3 weight  varint zigzag delta: ns of CPU time that the sample stands for
 *          4 status  u8: enum sonde_stack_status, | SONDE_SAMPLE_KERNEL when it hit in the kernel
 * SWITCHES 0 time    varint delta
 *          1 thread  varint
 *          2 kind    u8: enum sonde_switch_kind
 *          3 cpu     varint: the CPU it got or lost, + 1; 0 = not known. Older files lack the column
 *          4 waited  varint: of kind IN, ns since it was woken or created, + 1; 0 = not known, or it could run
 *                    before. This column and the next are there where that can be seen
 *          5 by      varint: thread that woke or created it; 0 = not known: an interrupt, or none of the recording
 * ZONES    the thread is in the chunk head; the summary is struct sonde_zones_summary.
 *          0 site    varint: begins a zone of that site, 0 ends the innermost one
 *          1 time    varint delta
 * HEAP     of one heap, whose process is in the chunk head; the summary is struct sonde_heap_summary. Events in time
 *          order.
 *          0 block   varint: form × 2, + 1 when the block ends. A form is a site and a size; the chunk's forms are
 *                    numbered from 0 in the order in which they first occur
 *          1 life    u8, of ends alone: log2 of the block's lifetime in ns, | SONDE_HEAP_TEMPORARY when nothing was
 *                    allocated in the heap between its beginning and its end
 *          2 site    varint zigzag delta: heap site of each form
 *          3 size    varint: bytes of a block of each form
 *          4 thread  varint pairs: who did it, how many events in a row
 *          5 time    varint delta: of every time_every-th event, the first included
 * SERIES   0 time    varint delta
 *          1 series  varint
 *          2 value   varint zigzag: the difference to the value before of this series in the chunk (the first: to 0)
 * WAITS    calls in which threads may wait, in no order; where the status says so a wait that was seen from outside
 *          0 start   varint zigzag delta
 *          1 time    varint: ns that the call took
 *          2 thread  varint
 *          3 other   varint: thread that held what was waited for; 0 = not known
 *          4 kind    u8: of waits.def
 *          5 stack   varint zigzag delta: leaf node, 0 = none
 *          6 status  u8: enum sonde_stack_status, | SONDE_WAIT_SAMPLED when looks found the thread in it
 *          7 object  varint zigzag delta, 0 = none
 *          8 amount  varint: bytes that were read or written; of a sampled wait how many looks found it
 * EVENTS   no columns: struct sonde_event after struct sonde_event (format/event.h).
 */
struct sonde_stacks_summary {
	uint32_t first_node;
	uint32_t reserved;
};

enum sonde_stack_status {
	SONDE_STACK_COMPLETE = 0,      /* reached the thread's root */
	SONDE_STACK_NO_TABLE = 1,      /* code without call-frame information and without a usable frame pointer */
	SONDE_STACK_TRUNCATED = 2,     /* the stack copy ended and the rest could not be read or had changed */
	SONDE_STACK_BAD_FRAME = 3,     /* a frame address that cannot be: misaligned or not above the last */
	SONDE_STACK_UNMAPPED = 4,      /* a return address outside every known mapping */
	SONDE_STACK_EXPRESSION = 5,    /* a rule that is a DWARF expression we do not evaluate */
	SONDE_STACK_DEEP = 6,          /* deeper than the limit */
	SONDE_STACK_NO_USER = 7,       /* no user registers were given: exiting, or a kernel thread */
	SONDE_STACK_FRAME_POINTER = 8, /* complete, but frame pointers were followed where tables were missing */
	SONDE_STACK_NOT_SAMPLED = 9,   /* no stack: time whose samples were lost, or that none could reach */
	SONDE_STACK_BORROWED = 10,     /* another thread's that ran the same program: this one ended before a sample */
	SONDE_STACK_MEASURED = 11,     /* no stack: time in the kernel, which may not be sampled, from CPU clocks */
	SONDE_STACK_REGISTER = 12,     /* a rule needs a register, and only pc and sp were known */
	SONDE_STACK_STATUS_COUNT = 13,
};
/* Of WAITS: not measured. The time is what looks at the thread stand for that found it there. */
#define SONDE_WAIT_SAMPLED 0x80
#define SONDE_SAMPLE_KERNEL 0x80
#define SONDE_SAMPLE_EXTRA 0x40 /* beyond the rate: an extra sample, or a stack for time that samples left out */

static inline unsigned sonde_sample_status(uint8_t status)
{
	return status & 0x3fu;
}

/* Whether a row is one of the samples that were taken at the rate; the others have a weight only. */
static inline int sonde_sample_counts(uint8_t status)
{
	unsigned reason = sonde_sample_status(status);
	return !(status & SONDE_SAMPLE_EXTRA) && reason != SONDE_STACK_NOT_SAMPLED && reason != SONDE_STACK_BORROWED &&
	       reason != SONDE_STACK_MEASURED;
}

enum sonde_switch_kind {
	SONDE_SWITCH_IN = 0,
	SONDE_SWITCH_OUT_BLOCKED = 1,   /* the thread waits */
	SONDE_SWITCH_OUT_PREEMPTED = 2, /* it could have gone on: runnable */
};

/* Zone chunks can be read alone and summed without decoding. After this struct: `open` times struct sonde_zone_open,
 * outermost first, then `sites` times struct sonde_zone_stat over the zones that ended in this chunk. */
struct sonde_zones_summary {
	uint32_t open;
	uint32_t sites;
	uint64_t unmatched; /* ends without a begin */
};

struct sonde_zone_open {
	uint32_t site;
	uint32_t reserved;
	uint64_t start_ns;
	uint64_t child_ns; /* time already spent in ended children */
};

#define SONDE_HEAP_TEMPORARY 0x80
#define SONDE_HEAP_TIME_EVERY 256u /* of most chunks, or a power of two times as much; 1 where zones ask for more */
#define SONDE_HEAP_LIFE_LEAST 10u  /* lifetimes below 2^10 ns are class 0: what recording takes is as long */
#define SONDE_HEAP_CLASSES 48u     /* log2 of a size, and of a lifetime: the last holds all that is larger */

/* After this struct: `sites` rows, of the sites that events of this chunk are about, each a struct sonde_heap_stat as
 * fold/heap_stat.h writes it: a byte or two a number. A sampled recording holds the blocks that were sampled: one of s
 * bytes was with probability 1 − e^(−s / mean_b), and stands for as many as the inverse of that; all figures here are
 * such estimates. */
struct sonde_heap_summary {
	uint32_t heap;
	uint32_t time_every;          /* events from one that has its time to the next */
	uint64_t mean_b;              /* bytes between samples; 0 = every block was recorded */
	uint64_t live_b, live_blocks; /* before the first event */
	uint64_t peak_b;              /* the most that was live after an event of this chunk */
	uint64_t peak_blocks;         /* then */
	uint32_t peak_at;             /* number of events of the chunk up to and with that one */
	uint32_t sites;
	uint64_t unknown;                          /* ends of blocks that were not seen to begin: no events */
	uint64_t size_classes[SONDE_HEAP_CLASSES]; /* blocks that began, by log2 of their size; 0 bytes: class 0 */
	uint64_t life_classes[SONDE_HEAP_CLASSES]; /* blocks that ended, by log2 of their lifetime in ns */
};

struct sonde_heap_stat {
	uint32_t site;
	uint32_t temporary; /* of `ends` */
	uint64_t begins, begun_b;
	uint64_t ends, ended_b;
	double begun_variance,
	    ended_variance; /* of the estimates begun_b and ended_b, in B²; 0 when nothing was sampled */
	uint64_t largest_b; /* of the blocks that began and were recorded */
};

struct sonde_zone_stat {
	uint32_t site;
	uint32_t reserved;
	uint64_t count;
	uint64_t total_ns; /* inclusive; a zone inside one of the same site counts only in `count`, min and max */
	uint64_t self_ns;
	uint64_t min_ns;
	uint64_t max_ns;
};

#endif
