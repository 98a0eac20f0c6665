/* energy.c: the energy source: reads the machine's energy meters while the command runs.
 *
 * The meters are the processor counters in /sys/class/powercap or, if these cannot be read, the kernel's energy events.
 * They are read ten times a second, or more often if a counter could wrap in less than four readings. A series holds
 * the readings of one meter without a gap. After a gap, a new series begins, so that the gap is not mistaken for a time
 * without power. If no meter is readable, the recording gets the parameters of a model (resource/energy_model.h),
 * marked as a model, and the report applies it to the machine's CPU time. The energy of GPUs is read by the nvml source
 * (device/nvml.c).
 *
 * The command's start is not delayed to measure idle power. Idle power is estimated from the lowest power seen
 * (analyze/resource/energy.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "source/resource/energy_model.h"
#include "source/resource/energy_perf.h"
#include "source/resource/energy_rapl.h"
#include "source/record/recorder.h"
#include "source/source.h"

#define EVERY_NS 100000000u
#define SLEPT_NS 1000000000u /* a suspend this long between two readings splits the series */

enum method { METHOD_NONE, METHOD_RAPL, METHOD_PERF };

/* The meters found, and why others were not. */
struct meters {
	enum method method;
	struct sonde_rapl rapl;
	struct sonde_energy_perf perf;
	char why[512];
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct meters meters;
	uint32_t series[SONDE_RAPL_DOMAINS_MAX]; /* 0: the meter is gone */
	uint64_t every_ns, next_ns, asleep_ns;
	uint64_t reads;
};

_Static_assert((unsigned)SONDE_ENERGY_PERF_MAX <= (unsigned)SONDE_RAPL_DOMAINS_MAX, "a series each");

/* Prefix of /sys and /proc; tests use another one. */
static const char *root(void)
{
	const char *prefix = getenv("SONDE_ENERGY_ROOT");
	return prefix ? prefix : "";
}

static void find_meters(struct meters *out)
{
	char why_rapl[384], why_perf[384];
	out->method = METHOD_NONE;
	out->why[0] = '\0';
	int rapl = sonde_rapl_open(&out->rapl, root(), why_rapl, sizeof why_rapl);
	if (!rapl) {
		out->method = METHOD_RAPL;
		return;
	}
	int perf = sonde_energy_perf_open(&out->perf, root(), why_perf, sizeof why_perf);
	if (!perf)
		out->method = METHOD_PERF;
	else if (rapl == -ENOENT && perf == -ENOENT)
		snprintf(out->why, sizeof out->why,
			 "the processor shows no energy counter (neither /sys/class/powercap nor the kernel's energy "
			 "events), as in most virtual machines");
	else
		snprintf(out->why, sizeof out->why, "%s", rapl == -ENOENT ? why_perf : why_rapl);
}

static void close_meters(struct meters *meters)
{
	if (meters->method == METHOD_RAPL)
		sonde_rapl_close(&meters->rapl);
	if (meters->method == METHOD_PERF)
		sonde_energy_perf_close(&meters->perf);
	meters->method = METHOD_NONE;
}

static size_t count_of(const struct meters *meters)
{
	return meters->method == METHOD_RAPL   ? meters->rapl.count
	       : meters->method == METHOD_PERF ? meters->perf.count
					       : 0;
}

static const char *name_of(const struct meters *meters, size_t i)
{
	return meters->method == METHOD_RAPL ? meters->rapl.domains[i].name : meters->perf.packages[i].name;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void say_lost(struct sonde_source_run *run, size_t i, const char *what)
{
	char cause[160];
	snprintf(cause, sizeof cause, "%s: %s", name_of(&run->meters, i), what);
	struct sonde_recorder_loss loss = {.source = "energy", .cause = cause, .count = 1};
	sonde_recorder_lost(run->recorder, &loss);
}

static void begin_series(struct sonde_source_run *run, size_t i)
{
	run->series[i] = sonde_recorder_series(run->recorder, SONDE_METRIC_ENERGY, 0, 0, name_of(&run->meters, i));
}

/* The energy that a meter counted since its series began; −1 if the meter is gone. */
static int64_t read_meter(struct sonde_source_run *run, size_t i, uint64_t boot_ns)
{
	if (run->meters.method == METHOD_PERF)
		return sonde_energy_perf_read_uj(&run->meters.perf, i);
	struct sonde_rapl_domain *domain = &run->meters.rapl.domains[i];
	enum sonde_rapl_step step = sonde_rapl_read(domain, boot_ns);
	if (step == SONDE_RAPL_GONE)
		return -1;
	if (step == SONDE_RAPL_LOST) {
		say_lost(run, i, "its counter may have wrapped more than once between two readings");
		begin_series(run, i);
	}
	return (int64_t)domain->total_uj;
}

/* Starts new series after a suspend: the counters continue during it, the recording's clock does not. */
static void forget_sleep(struct sonde_source_run *run, uint64_t asleep_ns)
{
	if (run->reads && asleep_ns - run->asleep_ns > SLEPT_NS) {
		for (size_t i = 0; i < count_of(&run->meters); i++) {
			if (!run->series[i])
				continue;
			say_lost(run, i, "the machine was suspended");
			begin_series(run, i);
		}
		for (size_t i = 0; run->meters.method == METHOD_RAPL && i < run->meters.rapl.count; i++)
			run->meters.rapl.domains[i].last_ns = 0;
	}
	run->asleep_ns = asleep_ns;
}

static void read_all(struct sonde_source_run *run)
{
	uint64_t boot_ns = sonde_clock_read_ns(CLOCK_BOOTTIME), now_ns = sonde_clock_now_ns();
	forget_sleep(run, boot_ns > now_ns ? boot_ns - now_ns : 0);
	for (size_t i = 0; i < count_of(&run->meters); i++) {
		if (!run->series[i])
			continue;
		now_ns = sonde_clock_now_ns();
		int64_t uj = read_meter(run, i, sonde_clock_read_ns(CLOCK_BOOTTIME));
		if (uj >= 0) {
			sonde_recorder_point(run->recorder, now_ns, run->series[i], uj);
			continue;
		}
		say_lost(run, i, "the meter disappeared");
		run->series[i] = 0;
	}
	run->reads++;
	run->next_ns = now_ns + run->every_ns;
}

/* --- the source -------------------------------------------------------------------------------------------------- */

/* The source can always run: without a meter, it records a model, and `why` says why nothing is measured. */
static int energy_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	struct meters meters;
	if (!options->energy)
		return -ECANCELED;
	find_meters(&meters);
	if (meters.method == METHOD_NONE)
		snprintf(why, why_b, "%s: energy is modelled, not measured", meters.why);
	close_meters(&meters);
	return 0;
}

static void say_range(struct sonde_recorder *recorder, const char *key, const struct sonde_energy_range *range)
{
	char text[64];
	snprintf(text, sizeof text, "%u %u %u", range->low_mw, range->middle_mw, range->high_mw);
	sonde_recorder_info(recorder, key, text);
}

static void say_model(struct sonde_recorder *recorder)
{
	struct sonde_energy_model model;
	char text[32];
	sonde_energy_model_find(&model, root());
	snprintf(text, sizeof text, "%u", model.cpus);
	sonde_recorder_info(recorder, "energy.model", model.name);
	sonde_recorder_info(recorder, "energy.model_cpus", text);
	say_range(recorder, "energy.model_idle_mw", &model.idle);
	say_range(recorder, "energy.model_full_mw", &model.full);
	if (model.is_generic)
		sonde_recorder_info(recorder, "energy.model_generic", "1");
	if (model.is_virtual)
		sonde_recorder_info(recorder, "energy.model_virtual", "1");
}

static int energy_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	struct sonde_recorder *recorder = context->recorder;
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	run->recorder = recorder;
	run->every_ns = EVERY_NS;
	find_meters(&run->meters);
	if (run->meters.method == METHOD_RAPL && sonde_rapl_every_ns(&run->meters.rapl) < EVERY_NS)
		run->every_ns = sonde_rapl_every_ns(&run->meters.rapl);
	if (run->meters.method == METHOD_NONE)
		say_model(recorder);
	if (options->carbon_intensity)
		sonde_recorder_info(recorder, "option.carbon_intensity", options->carbon_intensity);
	if (options->country)
		sonde_recorder_info(recorder, "option.country", options->country);
	return 0;
}

static int energy_start(struct sonde_source_run *run, pid_t pid)
{
	(void)pid;
	for (size_t i = 0; i < count_of(&run->meters); i++)
		begin_series(run, i);
	read_all(run);
	return 0;
}

static void energy_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	if (count_of(&run->meters) && (final || sonde_clock_now_ns() >= run->next_ns))
		read_all(run);
}

static uint64_t energy_due_ns(const struct sonde_source_run *run)
{
	return count_of(&run->meters) ? run->next_ns : UINT64_MAX;
}

static void energy_stop(struct sonde_source_run *run)
{
	static const char *const methods[] = {
	    [METHOD_NONE] = "a model: processor family × utilisation; nothing was measured",
	    [METHOD_RAPL] = "the processors' energy counters (/sys/class/powercap), packages",
	    [METHOD_PERF] = "the kernel's energy events (power/energy-pkg/)",
	};
	int has_meter = run->meters.method != METHOD_NONE;
	struct sonde_recorder_state state = {
	    .state = has_meter ? SONDE_SOURCE_ON : SONDE_SOURCE_LIMITED,
	    .method = methods[run->meters.method],
	    .detail = has_meter ? NULL : run->meters.why,
	    .rate_hz = has_meter ? 1e9 / (double)run->every_ns : 0,
	};
	sonde_recorder_source(run->recorder, "energy", &state);
	close_meters(&run->meters);
}

static const struct sonde_option energy_options[] = {
    {"energy", 0, NULL, "record energy, from counters if available, else modelled",
     SONDE_FLAG(offsetof(struct sonde_record_options, energy))},
    {0},
};

const struct sonde_source sonde_source_energy = {
    .name = "energy",
    .title = "energy by the processors' counters, else by a model (--energy)",
    .cost = "10 readings a second, a few microseconds each",
    .options = energy_options,
    .run_b = sizeof(struct sonde_source_run),
    .probe = energy_probe,
    .open = energy_open,
    .start = energy_start,
    .drain = energy_drain,
    .due_ns = energy_due_ns,
    .stop = energy_stop,
};
