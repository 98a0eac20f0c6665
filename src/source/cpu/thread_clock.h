/* thread_clock.h: the CPU time of threads, from context-switch records, and how much of it each sample accounts for.
 *
 * A thread's events start with a whole period on each CPU that it visits, so the time after its last sample there is
 * missing, and a process that lives for less than a period is never sampled at all. The clocks know how much is
 * missing, and keep one of the thread's stacks, chosen at random. If the missing time is short, it is attributed to
 * this stack. Time that is missing because records were lost is attributed to no stack. Lost records add to the
 * uncertainty of a clock until it is set from /proc. Times of one thread never go back. Not thread-safe.
 */
#ifndef SONDE_SOURCE_CPU_THREAD_CLOCK_H
#define SONDE_SOURCE_CPU_THREAD_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

struct sonde_thread_clocks;

/* The periods of the two sampling events, and the CPU time that every sample accounts for, weight_ns. */
struct sonde_thread_sampling {
	uint64_t period_ns[2];
	uint64_t weight_ns;
};

int sonde_thread_clocks_new(struct sonde_thread_clocks **out, const struct sonde_thread_sampling *sampling);
void sonde_thread_clocks_free(struct sonde_thread_clocks *clocks);

/* Declares that kernel time is not sampled. user_share: the current estimate of the user share of all CPU time. */
void sonde_thread_clocks_user_only(struct sonde_thread_clocks *clocks, double user_share);

/* Starts the clock of a thread that ran for ran_ns before (sonde_thread_clocks_read()). A thread that is first seen
 * without this call has an uncertain clock. */
void sonde_thread_clocks_start(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t ran_ns, uint64_t time_ns);

/* The thread forked a process. */
void sonde_thread_clocks_forked(struct sonde_thread_clocks *clocks, pid_t tid);

/* The thread got a CPU, or lost it. */
void sonde_thread_clocks_in(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);
void sonde_thread_clocks_out(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);

/* The thread, on `cpu`, runs another program now: its previous stacks no longer count. */
void sonde_thread_clocks_exec(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);

/* Records of a CPU may be missing between the two times. */
void sonde_thread_clocks_lost(struct sonde_thread_clocks *clocks, uint64_t from_ns, uint64_t to_ns);

/* Sets uncertain clocks from the kernel's count; call at the end of each drain. */
void sonde_thread_clocks_settle(struct sonde_thread_clocks *clocks);
void sonde_thread_clocks_set(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t ran_ns, uint64_t time_ns);
uint64_t sonde_thread_clocks_read(pid_t tid); /* how long a thread has run since its creation; 0 = unknown */

/* The CPU time to write for a sample. The sum over a thread's samples never exceeds the time that the thread ran. */
struct sonde_thread_share {
	uint64_t weight_ns;
	uint64_t lost_ns; /* time before the sample that belongs to no stack */
};

/* The thread was sampled on `cpu`. */
struct sonde_thread_share sonde_thread_clocks_sample(struct sonde_thread_clocks *clocks, pid_t tid, int cpu,
						     uint64_t time_ns);

/* The time that may be attributed to an extra sample: the part of the thread's time that its regular samples do not
 * cover; 0 = none. If no records are lost, only threads that fork have much uncovered time, since their events continue
 * in their children. */
uint64_t sonde_thread_clocks_extra(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);

/* The kernel time to write now for a thread (`owner`: its id in the recording): the part of its clock that samples of
 * user code do not cover. 0 if the kernel is sampled, or if the time is less than a sample stands for. */
uint64_t sonde_thread_clocks_kernel(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t owner, uint64_t time_ns);

/* At the end, iterates over the kernel time still to be written for live threads: returns 1 with the next one, or 0.
 * `at` starts at 0. */
int sonde_thread_clocks_next_kernel(struct sonde_thread_clocks *clocks, uint32_t *at, uint64_t time_ns, uint32_t *owner,
				    uint64_t *kernel_ns);

/* Reports a stack of the thread; one of them is kept. */
void sonde_thread_clocks_stack(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status);

/* hint() sets a stack to which the thread's time is attributed as long as the thread has no sample; missing() returns
 * true if the thread needs such a stack. */
int sonde_thread_clocks_missing(const struct sonde_thread_clocks *clocks, pid_t tid);
void sonde_thread_clocks_hint(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status);

struct sonde_thread_total {
	uint64_t cpu_ns;    /* total CPU time; 0 = never seen, or not known within 2 % */
	uint64_t left_ns;   /* CPU time not covered by samples, which may be attributed to `stack` */
	uint64_t lost_ns;   /* CPU time not covered by samples, which must not be attributed to a stack */
	uint64_t kernel_ns; /* kernel time, if the kernel is not sampled */
	uint64_t samples;   /* number of samples */
	uint32_t stack;     /* stack of one of the samples; 0 = none */
	uint8_t status;
};

/* The total as of time_ns. After this call, the returned left_ns and lost_ns count as written. */
struct sonde_thread_total sonde_thread_clocks_total(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);

/* Like total(), for a thread that ended at time_ns; its tid is free again. */
struct sonde_thread_total sonde_thread_clocks_end(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);

#endif
