/* test_zone_histogram.c: instances of zones and spans with known durations, counted on a logarithmic scale. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "sections.h"

enum { SLOW = 3 };

/* Of 0 to 3 and 1000 to 1099 ns, three of 1 ms, one that never ends; and another zone, of more time. */
static void write_zones(void)
{
	struct recording r;
	simple_open(&r);
	uint32_t site = recording_site(&r, SONDE_SITE_ZONE, "step", ""),
		 twin = recording_site(&r, SONDE_SITE_ZONE, "step", "");
	uint32_t other = recording_site(&r, SONDE_SITE_ZONE, "other", ""),
		 span = recording_site(&r, SONDE_SITE_SPAN, "job", "");
	uint64_t now_ns = START + MS;
	for (uint64_t i = 0; i < 104; i++, now_ns += 2000) {
		recording_begin(&r, 1, i % 2 ? site : twin, now_ns);
		recording_end(&r, 1, now_ns + (i < 4 ? i : 996 + i));
	}
	for (int i = 0; i < SLOW; i++, now_ns += 2 * MS) {
		recording_begin(&r, 1, site, now_ns);
		recording_end(&r, 1, now_ns + MS);
	}
	recording_begin(&r, 1, other, now_ns);
	recording_end(&r, 1, now_ns + 10 * MS);
	for (uint64_t id = 1; id <= 2; id++)
		recording_span(&r, 1, SONDE_EVENT_SPAN_BEGIN, span, now_ns + 10 * MS, id);
	recording_span(&r, 1, SONDE_EVENT_SPAN_END, 0, now_ns + 12 * MS, 2);
	recording_begin(&r, 1, site, now_ns + 12 * MS);
	recording_close(&r, now_ns + 20 * MS, 0);
}

static const struct sonde_cell *cell(const struct sonde_section *section, size_t row, const char *key)
{
	assert_true(row < section->table.row_count);
	return sonde_report_cell(section, row, key);
}

static void every_instance_is_in_its_bar(void **state)
{
	static const size_t limits[] = {0, 1, 2, 5, 17, 100, 3000};
	(void)state;
	for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
		struct sonde_pass_options options = {.requested = 1, .focus = "step", .limit = limits[k]};
		struct sections s = sections_of(path, "zone-histogram", &options);
		const struct sonde_section *t = sections_get(&s, "zone-histogram");
		uint64_t count = 0, total_ns = 0, end_ns = 0;
		assert_true(t->table.row_count > 0 && t->table.row_count <= (limits[k] ? limits[k] + 1 : 41));
		for (size_t i = 0; i < t->table.row_count; i++) {
			uint64_t from_ns = cell(t, i, "from_ns")->integer, to_ns = cell(t, i, "to_ns")->integer;
			uint64_t wanted = 0, wanted_ns = 0;
			for (uint64_t d = 0; d < 104; d++) {
				uint64_t dur_ns = d < 4 ? d : 996 + d;
				wanted += dur_ns >= from_ns && dur_ns < to_ns;
				wanted_ns += dur_ns >= from_ns && dur_ns < to_ns ? dur_ns : 0;
			}
			if (MS >= from_ns && MS < to_ns) {
				wanted += SLOW;
				wanted_ns += SLOW * MS;
			}
			assert_true(from_ns < to_ns && (!i || from_ns == end_ns));
			assert_int_equal(cell(t, i, "count")->integer, wanted);
			assert_int_equal(cell(t, i, "total_ns")->integer, wanted_ns);
			count += wanted;
			total_ns += wanted_ns;
			end_ns = to_ns;
			assert_near(cell(t, i, "cumulative_share")->real, (double)count / 107, 1e-12);
		}
		assert_int_equal(count, 107);
		t = sections_get(&s, "zone-durations");
		assert_int_equal(cell(t, 0, "count")->integer, 107);
		assert_int_equal(cell(t, 0, "total_ns")->integer, total_ns);
		assert_int_equal(cell(t, 0, "min_ns")->integer, 0);
		assert_int_equal(cell(t, 0, "max_ns")->integer, MS);
		assert_true(sections_noted(t->notes, "1 that never ended is left out"));
		sections_free(&s);
	}
}

static void the_zone_with_the_most_time_is_picked(void **state)
{
	(void)state;
	struct sections s = sections_of(path, "zone-histogram", &(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "zone-durations");
	assert_string_equal(cell(t, 0, "zone")->text, "other");
	assert_int_equal(sections_get(&s, "zone-histogram")->table.row_count, 1);
	sections_free(&s);
}

static void spans_have_bars_too(void **state)
{
	(void)state;
	struct sections s =
	    sections_of(path, "zone-histogram spans", &(struct sonde_pass_options){.requested = 1, .focus = "job"});
	const struct sonde_section *t = sections_get(&s, "zone-durations");
	assert_int_equal(cell(t, 0, "count")->integer, 1);
	assert_int_equal(cell(t, 0, "max_ns")->integer, 2 * MS);
	assert_true(sections_noted(t->notes, "1 that never ended is left out"));
	t = sections_get(&s, "zone-histogram");
	assert_true(cell(t, 0, "from_ns")->integer <= 2 * MS && cell(t, 0, "to_ns")->integer > 2 * MS);
	t = sections_get(&s, "spans");
	assert_int_equal(sections_int(t, "span", "job", "count"), 1);
	assert_int_equal(sections_int(t, "span", "job", "unfinished"), 1);
	sections_free(&s);
}

static void a_part_is_counted_and_nothing_is_said(void **state)
{
	(void)state;
	struct sonde_pass_options options = {
	    .requested = 1, .focus = "step", .selection.from_ns = START + MS, .selection.to_ns = START + MS + 8000};
	struct sections s = sections_of(path, "zone-histogram", &options);
	assert_int_equal(cell(sections_get(&s, "zone-durations"), 0, "count")->integer, 4);
	sections_free(&s);
	options.focus = "nothing";
	s = sections_of(path, "zone-histogram", &options);
	assert_true(sections_noted(sections_get(&s, "zone-histogram")->notes, "nothing named nothing ended"));
	sections_free(&s);
}

static int setup(void **state)
{
	path_make(state);
	write_zones();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_instance_is_in_its_bar),
	    cmocka_unit_test(the_zone_with_the_most_time_is_picked),
	    cmocka_unit_test(spans_have_bars_too),
	    cmocka_unit_test(a_part_is_counted_and_nothing_is_said),
	};
	return cmocka_run_group_tests(tests, setup, path_remove);
}
