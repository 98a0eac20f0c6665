/* blocked_budget.c: 0.5 % of a CPU, and 10 ms at once where there is much to read for the first time
 * (wait/blocked_budget.h).
 *
 * Rounds become rarer, up to a point, before fewer threads are looked at in each: waking up costs as much as some
 * looks. What that costs is what the recorder takes between rounds, but that includes what other sources do as they are
 * woken, too, and would have done later: the lower quartile is the part that comes each time. Tables that are read
 * once, and stacks in a program that nobody has seen, cost a hundred times as much as others: they say little of the
 * next.
 */
#include "source/wait/blocked_budget.h"

#define PERIOD_MOST_NS 100000000u /* then not all threads are looked at at once */
#define SLICE_NS 1000000u         /* the most CPU time at once, but for what is read for the first time */
#define COST_SHARE 200u
#define CREDIT_NS 10000000u
#define CREDIT_PARTS 10u /* of what is left of it is spent at once */
#define WAKE_NS 100000u  /* what one costs, until that is known: caches are cold */
#define WAKE_LEAST_NS 5000u
#define WAKE_MOST_NS 250000u /* more is work of others */
#define WAKE_PARTS 64u       /* of the estimate: a step up; three of them a step down make it the lower quartile */
#define LOOK_NS 15000u       /* what one costs, until that is known */

void sonde_blocked_budget_init(struct sonde_blocked_budget *budget, uint64_t now_ns)
{
	*budget = (struct sonde_blocked_budget){.wake_ns = WAKE_NS, .look_ns = LOOK_NS, .owed_ns = now_ns};
}

/* So that all threads can be looked at then: up to a point. */
static uint64_t period_of(const struct sonde_blocked_budget *budget, size_t threads)
{
	uint64_t period_ns = (budget->wake_ns + threads * budget->look_ns) * COST_SHARE;
	return period_ns < SONDE_BLOCKED_PERIOD_NS ? SONDE_BLOCKED_PERIOD_NS
	       : period_ns > PERIOD_MOST_NS        ? PERIOD_MOST_NS
						   : period_ns;
}

/* What may be spent on looks now: what the period earns and a part of the credit, less what was spent on lists. */
static uint64_t afford_ns(const struct sonde_blocked_budget *budget, uint64_t period_ns, uint64_t spent_ns)
{
	uint64_t credit_ns = budget->debt_ns < CREDIT_NS ? CREDIT_NS - budget->debt_ns : 0;
	uint64_t sum_ns = period_ns / COST_SHARE + credit_ns / CREDIT_PARTS, used_ns = spent_ns + budget->wake_ns;
	uint64_t rest_ns = sum_ns > used_ns ? sum_ns - used_ns : 0;
	return rest_ns < SLICE_NS ? rest_ns : SLICE_NS;
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
