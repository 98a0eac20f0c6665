/* wait.h: the rows of waits.def: what the rows of WAITS chunks are. */
#ifndef SONDE_FORMAT_WAIT_H
#define SONDE_FORMAT_WAIT_H

#include <stdint.h>

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

#endif
