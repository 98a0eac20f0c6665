/* yajl.h: the functions of yajl that trace events are read with, found by name in libyajl.so.2 when a file is read: no
 * other command waits for it. */
#ifndef SONDE_IMPORT_YAJL_H
#define SONDE_IMPORT_YAJL_H

#include <yajl/yajl_parse.h>

#define SONDE_YAJL_FUNCTIONS(X) \
	X(alloc)                \
	X(complete_parse)       \
	X(config)               \
	X(free)                 \
	X(free_error)           \
	X(get_bytes_consumed)   \
	X(get_error)            \
	X(parse)

struct sonde_yajl {
#define SONDE_YAJL_DECLARE(name) __typeof__(&yajl_##name) name;
	SONDE_YAJL_FUNCTIONS(SONDE_YAJL_DECLARE)
#undef SONDE_YAJL_DECLARE
};

/* Filled in by sonde_yajl_load(), and never changed after that. */
extern struct sonde_yajl sonde_yajl;

/* 0, or -ENOSYS with a sentence when it is not installed or too old. Threads: one at a time. */
int sonde_yajl_load(void);

#endif
