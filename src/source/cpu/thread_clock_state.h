/* thread_clock_state.h: the rows of cpu/thread_clock.c: a thread has one row for each CPU that it has visited. The
 * first is found by tid, the others are chained to it.
 */
#ifndef SONDE_SOURCE_CPU_THREAD_CLOCK_STATE_H
#define SONDE_SOURCE_CPU_THREAD_CLOCK_STATE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/cpu/thread_clock.h"
#include "util/map.h"

struct sonde_clock_row {
	pid_t tid; /* 0 = unused */
	int cpu;   /* −1 = none yet */
	int is_first;
	uint32_t next;     /* id of the thread's row on another CPU, or of the next free row */
	uint64_t in_ns;    /* start of the open interval; 0 = off this CPU */
	uint64_t total_ns; /* run time on this CPU */
	/* of the whole thread, only in its first row */
	uint64_t before_ns;                /* run time before it was followed */
	uint64_t known_ns, set_at_ns;      /* run time since then, up to set_at_ns, and of closed intervals */
	uint64_t checked_ns;               /* known_ns as last set from the kernel */
	uint64_t doubt_ns, last_ns;        /* uncertainty of known_ns; time of the last switch */
	uint64_t given_ns;                 /* run time already attributed to samples */
	uint64_t kernel_ns;                /* time written as kernel time */
	uint32_t owner;                    /* thread id in the recording */
	uint64_t losses;                   /* clocks->losses when the thread was last complete */
	uint64_t whole_ns, whole_given_ns; /* known_ns and given_ns at that time */
	uint64_t forks;                    /* processes that it forked */
	uint64_t samples;
	uint64_t kept_of; /* number of samples that `stack` was chosen from */
	uint32_t stack;
	uint8_t status;
};

struct sonde_thread_clocks {
	struct sonde_thread_sampling sampling;
	int user_only;
	double user_share;
	double balance_ns;            /* user time of short threads without samples; negative: too many samples */
	struct sonde_clock_row *rows; /* by id − 1 */
	uint32_t count, first_free, looked_at;
	size_t cap;
	int doubts; /* some clock is uncertain */
	uint64_t losses;
	uint64_t random;
	struct sonde_map by_tid;
};

/* find() returns the id of a thread's first row, or 0; first() returns the row itself, or NULL. */
uint32_t sonde_clock_find(const struct sonde_thread_clocks *clocks, pid_t tid);
struct sonde_clock_row *sonde_clock_first(const struct sonde_thread_clocks *clocks, pid_t tid);
/* The thread's next row; NULL after the last. */
struct sonde_clock_row *sonde_clock_next(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *row);
/* Adds the first row of a new thread; NULL when out of memory. */
struct sonde_clock_row *sonde_clock_add(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);
/* The thread's row on `cpu`, created if new; NULL when out of memory. May move rows and updates *of. */
struct sonde_clock_row *sonde_clock_on(struct sonde_thread_clocks *clocks, struct sonde_clock_row **of, int cpu);
/* Frees a row. */
void sonde_clock_give(struct sonde_thread_clocks *clocks, uint32_t id);

#endif
