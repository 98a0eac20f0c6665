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

/* Memory for a parser of yajl, which writes to what its allocation returned without a look: when there is no more, a
 * reserve is given back that lasts until the caller has stopped it. Texts are bounded by the caller (16 MB). */
struct sonde_yajl_memory {
	void *reserve;
	int is_short; /* the reserve is in use: stop */
	yajl_alloc_funcs functions;
};

int sonde_yajl_memory_init(struct sonde_yajl_memory *memory); /* -ENOMEM with a sentence */
void sonde_yajl_memory_fini(struct sonde_yajl_memory *memory);

/* 0, or -ENOSYS with a sentence when it is not installed or too old. Threads: one at a time. */
int sonde_yajl_load(void);

#endif
