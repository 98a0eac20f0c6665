/* test_paths.c: injected objects are found relative to the binary: in a build tree, in a prefix, wherever it is.
 *
 * The program copies itself into trees of its own making and runs the copy, which prints what it finds.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "run/paths.h"
#include "util/error.h"

#define OBJECT "libsonde-none-such.so"

static char tree[128];

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *format, ...)
{
	char command[2 * PATH_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

/* What a copy of this program in DIR/<bin> prints. */
static void ask_copy(char *out, size_t out_b, const char *bin)
{
	char self[PATH_MAX], command[2 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	assert_true(len > 0);
	self[len] = '\0';
	shell("mkdir -p '%s/%s' && cp '%s' '%s/%s/copy'", tree, bin, self, tree, bin);
	snprintf(command, sizeof command, "'%s/%s/copy' find", tree, bin);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	size_t got = fread(out, 1, out_b - 1, pipe);
	out[got] = '\0';
	pclose(pipe);
}

static int make_tree(void **state)
{
	(void)state;
	snprintf(tree, sizeof tree, "/tmp/sonde [*]-XXXXXX");
	return mkdtemp(tree) ? 0 : -1;
}

static int remove_tree(void **state)
{
	(void)state;
	shell("rm -rf '%s'", tree);
	return 0;
}

static void assert_found(const char *bin, const char *place)
{
	char expected[PATH_MAX], found[PATH_MAX];
	shell("mkdir -p '%s/%s' && touch '%s/%s/" OBJECT "'", tree, place, tree, place);
	snprintf(expected, sizeof expected, "%s/%s/" OBJECT, tree, place);
	ask_copy(found, sizeof found, bin);
	assert_string_equal(found, expected);
}

static void build_tree_is_found(void **state)
{
	(void)state;
	assert_found("src/cli", "src/inject");
}

static void every_libdir_is_found(void **state)
{
	(void)state;
	assert_found("usr/bin", "usr/lib64/sonde");
	assert_found("opt/bin", "opt/lib/sonde");
	assert_found("multi/bin", "multi/lib/aarch64-linux-gnu/sonde");
}

static void build_tree_comes_first(void **state)
{
	(void)state;
	assert_found("both/bin", "both/lib/sonde");
	assert_found("both/bin", "both/inject");
}

static void nothing_is_said_with_the_places(void **state)
{
	(void)state;
	char found[PATH_MAX];
	ask_copy(found, sizeof found, "empty/bin");
	assert_non_null(strstr(found, OBJECT));
	assert_non_null(strstr(found, "/empty/bin"));
	char out[16] = "untouched";
	assert_int_equal(sonde_paths_object(out, sizeof out, OBJECT), -ENOENT);
	assert_string_equal(out, "untouched");
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "find") == 0) {
		char path[PATH_MAX];
		fputs(sonde_paths_object(path, sizeof path, OBJECT) ? sonde_error_text() : path, stdout);
		return 0;
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(build_tree_is_found, make_tree, remove_tree),
	    cmocka_unit_test_setup_teardown(every_libdir_is_found, make_tree, remove_tree),
	    cmocka_unit_test_setup_teardown(build_tree_comes_first, make_tree, remove_tree),
	    cmocka_unit_test_setup_teardown(nothing_is_said_with_the_places, make_tree, remove_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
