/* blocked_budget.c: limits polling to 0.5 % of a CPU, plus a credit of 10 ms for data that is read for the first time
 * (wait/blocked_budget.h).
 *
 * If the budget is short, rounds first become rarer, up to a limit; only then are fewer threads polled per round. The
 * reason is that a wake-up costs as much as several polls. The cost of a wake-up is estimated from the CPU time that
 * the recorder uses between rounds. This time includes work that other sources would have done later anyway. So the
 * estimate is the lower quartile of this time, which contains only the work that occurs at each wake-up. A poll that
 * reads a table for the first time, or a stack of a new program, costs a hundred times as much as others and does not
 * predict the cost of the next poll.
 */
#include "source/wait/blocked_budget.h"

#define PERIOD_MOST_NS 100000000u /* maximum: if it is too short for all threads, not all are polled in a round */
#define SLICE_NS 1000000u         /* maximum CPU time at once, except for first-time reads */
#define COST_SHARE 200u
#define CREDIT_NS 10000000u
#define CREDIT_PARTS 10u /* 1/CREDIT_PARTS of the remaining credit is spent at once */
#define WAKE_NS 100000u  /* initial estimate of a wake-up: caches are cold */
#define WAKE_LEAST_NS 5000u
#define WAKE_MOST_NS 250000u /* a wake-up that costs more includes other sources' work */
#define WAKE_PARTS 64u       /* parts of the estimate: one step up or three down lead to the lower quartile */
#define LOOK_NS 15000u       /* initial estimate of a poll */

void sonde_blocked_budget_init(struct sonde_blocked_budget *budget, uint64_t now_ns)
{
	*budget = (struct sonde_blocked_budget){.wake_ns = WAKE_NS, .look_ns = LOOK_NS, .owed_ns = now_ns};
}

/* The period in which all threads can be polled, up to a limit. */
static uint64_t period_of(const struct sonde_blocked_budget *budget, size_t threads)
{
	uint64_t period_ns = (budget->wake_ns + threads * budget->look_ns) * COST_SHARE;
	return period_ns < SONDE_BLOCKED_PERIOD_NS ? SONDE_BLOCKED_PERIOD_NS
	       : period_ns > PERIOD_MOST_NS        ? PERIOD_MOST_NS
						   : period_ns;
}

/* The CPU time available for polls now: the period's share plus a part of the credit, less the time used for
 * listing. */
static uint64_t afford_ns(const struct sonde_blocked_budget *budget, uint64_t period_ns, uint64_t spent_ns)
{
	uint64_t credit_ns = budget->debt_ns < CREDIT_NS ? CREDIT_NS - budget->debt_ns : 0;
	uint64_t sum_ns = period_ns / COST_SHARE + credit_ns / CREDIT_PARTS, used_ns = spent_ns + budget->wake_ns;
	uint64_t remainder_ns = sum_ns > used_ns ? sum_ns - used_ns : 0;
	return remainder_ns < SLICE_NS ? remainder_ns : SLICE_NS;
}

struct sonde_blocked_round sonde_blocked_budget_round(const struct sonde_blocked_budget *budget, size_t threads,
						      uint64_t spent_ns)
{
	struct sonde_blocked_round round = {.period_ns = period_of(budget, threads)};
	uint64_t most = afford_ns(budget, round.period_ns, spent_ns) / budget->look_ns + 1;
	round.stride = (threads + most - 1) / most;
	return round;
}

void sonde_blocked_budget_learn_wake(struct sonde_blocked_budget *budget, uint64_t cpu_ns)
{
	uint64_t step_ns = budget->wake_ns / WAKE_PARTS;
	budget->wake_ns = cpu_ns > budget->wake_ns ? budget->wake_ns + step_ns : budget->wake_ns - 3 * step_ns;
	if (budget->wake_ns < WAKE_LEAST_NS)
		budget->wake_ns = WAKE_LEAST_NS;
	if (budget->wake_ns > WAKE_MOST_NS)
		budget->wake_ns = WAKE_MOST_NS;
}

void sonde_blocked_budget_learn_looks(struct sonde_blocked_budget *budget, uint64_t cpu_ns, size_t looks)
{
	if (!looks)
		return;
	uint64_t look_ns = cpu_ns / looks, most_ns = 2 * budget->look_ns;
	budget->look_ns = (7 * budget->look_ns + (look_ns < most_ns ? look_ns : most_ns)) / 8 + 1;
}

uint64_t sonde_blocked_budget_pay(struct sonde_blocked_budget *budget, uint64_t cpu_ns, uint64_t now_ns)
{
	uint64_t paid_ns = (now_ns - budget->owed_ns) / COST_SHARE;
	budget->owed_ns = now_ns;
	budget->debt_ns = cpu_ns + budget->wake_ns + (budget->debt_ns > paid_ns ? budget->debt_ns - paid_ns : 0);
	return now_ns + (budget->debt_ns > CREDIT_NS ? (budget->debt_ns - CREDIT_NS) * COST_SHARE : 0);
}
