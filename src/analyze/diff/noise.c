/* noise.c: how much longer a run took because other programs had the CPUs.
 *
 * Iterations are compared by wall time. The base is the time in which the run's threads ran or were runnable. Only a
 * part of their waiting for a CPU counts as noise, because threads of one program wait for each other, too. The part
 * equals the share of the used CPU time that went to other programs. Time stolen by a hypervisor is added. Without
 * readings of the machine, nothing is known, and the noise is 0.
 */
#include "analyze/diff/noise.h"

#include <math.h>

#include "analyze/cpu/cputime.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/resource/series.h"

static double noise_of(const struct sonde_series_sums *sums, struct sonde_session *session)
{
	const struct sonde_machine_cpu cpu = sonde_machine_cpu_of(sums);
	double own_ns = (double)sonde_cpu_time_of(session, 0).ns;
	double all_ns = sonde_machine_cores(session) * (double)sonde_session_run(session)->wall_ns;
	double used_ns = (cpu.busy + cpu.stolen) * all_ns, stolen_ns = cpu.stolen * all_ns;
	size_t threads;
	double waited_ns = sonde_series_waited(sums, 0, &threads);
	if (!cpu.known || !(used_ns > 0) || !(own_ns > 0))
		return 0;
	double others = fmax(1 - own_ns / used_ns, 0);
	return fmin(waited_ns * others / (waited_ns + own_ns) + stolen_ns / (stolen_ns + own_ns), 1);
}

int sonde_diff_noise(double *out, struct sonde_session *session)
{
	static const struct sonde_pass_options all;
	struct sonde_series_sums sums;
	int code = sonde_series_sums_read(&sums, session, &all);
	if (code)
		return code;
	*out = noise_of(&sums, session);
	sonde_series_sums_fini(&sums);
	return 0;
}
