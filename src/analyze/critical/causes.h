/* causes.h: what is read of calls to know who let whom go on (critical/causes.c), for who asks
 * (critical/causes_find.c). */
#ifndef SONDE_ANALYZE_CRITICAL_CAUSES_H
#define SONDE_ANALYZE_CRITICAL_CAUSES_H

#include "analyze/critical/critical.h"

/* Something that lets who waits for `key` go on. */
struct sonde_critical_release {
	uint64_t at_ns;
	uint64_t key;
	uint32_t thread;
};

/* A thread, or a process by its last one, that ended; by whom it can be waited for, and when. */
struct sonde_critical_end {
	uint64_t at_ns;
	uint64_t of; /* process, whether it ended as a whole */
	uint32_t thread;
};

struct sonde_critical_rows {
	void *data;
	size_t count, cap, row_b;
};

struct sonde_critical_causes {
	struct sonde_session *session;
	struct sonde_critical_rows releases, arrivals;
	struct sonde_critical_end *ends, *starts; /* starts of threads alone */
	size_t end_count;
	size_t *begin, *hint;      /* of releases, by key: the first; where the last look was */
	uint32_t *started, *ended; /* ids of all before, each with each by XOR: what is left of two is one */
	uint32_t *pipe_of;         /* by object id: equal where the pipe is the same; 0 = it is none */
	uint32_t *last_of;         /* by process id: the thread that ended last */
	uint8_t *lossy;            /* by process id: calls of it are missing */
	size_t objects, processes, threads;
	int is_lossy; /* of some */
};

enum { SONDE_CRITICAL_KEY_LOCK, SONDE_CRITICAL_KEY_WRITTEN, SONDE_CRITICAL_KEY_READ, SONDE_CRITICAL_KEY_BITS = 2 };

static inline uint64_t sonde_critical_cause_key(uint32_t id, uint32_t what)
{
	return (uint64_t)id << SONDE_CRITICAL_KEY_BITS | what;
}

static inline int sonde_critical_is_giving(uint8_t kind)
{
	return kind == SONDE_WAIT_WRITE || kind == SONDE_WAIT_SEND;
}

static inline int sonde_critical_is_taking(uint8_t kind)
{
	return kind == SONDE_WAIT_READ || kind == SONDE_WAIT_RECEIVE;
}

#endif
