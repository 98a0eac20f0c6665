/* rows.h: rows that walks assemble from several places of a recording. */
#ifndef SONDE_QUERY_ROWS_H
#define SONDE_QUERY_ROWS_H

#include <stdint.h>

/* A program event; fields that the event's type does not have are 0. */
struct sonde_query_event {
	uint64_t time_ns;
	double value;
	const char *text; /* valid until the next block */
	uint32_t process, thread, site;
	uint32_t type; /* enum sonde_event_type */
};

/* A function on a stack. */
struct sonde_query_frame {
	const char *file;
	uint32_t stack, depth, function, module, line, is_inlined;
};

#endif
