/* nvml.c: the source `nvml`: usage of NVIDIA GPUs, from the driver's management library, as series of the machine.
 *
 * GPUs are read in a thread of their own (device/nvml_reader.h), each --interval, for at most 0.2 % of a CPU. Here the
 * readings become series: object "GPU 0 NAME"; memory that a recorded process holds is a series of that process. --gpu
 * reads everything, --energy alone only power and energy. All GPUs of the machine are read, whoever uses them.
 *
 * If a GPU's memory is nearly full, this is reported once per GPU, while the command runs and not only afterwards.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/device/nvml_reader.h"
#include "source/record/detail.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "util/array.h"
#include "util/error.h"

#define DEFAULT_EVERY_NS 100000000u
#define SHARE 500u          /* 1/SHARE of a CPU */
#define STOP_NS 1000000000u /* maximum wait for the driver's last answer */
#define FULL 0.9            /* fraction of a GPU's memory */
#define OBJECT_B 128
#define METHOD "NVML (libnvidia-ml.so.1)"

/* A series: of a GPU, or of a process on it. */
struct row {
	enum sonde_metric metric;
	uint32_t device, process, series;
};

struct seen {
	int64_t memory_b;
	int was_recorded;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_nvml_reader *reader;
	struct sonde_nvml_reader_options options;
	struct row *rows; /* in reading order */
	size_t row_count, row_cap, row_at;
	struct seen *seen; /* by GPU */
	uint32_t seen_count;
	const struct sonde_nvml_device *devices;
	uint32_t device_count;
	int has_stopped, is_stuck;
	struct sonde_nvml_reader_state state;
};

static void object_of(const struct sonde_source_run *run, uint32_t device, char *out, size_t out_b)
{
	const char *name = run->devices[device].name;
	snprintf(out, out_b, *name ? "GPU %u %s" : "GPU %u", device, name);
}

/* --- readings ----------------------------------------------------------------------------------------------------- */

static struct row *row_of(struct sonde_source_run *run, const struct sonde_nvml_reading *reading, uint32_t process)
{
	char object[OBJECT_B];
	for (size_t i = 0; i < run->row_count; i++) { /* usually the next one */
		size_t at = (run->row_at + i) % run->row_count;
		struct row *row = &run->rows[at];
		if (row->metric == reading->metric && row->device == reading->device && row->process == process) {
			run->row_at = at + 1;
			return row;
		}
	}
	if (SONDE_ARRAY_RESERVE(run->rows, run->row_cap, run->row_count + 1))
		return NULL;
	object_of(run, reading->device, object, sizeof object);
	struct row *row = &run->rows[run->row_count++];
	*row = (struct row){.metric = reading->metric, .device = reading->device, .process = process};
	row->series = sonde_recorder_series(run->recorder, reading->metric, process, 0, object);
	return row;
}

/* The total arrives before the used size. */
static void look_at_memory(struct sonde_source_run *run, const struct sonde_nvml_reading *reading)
{
	const struct sonde_record_options *options = sonde_recorder_options(run->recorder);
	struct seen *seen = &run->seen[reading->device];
	char object[OBJECT_B], text[OBJECT_B + 96];
	if (reading->metric == SONDE_METRIC_DEVICE_MEMORY_TOTAL)
		seen->memory_b = reading->value;
	if (reading->metric != SONDE_METRIC_DEVICE_MEMORY_USED || reading->pid || seen->was_recorded ||
	    !seen->memory_b || (double)reading->value <= FULL * (double)seen->memory_b)
		return;
	seen->was_recorded = 1;
	object_of(run, reading->device, object, sizeof object);
	snprintf(text, sizeof text, "%s: %.0f %% of its memory is in use (%.3g of %.3g GB)", object,
		 100 * (double)reading->value / (double)seen->memory_b, (double)reading->value / 1e9,
		 (double)seen->memory_b / 1e9);
	if (options->warn)
		options->warn(options, text);
}

static void take(struct sonde_source_run *run, const struct sonde_nvml_reading *reading)
{
	uint32_t process = reading->pid ? sonde_recorder_alive(run->recorder, reading->pid) : 0;
	if (reading->device >= run->seen_count || (reading->pid && !process))
		return;
	look_at_memory(run, reading);
	const struct row *row = row_of(run, reading, process);
	if (row)
		sonde_recorder_point(run->recorder, reading->time_ns, row->series, reading->value);
}

static void append_devices(struct sonde_source_run *run)
{
	for (uint32_t i = 0; i < run->device_count; i++) {
		char key[48];
		snprintf(key, sizeof key, "device.%u.name", i);
		sonde_recorder_info(run->recorder, key, run->devices[i].name);
		snprintf(key, sizeof key, "device.%u.uuid", i);
		sonde_recorder_info(run->recorder, key, run->devices[i].uuid);
	}
}

static void fetch(struct sonde_source_run *run)
{
	const struct sonde_nvml_reading *readings;
	if (!run->seen) {
		run->device_count = sonde_nvml_reader_devices(run->reader, &run->devices);
		run->seen = run->device_count ? calloc(run->device_count, sizeof *run->seen) : NULL;
		if (run->seen)
			append_devices(run);
		run->seen_count = run->seen ? run->device_count : 0;
	}
	size_t count = sonde_nvml_reader_fetch(run->reader, &readings);
	for (size_t i = 0; i < count; i++)
		take(run, &readings[i]);
}

/* --- the source's record ----------------------------------------------------------------------------------------- */

/* A lost GPU is recorded as a loss: its later activity is unknown. */
static void append_device(struct sonde_source_run *run, uint32_t i, struct sonde_detail *detail)
{
	const struct sonde_nvml_device *device = &run->devices[i];
	char object[OBJECT_B], missing[512], text[sizeof object + 128];
	object_of(run, i, object, sizeof object);
	if (device->lost_code) {
		snprintf(text, sizeof text, "%s: %s", object, sonde_nvml_library_why(device->lost_code));
		struct sonde_recorder_loss loss = {
		    .source = "nvml", .cause = text, .count = 1, .time_ns = device->lost_ns};
		if (device->lost_ns)
			sonde_recorder_lost(run->recorder, &loss);
		else
			sonde_detail_add(detail, "%s", text);
	}
	if (sonde_nvml_device_missing(device, run->options.what, missing, sizeof missing))
		sonde_detail_add(detail, "%s does not report: %s", object, missing);
}

/* The reason why nothing was read; NULL if something was. */
static const char *why_nothing(const struct sonde_source_run *run, char *text, size_t text_b)
{
	const struct sonde_nvml_reader_state *state = &run->state;
	if (!state->has_begun)
		return "the driver had not answered when the recording ended (nvidia-smi -pm 1 keeps it awake)";
	if (state->code) {
		snprintf(text, text_b, "NVML cannot start: %s (code %d)", sonde_nvml_library_why(state->code),
			 state->code);
		return text;
	}
	if (!state->device_count)
		return "the driver shows no GPU";
	return state->rounds ? NULL : "the recording ended before a GPU was read";
}

static void append_remainder(const struct sonde_source_run *run, double every_ns, struct sonde_detail *detail)
{
	const struct sonde_nvml_reader_state *state = &run->state;
	if (state->held_back && every_ns > 1.2 * (double)run->options.every_ns)
		sonde_detail_add(detail, "read every %.3g ms instead of %.3g ms, to stay below %.1f %% of a core",
				 every_ns / 1e6, (double)run->options.every_ns / 1e6, 100.0 / SHARE);
	if (state->more)
		sonde_detail_add(detail, "%u more GPUs are not read", state->more);
	if (run->is_stuck)
		sonde_detail_add(detail, "the driver stopped answering: a GPU may be broken (see dmesg)");
}

static void append_source(struct sonde_source_run *run)
{
	const struct sonde_nvml_reader_state *state = &run->state;
	char text[256], method[160];
	const char *nothing = why_nothing(run, text, sizeof text);
	struct sonde_detail detail = {0};
	struct sonde_recorder_state row = {.state = SONDE_SOURCE_UNAVAILABLE, .detail = nothing};
	if (nothing && run->options.what == SONDE_NVML_ENERGY_ONLY) /* GPUs were not requested */
		return;
	if (!nothing) {
		double every_ns =
		    state->rounds > 1 ? (double)(state->last_ns - state->first_ns) / (double)(state->rounds - 1) : 0;
		snprintf(method, sizeof method, METHOD ", driver %s: %u GPU%s", state->driver, state->device_count,
			 state->device_count == 1 ? "" : "s");
		append_remainder(run, every_ns, &detail);
		row.state = detail.used ? SONDE_SOURCE_LIMITED : SONDE_SOURCE_ON;
		for (uint32_t i = 0; i < run->seen_count && !run->is_stuck; i++)
			append_device(run, i, &detail);
		row.method = method;
		row.detail = sonde_detail_text(&detail);
		row.rate_hz = 1e9 / (double)run->options.every_ns;
		row.effective_hz = every_ns > (double)run->options.every_ns ? 1e9 / every_ns : row.rate_hz;
		sonde_recorder_cost(run->recorder, "nvml.cpu_ns", state->cpu_ns);
		sonde_recorder_cost(run->recorder, "nvml.rounds", state->rounds);
		sonde_recorder_cost(run->recorder, "nvml.begin_ns", state->begin_ns);
	}
	sonde_recorder_source(run->recorder, "nvml", &row);
	struct sonde_recorder_loss loss = {
	    .source = "nvml", .cause = "readings: the recorder was too busy", .count = state->dropped};
	sonde_recorder_lost(run->recorder, &loss);
}

/* --- the source --------------------------------------------------------------------------------------------------- */

static int nvml_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	struct sonde_nvml_library library;
	if (!options->gpu && !options->energy)
		return -ECANCELED;
	int rc = sonde_nvml_library_open(&library);
	if (rc && options->gpu)
		snprintf(why, why_b, "%s", sonde_error_text());
	if (!rc)
		sonde_nvml_library_close(&library);
	return rc;
}

static int nvml_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	const struct sonde_record_options *options = sonde_recorder_options(context->recorder);
	run->recorder = context->recorder;
	run->options.what = options->gpu ? SONDE_NVML_ALL : SONDE_NVML_ENERGY_ONLY;
	run->options.every_ns = options->resources_every_ns ? options->resources_every_ns : DEFAULT_EVERY_NS;
	run->options.share = SHARE;
	return 0;
}

/* The command has already been forked, so it has no thread of the driver. */
static int nvml_start(struct sonde_source_run *run, pid_t pid)
{
	(void)pid;
	return sonde_nvml_reader_begin(&run->reader, &run->options);
}

static void stop_reading(struct sonde_source_run *run)
{
	if (run->has_stopped || !run->reader)
		return;
	run->has_stopped = 1;
	run->is_stuck = sonde_nvml_reader_stop(run->reader, STOP_NS, &run->state) != 0;
	fetch(run);
}

static void nvml_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	if (final)
		stop_reading(run);
	else if (!run->has_stopped)
		fetch(run);
}

static size_t nvml_poll_fds(struct sonde_source_run *run, int *fds, size_t max)
{
	if (!run->reader || sonde_nvml_reader_fd(run->reader) < 0 || !max)
		return 0;
	fds[0] = sonde_nvml_reader_fd(run->reader);
	return 1;
}

static void nvml_stop(struct sonde_source_run *run)
{
	stop_reading(run);
	if (run->reader)
		append_source(run);
	if (run->reader && !run->is_stuck)
		sonde_nvml_reader_end(run->reader);
	free(run->rows);
	free(run->seen);
}

const struct sonde_source sonde_source_nvml = {
    .name = "nvml",
    .title = "NVIDIA GPUs: utilisation, memory, clocks, power, energy, PCIe, NVLink (--gpu)",
    .cost = "at most 0.2 % of a CPU, in the recorder",
    .reads_counters = 1,
    .run_b = sizeof(struct sonde_source_run),
    .probe = nvml_probe,
    .open = nvml_open,
    .start = nvml_start,
    .drain = nvml_drain,
    .poll_fds = nvml_poll_fds,
    .stop = nvml_stop,
};
