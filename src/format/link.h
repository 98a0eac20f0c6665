/* link.h: messages between a target and the recorder, over a SOCK_SEQPACKET socket in the abstract namespace.
 *
 * SONDE_SOCKET holds the socket's name. Abstract names belong to a network namespace. A target that finds no listener
 * there tries a second socket, an inode, which belongs to no namespace. Its path is the first of SONDE_LINK_DIRECTORIES
 * that the recorder may write to, plus the name; if the name ends in .PID.NUMBER, /proc/PID/fd/NUMBER leads to it, too.
 * The target sends HELLO and gets WELCOME with the pool's descriptor (SCM_RIGHTS). After that it sends DOORBELL when it
 * needs chunks or has data to be read soon, and QUERY or BLOCKS, which are answered. All integers are little-endian;
 * every message is one struct, possibly cut short where its final text ends. When the connection or the process ends,
 * the recorder drains the remaining data.
 */
#ifndef SONDE_FORMAT_LINK_H
#define SONDE_FORMAT_LINK_H

#include <stdint.h>

#define SONDE_LINK_ENV "SONDE_SOCKET"
#define SONDE_LINK_DIRECTORIES                    \
	{                                         \
		"/tmp/", "/var/tmp/", "/dev/shm/" \
	}
#define SONDE_LINK_VERSION 1u
#define SONDE_LINK_NAME_B 96u /* bytes of a zone's name in a query */
#define SONDE_LINK_ROWS 64u   /* maximum rows of an answer */
#define SONDE_LINK_TEXT_B 256u

enum sonde_link_type {
	SONDE_LINK_HELLO = 1,
	SONDE_LINK_WELCOME = 2,
	SONDE_LINK_DOORBELL = 3,
	SONDE_LINK_QUERY = 4,
	SONDE_LINK_ANSWER = 5,
	SONDE_LINK_FAREWELL = 6,
	SONDE_LINK_TABLE = 7,
	SONDE_LINK_SNAPSHOT = 8,
	SONDE_LINK_SCAN = 9,
	SONDE_LINK_BLOCKS = 10,
	SONDE_LINK_LEAVE = 11,
};

struct sonde_link_head {
	uint32_t type;
	uint32_t version;
};

enum sonde_link_flag {
	SONDE_LINK_NO_CYCLES = 1,  /* the process may not read the cycle counter */
	SONDE_LINK_FORKED = 2,     /* a forked child that continues without exec */
	SONDE_LINK_OWN_MALLOC = 4, /* malloc is not interposed: it is defined in the executable */
};
/* log2 of the maximum number of chunks of the pool, for limited address space; 0 = any */
#define SONDE_LINK_SIZE_SHIFT 24

enum sonde_link_client {
	SONDE_LINK_ZONES = 1, /* libsonde */
	SONDE_LINK_CPU = 2,   /* in-process CPU timers */
	SONDE_LINK_HEAP = 3,  /* allocation hooks */
	SONDE_LINK_WAITS = 4, /* hooks of blocking calls */
};

struct sonde_link_hello {
	struct sonde_link_head head;
	uint32_t pid;
	uint32_t tid;
	uint32_t flags;
	uint32_t client;
	char exe[SONDE_LINK_TEXT_B]; /* NUL-terminated, may be truncated */
};

/* Instead of HELLO, without an answer: a process that had nothing to record is ending. */
struct sonde_link_farewell {
	struct sonde_link_head head;
	uint32_t pid;
	uint32_t parent;
	uint64_t cpu_ns;   /* CPU time of the whole process */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	char name[16];
};

struct sonde_link_welcome {
	struct sonde_link_head head;
	int32_t status; /* 0, or a negative errno: the target then records nothing */
	uint32_t reserved;
	uint64_t pool_b;
};

enum sonde_link_query_what {
	SONDE_LINK_BY_NAME = 1,
	SONDE_LINK_TOP = 2,  /* by total time */
	SONDE_LINK_LAST = 3, /* the zone that ended last */
};

struct sonde_link_query {
	struct sonde_link_head head;
	uint32_t what;
	uint32_t limit; /* rows wanted */
	double quantile;
	char name[SONDE_LINK_NAME_B];
};

struct sonde_link_row {
	uint64_t count, total_ns, self_ns, min_ns, max_ns, quantile_ns;
	uint64_t sum_ns;  /* sum of all durations, including those of zones nested in others of the same name */
	double square_ns; /* sum of squared durations, for the deviation */
	double flop, bytes, items;
	char name[SONDE_LINK_NAME_B];
};

struct sonde_link_answer {
	struct sonde_link_head head;
	uint32_t rows;
	uint32_t reserved;
	struct sonde_link_row row[SONDE_LINK_ROWS];
};

/* Live blocks of a pool of the process (sonde_alloc()) or of the malloc heap; sent after HELLO, like QUERY. The answer
 * is a struct sonde_link_blocks. */
struct sonde_link_blocks_question {
	struct sonde_link_head head;
	char name[SONDE_LINK_TEXT_B]; /* NUL-terminated; "" = malloc's heap */
};

struct sonde_link_blocks {
	struct sonde_link_head head;
	int32_t status; /* 0; −ENOENT: no such heap */
	uint32_t reserved;
	uint64_t live_b, live_blocks;
	uint64_t peak_b, peak_blocks;   /* when live_b was largest */
	uint64_t begun_b, begun_blocks; /* allocated so far */
};

/* Asks which code is at an address; sent on a separate connection, without HELLO. The answer is a struct
 * sonde_link_table, with the descriptor of a file that holds the call-frame table (unwind/table.h) if there is one. */
struct sonde_link_table_question {
	struct sonde_link_head head;
	uint32_t pid;
	uint32_t client; /* enum sonde_link_client */
	uint64_t address;
};

struct sonde_link_table {
	struct sonde_link_head head;
	int32_t status; /* 0, or a negative errno: the address is unknown */
	uint32_t build_id_b;
	uint64_t start, end; /* address range of the mapping */
	uint64_t bias;       /* address − ELF virtual address */
	uint8_t build_id[24];
};

#define SONDE_LINK_REGISTERS 12u
#define SONDE_LINK_SCAN_S 10

enum sonde_link_scan_flag {
	SONDE_LINK_SCAN_INHERITS = 1, /* a forked child: it also has blocks of its parent */
};

/* The process is about to end, and one of its threads waits until the recorder has checked which blocks of its heap are
 * reachable. Sent on a separate connection, without HELLO; answered by struct sonde_link_scanned. */
struct sonde_link_scan {
	struct sonde_link_head head;
	uint32_t pid, tid; /* as the process sees them */
	uint32_t flags;    /* enum sonde_link_scan_flag */
	uint32_t reserved;
	uint64_t stack;                           /* the thread's stack pointer before any of our code ran */
	uint64_t registers[SONDE_LINK_REGISTERS]; /* callee-saved registers at that time */
	uint64_t thread_pointer;
	uint64_t requested_ns; /* CLOCK_MONOTONIC: the thread waits for SONDE_LINK_SCAN_S from then on */
	uint64_t suppressions; /* address of the text returned by __lsan_default_suppressions(); 0 = none */
};

struct sonde_link_scanned {
	struct sonde_link_head head;
	int32_t status; /* 0, or a negative errno: not checked */
	uint32_t reserved;
};

enum sonde_link_reason {
	SONDE_LINK_SANDBOX = 0,     /* about to sandbox itself: we must make no more system calls */
	SONDE_LINK_NO_CAPACITY = 1, /* its address space is limited */
	SONDE_LINK_SILENT = 2,      /* the recorder did not answer its connection attempt */
	SONDE_LINK_OWN = 3,      /* its own allocator precedes the hooks, and blocks are sampled: it never connects */
	SONDE_LINK_NO_CLOCK = 4, /* about to forbid itself the cycle counter */
	SONDE_LINK_NO_FILES = 5, /* about to execute a program that cannot read our files and so will not load them */
	SONDE_LINK_REASONS = 6,
};

/* From here on the process lives on but is not recorded by this client. Sent on a separate connection, without HELLO;
 * no answer. */
struct sonde_link_leave {
	struct sonde_link_head head;
	uint32_t pid;
	uint32_t reason; /* enum sonde_link_reason */
	uint64_t time;   /* in the clock of its pool; later data in its rings is incomplete. 0: it has no pool */
	char name[16];
	uint32_t client; /* enum sonde_link_client */
	uint32_t reserved;
};

/* Requests a snapshot of a process, for another program (`sonde snapshot`), on a separate connection, without HELLO.
 * The answer is a struct sonde_link_snapshot: at once on failure, else when the snapshot is taken. */
struct sonde_link_snapshot_question {
	struct sonde_link_head head;
	uint32_t pid; /* as the recorder sees it */
	uint32_t reserved;
	char label[SONDE_LINK_TEXT_B]; /* NUL-terminated, "" = none */
};

struct sonde_link_snapshot {
	struct sonde_link_head head;
	int32_t status;        /* 0; −ESRCH: not a recorded live process; −E2BIG: too many snapshots */
	uint32_t number;       /* from 1, counts all snapshots of the recording */
	uint64_t after_ns;     /* time of the snapshot since the start of the recording */
	uint64_t rss_b, pss_b; /* 0 = unknown */
	uint32_t has_heap;     /* 1: the fields below are valid */
	uint32_t reserved;
	uint64_t live_b, live_blocks;
	uint64_t mean_b; /* bytes between samples: live_* are estimates; 0 = every block was recorded */
};

#endif
