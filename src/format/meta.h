/* meta.h: the records of META chunks: low-volume facts, each with a tag (record.h).
 *
 * Each record starts with struct sonde_meta_head and is padded with zeros to a multiple of 8. size_b counts the head
 * but not the padding. Trailing fields unknown to a reader are ignored; missing trailing fields read as 0.
 *
 * format/records.def declares the fields: struct sonde_meta_process and the others are generated from it.
 */
#ifndef SONDE_FORMAT_META_H
#define SONDE_FORMAT_META_H

#include <stddef.h>
#include <stdint.h>

#include "format/records.def"

struct sonde_meta_head {
	uint16_t type;
	uint16_t reserved;
	uint32_t size_b;
};
_Static_assert(sizeof(struct sonde_meta_head) == 8, "meta head");

enum sonde_meta_type {
#define SONDE_META_NUMBER(number, NAME, ...) SONDE_META_##NAME = (number),
	SONDE_META_RECORDS(SONDE_META_NUMBER)
#undef SONDE_META_NUMBER
};

#define SONDE_RECORD_MEMBER(record, at, type, name, dims, ...) type name dims;
#define SONDE_RECORD_AT(record, at, type, name, ...) \
	_Static_assert(offsetof(struct sonde_##record, name) == (at), #record "." #name);

#define SONDE_META_STRUCT(number, NAME, name, size_b, least_b, ...)                       \
	struct sonde_meta_##name {                                                        \
		struct sonde_meta_head head;                                              \
		SONDE_##NAME##_FIELDS(SONDE_RECORD_MEMBER, meta_##name)                   \
	};                                                                                \
	_Static_assert(sizeof(struct sonde_meta_##name) == (size_b), #NAME);              \
	_Static_assert((least_b) >= sizeof(struct sonde_meta_head), #NAME " has a head"); \
	SONDE_##NAME##_FIELDS(SONDE_RECORD_AT, meta_##name)
SONDE_META_RECORDS(SONDE_META_STRUCT)

#define SONDE_PLAIN_STRUCT(NAME, name, size_b, ...)                     \
	struct sonde_##name {                                           \
		SONDE_##NAME##_FIELDS(SONDE_RECORD_MEMBER, name)        \
	};                                                              \
	_Static_assert(sizeof(struct sonde_##name) == (size_b), #NAME); \
	SONDE_##NAME##_FIELDS(SONDE_RECORD_AT, name)
SONDE_PLAIN_RECORDS(SONDE_PLAIN_STRUCT)

enum sonde_module_flag {
	SONDE_MODULE_KERNEL = 1,    /* the kernel and its modules; addresses are kernel addresses */
	SONDE_MODULE_ANONYMOUS = 2, /* no file: JIT or other generated code; addresses are process addresses */
	SONDE_MODULE_SPECIAL = 4,   /* [vdso] and the like */
};

/* A call site of zones, counters and so on. */
enum sonde_site_kind {
	SONDE_SITE_ZONE = 1,
	SONDE_SITE_COUNTER = 2,
	SONDE_SITE_GAUGE = 3,
	SONDE_SITE_HISTOGRAM = 4,
	SONDE_SITE_SPAN = 5,
	SONDE_SITE_INSTANT = 6,
	SONDE_SITE_ITERATION = 7,
	SONDE_SITE_COUNT = 8, /* count-only zone */
	SONDE_SITE_POOL = 9,  /* in rings: the site of POOL_TAKE and POOL_GIVE; becomes a HEAP of the recording */
};

/* In head.reserved of a SYMBOL record: from symbol tables alone; the module's DWARF was not read and may have more
 * detail. */
enum sonde_symbol_flag { SONDE_SYMBOL_NAMES_ONLY = 1 };

enum sonde_source_state {
	SONDE_SOURCE_ON = 1,          /* it ran without limits */
	SONDE_SOURCE_LIMITED = 2,     /* it ran; `detail` says what it could not see */
	SONDE_SOURCE_UNAVAILABLE = 3, /* requested or default, but impossible here: `detail` says why and what to do */
	SONDE_SOURCE_OFF = 4,         /* not requested */
};

enum sonde_heap_kind {
	SONDE_HEAP_MALLOC = 1,  /* blocks returned by allocation functions and operator new */
	SONDE_HEAP_MAPPING = 2, /* mmap() and brk() called by the program itself, not by its allocator */
	SONDE_HEAP_POOL = 3,    /* blocks of the program's own allocator, reported by sonde_alloc() */
};

enum sonde_snapshot_reason {
	SONDE_SNAPSHOT_API = 1,      /* sonde_snapshot() */
	SONDE_SNAPSHOT_COMMAND = 2,  /* sonde snapshot */
	SONDE_SNAPSHOT_SIGNAL = 3,   /* the recorder was sent SIGUSR1 */
	SONDE_SNAPSHOT_INTERVAL = 4, /* --snapshot-every */
	SONDE_SNAPSHOT_END = 5,      /* when the process ended */
};

/* The kinds of objects that calls of a process wait for. */
enum sonde_object_kind {
	SONDE_OBJECT_LOCK = 1,   /* address: of the lock; name: of the variable, if any */
	SONDE_OBJECT_FILE = 2,   /* name: its path */
	SONDE_OBJECT_SOCKET = 3, /* name: its peer */
	SONDE_OBJECT_PIPE = 4,
	SONDE_OBJECT_OTHER = 5, /* name: as in /proc/PID/fd */
};

enum sonde_heap_leak {
	SONDE_HEAP_UNREACHABLE = 1, /* leaked: unreachable when the process ended */
	SONDE_HEAP_REACHABLE = 2,
	SONDE_HEAP_NOT_KNOWN = 3, /* reachability was not checked */
	SONDE_HEAP_INDIRECT = 4,  /* the part of unreachable blocks that other unreachable blocks point to */
};

/* Why leaks were not checked, in a light recording. */
#define SONDE_HEAP_NOT_REQUESTED "leaks were not checked: record with --heap, not light"

#endif
