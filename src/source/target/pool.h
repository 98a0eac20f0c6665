/* pool.h: the recorder's end of one process's pool (format/ring.h): makes it, drains it into the recording.
 *
 * Everything in the pool is hostile; what fold/drain.h hands out has been checked. One thread.
 */
#ifndef SONDE_SOURCE_TARGET_POOL_H
#define SONDE_SOURCE_TARGET_POOL_H

#include <stdint.h>
#include <sys/types.h>

#include "fold/clockfit.h"
#include "format/link.h"
#include "source/record/recorder.h"

struct sonde_pool;

/* Chunks that all pools of a session have and may have. */
struct sonde_pool_budget {
	uint32_t used;
	uint32_t cap;
	struct sonde_pool *spare; /* prepared for the next process; NULL = none */
	int has_none;             /* one could not be made: none is prepared any more */
	int is_kept;              /* somebody prepares and forgets */
	struct sonde_pool *ended; /* whose memory is given back when nobody waits; NULL = none */
};

struct sonde_pool_thread {
	uint64_t serial; /* counts threads of the process */
	uint32_t id;     /* of the recording */
};

struct sonde_pool_options {
	struct sonde_recorder *recorder;
	struct sonde_pool_budget *budget;
	const struct sonde_clockfit *fit;
	pid_t pid;          /* as we see it */
	pid_t own_pid;      /* as it sees itself: differs in a pid namespace */
	uint32_t clock;     /* enum sonde_ring_clock */
	uint32_t on_full;   /* enum sonde_ring_on_full */
	uint32_t most;      /* chunks; 0 = as many as the budget has */
	const char *source; /* of what is lost: "heap" */
	void *context;
	void (*cpu_sample)(void *context, pid_t pid, pid_t tid, uint32_t thread,
			   const struct sonde_event_cpu_sample *sample); /* NULL = not a pool of samples */
	/* Of SONDE_EVENT_CALL_STACK. NULL = dropped. */
	void (*call)(void *context, pid_t pid, uint32_t thread, const struct sonde_event_call_stack *call);
	/* Words of a thread's HEAP chunks; none, with `words` NULL, when the thread has ended. NULL = dropped. */
	void (*heap)(void *context, pid_t pid, const struct sonde_pool_thread *thread, const uint64_t *words,
		     size_t count);
};

/* Makes and allocates the memory: at least two chunks, even beyond the budget. */
int sonde_pool_new(struct sonde_pool **out, const struct sonde_pool_options *options);
/* When nobody waits for an answer: gives back the memory of a pool that has ended, and makes that of the next one ahead,
 * unless there is one or the budget is short. Whoever does so forgets both at the end. */
void sonde_pool_prepare(struct sonde_pool_budget *budget);
void sonde_pool_forget(struct sonde_pool_budget *budget);
/* Drains what is left as if the process were gone, writes its histograms, frees. */
void sonde_pool_free(struct sonde_pool *pool);

/* Our number of a thread that the process calls `own`; 0 = not known. */
pid_t sonde_pool_tid(struct sonde_pool *pool, pid_t own);
int sonde_pool_fd(const struct sonde_pool *pool);
uint64_t sonde_pool_size_b(const struct sonde_pool *pool);
void sonde_pool_drain(struct sonde_pool *pool, int final);
size_t sonde_pool_answer(const struct sonde_pool *pool, const struct sonde_link_query *query,
			 struct sonde_link_answer *out);
/* What is alive of a pool that the process tells of by events: of everything that was told before. −ENOENT. */
int sonde_pool_blocks(struct sonde_pool *pool, const char *name, struct sonde_link_blocks *out);
/* 0 when the process no longer maps the pool (it has executed another program); 1 when it does or nobody can tell. */
int sonde_pool_is_mapped(const struct sonde_pool *pool);

#endif
