/* test_energy.c: energy counters found in captured trees of /sys, counters that wrap, and the processors of the
 * model. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "source/resource/energy_model.h"
#include "source/resource/energy_perf.h"
#include "source/resource/energy_rapl.h"

#define S 1000000000ull

static char root[64];

/* Writes a file under the root, its folders included. */
static void put(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof full, "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(full, 0755);
		*at = '/';
	}
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void put_zone(const char *zone, const char *name, const char *range, const char *uj)
{
	char path[256];
	snprintf(path, sizeof path, "/sys/class/powercap/%s/name", zone);
	put(path, name);
	snprintf(path, sizeof path, "/sys/class/powercap/%s/max_energy_range_uj", zone);
	put(path, range);
	snprintf(path, sizeof path, "/sys/class/powercap/%s/energy_uj", zone);
	put(path, uj);
}

static int begin(void **state)
{
	(void)state;
	snprintf(root, sizeof root, "/tmp/sonde-energy-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	return system(command);
}

/* A server with two sockets, as its folder lists it: psys over all, core and dram in each. */
static void put_two_packages(void)
{
	put_zone("intel-rapl:0", "package-0\n", "262143328850\n", "1000000\n");
	put_zone("intel-rapl:0:0", "core\n", "262143328850\n", "600000\n");
	put_zone("intel-rapl:0:1", "dram\n", "65712999613\n", "50000\n");
	put_zone("intel-rapl:1", "package-1\n", "262143328850\n", "2000000\n");
	put_zone("intel-rapl:1:0", "dram\n", "65712999613\n", "70000\n");
	put_zone("intel-rapl:2", "psys\n", "262143328850\n", "9000000\n");
	put_zone("intel-rapl-mmio:0", "package-0\n", "262143328850\n", "1000123\n");
	put("/sys/class/powercap/intel-rapl/enabled", "1\n");
}

static struct sonde_rapl_domain *domain_of(struct sonde_rapl *rapl, const char *name)
{
	for (size_t i = 0; i < rapl->count; i++)
		if (!strcmp(rapl->domains[i].name, name))
			return &rapl->domains[i];
	fail_msg("no domain %s", name);
	return NULL;
}

static void packages_count_once(void **state)
{
	struct sonde_rapl rapl;
	char why[512] = "";
	(void)state;
	put_two_packages();
	assert_int_equal(sonde_rapl_open(&rapl, root, why, sizeof why), 0);
	assert_int_equal(rapl.count, 4); /* not core, not psys, not the second way to package-0 */
	assert_true(domain_of(&rapl, "package-0")->is_package);
	assert_string_equal(domain_of(&rapl, "package-0")->zone, "intel-rapl:0");
	assert_true(domain_of(&rapl, "package-1")->is_package);
	assert_false(domain_of(&rapl, "dram-0")->is_package);
	assert_string_equal(domain_of(&rapl, "dram-1")->zone, "intel-rapl:1:0");
	/* the memory's counter goes round first: 65.7 kJ at 1000 W are 65.7 s, of which a quarter */
	assert_int_equal(sonde_rapl_every_ns(&rapl) / 1000000, 65712999 / 4 / 1000);
	sonde_rapl_close(&rapl);
}

static void a_package_shown_by_the_second_interface_alone_counts(void **state)
{
	struct sonde_rapl rapl;
	char why[512] = "";
	(void)state;
	put_zone("intel-rapl-mmio:0", "package-0\n", "262143328850\n", "5\n");
	assert_int_equal(sonde_rapl_open(&rapl, root, why, sizeof why), 0);
	assert_int_equal(rapl.count, 1);
	sonde_rapl_close(&rapl);
}

static void no_counters_say_so(void **state)
{
	struct sonde_rapl rapl;
	char why[512] = "";
	(void)state;
	assert_int_equal(sonde_rapl_open(&rapl, root, why, sizeof why), -ENOENT);
	assert_non_null(strstr(why, "/sys/class/powercap"));
	put_zone("intel-rapl:0", "psys\n", "262143328850\n", "5\n"); /* no package */
	assert_int_equal(sonde_rapl_open(&rapl, root, why, sizeof why), -ENOENT);
	put_zone("intel-rapl:1", "package-0\n", "garbage\n", "5\n");
	assert_int_equal(sonde_rapl_open(&rapl, root, why, sizeof why), -ENOENT);
}

static void forbidden_counters_say_what_helps(void **state)
{
	struct sonde_rapl rapl;
	char why[512] = "", path[256];
	(void)state;
	put_two_packages();
	/* one of two: the other alone would be taken for all */
	snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:1/energy_uj", root);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(chmod(root, 0755), 0);
	int is_root = geteuid() == 0;
	if (is_root)
		assert_int_equal(seteuid(65534), 0);
	int rc = sonde_rapl_open(&rapl, root, why, sizeof why);
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(rc, -EACCES);
	assert_non_null(strstr(why, "/sys/class/powercap/intel-rapl:1/energy_uj"));
	assert_non_null(strstr(why, "chmod g+r"));
	assert_null(strstr(why, root));
	assert_null(strstr(why, "as root"));
}

static void a_counter_that_goes_round_once_is_counted(void **state)
{
	struct sonde_rapl_domain domain = {.range_uj = 65532610987ull};
	(void)state;
	assert_int_equal(sonde_rapl_count(&domain, 65532000000ull, 1 * S), SONDE_RAPL_COUNTED);
	assert_int_equal(domain.total_uj, 0);
	assert_int_equal(sonde_rapl_count(&domain, 65532500000ull, 2 * S), SONDE_RAPL_COUNTED);
	assert_int_equal(domain.total_uj, 500000);
	assert_int_equal(sonde_rapl_count(&domain, 389013, 3 * S), SONDE_RAPL_COUNTED);
	assert_int_equal(domain.total_uj, 500000 + 110987 + 389013);
	assert_int_equal(sonde_rapl_count(&domain, 389013, 4 * S), SONDE_RAPL_COUNTED);
	assert_int_equal(domain.total_uj, 1000000);
}

/* 65.5 kJ at 1000 W: after 65.5 s the number of wraps is unknown. */
static void a_counter_that_may_have_gone_round_twice_is_lost(void **state)
{
	struct sonde_rapl_domain domain = {.range_uj = 65532610987ull};
	(void)state;
	assert_int_equal(sonde_rapl_count(&domain, 1000, 1 * S), SONDE_RAPL_COUNTED);
	assert_int_equal(sonde_rapl_count(&domain, 7001000, 66 * S), SONDE_RAPL_COUNTED);
	assert_int_equal(domain.total_uj, 7000000);
	assert_int_equal(sonde_rapl_count(&domain, 9001000, 132 * S), SONDE_RAPL_LOST);
	assert_int_equal(domain.total_uj, 0);
	assert_int_equal(sonde_rapl_count(&domain, 9002000, 133 * S), SONDE_RAPL_COUNTED);
	assert_int_equal(domain.total_uj, 1000);
}

static void a_domain_that_vanishes_is_gone(void **state)
{
	struct sonde_rapl rapl;
	char why[512] = "";
	(void)state;
	put_two_packages();
	assert_int_equal(sonde_rapl_open(&rapl, root, why, sizeof why), 0);
	struct sonde_rapl_domain *domain = domain_of(&rapl, "package-1");
	assert_int_equal(sonde_rapl_read(domain, 1 * S), SONDE_RAPL_COUNTED);
	put_zone("intel-rapl:1", "package-1\n", "262143328850\n", "2000500\n");
	assert_int_equal(sonde_rapl_read(domain, 2 * S), SONDE_RAPL_COUNTED);
	assert_int_equal(domain->total_uj, 500);
	put_zone("intel-rapl:1", "package-1\n", "262143328850\n", "");
	assert_int_equal(sonde_rapl_read(domain, 3 * S), SONDE_RAPL_GONE);
	assert_int_equal(sonde_rapl_read(domain, 4 * S), SONDE_RAPL_GONE);
	assert_int_equal(domain->fd, -1);
	assert_int_equal(sonde_rapl_read(domain_of(&rapl, "package-0"), 4 * S), SONDE_RAPL_COUNTED);
	sonde_rapl_close(&rapl);
}

static void energy_events_are_understood(void **state)
{
	struct sonde_energy_perf_shape shape;
	struct sonde_energy_perf perf;
	char why[512] = "";
	(void)state;
	assert_int_equal(sonde_energy_perf_shape(&shape, root), -ENOENT);
	assert_true(sonde_energy_perf_open(&perf, root, why, sizeof why) < 0);
	assert_non_null(strstr(why, "no energy events"));
	put("/sys/bus/event_source/devices/power/type", "24\n");
	put("/sys/bus/event_source/devices/power/cpumask", "0,18-19\n");
	put("/sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02\n");
	put("/sys/bus/event_source/devices/power/events/energy-pkg.unit", "Joules\n");
	put("/sys/bus/event_source/devices/power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
	assert_int_equal(sonde_energy_perf_shape(&shape, root), 0);
	assert_int_equal(shape.type, 24);
	assert_int_equal(shape.config, 2);
	assert_true(shape.scale_j == 0x1p-32);
	assert_int_equal(shape.cpu_count, 3);
	assert_int_equal(shape.cpus[0], 0);
	assert_int_equal(shape.cpus[2], 19);
	put("/sys/bus/event_source/devices/power/events/energy-pkg.unit", "Calories\n");
	assert_int_equal(sonde_energy_perf_shape(&shape, root), -EINVAL);
}

static void put_processor(const char *vendor, unsigned family, unsigned number, const char *brand, const char *flags)
{
	char text[2048] = "";
	for (unsigned i = 0; i < 2; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text),
			 "processor\t: %u\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\nmodel name\t: %s\n"
			 "stepping\t: 1\nflags\t\t: fpu %s msr\nbogomips\t: 4890.85\n\n",
			 i, vendor, family, number, brand, flags);
	put("/proc/cpuinfo", text);
}

static void processors_are_found_in_the_table(void **state)
{
	struct sonde_energy_model model;
	(void)state;
	put_processor("AuthenticAMD", 25, 1, "AMD EPYC", "hypervisor");
	sonde_energy_model_find(&model, root);
	assert_string_equal(model.name, "AMD EPYC, 3rd generation");
	assert_int_equal(model.idle.middle_mw, 424);
	assert_int_equal(model.full.high_mw, 2874);
	assert_int_equal(model.cpus, 2);
	assert_true(model.is_virtual);
	assert_false(model.is_generic);
	put_processor("GenuineIntel", 6, 0x55, "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", "vme");
	sonde_energy_model_find(&model, root);
	assert_string_equal(model.name, "Intel Xeon, Skylake or Cascade Lake");
	assert_false(model.is_virtual);
	put("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
	sonde_energy_model_find(&model, root);
	assert_string_equal(model.name, "ARM Neoverse N1");
	assert_int_equal(model.cpus, 1);
}

static void other_processors_get_a_generic_range(void **state)
{
	struct sonde_energy_model model;
	(void)state;
	put_processor("AuthenticAMD", 25, 0x08, "AMD Ryzen Threadripper PRO 5995WX", "vme"); /* an EPYC's numbers */
	sonde_energy_model_find(&model, root);
	assert_true(model.is_generic);
	assert_true(model.idle.low_mw < model.idle.middle_mw && model.idle.middle_mw < model.idle.high_mw);
	put("/proc/cpuinfo", "");
	sonde_energy_model_find(&model, root);
	assert_true(model.is_generic && model.cpus >= 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
	    CASE(packages_count_once),
	    CASE(a_package_shown_by_the_second_interface_alone_counts),
	    CASE(no_counters_say_so),
	    CASE(forbidden_counters_say_what_helps),
	    cmocka_unit_test(a_counter_that_goes_round_once_is_counted),
	    cmocka_unit_test(a_counter_that_may_have_gone_round_twice_is_lost),
	    CASE(a_domain_that_vanishes_is_gone),
	    CASE(energy_events_are_understood),
	    CASE(processors_are_found_in_the_table),
	    CASE(other_processors_get_a_generic_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
