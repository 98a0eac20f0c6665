/* event.h: variable-length events: what a ring carries besides zone begins and ends, and what EVENTS chunks contain.
 *
 * An event starts with this head and has `words` × 8 bytes in all, aligned to 8. In a ring, `time` is in the ring's
 * clock (cycles or ns) and `site` is the process's own site id; in a file both are already converted to the
 * recording's. The first word of the head is stored last, with release: a reader that sees it non-zero sees the whole
 * event.
 */
#ifndef SONDE_FORMAT_EVENT_H
#define SONDE_FORMAT_EVENT_H

#include <stddef.h>
#include <stdint.h>

struct sonde_event {
	uint16_t type;  /* enum sonde_event_type, never 0 */
	uint16_t words; /* size of the whole event in units of 8 bytes, ≥ 2 */
	uint32_t site;  /* 0 = none */
	uint64_t time;
	/* payload by type */
};
_Static_assert(sizeof(struct sonde_event) == 16, "event head");

enum sonde_event_type {
	SONDE_EVENT_INSTANT = 1,      /* site; optional text */
	SONDE_EVENT_MESSAGE = 2,      /* text; no site */
	SONDE_EVENT_COUNTER = 3,      /* site; value = total so far (summed over threads by readers) */
	SONDE_EVENT_GAUGE = 4,        /* site; value */
	SONDE_EVENT_SPAN_BEGIN = 5,   /* site; id */
	SONDE_EVENT_SPAN_END = 6,     /* id; site 0: identified by id alone */
	SONDE_EVENT_ARG = 7,          /* key and value of the innermost open zone, or of span `id` */
	SONDE_EVENT_WORK = 8,         /* flop, bytes, items of the innermost open zone */
	SONDE_EVENT_ZONE_NAME = 9,    /* text: dynamic name of the innermost open zone */
	SONDE_EVENT_ITERATION = 10,   /* site; value = items in the iteration that ends here */
	SONDE_EVENT_THREAD_NAME = 11, /* text */
	SONDE_EVENT_MISMATCH = 12,    /* site that was to be ended; the text names the zone that was open */
	SONDE_EVENT_COUNT = 13,       /* site; value = calls of a count-only zone so far */
	SONDE_EVENT_CPU_SAMPLE = 14,  /* ring only: struct sonde_event_cpu_sample; becomes a SAMPLES row */
	SONDE_EVENT_SNAPSHOT = 15,    /* ring only: struct sonde_event_snapshot; becomes a META SNAPSHOT */
	SONDE_EVENT_POOL_TAKE = 17,   /* site; a block of a pool is allocated: becomes a HEAP row of the recording */
	SONDE_EVENT_POOL_GIVE = 18,   /* site; a block of a pool is freed */
	/* Ring only (format/device.h): become META records and rows of ACTIVITIES. */
	SONDE_EVENT_DEVICE = 19,
	SONDE_EVENT_QUEUE = 20,
	SONDE_EVENT_OPERATION = 21,
	SONDE_EVENT_ACTIVITY = 22,
	SONDE_EVENT_ACTIVITY_LOST = 23, /* becomes a META LOST record */
	SONDE_EVENT_CALL_STACK = 24,    /* ring only: becomes a CALL_STACKS row */
};

/* INSTANT, MESSAGE, ZONE_NAME, THREAD_NAME, MISMATCH: len_b bytes follow, padded with zeros. */
struct sonde_event_text {
	struct sonde_event head;
	uint64_t len_b;
};

/* SNAPSHOT: the label follows; len_b counts both. */
struct sonde_event_snapshot {
	struct sonde_event_text text;
	uint64_t rss_b; /* RSS of the process when the program requested the snapshot; 0 = unknown */
};

/* COUNTER, GAUGE, ITERATION, COUNT. */
struct sonde_event_value {
	struct sonde_event head;
	double value;
};

/* SPAN_BEGIN, SPAN_END. */
struct sonde_event_span {
	struct sonde_event head;
	uint64_t id;
};

/* POOL_TAKE, POOL_GIVE. */
struct sonde_event_block {
	struct sonde_event head;
	uint64_t address;
	uint64_t size_b; /* 0 for a free */
};

enum sonde_arg_kind {
	SONDE_ARG_INT = 1,   /* i64 in bits */
	SONDE_ARG_UINT = 2,  /* u64 in bits */
	SONDE_ARG_FLOAT = 3, /* double in bits */
	SONDE_ARG_TEXT = 4,  /* value_b bytes after the key */
};

/* ARG: key_b bytes of key, then value_b bytes of text value, padded together with zeros. */
struct sonde_event_arg {
	struct sonde_event head;
	uint64_t span; /* 0 = the innermost open zone */
	uint64_t bits;
	uint32_t kind;
	uint16_t key_b;
	uint16_t value_b;
};
_Static_assert(sizeof(struct sonde_event_arg) == 40, "arg event");

/* WORK. */
struct sonde_event_work {
	struct sonde_event head;
	double flop;
	double bytes;
	double items;
};

/* CPU_SAMPLE: taken by an in-process CPU timer; stack_b bytes of the stack, from `sp` upwards, follow. A sample's
 * weight is the advance of the CPU clock since the previous sample. pc 0: the thread ends; cpu_ns is its total. `lr` is
 * then its age in ns, `sp` the CPU time of the whole process if that ends too, and the thread's name of
 * SONDE_EVENT_NAME_B bytes follows. `sp` 0 in a sample: other processes may not read this process's memory, so only the
 * pc is reported. */
#define SONDE_EVENT_NAME_B 16u

struct sonde_event_cpu_sample {
	struct sonde_event head;
	uint64_t cpu_ns; /* the thread's CPU clock */
	uint64_t pc, sp, fp, lr;
	uint64_t stack_b; /* multiple of 8 */
};

/* CALL_STACK: the thread's stack at the call with that correlation; stack_b bytes of the stack, from `sp` upwards,
 * follow. pc 0: the same stack as in the earlier event with that `number`; nothing follows. `number` 0: no later event
 * refers to this stack. `sp` 0: as in a sample. */
#define SONDE_CALL_STACKS_MAX (1u << 20) /* most numbers of a process; they start at 1 */

struct sonde_event_call_stack {
	struct sonde_event head;
	uint64_t correlation;
	uint64_t pc, sp, fp; /* after the call */
	uint32_t number;
	uint32_t reserved;
	uint64_t stack_b; /* multiple of 8 */
};
_Static_assert(sizeof(struct sonde_event_call_stack) == 64, "call stack event");

#endif
