/* record.h: the recording file (.sonde). docs/FORMAT.md is its prose.
 *
 * A file is one struct sonde_file_head, then chunks, appended and never changed. Each chunk is a struct
 * sonde_chunk_head, an uncompressed summary and a stored (raw or zstd) body. A closed file ends with an index chunk and
 * a struct sonde_file_tail; a file cut off anywhere is rebuilt by scanning for chunk heads.
 *
 * Low-volume facts are tagged records in META chunks (meta.h): what a reader does not know it skips by size.
 * High-volume facts have columnar chunks of their own. Everything is little-endian. All times are CLOCK_MONOTONIC ns of
 * the recording machine. Ids (strings, processes, threads, modules, sites, stack nodes) are dense, given by the
 * recorder, and start at 1; 0 means none. What an id names is written before the id is first used.
 *
 * Declared a row a field, from which structs, readers, merge and docs/FORMAT.md follow: chunk_types.def, records.def,
 * chunks.def. ZONES, HEAP, STACKS and EVENTS have encoders of their own.
 *
 * Compatibility: `major` changes when an old reader would misread; a higher `minor` only adds records, chunk types and
 * trailing columns.
 */
#ifndef SONDE_FORMAT_RECORD_H
#define SONDE_FORMAT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "format/meta.h"

#define SONDE_FILE_MAGIC "SONDEREC"
#define SONDE_FILE_MAJOR 1
#define SONDE_FILE_MINOR 0

#define SONDE_CHUNK_MAGIC 0x4b484353u /* "SCHK" */
#define SONDE_CHUNK_MAX_RAW_B (16u << 20)
#define SONDE_CHUNK_MAX_SUMMARY_B (2u << 20)
#define SONDE_ZONES_OPEN_MAX 65535u /* zones of a thread open at once; deeper ones are left out */

enum sonde_chunk_type {
#define SONDE_CHUNK_TYPE(number, name, ...) SONDE_CHUNK_##name = (number),
#include "format/chunk_types.def"
#undef SONDE_CHUNK_TYPE
	SONDE_CHUNK_TYPES, /* one more than the highest */
};

enum sonde_chunk_times { SONDE_CHUNK_TIMES_NONE, SONDE_CHUNK_TIMES_EVENTS, SONDE_CHUNK_TIMES_SPANS };

/* What format/chunk_types.def says of a type. */
struct sonde_chunk_row {
	uint8_t times; /* enum sonde_chunk_times */
	uint8_t held;  /* a flight recorder drops it when it is old */
};

/* All zeros for types that are not known here. */
static inline struct sonde_chunk_row sonde_chunk_row(uint32_t type)
{
	static const struct sonde_chunk_row rows[SONDE_CHUNK_TYPES] = {
#define SONDE_CHUNK_TYPE(number, name, times, held, meaning) [number] = {SONDE_CHUNK_TIMES_##times, held},
#include "format/chunk_types.def"
#undef SONDE_CHUNK_TYPE
	};
	return type < SONDE_CHUNK_TYPES ? rows[type] : rows[0];
}

#define SONDE_CHUNK_VERSION 1 /* of every type's body as described here */

enum sonde_codec { SONDE_CODEC_RAW = 0, SONDE_CODEC_ZSTD = 1 };

/* INDEX body: `count` times this, in file order. */
struct sonde_index_entry {
	uint64_t offset; /* of the chunk head in the file */
	struct sonde_chunk_head head;
};
_Static_assert(sizeof(struct sonde_index_entry) == 72, "index entry");

#define SONDE_TAIL_MAGIC "SONDEEND"

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
 * SAMPLES, SWITCHES, SERIES, WAITS, ACTIVITIES, CALL_STACKS: declared in format/chunks.def.
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
 * EVENTS   no columns: struct sonde_event after struct sonde_event (format/event.h).
 */
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
	SONDE_STACK_REGISTER = 12,     /* a rule needs a register whose value is not known */
	SONDE_STACK_FORBIDDEN = 13,    /* the process forbids others to read its memory: its pc at the most is known */
	SONDE_STACK_DERIVED = 14, /* complete, but rules were derived from instructions where tables were missing */
	SONDE_STACK_STATUS_COUNT = 15,
};

/* Whether the stack reaches the thread's root. */
static inline int sonde_stack_is_complete(unsigned status)
{
	return status == SONDE_STACK_COMPLETE || status == SONDE_STACK_FRAME_POINTER || status == SONDE_STACK_DERIVED;
}

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

#define SONDE_HEAP_TEMPORARY 0x80
#define SONDE_HEAP_LIFE_LEAST 10u /* lifetimes below 2^10 ns are class 0: what recording takes is as long */
#define SONDE_HEAP_CLASSES 48u    /* log2 of a size, and of a lifetime: the last holds all that is larger */
_Static_assert(sizeof((struct sonde_heap_summary *)0)->size_classes == SONDE_HEAP_CLASSES * sizeof(uint64_t),
	       "classes");

/* What allocations of a heap site come to. In files fold/heap_stat.h writes it: a byte or two a number. */
struct sonde_heap_stat {
	uint32_t site;
	uint32_t temporary; /* of `ends` */
	uint64_t begins, begun_b;
	uint64_t ends, ended_b;
	double begun_variance,
	    ended_variance; /* of the estimates begun_b and ended_b, in B²; 0 when nothing was sampled */
	uint64_t largest_b; /* of the blocks that began and were recorded */
};

#endif
