/* device_matrix.c: FP32 matrix products on a device whose matrix units are idle meanwhile.
 *
 * Only the kernel's name shows that it is an FP32 product on the ordinary lanes: the names that cuBLAS, CUTLASS and
 * cuDNN use ("ampere_sgemm_128x64_nn", "cutlass_80_simt_sgemm_…", "sm80_xmma_gemm_f32f32_f32f32_f32_…_ffma_…"). Names
 * that mention matrix units or other types do not count ("…_tensorop_s1688gemm_…", "…_gemm_f32f32_tf32f32_f32_…",
 * "volta_fp16_sgemm_fp16_…"). If the driver counts the use of matrix units, they must have been nearly idle while
 * kernels ran; otherwise there is no finding. If the driver does not count it, the evidence says so, and the confidence
 * is lower.
 *
 * Only time in which no other kernel of the device ran can be saved, and of that time only the fraction 1 − (peak of
 * FP32 / peak of the matrix units). The peaks are per clock and multiprocessor, for dense matrices, from the table by
 * compute capability in device/roofs.c. The table has FP16 with FP32 accumulation; TF32 (from 8.0 on) has half of that:
 * NVIDIA's white papers on A100 (312 and 156 TFLOP/s) and H100 (989 and 495). For capabilities whose chips differ (8.6,
 * 8.9: on GeForce TF32 is no faster than FP32) no saving is estimated.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device/roofs.h"
#include "analyze/device/sums.h"
#include "analyze/device/times.h"
#include "analyze/findings/devices.h"
#include "analyze/findings/rules.h"
#include "sonde/device.h"
#include "util/error.h"

#define DEVICES_MAX 64      /* maximum number of devices evaluated */
#define FIRST_MATRIX 70     /* first compute capability with matrix units */
#define SOME_WITHOUT 75     /* capability of which some chips have no matrix units */
#define FIRST_TF32 80       /* first capability whose matrix units take FP32, as TF32 */
#define UNREAD_SURE 0.30    /* confidence if the use of matrix units was not counted */
#define UNKNOWN_WEIGHS 0.04 /* low weight: the saving is unknown */

/* --- names -------------------------------------------------------------------------------------------------------- */

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "sgemm" at the start of a word, unlike in "cublasgemm". */
static int has_sgemm(const char *name)
{
	for (const char *at = strstr(name, "sgemm"); at; at = strstr(at + 1, "sgemm"))
		if (at == name || !is_letter(at[-1]))
			return 1;
	return 0;
}

static int is_fp32_product(const char *name)
{
	static const char *const others[] = {"tensor", "tf32", "f16",  "fp16", "half", "hmma",  "wmma",   "gmma",
					     "imma",   "s884", "1688", "int8", "fp8",  "16816", "double", "winograd"};
	int is_xmma = strstr(name, "gemm_f32f32_f32f32_f32_") && strstr(name, "_ffma_");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strstr(name, others[i]))
			return 0;
	return is_xmma || has_sgemm(name);
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

/* With capability 7.5, chips with RT cores, T4 and T4G have matrix units; GTX 16, T400 and similar do not. */
static int has_matrix_units(const struct sonde_device *device)
{
	const char *last = strrchr(device->name, ' ');
	last = last ? last + 1 : device->name;
	if (device->kind == SONDE_DEVICE_CPU || device->capability < FIRST_MATRIX)
		return 0;
	return device->capability != SOME_WITHOUT || strstr(device->name, "RTX") || !strcmp(last, "T4") ||
	       !strcmp(last, "T4G");
}

/* Throughput of the matrix units per clock as a multiple of FP32; 0 = unknown. */
static double times_fp32(uint32_t capability)
{
	const struct sonde_device one = {.capability = capability, .units = 1, .clock_mhz = 1};
	double fp32 = 0, matrix = 0;
	if (sonde_device_roof_flops(&fp32, NULL, &one, SONDE_DEVICE_FP32) ||
	    sonde_device_roof_flops(&matrix, NULL, &one, SONDE_DEVICE_TENSOR_FP16))
		return 0;
	return matrix / (capability >= FIRST_TF32 ? 2 : 1) / fp32;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

/* Sums of a device, by its first row in the session. */
struct counter {
	struct sonde_device_union products, others;
	double count, ns;
};

struct counters {
	struct counter *all;
	size_t count;
	uint8_t *is_product; /* by operation */
};

static void counters_fini(struct counters *counters)
{
	for (size_t i = 0; counters->all && i < counters->count; i++) {
		sonde_device_union_fini(&counters->all[i].products);
		sonde_device_union_fini(&counters->all[i].others);
	}
	free(counters->all);
	free(counters->is_product);
}

static int counters_init(struct counters *counters, const struct sonde_session *session)
{
	size_t operations = sonde_session_operation_count(session) + 1;
	*counters = (struct counters){.count = sonde_session_device_count(session) + 1};
	counters->all = calloc(counters->count, sizeof *counters->all);
	counters->is_product = calloc(operations, 1);
	if (!counters->all || !counters->is_product)
		return sonde_error(ENOMEM, "out of memory for %zu GPU operations", operations);
	for (uint32_t id = 1; id < operations; id++) {
		const struct sonde_operation *operation = sonde_session_operation(session, id);
		counters->is_product[id] =
		    operation && operation->kind == SONDE_ACTIVITY_KERNEL && is_fp32_product(operation->name);
	}
	return 0;
}

/* Activity of threads that are not selected counts as other work, and is not evaluated. */
static int add_times(struct counters *counters, const struct sonde_device_times *times, const uint8_t *chosen)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < times->count; i++) {
		const struct sonde_device_time *row = &times->rows[i];
		uint64_t from_ns, to_ns;
		if (row->kind != SONDE_ACTIVITY_KERNEL || !sonde_device_times_busy(times, row, &from_ns, &to_ns))
			continue;
		struct counter *counter = &counters->all[sonde_device_of_queue(times->session, row->queue)];
		int is_product = counters->is_product[row->operation] && (!chosen || chosen[row->thread]);
		counter->count += is_product;
		counter->ns += is_product ? (double)(to_ns - from_ns) : 0;
		rc = sonde_device_union_add(is_product ? &counter->products : &counter->others, from_ns, to_ns);
	}
	return rc;
}

/* Fills in the sums. They are all 0 if memory was too small for all kernels: then there is no finding. */
static int counters_read(struct counters *counters, const struct sonde_facts *facts)
{
	struct sonde_device_times *times = NULL;
	int rc = counters_init(counters, facts->session);
	rc = rc ? rc : sonde_device_rows_read(&times, facts, 1u << SONDE_ACTIVITY_KERNEL);
	rc = rc || !times ? rc : add_times(counters, times, facts->options->selection.thread);
	sonde_device_rows_free(times);
	return rc;
}

static double shared_ns(const struct counter *counter)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < counter->products.count; i++)
		sum += sonde_device_union_covers(&counter->others, counter->products.all[i].from_ns,
						 counter->products.all[i].to_ns);
	return (double)sum;
}

/* --- the driver's counters ---------------------------------------------------------------------------------------- */

/* True if the driver's readings are of only one GPU, and only one device of the recording is not a CPU. */
static int is_only(const struct sonde_facts *facts, const struct sonde_columns_machine *machine)
{
	const char *first = NULL;
	size_t used = 0;
	for (size_t i = 0; i < machine->of.rows; i++) {
		const char *object = sonde_column_text(machine, i, object);
		if (strncmp(object, "GPU ", 4) != 0)
			continue;
		if (first && strcmp(first, object) != 0)
			return 0;
		first = object;
	}
	for (uint32_t id = 1; id <= sonde_session_device_count(facts->session) && used < 2; id++) {
		const struct sonde_device *device = sonde_session_device(facts->session, id);
		used += device->same == id && device->kind != SONDE_DEVICE_CPU;
	}
	return first && used == 1;
}

/* True if "GPU 0 NAME" is this device: by UUID, if both are known. */
static int is_object(const struct sonde_facts *facts, const struct sonde_columns_machine *machine,
		     const struct sonde_device *device, const char *object)
{
	char key[48], *end;
	if (strncmp(object, "GPU ", 4) != 0)
		return 0;
	unsigned long number = strtoul(object + 4, &end, 10);
	snprintf(key, sizeof key, "device.%lu.uuid", number);
	const char *uuid = end > object + 4 ? sonde_session_info(facts->session, key) : NULL;
	return uuid && *uuid && *device->uuid ? !strcmp(uuid, device->uuid) : is_only(facts, machine);
}

/* Share of time in which the matrix units were busy; NAN = not read, or the recording is merged, in which case objects
 * of several machines share a name. */
static double matrix_share(const struct sonde_facts *facts, const struct sonde_device *device)
{
	const struct sonde_columns_machine *machine = &facts->columns.machine;
	if (sonde_session_part_count(facts->session) > 1)
		return NAN;
	for (size_t i = 0; i < machine->of.rows; i++)
		if (sonde_column_label(machine, i, what) == SONDE_METRIC_DEVICE_TENSOR_ACTIVE &&
		    is_object(facts, machine, device, sonde_column_text(machine, i, object)))
			return sonde_column_ratio(machine, i, mean);
	return NAN;
}

/* --- evaluation --------------------------------------------------------------------------------------------------- */

static const char *most_of(const struct sonde_facts *facts, const char *device)
{
	const struct sonde_columns_kernels *kernels = &facts->columns.kernels;
	for (size_t i = sonde_device_row(kernels, 0, device); i != SIZE_MAX;
	     i = sonde_device_row(kernels, i + 1, device)) {
		const char *name = sonde_column_text(kernels, i, kernel);
		if (is_fp32_product(name))
			return name; /* rows are sorted, longest time first */
	}
	return "matrix products";
}

static const char *evidence_of(struct sonde_report *report, const struct counter *counter, double alone_ns,
			       double share, double times, uint32_t capability)
{
	const char *type = capability < FIRST_TF32 ? "FP16 (the GPU has no TF32)" : "TF32";
	const char *counted = isnan(share)
				  ? "use of the GPU's matrix units was not read (the driver counts it from Hopper on)"
				  : sonde_report_text(report,
						      "the GPU's matrix units were busy for %.1f %% of the run "
						      "(driver's counter)",
						      100 * share);
	const char *faster =
	    times > 1 ? sonde_report_text(report, "matrix units do %.3g times as many dense FLOP per clock in %s",
					  times, type)
		      : "the gain from matrix units is unknown for this compute capability";
	if (!counted || !faster)
		return NULL;
	return sonde_report_text(
	    report,
	    "%.0f FP32 matrix kernel%s (by name) ran for %.3f s, %.3f s of it with no other kernel running; "
	    "%s; %s",
	    counter->count, counter->count > 1 ? "s" : "", counter->ns / 1e9, alone_ns / 1e9, counted, faster);
}

static int evaluate_device(const struct sonde_facts *facts, const struct sonde_device *device,
			   const struct counter *counter, struct sonde_found *found)
{
	double both_ns = shared_ns(counter), alone_ns = (double)counter->products.total_ns - both_ns;
	double kernels_ns = alone_ns + (double)counter->others.total_ns;
	double share = fmin((double)counter->products.total_ns / facts->span_ns, 1);
	if (!(share > facts->threshold[SONDE_THRESHOLD_IDLE_MATRIX]))
		return 0;
	double matrix = matrix_share(facts, device);
	if (matrix * facts->span_ns / kernels_ns >= facts->threshold[SONDE_THRESHOLD_IDLE_MATRIX_USED])
		return 0;
	double times = times_fp32(device->capability);
	double saves_ns = times > 1 ? fmin(alone_ns, facts->span_ns) * (1 - 1 / times) : 0;
	const char *label = sonde_device_label(facts->session, device->id, found->report);
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = label ? sonde_report_text(found->report, "%s on %s", most_of(facts, label), label) : NULL,
		.evidence = evidence_of(found->report, counter, alone_ns, matrix, times, device->capability),
		.saves_ns = saves_ns,
		.weighs = saves_ns > 0 ? saves_ns / facts->span_ns : fmin(share, UNKNOWN_WEIGHS),
		.confidence = isnan(matrix) ? UNREAD_SURE : 0});
}

/* True if a device has matrix units and a kernel of that kind exists; otherwise activities need not be read again. */
static int is_any(const struct sonde_facts *facts)
{
	const struct sonde_columns_kernels *kernels = &facts->columns.kernels;
	int has_units = 0;
	for (uint32_t id = 1; !has_units && id <= sonde_session_device_count(facts->session); id++)
		has_units = has_matrix_units(sonde_session_device(facts->session, id));
	for (size_t i = 0; has_units && i < kernels->of.rows; i++)
		if (is_fp32_product(sonde_column_text(kernels, i, kernel)))
			return 1;
	return 0;
}

SONDE_EVALUATE(idle_matrix_units)
{
	struct counters counters;
	size_t evaluated = 0;
	if (!is_any(facts))
		return 0;
	int rc = counters_read(&counters, facts);
	for (uint32_t id = 1; !rc && id < counters.count && evaluated < DEVICES_MAX; id++) {
		const struct sonde_device *device = sonde_session_device(facts->session, id);
		if (!(counters.all[id].ns > 0) || !has_matrix_units(device))
			continue;
		evaluated++;
		rc = evaluate_device(facts, device, &counters.all[id], found);
	}
	counters_fini(&counters);
	return rc;
}
