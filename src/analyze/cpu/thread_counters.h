/* thread_counters.h: samples summed by thread: the state of the passes `threads` and `processes`. */
#ifndef SONDE_ANALYZE_CPU_THREAD_COUNTERS_H
#define SONDE_ANALYZE_CPU_THREAD_COUNTERS_H

#include "analyze/cpu/samples.h"

struct sonde_thread_counters {
	struct sonde_session *session;
	struct sonde_pass_options options;
	size_t count; /* thread ids are 0 … count − 1 */
	struct sonde_weight *by_thread;
	struct sonde_weight all;
	uint64_t taken_ns;               /* part of `all` with a stack, or in the kernel */
	double square;                   /* Σ weight² of that part */
	uint64_t measured_ns, period_ns; /* as in struct sonde_samples */
};

int sonde_thread_counters_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_thread_counters_feed(void *state, const struct sonde_batch *batch);
int sonde_thread_counters_merge(void *state, void *other);
void sonde_thread_counters_end(void *state);

/* Fills the cells share, sampled time and samples of a part; absent, with the reason, if nothing was sampled. */
void sonde_thread_counters_cells(const struct sonde_thread_counters *counters, struct sonde_weight part,
				 struct sonde_cell *share, struct sonde_cell *sampled_ns, struct sonde_cell *samples);

/* A cell for a clock read when threads exited: absent if not measured (0), or if a time range was selected. */
struct sonde_cell sonde_thread_counters_clock(const struct sonde_thread_counters *counters, uint64_t clock_ns);

/* Notes what 100 % is, or why there are no shares. */
void sonde_thread_counters_note(const struct sonde_thread_counters *counters, struct sonde_report *report,
				struct sonde_section *section);

#endif
