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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/varint.h"
#include "fold/nodes.h"
#include "fold/pair.h"
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
	uint64_t histograms;
	uint64_t lost; /* for one cause */
	int closed;
	uint64_t damaged_b;
};

/* Pairs a chunk's body as readers do: the result equals its summary. */
static void assert_summary_true(const struct sonde_chunk_data *data)
{
	static struct sonde_pair_frame frames[SONDE_ZONES_OPEN_MAX];
	static struct sonde_zone_stat rows[16384];
	struct sonde_pair_table table = {.rows = rows, .capacity = 16384};
	static uint8_t node_bytes[SONDE_NODES_MAX_B(65536)];
	static struct sonde_nodes nodes;
	struct sonde_zones_summary head;
	nodes.data = node_bytes;
	sonde_nodes_begin(&nodes, data->head->time_min_ns);
	struct sonde_pair pair;
	memset(rows, 0, sizeof(rows));
	memcpy(&head, data->summary, sizeof(head));
	assert_in_range(head.open, 0, SONDE_ZONES_OPEN_MAX);
	sonde_pair_init(&pair, frames, SONDE_ZONES_OPEN_MAX);
	memcpy(frames, data->summary + sizeof(head), head.open * sizeof(*frames));
	pair.depth = head.open;
	uint32_t sizes[2];
	memcpy(sizes, data->body, sizeof(sizes));
	const uint8_t *site_at = data->body + 8, *time_at = site_at + sizes[0], *end = time_at + sizes[1];
	uint64_t site = 0, delta = 0, time_ns = data->head->time_min_ns;
	struct sonde_pair_zone zone;
	for (uint32_t i = 0; i < data->head->count; i++) {
		site_at = sonde_varint_get(site_at, end, &site);
		time_at = sonde_varint_get(time_at, end, &delta);
		assert_true(site_at && time_at);
		time_ns += delta;
		if (site) {
			sonde_pair_begin(&pair, (uint32_t)site, time_ns);
		} else if (sonde_pair_end(&pair, time_ns, &zone)) {
			sonde_pair_add(sonde_pair_row(&table, zone.site), &zone);
			sonde_nodes_add_zone(&nodes, zone.depth, zone.site, zone.start_ns, zone.dur_ns);
		}
	}
	sonde_nodes_end(&nodes);
	assert_ptr_equal(time_at, end);
	assert_int_equal(pair.over, 0);
	assert_int_equal(pair.unmatched, head.unmatched);
	assert_int_equal(table.used, head.sites);
	const uint8_t *stats = data->summary + sizeof(head) + head.open * sizeof(struct sonde_zone_open);
	for (uint32_t i = 0; i < head.sites; i++) {
		struct sonde_zone_stat stat;
		memcpy(&stat, stats + i * sizeof(stat), sizeof(stat));
		assert_memory_equal(&stat, sonde_pair_row(&table, stat.site), sizeof(stat));
	}
	struct sonde_zone_nodes_head nodes_head;
	const uint8_t *behind = stats + head.sites * sizeof(struct sonde_zone_stat);
	memcpy(&nodes_head, behind, sizeof(nodes_head));
	assert_int_equal(nodes_head.nodes_b, nodes.data_b);
	assert_int_equal(nodes_head.deeper, nodes.deeper);
	assert_memory_equal(behind + sizeof(nodes_head), node_bytes, nodes.data_b);
	assert_ptr_equal(behind + sizeof(nodes_head) + nodes.data_b, data->summary + data->head->summary_b);
}

/* Counts histograms, and what was lost with `cause` (NULL = for any). */
static void read_meta(const struct sonde_chunk_data *data, const char *cause, struct found *found)
{
	static uint32_t cause_id;
	for (size_t at = 0; at + sizeof(struct sonde_meta_head) <= data->head->raw_b;) {
		struct sonde_meta_head head;
		struct sonde_meta_string string;
		struct sonde_meta_lost lost;
		const uint8_t *record = data->body + at;
		memcpy(&head, record, sizeof(head));
		memcpy(&string, record, head.type == SONDE_META_STRING ? sizeof(string) : 0);
		memcpy(&lost, record, head.type == SONDE_META_LOST ? sizeof(lost) : 0);
		if (head.type == SONDE_META_STRING && cause && string.len_b == strlen(cause) &&
		    !memcmp(record + sizeof(string), cause, string.len_b))
			cause_id = string.id;
		found->histograms += head.type == SONDE_META_HISTOGRAM;
		if (head.type == SONDE_META_LOST && (!cause || lost.cause == cause_id))
			found->lost += lost.count;
		at += (head.size_b + 7) & ~(size_t)7;
	}
}

static struct found read_cause(const char *path, const char *cause)
{
	struct found found = {0};
	struct sonde_reader *reader = NULL;
	struct sonde_chunk_data data;
	assert_int_equal(sonde_reader_open(&reader, path), 0);
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; i < sonde_reader_count(reader); i++) {
		assert_int_equal(sonde_reader_read(reader, i, &data), 0);
		if (data.head->type == SONDE_CHUNK_META)
			read_meta(&data, cause, &found);
		if (data.head->type == SONDE_CHUNK_EVENTS)
			found.variable += data.head->count;
		if (data.head->type != SONDE_CHUNK_ZONES)
			continue;
		found.events += data.head->count;
		assert_summary_true(&data);
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

static struct found read_file(const char *path)
{
	return read_cause(path, NULL);
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
	assert_whole(path, 1102);                    /* with sonde_run() and the zone inside */
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
		struct timespec remainder = {0, 20000000};
		nanosleep(&remainder, NULL);
		if (!access(path, R_OK))
			found = read_file(path);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	found = read_file(path);
	assert_true(found.events >= 1000);
	assert_false(found.closed);
}

/* Runs zone_self in a mode of its own, and gives the name of its file. */
static void run_mode(const char *mode, long number, char *path, size_t path_b)
{
	char command[1024];
	snprintf(path, path_b, "%s/%s-%ld.sonde", directory, mode, number);
	snprintf(command, sizeof(command), "env -u SONDE_SOCKET -u SONDE_OUT %s %s %s %ld", ZONE_SELF, mode, path,
		 number);
	assert_int_equal(system(command), 0);
}

static void deep_recursion_is_recorded(void **state)
{
	(void)state;
	char path[256];
	run_mode("deep", 400, path, sizeof(path));
	assert_whole(path, 402);
	assert_int_equal(read_file(path).lost, 0);
	run_mode("deep", 20000, path, sizeof(path));
	assert_whole(path, 20002);
	assert_int_equal(read_file(path).lost, 0);
}

/* As many as a recording can hold are in it, the others are counted. */
static void too_deep_recursion_is_counted(void **state)
{
	(void)state;
	char path[256];
	run_mode("deep", 70000, path, sizeof(path));
	assert_whole(path, SONDE_ZONES_OPEN_MAX);
	uint64_t left_out = 70002 - SONDE_ZONES_OPEN_MAX;
	assert_int_equal(read_cause(path, "zones nested too deeply").lost, 2 * left_out);
	assert_int_equal(read_file(path).lost, 2 * left_out);
}

static void recordings_and_failed_starts_keep_no_memory(void **state)
{
	(void)state;
	char path[256];
	run_mode("cycles", 200, path, sizeof(path));
	assert_whole(path, 1000);
}

/* AddressSanitizer gives every thread a second stack, and ends a program that is refused the memory for it. */
static void limited_memory_breaks_nothing(void **state)
{
	(void)state;
	char path[256];
	const char *options = getenv("ASAN_OPTIONS");
	char before[256];
	snprintf(before, sizeof(before), "%s", options ? options : "");
	setenv("ASAN_OPTIONS", "detect_stack_use_after_return=0:abort_on_error=1", 1);
	run_mode("limits", 200000, path, sizeof(path));
	setenv("ASAN_OPTIONS", before, 1);
	assert_true(read_file(path).closed);
}

static void histograms_without_a_place_are_counted(void **state)
{
	(void)state;
	char path[256];
	run_mode("histograms", 300, path, sizeof(path));
	struct found found = read_cause(path, "too many histograms in a thread");
	assert_int_equal(found.lost, 300 - 64);
	assert_int_equal(read_file(path).lost, 300 - 64);
	assert_int_equal(found.histograms, 300);
}

/* Everything written before is in the file, and nothing else. */
static void a_kill_loses_nothing_that_was_written(void **state)
{
	(void)state;
	char path[256];
	snprintf(path, sizeof(path), "%s/waiting.sonde", directory);
	pid_t pid = fork();
	if (!pid) {
		execl(ZONE_SELF, ZONE_SELF, "waiting", path, "1234", NULL);
		_exit(127);
	}
	struct found found = {0};
	for (int i = 0; i < 500 && found.events < 2 * 1234; i++) {
		struct timespec remainder = {0, 20000000};
		struct stat written;
		nanosleep(&remainder, NULL);
		if (!stat(path, &written) && written.st_size >= 64)
			found = read_file(path);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	found = read_file(path);
	assert_int_equal(found.events, 2 * 1234);
	assert_int_equal(found.ended, 1234);
	assert_int_equal(found.damaged_b, 0);
	assert_false(found.closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(programs_record_themselves),
	    cmocka_unit_test(the_environment_asks_for_a_file),
	    cmocka_unit_test(killed_programs_leave_a_readable_file),
	    cmocka_unit_test(a_kill_loses_nothing_that_was_written),
	    cmocka_unit_test(deep_recursion_is_recorded),
	    cmocka_unit_test(too_deep_recursion_is_counted),
	    cmocka_unit_test(recordings_and_failed_starts_keep_no_memory),
	    cmocka_unit_test(limited_memory_breaks_nothing),
	    cmocka_unit_test(histograms_without_a_place_are_counted),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
