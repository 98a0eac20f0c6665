/* thread_clock_state.h: the rows of cpu/thread_clock.c: one for each CPU that a thread visited, the first found by tid,
 * the others chained to it. */
#ifndef SONDE_SOURCE_CPU_THREAD_CLOCK_STATE_H
#define SONDE_SOURCE_CPU_THREAD_CLOCK_STATE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/cpu/thread_clock.h"
#include "util/map.h"

struct sonde_clock_row {
	pid_t tid; /* 0 = unused */
	int cpu;   /* −1: not on any yet */
	int is_first;
	uint32_t next;     /* id of the thread's row on another CPU, or of the next free one */
	uint64_t in_ns;    /* 0 = off */
	uint64_t total_ns; /* here */
	/* of the whole thread, in its first row */
	uint64_t before_ns; /* it ran before it was followed */
	uint64_t known_ns,
	    set_at_ns;       /* it ran since, but for the interval that is open; nothing before set_at_ns counts */
	uint64_t checked_ns; /* the kernel's count when it was set */
	uint64_t doubt_ns, last_ns;        /* may be missing from it; the last switch */
	uint64_t given_ns;                 /* samples stand for */
	uint64_t kernel_ns;                /* written as time in the kernel */
	uint32_t owner;                    /* whose: the recording's thread id */
	uint64_t losses;                   /* of `clocks`, when last known to lack none */
	uint64_t whole_ns, whole_given_ns; /* clock and samples at that time */
	uint64_t forks;                    /* of processes */
	uint64_t samples;
	uint64_t kept_of; /* how many samples `stack` was chosen from */
	uint32_t stack;
	uint8_t status;
};

struct sonde_thread_clocks {
	struct sonde_thread_sampling sampling;
	int user_only;
	double user_share;
	double balance_ns; /* user time of short threads that no sample stands for; negative: too many samples */
	struct sonde_clock_row *rows; /* id − 1 */
	uint32_t count, cap, first_free, looked_at;
	int doubts; /* some clock is in doubt */
	uint64_t losses;
	uint64_t random;
	struct sonde_map by_tid;
};

/* The id of a thread's first row, or 0; and the row, or NULL. */
uint32_t sonde_clock_find(const struct sonde_thread_clocks *clocks, pid_t tid);
struct sonde_clock_row *sonde_clock_first(const struct sonde_thread_clocks *clocks, pid_t tid);
/* The thread's next row; NULL after the last. */
struct sonde_clock_row *sonde_clock_next(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *row);
/* The first row of a thread that is new; NULL when out of memory. */
struct sonde_clock_row *sonde_clock_add(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);
/* The thread's row on `cpu`, made when it is new; NULL when out of memory. Moves rows. */
struct sonde_clock_row *sonde_clock_on(struct sonde_thread_clocks *clocks, struct sonde_clock_row **of, int cpu);
/* A row that is not used any more. */
void sonde_clock_give(struct sonde_thread_clocks *clocks, uint32_t id);

#endif
