/* window.h: the time that a report covers: the denominator of rates and of shares of the run.
 *
 * It is the whole run, or the part selected with --from and --to; in a flight recording, the time from its first event
 * to its last.
 */
#ifndef SONDE_ANALYZE_WINDOW_H
#define SONDE_ANALYZE_WINDOW_H

#include <stdint.h>

#include "analyze/pass.h"

struct sonde_window {
	uint64_t from_ns, to_ns; /* to_ns ≥ from_ns */
	int held;                /* events before from_ns were dropped on purpose */
	const char *what;        /* "wall time", for sentences that say "÷ 1.000 s of …" */
};

struct sonde_window sonde_window_of(const struct sonde_session *session, const struct sonde_pass_options *options);

static inline double sonde_window_s(const struct sonde_window *window)
{
	return (double)(window->to_ns - window->from_ns) / 1e9;
}

#endif
