/* causes.h: data about calls that shows which thread unblocked which. critical/causes.c reads it,
 * critical/causes_find.c queries it. */
#ifndef SONDE_ANALYZE_CRITICAL_CAUSES_H
#define SONDE_ANALYZE_CRITICAL_CAUSES_H

#include "analyze/critical/critical.h"

/* An event that unblocks a thread waiting for `key`. */
struct sonde_critical_release {
	uint64_t at_ns;
	uint64_t key;
	uint32_t thread;
};

/* The exit of a thread, or of a process (at its last thread's exit): which waiters it can unblock, and when. */
struct sonde_critical_end {
	uint64_t at_ns;
	uint64_t of; /* key: process id, and whether the whole process exited */
	uint32_t thread;
};

struct sonde_critical_rows {
	void *data;
	size_t count, cap, row_b;
};

struct sonde_critical_causes {
	struct sonde_session *session;
	struct sonde_critical_rows releases, arrivals;
	struct sonde_critical_end *ends, *starts; /* `starts` has threads only */
	size_t end_count;
	size_t *begin, *hint;      /* by key: index of its first release; result of its last look-up */
	/* running XORs of the thread ids of `starts`, and of `ends`: the XOR of two is the only thread between them */
	uint32_t *started, *ended;
	uint32_t *pipe_of;         /* by object id: equal for both ends of a pipe; 0 = not a pipe */
	uint32_t *last_of;         /* by process id: the thread that exited last */
	uint8_t *lossy;            /* by process id: calls were lost */
	size_t objects, processes, threads;
	int is_lossy; /* some process lost calls */
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
