/* wait.h: the rows of waits.def: what the rows of WAITS chunks are; and how hooks tell the recorder of them.
 *
 * Words of a thread's chunks, in records as in heap.h, whose TIME and STACK they share:
 *
 *   CALL     op, with the kind and the tid of who held what was waited for (0 = not known); when it began, in the clock
 *            of the pool; how long it took, + 1; 2^63 + (stack << 32) + object (0 = none); amount + 1
 *   OBJECT   op, with the kind (enum sonde_object_kind); number << 32 | name_b; address + 1; the name in words
 *
 * A call is told when it has returned. Objects are numbered by the process, and told before the first call that names
 * them. The first word of a record is stored last: whoever finds it finds all of it.
 */
#ifndef SONDE_FORMAT_WAIT_H
#define SONDE_FORMAT_WAIT_H

#include <stdint.h>

#define SONDE_WAIT_KIND_BITS 8 /* of the first word of CALL and OBJECT; then a tid */
#define SONDE_WAIT_STACK (UINT64_C(1) << 63)
#define SONDE_WAIT_NAME_MAX_B 255u
#define SONDE_WAIT_OBJECTS_MAX (1u << 20)

/* Where heap.h has its enum sonde_heap_op. */
enum sonde_wait_op { SONDE_WAIT_CALL = 16, SONDE_WAIT_OBJECT = 17 };

#define SONDE_WAIT_IN_VAIN 1u /* `amount` of a call for a lock, condition or semaphore that ended without it */

/* What hooks are asked for. */
enum sonde_wait_what {
	SONDE_WAIT_WHAT_LOCKS = 1, /* and time, and other tasks */
	SONDE_WAIT_WHAT_IO = 2,
};

enum sonde_wait_kind {
#define SONDE_WAIT(id, number, name, group, title) SONDE_WAIT_##id = (number),
#include "format/waits.def"
#undef SONDE_WAIT
	SONDE_WAIT_KINDS = 65, /* numbers are below */
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

/* The method of the waits source where calls on files alone were asked for. */
#define SONDE_WAIT_METHOD_FILES "libc calls on files; stacks from call-frame tables"

#endif
