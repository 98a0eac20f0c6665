/* parallelism.h: the number of runnable and of running threads at any time, from context switches. */
#ifndef SONDE_ANALYZE_WAIT_PARALLELISM_H
#define SONDE_ANALYZE_WAIT_PARALLELISM_H

#include <stdint.h>

#include "session/session.h"

struct sonde_parallelism;

int sonde_parallelism_new(struct sonde_parallelism **out, struct sonde_session *session);
void sonde_parallelism_free(struct sonde_parallelism *parallelism);

/* A batch of SWITCHES. */
int sonde_parallelism_feed(struct sonde_parallelism *parallelism, const struct sonde_batch *batch);

/* The thread was sampled, so it ran: without any switch it counts as running all its life. */
void sonde_parallelism_seen(struct sonde_parallelism *parallelism, uint32_t thread);
int sonde_parallelism_merge(struct sonde_parallelism *parallelism, const struct sonde_parallelism *other);

/* True if there was any switch. */
int sonde_parallelism_known(const struct sonde_parallelism *parallelism);

/* After feeding: computes the steps, and the time at each level within [from_ns, to_ns) (0 = the whole run). */
int sonde_parallelism_settle(struct sonde_parallelism *parallelism, uint64_t from_ns, uint64_t to_ns);

/* For all functions below, call settle first. Returns the number of threads running at a time, including a thread that
 * was sampled then: at most sonde_parallelism_cpus(), and at least 1 if the CPUs are unknown. Levels, below, count
 * runnable threads, which include preempted ones. */
double sonde_parallelism_running(const struct sonde_parallelism *parallelism, uint64_t time_ns);
double sonde_parallelism_cpus(const struct sonde_parallelism *parallelism);     /* CPUs of the run; 0 = unknown */
uint32_t sonde_parallelism_levels(const struct sonde_parallelism *parallelism); /* highest + 1 */
uint64_t sonde_parallelism_time_ns(const struct sonde_parallelism *parallelism, uint32_t level);
double sonde_parallelism_share(const struct sonde_parallelism *parallelism, uint32_t level);
double sonde_parallelism_busy_share(const struct sonde_parallelism *parallelism); /* 1 − share of level 0 */

#endif
