/* pool.h: the recorder's side of one process's pool (format/ring.h): creates it and drains it into the recording.
 *
 * Everything in the pool is untrusted; the data that fold/drain.h returns has been checked. Samples, stacks and heap
 * words go to the listeners of the process (target/listener.h), everything else to its program sink. One thread.
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

/* The number of chunks that all pools of a session use together, and its limit. */
struct sonde_pool_budget {
	uint32_t used;
	uint32_t cap;
	struct sonde_pool *spare; /* prepared for the next process; NULL = none */
	int has_none;             /* preparing a pool failed and is not tried again */
	int is_kept;              /* sonde_pool_prepare() is in use */
	struct sonde_pool *ended; /* pool whose memory is to be freed when no process waits; NULL = none */
};

struct sonde_pool_options {
	struct sonde_recorder *recorder;
	struct sonde_pool_budget *budget;
	const struct sonde_clockfit *fit;
	pid_t pid;          /* in our pid namespace */
	pid_t own_pid;      /* in its own pid namespace */
	uint32_t clock;     /* enum sonde_ring_clock */
	uint32_t on_full;   /* enum sonde_ring_on_full */
	uint32_t most;      /* maximum number of chunks; 0 = as many as the budget has */
	const char *source; /* source of losses: "heap" */
	const struct sonde_listeners *listeners;
};

/* Creates the pool and allocates its memory: at least two chunks, even beyond the budget. */
int sonde_pool_new(struct sonde_pool **out, const struct sonde_pool_options *options);
/* Call when no process waits for an answer: frees the memory of an ended pool and allocates the next one in advance,
 * unless there is one or the budget is short. The caller ends with sonde_pool_forget(), which frees both. */
void sonde_pool_prepare(struct sonde_pool_budget *budget);
void sonde_pool_forget(struct sonde_pool_budget *budget);
/* Drains what remains, as after the process has ended; then ends its program sink and frees the pool. */
void sonde_pool_free(struct sonde_pool *pool);

/* The sink for the process's libsonde records; NULL if no listener of its client wants them. */
const struct sonde_program_sink *sonde_pool_program(const struct sonde_pool *pool);
/* The id of a thread in the recording. */
uint32_t sonde_pool_thread_id(struct sonde_pool *pool, struct sonde_drain_thread *thread, uint64_t time_ns);
/* Our tid of the thread that the process calls `own`; 0 = unknown. */
pid_t sonde_pool_tid(struct sonde_pool *pool, pid_t own);
/* Like sonde_pool_tid(), but returns `own` for an unknown thread of another pid namespace. */
pid_t sonde_pool_outer_tid(struct sonde_pool *pool, uint32_t own);
int sonde_pool_fd(const struct sonde_pool *pool);
uint64_t sonde_pool_size_b(const struct sonde_pool *pool);
void sonde_pool_drain(struct sonde_pool *pool, int final);
/* Adds to the counts of losses in the head of the pool, from which the process reads them. */
void sonde_pool_count_lost(struct sonde_pool *pool, enum sonde_ring_lost cause, uint64_t count);
/* 0 if the process no longer maps the pool (it has executed another program); 1 if it does or this is unknown. */
int sonde_pool_is_mapped(const struct sonde_pool *pool);

#endif
