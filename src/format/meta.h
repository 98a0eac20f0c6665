/* meta.h: the records of META chunks: what is said seldom, each with a tag (record.h).
 *
 * Each record starts with struct sonde_meta_head and is padded with zeros to a multiple of 8. size_b counts the head
 * and excludes the padding. Trailing fields a reader does not know are ignored; missing trailing ones read as 0.
 */
#ifndef SONDE_FORMAT_META_H
#define SONDE_FORMAT_META_H

#include <stddef.h>
#include <stdint.h>

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
	SONDE_META_DEVICE = 22,
	SONDE_META_QUEUE = 23,
	SONDE_META_OPERATION = 24,
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

/* A device as one process sees it. What is 0 is not known; kinds and units as in include/sonde/device.h. */
struct sonde_meta_device {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t process;
	uint32_t kind;
	uint32_t index;        /* among the devices of its API */
	uint32_t api, name;    /* str */
	uint32_t uuid, driver; /* str, 0 = none */
	uint32_t units, clock_mhz;
	uint32_t warp, warps_unit, blocks_unit, registers_unit;
	uint64_t shared_unit_b, memory_b;
	uint64_t memory_b_per_s; /* bandwidth of its memory */
	uint32_t capability;     /* CUDA's, major × 10 + minor */
	uint32_t reserved;
};

/* A queue or stream of a device. */
struct sonde_meta_queue {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t process;
	uint32_t device; /* id */
	uint32_t flags;
	uint64_t context, handle;
	uint32_t name; /* str, 0 = none */
	uint32_t reserved;
};

/* What a device, or the host for it, does: a row of activities.def with all that is the same each time. */
struct sonde_meta_operation {
	struct sonde_meta_head head;
	uint32_t id;
	uint32_t process;
	uint32_t kind; /* of activities.def */
	uint32_t name; /* str: as the device's API has it, maybe mangled */
	uint32_t grid[3], block[3];
	uint32_t registers, local_b;                /* of a thread */
	uint32_t static_shared_b, dynamic_shared_b; /* of a block */
	uint32_t shared_unit_b;                     /* what of a unit's memory was set apart as shared */
	uint8_t from, to;                           /* kinds of memory */
	uint16_t reserved;
	uint32_t from_device, to_device; /* ids: whose memory; 0 = that of the queue's device */
};
_Static_assert(sizeof(struct sonde_meta_operation) == 80, "operation record");

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

#endif
