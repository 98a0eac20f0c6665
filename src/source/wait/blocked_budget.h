/* blocked_budget.h: how often, and how many threads at a time, may be polled from outside. One thread. It reads no
 * clock itself: callers pass times of one clock of the machine (now_ns), and CPU times.
 */
#ifndef SONDE_SOURCE_WAIT_BLOCKED_BUDGET_H
#define SONDE_SOURCE_WAIT_BLOCKED_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_BLOCKED_PERIOD_NS 20000000u /* average polling period, if affordable */

struct sonde_blocked_budget {
	uint64_t wake_ns, look_ns; /* CPU time of one wake-up and of one poll, as estimated so far */
	uint64_t debt_ns;          /* CPU time used, for which the pause is not over yet */
	uint64_t owed_ns;          /* the time as of which debt_ns holds */
};

/* Parameters of a round of polls. */
struct sonde_blocked_round {
	uint64_t period_ns; /* until the next round, on average */
	uint64_t stride;    /* one thread in this many is polled; 0 if there are no threads */
};

void sonde_blocked_budget_init(struct sonde_blocked_budget *budget, uint64_t now_ns);

/* Plans a round for this many threads, after `spent_ns` of CPU time was used to find them. */
struct sonde_blocked_round sonde_blocked_budget_round(const struct sonde_blocked_budget *budget, size_t threads,
						      uint64_t spent_ns);

/* Updates the estimated cost of a wake-up. cpu_ns: CPU time of the recorder from the end of the last round or other
 * wake-up to the start of a round. */
void sonde_blocked_budget_learn_wake(struct sonde_blocked_budget *budget, uint64_t cpu_ns);
void sonde_blocked_budget_learn_looks(struct sonde_blocked_budget *budget, uint64_t cpu_ns, size_t looks);

/* Charges a round of this CPU time, and its wake-up; returns the earliest time for the next round. */
uint64_t sonde_blocked_budget_pay(struct sonde_blocked_budget *budget, uint64_t cpu_ns, uint64_t now_ns);

#endif
