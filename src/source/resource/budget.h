/* budget.h: how often something may be read that costs what it costs: an allowance that fills up with time.
 *
 * Of each second a share may be spent. What was left over lasts for a while, so that one dear reading among cheap ones
 * puts off nothing; when the allowance is spent the next reading waits until it is paid for.
 */
#ifndef SONDE_SOURCE_RESOURCE_BUDGET_H
#define SONDE_SOURCE_RESOURCE_BUDGET_H

#include <stdint.h>

struct sonde_budget {
	uint64_t share;  /* 500: a five-hundredth of the time may be spent */
	int64_t most_ns; /* that may be left over */
	int64_t left_ns; /* below 0: owed */
	uint64_t at_ns;  /* when that was reckoned */
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
	budget->at_ns += more_ns * budget->share; /* the rest counts next time */
	budget->left_ns += (int64_t)more_ns;
	if (budget->left_ns > budget->most_ns)
		budget->left_ns = budget->most_ns;
}

static inline void sonde_budget_spend(struct sonde_budget *budget, uint64_t cost_ns, uint64_t now_ns)
{
	sonde_budget_pass(budget, now_ns);
	budget->left_ns -= (int64_t)cost_ns;
}

/* Whether something of that price may be done now. What is dearer than all that may be left over is saved for. */
static inline int sonde_budget_allows(struct sonde_budget *budget, uint64_t cost_ns, uint64_t now_ns)
{
	sonde_budget_pass(budget, now_ns);
	if (budget->most_ns < (int64_t)cost_ns)
		budget->most_ns = (int64_t)cost_ns;
	return budget->left_ns >= (int64_t)cost_ns;
}

/* When nothing is owed any more. */
static inline uint64_t sonde_budget_due_ns(const struct sonde_budget *budget)
{
	return budget->left_ns < 0 ? budget->at_ns + (uint64_t)-budget->left_ns * budget->share : budget->at_ns;
}

#endif
