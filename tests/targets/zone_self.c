/* zone_self.c: a program that records itself and checks its own answers; says by its exit code which check failed. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
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

/* args: FILE: two recordings in one process, with a fork in the first. */
int main(int argc, char **argv)
{
	char second[1024];
	struct sonde_stats stats;
	pthread_t other;
	int status = 0;
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
