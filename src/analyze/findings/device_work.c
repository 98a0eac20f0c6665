/* device_work.c: rules about the work that devices get: copies, launch configurations, memory. */
#include <math.h>
#include <string.h>

#include "analyze/device/memory_kinds.h"
#include "analyze/findings/devices.h"
#include "analyze/findings/rules.h"
#include "sonde/device.h"

#define BLOCK_B 65536.0 /* copies from this size on reach the rate of the link */
#define COPIES_LEAST 1000
#define REPEATED 10 /* activities repeated this often are part of a pipeline */
#define CALLS_LEAST 100
#define ALONE 1.05 /* up to this mean number of active queues, no other kernel uses what a kernel leaves unused */
#define SUBJECT(found, device) sonde_report_text((found)->report, "%s", (device)->name)

/* Adds a finding for one device; called for each device in turn. */
typedef int add_fn(const struct sonde_facts *facts, const struct sonde_device_work *work, struct sonde_found *found);

static int each(const struct sonde_facts *facts, struct sonde_found *found, add_fn *add)
{
	struct sonde_device_work work;
	int rc = 0;
	for (size_t i = 0; !rc && i < sonde_device_count(facts); i++)
		rc = sonde_device_work_of(&work, facts, i) ? add(facts, &work, found) : 0;
	return rc;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static int begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Calls that copy, and return when the copy is complete. */
static int is_blocking_copy(const char *call, enum sonde_activity_kind kind)
{
	if (kind == SONDE_ACTIVITY_SYNC)
		return begins(call, "clEnqueue");
	int is_copy = begins(call, "cudaMemcpy") || begins(call, "hipMemcpy");
	return is_copy && !strstr(call, "Async");
}

struct calls {
	double count, ns;
	const char *most;
};

static struct calls calls_of(const struct sonde_facts *facts,
			     int (*is_one)(const char *call, enum sonde_activity_kind kind))
{
	const struct sonde_columns_device_calls *rows = &facts->columns.device_calls;
	struct calls calls = {.most = ""};
	for (size_t i = 0; i < rows->of.rows; i++) {
		const char *call = sonde_column_text(rows, i, call);
		if (!is_one(call, sonde_column_label(rows, i, kind)))
			continue;
		calls.count += sonde_column_count(rows, i, calls);
		calls.ns += sonde_column_ns(rows, i, total_ns);
		calls.most = *calls.most ? calls.most : call;
	}
	return calls;
}

/* Time for which the host is blocked matters only while the device is idle. */
static int calls_add(const struct sonde_facts *facts, const struct calls *calls, double least, double share_least,
		     struct sonde_found *found)
{
	struct sonde_device_work work;
	if (calls->count < least || !sonde_device_work_busiest(&work, facts))
		return 0;
	double saves_ns = fmin(fmin(calls->ns, work.idle_ns), work.span_ns), share = saves_ns / facts->span_ns;
	if (!(share > share_least))
		return 0;
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){.subject = sonde_report_text(found->report, "%s", calls->most),
				    .evidence = sonde_report_text(
					found->report, "%.0f calls took %.3f s on the host; %s was idle for %.3f s",
					calls->count, calls->ns / 1e9, work.name, work.idle_ns / 1e9),
				    .saves_ns = saves_ns,
				    .weighs = share});
}

SONDE_EVALUATE(blocking_copies)
{
	struct calls calls = calls_of(facts, is_blocking_copy);
	return calls_add(facts, &calls, REPEATED, facts->threshold[SONDE_THRESHOLD_BLOCKING], found);
}

static int is_allocation(const char *call, enum sonde_activity_kind kind)
{
	(void)call;
	return kind == SONDE_ACTIVITY_ALLOC || kind == SONDE_ACTIVITY_FREE;
}

SONDE_EVALUATE(device_allocations)
{
	struct calls calls = calls_of(facts, is_allocation);
	return calls_add(facts, &calls, CALLS_LEAST, facts->threshold[SONDE_THRESHOLD_DEVICE_ALLOC], found);
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static int is_async_copy(const char *call, enum sonde_activity_kind kind)
{
	return kind != SONDE_ACTIVITY_SYNC && strstr(call, "Memcpy") && strstr(call, "Async");
}

/* Measured rate of copies in the same direction from or to pinned memory; NAN = there were none. */
static double pinned_rate(const struct sonde_columns_copies *copies, const char *device, enum sonde_memory_kind from,
			  enum sonde_memory_kind to)
{
	for (size_t i = sonde_device_row(copies, 0, device); i != SIZE_MAX;
	     i = sonde_device_row(copies, i + 1, device)) {
		enum sonde_memory_kind other_from = sonde_column_label(copies, i, from),
				       other_to = sonde_column_label(copies, i, to);
		int is_in = other_from == SONDE_MEMORY_PINNED && from == SONDE_MEMORY_PAGEABLE && other_to == to;
		int is_out = other_to == SONDE_MEMORY_PINNED && to == SONDE_MEMORY_PAGEABLE && other_from == from;
		if (is_in || is_out)
			return sonde_column_bytes(copies, i, b_per_s);
	}
	return NAN;
}

static int pageable_add(const struct sonde_facts *facts, const struct sonde_device_work *work,
			struct sonde_found *found)
{
	const struct sonde_columns_copies *copies = &facts->columns.copies;
	double time_ns = 0, saves_ns = 0, count = 0;
	/* pinning makes no difference for a CPU device, or without asynchronous copies */
	if (work->is_processor || !(calls_of(facts, is_async_copy).count > 0))
		return 0;
	for (size_t i = sonde_device_row(copies, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(copies, i + 1, work->name)) {
		enum sonde_memory_kind from = sonde_column_label(copies, i, from),
				       to = sonde_column_label(copies, i, to);
		double ns = sonde_column_ns(copies, i, total_ns) / work->parts;
		if ((from == SONDE_MEMORY_PAGEABLE) == (to == SONDE_MEMORY_PAGEABLE))
			continue;
		double faster = sonde_column_bytes(copies, i, b_per_s) / pinned_rate(copies, work->name, from, to);
		time_ns += ns;
		saves_ns += faster < 1 ? ns * (1 - faster) : 0; /* unknown rate: no saving is estimated */
		count += sonde_column_count(copies, i, copies) / work->parts;
	}
	double share = fmin(time_ns / facts->span_ns, 1);
	if (!(share > facts->threshold[SONDE_THRESHOLD_PAGEABLE]))
		return 0;
	saves_ns = fmin(saves_ns, facts->span_ns);
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = SUBJECT(found, work),
		.evidence = sonde_report_text(
		    found->report, "%.0f copies between pageable memory and the GPU, %.3f s; %s", count, time_ns / 1e9,
		    saves_ns > 0 ? "pinned memory was faster in this run"
				 : "the speed of pinned memory is unknown: no faster pinned copy was seen"),
		.saves_ns = saves_ns,
		.weighs = saves_ns > 0 ? saves_ns / facts->span_ns : fmin(share, 0.04)});
}

SONDE_EVALUATE(pageable_copies)
{
	return each(facts, found, pageable_add);
}

static int serial_add(const struct sonde_facts *facts, const struct sonde_device_work *work, struct sonde_found *found)
{
	const struct sonde_columns_copies *copies = &facts->columns.copies;
	double time_ns = 0, count = 0;
	for (size_t i = sonde_device_row(copies, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(copies, i + 1, work->name)) {
		if (sonde_memory_is_host(sonde_column_label(copies, i, from)) ==
		    sonde_memory_is_host(sonde_column_label(copies, i, to)))
			continue;
		time_ns += sonde_column_ns(copies, i, total_ns) / work->parts;
		count += sonde_column_count(copies, i, copies) / work->parts;
	}
	double saves_ns = fmin(fmin(work->alone_ns, work->kernel_ns), work->span_ns), share = saves_ns / facts->span_ns;
	if (count < REPEATED || work->kernels < REPEATED || !(share > facts->threshold[SONDE_THRESHOLD_SERIAL_COPIES]))
		return 0;
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = SUBJECT(found, work),
		.evidence = sonde_report_text(
		    found->report, "%.0f copies between host and GPU, %.3f s, of which %.3f s with no kernel running",
		    count, time_ns / 1e9, work->alone_ns / 1e9),
		.saves_ns = saves_ns,
		.weighs = share});
}

SONDE_EVALUATE(serial_copies)
{
	return each(facts, found, serial_add);
}

static int small_add(const struct sonde_facts *facts, const struct sonde_device_work *work, struct sonde_found *found)
{
	const struct sonde_columns_copies *copies = &facts->columns.copies;
	double count = 0, time_ns = 0, size_b = 0, saves_ns = 0;
	for (size_t i = sonde_device_row(copies, 0, work->name); i != SIZE_MAX;
	     i = sonde_device_row(copies, i + 1, work->name)) {
		double ns = sonde_column_ns(copies, i, total_ns) / work->parts;
		double mean_b = sonde_column_bytes(copies, i, mean_b);
		if (!(mean_b < facts->threshold[SONDE_THRESHOLD_SMALL_COPY_B]))
			continue;
		count += sonde_column_count(copies, i, copies) / work->parts;
		size_b += sonde_column_bytes(copies, i, size_b) / work->parts;
		time_ns += ns;
		saves_ns += ns * (1 - fmin(mean_b / BLOCK_B, 1));
	}
	saves_ns = fmin(saves_ns / fmax(work->at_once, 1), facts->span_ns);
	if (count < COPIES_LEAST || !(saves_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_SMALL_COPY_SHARE]))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){.subject = SUBJECT(found, work),
					   .evidence = sonde_report_text(
					       found->report, "%.0f copies of %.0f bytes (mean), %.2f µs each: %.3f s",
					       count, size_b / count, time_ns / count / 1e3, time_ns / 1e9),
					   .saves_ns = saves_ns,
					   .weighs = saves_ns / facts->span_ns});
}

SONDE_EVALUATE(small_copies)
{
	return each(facts, found, small_add);
}

/* --- launch configurations ---------------------------------------------------------------------------------------- */

/* Modelled: kernels use only a share of the resource, so the rest of their time may be saved. */
struct shape {
	double (*used)(const struct sonde_columns_kernels *kernels, size_t row);
	const char *evidence;
	int is_occupancy; /* only time of kernels whose limit is known counts */
	enum sonde_threshold least, share;
};

static int shape_add(const struct sonde_facts *facts, const struct sonde_device_work *work, const struct shape *shape,
		     struct sonde_found *found)
{
	const struct sonde_columns_kernels *kernels = &facts->columns.kernels;
	int rc = 0;
	for (size_t i = sonde_device_row(kernels, 0, work->name); !rc && i != SIZE_MAX && work->at_once <= ALONE;
	     i = sonde_device_row(kernels, i + 1, work->name)) {
		double used = shape->used(kernels, i);
		double time_ns = sonde_column_ns(kernels, i, total_ns) / work->parts;
		double saves_ns = fmin(time_ns, facts->span_ns) * (1 - used);
		const char *limit = sonde_column_text(kernels, i, limited_by);
		if (!(used < facts->threshold[shape->least]) ||
		    !(saves_ns / facts->span_ns > facts->threshold[shape->share]))
			continue;
		int is_limited = shape->is_occupancy && *limit;
		rc = sonde_found_add(
		    found,
		    &(struct sonde_finding){
			.subject = sonde_report_text(found->report, "%s on %s", sonde_column_text(kernels, i, kernel),
						     work->name),
			.evidence = sonde_report_text(found->report, "%s: %.1f %%, modelled%s%s; %.3f s in this kernel",
						      shape->evidence, 100 * used, is_limited ? ", limited by " : "",
						      is_limited ? limit : "", time_ns / 1e9),
			.saves_ns = saves_ns,
			.weighs = saves_ns / facts->span_ns});
	}
	return rc;
}

static double occupancy_used(const struct sonde_columns_kernels *kernels, size_t row)
{
	return sonde_column_ratio(kernels, row, occupancy);
}

static int occupancy_add(const struct sonde_facts *facts, const struct sonde_device_work *work,
			 struct sonde_found *found)
{
	static const struct shape shape = {occupancy_used, "theoretical occupancy", 1, SONDE_THRESHOLD_OCCUPANCY,
					   SONDE_THRESHOLD_OCCUPANCY_SHARE};
	return shape_add(facts, work, &shape, found);
}

SONDE_EVALUATE(low_occupancy)
{
	return each(facts, found, occupancy_add);
}

static double grid_used(const struct sonde_columns_kernels *kernels, size_t row)
{
	return sonde_column_ratio(kernels, row, filled_share);
}

static int grid_add(const struct sonde_facts *facts, const struct sonde_device_work *work, struct sonde_found *found)
{
	static const struct shape shape = {grid_used, "share of GPU units with a block, over all waves", 0,
					   SONDE_THRESHOLD_GRID, SONDE_THRESHOLD_GRID_SHARE};
	return shape_add(facts, work, &shape, found);
}

SONDE_EVALUATE(small_grid)
{
	return each(facts, found, grid_add);
}

static double lanes_used(const struct sonde_columns_kernels *kernels, size_t row)
{
	return sonde_column_ratio(kernels, row, lanes_share);
}

static int lanes_add(const struct sonde_facts *facts, const struct sonde_device_work *work, struct sonde_found *found)
{
	static const struct shape shape = {lanes_used, "share of its warps' lanes with a thread", 0,
					   SONDE_THRESHOLD_LANES, SONDE_THRESHOLD_LANES_SHARE};
	return shape_add(facts, work, &shape, found);
}

SONDE_EVALUATE(ragged_blocks)
{
	return each(facts, found, lanes_add);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* `all`: a text with the total memory and its source. */
static int full_add(const struct sonde_facts *facts, struct sonde_found *found, const char *device, double share,
		    double peak_b, const char *all)
{
	double least = facts->threshold[SONDE_THRESHOLD_DEVICE_FULL];
	if (!(share > least))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = sonde_report_text(found->report, "%s", device),
		       .evidence =
			   all ? sonde_report_text(found->report, "%.1f %% of %s at its peak", 100 * share, all) : NULL,
		       .bytes = peak_b > 0 ? peak_b : 0,
		       .weighs = fmin(share - least, 1)});
}

/* Memory of the whole device according to the driver; otherwise what this program allocated there. */
SONDE_EVALUATE(device_full)
{
	const struct sonde_columns_machine *machine = &facts->columns.machine;
	const struct sonde_columns_devices *devices = &facts->columns.devices;
	int rc = 0;
	size_t before = found->count;
	for (size_t i = 0; !rc && i < machine->of.rows; i++)
		if (sonde_column_label(machine, i, what) == SONDE_METRIC_DEVICE_MEMORY_USED)
			rc = full_add(facts, found, sonde_column_text(machine, i, object),
				      sonde_column_ratio(machine, i, max), 0,
				      sonde_report_text(found->report, "its %s (used by all programs; driver's figure)",
							sonde_column_text(machine, i, whole)));
	for (size_t i = 0; !rc && found->count == before && i < sonde_device_count(facts); i++) {
		double peak_b = sonde_column_bytes(devices, i, peak_b);
		if (sonde_column_label(devices, i, kind) != SONDE_DEVICE_CPU) /* a CPU's memory is system memory */
			rc = full_add(facts, found, sonde_column_text(devices, i, device),
				      peak_b / sonde_column_bytes(devices, i, memory_b), peak_b, "its memory");
	}
	return rc;
}

/* When reserved memory peaked, no more was allocated than at the peak of allocated memory, so at least the difference
 * of the two peaks was unused. */
SONDE_EVALUATE(device_reserve)
{
	const struct sonde_columns_devices *devices = &facts->columns.devices;
	int rc = 0;
	for (size_t i = 0; !rc && i < sonde_device_count(facts); i++) {
		double reserved_b = sonde_column_bytes(devices, i, reserved_b);
		double unused_b = reserved_b - sonde_column_bytes(devices, i, peak_b);
		double least = facts->threshold[SONDE_THRESHOLD_DEVICE_RESERVE];
		if (!(unused_b > least * reserved_b) || unused_b < facts->threshold[SONDE_THRESHOLD_DEVICE_RESERVE_B])
			continue;
		rc = sonde_found_add(
		    found, &(struct sonde_finding){
			       .subject = sonde_report_text(found->report, "%s", sonde_column_text(devices, i, device)),
			       .evidence = sonde_report_text(
				   found->report,
				   "its pools reserved up to %.3g GB, of which at least %.0f %% were unused then",
				   reserved_b / 1e9, floor(100 * unused_b / reserved_b)),
			       .bytes = unused_b,
			       .weighs = fmin(unused_b / reserved_b - least, 1)});
	}
	return rc;
}

/* --- clocks ------------------------------------------------------------------------------------------------------- */

/* The share of time for which the longest-lasting reason for throttling held. Shares are not added up, since several
 * reasons may hold at once. */
static double slowed_share(const struct sonde_columns_machine *machine, const char *device, const char **why)
{
	static const enum sonde_metric reasons[] = {SONDE_METRIC_DEVICE_SLOWED_POWER, SONDE_METRIC_DEVICE_SLOWED_HEAT,
						    SONDE_METRIC_DEVICE_SLOWED_HARDWARE,
						    SONDE_METRIC_DEVICE_SLOWED_SETTING};
	double most = 0;
	for (size_t i = 0; i < machine->of.rows; i++)
		for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++) {
			double share = sonde_column_ratio(machine, i, mean);
			if (sonde_column_label(machine, i, what) != reasons[k] ||
			    strcmp(sonde_column_text(machine, i, object), device) != 0 || !(share > most))
				continue;
			most = share;
			*why = sonde_column_label_text(machine, i, what);
		}
	return most;
}

/* An idle device has a low clock, too, so a low clock counts only for the time in which the device is throttled. It is
 * unknown which device of the recording the driver's readings belong to: the busiest is assumed. */
SONDE_EVALUATE(device_slowed)
{
	const struct sonde_columns_machine *machine = &facts->columns.machine;
	struct sonde_device_work work;
	int rc = 0;
	if (!sonde_device_work_busiest(&work, facts) || work.is_processor)
		return 0;
	for (size_t i = 0; !rc && i < machine->of.rows; i++) {
		const char *device = sonde_column_text(machine, i, object), *why = "";
		double clock = sonde_column_ratio(machine, i, mean);
		if (sonde_column_label(machine, i, what) != SONDE_METRIC_DEVICE_CLOCK_SM)
			continue;
		double slowed = slowed_share(machine, device, &why), lost = slowed * (1 - clock);
		double saves_ns = lost * work.busy_ns;
		if (!(saves_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_DEVICE_SLOWED]))
			continue;
		rc = sonde_found_add(
		    found, &(struct sonde_finding){
			       .subject = sonde_report_text(found->report, "%s", device),
			       .evidence = sonde_report_text(
				   found->report, "%s for %.1f %% of the time; the clock averaged %.1f %% of %s", why,
				   100 * slowed, 100 * clock, sonde_column_text(machine, i, whole)),
			       .saves_ns = saves_ns,
			       .weighs = saves_ns / facts->span_ns});
	}
	return rc;
}
