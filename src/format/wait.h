/* wait.h: the rows of waits.def, which WAITS chunks refer to, and the hooks' records for the recorder.
 *
 * Records in a thread's chunks, encoded as in heap.h, which defines TIME and STACK:
 *
 *   CALL     op, with the kind and the tid of the holder or other thread waited for (0 = unknown); start, in the clock
 *            of the pool; duration + 1; 2^63 + (stack << 32) + object (0 = none); amount + 1
 *   OBJECT   op, with the kind (enum sonde_object_kind); number << 32 | name_b; address + 1; the name in words
 *
 * A call is reported after it has returned. Objects are numbered per process and reported before the first call that
 * refers to them. The first word of a record is stored last: a reader that sees it sees the whole record.
 */
#ifndef SONDE_FORMAT_WAIT_H
#define SONDE_FORMAT_WAIT_H

#include <stdint.h>

#define SONDE_WAIT_KIND_BITS 8 /* bits of the kind in the first word of CALL and OBJECT; a tid is in the bits above */
#define SONDE_WAIT_STACK (UINT64_C(1) << 63)
#define SONDE_WAIT_NAME_MAX_B 255u
#define SONDE_WAIT_OBJECTS_MAX (1u << 20)

/* Uses the field of enum sonde_heap_op in heap.h. */
enum sonde_wait_op { SONDE_WAIT_CALL = 16, SONDE_WAIT_OBJECT = 17 };

#define SONDE_WAIT_IN_VAIN 1u /* `amount` of a call for a lock, condition or semaphore that failed to get it */

/* The calls that the hooks are asked to record. */
enum sonde_wait_what {
	SONDE_WAIT_WHAT_LOCKS = 1, /* locks, and also waits for time and for child processes */
	SONDE_WAIT_WHAT_IO = 2,
};

enum sonde_wait_kind {
#define SONDE_WAIT(id, number, name, group, title) SONDE_WAIT_##id = (number),
#include "format/waits.def"
#undef SONDE_WAIT
	SONDE_WAIT_KINDS = 65, /* all numbers are smaller */
};

enum sonde_wait_group {
	SONDE_WAIT_GROUP_NONE = 0,
	SONDE_WAIT_GROUP_LOCK,
	SONDE_WAIT_GROUP_IO,
	SONDE_WAIT_GROUP_TIME,
	SONDE_WAIT_GROUP_CHILD,
	SONDE_WAIT_GROUP_HELD,
};

struct sonde_wait_row {
	const char *name; /* NULL: no such kind */
	enum sonde_wait_group group;
	const char *title;
};

static inline const struct sonde_wait_row *sonde_wait_row(uint32_t kind)
{
	static const struct sonde_wait_row rows[SONDE_WAIT_KINDS] = {
#define SONDE_WAIT(id, number, name, group, title) [number] = {name, SONDE_WAIT_GROUP_##group, title},
#include "format/waits.def"
#undef SONDE_WAIT
	};
	return &rows[kind < SONDE_WAIT_KINDS ? kind : 0];
}

/* The method of the waits source when only calls on files are recorded. */
#define SONDE_WAIT_METHOD_FILES "libc calls on files; stacks from call-frame tables"

#endif
