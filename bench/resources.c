/* resources.c: how long a round of the resources source takes: resources PROCESSES THREADS ROUNDS GAP_MS. Creates
 * PROCESSES processes with THREADS sleeping threads each, and reads them and the machine as `sonde record` does, with a
 * details round each 500 ms. Prints the CPU time per round in µs, and the share of a core in percent. That share is
 * realistic with a GAP_MS of 100: after such a pause caches are cold.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/resource/machine.h"
#include "source/resource/process.h"

static void *wait_for_ever(void *nothing)
{
	pause();
	return nothing;
}

static pid_t make_process(int threads)
{
	int ready[2];
	char byte;
	if (pipe(ready))
		exit(2);
	pid_t pid = fork();
	if (!pid) {
		pthread_t thread;
		for (int i = 1; i < threads; i++)
			if (pthread_create(&thread, NULL, wait_for_ever, NULL))
				_exit(2);
		if (write(ready[1], "", 1) != 1)
			_exit(2);
		wait_for_ever(NULL);
	}
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		exit(2);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void put(void *sum, enum sonde_metric metric, const char *object, int64_t value)
{
	(void)metric, (void)object;
	*(int64_t *)sum += value;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	int count = atoi(argv[1]), rounds = atoi(argv[3]), gap_ms = atoi(argv[4]);
	pid_t *pids = calloc((size_t)count, sizeof *pids);
	struct sonde_resources_process *processes = calloc((size_t)count, sizeof *processes);
	struct sonde_resources_machine *machine;
	struct sonde_resources now;
	int64_t sum = 0;
	if (!pids || !processes || sonde_resources_machine_new(&machine, "", getpid()))
		return 2;
	for (int i = 0; i < count; i++) {
		pids[i] = make_process(atoi(argv[2]));
		if (sonde_resources_process_open(&processes[i], "", pids[i], 1) != SONDE_RESOURCES_FOUND)
			return 2;
	}
	uint64_t spent_ns = 0, start_ns = sonde_clock_now_ns();
	for (int round = 0; round < rounds; round++) {
		int is_detailed = round % 5 == 0;
		usleep((useconds_t)gap_ms * 1000);
		uint64_t before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		sonde_resources_machine_read(machine, is_detailed, put, &sum);
		for (int i = 0; i < count; i++)
			sonde_resources_process_read(&processes[i], is_detailed, &now);
		spent_ns += sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	}
	uint64_t passed_ns = sonde_clock_now_ns() - start_ns;
	printf("%.1f %.4f\n", (double)spent_ns / rounds / 1e3, 100 * (double)spent_ns / (double)passed_ns);
	for (int i = 0; i < count; i++) {
		sonde_resources_process_close(&processes[i]);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	sonde_resources_machine_free(machine);
	free(processes);
	free(pids);
	return sum == -1;
}
