/* blocked.c: the blocked source: what threads wait for, with their stacks, in processes without preloaded hooks.
 *
 * Static programs, Go, programs that refuse our object, and attached processes are polled from outside, 50 times a
 * second or, with more than a few threads, 10 times (wait/blocked_budget.h). wait/blocked_processes.h selects the
 * processes, wait/blocked_look.h polls a thread. A poll that finds a thread blocked stands for the time since the
 * previous polls. On average, the polls that find a thread in a wait add up to the duration of the wait, however short
 * waits or threads' lifetimes are: sums are unbiased estimates, while single waits are not known. The time between
 * polls is drawn from half to one and a half times the period, so that a program with the same period is not always
 * polled in the same phase.
 *
 * If there are too many threads for the budget, one in k is polled: every k-th thread of the list, starting at a random
 * position in each round; each poll then stands for k times as long. So sums stay unbiased; polling all threads one
 * after the other would miss most of them in a short recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "source/wait/blocked_budget.h"
#include "source/wait/blocked_processes.h"
#include "source/sched/schedstat.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "util/error.h"

#define METHOD "/proc/PID/task/TID/syscall and process_vm_readv, polled"

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_blocked_processes processes;
	struct sonde_blocked_budget budget;
	int timer_fd, is_armed;
	uint64_t start_ns, looked_ns, next_ns;
	uint64_t drained_cpu_ns; /* the recorder's CPU clock at the end of our last drain */
	uint64_t random;
	uint64_t rounds, strides; /* strides: sum over all rounds */
};

/* --- rounds ----------------------------------------------------------------------------------------------------- */

static uint64_t draw(struct sonde_source_run *run, uint64_t below)
{
	run->random = sonde_hash_mix(run->random + 0x9e3779b97f4a7c15u);
	return run->random % below;
}

/* The time that a poll stands for, scaled up for threads of the process that are not listed yet. */
static uint64_t stands_for(const struct sonde_blocked_listed *listed, uint64_t stands_ns)
{
	size_t known = listed->count - listed->gone;
	return known && listed->alive > known ? stands_ns * listed->alive / known : stands_ns;
}

/* Polls one thread in `stride`; returns the number of polls. */
static size_t look_at_all(struct sonde_source_run *run, uint64_t stride, uint64_t stands_ns)
{
	size_t looks = 0, skip = stride > 1 ? draw(run, stride) : 0;
	for (size_t i = 0; i < run->processes.list.count; i++) {
		struct sonde_blocked_listed *listed = sonde_blocked_processes_at(&run->processes, i);
		size_t at = skip, count = listed->count;
		if (!sonde_blocked_processes_is_looked_at(listed))
			continue;
		for (; at < count && sonde_blocked_processes_is_looked_at(listed); at += stride, looks++)
			if (listed->threads[at].tid)
				sonde_blocked_processes_look(&run->processes, listed, &listed->threads[at],
							     stands_for(listed, stride * stands_ns));
		skip = at < count ? 0 : at - count;
		sonde_blocked_processes_looked(&run->processes, listed);
	}
	return looks;
}

/* Schedules the next wake-up of the recorder while there is anything to poll. */
static void arm(struct sonde_source_run *run, uint64_t now_ns)
{
	int wanted = 0;
	for (size_t i = 0; i < run->processes.list.count && !wanted; i++)
		wanted = sonde_blocked_processes_is_waited_for(sonde_blocked_processes_at(&run->processes, i));
	struct itimerspec at = {0};
	uint64_t wait_ns = run->next_ns > now_ns ? run->next_ns - now_ns : 1;
	if (wanted)
		at.it_value = (struct timespec){(time_t)(wait_ns / 1000000000u), (long)(wait_ns % 1000000000u)};
	if (wanted || run->is_armed)
		timerfd_settime(run->timer_fd, 0, &at, NULL); /* discards expirations */
	run->is_armed = wanted;
}

static void look(struct sonde_source_run *run, uint64_t now_ns)
{
	uint64_t cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID), stands_ns = now_ns - run->looked_ns;
	sonde_blocked_budget_learn_wake(&run->budget, cpu_ns - run->drained_cpu_ns);
	size_t count = sonde_blocked_processes_find(&run->processes, now_ns);
	uint64_t found_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	struct sonde_blocked_round round = sonde_blocked_budget_round(&run->budget, count, found_ns - cpu_ns);
	size_t looks = look_at_all(run, round.stride ? round.stride : 1, stands_ns);
	run->looked_ns = now_ns;
	run->rounds += count > 0;
	run->strides += round.stride;
	sonde_blocked_budget_learn_looks(&run->budget, sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - found_ns, looks);
	sonde_blocked_processes_settle(&run->processes, now_ns);
	cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	uint64_t paid_ns = sonde_blocked_budget_pay(&run->budget, cpu_ns, now_ns);
	run->next_ns = now_ns + round.period_ns / 2 + draw(run, round.period_ns);
	if (run->next_ns < paid_ns)
		run->next_ns = paid_ns;
	arm(run, sonde_clock_now_ns());
}

/* --- the source ------------------------------------------------------------------------------------------------- */

static int blocked_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (options && (!(options->waits & SONDE_WAIT_WHAT_LOCKS) || options->only_resources))
		return -ECANCELED;
	if (access("/proc/self/syscall", R_OK)) {
		snprintf(why, why_b,
			 "this kernel has no /proc/PID/syscall (CONFIG_HAVE_ARCH_TRACEHOOK): waits cannot be sampled "
			 "from outside");
		return -ENOTSUP;
	}
	return sonde_schedstat_probe(why, why_b);
}

static int blocked_open(struct sonde_source_run **out, const struct sonde_source_context *context)
{
	struct sonde_recorder *recorder = context->recorder;
	struct sonde_channel *channel = context->channel;
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	struct sonde_source_run *run = calloc(1, sizeof *run);
	if (!run)
		return sonde_error(ENOMEM, "no memory for the blocked source");
	int result = sonde_blocked_processes_init(&run->processes, recorder,
						  options->attach || options->no_inject ? NULL : channel);
	run->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (result < 0 || run->timer_fd < 0) {
		sonde_blocked_processes_fini(&run->processes);
		if (run->timer_fd >= 0)
			close(run->timer_fd);
		free(run);
		return sonde_error(ENOMEM, "no memory or descriptor for the blocked source");
	}
	run->recorder = recorder;
	*out = run;
	return 0;
}

static int blocked_start(struct sonde_source_run *run, pid_t pid)
{
	uint64_t now_ns = sonde_clock_now_ns();
	run->start_ns = run->processes.start_ns = run->looked_ns = run->random = now_ns;
	sonde_blocked_budget_init(&run->budget, now_ns);
	sonde_recorder_process(run->recorder, pid, now_ns);
	run->next_ns = now_ns + SONDE_BLOCKED_PERIOD_NS / 2 + draw(run, SONDE_BLOCKED_PERIOD_NS);
	sonde_blocked_processes_find(&run->processes, now_ns);
	arm(run, now_ns);
	return 0;
}

static int blocked_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	uint64_t now_ns = sonde_clock_now_ns();
	(void)horizon_ns;
	if (run->processes.failed)
		return sonde_recorder_error(run->recorder);
	if (final)
		sonde_blocked_processes_end(&run->processes, now_ns);
	else if (now_ns >= run->next_ns)
		look(run, now_ns);
	run->drained_cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	return sonde_recorder_error(run->recorder);
}

static void blocked_flush(struct sonde_source_run *run)
{
	sonde_wait_chunks_flush(&run->processes.held.chunks);
}

static size_t blocked_poll_fds(struct sonde_source_run *run, int *fds, size_t max)
{
	if (!max)
		return 0;
	fds[0] = run->timer_fd;
	return 1;
}

static void lose(struct sonde_source_run *run, const char *cause, uint64_t count)
{
	struct sonde_recorder_loss loss = {
	    .source = "blocked", .cause = cause, .count = count, .time_ns = sonde_clock_now_ns()};
	if (count)
		sonde_recorder_lost(run->recorder, &loss);
}

/* Writes what could not be polled; returns the number of bytes. */
static size_t say_limits(const struct sonde_source_run *run, char *out, size_t out_b)
{
	size_t at = 0;
#define SAY(...) \
	at += (size_t)snprintf(out + at, at < out_b ? out_b - at : 0, __VA_ARGS__), at = at < out_b ? at : out_b - 1
	if (run->processes.failed)
		SAY("out of memory for threads: they were not looked at any more");
	if (run->processes.denied)
		SAY("%s%llu process%s could not be polled%s%s%s%s", at ? "; " : "",
		    (unsigned long long)run->processes.denied, run->processes.denied == 1 ? "" : "es",
		    *run->processes.denied_why ? ": " : "", run->processes.denied_name,
		    *run->processes.denied_why ? " " : "", run->processes.denied_why);
	if (run->processes.narrow)
		SAY("%s%llu program%s of 32 bits",
		    at ? "; not polled: " : "not polled: ", (unsigned long long)run->processes.narrow,
		    run->processes.narrow == 1 ? "" : "s");
	if (run->processes.looker.missing_files)
		SAY("%ssome polls were skipped: the hard limit on open files (ulimit -Hn) was reached", at ? "; " : "");
	if (run->processes.looker.unreadable)
		SAY("%sstacks could not be read: %s", at ? "; " : "", strerror(run->processes.looker.error));
	if (run->rounds && run->strides / run->rounds >= 2)
		SAY("%sonly one thread in %llu was polled at a time, standing for the others, to stay below 0.5 %% of "
		    "a CPU",
		    at ? "; " : "", (unsigned long long)(run->strides / run->rounds));
#undef SAY
	return at;
}

static void blocked_stop(struct sonde_source_run *run)
{
	char detail[512] = "";
	uint64_t ran_ns = sonde_clock_now_ns() - run->start_ns;
	size_t limits_b = say_limits(run, detail, sizeof detail);
	struct sonde_recorder_state state = {.state = limits_b ? SONDE_SOURCE_LIMITED : SONDE_SOURCE_ON,
					     .method = METHOD,
					     .detail = limits_b ? detail : NULL,
					     .rate_hz = 1e9 / SONDE_BLOCKED_PERIOD_NS};
	state.effective_hz = ran_ns ? (double)run->rounds * 1e9 / (double)ran_ns : 0;
	if (run->processes.denied && !run->processes.held.looks)
		state.state = SONDE_SOURCE_UNAVAILABLE;
	if (run->processes.held.looks || limits_b)
		sonde_recorder_source(run->recorder, "blocked", &state);
	lose(run, "too many waits before it was known whether hooks record them", run->processes.held.unheld);
	lose(run, "the thread exited before it was known", run->processes.held.unknown);
	sonde_blocked_processes_fini(&run->processes);
	close(run->timer_fd);
	free(run);
}

const struct sonde_source sonde_source_blocked = {
    .name = "blocked",
    .title = "what threads wait for, sampled from outside where nothing is preloaded (--threads)",
    .cost = "at most 0.5 % of a CPU, in the recorder",
    .probe = blocked_probe,
    .open = blocked_open,
    .start = blocked_start,
    .drain = blocked_drain,
    .flush = blocked_flush,
    .poll_fds = blocked_poll_fds,
    .stop = blocked_stop,
};
