/* devices.c: rules about idle devices, which wait for the host or for the next launch. */
#include "analyze/findings/devices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/rules.h"
#include "util/error.h"
#include "sonde/device.h"

#define LAUNCH_NS 100000.0 /* shorter gaps are launch latency, longer ones are time of the host */
#define KERNELS_LEAST 1000
#define STEPS_LEAST 100 /* anything repeated this often happens in every step */
#define NAMES 16
#define DEVICES_MAX 64 /* maximum number evaluated: each scans all rows of other sections */
#define GAPS_NAMED 3

/* --- a device's sums ---------------------------------------------------------------------------------------------- */

size_t sonde_device_count(const struct sonde_facts *facts)
{
	size_t rows = facts->columns.devices.of.rows;
	return rows < DEVICES_MAX ? rows : DEVICES_MAX;
}

size_t sonde_device_row_of(const struct sonde_columns_rows *of, struct sonde_column_at_text column, size_t row,
			   const char *device)
{
	for (; row < of->rows; row++)
		if (!strcmp(sonde_columns_text(of, row, column), device))
			return row;
	return SIZE_MAX;
}

static double or_0(double value)
{
	return value > 0 ? value : 0;
}

/* Sums the rows of devices with one label; at_once is their maximum. */
static void rows_add(struct sonde_device_work *work, const struct sonde_facts *facts)
{
	const struct sonde_columns_devices *devices = &facts->columns.devices;
	const struct sonde_columns_kernels *kernels = &facts->columns.kernels;
	for (size_t i = sonde_device_row(devices, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(devices, i + 1, work->name)) {
		work->parts++;
		work->busy_ns += or_0(sonde_column_ns(devices, i, busy_ns));
		work->idle_ns += or_0(sonde_column_ns(devices, i, idle_ns));
		work->gaps += or_0(sonde_column_count(devices, i, gaps));
		work->kernel_ns += or_0(sonde_column_ns(devices, i, kernel_ns));
		work->copy_ns += or_0(sonde_column_ns(devices, i, copy_ns));
		work->alone_ns += or_0(sonde_column_ns(devices, i, copy_alone_ns));
		work->at_once = fmax(work->at_once, or_0(sonde_column_number(devices, i, concurrency)));
	}
	for (size_t i = sonde_device_row(kernels, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(kernels, i + 1, work->name))
		work->kernels += or_0(sonde_column_count(kernels, i, calls));
}

int sonde_device_work_of(struct sonde_device_work *out, const struct sonde_facts *facts, size_t row)
{
	const struct sonde_columns_devices *devices = &facts->columns.devices;
	const char *name = sonde_column_text(devices, row, device);
	struct sonde_device_work work = {.name = name};
	if (sonde_device_row(devices, 0, name) != row)
		return 0;
	rows_add(&work, facts);
	double *sums[] = {&work.busy_ns, &work.idle_ns, &work.gaps,    &work.kernel_ns,
			  &work.copy_ns, &work.kernels, &work.alone_ns};
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		*sums[i] /= work.parts;
	work.busy_ns = fmin(work.busy_ns, facts->span_ns);
	if (!(work.busy_ns > 0))
		return 0;
	work.idle_ns = fmax(fmin(work.idle_ns, facts->span_ns - work.busy_ns), 0);
	work.is_processor = sonde_column_label(devices, row, kind) == SONDE_DEVICE_CPU;
	work.span_ns = facts->span_ns;
	if (work.is_processor && facts->cpu_ns > 0 && facts->cores > 0)
		work.span_ns = fmax(facts->span_ns - facts->cpu_ns / facts->cores, 0);
	*out = work;
	return 1;
}

int sonde_device_work_busiest(struct sonde_device_work *out, const struct sonde_facts *facts)
{
	struct sonde_device_work work;
	int is_one = 0;
	for (size_t i = 0; i < sonde_device_count(facts); i++) {
		if (!sonde_device_work_of(&work, facts, i) || (is_one && work.busy_ns <= out->busy_ns))
			continue;
		*out = work;
		is_one = 1;
	}
	return is_one;
}

/* --- activities --------------------------------------------------------------------------------------------------- */

static int rows_feed(struct sonde_device_times *times, struct sonde_session *session)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_ACTIVITIES), more;
	if (rc)
		return rc;
	while (!rc && (more = sonde_cursor_next(cursor, &batch)) != 0)
		rc = more > 0 ? sonde_device_times_feed(times, batch) : 0;
	sonde_cursor_close(cursor);
	return rc;
}

void sonde_device_rows_free(struct sonde_device_times *times)
{
	if (times)
		sonde_device_times_end(times);
	free(times);
}

int sonde_device_rows_read(struct sonde_device_times **out, const struct sonde_facts *facts, uint32_t kinds)
{
	static const struct sonde_pass_options whole;
	struct sonde_device_times *times = calloc(1, sizeof *times);
	*out = NULL;
	int rc = times ? sonde_device_times_begin(times, facts->session, &whole)
		       : sonde_error(ENOMEM, "out of memory for devices");
	if (rc)
		return rc;
	times->kinds = kinds;
	rc = rows_feed(times, facts->session);
	if (rc || times->left_out) {
		sonde_device_rows_free(times);
		return rc;
	}
	times->window = sonde_window_of(facts->session, facts->options);
	sonde_device_times_sort(times);
	*out = times;
	return 0;
}

/* --- gaps --------------------------------------------------------------------------------------------------------- */

struct part {
	const char *name;
	double ns;
};

static void part_add(struct part parts[NAMES], const char *name, double ns)
{
	for (size_t i = 0; *name && i < NAMES; i++) {
		if (parts[i].name && strcmp(parts[i].name, name) != 0)
			continue;
		parts[i].name = name;
		parts[i].ns += ns;
		return;
	}
}

const char *sonde_device_gaps_in(const struct sonde_facts *facts, const char *device, double least_ns,
				 struct sonde_report *report)
{
	const struct sonde_columns_device_gaps *gaps = &facts->columns.device_gaps;
	struct part parts[NAMES] = {0};
	size_t most = 0;
	for (size_t i = sonde_device_row(gaps, 0, device); i != SIZE_MAX; i = sonde_device_row(gaps, i + 1, device)) {
		double ns = sonde_column_ns(gaps, i, gap_ns);
		const char *function = sonde_column_text(gaps, i, function);
		if (ns >= least_ns)
			part_add(parts, *function ? function : sonde_column_text(gaps, i, zone), ns);
	}
	for (size_t i = 1; i < NAMES; i++)
		most = parts[i].ns > parts[most].ns ? i : most;
	return parts[most].name ? sonde_report_text(report, "%s", parts[most].name) : "";
}

/* What the host did in the gaps that are longer than a launch. */
struct host {
	double gaps, own_ns; /* the next work was not submitted yet, and the host was not waiting for the device */
	double running_ns, io_ns;
};

static struct host host_of(const struct sonde_facts *facts, const struct sonde_device_work *work)
{
	const struct sonde_columns_device_gaps *gaps = &facts->columns.device_gaps;
	struct host host = {0};
	for (size_t i = sonde_device_row(gaps, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(gaps, i + 1, work->name)) {
		double ns = sonde_column_ns(gaps, i, gap_ns) / work->parts;
		if (ns * work->parts < LAUNCH_NS || !*sonde_column_text(gaps, i, thread))
			continue;
		host.gaps += 1 / work->parts;
		host.own_ns +=
		    ns * (1 - sonde_column_ratio(gaps, i, asked_share) - sonde_column_ratio(gaps, i, sync_share));
		host.running_ns += ns * sonde_column_ratio(gaps, i, running_share);
		host.io_ns += ns * sonde_column_ratio(gaps, i, io_share);
	}
	host.own_ns = fmin(host.own_ns, work->idle_ns);
	return host;
}

static const char *subject_of(struct sonde_found *found, const char *device, const char *where)
{
	return where ? sonde_report_text(found->report, "%s%s%s", device, *where ? ", most in " : "", where) : NULL;
}

/* If host and device work overlapped, they would take as long as the longer of the two. */
static int starved_add(const struct sonde_facts *facts, const struct sonde_device_work *work, struct sonde_found *found)
{
	struct host host = host_of(facts, work);
	double saves_ns = fmin(fmin(host.own_ns, work->busy_ns), work->span_ns), share = saves_ns / facts->span_ns;
	if (!(share > facts->threshold[SONDE_THRESHOLD_DEVICE_STARVED]))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = subject_of(found, work->name,
					     sonde_device_gaps_in(facts, work->name, LAUNCH_NS, found->report)),
		       .evidence = sonde_report_text(found->report,
						     "%.3f s in %.0f gaps before the host submitted the next work "
						     "(%.3f s running, %.3f s in I/O); the GPU was busy for %.3f s",
						     host.own_ns / 1e9, host.gaps, host.running_ns / 1e9,
						     host.io_ns / 1e9, work->busy_ns / 1e9),
		       .saves_ns = saves_ns,
		       .limiter = host.io_ns > host.running_ns         ? "io"
				  : host.running_ns > host.own_ns / 10 ? "compute"
								       : NULL,
		       .weighs = share});
}

SONDE_EVALUATE(device_starved)
{
	struct sonde_device_work work;
	int rc = 0;
	for (size_t i = 0; !rc && i < sonde_device_count(facts); i++)
		rc = sonde_device_work_of(&work, facts, i) ? starved_add(facts, &work, found) : 0;
	return rc;
}

/* --- launches ----------------------------------------------------------------------------------------------------- */

/* Sum of the gaps that are at most as long as a launch. */
static double launches_ns(const struct sonde_facts *facts, const struct sonde_device_work *work)
{
	const struct sonde_columns_device_gaps *gaps = &facts->columns.device_gaps;
	double longer_ns = 0;
	for (size_t i = sonde_device_row(gaps, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(gaps, i + 1, work->name)) {
		double ns = sonde_column_ns(gaps, i, gap_ns);
		longer_ns += ns >= LAUNCH_NS ? ns / work->parts : 0;
	}
	return fmax(work->idle_ns - longer_ns, 0);
}

struct tiny {
	double calls, ns;
	const char *most; /* the kernel with the most calls */
};

static struct tiny tiny_of(const struct sonde_facts *facts, const struct sonde_device_work *work)
{
	const struct sonde_columns_kernels *kernels = &facts->columns.kernels;
	struct tiny tiny = {.most = ""};
	double most = 0;
	for (size_t i = sonde_device_row(kernels, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(kernels, i + 1, work->name)) {
		double calls = sonde_column_count(kernels, i, calls);
		if (!(sonde_column_ns(kernels, i, mean_ns) < facts->threshold[SONDE_THRESHOLD_KERNEL_NS]))
			continue;
		tiny.calls += calls / work->parts;
		tiny.ns += sonde_column_ns(kernels, i, total_ns) / work->parts;
		tiny.most = calls > most ? sonde_column_text(kernels, i, kernel) : tiny.most;
		most = fmax(most, calls);
	}
	return tiny;
}

/* Reports if most kernels are tiny, and the gaps between them take at least as long as they do. */
static int tiny_add(const struct sonde_facts *facts, const struct sonde_device_work *work, struct sonde_found *found)
{
	struct tiny tiny = tiny_of(facts, work);
	double between_ns = tiny.calls > 0 ? launches_ns(facts, work) * fmin(tiny.calls / work->kernels, 1) : 0;
	double saves_ns = fmin(between_ns, facts->span_ns), share = saves_ns / facts->span_ns;
	if (tiny.calls < KERNELS_LEAST || tiny.calls * 2 <= work->kernels || between_ns < tiny.ns ||
	    !(share > facts->threshold[SONDE_THRESHOLD_KERNEL_SHARE]))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = sonde_report_text(found->report, "%s on %s", tiny.most, work->name),
		       .evidence = sonde_report_text(
			   found->report, "%.0f kernels of %.2f µs (mean), %.2f µs apart: %.3f s of launch latency",
			   tiny.calls, tiny.ns / tiny.calls / 1e3, between_ns / tiny.calls / 1e3, between_ns / 1e9),
		       .saves_ns = saves_ns,
		       .weighs = share});
}

SONDE_EVALUATE(tiny_kernels)
{
	struct sonde_device_work work;
	int rc = 0;
	for (size_t i = 0; !rc && i < sonde_device_count(facts); i++)
		rc = sonde_device_work_of(&work, facts, i) ? tiny_add(facts, &work, found) : 0;
	return rc;
}

/* --- idle --------------------------------------------------------------------------------------------------------- */

static int is_found(const struct sonde_found *found, const char *rule, const char *device)
{
	for (size_t i = 0; i < found->count; i++) {
		const char *at = strcmp(found->rows[i].rule->id, rule) ? NULL : strstr(found->rows[i].subject, device);
		if (at && (!at[strlen(device)] || at[strlen(device)] == ',')) /* "gpu 1" is not "gpu 10" */
			return 1;
	}
	return 0;
}

/* True if a device did a relevant part of the work. */
static int is_used(const struct sonde_facts *facts, const struct sonde_device_work *work)
{
	return work->busy_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_DEVICE_USED];
}

/* Counts idle time only between the device's first and last activity: time before and after is not the device's. */
SONDE_EVALUATE(device_idle)
{
	struct sonde_device_work work;
	int rc = 0;
	for (size_t i = 0; !rc && i < sonde_device_count(facts); i++) {
		if (!sonde_device_work_of(&work, facts, i) || !is_used(facts, &work))
			continue;
		double used_ns = work.busy_ns + work.idle_ns;
		double saves_ns = fmin(fmin(work.idle_ns, work.busy_ns), work.span_ns);
		if (!(work.busy_ns / used_ns < facts->threshold[SONDE_THRESHOLD_DEVICE_BUSY]) ||
		    is_found(found, "device-starved", work.name) || is_found(found, "tiny-kernels", work.name))
			continue;
		rc = sonde_found_add(
		    found, &(struct sonde_finding){
			       .subject = sonde_report_text(found->report, "%s", work.name),
			       .evidence = sonde_report_text(
				   found->report, "busy for %.3f s of the %.3f s from first to last activity (%.1f %%)",
				   work.busy_ns / 1e9, used_ns / 1e9, 100 * work.busy_ns / used_ns),
			       .saves_ns = saves_ns,
			       .weighs = saves_ns / facts->span_ns});
	}
	return rc;
}

SONDE_EVALUATE(device_gap)
{
	const struct sonde_columns_device_gaps *gaps = &facts->columns.device_gaps;
	struct sonde_device_work work;
	int rc = 0;
	for (size_t i = 0; !rc && i < sonde_device_count(facts); i++) {
		size_t row = sonde_device_work_of(&work, facts, i) && is_used(facts, &work)
				 ? sonde_device_row(gaps, 0, work.name)
				 : SIZE_MAX;
		for (int named = 0; !rc && row != SIZE_MAX && named < GAPS_NAMED;
		     named++, row = sonde_device_row(gaps, row + 1, work.name)) {
			double gap_ns = sonde_column_ns(gaps, row, gap_ns);
			const char *where = sonde_column_text(gaps, row, function);
			where = *where ? where : sonde_column_text(gaps, row, zone);
			if (!(gap_ns > facts->threshold[SONDE_THRESHOLD_DEVICE_GAP]))
				break; /* rows are sorted, longest first */
			double saves_ns = fmin(fmin(gap_ns, facts->span_ns), fmin(work.busy_ns, work.span_ns));
			rc = sonde_found_add(
			    found, &(struct sonde_finding){
				       .subject = subject_of(found, work.name, where),
				       .evidence = sonde_report_text(
					   found->report, "idle for %.3f s, from %.3f s on, before %s", gap_ns / 1e9,
					   sonde_column_ns(gaps, row, at_ns) / 1e9, sonde_column_text(gaps, row, next)),
				       .saves_ns = saves_ns,
				       .weighs = saves_ns / facts->span_ns});
		}
	}
	return rc;
}

/* --- every step --------------------------------------------------------------------------------------------------- */

/* The part of the gaps spent on waiting for the device and on submitting its next work. */
static double drained_ns(const struct sonde_facts *facts, const struct sonde_device_work *work)
{
	const struct sonde_columns_device_gaps *gaps = &facts->columns.device_gaps;
	double all_ns = 0, drained = 0;
	for (size_t i = sonde_device_row(gaps, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(gaps, i + 1, work->name)) {
		double ns = sonde_column_ns(gaps, i, gap_ns);
		all_ns += ns;
		drained += ns * (sonde_column_ratio(gaps, i, asked_share) + sonde_column_ratio(gaps, i, sync_share) +
				 sonde_column_ratio(gaps, i, api_share));
	}
	return all_ns > 0 ? work->idle_ns * drained / all_ns : 0;
}

static double waits_of(const struct sonde_facts *facts)
{
	const struct sonde_columns_device_calls *calls = &facts->columns.device_calls;
	double count = 0;
	for (size_t i = 0; i < calls->of.rows; i++)
		if (sonde_column_label(calls, i, kind) == SONDE_ACTIVITY_SYNC)
			count += sonde_column_count(calls, i, calls);
	return count;
}

/* If, in each step, the host waits for the device, or copies back a few bytes that decide how it continues, the queue
 * runs empty in each step. */
SONDE_EVALUATE(step_sync)
{
	const struct sonde_columns_copies *copies = &facts->columns.copies;
	struct sonde_device_work work;
	double small = 0, waits = waits_of(facts);
	if (!sonde_device_work_busiest(&work, facts))
		return 0;
	for (size_t i = sonde_device_row(copies, 0, work.name); i != SIZE_MAX;
	     i = sonde_device_row(copies, i + 1, work.name)) {
		enum sonde_memory_kind from = sonde_column_label(copies, i, from),
				       to = sonde_column_label(copies, i, to);
		int is_back = from == SONDE_MEMORY_DEVICE && to != SONDE_MEMORY_DEVICE && to != SONDE_MEMORY_PEER;
		if (is_back && sonde_column_bytes(copies, i, mean_b) <= facts->threshold[SONDE_THRESHOLD_STEP_B])
			small += sonde_column_count(copies, i, copies) / work.parts;
	}
	double steps = fmax(small, waits), saves_ns = fmin(drained_ns(facts, &work), facts->span_ns);
	double gaps = fmin(steps / fmax(work.gaps, 1), 1), share = saves_ns * gaps / facts->span_ns;
	if (is_found(found, "tiny-kernels", work.name)) /* the same time is already reported */
		return 0;
	if (steps < STEPS_LEAST || !(share > facts->threshold[SONDE_THRESHOLD_STEP_SHARE]))
		return 0;
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){.subject = sonde_report_text(found->report, "%s", work.name),
				    .evidence = sonde_report_text(
					found->report,
					"the host waited for the GPU %.0f times; %.0f copies back of at most %g bytes "
					"(mean); %.3f s until the GPU had work again",
					waits, small, facts->threshold[SONDE_THRESHOLD_STEP_B], saves_ns * gaps / 1e9),
				    .saves_ns = saves_ns * gaps,
				    .weighs = share});
}
