/* event.h: variable-length events. A ring carries them besides zone begins and ends; EVENTS chunks consist of them.
 *
 * An event starts with a struct sonde_event and has `words` × 8 bytes in all, aligned to 8. In a ring, `time` is in the
 * ring's clock (cycles or ns) and `site` is the process's own site id; in a file both are already converted to the
 * recording's. The first word of the head is stored last, with release: a reader that sees it non-zero sees the whole
 * event. events.def lists the types, records.def the structs of those that are in files.
 */
#ifndef SONDE_FORMAT_EVENT_H
#define SONDE_FORMAT_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "format/meta.h"

enum sonde_event_type {
#define SONDE_EVENT(number, NAME, ...) SONDE_EVENT_##NAME = (number),
#include "format/events.def"
#undef SONDE_EVENT
	SONDE_EVENT_TYPES, /* one more than the highest */
};

/* struct sonde_event_text and the others of records.def. */
#define SONDE_EVENT_STRUCT(NAME, name, size_b, ...)                     \
	struct sonde_##name {                                           \
		struct sonde_event head;                                \
		SONDE_##NAME##_FIELDS(SONDE_RECORD_MEMBER, name)        \
	};                                                              \
	_Static_assert(sizeof(struct sonde_##name) == (size_b), #NAME); \
	SONDE_##NAME##_FIELDS(SONDE_RECORD_AT, name)
SONDE_EVENT_RECORDS(SONDE_EVENT_STRUCT)

/* SNAPSHOT: the label follows; len_b counts both. */
struct sonde_event_snapshot {
	struct sonde_event_text text;
	uint64_t rss_b; /* RSS of the process when the program requested the snapshot; 0 = unknown */
};

enum sonde_arg_kind {
	SONDE_ARG_INT = 1,   /* i64 in bits */
	SONDE_ARG_UINT = 2,  /* u64 in bits */
	SONDE_ARG_FLOAT = 3, /* double in bits */
	SONDE_ARG_TEXT = 4,  /* value_b bytes after the key */
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
	uint64_t pc, sp, fp; /* register values after the call */
	uint32_t number;
	uint32_t reserved;
	uint64_t stack_b; /* multiple of 8 */
};
_Static_assert(sizeof(struct sonde_event_call_stack) == 64, "call stack event");

#endif
