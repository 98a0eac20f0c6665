/* thread_clock.h: how long threads were on a CPU, from context-switch records, and what their samples left out.
 *
 * A thread's events begin with a whole period on each CPU that it visits, so the time after its last sample there is
 * missing, and a process that lives for less than a period is never sampled at all. The clocks know how much that is,
 * and keep one of the thread's stacks, chosen at random, to stand for it. Not thread-safe.
 */
#ifndef SONDE_SOURCE_THREAD_CLOCK_H
#define SONDE_SOURCE_THREAD_CLOCK_H

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

/* The thread got a CPU, or lost it. */
void sonde_thread_clocks_in(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);
void sonde_thread_clocks_out(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);

/* The thread was sampled. */
void sonde_thread_clocks_sample(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status);

/* A stack that stands for the thread as long as it has no sample; whether one is wanted. */
int sonde_thread_clocks_lacks(const struct sonde_thread_clocks *clocks, pid_t tid);
void sonde_thread_clocks_hint(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status);

/* The thread runs another program now: the stacks it had are no longer its. Starts its clock if it never was. */
void sonde_thread_clocks_exec(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns);

struct sonde_thread_total {
	uint64_t cpu_ns;     /* on a CPU in all, 0 = never seen */
	uint64_t missing_ns; /* after the last overflow of each event on each CPU */
	uint64_t samples;    /* how many were counted */
	uint32_t stack;      /* one of them; 0 = none */
	uint8_t status;
};

/* The thread ended at time_ns; its number is free again. */
struct sonde_thread_total sonde_thread_clocks_end(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);

#endif
