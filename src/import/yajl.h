/* yajl.h: the yajl functions for trace events, resolved in libyajl.so.2 when a file is read, so that other commands
 * need not load that library. */
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

/* Set by sonde_yajl_load(), constant afterwards. */
extern struct sonde_yajl sonde_yajl;

/* Allocator for a yajl parser. yajl does not check whether its allocations succeed: when memory runs out, a reserve is
 * released, which is enough until the caller has stopped the parser. The caller limits texts (16 MB). */
struct sonde_yajl_memory {
	void *reserve;
	int is_short; /* the reserve is in use: stop parsing */
	yajl_alloc_funcs functions;
};

int sonde_yajl_memory_init(struct sonde_yajl_memory *memory); /* -ENOMEM with a message */
void sonde_yajl_memory_fini(struct sonde_yajl_memory *memory);

/* 0, or -ENOSYS with a message if yajl is not installed or too old. One thread at a time. */
int sonde_yajl_load(void);

#endif
