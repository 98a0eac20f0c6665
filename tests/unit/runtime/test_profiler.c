/* test_profiler.c: handles, the global profiler and the answers to a program's queries, without a recorder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/sonde.h>

/* Stops in its own thread what another one has started. */
static void *stop_elsewhere(void *profiler)
{
	uint64_t took_ns = 0;
	int code = sonde_profiler_stop(profiler, "carried", &took_ns);
	return code == SONDE_OK && took_ns == sonde_profiler_total_ns(profiler, "carried") ? profiler : NULL;
}

static void timers_go_from_thread_to_thread(void **state)
{
	(void)state;
	struct sonde_profiler *profiler = sonde_profiler_new();
	assert_non_null(profiler);
	for (int i = 1; i <= 3; i++) {
		struct sonde_profiler *one = sonde_profiler_new();
		pthread_t thread;
		void *stopped = NULL;
		assert_int_equal(sonde_profiler_start(one, "carried"), SONDE_OK);
		assert_int_equal(pthread_create(&thread, NULL, stop_elsewhere, one), 0);
		assert_int_equal(pthread_join(thread, &stopped), 0);
		assert_ptr_equal(stopped, one);
		assert_int_equal(sonde_profiler_stop(one, "carried", NULL), SONDE_ERR_MISMATCH); /* not running */
		assert_int_equal(sonde_profiler_total_ns(profiler, "carried"), 0);               /* independent */
		sonde_profiler_free(one);
	}
	sonde_profiler_free(profiler);
}

static void totals_and_means_agree(void **state)
{
	(void)state;
	struct sonde_profiler *profiler = sonde_profiler_new();
	struct sonde_stats stats;
	uint64_t sum_ns = 0, took_ns = 0;
	assert_int_equal(sonde_profiler_stats(profiler, "step", &stats), SONDE_ERR_UNKNOWN);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(sonde_profiler_start(profiler, "step"), SONDE_OK);
		assert_int_equal(sonde_profiler_stop(profiler, "step", &took_ns), SONDE_OK);
		sum_ns += took_ns;
	}
	assert_int_equal(sonde_profiler_total_ns(profiler, "step"), sum_ns);
	assert_true(sonde_profiler_mean_ns(profiler, "step") * 5 > (double)sum_ns - 1);
	assert_true(sonde_profiler_mean_ns(profiler, "step") * 5 < (double)sum_ns + 1);
	assert_int_equal(sonde_profiler_stats(profiler, "step", &stats), SONDE_OK);
	assert_string_equal(stats.name, "step");
	assert_int_equal(stats.count, 5);
	assert_int_equal(stats.total_ns, sum_ns);
	sonde_profiler_free(profiler);
}

/* A child goes on with what was measured before fork(), and neither changes the other's figures. */
static void the_global_profiler_survives_fork(void **state)
{
	(void)state;
	struct sonde_stats stats;
	assert_int_equal(sonde_profiler_start(NULL, "before"), SONDE_OK);
	assert_int_equal(sonde_profiler_stop(NULL, "before", NULL), SONDE_OK);
	assert_int_equal(sonde_profiler_start(NULL, "across"), SONDE_OK);
	pid_t pid = fork();
	if (!pid) {
		int bad = sonde_profiler_stop(NULL, "across", NULL) != SONDE_OK;
		bad |= sonde_profiler_start(NULL, "child") != SONDE_OK;
		bad |= sonde_profiler_stop(NULL, "child", NULL) != SONDE_OK;
		bad |= sonde_profiler_stats(NULL, "child", &stats) != SONDE_OK || stats.count != 1;
		_exit(bad);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(sonde_profiler_stop(NULL, "across", NULL), SONDE_OK);
	assert_int_equal(sonde_profiler_stats(NULL, "child", &stats), SONDE_ERR_UNKNOWN);
	assert_int_equal(sonde_profiler_stats(NULL, "before", &stats), SONDE_OK);
	assert_int_equal(stats.count, 1);
}

static void a_table_is_printed(void **state)
{
	(void)state;
	struct sonde_profiler *profiler = sonde_profiler_new();
	char text[4096] = "";
	int ends[2];
	for (int i = 0; i < 7; i++) {
		assert_int_equal(sonde_profiler_start_work(profiler, "multiply", 100, 0, 0), SONDE_OK);
		assert_int_equal(sonde_profiler_stop(profiler, "multiply", NULL), SONDE_OK);
	}
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(sonde_profiler_print(profiler, ends[1]), SONDE_OK);
	close(ends[1]);
	assert_true(read(ends[0], text, sizeof text - 1) > 0);
	close(ends[0]);
	const char *row = strstr(text, "multiply");
	assert_non_null(row);
	while (row > text && row[-1] != '\n')
		row--;
	assert_int_equal(strtoul(row, NULL, 10), 7);
	sonde_profiler_free(profiler);
}

static void every_code_has_its_own_text(void **state)
{
	(void)state;
	for (int code = SONDE_ERR_RECORDER; code <= SONDE_OK; code++) {
		assert_true(strlen(sonde_strerror(code)) > 5);
		for (int other = SONDE_ERR_RECORDER; other < code; other++)
			assert_string_not_equal(sonde_strerror(code), sonde_strerror(other));
	}
	assert_non_null(sonde_strerror(-1000));
	assert_int_equal(sonde_start("/proc/none/x.sonde"), SONDE_ERR_FILE);
	assert_int_equal(sonde_begin("off"), SONDE_ERR_OFF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(timers_go_from_thread_to_thread),   cmocka_unit_test(totals_and_means_agree),
	    cmocka_unit_test(the_global_profiler_survives_fork), cmocka_unit_test(a_table_is_printed),
	    cmocka_unit_test(every_code_has_its_own_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
