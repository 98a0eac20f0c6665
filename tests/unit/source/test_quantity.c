/* test_quantity.c: quantities as people type them, and the trigger of a flight recorder. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "source/record/trigger.h"
#include "util/error.h"
#include "util/quantity.h"

static void durations_have_units(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
	    {"10s", 10000000000u}, {"1.5", 1500000000u},  {"250ms", 250000000u},  {"10us", 10000u},
	    {"7ns", 7u},           {"2m", 120000000000u}, {"1h", 3600000000000u}, {"0", 0u},
	};
	static const char *const bad[] = {"", "s", "-1s", "1x", "1 s", "nan", "inf", "1e30s", "10sx"};
	uint64_t ns = 0;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(sonde_quantity_duration(&ns, good[i].text), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(sonde_quantity_duration(&ns, bad[i]), -EINVAL);
}

static void sizes_are_powers_of_1024(void **state)
{
	(void)state;
	uint64_t size_b = 0;
	assert_int_equal(sonde_quantity_bytes(&size_b, "64K"), 0);
	assert_int_equal(size_b, 65536);
	assert_int_equal(sonde_quantity_bytes(&size_b, "1.5MiB"), 0);
	assert_int_equal(size_b, 1572864);
	assert_int_equal(sonde_quantity_bytes(&size_b, "12"), 0);
	assert_int_equal(size_b, 12);
	assert_int_equal(sonde_quantity_bytes(&size_b, "12 apples"), -EINVAL);
	assert_non_null(strstr(sonde_error_text(), "12 apples"));
}

static void integers_stay_in_their_range(void **state)
{
	(void)state;
	uint64_t value = 7;
	assert_int_equal(sonde_quantity_integer(&value, "10000", 1, 10000), 0);
	assert_int_equal(value, 10000);
	static const char *const bad[] = {"0", "10001", "-5", "1e3", "5x", "", "99999999999999999999"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(sonde_quantity_integer(&value, bad[i], 1, 10000), -EINVAL);
	assert_int_equal(value, 10000); /* untouched on failure */
	assert_non_null(strstr(sonde_error_text(), "from 1 to 10000"));
}

static void triggers_are_understood_or_refused(void **state)
{
	(void)state;
	struct sonde_trigger trigger;
	assert_int_equal(sonde_trigger_init(&trigger, "zone=a>b>10ms"), 0);
	assert_string_equal(trigger.name, "a>b");
	assert_int_equal(trigger.over_ns, 10000000);
	assert_false(trigger.on_spans);
	sonde_trigger_fini(&trigger);
	static const char *const bad[] = {"",         "zone",      "zone=",   "zone=a",
					  "zone=>1s", "sone=a>1s", "span=a>", "span=a>x"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(sonde_trigger_init(&trigger, bad[i]), -EINVAL);
		sonde_trigger_fini(&trigger);
	}
}

static void zones_trigger_when_they_are_longer(void **state)
{
	(void)state;
	struct sonde_trigger trigger;
	assert_int_equal(sonde_trigger_init(&trigger, "zone=request>1ms"), 0);
	trigger.name_id = 4;
	sonde_trigger_zone(&trigger, 4, 1000000);
	sonde_trigger_zone(&trigger, 5, 9000000);
	assert_false(trigger.fired);
	sonde_trigger_zone(&trigger, 4, 1000001);
	assert_true(trigger.fired);
	sonde_trigger_fini(&trigger);
}

static struct sonde_event_span span(uint16_t type, uint64_t id, uint64_t time_ns)
{
	return (struct sonde_event_span){.head = {.type = type, .words = 3, .time = time_ns}, .id = id};
}

static void spans_trigger_by_id_and_process(void **state)
{
	(void)state;
	struct sonde_trigger trigger;
	assert_int_equal(sonde_trigger_init(&trigger, "span=request>1ms"), 0);
	trigger.name_id = 4;
	struct sonde_event_span begin = span(SONDE_EVENT_SPAN_BEGIN, 8, 100);
	struct sonde_event_span end = span(SONDE_EVENT_SPAN_END, 8, 5000100);
	sonde_trigger_span(&trigger, 1, &begin, 9); /* of another name */
	sonde_trigger_span(&trigger, 1, &end, 0);
	assert_false(trigger.fired);
	sonde_trigger_span(&trigger, 1, &begin, 4);
	sonde_trigger_span(&trigger, 2, &end, 0); /* of another process */
	assert_false(trigger.fired);
	sonde_trigger_span(&trigger, 1, &end, 0);
	assert_true(trigger.fired);
	sonde_trigger_fini(&trigger);
}

static void shares(void **state)
{
	static const struct {
		const char *text;
		double share;
	} good[] = {{"1%", 0.01}, {"0.5 %", 0.005}, {"0.25", 0.25}, {"0", 0}, {"99.5%", 0.995}};
	static const char *const bad[] = {"", "%", "1", "100%", "-1%", "1%%", "1 percent", "nan"};
	double share;
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(sonde_quantity_share(&share, good[i].text), 0);
		assert_true(share > good[i].share - 1e-12 && share < good[i].share + 1e-12);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(sonde_quantity_share(&share, bad[i]), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(durations_have_units),
	    cmocka_unit_test(sizes_are_powers_of_1024),
	    cmocka_unit_test(integers_stay_in_their_range),
	    cmocka_unit_test(triggers_are_understood_or_refused),
	    cmocka_unit_test(zones_trigger_when_they_are_longer),
	    cmocka_unit_test(spans_trigger_by_id_and_process),
	    cmocka_unit_test(shares),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
