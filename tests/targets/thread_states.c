/* thread_states.c: threads that spin, sleep, wait for a CPU, alternate and migrate, and report what they did.
 *
 *   schedule SECONDS      two threads: 20 ms of CPU time every 60 ms, and 30 ms every 50 ms
 *   pinned N SECONDS      N threads that spin on one CPU
 *   turns N               two threads that hand a semaphore to and fro N times each
 *   moves N               one thread that moves to another CPU N times
 *   many N                N threads, all alive at once, that sleep; each hundredth spins 5 ms of CPU time first
 *   brief N               N threads, eight at a time, that are called brief, and sleep 1 ms
 *   forks N               N processes one after the other, each with a thread
 *
 * Prints a line per thread, except for `many`, `brief` and `forks`: name tid life cpu ran waited voluntary involuntary
 * migrations; times are in ns: since the thread began, of its CPU clock, and as counted by the scheduler; migrations
 * are −1 if the kernel does not report them.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL)) {
	}
}

/* Spins for an amount of CPU time of the thread; reads the clock often enough. */
static void spin(uint64_t cpu_ns)
{
	uint64_t end_ns = read_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
	while (read_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (volatile int i = 0; i < 1000; i++) {
		}
}

static long long migrations(void)
{
	char line[256], path[64];
	long long count = -1;
	snprintf(path, sizeof path, "/proc/self/task/%d/sched", (int)gettid());
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		sscanf(line, "se.nr_migrations : %lld", &count);
	if (file)
		fclose(file);
	return count;
}

static void say(const char *name, uint64_t began_ns)
{
	char text[128] = "", path[64];
	unsigned long long ran = 0, waited = 0;
	struct rusage usage;
	snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)gettid());
	long long moves = migrations();
	FILE *file = fopen(path, "r");
	if (file && fgets(text, sizeof text, file))
		sscanf(text, "%llu %llu", &ran, &waited);
	if (file)
		fclose(file);
	getrusage(RUSAGE_THREAD, &usage);
	flockfile(stdout);
	printf("%s %d %llu %llu %llu %llu %ld %ld %lld\n", name, (int)gettid(),
	       (unsigned long long)(read_ns(CLOCK_MONOTONIC) - began_ns),
	       (unsigned long long)read_ns(CLOCK_THREAD_CPUTIME_ID), ran, waited, usage.ru_nvcsw, usage.ru_nivcsw,
	       moves);
	funlockfile(stdout);
}

struct job {
	pthread_t thread;
	char name[16];
	uint64_t spin_ns, every_ns, end_ns;
	sem_t *take, *give;
	long count;
};

static void *work_and_sleep(void *argument)
{
	struct job *job = argument;
	uint64_t began_ns = read_ns(CLOCK_MONOTONIC), next_ns = began_ns;
	pthread_setname_np(pthread_self(), job->name);
	while (read_ns(CLOCK_MONOTONIC) < job->end_ns) {
		spin(job->spin_ns);
		next_ns += job->every_ns;
		sleep_until(next_ns);
	}
	say(job->name, began_ns);
	return NULL;
}

static void *only_spin(void *argument)
{
	struct job *job = argument;
	uint64_t began_ns = read_ns(CLOCK_MONOTONIC);
	pthread_setname_np(pthread_self(), job->name);
	while (read_ns(CLOCK_MONOTONIC) < job->end_ns)
		for (volatile int i = 0; i < 10000; i++) {
		}
	say(job->name, began_ns);
	return NULL;
}

static void *take_turns(void *argument)
{
	struct job *job = argument;
	uint64_t began_ns = read_ns(CLOCK_MONOTONIC);
	pthread_setname_np(pthread_self(), job->name);
	for (long i = 0; i < job->count; i++) {
		while (sem_wait(job->take)) {
		}
		sem_post(job->give);
	}
	say(job->name, began_ns);
	return NULL;
}

static void *move(void *argument)
{
	struct job *job = argument;
	uint64_t began_ns = read_ns(CLOCK_MONOTONIC);
	cpu_set_t all, one;
	size_t cpus[2], found = 0;
	pthread_setname_np(pthread_self(), job->name);
	sched_getaffinity(0, sizeof all, &all);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &all))
			cpus[found++] = cpu;
	for (long i = 0; found == 2 && i < job->count; i++) {
		CPU_ZERO(&one);
		CPU_SET(cpus[i % 2], &one);
		sched_setaffinity(0, sizeof one, &one);
		spin(200000);
	}
	say(job->name, began_ns);
	return NULL;
}

static pthread_barrier_t all_there;

static void *be_one_of_many(void *argument)
{
	struct job *job = argument;
	pthread_setname_np(pthread_self(), job->name);
	pthread_barrier_wait(&all_there);
	spin(job->spin_ns);
	sleep_until(job->end_ns);
	return NULL;
}

static void begin(struct job *job, void *(*run)(void *argument), size_t stack_b)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	if (stack_b)
		pthread_attr_setstacksize(&attributes, stack_b);
	int rc = pthread_create(&job->thread, &attributes, run, job);
	if (rc) {
		fprintf(stderr, "no thread: %s\n", strerror(rc));
		exit(3);
	}
}

static void many(int count)
{
	struct job *jobs = calloc((size_t)count, sizeof *jobs);
	pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++) {
		snprintf(jobs[i].name, sizeof jobs[i].name, i % 100 ? "idle-%d" : "busy-%d", i);
		jobs[i].spin_ns = i % 100 ? 0 : 5000000;
		begin(&jobs[i], be_one_of_many, 64 << 10);
	}
	for (int i = 0; i < count; i++)
		jobs[i].end_ns = read_ns(CLOCK_MONOTONIC) + 1500000000;
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < count; i++)
		pthread_join(jobs[i].thread, NULL);
	free(jobs);
}

static void *be_brief(void *argument)
{
	(void)argument;
	pthread_setname_np(pthread_self(), "brief");
	sleep_until(read_ns(CLOCK_MONOTONIC) + 1000000);
	return NULL;
}

static void brief(int count)
{
	struct job jobs[8];
	for (int done = 0; done < count; done += 8) {
		int now = count - done < 8 ? count - done : 8;
		for (int i = 0; i < now; i++)
			begin(&jobs[i], be_brief, 0);
		for (int i = 0; i < now; i++)
			pthread_join(jobs[i].thread, NULL);
	}
}

static void forks(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			struct job job = {.name = "child", .end_ns = read_ns(CLOCK_MONOTONIC) + 1000000};
			pthread_barrier_init(&all_there, NULL, 1);
			job.spin_ns = 500000;
			begin(&job, be_one_of_many, 0);
			pthread_join(job.thread, NULL);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 2;
	double seconds = argc > 3 ? atof(argv[3]) : count;
	struct job jobs[64] = {{.name = "third", .spin_ns = 20000000, .every_ns = 60000000},
			       {.name = "most", .spin_ns = 30000000, .every_ns = 50000000}};
	uint64_t began_ns = read_ns(CLOCK_MONOTONIC), end_ns = began_ns + (uint64_t)(seconds * 1e9);
	sem_t ping, pong;
	int threads = 2;
	void *(*run)(void *argument) = work_and_sleep;
	sem_init(&ping, 0, 1);
	sem_init(&pong, 0, 0);
	if (!strcmp(what, "many") || !strcmp(what, "brief") || !strcmp(what, "forks")) {
		(*what == 'm' ? many : *what == 'b' ? brief : forks)(count);
		return 0;
	}
	if (!strcmp(what, "pinned")) {
		run = only_spin;
		threads = count < 64 ? count : 64;
		for (int i = 0; i < threads; i++)
			snprintf(jobs[i].name, sizeof jobs[i].name, "spin-%d", i);
	} else if (!strcmp(what, "turns")) {
		run = take_turns;
		jobs[0] = (struct job){.name = "ping", .take = &ping, .give = &pong, .count = count};
		jobs[1] = (struct job){.name = "pong", .take = &pong, .give = &ping, .count = count};
	} else if (!strcmp(what, "moves")) {
		run = move;
		threads = 1;
		jobs[0] = (struct job){.name = "mover", .count = count};
	}
	for (int i = 0; i < threads; i++) {
		jobs[i].end_ns = end_ns;
		begin(&jobs[i], run, 0);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(jobs[i].thread, NULL);
	return 0;
}
