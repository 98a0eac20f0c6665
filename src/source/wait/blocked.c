/* blocked.c: the blocked source: what threads wait for, with their stacks, in processes without preloaded hooks.
 *
 * Static programs, Go, programs that refuse our object, and attached processes are polled from outside: 50 times a
 * second, or 10 times if they have more than a few threads (wait/blocked_budget.h). wait/blocked_processes.h selects
 * the processes, wait/blocked_look.h polls a thread. If a poll finds a thread blocked, the thread counts as blocked for
 * the time since the previous round of polls. On average, these times add up to the duration of the waits, however
 * short the waits or the threads' lifetimes are. So sums are unbiased estimates, while the durations of single waits
 * are not known. The time between polls is drawn from half to one and a half times the period, so that a program with
 * the same period is not always polled in the same phase.
 *
 * If there are too many threads for the budget, only every k-th thread of the list is polled, starting at a random
 * position in each round, and each poll counts for k times as long. So sums stay unbiased. The alternative, polling all
 * threads in turn over several rounds, would miss most of them in a short recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "source/wait/blocked_budget.h"
#include "source/wait/blocked_processes.h"
#include "source/sched/schedstat.h"
#include "source/record/detail.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "util/error.h"

#define METHOD "/proc/PID/task/TID/syscall and process_vm_readv, polled"

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_blocked_processes processes;
	struct sonde_blocked_budget budget;
	int is_awaited; /* there is something to poll */
	uint64_t start_ns, looked_ns, next_ns;
	uint64_t drained_cpu_ns; /* the recorder's CPU clock at the end of our last drain */
	uint64_t random;
	uint64_t rounds, strides; /* strides: sum of the strides of all rounds */
};

/* --- rounds ----------------------------------------------------------------------------------------------------- */

static uint64_t draw(struct sonde_source_run *run, uint64_t below)
{
	run->random = sonde_hash_mix(run->random + 0x9e3779b97f4a7c15u);
	return run->random % below;
}

/* The time for which a poll counts, scaled up to include the threads of the process that are not listed yet. */
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

/* True if there is anything to poll. */
static int is_awaited(const struct sonde_source_run *run)
{
	for (size_t i = 0; i < run->processes.list.count; i++)
		if (sonde_blocked_processes_is_waited_for(sonde_blocked_processes_at(&run->processes, i)))
			return 1;
	return 0;
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
	run->is_awaited = is_awaited(run);
}

/* --- the source ------------------------------------------------------------------------------------------------- */

static int blocked_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (!(options->waits & SONDE_WAIT_WHAT_LOCKS))
		return -ECANCELED;
	if (access("/proc/self/syscall", R_OK)) {
		snprintf(why, why_b,
			 "this kernel has no /proc/PID/syscall (CONFIG_HAVE_ARCH_TRACEHOOK): waits cannot be sampled "
			 "from outside");
		return -ENOTSUP;
	}
	return sonde_schedstat_probe(why, why_b);
}

static int blocked_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	const struct sonde_record_options *options = sonde_recorder_options(context->recorder);
	run->recorder = context->recorder;
	int result = sonde_blocked_processes_init(&run->processes, run->recorder,
						  options->attach || options->no_inject ? NULL : context->channel);
	if (result < 0)
		sonde_blocked_processes_fini(&run->processes);
	return result < 0 ? sonde_error(ENOMEM, "no memory for the blocked source") : 0;
}

static int blocked_start(struct sonde_source_run *run, pid_t pid)
{
	uint64_t now_ns = sonde_clock_now_ns();
	run->start_ns = run->processes.start_ns = run->looked_ns = run->random = now_ns;
	sonde_blocked_budget_init(&run->budget, now_ns);
	sonde_recorder_process(run->recorder, pid, now_ns);
	run->next_ns = now_ns + SONDE_BLOCKED_PERIOD_NS / 2 + draw(run, SONDE_BLOCKED_PERIOD_NS);
	sonde_blocked_processes_find(&run->processes, now_ns);
	run->is_awaited = is_awaited(run);
	return 0;
}

static void blocked_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	uint64_t now_ns = sonde_clock_now_ns();
	(void)horizon_ns;
	if (run->processes.failed)
		return;
	if (final)
		sonde_blocked_processes_end(&run->processes, now_ns);
	else if (now_ns >= run->next_ns)
		look(run, now_ns);
	run->drained_cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void blocked_flush(struct sonde_source_run *run)
{
	sonde_wait_chunks_flush(&run->processes.held.chunks);
}

static uint64_t blocked_due_ns(const struct sonde_source_run *run)
{
	return run->is_awaited && !run->processes.failed ? run->next_ns : UINT64_MAX;
}

static void lose(struct sonde_source_run *run, const char *cause, uint64_t count)
{
	sonde_recorder_lost(run->recorder,
			    &(struct sonde_recorder_loss){.source = "blocked", .cause = cause, .count = count});
}

/* Adds what could not be polled. */
static void say_limits(const struct sonde_source_run *run, struct sonde_detail *out)
{
	const struct sonde_blocked_processes *processes = &run->processes;
	if (processes->failed)
		sonde_detail_add(out, "out of memory for threads: they were not looked at any more");
	if (processes->denied)
		sonde_detail_add(out, "%llu process%s could not be polled%s%s%s%s",
				 (unsigned long long)processes->denied, processes->denied == 1 ? "" : "es",
				 *processes->denied_why ? ": " : "", processes->denied_name,
				 *processes->denied_why ? " " : "", processes->denied_why);
	if (processes->narrow)
		sonde_detail_add(out, "not polled: %llu program%s of 32 bits", (unsigned long long)processes->narrow,
				 processes->narrow == 1 ? "" : "s");
	if (processes->looker.missing_files)
		sonde_detail_add(out, "some polls were skipped: the hard limit on open files (ulimit -Hn) was reached");
	if (processes->looker.unreadable)
		sonde_detail_add(out, "stacks could not be read: %s", strerror(processes->looker.error));
	if (run->rounds && run->strides / run->rounds >= 2)
		sonde_detail_add(out,
				 "only one thread in %llu was polled at a time, standing for the others, to stay below "
				 "0.5 %% of a CPU",
				 (unsigned long long)(run->strides / run->rounds));
}

static void blocked_stop(struct sonde_source_run *run)
{
	struct sonde_detail detail = {0};
	uint64_t ran_ns = sonde_clock_now_ns() - run->start_ns;
	say_limits(run, &detail);
	struct sonde_recorder_state state = {.state = detail.used ? SONDE_SOURCE_LIMITED : SONDE_SOURCE_ON,
					     .method = METHOD,
					     .detail = sonde_detail_text(&detail),
					     .rate_hz = 1e9 / SONDE_BLOCKED_PERIOD_NS};
	state.effective_hz = ran_ns ? (double)run->rounds * 1e9 / (double)ran_ns : 0;
	if (run->processes.denied && !run->processes.held.looks)
		state.state = SONDE_SOURCE_UNAVAILABLE;
	if (run->processes.held.looks || detail.used)
		sonde_recorder_source(run->recorder, "blocked", &state);
	lose(run, "too many waits before it was known whether hooks record them", run->processes.held.unheld);
	lose(run, "the thread exited before it was known", run->processes.held.unknown);
	sonde_blocked_processes_fini(&run->processes);
}

const struct sonde_source sonde_source_blocked = {
    .name = "blocked",
    .title = "what threads wait for, sampled from outside where nothing is preloaded (--threads)",
    .cost = "at most 0.5 % of a CPU, in the recorder",
    .run_b = sizeof(struct sonde_source_run),
    .probe = blocked_probe,
    .open = blocked_open,
    .start = blocked_start,
    .drain = blocked_drain,
    .flush = blocked_flush,
    .due_ns = blocked_due_ns,
    .stop = blocked_stop,
};
