/* test_runtime_self.c: recordings that programs write without a recorder, read back. ZONE_SELF, ZONE_TARGET: programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/reader.h"

/* The thread sanitizer ends a child of fork() that starts a thread, as one that records does. */
#if defined(__SANITIZE_THREAD__)
#define THREADS_AFTER_FORK_WORK 0
#else
#define THREADS_AFTER_FORK_WORK 1
#endif

struct found {
	uint64_t events;   /* of zones */
	uint64_t ended;    /* by the summaries */
	uint64_t variable; /* events of other kinds */
	int closed;
	uint64_t damaged_b;
};

static struct found read_file(const char *path)
{
	struct found found = {0};
	struct sonde_reader *reader = NULL;
	struct sonde_chunk_data data;
	assert_int_equal(sonde_reader_open(&reader, path), 0);
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; i < sonde_reader_count(reader); i++) {
		assert_int_equal(sonde_reader_read(reader, i, &data), 0);
		if (data.head->type == SONDE_CHUNK_EVENTS)
			found.variable += data.head->count;
		if (data.head->type != SONDE_CHUNK_ZONES)
			continue;
		found.events += data.head->count;
		struct sonde_zones_summary head;
		memcpy(&head, data.summary, sizeof(head));
		const uint8_t *stats = data.summary + sizeof(head) + head.open * sizeof(struct sonde_zone_open);
		for (uint32_t k = 0; k < head.sites; k++) {
			struct sonde_zone_stat stat;
			memcpy(&stat, stats + k * sizeof(stat), sizeof(stat));
			found.ended += stat.count;
		}
	}
	found.closed = sonde_reader_is_closed(reader);
	found.damaged_b = sonde_reader_damaged_b(reader, NULL);
	sonde_buf_fini(&data.buf);
	sonde_reader_close(reader);
	return found;
}

static char directory[] = "/tmp/sonde-self-XXXXXX";

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static void assert_whole(const char *path, uint64_t zones)
{
	struct found found = read_file(path);
	assert_int_equal(found.events, 2 * zones);
	assert_int_equal(found.ended, zones);
	assert_true(found.closed);
	assert_int_equal(found.damaged_b, 0);
}

static void programs_record_themselves(void **state)
{
	(void)state;
	if (!THREADS_AFTER_FORK_WORK)
		skip();
	char command[512], path[256];
	int child = 0;
	snprintf(command, sizeof(command), "env -u SONDE_SOCKET -u SONDE_OUT %s %s/x.sonde", ZONE_SELF, directory);
	FILE *output = popen(command, "r");
	assert_non_null(output);
	assert_int_equal(fscanf(output, "%d", &child), 1);
	assert_int_equal(pclose(output), 0);
	snprintf(path, sizeof(path), "%s/x.sonde", directory);
	assert_whole(path, 1102); /* with sonde_run() and the zone inside */
	assert_true(read_file(path).variable >= 14); /* the profilers' spans */
	snprintf(path, sizeof(path), "%s/x.%d.sonde", directory, child);
	assert_whole(path, 50);
	snprintf(path, sizeof(path), "%s/x.sonde.second", directory);
	assert_whole(path, 7);
}

static void the_environment_asks_for_a_file(void **state)
{
	(void)state;
	char command[512], pattern[256];
	snprintf(command, sizeof(command), "SONDE_OUT=%s/env SONDE_SUMMARY=1 %s pairs 5000 2> %s/summary", directory,
		 ZONE_TARGET, directory);
	assert_int_equal(system(command), 0);
	glob_t found;
	snprintf(pattern, sizeof(pattern), "%s/env.*.sonde", directory);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	assert_whole(found.gl_pathv[0], 15000);
	globfree(&found);
	snprintf(command, sizeof(command), "grep -q ' 10000 .* inner$' %s/summary", directory);
	assert_int_equal(system(command), 0);
}

/* A killed program leaves a readable file with all but the last round. */
static void killed_programs_leave_a_readable_file(void **state)
{
	(void)state;
	char path[256];
	snprintf(path, sizeof(path), "%s/killed%%p", directory);
	pid_t pid = fork();
	if (!pid) {
		setenv("SONDE_OUT", path, 1);
		execl(ZONE_TARGET, ZONE_TARGET, "signals", "1000000000", NULL);
		_exit(127);
	}
	snprintf(path, sizeof(path), "%s/killed%d", directory, (int)pid);
	struct found found = {0};
	for (int i = 0; i < 500 && found.events < 1000; i++) {
		struct timespec rest = {0, 20000000};
		nanosleep(&rest, NULL);
		if (!access(path, R_OK))
			found = read_file(path);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	found = read_file(path);
	assert_true(found.events >= 1000);
	assert_false(found.closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(programs_record_themselves),
	    cmocka_unit_test(the_environment_asks_for_a_file),
	    cmocka_unit_test(killed_programs_leave_a_readable_file),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
