/* pool.h: the recorder's end of one process's pool (format/ring.h): makes it, drains it into the recording.
 *
 * Everything in the pool is hostile; what fold/drain.h hands out has been checked. Samples, stacks and words go to the
 * listeners of the process (target/listener.h), everything else to its program sink. One thread.
 */
#ifndef SONDE_SOURCE_TARGET_POOL_H
#define SONDE_SOURCE_TARGET_POOL_H

#include <stdint.h>
#include <sys/types.h>

#include "fold/clockfit.h"
#include "format/ring.h"
#include "source/record/recorder.h"
#include "source/target/listener.h"

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
	const struct sonde_listeners *listeners;
};

/* Makes and allocates the memory: at least two chunks, even beyond the budget. */
int sonde_pool_new(struct sonde_pool **out, const struct sonde_pool_options *options);
/* When nobody waits for an answer: gives back the memory of a pool that has ended, and makes that of the next one
 * ahead, unless there is one or the budget is short. Whoever does so forgets both at the end. */
void sonde_pool_prepare(struct sonde_pool_budget *budget);
void sonde_pool_forget(struct sonde_pool_budget *budget);
/* Drains what is left as if the process were gone, ends its program sink, frees. */
void sonde_pool_free(struct sonde_pool *pool);

/* Who takes what the process records with libsonde; NULL = nobody, since no listener of its client does. */
const struct sonde_program_sink *sonde_pool_program(const struct sonde_pool *pool);
/* The recording's id of a thread. */
uint32_t sonde_pool_thread_id(struct sonde_pool *pool, struct sonde_drain_thread *thread, uint64_t time_ns);
/* Our number of a thread that the process calls `own`; 0 = not known. */
pid_t sonde_pool_tid(struct sonde_pool *pool, pid_t own);
/* The same, but a thread that nobody saw, in another pid namespace, keeps its own number. */
pid_t sonde_pool_outer_tid(struct sonde_pool *pool, uint32_t own);
int sonde_pool_fd(const struct sonde_pool *pool);
uint64_t sonde_pool_size_b(const struct sonde_pool *pool);
void sonde_pool_drain(struct sonde_pool *pool, int final);
/* Counts events as lost in the head of the pool, which the process reads. */
void sonde_pool_count_lost(struct sonde_pool *pool, enum sonde_ring_lost cause, uint64_t count);
/* 0 when the process no longer maps the pool (it has executed another program); 1 when it does or nobody can tell. */
int sonde_pool_is_mapped(const struct sonde_pool *pool);

#endif
