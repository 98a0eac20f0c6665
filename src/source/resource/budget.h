/* budget.h: limits how often something expensive is read: an allowance that refills with time.
 *
 * A share of each second may be spent. Unused allowance is kept up to a limit, so that one expensive reading among
 * cheap ones delays nothing. Once more than the allowance has been spent, the next reading waits until the allowance is
 * no longer negative.
 */
#ifndef SONDE_SOURCE_RESOURCE_BUDGET_H
#define SONDE_SOURCE_RESOURCE_BUDGET_H

#include <stdint.h>

struct sonde_budget {
	uint64_t share;  /* 1 / share of the time may be spent */
	int64_t most_ns; /* maximum unused allowance */
	int64_t left_ns; /* current allowance; negative: overspent */
	uint64_t at_ns;  /* time of the last update */
};

static inline void sonde_budget_init(struct sonde_budget *budget, uint64_t share, int64_t most_ns, uint64_t now_ns)
{
	*budget = (struct sonde_budget){share, most_ns, most_ns, now_ns};
}

static inline void sonde_budget_pass(struct sonde_budget *budget, uint64_t now_ns)
{
	if (now_ns <= budget->at_ns)
		return;
	uint64_t more_ns = (now_ns - budget->at_ns) / budget->share;
	budget->at_ns += more_ns * budget->share; /* the rest of the time counts at the next update */
	budget->left_ns += (int64_t)more_ns;
	if (budget->left_ns > budget->most_ns)
		budget->left_ns = budget->most_ns;
}

static inline void sonde_budget_spend(struct sonde_budget *budget, uint64_t cost_ns, uint64_t now_ns)
{
	sonde_budget_pass(budget, now_ns);
	budget->left_ns -= (int64_t)cost_ns;
}

/* True if work of this cost is affordable now. If it costs more than the maximum allowance, the maximum is raised. */
static inline int sonde_budget_allows(struct sonde_budget *budget, uint64_t cost_ns, uint64_t now_ns)
{
	sonde_budget_pass(budget, now_ns);
	if (budget->most_ns < (int64_t)cost_ns)
		budget->most_ns = (int64_t)cost_ns;
	return budget->left_ns >= (int64_t)cost_ns;
}

/* The time at which the allowance is no longer negative. */
static inline uint64_t sonde_budget_due_ns(const struct sonde_budget *budget)
{
	return budget->left_ns < 0 ? budget->at_ns + (uint64_t)-budget->left_ns * budget->share : budget->at_ns;
}

#endif
