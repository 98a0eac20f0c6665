/* test_devices_several.c: several devices: copies between them, the owner of memory, a device that several processes
 * use. */
#include "device_fixture.h"
#include "sonde/device.h"

static uint32_t device_of(struct recording *r, uint32_t process, uint32_t index, const char *uuid, uint32_t kind)
{
	return recording_device(
	    r, process, "CUDA", "G1",
	    (struct sonde_meta_device){
		.index = index, .kind = kind, .uuid = *uuid ? recording_string(r, uuid) : 0, .memory_b = 1000});
}

static uint32_t copy(struct recording *r, uint8_t from, uint8_t to, uint32_t from_device, uint32_t to_device)
{
	return recording_operation(
	    r, SONDE_ACTIVITY_COPY, "copy",
	    (struct sonde_meta_operation){.from = from, .to = to, .from_device = from_device, .to_device = to_device});
}

/* --- copies between devices -------------------------------------------------------------------------------------- */

/* From 0 to 1: 40 MB from 10 to 20 ms, 20 MB from 15 to 25, and 10 MB from 30 to 40 that the other device reads;
 * from 1 to 0: 5 MB from 50 to 60; from 0 to an unknown one: 1 MB from 70 to 72. Other copies are not between
 * devices. */
static void fill_peers(struct recording *r)
{
	simple_open(r);
	uint32_t zero = device_of(r, 1, 0, "GPU-a", SONDE_DEVICE_GPU);
	uint32_t one = device_of(r, 1, 1, "GPU-b", SONDE_DEVICE_GPU);
	uint32_t first = recording_queue(r, zero, "first", 1), second = recording_queue(r, zero, "second", 2);
	uint32_t other = recording_queue(r, one, "other", 3);
	uint32_t out = copy(r, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PEER, zero, one);
	put_sized(r, out, first, 10, 10, 40000000);
	put_sized(r, out, second, 15, 10, 20000000);
	put_sized(r, copy(r, SONDE_MEMORY_PEER, SONDE_MEMORY_DEVICE, zero, one), other, 30, 10, 10000000);
	put_sized(r, copy(r, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PEER, one, zero), other, 50, 10, 5000000);
	put_sized(r, copy(r, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PEER, 0, 0), first, 70, 2, 1000000);
	put_sized(r, copy(r, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE, 0, 0), first, 80, 1, 7777777);
	put_sized(r, copy(r, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE, one, zero), first, 82, 1, 7777777);
	put_sized(r, copy(r, SONDE_MEMORY_DEVICE, SONDE_MEMORY_ARRAY, 0, 0), first, 84, 1, 7777777);
	put_sized(r, copy(r, SONDE_MEMORY_UNKNOWN, SONDE_MEMORY_DEVICE, 0, 0), first, 86, 1, 7777777);
	put(r, kernel(r, "k"), first, -1, 90, 5);
}

static void peers_are_a_matrix(void **state)
{
	struct recording r;
	(void)state;
	fill_peers(&r);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "peers", NULL);
	const struct sonde_section *peers = sections_get(&s, "peers");
	static const struct {
		const char *from, *to;
		uint64_t copies, size_b, b_per_s, busy_ns;
		double share;
	} rows[] = {
	    {"CUDA G1 0", "CUDA G1 1", 3, 70000000, 2800000000, 25 * MS, 0.25},
	    {"CUDA G1 1", "CUDA G1 0", 1, 5000000, 500000000, 10 * MS, 0.10},
	    {"CUDA G1 0", "", 1, 1000000, 500000000, 2 * MS, 0.02},
	};
	assert_int_equal(peers->table.row_count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(sonde_report_cell_text(peers, i, "from"), rows[i].from);
		if (*rows[i].to)
			assert_string_equal(sonde_report_cell_text(peers, i, "to"), rows[i].to);
		assert_int_equal(cell_int(peers, i, "copies"), rows[i].copies);
		assert_int_equal(cell_int(peers, i, "size_b"), rows[i].size_b);
		assert_int_equal(cell_int(peers, i, "b_per_s"), rows[i].b_per_s);
		assert_int_equal(cell_int(peers, i, "busy_ns"), rows[i].busy_ns);
		assert_near(cell_real(peers, i, "busy_share"), rows[i].share, 1e-9);
	}
	assert_absent(peers, 2, "to", "the GPU was not reported");
	assert_null(sections_find(&s, "peer-links"));
	sections_free(&s);
}

/* From 20 to 35 ms: of 15 … 25 five count, of 30 … 40 too; none is whole. */
static void peers_are_cut_by_the_window(void **state)
{
	static const struct sonde_pass_options options = {.selection.from_ns = START + 20 * MS,
							  .selection.to_ns = START + 35 * MS};
	struct recording r;
	(void)state;
	fill_peers(&r);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "peers", &options);
	const struct sonde_section *peers = sections_get(&s, "peers");
	assert_int_equal(peers->table.row_count, 1);
	assert_int_equal(cell_int(peers, 0, "copies"), 2);
	assert_int_equal(cell_int(peers, 0, "busy_ns"), 10 * MS);
	assert_near(cell_real(peers, 0, "busy_share"), 10.0 / 15, 1e-9);
	assert_absent(peers, 0, "b_per_s", "no copy lies wholly");
	sections_free(&s);
}

/* 0 sends 90 MB and receives 6 in 90 ms; most in the last 45: 60 MB. */
static void links_are_beside_them(void **state)
{
	struct recording r;
	(void)state;
	fill_peers(&r);
	uint32_t sent = recording_series(&r, SONDE_METRIC_DEVICE_NVLINK_SENT, 0, 0, "GPU 0 G1");
	uint32_t received = recording_series(&r, SONDE_METRIC_DEVICE_NVLINK_RECEIVED, 0, 0, "GPU 0 G1");
	static const int64_t counts[][2] = {{1000, 50}, {30001000, 3000050}, {90001000, 6000050}};
	for (size_t i = 0; i < 3; i++) {
		recording_point(&r, START + (5 + 45 * i) * MS, sent, counts[i][0]);
		recording_point(&r, START + (5 + 45 * i) * MS, received, counts[i][1]);
	}
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "peers", NULL);
	const struct sonde_section *links = sections_get(&s, "peer-links");
	assert_int_equal(links->table.row_count, 1);
	assert_string_equal(sonde_report_cell_text(links, 0, "device"), "GPU 0 G1");
	assert_int_equal(cell_int(links, 0, "sent_b"), 90000000);
	assert_int_equal(cell_int(links, 0, "received_b"), 6000000);
	assert_near(cell_real(links, 0, "sent_b_per_s"), 1e9, 1);
	assert_near(cell_real(links, 0, "received_b_per_s"), 6e6 / 0.09, 1);
	assert_near(cell_real(links, 0, "sent_b_per_s_max"), 60e6 / 0.045, 1);
	assert_true(sections_noted(links->notes, "all programs"));
	sections_free(&s);
}

/* Kernels that access another device's memory copy nothing: the section shows what the interconnect carried. */
static void links_without_copies(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	put(&r, kernel(&r, "reduce"), recording_queue(&r, device(&r, "only", 0), "q", 1), -1, 10, 1);
	uint32_t sent = recording_series(&r, SONDE_METRIC_DEVICE_NVLINK_SENT, 0, 0, "GPU 0 G1");
	uint32_t received = recording_series(&r, SONDE_METRIC_DEVICE_NVLINK_RECEIVED, 0, 0, "GPU 0 G1");
	for (unsigned i = 0; i < 2; i++) {
		recording_point(&r, START + (10 + 50 * i) * MS, sent, 1000 + i * INT64_C(5000000));
		recording_point(&r, START + (10 + 50 * i) * MS, received, 7);
	}
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "peers", NULL);
	assert_null(sections_find(&s, "peer-links"));
	sections_free(&s);
	s = sections_of(path, "peers", &(struct sonde_pass_options){.requested = 1});
	assert_true(sections_noted(sections_get(&s, "peers")->notes, "no P2P copy"));
	assert_int_equal(cell_int(sections_get(&s, "peer-links"), 0, "sent_b"), 5000000);
	assert_near(cell_real(sections_get(&s, "peer-links"), 0, "sent_b_per_s"), 1e8, 1);
	sections_free(&s);
}

static void without_peers_there_is_no_section(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t queue = recording_queue(&r, device(&r, "only", 0), "q", 1);
	put_sized(&r, copy(&r, SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE, 1, 1), queue, 10, 1, 100);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "peers", NULL);
	assert_null(sections_find(&s, "peers"));
	sections_free(&s);
	s = sections_of(path, "peers", &(struct sonde_pass_options){.requested = 1});
	assert_true(sections_noted(sections_get(&s, "peers")->notes, "no P2P copy"));
	sections_free(&s);
}

/* --- one device of two processes --------------------------------------------------------------------------------- */

/* Process 1 has the devices a (0) and b (1), process 2 has a alone, as its 0 or 1. */
static void fill_shared(struct recording *r, uint32_t kind, const char *uuid)
{
	simple_open(r);
	recording_process(r, 101, 1, "other", START);
	uint32_t mine = device_of(r, 1, 0, uuid, kind), own = device_of(r, 1, 1, "GPU-b", kind);
	uint32_t theirs = device_of(r, 2, 1, uuid, kind);
	uint32_t first = recording_queue(r, mine, "first", 1), second = recording_queue_of(r, 2, theirs, "second", 1);
	uint32_t third = recording_queue(r, own, "third", 2), k = kernel(r, "k");
	uint32_t up = copy(r, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE, 0, 0);
	uint32_t take = recording_operation(r, SONDE_ACTIVITY_ALLOC, "take",
					    (struct sonde_meta_operation){.to = SONDE_MEMORY_DEVICE});
	put(r, k, first, -1, 10, 20);
	put(r, k, second, -1, 20, 20);
	put(r, k, third, -1, 50, 10);
	put_sized(r, up, first, 60, 5, 1000000);
	put_sized(r, up, second, 70, 5, 3000000);
	static const uint64_t sizes[] = {100, 50, 7};
	const uint32_t queues[] = {first, second, third};
	for (size_t i = 0; i < 3; i++)
		recording_activity(r, (struct recording_activity){.start_ns = START + (5 + i) * MS,
								  .operation = take,
								  .queue = queues[i],
								  .thread = 1,
								  .size_b = sizes[i],
								  .address = 0x1000 * (i + 1)});
	recording_close(r, START + 100 * MS, 0);
}

static void one_device_of_two_processes_is_one(void **state)
{
	struct recording r;
	(void)state;
	fill_shared(&r, SONDE_DEVICE_GPU, "GPU-a");
	struct sections s = sections_of(path, "devices", NULL);
	const struct sonde_section *devices = sections_get(&s, "devices");
	assert_int_equal(devices->table.row_count, 2);
	assert_string_equal(sonde_report_cell_text(devices, 0, "device"), "CUDA G1 0");
	assert_near(cell_real(devices, 0, "busy_share"), 0.40, 1e-9); /* 10 … 40, 60 … 65, 70 … 75 */
	assert_near(cell_real(devices, 0, "concurrency"), 50.0 / 40, 1e-9);
	assert_int_equal(cell_int(devices, 0, "kernel_ns"), 40 * MS);
	assert_int_equal(cell_int(devices, 0, "copied_b"), 4000000);
	assert_int_equal(cell_int(devices, 0, "queues"), 2);
	assert_int_equal(cell_int(devices, 0, "peak_b"), 150);
	assert_string_equal(sonde_report_cell_text(devices, 1, "device"), "CUDA G1 1");
	assert_near(cell_real(devices, 1, "busy_share"), 0.10, 1e-9);
	assert_int_equal(cell_int(devices, 1, "peak_b"), 7);
	sections_free(&s);

	s = sections_of(path, "kernels", NULL);
	const struct sonde_section *kernels = sections_get(&s, "kernels");
	assert_int_equal(kernels->table.row_count, 2);
	assert_int_equal(cell_int(kernels, 0, "calls"), 2);
	assert_int_equal(cell_int(kernels, 0, "total_ns"), 40 * MS);
	assert_int_equal(cell_int(kernels, 1, "calls"), 1);
	sections_free(&s);

	s = sections_of(path, "copies", NULL);
	const struct sonde_section *copies = sections_get(&s, "copies");
	assert_int_equal(copies->table.row_count, 1);
	assert_int_equal(cell_int(copies, 0, "copies"), 2);
	assert_int_equal(cell_int(copies, 0, "b_per_s"), 400000000);
	sections_free(&s);

	s = sections_of(path, "streams", NULL);
	const struct sonde_section *streams = sections_get(&s, "streams");
	assert_int_equal(streams->table.row_count, 3);
	for (size_t i = 0; i < 2; i++) { /* of 25 ms each, 20 … 30 both */
		assert_string_equal(sonde_report_cell_text(streams, i, "device"), "CUDA G1 0");
		assert_near(cell_real(streams, i, "overlap_share"), 0.4, 1e-9);
	}
	assert_string_equal(sonde_report_cell_text(streams, 2, "device"), "CUDA G1 1");
	assert_near(cell_real(streams, 2, "overlap_share"), 0, 1e-9);
	assert_non_null(sections_row(streams, "queue", "first"));
	assert_non_null(sections_row(streams, "queue", "second of other (101)"));
	sections_free(&s);

	s = sections_of(path, "device-gaps", NULL);
	const struct sonde_section *gaps = sections_get(&s, "device-gaps");
	assert_int_equal(gaps->table.row_count,
			 2); /* 40 … 60 and 65 … 70: what one process leaves the other may fill */
	assert_int_equal(cell_int(gaps, 0, "gap_ns"), 20 * MS);
	assert_int_equal(cell_int(gaps, 1, "gap_ns"), 5 * MS);
	sections_free(&s);

	s = sections_of(path, "device-memory", NULL);
	const struct sonde_section *memory = sections_get(&s, "device-memory");
	assert_int_equal(memory->table.row_count, 2);
	assert_int_equal(cell_int(memory, 0, "peak_b"), 150);
	assert_int_equal(cell_int(memory, 1, "peak_b"), 7);
	sections_free(&s);
}

/* Without a UUID it is unknown; drivers that run on CPUs give several devices the same one. */
static void what_is_not_known_to_be_one_device_is_not(void **state)
{
	static const struct {
		uint32_t kind;
		const char *uuid;
	} cases[] = {{SONDE_DEVICE_GPU, ""}, {SONDE_DEVICE_CPU, "cpu-a"}};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct recording r;
		fill_shared(&r, cases[i].kind, cases[i].uuid);
		struct sections s = sections_of(path, "devices", NULL);
		const struct sonde_section *devices = sections_get(&s, "devices");
		assert_int_equal(devices->table.row_count, 3);
		assert_int_equal(cell_int(devices, 0, "kernel_ns"), 20 * MS);
		assert_int_equal(cell_int(devices, 2, "kernel_ns"), 20 * MS);
		assert_string_equal(sonde_report_cell_text(devices, 0, "device"), "CUDA G1 0");
		assert_string_equal(sonde_report_cell_text(devices, 1, "device"), "CUDA G1 1 of prog (100)");
		assert_string_equal(sonde_report_cell_text(devices, 2, "device"), "CUDA G1 1 of other (101)");
		sections_free(&s);
	}
}

/* --- whose memory ------------------------------------------------------------------------------------------------ */

/* Of two devices of one process: 100 bytes of the first, 200 of the second, without a queue; 300 of an unknown device.
 */
static void allocations_without_a_queue_name_their_device(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t devices[] = {device_of(&r, 1, 0, "GPU-a", SONDE_DEVICE_GPU),
			      device_of(&r, 1, 1, "GPU-b", SONDE_DEVICE_GPU), 0};
	for (uint64_t i = 0; i < 3; i++) {
		uint32_t take = recording_operation(
		    &r, SONDE_ACTIVITY_ALLOC, "take",
		    (struct sonde_meta_operation){.to = SONDE_MEMORY_DEVICE, .to_device = devices[i]});
		recording_activity(&r, (struct recording_activity){.start_ns = START + 10 * MS,
								   .operation = take,
								   .thread = 1,
								   .size_b = 100 * (i + 1),
								   .address = 0x1000 * (i + 1)});
	}
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "device-memory", NULL);
	const struct sonde_section *memory = sections_get(&s, "device-memory");
	static const char *const names[] = {"unknown", "CUDA G1 0", "CUDA G1 1"};
	static const uint64_t peaks[] = {300, 100, 200};
	assert_int_equal(memory->table.row_count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(sonde_report_cell_text(memory, i, "device"), names[i]);
		assert_int_equal(cell_int(memory, i, "peak_b"), peaks[i]);
	}
	sections_free(&s);
}

/* How soon a narrow terminal hides the column `device` of a section. */
static int device_detail(const struct sonde_section *section)
{
	for (size_t i = 0; i < section->table.column_count; i++)
		if (!strcmp(section->table.columns[i].key, "device"))
			return section->table.columns[i].detail;
	fail_msg("%s has no column of devices", section->id);
	return 0;
}

static void rows_of_several_devices_are_told_apart(void **state)
{
	static const char sought[] = "kernels launches copies streams device-gaps";
	static const char *const ids[] = {"kernels", "launches", "copies", "streams", "device-gaps"};
	(void)state;
	for (uint32_t used = 1; used <= 2; used++) {
		struct recording r;
		simple_open(&r);
		uint32_t run = kernel(&r, "run");
		uint32_t up = copy(&r, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE, 0, 0);
		for (uint32_t i = 0; i < 2; i++) {
			uint32_t on = device_of(&r, 1, i, i ? "GPU-b" : "GPU-a", SONDE_DEVICE_GPU);
			uint32_t queue = recording_queue(&r, on, "q", i + 1);
			for (int again = 0; i < used && again < 2; again++) {
				put(&r, run, queue, -1, 10 + 0.01 * again, 0.004);
				put_sized(&r, up, queue, 20 + 0.01 * again, 0.004, 100);
			}
		}
		recording_close(&r, START + 100 * MS, 0);
		struct sections s = sections_of(path, sought, NULL);
		for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
			int detail = device_detail(sections_get(&s, ids[i]));
			if (used == 1)
				assert_true(detail > 0);
			else
				assert_int_equal(detail, 0);
		}
		/* short times are no 0.000 s */
		const struct sonde_section *kernels = sections_get(&s, "kernels");
		assert_true(sections_noted(kernels->notes, used == 1 ? "took 8 µs in all" : "took 16 µs in all"));
		sections_free(&s);
	}
}

static void what_is_in_no_queue_has_no_device(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	(void)device_of(&r, 1, 0, "GPU-a", SONDE_DEVICE_GPU);
	put(&r, kernel(&r, "run"), 0, -1, 10, 1);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "kernels launches", NULL);
	assert_absent(sections_get(&s, "kernels"), 0, "device", "not recorded in any GPU queue");
	assert_absent(sections_get(&s, "launches"), 0, "device", "not recorded in any GPU queue");
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(peers_are_a_matrix),
	    cmocka_unit_test(peers_are_cut_by_the_window),
	    cmocka_unit_test(links_are_beside_them),
	    cmocka_unit_test(links_without_copies),
	    cmocka_unit_test(without_peers_there_is_no_section),
	    cmocka_unit_test(one_device_of_two_processes_is_one),
	    cmocka_unit_test(what_is_not_known_to_be_one_device_is_not),
	    cmocka_unit_test(allocations_without_a_queue_name_their_device),
	    cmocka_unit_test(rows_of_several_devices_are_told_apart),
	    cmocka_unit_test(what_is_in_no_queue_has_no_device),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
