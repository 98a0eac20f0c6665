/* tallies.h: samples summed by thread: the state of the passes `threads` and `processes`. */
#ifndef SONDE_ANALYZE_TALLIES_H
#define SONDE_ANALYZE_TALLIES_H

#include "analyze/samples.h"

struct sonde_tallies {
	struct sonde_session *session;
	struct sonde_pass_options options;
	size_t count; /* thread ids are 0 … count − 1 */
	struct sonde_weight *by_thread;
	struct sonde_weight all;
	double square;
};

int sonde_tallies_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_tallies_feed(void *state, const struct sonde_batch *batch);
int sonde_tallies_merge(void *state, void *other);
void sonde_tallies_end(void *state);

/* A part of all sampled time, with its 95 % interval. */
struct sonde_cell sonde_tallies_share(const struct sonde_tallies *tallies, uint64_t part_ns);

#endif
