/* test_source_text.c: which files are shown as source, and why others are not. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "sections.h"

/* Recordings of tests begin at 1700000000. */
enum { BEFORE_S = 1600000000, LATER_S = 1700000001 };

static void set_time(const char *of, time_t seconds)
{
	const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	assert_int_equal(utimensat(AT_FDCWD, of, times, 0), 0);
}

/* What the row has instead of line 2 of a file. */
static void expect_no_source(const char *source, const char *why)
{
	struct recording r;
	simple_open(&r);
	recording_symbol(&r, 1, 0x5005, &(struct recording_place){"f", source, 2, 0x5000}, 1);
	samples_add(&r, recording_node(&r, 0, 1, 0x5005), 5, 0);
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "lines", NULL);
	const struct sonde_section *t = sections_get(&s, "lines");
	size_t last = t->table.row_count - 1; /* before it at most the line around it that there is */
	const struct sonde_cell *cell = sonde_report_cell(t, last, "source");
	assert_int_equal(sonde_report_cell(t, last, "line")->integer, 2);
	assert_int_equal(cell->kind, SONDE_CELL_ABSENT);
	if (!strstr(cell->text, why))
		fail_msg("%s: %s", source, cell->text);
	assert_int_equal(sonde_report_cell(t, last, "self_ns")->integer, 5 * MS);
	sections_free(&s);
}

/* A recording may name any file; what is read must be the source that was compiled. */
static void other_files_are_no_source(void **state)
{
	(void)state;
	char source[80], link[80], secret[80], fifo[80];
	snprintf(source, sizeof source, "%s.c", path);
	snprintf(link, sizeof link, "%s.link.c", path);
	snprintf(secret, sizeof secret, "%s.key", path);
	snprintf(fifo, sizeof fifo, "%s.fifo.c", path);
	for (int i = 0; i < 2; i++) {
		FILE *file = fopen(i ? secret : source, "w");
		assert_non_null(file);
		fprintf(file, "one\ntwo\n");
		fclose(file);
		set_time(i ? secret : source, BEFORE_S);
	}
	assert_int_equal(symlink(source, link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	expect_no_source(link, "symbolic link");
	expect_no_source(secret, "not the name of a source file");
	expect_no_source(fifo, "not a regular file");
	expect_no_source("/etc/passwd", "not the name of a source file");
	expect_no_source("/proc/self/cmdline.c", "not the name of a source file");
	expect_no_source("/dev/zero.c", "not the name of a source file");
	expect_no_source("/nonexistent/at/all.c", "not found");
	expect_no_source("relative.c", "not found");
	expect_no_source("/tmp/.c/", "not the name of a source file");
	set_time(source, LATER_S);
	expect_no_source(source, "has changed");
	set_time(source, BEFORE_S);
	FILE *file = fopen(source, "w");
	fprintf(file, "one\n");
	fclose(file);
	set_time(source, BEFORE_S);
	expect_no_source(source, "no such line");
	assert_int_equal(truncate(source, (16 << 20) + 1), 0);
	set_time(source, BEFORE_S);
	expect_no_source(source, "larger");
	unlink(source);
	unlink(link);
	unlink(secret);
	unlink(fifo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(other_files_are_no_source),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
