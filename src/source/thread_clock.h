/* thread_clock.h: how long threads were on a CPU, from context-switch records. Not thread-safe. */
#ifndef SONDE_SOURCE_THREAD_CLOCK_H
#define SONDE_SOURCE_THREAD_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

struct sonde_thread_clocks;

int sonde_thread_clocks_new(struct sonde_thread_clocks **out);
void sonde_thread_clocks_free(struct sonde_thread_clocks *clocks);

/* The thread got a CPU, or lost it. */
void sonde_thread_clocks_in(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);
void sonde_thread_clocks_out(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);

/* The thread ended at time_ns: what it ran in all, 0 when it was never seen. Its number is free again. */
uint64_t sonde_thread_clocks_end(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns);

#endif
