/* record.h: the recording file (.sonde). docs/FORMAT.md describes it in prose.
 *
 * A file is one struct sonde_file_head, then chunks, appended and never changed. Each chunk is a struct
 * sonde_chunk_head, an uncompressed summary and a stored (raw or zstd) body. A closed file ends with an index chunk and
 * a struct sonde_file_tail; a truncated file is recovered by scanning for chunk heads.
 *
 * Low-volume facts are tagged records in META chunks (meta.h); a reader skips unknown ones by their size. High-volume
 * facts have columnar chunks of their own. Everything is little-endian. All times are CLOCK_MONOTONIC ns of the
 * recording machine. Ids (strings, processes, threads, modules, sites, stack nodes) are dense, assigned by the
 * recorder, and start at 1; 0 means none. The entity is written before the first use of its id.
 *
 * chunk_types.def, records.def, chunks.def, bodies.def and events.def declare one row per field; structs, readers,
 * merge and docs/FORMAT.md are derived from them.
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
#define SONDE_ZONES_OPEN_MAX 65535u /* zones of a thread open at once; deeper ones are dropped */

enum sonde_chunk_type {
#define SONDE_CHUNK_TYPE(number, name, ...) SONDE_CHUNK_##name = (number),
#include "format/chunk_types.def"
#undef SONDE_CHUNK_TYPE
	SONDE_CHUNK_TYPES, /* one more than the highest */
};

enum sonde_chunk_times { SONDE_CHUNK_TIMES_NONE, SONDE_CHUNK_TIMES_EVENTS, SONDE_CHUNK_TIMES_SPANS };

/* The properties of a type in format/chunk_types.def. */
struct sonde_chunk_row {
	uint8_t times; /* enum sonde_chunk_times */
	uint8_t held;  /* a flight recorder drops it when it is old */
	uint8_t noise; /* its body compresses as well without a search for matches */
};

/* All zeros for unknown types. */
static inline struct sonde_chunk_row sonde_chunk_row(uint32_t type)
{
	static const struct sonde_chunk_row rows[SONDE_CHUNK_TYPES] = {
#define SONDE_CHUNK_TYPE(number, name, times, held, noise, meaning) [number] = {SONDE_CHUNK_TIMES_##times, held, noise},
#include "format/chunk_types.def"
#undef SONDE_CHUNK_TYPE
	};
	return type < SONDE_CHUNK_TYPES ? rows[type] : rows[0];
}

#define SONDE_CHUNK_VERSION 1 /* version of every type's body as described here */

enum sonde_codec { SONDE_CODEC_RAW = 0, SONDE_CODEC_ZSTD = 1 };

/* INDEX body: an array of `count` of these, in file order. */
struct sonde_index_entry {
	uint64_t offset; /* offset of the chunk head in the file */
	struct sonde_chunk_head head;
};
_Static_assert(sizeof(struct sonde_index_entry) == 72, "index entry");

#define SONDE_TAIL_MAGIC "SONDEEND"

/* --- Columnar bodies ------------------------------------------------------------------------------------------------
 *
 * A body is a column directory, one u32 byte size per column, then the columns, each of them `count` values long.
 * "varint" is LEB128, "delta" the difference from the previous value in the column (the first: from 0, or from
 * time_min_ns for times), "zigzag" a signed delta.
 *
 * SAMPLES, SWITCHES, SERIES, WAITS, ACTIVITIES, CALL_STACKS: declared in format/chunks.def, encoded by trace/encode.h.
 * STACKS, ZONES, HEAP: declared in format/bodies.def, encoded by hand. Their summaries: struct sonde_stacks_summary,
 * sonde_zones_summary, sonde_heap_summary.
 * EVENTS: no columns, but events (format/event.h), one after the other.
 */
enum sonde_stack_status {
	SONDE_STACK_COMPLETE = 0,      /* reached the thread's root */
	SONDE_STACK_NO_TABLE = 1,      /* code without call-frame information and without a usable frame pointer */
	SONDE_STACK_TRUNCATED = 2,     /* the stack copy ended and the rest could not be read or had changed */
	SONDE_STACK_BAD_FRAME = 3,     /* an impossible frame address: misaligned or not above the last */
	SONDE_STACK_UNMAPPED = 4,      /* a return address outside every known mapping */
	SONDE_STACK_EXPRESSION = 5,    /* a rule is a DWARF expression that we do not evaluate */
	SONDE_STACK_DEEP = 6,          /* deeper than the limit */
	SONDE_STACK_NO_USER = 7,       /* no user registers were available: an exiting or kernel thread */
	SONDE_STACK_FRAME_POINTER = 8, /* complete, but frame pointers were followed where tables were missing */
	SONDE_STACK_NOT_SAMPLED = 9,   /* no stack: CPU time without samples (lost or impossible) */
	/* the stack of another thread of the same program: this thread ended before its first sample */
	SONDE_STACK_BORROWED = 10,
	SONDE_STACK_MEASURED = 11,  /* no stack: kernel time, which may not be sampled, from CPU clocks */
	SONDE_STACK_REGISTER = 12,  /* a rule needs a register whose value is unknown */
	SONDE_STACK_FORBIDDEN = 13, /* other processes may not read its memory: at most the pc is known */
	SONDE_STACK_DERIVED = 14,   /* complete, but rules were derived from instructions where tables were missing */
	SONDE_STACK_STATUS_COUNT = 15,
};

/* True if the stack reaches the thread's root. */
static inline int sonde_stack_is_complete(unsigned status)
{
	return status == SONDE_STACK_COMPLETE || status == SONDE_STACK_FRAME_POINTER || status == SONDE_STACK_DERIVED;
}

/* In WAITS: sampled, not measured. The duration is the time that the samples of the thread in that state stand for. */
#define SONDE_WAIT_SAMPLED 0x80
#define SONDE_SAMPLE_KERNEL 0x80
#define SONDE_SAMPLE_EXTRA 0x40 /* beyond the rate: an extra sample, or a stack for time that was not sampled */

static inline unsigned sonde_sample_status(uint8_t status)
{
	return status & 0x3fu;
}

/* True for samples taken at the rate; all other rows only carry weight. */
static inline int sonde_sample_counts(uint8_t status)
{
	unsigned reason = sonde_sample_status(status);
	return !(status & SONDE_SAMPLE_EXTRA) && reason != SONDE_STACK_NOT_SAMPLED && reason != SONDE_STACK_BORROWED &&
	       reason != SONDE_STACK_MEASURED;
}

enum sonde_switch_kind {
	SONDE_SWITCH_IN = 0,
	SONDE_SWITCH_OUT_BLOCKED = 1,   /* the thread blocks */
	SONDE_SWITCH_OUT_PREEMPTED = 2, /* the thread is still runnable */
};

#define SONDE_HEAP_TEMPORARY 0x80
#define SONDE_HEAP_LIFE_LEAST 10u /* lifetimes below 2^10 ns are class 0: recording itself takes as long */
#define SONDE_HEAP_CLASSES 48u    /* log2 of a size or a lifetime: the last class includes everything larger */
_Static_assert(sizeof((struct sonde_heap_summary *)0)->size_classes == SONDE_HEAP_CLASSES * sizeof(uint64_t),
	       "classes");

/* Totals of the allocations of a heap site. Stored in files by fold/heap_stat.h, in a byte or two per number. */
struct sonde_heap_stat {
	uint32_t site;
	uint32_t temporary; /* number of `ends` that were freed before the next allocation */
	uint64_t begins, begun_b;
	uint64_t ends, ended_b;
	double begun_variance, ended_variance; /* of the estimates begun_b and ended_b, in B²; 0 without sampling */
	uint64_t largest_b;                    /* size of the largest recorded allocation */
};

#endif
