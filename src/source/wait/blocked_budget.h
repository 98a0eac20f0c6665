/* blocked_budget.h: how often, and how many threads at a time, looks from outside may go on. One thread; no clock is
 * read here: times are those of one clock of the machine (now_ns), and of CPU time.
 */
#ifndef SONDE_SOURCE_WAIT_BLOCKED_BUDGET_H
#define SONDE_SOURCE_WAIT_BLOCKED_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_BLOCKED_PERIOD_NS 20000000u /* between looks, on average, where that can be afforded */

struct sonde_blocked_budget {
	uint64_t wake_ns, look_ns; /* CPU time of one, as far as it is known */
	uint64_t debt_ns;          /* CPU time that was taken and not waited for yet, */
	uint64_t owed_ns;          /* as of this moment */
};

/* How a round goes. */
struct sonde_blocked_round {
	uint64_t period_ns; /* until the next, on average */
	uint64_t stride;    /* one thread in so many is looked at; 0 when there is none */
};

void sonde_blocked_budget_init(struct sonde_blocked_budget *budget, uint64_t now_ns);

/* For so many threads, when `spent_ns` of CPU time went into finding them. */
struct sonde_blocked_round sonde_blocked_budget_round(const struct sonde_blocked_budget *budget, size_t threads,
						      uint64_t spent_ns);

/* What the recorder took from the end of a round, or of another wake, to the beginning of a round. */
void sonde_blocked_budget_learn_wake(struct sonde_blocked_budget *budget, uint64_t cpu_ns);
void sonde_blocked_budget_learn_looks(struct sonde_blocked_budget *budget, uint64_t cpu_ns, size_t looks);

/* Charges a round that took so much and the wake that it needed; until when to wait at least. */
uint64_t sonde_blocked_budget_pay(struct sonde_blocked_budget *budget, uint64_t cpu_ns, uint64_t now_ns);

#endif
