/* test_roofline.c: saved ceilings, loops that count their own work, and zones of known work under known ceilings. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "analyze/work/roofline.h"
#include "analyze_fixture.h"
#include "export/format.h"
#include "export/plot/roofline_svg.h"
#include "roof/kernels.h"
#include "roof/machine.h"
#include "roof/measure.h"
#include "sections.h"
#include "util/error.h"

/* One thread: 10 GFLOP/s, DRAM 10, L3 20, L2 50, L1 100 GB/s; four CPUs: 40 GFLOP/s, DRAM 20, the rest four times. */
static void roof_make(struct sonde_roof *roof)
{
	static const double one[SONDE_ROOF_LEVELS] = {100e9, 50e9, 20e9, 10e9};
	static const double all[SONDE_ROOF_LEVELS] = {400e9, 200e9, 80e9, 20e9};
	memset(roof, 0, sizeof *roof);
	snprintf(roof->fingerprint, sizeof roof->fingerprint, "0123456789abcdef");
	snprintf(roof->cpu, sizeof roof->cpu, "Processor of a test");
	snprintf(roof->machine, sizeof roof->machine, "x86_64");
	snprintf(roof->caches, sizeof roof->caches, "32K 1024K 0K");
	snprintf(roof->why[SONDE_ROOF_L3][SONDE_ROOF_ONE], sizeof roof->why[0][0], "too small");
	roof->cpus = roof->threads = 4;
	roof->memory_gib = 16;
	roof->measured_s = 1700000000;
	roof->stolen = 0.015;
	roof->datasheet_flops[SONDE_ROOF_FP64] = 50e9;
	for (int set = SONDE_ROOF_SCALAR; set <= SONDE_ROOF_SSE2; set += SONDE_ROOF_SSE2)
		for (int precision = 0; precision < SONDE_ROOF_PRECISIONS; precision++) {
			double peak = (set ? 10e9 : 5e9) * (precision + 1);
			roof->flops[set][precision][SONDE_ROOF_ONE] =
			    (struct sonde_roof_figure){peak, peak * 0.9, 1e9, 10};
			roof->flops[set][precision][SONDE_ROOF_ALL] =
			    (struct sonde_roof_figure){4 * peak, 3 * peak, 1e9, 10};
		}
	for (int level = 0; level < SONDE_ROOF_LEVELS; level++) {
		roof->set_b[level][SONDE_ROOF_ONE] = 4096;
		roof->bytes[level][SONDE_ROOF_READ][SONDE_ROOF_ONE] =
		    (struct sonde_roof_figure){one[level], one[level], 1e9, 10};
		roof->bytes[level][SONDE_ROOF_READ][SONDE_ROOF_ALL] =
		    (struct sonde_roof_figure){all[level], all[level], 1e9, 10};
		roof->bytes[level][SONDE_ROOF_TRIAD][SONDE_ROOF_ONE] = (struct sonde_roof_figure){2e9, 2e9, 1e9, 10};
	}
}

/* --- as they are kept --------------------------------------------------------------------------------------------- */

struct keys {
	char key[128][64], value[128][256];
	size_t count;
};

static void put(void *context, const char *key, const char *value)
{
	struct keys *keys = context;
	assert_true(keys->count < 128);
	snprintf(keys->key[keys->count], sizeof keys->key[0], "%s", key);
	snprintf(keys->value[keys->count++], sizeof keys->value[0], "%s", value);
}

static char *find(struct keys *keys, const char *key)
{
	for (size_t i = 0; i < keys->count; i++)
		if (!strcmp(keys->key[i], key))
			return keys->value[i];
	return NULL;
}

static const char *get(void *context, const char *key)
{
	return find(context, key);
}

static void keys_hold_everything(void **state)
{
	(void)state;
	static struct keys keys, again;
	struct sonde_roof roof, read;
	roof_make(&roof);
	sonde_roof_to_keys(&roof, put, &keys);
	assert_string_equal(get(&keys, "roof.flops.sse2.fp64.one"), "1e+10 9e+09 1e+09 10");
	assert_null(get(&keys, "roof.flops.avx512-fma.fp64.one"));
	assert_int_equal(sonde_roof_from_keys(&read, get, &keys), 0);
	sonde_roof_to_keys(&read, put, &again);
	assert_int_equal(again.count, keys.count);
	for (size_t i = 0; i < keys.count; i++)
		assert_string_equal(find(&again, keys.key[i]), keys.value[i]);
	assert_near(sonde_roof_peak(&read, SONDE_ROOF_FP32, SONDE_ROOF_ALL)->best, 80e9, 0);
	assert_near(sonde_roof_bandwidth(&read, SONDE_ROOF_DRAM, SONDE_ROOF_ONE)->best, 10e9, 0);
	assert_int_equal(read.flops[SONDE_ROOF_AVX512_FMA][0][0].runs, 0);
}

static void damaged_keys_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[][2] = {
	    {"roof.flops.sse2.fp64.one", "1e10 2e10 1e9 10"}, /* a median above the best */
	    {"roof.flops.sse2.fp64.one", "nan 1 1 10"},
	    {"roof.flops.sse2.fp64.one", "1e10 9e9 1e9"},
	    {"roof.flops.sse2.fp64.one", "2 1 0 10"},
	    {"roof.flops.sse2.fp64.one", "2 1 1 10 x"},
	    {"roof.cpus", "-4"},
	    {"roof.stolen", "inf"},
	    {"roof.version", "99"},
	    {"roof.fingerprint", "0123456789abcdef0123456789abcdef"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		static struct keys keys;
		struct sonde_roof roof, read = {.cpus = 77};
		keys.count = 0;
		roof_make(&roof);
		sonde_roof_to_keys(&roof, put, &keys);
		strcpy(find(&keys, wrong[i][0]), wrong[i][1]);
		assert_int_equal(sonde_roof_from_keys(&read, get, &keys), -EBADMSG);
		assert_int_equal(read.cpus, 77);
	}
	struct keys none = {.count = 0};
	struct sonde_roof read;
	assert_int_equal(sonde_roof_from_keys(&read, get, &none), -ENOENT);
}

static char root[64];

static int root_make(void **state)
{
	(void)state;
	snprintf(root, sizeof root, "/tmp/sonde-test-roof-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

static void put_file(const char *where, const char *text)
{
	char command[512];
	snprintf(command, sizeof command, "mkdir -p \"$(dirname %s%s)\"", root, where);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof command, "%s%s", root, where);
	FILE *file = fopen(command, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void a_machine_is_read(void **state)
{
	(void)state;
	struct sonde_roof roof = {0}, other = {0};
	struct sonde_roof_caches caches;
	put_file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2GHz\nflags : x\n");
	put_file("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n");
	put_file("/sys/devices/system/cpu/online", "0-3,8-9\n");
	static const char *const index[][4] = {{"1", "Data", "48K", "0-1"},
					       {"1", "Instruction", "32K", "0-1"},
					       {"2", "Unified", "2048K", "0-1"},
					       {"3", "Unified", "30M", "0-9"}};
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"level", "type", "size", "shared_cpu_list"};
		for (int k = 0; k < 4; k++) {
			char where[128];
			snprintf(where, sizeof where, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, names[k]);
			put_file(where, index[i][k]);
		}
	}
	sonde_roof_machine(&roof, root);
	assert_string_equal(roof.cpu, "Some CPU @ 2GHz");
	assert_string_equal(roof.caches, "48K 2048K 30720K");
	assert_int_equal(roof.cpus, 6);
	assert_int_equal(roof.memory_gib, 16);
	assert_int_equal(strlen(roof.fingerprint), 16);
	sonde_roof_caches(&caches, root, 0);
	assert_string_equal(caches.shared[SONDE_ROOF_L3], "0-9");
	assert_true(sonde_roof_list_has(caches.shared[SONDE_ROOF_L1], 1));
	assert_false(sonde_roof_list_has(caches.shared[SONDE_ROOF_L1], 2));
	assert_true(sonde_roof_list_has("0,4-6", 5));
	assert_false(sonde_roof_list_has("", 0));
	assert_int_equal(sonde_roof_memory(root), 8000000ull << 10);
	put_file("/sys/fs/cgroup/memory.max", "1073741824\n");
	put_file("/sys/fs/cgroup/memory.current", "73741824\n");
	assert_int_equal(sonde_roof_memory(root), 1000000000);
	put_file("/proc/meminfo", "MemTotal:       32000000 kB\n");
	sonde_roof_machine(&other, root);
	assert_string_not_equal(other.fingerprint, roof.fingerprint);
}

static void the_least_that_a_cgroup_leaves_is_free(void **state)
{
	(void)state;
	assert_int_equal(sonde_roof_memory(root), 0); /* not known */
	put_file("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n");
	put_file("/proc/self/cgroup", "9:name=systemd:/x\n4:hugetlb,memory:/job/step\n0::/a/b\n");
	assert_int_equal(sonde_roof_memory(root), 8000000ull << 10); /* no such folders */
	put_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put_file("/sys/fs/cgroup/a/b/memory.high", "max\n");
	put_file("/sys/fs/cgroup/a/b/memory.current", "100000\n");
	assert_int_equal(sonde_roof_memory(root), 8000000ull << 10);
	put_file("/sys/fs/cgroup/a/memory.max", "6000000000\n");
	put_file("/sys/fs/cgroup/a/memory.current", "1000000000\n");
	assert_int_equal(sonde_roof_memory(root), 5000000000);
	put_file("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 600000000\n"); /* returned on request */
	assert_int_equal(sonde_roof_memory(root), 5600000000);
	put_file("/sys/fs/cgroup/a/b/memory.high", "4000100000\n");
	assert_int_equal(sonde_roof_memory(root), 4000000000);
	/* Version 1. */
	put_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put_file("/sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(sonde_roof_memory(root), 4000000000);
	put_file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000000000\n");
	put_file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2000000000\n");
	put_file("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 9\ntotal_inactive_file 500000000\n");
	assert_int_equal(sonde_roof_memory(root), 1500000000);
	put_file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4000000000\n");
	assert_int_equal(sonde_roof_memory(root), 1); /* nothing left is not "not known" */
}

/* The one file of the cache. */
static void edit_cache(const char *sed)
{
	char command[256];
	snprintf(command, sizeof command, "sed -i '%s' %s/sonde/*.roof", sed, root);
	assert_int_equal(system(command), 0);
}

static void the_cache_is_of_this_machine(void **state)
{
	(void)state;
	struct sonde_roof roof, read = {.cpus = 77};
	setenv("XDG_CACHE_HOME", root, 1);
	assert_int_equal(sonde_roof_load(&read), -ENOENT);
	assert_non_null(strstr(sonde_error_text(), "sonde roofline --measure"));
	roof_make(&roof);
	sonde_roof_machine(&roof, "");
	assert_int_equal(sonde_roof_store(&roof), 0);
	assert_int_equal(sonde_roof_load(&read), 0);
	assert_string_equal(read.fingerprint, roof.fingerprint);
	assert_near(read.flops[SONDE_ROOF_SSE2][SONDE_ROOF_FP64][SONDE_ROOF_ALL].median, 30e9, 0);
	edit_cache("s/^roof.fingerprint .*/roof.fingerprint 0000000000000000/");
	assert_int_equal(sonde_roof_load(&read), -EBADMSG);
	assert_non_null(strstr(sonde_error_text(), "another"));
	assert_int_equal(sonde_roof_store(&roof), 0);
	edit_cache("s/^roof.flops.sse2.fp64.one .*/roof.flops.sse2.fp64.one 1e99/");
	assert_int_equal(sonde_roof_load(&read), -EBADMSG);
	edit_cache("1s/.*/something else/");
	assert_int_equal(sonde_roof_load(&read), -EBADMSG);
	assert_int_equal(sonde_roof_store(&roof), 0); /* replaced */
	assert_int_equal(sonde_roof_load(&read), 0);
}

static void a_datasheet_is_what_it_says(void **state)
{
	(void)state;
	struct sonde_roof roof = {0};
	char file[128];
	put_file("/sheet", "# of the maker\nfp64 1.2T\n\ndram 140G # one socket\n");
	snprintf(file, sizeof file, "%s/sheet", root);
	assert_int_equal(sonde_roof_datasheet(&roof, file), 0);
	assert_near(roof.datasheet_flops[SONDE_ROOF_FP64], 1.2e12, 1);
	assert_near(roof.datasheet_bytes, 140e9, 1);
	assert_near(roof.datasheet_flops[SONDE_ROOF_FP32], 0, 0);
	static const char *const wrong[] = {"fp64\n",    "fp64 -1\n",    "fp64 1X\n",
					    "fp16 1T\n", "fp64 1T 2T\n", "fp64 0\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		put_file("/sheet", wrong[i]);
		assert_int_equal(sonde_roof_datasheet(&roof, file), -EINVAL);
		assert_non_null(strstr(sonde_error_text(), "sheet:1"));
	}
	assert_near(roof.datasheet_flops[SONDE_ROOF_FP64], 1.2e12, 1);
	assert_int_equal(sonde_roof_datasheet(&roof, "/no/such/file"), -ENOENT);
}

/* --- loops -------------------------------------------------------------------------------------------------------- */

static void loops_count_themselves(void **state)
{
	(void)state;
	static const uint64_t iterations[] = {1, 1000, 16384, SONDE_ROOF_ITERATIONS_MAX};
	unsigned ran = 0;
	for (const struct sonde_roof_flops_kernel *kernel = sonde_roof_flops_kernels; kernel->run; kernel++)
		for (size_t i = 0; i < 4 && kernel->can_run(); i++, ran++)
			assert_near(kernel->run(iterations[i]), (double)iterations[i] * kernel->lanes, 0);
	assert_true(ran >= 4 * 4);
}

static void streams_move_what_they_say(void **state)
{
	(void)state;
	enum { SIZE_B = 2 * SONDE_ROOF_STEP_B, COUNT = SIZE_B / sizeof(double) };
	static double a[COUNT + 64] __attribute__((aligned(64))), b[COUNT] __attribute__((aligned(64))),
	    c[COUNT] __attribute__((aligned(64)));
	const struct sonde_roof_arrays arrays = {a, b, c};
	unsigned ran = 0;
	for (const struct sonde_roof_bytes_kernel *kernel = sonde_roof_bytes_kernels; kernel->run; kernel++) {
		if (!kernel->can_run())
			continue;
		for (size_t i = 0; i < COUNT; i++) {
			a[i] = -1;
			b[i] = (double)i;
			c[i] = (double)(2 * i + 1);
		}
		a[COUNT] = -2;
		kernel->run(&arrays, SIZE_B, 3);
		for (size_t i = 0; i < COUNT; i++)
			assert_near(a[i],
				    kernel->access == SONDE_ROOF_READ   ? -1
				    : kernel->access == SONDE_ROOF_COPY ? b[i]
									: b[i] + 3 * c[i],
				    0);
		assert_near(a[COUNT], -2, 0);
		assert_int_equal(kernel->arrays, kernel->access + 1);
		ran++;
	}
	assert_true(ran >= SONDE_ROOF_ACCESSES);
}

static double read_of(const struct sonde_roof *roof, enum sonde_roof_level level)
{
	const struct sonde_roof_figure *figure = &roof->bytes[level][SONDE_ROOF_READ][SONDE_ROOF_ONE];
	return figure->runs ? figure->best : 0;
}

/* Other load may slow down either measurement: repeat until the machine was quiet. */
static void levels_are_in_order(void **state)
{
	(void)state;
	const struct sonde_roof_options options = {.runs = 5, .run_ns = 3000000};
	struct sonde_roof roof = {0};
	int is_ordered = 0;
	for (int i = 0; i < 8 && !is_ordered; i++) {
		assert_int_equal(sonde_roof_measure(&roof, &options), 0);
		is_ordered = read_of(&roof, SONDE_ROOF_L1) * 1.1 >= read_of(&roof, SONDE_ROOF_L2) &&
			     read_of(&roof, SONDE_ROOF_L2) * 1.1 >= read_of(&roof, SONDE_ROOF_L3) &&
			     read_of(&roof, SONDE_ROOF_L2) * 1.1 >= read_of(&roof, SONDE_ROOF_DRAM) &&
			     sonde_roof_peak(&roof, SONDE_ROOF_FP64, SONDE_ROOF_ONE)->best * 1.1 >=
				 roof.flops[SONDE_ROOF_SCALAR][SONDE_ROOF_FP64][SONDE_ROOF_ONE].best;
	}
	assert_true(is_ordered);
	/* Figures that are absent, or of another unit, are in order, too: any machine of this century is above these.
	 */
	assert_true(read_of(&roof, SONDE_ROOF_DRAM) > 100e6);
	assert_true(sonde_roof_peak(&roof, SONDE_ROOF_FP64, SONDE_ROOF_ONE)->best > 50e6);
	assert_true(read_of(&roof, SONDE_ROOF_L1) > 100e6 || *roof.why[SONDE_ROOF_L1][SONDE_ROOF_ONE]);
	assert_true(roof.threads >= 1);
	for (int of = 0; of < SONDE_ROOF_THREADS; of++) {
		assert_int_equal(roof.flops[SONDE_ROOF_SCALAR][SONDE_ROOF_FP32][of].runs, 5);
		for (int level = 0; level < SONDE_ROOF_LEVELS; level++) /* measured, or the reason why not */
			assert_true(roof.bytes[level][SONDE_ROOF_TRIAD][of].runs == 5 || *roof.why[level][of]);
	}
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static struct sonde_roofline_place place_of(double flop, double bytes, uint64_t wall_ns, uint64_t thread_ns)
{
	struct sonde_roof roof;
	const struct sonde_roofline_work work = {
	    .flop = flop, .bytes = bytes, .wall_ns = wall_ns, .thread_ns = thread_ns};
	roof_make(&roof);
	return sonde_roofline_place(&roof, &work);
}

static void places_are_under_the_next_ceiling(void **state)
{
	(void)state;
	const uint64_t second = 1000000000;
	/* 0.1 FLOP a byte: DRAM allows 1 GFLOP/s. */
	struct sonde_roofline_place place = place_of(0.8e9, 8e9, second, second);
	assert_int_equal(place.bound, SONDE_ROOFLINE_MEMORY);
	assert_int_equal(place.level, SONDE_ROOF_DRAM);
	assert_near(place.intensity, 0.1, 1e-9);
	assert_near(place.roof, 1e9, 1);
	assert_near(place.share, 0.8, 1e-9);
	assert_near(place.machine_share, 0.4, 1e-9); /* all CPUs: 2 GFLOP/s */
	assert_near(place.dram_share, 0.8, 1e-9);
	/* Faster than DRAM could: from L3. */
	place = place_of(1.6e9, 16e9, second, second);
	assert_int_equal(place.level, SONDE_ROOF_L3);
	assert_near(place.share, 0.8, 1e-9);
	/* Many FLOP a byte. */
	place = place_of(5e9, 1e6, second, second);
	assert_int_equal(place.bound, SONDE_ROOFLINE_COMPUTE);
	assert_near(place.share, 0.5, 1e-9);
	assert_near(place.machine_share, 0.125, 1e-9);
	/* Two threads all the time: twice one thread's ceiling; for DRAM at most that of all threads. */
	place = place_of(10e9, 100e9, 10 * second, 20 * second);
	assert_near(place.threads, 2, 1e-9);
	assert_near(place.roof, 2e9, 1);
	place = place_of(10e9, 100e9, 10 * second, 30 * second);
	assert_near(place.roof, 2e9, 1);
	/* Faster than one thread: a library's own threads. */
	place = place_of(30e9, 1e6, second, second);
	assert_near(place.threads, 4, 0);
	assert_near(place.roof, 40e9, 1);
	assert_int_equal(place.precision, SONDE_ROOF_FP64);
	/* Faster than FP64 can be. */
	place = place_of(70e9, 1e6, second, second);
	assert_int_equal(place.precision, SONDE_ROOF_FP32);
	assert_near(place.roof, 80e9, 1);
	/* Faster than anything. */
	place = place_of(500e9, 1e6, second, second);
	assert_int_equal(place.bound, SONDE_ROOFLINE_ABOVE);
}

static void unknown_stays_unknown(void **state)
{
	(void)state;
	struct sonde_roofline_place place = place_of(5e9, 0, 1000000000, 1000000000);
	assert_true(place.intensity < 0);
	assert_int_equal(place.bound, SONDE_ROOFLINE_UNKNOWN);
	assert_near(place.share, 0.5, 1e-9); /* of what compute allows */
	place = place_of(0, 5e9, 1000000000, 1000000000);
	assert_true(place.intensity < 0 && place.flops < 0 && place.roof < 0 && place.share < 0);
	assert_near(place.dram_share, 0.5, 1e-9);
	place = place_of(5e9, 5e9, 0, 0);
	assert_true(place.flops < 0 && place.intensity < 0);
	const struct sonde_roof none = {0};
	const struct sonde_roofline_work work = {.flop = 1e9, .bytes = 1e9, .wall_ns = 1000, .thread_ns = 1000};
	place = sonde_roofline_place(&none, &work);
	assert_true(place.roof < 0 && place.share < 0 && place.intensity > 0);
}

/* --- a recording -------------------------------------------------------------------------------------------------- */

static void put_info(void *context, const char *key, const char *value)
{
	recording_info(context, key, value);
}

static void call(struct recording *recording, uint32_t thread, uint32_t site, uint64_t from_ms, uint64_t to_ms,
		 double flop, double bytes)
{
	recording_begin(recording, thread, site, START + from_ms * MS);
	if (flop > 0 || bytes > 0)
		recording_work(recording, thread, START + (from_ms + to_ms) / 2 * MS, flop, bytes, 0);
	recording_end(recording, thread, START + to_ms * MS);
}

static void recording_make(int has_roof)
{
	struct recording r;
	struct sonde_roof roof;
	simple_open(&r);
	recording_thread(&r, 1, 101, "second", START);
	roof_make(&roof);
	if (has_roof)
		sonde_roof_to_keys(&roof, put_info, &r);
	else
		recording_info(&r, "host.cpu", "A processor of somewhere else");
	recording_info(&r, "env.OMP_NUM_THREADS", "2");
	uint32_t stream = recording_site(&r, SONDE_SITE_ZONE, "stream", NULL);
	uint32_t outer = recording_site(&r, SONDE_SITE_ZONE, "outer <&>", NULL);
	uint32_t dgemm = recording_site(&r, SONDE_SITE_ZONE, "sgemm", "blas");
	uint32_t half = recording_site(&r, SONDE_SITE_ZONE, "half", NULL);
	r.chunk_rows = 3;
	/* stream: two threads, 0 … 100 and 50 … 150 ms, and a call without data. */
	call(&r, 1, stream, 0, 100, 80e6, 800e6);
	call(&r, 2, stream, 50, 150, 40e6, 400e6);
	call(&r, 1, stream, 150, 180, 0, 0);
	/* outer 200 … 400 with 100 ms of sgemm inside: only its own work counts as its work. */
	recording_begin(&r, 1, outer, START + 200 * MS);
	call(&r, 1, dgemm, 250, 350, 500e6, 1e6);
	recording_work(&r, 1, START + 360 * MS, 1e6, 1e5, 0);
	recording_end(&r, 1, START + 400 * MS);
	call(&r, 1, half, 400, 500, 2e6, 0);
	recording_work(&r, 1, START + 600 * MS, 1, 1, 1);
	recording_close(&r, START + 1000 * MS, 0);
}

static void zones_are_placed(void **state)
{
	(void)state;
	const struct sonde_pass_options options = {.requested = 1};
	recording_make(1);
	struct sections s = sections_of(path, "roofline", &options);
	const struct sonde_section *t = sections_get(&s, "roofline");
	assert_int_equal(t->table.row_count, 4);
	/* 120 MFLOP in 150 ms with 200 ms of threads. */
	assert_near(sections_real(t, "zone", "stream", "gflop_per_s"), 0.8, 1e-9);
	assert_near(sections_real(t, "zone", "stream", "threads"), 4.0 / 3, 1e-9);
	assert_near(sections_real(t, "zone", "stream", "roof_gflop_per_s"), 4.0 / 3, 1e-9);
	assert_near(sections_real(t, "zone", "stream", "roof_share"), 0.6, 1e-9);
	assert_int_equal(sections_int(t, "zone", "stream", "calls"), 2);
	assert_string_equal(sections_cell(t, sections_row(t, "zone", "stream"), "bound")->text, "DRAM");
	assert_near(sections_real(t, "zone", "outer <&>", "flop"), 1e6, 0);
	assert_near(sections_real(t, "zone", "outer <&>", "flop_per_byte"), 10, 1e-9);
	const struct sonde_cell *gemm = sections_row(t, "zone", "sgemm");
	assert_string_equal(sections_cell(t, gemm, "bytes_are")->text, "model");
	assert_string_equal(sections_cell(t, gemm, "precision")->text, "FP32");
	assert_string_equal(sections_cell(t, gemm, "bound")->text, "compute, at best");
	assert_near(sections_real(t, "zone", "sgemm", "roof_share"), 0.125, 1e-9); /* 5 of 40 GFLOP/s: two threads */
	const struct sonde_cell *half = sections_row(t, "zone", "half");
	assert_int_equal(sections_cell(t, half, "flop_per_byte")->kind, SONDE_CELL_ABSENT);
	assert_string_equal(sections_cell(t, half, "flop_per_byte")->text, "no bytes were reported");
	assert_true(sections_noted(t->notes, "work was reported during 45.0 % of 1.000 s")); /* 0 … 150, 200 … 500 */
	assert_true(sections_noted(t->notes, "1 call of these zones reported nothing"));
	assert_true(sections_noted(t->notes, "1 report of work came from outside"));
	assert_true(sections_noted(t->notes, "the bytes of 1 zone are modelled"));
	assert_true(sections_noted(t->notes, "LowThroughput: half does 0.02 GFLOP/s"));
	assert_true(sections_noted(t->notes, "LowThroughput: outer"));
	assert_false(sections_noted(t->notes, "LowThroughput: stream")); /* near its roof */
	const struct sonde_section *roofs = sections_get(&s, "roofs");
	assert_near(sections_real(roofs, "ceiling", "SSE2", "datasheet"), 50, 1e-9);
	assert_true(sections_noted(roofs->notes, "the hypervisor stole 1.5 %"));
	sections_free(&s);
}

static void a_range_leaves_out_calls(void **state)
{
	(void)state;
	const struct sonde_pass_options options = {
	    .requested = 1, .selection.from_ns = START + 200 * MS, .selection.to_ns = START + 300 * MS};
	recording_make(1);
	struct sections s = sections_of(path, "roofline", &options);
	const struct sonde_section *t = sections_get(&s, "roofline");
	assert_int_equal(t->table.row_count, 2);
	assert_non_null(sections_row(t, "zone", "sgemm"));
	assert_null(sections_row(t, "zone", "stream"));
	sections_free(&s);
}

static void without_ceilings_there_are_no_shares(void **state)
{
	(void)state;
	const struct sonde_pass_options options = {.requested = 1};
	setenv("XDG_CACHE_HOME", "/nowhere", 1);
	recording_make(0);
	struct sections s = sections_of(path, "roofline", &options);
	const struct sonde_section *t = sections_get(&s, "roofline");
	assert_near(sections_real(t, "zone", "stream", "gflop_per_s"), 0.8, 1e-9);
	assert_int_equal(sections_cell(t, sections_row(t, "zone", "stream"), "roof_share")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(t->notes, "no roof: "));
	assert_null(sections_find(&s, "roofs"));
	/* This machine's ceilings do not apply to a recording of another machine. */
	struct sonde_roof roof;
	int from_cache;
	root_make(NULL);
	setenv("XDG_CACHE_HOME", root, 1);
	roof_make(&roof);
	sonde_roof_machine(&roof, "");
	assert_int_equal(sonde_roof_store(&roof), 0);
	assert_int_equal(sonde_roofline_roof(&roof, &from_cache, s.session), -ENOENT);
	assert_non_null(strstr(sonde_error_text(), "another machine"));
	root_remove(NULL);
	sections_free(&s);
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */

static char *rendered(const struct sonde_format *format, const struct sonde_report *report, int expected)
{
	static const struct sonde_format_options plain = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(format->render(report, &plain, out), expected);
	assert_int_equal(fclose(out), 0);
	return text;
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned count = 0;
	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

static void pictures_show_points_and_ceilings(void **state)
{
	(void)state;
	const struct sonde_pass_options options = {.requested = 1};
	recording_make(1);
	struct sections s = sections_of(path, "roofline", &options);
	char *svg = rendered(&sonde_format_roofline_svg, s.report, 0),
	     *html = rendered(&sonde_format_roofline_html, s.report, 0);
	assert_int_equal(count_of(svg, "<circle"), 3); /* "half" has no intensity */
	assert_int_equal(count_of(svg, "class=\"arrow\""), 1);
	assert_int_equal(count_of(svg, "class=\"mem "), 5); /* L1 … DRAM, and one thread's DRAM */
	assert_int_equal(count_of(svg, "cpu maker"), 1);
	assert_non_null(strstr(svg, "outer &lt;&amp;&gt;"));
	assert_null(strstr(svg, "outer <"));
	assert_null(strstr(svg, "half"));
	assert_non_null(strstr(svg, "at most 500 FLOP/byte"));
	assert_null(strstr(svg, "nan"));
	assert_non_null(strstr(svg, "prefers-color-scheme: dark"));
	assert_non_null(strstr(html, "<circle"));
	assert_non_null(strstr(html, "no bytes were reported"));
	assert_null(strstr(html, "src="));
	free(svg);
	free(html);
	sections_free(&s);
	struct sonde_report *empty;
	assert_int_equal(sonde_report_new(&empty), 0);
	free(rendered(&sonde_format_roofline_svg, empty, -ENODATA));
	sonde_report_free(empty);
}

/* 1 FLOP to next to no bytes: an axis up to there would have no end. */
static void points_beyond_all_axes_are_left_out(void **state)
{
	(void)state;
	const struct sonde_pass_options options = {.requested = 1};
	struct recording r;
	struct sonde_roof roof;
	simple_open(&r);
	roof_make(&roof);
	sonde_roof_to_keys(&roof, put_info, &r);
	call(&r, 1, recording_site(&r, SONDE_SITE_ZONE, "endless", NULL), 0, 100, 1e300, 1e-20);
	call(&r, 1, recording_site(&r, SONDE_SITE_ZONE, "far", NULL), 100, 200, 1e9, 1e-40);
	call(&r, 1, recording_site(&r, SONDE_SITE_ZONE, "near", NULL), 200, 300, 80e6, 800e6);
	call(&r, 1, recording_site(&r, SONDE_SITE_ZONE, "tiny", NULL), 300, 400, 1e3, 1e4);
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "roofline", &options);
	char *svg = rendered(&sonde_format_roofline_svg, s.report, 0);
	assert_int_equal(count_of(svg, "<circle"), 2);
	assert_non_null(strstr(svg, "2 zones are not in the picture"));
	assert_int_equal(count_of(svg, "arrow low"), 1); /* and stretches no axis */
	assert_non_null(strstr(svg, "1 with an arrow down"));
	assert_null(strstr(svg, "inf"));
	assert_true(count_of(svg, "class=\"grid\"") < 16);
	free(svg);
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keys_hold_everything),
	    cmocka_unit_test(damaged_keys_are_refused),
	    cmocka_unit_test_setup_teardown(a_machine_is_read, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(the_least_that_a_cgroup_leaves_is_free, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(the_cache_is_of_this_machine, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(a_datasheet_is_what_it_says, root_make, root_remove),
	    cmocka_unit_test(loops_count_themselves),
	    cmocka_unit_test(streams_move_what_they_say),
	    cmocka_unit_test(levels_are_in_order),
	    cmocka_unit_test(places_are_under_the_next_ceiling),
	    cmocka_unit_test(unknown_stays_unknown),
	    cmocka_unit_test(zones_are_placed),
	    cmocka_unit_test(a_range_leaves_out_calls),
	    cmocka_unit_test(without_ceilings_there_are_no_shares),
	    cmocka_unit_test(pictures_show_points_and_ceilings),
	    cmocka_unit_test(points_beyond_all_axes_are_left_out),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
