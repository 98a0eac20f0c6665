/* finding_target.c: what advice is for: the device, described, and how many items are handled at once.
 *
 * A recording's devices are its processor (devices of other kinds come with their sources). A rule whose time is by the
 * call promises f × (1 − 1/N) of N items at once: one call in N stays, and takes no less than before.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "analyze/findings.h"
#include "analyze/roofline.h"
#include "util/error.h"

#define PROCESSOR "cpu"
#define NAME_LEAST_B 3 /* of a part of a name */

static const char *or_unknown(const char *text)
{
	return text && *text ? text : "not known";
}

/* Whether a name means the processor: "cpu", or a part of what it is called. */
static int is_processor(const char *name, const char *cpu)
{
	return !strcasecmp(name, PROCESSOR) || (strlen(name) >= NAME_LEAST_B && cpu && strcasestr(cpu, name));
}

static int peaks_note(struct sonde_session *session, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_roof roof;
	int from_cache;
	if (sonde_roofline_roof(&roof, &from_cache, session))
		return sonde_report_note(report, section, 0,
					 "its peaks were not measured: sonde roofline --measure, on that machine");
	const struct sonde_roof_figure *flops = sonde_roof_peak(&roof, SONDE_ROOF_FP64, SONDE_ROOF_ALL);
	const struct sonde_roof_figure *bytes = sonde_roof_bandwidth(&roof, SONDE_ROOF_DRAM, SONDE_ROOF_ALL);
	if (!flops || !bytes)
		return 0;
	return sonde_report_note(report, section, 0, "measured peaks: %.3g GFLOP/s (FP64), %.3g GB/s (DRAM)",
				 flops->best / 1e9, bytes->best / 1e9);
}

int sonde_finding_device(struct sonde_session *session, const char *name, struct sonde_report *report,
			 struct sonde_section *section)
{
	const char *cpu = sonde_session_info(session, "host.cpu"), *cpus = sonde_session_info(session, "run.cpus");
	if (!name)
		return 0;
	if (!is_processor(name, cpu))
		return sonde_error(EINVAL,
				   "--device: the recording has no device called '%s'; it has cpu (%s). Devices other "
				   "than processors are not recorded yet",
				   name, or_unknown(cpu));
	int rc = sonde_report_note(report, section, 0, "for the device cpu: %s, of which the program may use %s CPUs",
				   or_unknown(cpu), or_unknown(cpus ? cpus : sonde_session_info(session, "host.cpus")));
	return rc ? rc : peaks_note(session, report, section);
}

int sonde_finding_batch(struct sonde_finding *finding, size_t batch, struct sonde_report *report)
{
	if (batch < 2 || !finding->rule->is_by_call)
		return 0;
	double goes = 1 - 1 / (double)batch;
	finding->evidence = sonde_report_text(report, "%s; of %zu at once one call in %zu stays: %.1f %% less",
					      finding->evidence, batch, batch, 100 * goes);
	finding->saves_ns *= goes;
	finding->weighs *= goes;
	return finding->evidence ? 0 : sonde_error(ENOMEM, "out of memory for findings");
}
