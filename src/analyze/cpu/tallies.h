/* tallies.h: samples summed by thread: the state of the passes `threads` and `processes`. */
#ifndef SONDE_ANALYZE_CPU_TALLIES_H
#define SONDE_ANALYZE_CPU_TALLIES_H

#include "analyze/cpu/samples.h"

struct sonde_tallies {
	struct sonde_session *session;
	struct sonde_pass_options options;
	size_t count; /* thread ids are 0 … count − 1 */
	struct sonde_weight *by_thread;
	struct sonde_weight all;
	uint64_t taken_ns;               /* the part of it that samples with a stack, or in the kernel, stand for */
	double square;                   /* Σ weight² of these */
	uint64_t measured_ns, period_ns; /* as in struct sonde_samples */
};

int sonde_tallies_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_tallies_feed(void *state, const struct sonde_batch *batch);
int sonde_tallies_merge(void *state, void *other);
void sonde_tallies_end(void *state);

/* The cells share, sampled time and samples of a part; absent, with the reason, when nothing was sampled. */
void sonde_tallies_cells(const struct sonde_tallies *tallies, struct sonde_weight part, struct sonde_cell *share,
			 struct sonde_cell *sampled_ns, struct sonde_cell *samples);

/* Of clocks that were read when threads ended: absent when not measured (0), and when a time was selected. */
struct sonde_cell sonde_tallies_clock(const struct sonde_tallies *tallies, uint64_t clock_ns);

/* What 100 % is, or why there are no shares. */
int sonde_tallies_note(const struct sonde_tallies *tallies, struct sonde_report *report, struct sonde_section *section);

#endif
