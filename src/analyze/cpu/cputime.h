/* cputime.h: the CPU time of the whole run.
 *
 * The kernel's figure for the command includes its children only if they were waited for. If the CPU clocks of the
 * recorded threads add up to more, their sum is used. It is a lower bound, because threads that are still running have
 * no final clock. The kernel's figure excludes time stolen by the hypervisor; thread clocks and samples include it.
 */
#ifndef SONDE_ANALYZE_CPU_CPUTIME_H
#define SONDE_ANALYZE_CPU_CPUTIME_H

#include <stdint.h>

#include "session/session.h"

struct sonde_cpu_time {
	uint64_t ns;
	uint64_t user_ns, system_ns; /* of the command and its waited-for children; their sum is `ns` unless at_least */
	int known;
	int at_least;
	uint64_t stolen_ns; /* over all CPUs of the machine */
	int stolen_known;
};

/* `sampled_ns`: CPU time of all samples of the run, or 0 if only some were read. */
struct sonde_cpu_time sonde_cpu_time_of(const struct sonde_session *session, uint64_t sampled_ns);

#endif
