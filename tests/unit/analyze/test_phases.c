/* test_phases.c: phases of a run with known zones: one level deeper if one zone has nearly all the time; sums to the
 * ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "recording.h"
#include "sections.h"

#define PATH "phases.sonde"
#define START RECORDING_START_NS
#define MS 1000000ull

struct sites {
	uint32_t step, load, forward, inner, tidy;
};

static struct sites open_recording(struct recording *r)
{
	recording_open(r, PATH);
	r->chunk_rows = 3; /* chunks end anywhere */
	uint32_t process = recording_process(r, 10, 0, "app", START);
	recording_thread(r, process, 10, "app", START);
	recording_thread(r, process, 11, "helper", START);
	return (struct sites){
	    recording_site(r, SONDE_SITE_ZONE, "step", NULL), recording_site(r, SONDE_SITE_ZONE, "load", NULL),
	    recording_site(r, SONDE_SITE_ZONE, "forward", NULL), recording_site(r, SONDE_SITE_ZONE, "inner", NULL),
	    recording_site(r, SONDE_SITE_ZONE, "tidy", NULL)};
}

/* A zone with nothing in it; the time after it. */
static uint64_t put(struct recording *r, uint32_t thread, uint32_t site, uint64_t from_ns, uint64_t ns)
{
	recording_begin(r, thread, site, from_ns);
	recording_end(r, thread, from_ns + ns);
	return from_ns + ns;
}

/* Σ total_ns of all rows. */
static uint64_t sum_of(const struct sonde_section *section)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < section->table.row_count; i++)
		sum +=
		    sections_cell(section, &section->table.cells[i * section->table.column_count], "total_ns")->integer;
	return sum;
}

/* Ten steps of 10 ms: load 2, forward 7 with zones of its own, 1 of neither; 20 ms in no zone; 5 ms of tidying. */
static void parts_of_what_holds_nearly_all(void **state)
{
	(void)state;
	struct recording r;
	struct sites sites = open_recording(&r);
	uint64_t now_ns = START + 20 * MS;
	for (int i = 0; i < 10; i++) {
		recording_begin(&r, 1, sites.step, now_ns);
		now_ns = put(&r, 1, sites.load, now_ns, 2 * MS);
		recording_begin(&r, 1, sites.forward, now_ns);
		put(&r, 1, sites.inner, now_ns + MS, 3 * MS);
		recording_end(&r, 1, now_ns += 7 * MS);
		recording_end(&r, 1, now_ns += MS);
	}
	now_ns = put(&r, 1, sites.tidy, now_ns, 5 * MS);
	put(&r, 2, sites.inner, START, 90 * MS);
	recording_close(&r, now_ns, 0);
	struct sections s = sections_of(PATH, "phases", NULL);
	const struct sonde_section *t = sections_get(&s, "phases");
	assert_int_equal(t->table.row_count, 5);
	assert_int_equal(sections_int(t, "phase", "load", "calls"), 10);
	assert_int_equal(sections_int(t, "phase", "load", "total_ns"), 20 * MS);
	assert_int_equal(sections_int(t, "phase", "load", "first_ns"), 20 * MS);
	assert_int_equal(sections_int(t, "phase", "forward", "total_ns"), 70 * MS);
	assert_int_equal(sections_int(t, "phase", "(step, outside its parts)", "total_ns"), 10 * MS);
	assert_int_equal(sections_int(t, "phase", "tidy", "total_ns"), 5 * MS);
	assert_int_equal(sections_int(t, "phase", "(in no zone)", "total_ns"), 20 * MS);
	assert_true(sections_real(t, "phase", "forward", "share") == 70.0 / 125);
	assert_int_equal(sum_of(t), 125 * MS);
	assert_true(sections_noted(t->notes, "zones cover 84.0 %"));
	assert_true(sections_noted(t->notes, "1 other thread with zones"));
	assert_false(sections_noted(t->notes, "could not be read"));
	sections_free(&s);
	/* A part of the time: the second step, and the last millisecond of the first. */
	struct sonde_pass_options options = {
	    .selection.from_ns = START + 29 * MS, .selection.to_ns = START + 40 * MS, .requested = 1};
	s = sections_of(PATH, "phases", &options);
	t = sections_get(&s, "phases");
	assert_int_equal(sections_int(t, "phase", "load", "total_ns"), 2 * MS);
	assert_int_equal(sections_int(t, "phase", "load", "calls"), 1);
	assert_int_equal(sections_int(t, "phase", "forward", "calls"), 1);
	assert_int_equal(sections_int(t, "phase", "(step, outside its parts)", "total_ns"), 2 * MS);
	assert_int_equal(sum_of(t), 11 * MS);
	sections_free(&s);
}

/* Two outermost zones that share the time: they are the phases, whatever lies in them, in the order of their begin. */
static void outermost_zones_in_order(void **state)
{
	(void)state;
	struct recording r;
	struct sites sites = open_recording(&r);
	recording_begin(&r, 1, sites.load, START);
	put(&r, 1, sites.inner, START, 30 * MS);
	recording_end(&r, 1, START + 40 * MS);
	recording_begin(&r, 1, sites.forward, START + 40 * MS);
	put(&r, 1, sites.inner, START + 40 * MS, 50 * MS);
	recording_end(&r, 1, START + 100 * MS);
	recording_begin(&r, 1, sites.load, START + 100 * MS);
	recording_close(&r, START + 110 * MS, 0); /* never closed: up to the end */
	struct sections s = sections_of(PATH, "phases", NULL);
	const struct sonde_section *t = sections_get(&s, "phases");
	assert_int_equal(t->table.row_count, 2);
	assert_string_equal(sections_cell(t, t->table.cells, "phase")->text, "load");
	assert_int_equal(sections_int(t, "phase", "load", "total_ns"), 50 * MS);
	assert_int_equal(sections_int(t, "phase", "forward", "total_ns"), 60 * MS);
	assert_int_equal(sum_of(t), 110 * MS);
	sections_free(&s);
}

/* 600 sites of 1 µs, then one of 1 ms that holds most: it is shown, and sums are whole. */
static void the_longest_are_shown(void **state)
{
	(void)state;
	struct recording r;
	struct sites sites = open_recording(&r);
	uint64_t now_ns = START;
	for (int i = 0; i < 600; i++) {
		char name[32];
		snprintf(name, sizeof name, "site %d", i);
		now_ns = put(&r, 1, recording_site(&r, SONDE_SITE_ZONE, name, NULL), now_ns, 1000);
	}
	now_ns = put(&r, 1, sites.load, now_ns, MS);
	recording_close(&r, now_ns, 0);
	const struct sonde_pass_options options = {.limit = 10};
	struct sections s = sections_of(PATH, "phases", &options);
	const struct sonde_section *t = sections_get(&s, "phases");
	assert_int_equal(t->table.row_count, 11);
	assert_int_equal(sections_int(t, "phase", "(others)", "total_ns"), MS + 344 * 1000);
	assert_int_equal(sections_int(t, "phase", "(247 others)", "total_ns"), 247 * 1000);
	assert_int_equal(sum_of(t), 600 * 1000 + MS);
	sections_free(&s);
}

static void without_zones_that_is_said(void **state)
{
	(void)state;
	struct recording r;
	open_recording(&r);
	recording_close(&r, START + MS, 0);
	const struct sonde_pass_options options = {.requested = 1};
	struct sections s = sections_of(PATH, "phases", &options);
	assert_null(sections_find(&s, "phases") ? sections_find(&s, "phases")->table.cells : NULL);
	sections_free(&s);
}

enum { STEPS = 4, CHUNKS_MOST = 64 };

/* Four steps of 10 ms, each with loading of 2 and 7 of work, without a gap: five marks a chunk, so that the last of a
 * step's six is the first of the next. Where the chunks of zones lie; how many. */
static size_t write_steps(long *body)
{
	struct recording r;
	struct sites sites = open_recording(&r);
	r.chunk_rows = 5;
	uint64_t now_ns = START;
	for (int i = 0; i < STEPS; i++) {
		recording_begin(&r, 1, sites.step, now_ns);
		put(&r, 1, sites.load, now_ns, 2 * MS);
		put(&r, 1, sites.forward, now_ns + 2 * MS, 7 * MS);
		recording_end(&r, 1, now_ns += 10 * MS);
	}
	recording_close(&r, now_ns, 0);
	struct sonde_chunk_head head;
	FILE *file = fopen(PATH, "rb");
	size_t count = 0;
	assert_non_null(file);
	for (long at = 0; count < CHUNKS_MOST && !fseek(file, at, SEEK_SET) && fread(&head, sizeof head, 1, file) == 1;
	     at++)
		if (head.magic == SONDE_CHUNK_MAGIC && head.type == SONDE_CHUNK_ZONES)
			body[count++] = at + (long)(sizeof head + head.summary_b + head.stored_b / 2);
	fclose(file);
	return count;
}

static void damage(long at)
{
	FILE *file = fopen(PATH, "r+b");
	assert_non_null(file);
	fseek(file, at, SEEK_SET);
	int byte = fgetc(file);
	fseek(file, at, SEEK_SET);
	fputc(byte ^ 0xff, file);
	fclose(file);
}

/* Every other chunk cannot be read: whatever is missing, the thread's time counts once, and parts of a step whose
 * end is missing do not become another step; a note says so. */
static void parts_that_cannot_be_read_are_said(void **state)
{
	long body[CHUNKS_MOST];
	size_t chunks = write_steps(body), said = 0;
	(void)state;
	assert_true(chunks >= STEPS);
	for (size_t k = 0; k < chunks; k++) {
		write_steps(body);
		damage(body[k]);
		struct sections s = sections_of(PATH, "phases", NULL);
		const struct sonde_section *t = sections_get(&s, "phases");
		assert_int_equal(sum_of(t), STEPS * 10 * MS);
		int is_said = sections_noted(t->notes, "the contents of 1 zone are unknown");
		said += (size_t)is_said;
		const struct sonde_cell *load = sections_row(t, "phase", "load");
		if (load) { /* all steps except the one without an end, and the one reported as unknown */
			uint64_t calls = sections_cell(t, load, "calls")->integer;
			assert_true(calls < STEPS + (k + 1 == chunks));
			assert_int_equal(sections_cell(t, load, "total_ns")->integer, calls * 2 * MS);
			assert_true(!is_said || calls <= STEPS - 2);
		}
		sections_free(&s);
	}
	assert_true(said > 0 && said < chunks);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(PATH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(parts_of_what_holds_nearly_all, remove_file),
	    cmocka_unit_test_teardown(outermost_zones_in_order, remove_file),
	    cmocka_unit_test_teardown(the_longest_are_shown, remove_file),
	    cmocka_unit_test_teardown(parts_that_cannot_be_read_are_said, remove_file),
	    cmocka_unit_test_teardown(without_zones_that_is_said, remove_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
