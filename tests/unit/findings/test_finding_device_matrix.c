/* test_finding_device_matrix.c: the rule about FP32 matrix products while matrix units idle: when it applies, and the
 * gain it predicts, on recordings whose answers are computed by hand. */
#include "device_fixture.h"

#include "analyze/findings/findings.h"
#include "sonde/device.h"

#define END_MS 1000
#define SGEMM "ampere_sgemm_128x64_nn"

struct evaluated {
	struct sonde_session *session;
	struct sonde_report *report;
	struct sonde_found found;
};

static const struct sonde_finding *evaluate(struct evaluated *evaluated, struct recording *r,
					    const struct sonde_pass_options *options)
{
	recording_close(r, START + END_MS * MS, 0);
	assert_int_equal(
	    sonde_session_open(&evaluated->session, path, &(struct sonde_session_options){.no_symbols = 1}), 0);
	assert_int_equal(sonde_report_new(&evaluated->report), 0);
	assert_int_equal(sonde_findings_find(&evaluated->found, evaluated->session, options, evaluated->report, NULL),
			 0);
	for (size_t i = 0; i < evaluated->found.count; i++)
		if (!strcmp(evaluated->found.rows[i].rule->id, "idle-matrix-units"))
			return &evaluated->found.rows[i];
	return NULL;
}

static void forget(struct evaluated *evaluated)
{
	free(evaluated->found.rows);
	sonde_report_free(evaluated->report);
	sonde_session_close(evaluated->session);
}

/* What the finding saves; negative: there is no finding. */
static void expect(struct recording *r, double saves_ms, const char *evidence)
{
	struct evaluated evaluated;
	const struct sonde_finding *finding = evaluate(&evaluated, r, &(struct sonde_pass_options){0});
	if (saves_ms < 0 && finding)
		fail_msg("%s: %s", finding->subject, finding->evidence);
	if (saves_ms >= 0) {
		assert_non_null(finding);
		assert_near(finding->saves_ns / 1e6, saves_ms, 0.01);
		assert_true(sonde_finding_severity(finding) < SONDE_SEVERITY_CRITICAL);
		assert_true(saves_ms > 0 || sonde_finding_severity(finding) == SONDE_SEVERITY_LOW);
		if (!strstr(finding->evidence, evidence))
			fail_msg("\"%s\" does not say \"%s\"", finding->evidence, evidence);
	}
	forget(&evaluated);
}

static uint32_t gpu(struct recording *r, const char *name, uint32_t capability, const char *uuid)
{
	return recording_device(r, 1, "CUDA", name,
				(struct sonde_meta_device){.kind = SONDE_DEVICE_GPU,
							   .uuid = uuid ? recording_string(r, uuid) : 0,
							   .capability = capability});
}

/* One kernel from the beginning on, on an A100. */
static uint32_t one_kernel(struct recording *r, const char *name, double ms)
{
	simple_open(r);
	uint32_t id = gpu(r, "A100", 80, NULL);
	put(r, kernel(r, name), recording_queue(r, id, "one", 1), 0, 0, ms);
	return id;
}

static void names_tell_what_is_multiplied_and_where(void **state)
{
	static const struct {
		const char *name;
		int is_fp32;
	} cases[] = {
	    {SGEMM, 1},
	    {"volta_sgemm_32x128_tn", 1},
	    {"maxwell_sgemmBatched_64x64_raggedMn_nn", 1},
	    {"sgemm_32x32x32_NT_vec", 1},
	    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80_simt_sgemm_Params)", 1},
	    {"cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_1x1x1_3_nnn_align1", 1},
	    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4", 1},
	    {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize32x32x8_ffma_aligna4", 1},
	    {"void cudnn::cnn::implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true>(int)", 1},
	    {"ampere_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn", 0},
	    {"ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_relu_f2f_stages_64x6_tn", 0},
	    {"volta_fp16_sgemm_fp16_128x128_nt", 0},
	    {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", 0},
	    {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4>(Params)", 0},
	    {"cutlass_sm80_tensorop_sgemm_nn", 0},
	    {"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64_stage3_warpsize2x1x2_tensor16x8x8", 0},
	    {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x64_stage3_warpsize2x1x2_tensor16x8x8", 0},
	    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", 0},
	    {"void cudnn::cnn::implicit_convolve_sgemm<__half, __half, 1024, 5, 5, 3, 3, 3, 1>(int)", 0},
	    {"ampere_dgemm_128x64_nn", 0},
	    {"ampere_cgemm_64x64_nt", 0},
	    {"nvjet_hsh_256x128_64x4_2x1_v_bz_TNN", 0},
	    {"ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", 0},
	    {"hmma_sgemm", 0},
	    {"cublasgemm", 0},
	    {"gemv2T_kernel_val", 0},
	    {"work", 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		one_kernel(&r, cases[i].name, 600);
		expect(&r, cases[i].is_fp32 ? 525 : -1, "1 FP32 matrix kernel (by name) ran for 0.600 s");
	}
}

/* 600 ms of an FP32 product: 1 − 1/8 of it, if the speed of the units is known; a GPU without such units has no
 * finding. */
static void devices_with_matrix_units(void **state)
{
	static const struct {
		const char *name;
		uint32_t capability;
		double saves_ms;
		const char *evidence;
	} cases[] = {
	    {"GTX 1080", 61, -1, ""},
	    {"V100", 70, 525, "8 times as many dense FLOP per clock in FP16 (the GPU has no TF32)"},
	    {"Xavier", 72, 0, "the gain from matrix units is unknown for this compute capability"},
	    {"Tesla T4", 75, 0, "the gain from matrix units is unknown for this compute capability"},
	    {"GeForce RTX 2080 Ti", 75, 0, "the gain from matrix units is unknown for this compute capability"},
	    {"GeForce GTX 1660", 75, -1, ""},
	    {"NVIDIA T400", 75, -1, ""},
	    {"A100", 80, 525, "8 times as many dense FLOP per clock in TF32"},
	    {"GeForce RTX 3090", 86, 0, "the gain from matrix units is unknown for this compute capability"},
	    {"L4", 89, 0, "the gain from matrix units is unknown for this compute capability"},
	    {"H100", 90, 525, "8 times as many dense FLOP per clock in TF32"},
	    {"B200", 100, 0, "the gain from matrix units is unknown for this compute capability"},
	    {"later", 999, 0, "the gain from matrix units is unknown for this compute capability"},
	    {"not told", 0, -1, ""},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		simple_open(&r);
		uint32_t id = gpu(&r, cases[i].name, cases[i].capability, NULL);
		put(&r, kernel(&r, SGEMM), recording_queue(&r, id, "one", 1), 0, 0, 600);
		expect(&r, cases[i].saves_ms, cases[i].evidence);
	}
}

/* OpenCL reports no capability; a CPU has no matrix units of that kind, whatever is reported. */
static void other_devices(void **state)
{
	static const struct sonde_meta_device devices[] = {
	    {.kind = SONDE_DEVICE_GPU}, {.kind = SONDE_DEVICE_CPU}, {.kind = SONDE_DEVICE_CPU, .capability = 80}};
	(void)state;
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		struct recording r;
		simple_open(&r);
		uint32_t id = recording_device(&r, 1, "OpenCL", "A100", devices[i]);
		put(&r, kernel(&r, SGEMM), recording_queue(&r, id, "one", 1), 0, 0, 600);
		expect(&r, -1, "");
	}
}

static void little_time_is_not_worth_it(void **state)
{
	static const struct {
		double ms, saves_ms;
	} cases[] = {{50, -1}, {52, 45.5}, {1000, 875}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		one_kernel(&r, SGEMM, cases[i].ms);
		expect(&r, cases[i].saves_ms, "with no other kernel running");
	}
}

/* 0 … 600 ms, and another product 500 … 700 ms: 700 ms, of which another kernel takes 100 … 200 and 650 … 800 ms: 550.
 */
static void what_runs_beside_others_stays(void **state)
{
	struct recording r;
	(void)state;
	uint32_t id = one_kernel(&r, SGEMM, 600), two = recording_queue(&r, id, "two", 2);
	put(&r, kernel(&r, "sgemm_32x32x32_NT_vec"), two, 0, 500, 200);
	put(&r, kernel(&r, "work"), two, 0, 100, 100);
	put(&r, kernel(&r, "work"), two, 0, 650, 150);
	put_sized(&r, recording_operation(&r, SONDE_ACTIVITY_COPY, "copy", (struct sonde_meta_operation){0}), two, 250,
		  100, 1000);
	expect(&r, 550 * 7 / 8.0, "2 FP32 matrix kernels (by name) ran for 0.800 s, 0.550 s of it");
}

static void a_window_counts_what_lies_in_it(void **state)
{
	const struct sonde_pass_options options = {.selection.from_ns = START + 500 * MS,
						   .selection.to_ns = START + 1000 * MS};
	struct recording r;
	struct evaluated evaluated;
	(void)state;
	one_kernel(&r, SGEMM, 600);
	const struct sonde_finding *finding = evaluate(&evaluated, &r, &options);
	assert_non_null(finding);
	assert_near(finding->saves_ns / 1e6, 87.5, 0.01);
	forget(&evaluated);
}

/* Another thread runs 200 ms at the same time: not in the selection, but it keeps the device busy. */
static void threads_that_were_chosen(void **state)
{
	static const uint8_t chosen[] = {0, 1, 0};
	const struct sonde_pass_options options = {.selection.thread = chosen, .thread_is = "1 thread"};
	struct recording r;
	struct evaluated evaluated;
	(void)state;
	uint32_t id = one_kernel(&r, SGEMM, 600);
	recording_thread(&r, 1, 101, "other", START);
	recording_activity(&r, (struct recording_activity){.start_ns = START + 100 * MS,
							   .dur_ns = 200 * MS,
							   .operation = kernel(&r, SGEMM),
							   .queue = recording_queue(&r, id, "two", 2),
							   .thread = 2});
	const struct sonde_finding *finding = evaluate(&evaluated, &r, &options);
	assert_non_null(finding);
	assert_near(finding->saves_ns / 1e6, 350, 0.01);
	assert_non_null(strstr(finding->evidence, "1 FP32 matrix kernel"));
	forget(&evaluated);
}

/* --- what the driver counted -------------------------------------------------------------------------------------- */

/* Ten readings of a counter that goes by `share` of the time. */
static void counts(struct recording *r, const char *object, double share)
{
	uint32_t series = recording_series(r, SONDE_METRIC_DEVICE_TENSOR_ACTIVE, 0, 0, object);
	for (uint64_t at = 0; at < 10; at++)
		recording_point(r, START + at * 100 * MS, series, (int64_t)(share * (double)(at * 100 * MS)));
}

static void expect_counted(struct recording *r, double confidence, const char *evidence)
{
	struct evaluated evaluated;
	const struct sonde_finding *finding = evaluate(&evaluated, r, &(struct sonde_pass_options){0});
	if (confidence < 0 && finding)
		fail_msg("%s: %s", finding->subject, finding->evidence);
	if (confidence >= 0) {
		assert_non_null(finding);
		assert_near(finding->saves_ns / 1e6, 525, 0.01);
		assert_near(sonde_finding_confidence(finding), confidence, 1e-9);
		if (!strstr(finding->evidence, evidence))
			fail_msg("\"%s\" does not say \"%s\"", finding->evidence, evidence);
	}
	forget(&evaluated);
}

/* Kernels run for 600 ms of 1000: 4 % of the run is 6.7 % of their time. */
static void units_that_work_are_no_finding(void **state)
{
	static const struct {
		double share, confidence;
		const char *evidence;
	} cases[] = {{0, 0.5, "were busy for 0.0 % of the run"},
		     {0.029, 0.5, "were busy for 2.9 % of the run"},
		     {0.04, -1, ""},
		     {0.4, -1, ""}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		one_kernel(&r, SGEMM, 600);
		counts(&r, "GPU 0 A100", cases[i].share);
		expect_counted(&r, cases[i].confidence, cases[i].evidence);
	}
}

static void units_that_nobody_counted(void **state)
{
	struct recording r;
	(void)state;
	one_kernel(&r, SGEMM, 600);
	expect_counted(&r, 0.3, "was not read");
	one_kernel(&r, SGEMM, 600); /* a single reading gives no share */
	recording_point(&r, START, recording_series(&r, SONDE_METRIC_DEVICE_TENSOR_ACTIVE, 0, 0, "GPU 0 A100"), 5);
	expect_counted(&r, 0.3, "was not read");
}

/* Two devices that the driver reads: only the UUID tells whose 40 % it is. */
static void which_device_was_counted(void **state)
{
	static const struct {
		const char *uuid, *first, *second; /* of the device; of those that the driver has */
		double first_share, second_share, confidence;
	} cases[] = {
	    {"GPU-a", "GPU-a", "GPU-b", 0.4, 0, -1},    {"GPU-b", "GPU-a", "GPU-b", 0.4, 0, 0.5},
	    {"GPU-c", "GPU-a", "GPU-b", 0.4, 0.4, 0.3}, {NULL, "GPU-a", "GPU-b", 0.4, 0.4, 0.3},
	    {"GPU-a", NULL, NULL, 0.4, 0.4, 0.3},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		simple_open(&r);
		uint32_t id = gpu(&r, "A100", 80, cases[i].uuid);
		put(&r, kernel(&r, SGEMM), recording_queue(&r, id, "one", 1), 0, 0, 600);
		if (cases[i].first)
			recording_info(&r, "device.0.uuid", cases[i].first);
		if (cases[i].second)
			recording_info(&r, "device.1.uuid", cases[i].second);
		counts(&r, "GPU 0 A100", cases[i].first_share);
		counts(&r, "GPU 1 A100", cases[i].second_share);
		expect_counted(&r, cases[i].confidence,
			       cases[i].confidence > 0.4 ? "0.0 % of the run" : "was not read");
	}
}

/* The one that is read is not the one that is used: its UUID is another. */
static void another_device_was_counted(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t id = gpu(&r, "A100", 80, "GPU-b");
	put(&r, kernel(&r, SGEMM), recording_queue(&r, id, "one", 1), 0, 0, 600);
	recording_info(&r, "device.0.uuid", "GPU-a");
	counts(&r, "GPU 0 A100", 0.4);
	expect_counted(&r, 0.3, "was not read");
}

static void each_device_is_judged_by_itself(void **state)
{
	struct recording r;
	struct evaluated evaluated;
	size_t count = 0;
	(void)state;
	simple_open(&r);
	const uint32_t ids[] = {gpu(&r, "A100", 80, "GPU-a"), gpu(&r, "H100", 90, "GPU-b"),
				gpu(&r, "P100", 60, "GPU-c")};
	for (size_t i = 0; i < 3; i++)
		put(&r, kernel(&r, SGEMM), recording_queue(&r, ids[i], "one", i + 1), 0, 0, 200 + 200 * (double)i);
	evaluate(&evaluated, &r, &(struct sonde_pass_options){0});
	for (size_t i = 0; i < evaluated.found.count; i++) {
		const struct sonde_finding *finding = &evaluated.found.rows[i];
		if (strcmp(finding->rule->id, "idle-matrix-units") != 0)
			continue;
		assert_near(finding->saves_ns / 1e6, count ? 175 : 350, 0.01);
		assert_string_equal(finding->subject, count ? SGEMM " on CUDA A100 0" : SGEMM " on CUDA H100 0");
		count++;
	}
	assert_int_equal(count, 2);
	forget(&evaluated);
}

static void lost_activities_are_no_evidence(void **state)
{
	struct recording r;
	(void)state;
	one_kernel(&r, SGEMM, 600);
	recording_lost(&r, "gpu", "ring full", 1);
	expect(&r, -1, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_tell_what_is_multiplied_and_where),
	    cmocka_unit_test(devices_with_matrix_units),
	    cmocka_unit_test(other_devices),
	    cmocka_unit_test(little_time_is_not_worth_it),
	    cmocka_unit_test(what_runs_beside_others_stays),
	    cmocka_unit_test(a_window_counts_what_lies_in_it),
	    cmocka_unit_test(threads_that_were_chosen),
	    cmocka_unit_test(units_that_work_are_no_finding),
	    cmocka_unit_test(units_that_nobody_counted),
	    cmocka_unit_test(which_device_was_counted),
	    cmocka_unit_test(another_device_was_counted),
	    cmocka_unit_test(each_device_is_judged_by_itself),
	    cmocka_unit_test(lost_activities_are_no_evidence),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
