/* thread_clock.c: the CPU time of threads, from context-switch records, and how much of it each sample accounts for.
 *
 * Switch records come in pairs. If one of a pair is missing, the interval adds to the uncertainty, not to the total.
 * The same holds for the time in which a CPU lost records. The kernel's own count removes the uncertainty: it replaces
 * everything that was counted before it was read, and of an interval that is open at that time, only the part after the
 * reading is added. A clock with more than 2 % of uncertainty is not used.
 */
#include "source/cpu/thread_clock.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "format/record.h"
#include "source/cpu/thread_clock_state.h"
#include "util/error.h"
#include "util/file.h"

#define DOUBT_SHARE 50u            /* 1 / DOUBT_SHARE of a clock's time may be uncertain */
#define NOT_KNOWN (UINT64_MAX / 4) /* uncertainty of a thread whose start was not seen */
#define LOOKS_MAX 256u             /* maximum of clocks set in one drain */
#define SHORT_LAGS 3u              /* in usual lags: a thread that ran for less has no user share of its own */
#define STALE_NS 20000000u         /* how far the kernel's count may lag: two ticks at 100 Hz */
#define CHECK_NS 500000000u        /* interval between checks of a clock that is not uncertain */

int sonde_thread_clocks_new(struct sonde_thread_clocks **out, const struct sonde_thread_sampling *sampling)
{
	struct sonde_thread_clocks *clocks = calloc(1, sizeof *clocks);
	if (!clocks)
		return sonde_error(ENOMEM, "out of memory for thread clocks");
	clocks->sampling = *sampling;
	clocks->user_share = 1;
	*out = clocks;
	return 0;
}

void sonde_thread_clocks_free(struct sonde_thread_clocks *clocks)
{
	if (!clocks)
		return;
	free(clocks->rows);
	sonde_map_fini(&clocks->by_tid);
	free(clocks);
}

void sonde_thread_clocks_user_only(struct sonde_thread_clocks *clocks, double user_share)
{
	clocks->user_only = 1;
	clocks->user_share = user_share;
}

/* --- the clock ------------------------------------------------------------------------------------------- */

static void doubt(struct sonde_thread_clocks *clocks, struct sonde_clock_row *first, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < first->set_at_ns)
		from_ns = first->set_at_ns;
	if (to_ns <= from_ns)
		return;
	if (first->doubt_ns < NOT_KNOWN)
		first->doubt_ns += to_ns - from_ns;
	clocks->doubts = 1;
}

/* The length of the part of an interval that lies after the time at which the clock was set. */
static uint64_t length(const struct sonde_clock_row *first, uint64_t in_ns, uint64_t out_ns)
{
	if (in_ns < first->set_at_ns)
		in_ns = first->set_at_ns;
	return out_ns > in_ns ? out_ns - in_ns : 0;
}

/* A thread can be on one CPU only, so intervals that are open on other CPUs (not `but`) have ended at an unknown time:
 * closes them. */
static void cancel(struct sonde_thread_clocks *clocks, struct sonde_clock_row *first, const struct sonde_clock_row *but,
		   uint64_t time_ns)
{
	for (struct sonde_clock_row *row = first; row; row = sonde_clock_next(clocks, row)) {
		if (row == but || !row->in_ns)
			continue;
		doubt(clocks, first, row->in_ns, time_ns);
		row->in_ns = 0;
	}
}

/* The first row of a thread, created if new; a thread whose start was not seen is uncertain. NULL when out of
 * memory. */
static struct sonde_clock_row *get_first(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns)
{
	struct sonde_clock_row *first = sonde_clock_first(clocks, tid);
	if (first || !(first = sonde_clock_add(clocks, tid, time_ns)))
		return first;
	first->doubt_ns = NOT_KNOWN;
	clocks->doubts = 1;
	return first;
}

static void forget(struct sonde_thread_clocks *clocks, pid_t tid)
{
	for (uint32_t id = sonde_clock_find(clocks, tid), next; id; id = next) {
		next = clocks->rows[id - 1].next;
		sonde_clock_give(clocks, id);
	}
}

void sonde_thread_clocks_start(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t ran_ns, uint64_t time_ns)
{
	forget(clocks, tid); /* the exit of the tid's previous thread was lost */
	struct sonde_clock_row *first = sonde_clock_add(clocks, tid, time_ns);
	if (first)
		first->before_ns = ran_ns;
}

void sonde_thread_clocks_forked(struct sonde_thread_clocks *clocks, pid_t tid)
{
	struct sonde_clock_row *first = sonde_clock_first(clocks, tid);
	if (first)
		first->forks++;
}

void sonde_thread_clocks_in(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns)
{
	struct sonde_clock_row *first = get_first(clocks, tid, time_ns);
	if (!first)
		return;
	struct sonde_clock_row *row = sonde_clock_on(clocks, &first, cpu);
	cancel(clocks, first, NULL, time_ns);
	first->last_ns = time_ns;
	if (row)
		row->in_ns = time_ns;
}

void sonde_thread_clocks_out(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns)
{
	struct sonde_clock_row *first = get_first(clocks, tid, time_ns);
	if (!first)
		return;
	struct sonde_clock_row *row = sonde_clock_on(clocks, &first, cpu);
	if (row && row->in_ns) {
		first->known_ns += length(first, row->in_ns, time_ns);
		row->total_ns += time_ns > row->in_ns ? time_ns - row->in_ns : 0;
		row->in_ns = 0;
	} else {
		doubt(clocks, first, first->last_ns, time_ns);
		cancel(clocks, first, NULL, first->last_ns);
	}
	first->last_ns = time_ns;
}

void sonde_thread_clocks_exec(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns)
{
	struct sonde_clock_row *first = get_first(clocks, tid, time_ns);
	if (!first)
		return;
	if (first->cpu < 0) { /* switches are recorded for it from this exec on */
		first->cpu = cpu;
		first->in_ns = time_ns;
		first->set_at_ns = time_ns;
	}
	first->kept_of = 0;
	first->stack = 0;
	first->status = SONDE_STACK_NO_USER;
}

void sonde_thread_clocks_lost(struct sonde_thread_clocks *clocks, uint64_t from_ns, uint64_t to_ns)
{
	clocks->losses++;
	for (uint32_t i = 0; i < clocks->count; i++)
		if (clocks->rows[i].is_first)
			doubt(clocks, &clocks->rows[i], from_ns, to_ns);
}

/* The first number of /proc/TID/schedstat, in ns. */
uint64_t sonde_thread_clocks_read(pid_t tid)
{
	char text[128];
	sonde_file_read(text, sizeof text, "/proc/%d/schedstat", (int)tid);
	return strtoull(text, NULL, 10);
}

/* Sets a clock from the kernel's count. Ignores a count below ours, since it belongs to another thread that now has the
 * tid. */
static void set(struct sonde_clock_row *first, uint64_t ran_ns, uint64_t time_ns)
{
	uint64_t since_ns = first->known_ns > first->checked_ns ? first->known_ns - first->checked_ns : 0;
	uint64_t most_ns = STALE_NS + since_ns / 8; /* our count includes time taken by interrupts and other VMs */
	if (ran_ns < first->before_ns || ran_ns - first->before_ns + most_ns < first->known_ns)
		return;
	first->known_ns = first->checked_ns = ran_ns - first->before_ns;
	first->set_at_ns = time_ns;
	first->doubt_ns = 0;
}

void sonde_thread_clocks_set(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t ran_ns, uint64_t time_ns)
{
	struct sonde_clock_row *first = sonde_clock_first(clocks, tid);
	if (first)
		set(first, ran_ns, time_ns);
}

static uint64_t clock_at(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *first,
			 uint64_t time_ns)
{
	uint64_t ran_ns = first->known_ns;
	for (const struct sonde_clock_row *row = first; row; row = sonde_clock_next(clocks, row))
		if (row->in_ns)
			ran_ns += length(first, row->in_ns, time_ns);
	return ran_ns;
}

/* True if a clock is to be set from the kernel's count. If time without samples is written as kernel time, even a clock
 * without uncertainty must follow the kernel's count. */
static int is_due(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *row, uint64_t now_ns)
{
	return row->doubt_ns || (clocks->user_only && clock_at(clocks, row, now_ns) >= row->checked_ns + CHECK_NS);
}

void sonde_thread_clocks_settle(struct sonde_thread_clocks *clocks)
{
	uint32_t looks = 0;
	uint64_t now_ns = sonde_clock_now_ns();
	int wanted = clocks->doubts || clocks->user_only;
	for (uint32_t i = 0; wanted && i < clocks->count && looks < LOOKS_MAX; i++) {
		clocks->looked_at = (clocks->looked_at + 1) % clocks->count;
		struct sonde_clock_row *row = &clocks->rows[clocks->looked_at];
		if (!row->is_first || !is_due(clocks, row, now_ns))
			continue;
		uint64_t ran_ns = sonde_thread_clocks_read(row->tid);
		if (ran_ns)
			set(row, ran_ns, sonde_clock_now_ns());
		looks++;
	}
	if (looks < LOOKS_MAX)
		clocks->doubts = 0;
}

/* True if a clock is accurate enough to weight samples. */
static int is_known(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *first, uint64_t ran_ns,
		    uint64_t time_ns)
{
	uint64_t most_ns = ran_ns / DOUBT_SHARE;
	if (most_ns < clocks->sampling.weight_ns)
		most_ns = clocks->sampling.weight_ns;
	return time_ns >= first->set_at_ns && first->doubt_ns <= most_ns;
}

/* --- what samples stand for ------------------------------------------------------------------------------ */

/* usual_lag_ns(): how far the samples of a thread that runs on two CPUs may lag behind its clock without a loss,
 * rounded up. most_left_ns(): how much time may be attributed to a kept stack, at most. */
static uint64_t usual_lag_ns(const struct sonde_thread_clocks *clocks)
{
	return clocks->sampling.period_ns[0] + clocks->sampling.period_ns[1];
}

static uint64_t most_left_ns(const struct sonde_thread_clocks *clocks)
{
	return 2 * usual_lag_ns(clocks);
}

/* Marks the thread's time up to ran_ns as complete: from now on, only time after it can count as missing. */
static void is_whole(const struct sonde_thread_clocks *clocks, struct sonde_clock_row *first, uint64_t ran_ns)
{
	first->losses = clocks->losses;
	first->whole_ns = ran_ns;
	first->whole_given_ns = first->given_ns;
}

/* The part of the thread's time that has not been written yet. */
static uint64_t open_ns(const struct sonde_clock_row *first, uint64_t ran_ns)
{
	uint64_t written_ns = first->given_ns + first->kernel_ns;
	return ran_ns > written_ns ? ran_ns - written_ns : 0;
}

/* The thread's time that could have been sampled but is not covered. Without kernel samples this is an estimate from
 * the average user share: the thread's own if it had samples before, else that of all threads. */
static uint64_t lag_ns(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *first, uint64_t ran_ns)
{
	if (!clocks->user_only)
		return ran_ns > first->given_ns ? ran_ns - first->given_ns : 0;
	double share = clocks->user_share;
	if (first->whole_ns > 10 * usual_lag_ns(clocks))
		share = (double)first->whole_given_ns / (double)first->whole_ns;
	double lag = (double)(ran_ns - first->whole_ns) * share - (double)(first->given_ns - first->whole_given_ns);
	return lag > 0 ? (uint64_t)lag : 0;
}

/* A thread that is sampled on a CPU is running there. If no switch record has put it there, that record was lost, and
 * an interval is opened. */
static struct sonde_clock_row *get_running(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns)
{
	struct sonde_clock_row *first = get_first(clocks, tid, time_ns);
	if (!first)
		return NULL;
	struct sonde_clock_row *row = sonde_clock_on(clocks, &first, cpu);
	if (row && row->in_ns)
		return first;
	doubt(clocks, first, first->last_ns, time_ns);
	cancel(clocks, first, NULL, first->last_ns);
	first->last_ns = time_ns;
	if (row)
		row->in_ns = time_ns;
	return first;
}

struct sonde_thread_share sonde_thread_clocks_sample(struct sonde_thread_clocks *clocks, pid_t tid, int cpu,
						     uint64_t time_ns)
{
	struct sonde_clock_row *first = get_running(clocks, tid, cpu, time_ns);
	struct sonde_thread_share share = {.weight_ns = clocks->sampling.weight_ns};
	if (!first)
		return share;
	uint64_t ran_ns = clock_at(clocks, first, time_ns);
	first->samples++;
	if (!is_known(clocks, first, ran_ns, time_ns)) {
		first->given_ns += share.weight_ns;
		return share;
	}
	uint64_t capacity_ns = open_ns(first, ran_ns);
	if (share.weight_ns > capacity_ns) /* the kernel swaps events between threads: part belongs to another */
		share.weight_ns = capacity_ns;
	uint64_t lag = lag_ns(clocks, first, ran_ns), usual = usual_lag_ns(clocks) + share.weight_ns;
	int lossy = first->losses != clocks->losses;
	if (lag > usual && lossy)
		share.lost_ns = lag - usual;
	else if (lag > usual && !clocks->user_only) /* in small steps: a loss may be reported later */
		share.weight_ns += lag - usual < most_left_ns(clocks) ? lag - usual : most_left_ns(clocks);
	if (clocks->user_only && share.lost_ns > capacity_ns - share.weight_ns)
		share.lost_ns = capacity_ns - share.weight_ns;
	first->given_ns += share.weight_ns + share.lost_ns;
	is_whole(clocks, first, ran_ns);
	return share;
}

uint64_t sonde_thread_clocks_extra(struct sonde_thread_clocks *clocks, pid_t tid, int cpu, uint64_t time_ns)
{
	struct sonde_clock_row *first = get_running(clocks, tid, cpu, time_ns);
	if (!first || clocks->user_only || first->losses != clocks->losses)
		return 0;
	uint64_t ran_ns = clock_at(clocks, first, time_ns);
	uint64_t lag = lag_ns(clocks, first, ran_ns), usual = usual_lag_ns(clocks), most = most_left_ns(clocks);
	if (!is_known(clocks, first, ran_ns, time_ns) || lag <= usual)
		return 0;
	uint64_t weight_ns = lag - usual < most ? lag - usual : most;
	first->given_ns += weight_ns;
	return weight_ns;
}

/* The time that counts as kernel time, because no sample of user code will cover it any more: events also fire in the
 * kernel, but write nothing there. On each CPU, samples may lag by the events' periods. */
static uint64_t kernel_due_ns(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *first,
			      uint64_t time_ns)
{
	uint64_t ran_ns = clock_at(clocks, first, time_ns), behind_ns = usual_lag_ns(clocks) / 2;
	if (!clocks->user_only || first->losses != clocks->losses || !is_known(clocks, first, ran_ns, time_ns))
		return 0;
	for (const struct sonde_clock_row *row = first; row; row = sonde_clock_next(clocks, row))
		behind_ns += usual_lag_ns(clocks) / 2;
	uint64_t due_ns = open_ns(first, ran_ns);
	return due_ns > behind_ns ? due_ns - behind_ns : 0;
}

uint64_t sonde_thread_clocks_kernel(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t owner, uint64_t time_ns)
{
	struct sonde_clock_row *first = clocks->user_only ? sonde_clock_first(clocks, tid) : NULL;
	uint64_t due_ns = first ? kernel_due_ns(clocks, first, time_ns) : 0;
	if (first)
		first->owner = owner;
	if (due_ns < clocks->sampling.weight_ns)
		return 0;
	first->kernel_ns += due_ns;
	return due_ns;
}

int sonde_thread_clocks_next_kernel(struct sonde_thread_clocks *clocks, uint32_t *at, uint64_t time_ns, uint32_t *owner,
				    uint64_t *kernel_ns)
{
	while (*at < clocks->count) {
		struct sonde_clock_row *row = &clocks->rows[(*at)++];
		*kernel_ns = row->is_first && row->owner ? kernel_due_ns(clocks, row, time_ns) : 0;
		if (!*kernel_ns)
			continue;
		row->kernel_ns += *kernel_ns;
		*owner = row->owner;
		return 1;
	}
	return 0;
}

/* Reservoir sampling: each of the thread's samples is kept with the same probability. */
void sonde_thread_clocks_stack(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status)
{
	struct sonde_clock_row *first = sonde_clock_first(clocks, tid);
	if (!first)
		return;
	clocks->random = sonde_hash_mix(clocks->random + 0x9e3779b97f4a7c15u);
	if (clocks->random % ++first->kept_of)
		return;
	first->stack = stack;
	first->status = status;
}

int sonde_thread_clocks_missing(const struct sonde_thread_clocks *clocks, pid_t tid)
{
	const struct sonde_clock_row *first = sonde_clock_first(clocks, tid);
	return first && !first->kept_of && !first->stack;
}

void sonde_thread_clocks_hint(struct sonde_thread_clocks *clocks, pid_t tid, uint32_t stack, uint8_t status)
{
	struct sonde_clock_row *first = sonde_clock_first(clocks, tid);
	if (!first)
		return;
	first->stack = stack;
	first->status = status;
}

/* The part of the events' periods that was unfinished when the thread ended, scaled by the user share. */
static uint64_t remainder_of_periods_ns(const struct sonde_thread_clocks *clocks, const struct sonde_clock_row *first)
{
	double remainder = 0;
	for (const struct sonde_clock_row *row = first; row; row = sonde_clock_next(clocks, row))
		for (int i = 0; i < 2; i++) {
			uint64_t period_ns = clocks->sampling.period_ns[i];
			remainder += (double)(row->total_ns % period_ns) / (double)period_ns;
		}
	return (uint64_t)(remainder * (double)clocks->sampling.weight_ns * clocks->user_share);
}

/* The user part of the time that no sample covers. Short threads share the average of all short threads. A long thread
 * gets the unfinished part of its periods and, as *lost, the time that its forks took: a child starts with the counts
 * of its parent's events. */
static uint64_t user_remainder_ns(struct sonde_thread_clocks *clocks, const struct sonde_clock_row *first,
				  uint64_t ran_ns, uint64_t *lost)
{
	uint64_t usual = usual_lag_ns(clocks), lag = lag_ns(clocks, first, ran_ns);
	uint64_t forked = first->forks * 2 * clocks->sampling.weight_ns;
	uint64_t capacity_ns = open_ns(first, ran_ns);
	if (ran_ns < SHORT_LAGS * usual) {
		clocks->balance_ns += (double)ran_ns * clocks->user_share - (double)first->given_ns;
		double remainder = clocks->balance_ns < 0 ? 0 : clocks->balance_ns;
		uint64_t remainder_ns = remainder < (double)capacity_ns ? (uint64_t)remainder : capacity_ns;
		clocks->balance_ns -= (double)remainder_ns;
		return remainder_ns;
	}
	double taken = (double)ran_ns * clocks->user_share - (double)(first->given_ns + usual);
	if (taken > 0)
		*lost = taken < (double)forked ? (uint64_t)taken : forked;
	if (first->losses != clocks->losses && lag > usual + *lost)
		*lost = lag - usual;
	uint64_t remainder_ns = remainder_of_periods_ns(clocks, first) + *lost;
	return remainder_ns < capacity_ns ? remainder_ns : capacity_ns;
}

/* Splits the time that no sample covers into the part that may be attributed to a stack and the rest. */
static void weigh_remainder(struct sonde_thread_clocks *clocks, struct sonde_clock_row *first, uint64_t ran_ns,
			    struct sonde_thread_total *out)
{
	uint64_t most_ns = first->losses != clocks->losses ? usual_lag_ns(clocks) : most_left_ns(clocks), lost_ns = 0;
	uint64_t remainder_ns =
	    clocks->user_only ? user_remainder_ns(clocks, first, ran_ns, &lost_ns) : lag_ns(clocks, first, ran_ns);
	out->left_ns = remainder_ns > lost_ns ? remainder_ns - lost_ns : 0;
	if (out->left_ns > most_ns)
		out->left_ns = most_ns;
	out->lost_ns = remainder_ns - out->left_ns;
	first->given_ns += remainder_ns;
	if (clocks->user_only)
		out->kernel_ns = open_ns(first, ran_ns);
	first->kernel_ns += out->kernel_ns;
	is_whole(clocks, first, ran_ns);
}

struct sonde_thread_total sonde_thread_clocks_total(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns)
{
	struct sonde_thread_total total = {.status = SONDE_STACK_NO_USER};
	struct sonde_clock_row *first = sonde_clock_first(clocks, tid);
	if (!first)
		return total;
	for (struct sonde_clock_row *row = first; row; row = sonde_clock_next(clocks, row)) {
		if (!row->in_ns)
			continue;
		first->known_ns += length(first, row->in_ns, time_ns);
		row->total_ns += time_ns > row->in_ns ? time_ns - row->in_ns : 0;
		row->in_ns = time_ns;
	}
	uint64_t ran_ns = first->known_ns;
	total.samples = first->samples;
	total.stack = first->stack;
	total.status = first->status;
	/* if the clock was set after the thread's end, it has the kernel's final count */
	if (is_known(clocks, first, ran_ns, time_ns < first->set_at_ns ? first->set_at_ns : time_ns))
		weigh_remainder(clocks, first, ran_ns, &total);
	if (first->doubt_ns <= ran_ns / DOUBT_SHARE)
		total.cpu_ns = ran_ns;
	return total;
}

struct sonde_thread_total sonde_thread_clocks_end(struct sonde_thread_clocks *clocks, pid_t tid, uint64_t time_ns)
{
	struct sonde_thread_total total = sonde_thread_clocks_total(clocks, tid, time_ns);
	forget(clocks, tid);
	return total;
}
