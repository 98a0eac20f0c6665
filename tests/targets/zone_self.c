/* zone_self.c: a program that records itself and checks its own query results; the exit code tells which check
 * failed. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/sonde.h>

static void zones(int count)
{
	for (int i = 0; i < count; i++) {
		SONDE_ZONE("self");
	}
}

static void *thread(void *data)
{
	zones(1000);
	SONDE_HISTOGRAM("values", 5);
	return data;
}

static int profilers(void)
{
	struct sonde_profiler *profiler = sonde_profiler_new();
	struct sonde_stats stats, rows[4];
	uint64_t took = 0, longest = 0;
	if (sonde_profiler_stop(profiler, "never", NULL) != SONDE_ERR_MISMATCH ||
	    sonde_profiler_total_ns(profiler, "a"))
		return 20;
	for (int i = 0; i < 3; i++) {
		if (sonde_profiler_start_work(profiler, "a", 100, 10, 1) || sonde_profiler_start(profiler, "b"))
			return 21;
		usleep(1000u * (unsigned)i);
		if (sonde_profiler_stop(profiler, "b", NULL) || sonde_profiler_stop(profiler, "a", &took))
			return 22;
		longest = took > longest ? took : longest;
	}
	if (sonde_profiler_stats(profiler, "a", &stats) || stats.count != 3 || stats.flop != 300 || stats.items != 3)
		return 23;
	if (stats.max_ns < 2000000 || stats.min_ns > stats.max_ns || stats.std_ns <= 0 || longest != stats.max_ns)
		return 24;
	if (stats.mean_ns * 3 < (double)stats.total_ns - 1 || stats.mean_ns * 3 > (double)stats.total_ns + 1)
		return 25;
	if (sonde_profiler_top(profiler, rows, 4) != 2 || strcmp(rows[0].name, "a") != 0)
		return 26;
	if (sonde_profiler_start(NULL, "global") || sonde_profiler_stop(NULL, "global", NULL))
		return 27;
	sonde_profiler_free(profiler);
	return sonde_profiler_start(NULL, "") == SONDE_ERR_ARGUMENT ? 0 : 28;
}

static void count_call(void *context)
{
	++*(int *)context;
	zones(1);
}

/* --- one question each: MODE FILE NUMBER --------------------------------------------------------------------------*/

#define MAY_BE_OPEN 65535 /* SONDE_ZONES_OPEN_MAX */

/* `number` zones, each inside the one before, drained in between. */
static int deep(const char *path, long number)
{
	struct sonde_stats stats;
	if (sonde_start(path))
		return 30;
	SONDE_BEGIN("outer");
	for (long i = 0; i < number; i++) {
		SONDE_BEGIN("deep");
		if (i % 8192 == 8191)
			(void)sonde_has_results();
	}
	zones(1);
	(void)sonde_has_results();
	for (long i = 0; i < number; i++) {
		SONDE_END();
		if (i % 8192 == 99)
			(void)sonde_has_results();
	}
	SONDE_END();
	long kept = number < MAY_BE_OPEN - 1 ? number : MAY_BE_OPEN - 1;
	if (sonde_stats_of("deep", &stats) || stats.count != (uint64_t)kept)
		return 31;
	if (sonde_stats_of("outer", &stats) || stats.count != 1 || stats.self_ns > stats.total_ns)
		return 32;
	uint64_t left_out = (uint64_t)(number - kept) + (number > kept);
	return sonde_lost() == 2 * left_out ? sonde_stop() : 33;
}

static long status_kb(const char *key)
{
	char line[256];
	long value = 0;
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			value = atol(line + strlen(key) + 1);
	if (file)
		fclose(file);
	return value;
}

struct sleeper {
	sem_t go, done;
};

/* Records on request, and exits while it still refers to a pool that has been reused. */
static void *sleep_through(void *data)
{
	struct sleeper *sleeper = data;
	for (int i = 0; i < 2; i++) {
		sem_wait(&sleeper->go);
		zones(10);
		sem_post(&sleeper->done);
	}
	sem_wait(&sleeper->go);
	return NULL;
}

static int cycle(const char *path, struct sleeper *sleeper, int with_sleeper)
{
	struct sonde_stats stats;
	if (unlink(path) || sonde_start(path))
		return 40;
	zones(1000);
	if (with_sleeper)
		sem_post(&sleeper->go);
	if (with_sleeper)
		sem_wait(&sleeper->done);
	uint64_t count = with_sleeper ? 1010 : 1000;
	if (sonde_stats_of("self", &stats) || stats.count != count || sonde_lost())
		return 41;
	return sonde_stop() || sonde_stats_of("self", &stats) || stats.count != count ? 42 : 0;
}

static int failed_starts(const char *path, long number)
{
	struct sonde_stats stats;
	for (long i = 0; i < number; i++)
		if (sonde_start(path) != SONDE_ERR_FILE || sonde_is_on())
			return 43;
	return sonde_stats_of("self", &stats) || stats.count < 1000 ? 44 : 0;
}

/* Recordings that end, and starts that fail, use no more memory than the first few. */
static int cycles(const char *path, long number)
{
	struct sleeper sleeper;
	pthread_t other;
	sem_init(&sleeper.go, 0, 0);
	sem_init(&sleeper.done, 0, 0);
	pthread_create(&other, NULL, sleep_through, &sleeper);
	FILE *exists = fopen(path, "w");
	if (!exists || fclose(exists))
		return 45;
	int code = 0;
	for (int i = 0; i < 5 && !code; i++)
		code = cycle(path, &sleeper, i == 0 || i == 4); /* the same pool each time, with others in between */
	sem_post(&sleeper.go);
	pthread_join(other, NULL);
	long size_kb = status_kb("VmSize:"), resident_kb = status_kb("VmRSS:");
	for (long i = 0; i < number && !code; i++)
		code = cycle(path, &sleeper, 0);
	if (code || (code = failed_starts(path, number)))
		return code;
	if (status_kb("VmSize:") > size_kb + 4096)
		return 46;
	return status_kb("VmRSS:") > resident_kb + 8192 ? 47 : 0;
}

/* Starts recording under limits of memory that are relaxed step by step: the program always runs on, at first
 * unrecorded, and a failed start leaves nothing behind. */
static int limits(const char *path, long number)
{
	struct rlimit before, limit;
	getrlimit(RLIMIT_AS, &before);
	int code = SONDE_ERR_SYSTEM;
	long failed = 0;
	for (long more_kb = 512; more_kb < number && code; more_kb += 4096) {
		long size_kb = status_kb("VmSize:");
		limit = before;
		limit.rlim_cur = (rlim_t)(size_kb + more_kb) * 1024;
		setrlimit(RLIMIT_AS, &limit);
		code = sonde_start(path);
		zones(10);
		setrlimit(RLIMIT_AS, &before);
		if (!code)
			break;
		failed++;
		if (code != SONDE_ERR_SYSTEM || !access(path, F_OK) || status_kb("VmSize:") > size_kb + 512)
			return 50;
	}
	zones(100);
	return code || failed < 10 ? 51 : sonde_stop();
}

static const char *name_of(long number)
{
	static __thread char name[32];
	snprintf(name, sizeof(name), "h%ld", number);
	return name;
}

static void *sixty_histograms(void *data)
{
	for (long i = 0; i < 60; i++)
		sonde_histogram_record(name_of((long)(intptr_t)data * 60 + i), 7);
	return data;
}

/* More histograms than a thread has places for, and many in all. */
static int histograms(const char *path, long number)
{
	if (sonde_start(path))
		return 60;
	for (long i = 0; i < number; i++)
		if (sonde_histogram_record(name_of(i), 5) != (i < 64 ? SONDE_OK : SONDE_ERR_FULL))
			return 61;
	if (sonde_lost() != (uint64_t)number - 64)
		return 62;
	for (long i = 0; i < number / 60; i++) {
		pthread_t other;
		pthread_create(&other, NULL, sixty_histograms, (void *)(intptr_t)i);
		pthread_join(other, NULL);
		(void)sonde_has_results(); /* drains: their memory is free again */
	}
	return sonde_lost() == (uint64_t)number - 64 ? sonde_stop() : 63;
}

/* Records, and waits to be killed. */
static int waiting(const char *path, long number)
{
	if (sonde_start(path))
		return 70;
	zones((int)number);
	pause();
	return 71;
}

static int run_mode(char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *path, long number);
	} modes[] = {
	    {"deep", deep}, {"cycles", cycles}, {"limits", limits}, {"histograms", histograms}, {"waiting", waiting}};
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run(argv[2], atol(argv[3]));
	return 1;
}

/* args: FILE: two recordings in one process, with a fork in the first. */
int main(int argc, char **argv)
{
	char second[1024];
	struct sonde_stats stats;
	pthread_t other;
	int status = 0;
	if (argc == 4)
		return run_mode(argv);
	if (argc < 2 || sonde_is_on() || sonde_has_results() || sonde_stop() != SONDE_ERR_OFF)
		return 1;
	zones(10); /* off: nowhere */
	if (sonde_start(argv[1]) || !sonde_is_on() || sonde_start(argv[1]) != SONDE_ERR_BUSY)
		return 2;
	zones(100);
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	pid_t child = fork();
	if (!child) {
		zones(50);
		return sonde_stats_of("self", &stats) || stats.count != 50 ? 3 : 0;
	}
	waitpid(child, &status, 0);
	if (status)
		return 4;
	if (sonde_stats_of("self", &stats) || stats.count != 1100)
		return 5;
	int calls = 0;
	sonde_run("run", count_call, &calls);
	if (calls != 1 || sonde_stats_of("run", &stats) || stats.count != 1 || stats.self_ns > stats.total_ns)
		return 11;
	int code = profilers();
	if (code)
		return code;
	if (sonde_stop() || sonde_is_on())
		return 6;
	zones(1000); /* off again */
	if (sonde_stats_of("self", &stats) || stats.count != 1101)
		return 7;
	if (sonde_start(argv[1]) != SONDE_ERR_FILE || sonde_file_errno() == 0)
		return 8;
	snprintf(second, sizeof(second), "%s.second", argv[1]);
	if (sonde_start(second))
		return 9;
	zones(7);
	printf("%d\n", (int)child);
	return sonde_stats_of("self", &stats) || stats.count != 7 ? 10 : 0;
}
