/* target.c: the target of the advice: the device, and the batch size, i.e. how many items are handled at once.
 *
 * The devices of a recording are its CPU, "cpu", and those that `sonde record --gpu` found, selected by a part of their
 * name. For a rule whose cost is per call, batches of N items save f × (1 − 1/N): one call in N remains, and this call
 * takes as long as before.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "analyze/device/roofs.h"
#include "analyze/findings/findings.h"
#include "analyze/work/roofline.h"
#include "util/error.h"

#define PROCESSOR "cpu"
#define NAME_LEAST_B 3 /* minimum length of a partial name */

static const char *or_unknown(const char *text)
{
	return text && *text ? text : "not known";
}

/* True if a name selects the CPU: "cpu", or a part of its model name. */
static int is_processor(const char *name, const char *cpu)
{
	return !strcasecmp(name, PROCESSOR) || (strlen(name) >= NAME_LEAST_B && cpu && strcasestr(cpu, name));
}

static void peaks_note(struct sonde_session *session, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_roof roof;
	int from_cache;
	if (sonde_roofline_roof(&roof, &from_cache, session)) {
		sonde_report_note(report, section, 0,
				  "its peaks were not measured: run sonde roofline --measure on that machine");
		return;
	}
	const struct sonde_roof_figure *flops = sonde_roof_peak(&roof, SONDE_ROOF_FP64, SONDE_ROOF_ALL);
	const struct sonde_roof_figure *bytes = sonde_roof_bandwidth(&roof, SONDE_ROOF_DRAM, SONDE_ROOF_ALL);
	if (!flops || !bytes)
		return;
	sonde_report_note(report, section, 0, "measured peaks: %.3g GFLOP/s (FP64), %.3g GB/s (DRAM)",
			  flops->best / 1e9, bytes->best / 1e9);
}

static int is_named(const struct sonde_device *device, const char *name)
{
	return !strcasecmp(device->name, name) || (strlen(name) >= NAME_LEAST_B && strcasestr(device->name, name));
}

/* The first device that matches a name; NULL = none. */
static const struct sonde_device *device_named(const struct sonde_session *session, const char *name)
{
	for (uint32_t id = 1; id <= sonde_session_device_count(session); id++) {
		const struct sonde_device *device = sonde_session_device(session, id);
		if (device && is_named(device, name))
			return device;
	}
	return NULL;
}

static void device_note(const struct sonde_device *device, struct sonde_report *report, struct sonde_section *section)
{
	double flops;
	sonde_report_note(report, section, 0, "for %s (%s)", device->name, device->api);
	if (!sonde_device_roof_flops(&flops, NULL, device, SONDE_DEVICE_FP32))
		sonde_report_note(report, section, 0,
				  "peak reported by its driver, not measured: %.0f GFLOP/s "
				  "(FP32)",
				  flops / 1e9);
	if (device->memory_b_per_s)
		sonde_report_note(report, section, 0, "bandwidth reported by its driver, not measured: %.0f GB/s",
				  (double)device->memory_b_per_s / 1e9);
}

/* Formats "; it has cpu (NAME), NAME, …", without duplicates. */
static int refuse(const struct sonde_session *session, const char *name, const char *cpu, struct sonde_report *report)
{
	const char *list = sonde_report_text(report, "cpu (%s)", or_unknown(cpu));
	size_t count = sonde_session_device_count(session);
	for (uint32_t id = 1; list && id <= count; id++) {
		const struct sonde_device *device = sonde_session_device(session, id);
		if (device && !strstr(list, device->name))
			list = sonde_report_text(report, "%s, %s", list, device->name);
	}
	return sonde_error(EINVAL, "--device: the recording has no device '%s'; it has %s%s", name,
			   list ? list : PROCESSOR, count ? "" : "; sonde record --gpu finds more");
}

int sonde_finding_device(struct sonde_session *session, const char *name, struct sonde_report *report,
			 struct sonde_section *section)
{
	const char *cpu = sonde_session_info(session, "host.cpu"), *cpus = sonde_session_info(session, "run.cpus");
	if (!name)
		return 0;
	if (!is_processor(name, cpu)) {
		if (!device_named(session, name))
			return refuse(session, name, cpu, report);
		device_note(device_named(session, name), report, section);
		return 0;
	}
	sonde_report_note(report, section, 0, "for the CPU: %s, of which the program may use %s CPUs", or_unknown(cpu),
			  or_unknown(cpus ? cpus : sonde_session_info(session, "host.cpus")));
	peaks_note(session, report, section);
	return 0;
}

int sonde_finding_batch(struct sonde_finding *finding, size_t batch, struct sonde_report *report)
{
	if (batch < 2 || !finding->rule->is_by_call)
		return 0;
	double goes = 1 - 1 / (double)batch;
	finding->evidence = sonde_report_text(report, "%s; in batches of %zu, one call in %zu remains: %.1f %% fewer",
					      finding->evidence, batch, batch, 100 * goes);
	finding->saves_ns *= goes;
	finding->weighs *= goes;
	return finding->evidence ? 0 : sonde_error(ENOMEM, "out of memory for findings");
}
