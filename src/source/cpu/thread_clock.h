/* thread_clock.h: how long threads were on a CPU, from context-switch records, and what each of their samples stands
 * for.
 *
 * A thread's events begin with a whole period on each CPU that it visits, so the time after its last sample there is
 * missing, and a process that lives for less than a period is never sampled at all. The clocks know how much that is,
 * and keep one of the thread's stacks, chosen at random, to stand for it while it is little; time that is missing
 * because records were lost stands for no stack. Where records were lost, a clock is in doubt by so much, until it is
 * set from /proc. Times of one thread never go back. Not thread-safe.
 */
#ifndef SONDE_SOURCE_CPU_THREAD_CLOCK_H
#define SONDE_SOURCE_CPU_THREAD_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

struct sonde_thread_clocks;

/* Each of two sampling events has its period; every sample stands for weight_ns. */
struct sonde_thread_sampling {
	uint64_t period_ns[2];
	uint64_t weight_ns;
};

int sonde_thread_clocks_new(struct sonde_thread_clocks **out, const struct sonde_thread_sampling *sampling);
void sonde_thread_clocks_free(struct sonde_thread_clocks *clocks);

/* Time in the kernel is not sampled; user_share is what is left of all CPU time, as far as is known now. */
void sonde_thread_clocks_user_only(struct sonde_thread_clocks *clocks, double user_share);

/* The thread is followed from now on. It ran for ran_ns before, as sonde_thread_clocks_read() says. A thread that is
 * first seen without this is in doubt. */
void sonde_thread_clocks_start(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t ran_ns, uint64_t time_ns);

/* The thread forked a process. */
void sonde_thread_clocks_forked(struct sonde_thread_clocks *clocks, pid_t tid);

/* The thread got a CPU, or lost it. */
void sonde_thread_clocks_in(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);
void sonde_thread_clocks_out(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);

/* The thread runs another program now: the stacks it had are no longer its. It is on `cpu`. */
void sonde_thread_clocks_exec(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);

/* Records of a CPU may be missing between the two times. */
void sonde_thread_clocks_lost(struct sonde_thread_clocks *clocks, uint64_t from_ns, uint64_t to_ns);

/* Sets clocks that are in doubt to what the kernel says; at the end of each drain. */
void sonde_thread_clocks_settle(struct sonde_thread_clocks *clocks);
void sonde_thread_clocks_set(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t ran_ns, uint64_t time_ns);
uint64_t sonde_thread_clocks_read(pid_t tid); /* how long a thread ran since it was created; 0 = not known */

/* What is written for a sample: never more than the thread ran. */
struct sonde_thread_share {
	uint64_t weight_ns;
	uint64_t lost_ns; /* before it, for no stack */
};

/* The thread was sampled on `cpu`. */
struct sonde_thread_share sonde_thread_clocks_sample(struct sonde_thread_clocks *clocks, pid_t tid, int cpu,
						     uint64_t time_ns);

/* What a sample that is one too many may stand for: time of the thread that its own samples lack, 0 = none. Without
 * losses only threads that fork lack much: their events go on in their children. */
uint64_t sonde_thread_clocks_extra(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);

/* Time in the kernel that is to be written for a thread of the recording now: what the clock went on and samples of
 * user code did not; 0 where the kernel is sampled, and where it is less than a sample stands for. */
uint64_t sonde_thread_clocks_kernel(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t owner, uint64_t time_ns);

/* The same of every thread that lives, at the end: 1 and the next one, 0 when there is no more. `at` begins with 0. */
int sonde_thread_clocks_next_kernel(struct sonde_thread_clocks *clocks, uint32_t *at, uint64_t time_ns, uint32_t *owner,
				    uint64_t *kernel_ns);

/* A stack that the thread had; one of them is kept. */
void sonde_thread_clocks_stack(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status);

/* A stack that stands for the thread as long as it has no sample; whether one is wanted. */
int sonde_thread_clocks_lacks(const struct sonde_thread_clocks *clocks, pid_t tid);
void sonde_thread_clocks_hint(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status);

struct sonde_thread_total {
	uint64_t cpu_ns;    /* on a CPU in all, 0 = never seen, or not known within 2 % */
	uint64_t left_ns;   /* that no sample stands for, and `stack` may */
	uint64_t lost_ns;   /* that no sample stands for, and no stack may */
	uint64_t kernel_ns; /* in the kernel, where that is not sampled */
	uint64_t samples;   /* how many were counted */
	uint32_t stack;     /* one of them; 0 = none */
	uint8_t status;
};

/* The total as of time_ns. What is left and lost counts as written from then on. */
struct sonde_thread_total sonde_thread_clocks_total(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);

/* The thread ended at time_ns; its number is free again. */
struct sonde_thread_total sonde_thread_clocks_end(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);

#endif
