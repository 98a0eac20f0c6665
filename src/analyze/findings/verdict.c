/* verdict.c: whether findings about time would be different if no other program had run.
 *
 * Other programs may have held up each thread for at most a share d of the span (noise.c). Without them, the time of a
 * finding may be longer or shorter by d, and the span shorter. If the finding's share of the span is now w, it would
 * then be between w - d and (w + d) / (1 - d). If only one thread wants a CPU, the share is known exactly: waits for a
 * CPU disappear from the span, and from findings that include them (`has_waits`). Rules that miss their threshold by no
 * more than that are candidates, too: `possible` is what the rules find if each threshold is changed as much as other
 * programs may have changed the value that is compared with it.
 * If the machine's ceilings are doubtful, `possible` also has what rules may find under higher ones (work.c).
 *
 * The verdict is the rule of the first finding. It is doubtful in two cases: the lower end of its score is below the
 * upper end of another rule's score, and that rule's finding may be of high severity; or a critical finding may be of
 * low severity. Two findings of one rule are one verdict.
 */
#include <math.h>
#include <string.h>

#include "analyze/findings/findings.h"

/* How a value that is compared with a threshold changes if other programs hold up the program. */
static const struct {
	enum sonde_threshold id;
	enum moves { SHARE = 1, TIME, RATE } moves;
} moved[] = {
    {SONDE_THRESHOLD_HOT, SHARE},
    {SONDE_THRESHOLD_SHARING, SHARE},
    {SONDE_THRESHOLD_SHARING_AT_ONCE, SHARE},
    {SONDE_THRESHOLD_CALLS_SHARE, SHARE},
    {SONDE_THRESHOLD_CALL_NS, TIME},
    {SONDE_THRESHOLD_IMBALANCE, SHARE},
    {SONDE_THRESHOLD_LOCK, SHARE},
    {SONDE_THRESHOLD_SERIAL, SHARE},
    {SONDE_THRESHOLD_HANDOVER, SHARE},
    {SONDE_THRESHOLD_SLEEP, SHARE},
    {SONDE_THRESHOLD_SPAWN, SHARE},
    {SONDE_THRESHOLD_SPAWN_NS, TIME},
    {SONDE_THRESHOLD_GIL, SHARE},
    {SONDE_THRESHOLD_SMALL_SHARE, SHARE},
    {SONDE_THRESHOLD_SYNC, SHARE},
    {SONDE_THRESHOLD_LOADING, SHARE},
    {SONDE_THRESHOLD_FILES, SHARE},
    {SONDE_THRESHOLD_FLOPS, RATE},
    {SONDE_THRESHOLD_ROOF, RATE},
    {SONDE_THRESHOLD_BLAS_NS, TIME},
    {SONDE_THRESHOLD_BLAS_SHARE, SHARE},
};

/* Other programs make the span longer and so shares smaller, and a share may also be smaller because other threads were
 * held up. They make times longer and rates lower: a call may count as slow, or work as slow, only because of them.
 * Each threshold is changed accordingly. */
void sonde_facts_without_others(struct sonde_facts *out, const struct sonde_facts *facts,
				const struct sonde_noise *noise)
{
	double held_up = noise->held_up, left = 1 - noise->slowed;
	*out = *facts;
	out->slowed = noise->slowed;
	for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
		double *threshold = &out->threshold[moved[i].id];
		if (moved[i].moves == SHARE)
			*threshold = fmax(*threshold * (1 - held_up) - (noise->is_shared ? held_up : 0), 0);
		else
			*threshold = moved[i].moves == TIME ? *threshold / fmax(left, 1e-9) : *threshold * left;
	}
}

struct interval {
	double low, high;
};

/* Share of the span that a finding would have without others. */
static struct interval weight_without(const struct sonde_facts *facts, const struct sonde_noise *noise,
				      const struct sonde_finding *finding)
{
	double weight = finding->weighs, held_up = noise->held_up, left = 1 - held_up;
	if (finding->bytes > 0 || !(held_up > 0))
		return (struct interval){weight, weight};
	if (!strcmp(finding->rule->id, "starved-of-cpu")) /* other programs can only add to this finding */
		return (struct interval){fmax(weight - held_up, 0), weight};
	if (noise->is_shared)
		return (struct interval){fmax(weight - held_up, 0), left > 0 ? fmin((weight + held_up) / left, 1) : 1};
	double wanted_ns = facts->running_ns * facts->stretch; /* running, and waiting for a CPU */
	int is_stretched = finding->has_waits && facts->stretch > 1;
	double kept = is_stretched ? fmax(1 - held_up * facts->span_ns / wanted_ns, 0) : 1;
	double without = left > 0 ? fmin(weight * kept / left, 1) : is_stretched ? 0 : 1;
	return (struct interval){without, without};
}

static const struct sonde_finding *first_of(const struct sonde_found *found)
{
	const struct sonde_finding *first = NULL;
	double most = 0;
	for (size_t i = 0; i < found->count; i++) {
		double score = found->rows[i].weighs * sonde_finding_confidence(&found->rows[i]);
		if (first && score <= most)
			continue;
		first = &found->rows[i];
		most = score;
	}
	return first;
}

int sonde_found_has(const struct sonde_found *found, const struct sonde_rule *rule)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->rows[i].rule == rule)
			return 1;
	return 0;
}

int sonde_finding_is_doubtful(const struct sonde_facts *facts, const struct sonde_noise *noise,
			      const struct sonde_found *found, const struct sonde_found *possible)
{
	const struct sonde_finding *first = first_of(found);
	if (first && !(first->bytes > 0) && !sonde_found_has(possible, first->rule))
		return 1;
	double least = first ? weight_without(facts, noise, first).low * sonde_finding_confidence(first) : 0;
	for (size_t i = 0; i < possible->count; i++) {
		const struct sonde_finding *other = &possible->rows[i];
		double most = weight_without(facts, noise, other).high;
		if (other->bytes > 0 || (first && other->rule == first->rule) ||
		    sonde_severity_at(most) < SONDE_SEVERITY_HIGH)
			continue;
		if (most * sonde_finding_confidence(other) > least)
			return 1;
	}
	for (size_t i = 0; i < found->count; i++) {
		const struct sonde_finding *finding = &found->rows[i];
		double weight = weight_without(facts, noise, finding).low;
		if (sonde_finding_severity(finding) == SONDE_SEVERITY_CRITICAL &&
		    sonde_severity_at(weight) == SONDE_SEVERITY_LOW)
			return 1;
	}
	return 0;
}
