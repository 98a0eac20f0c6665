/* tallies.c: samples summed by thread. */
#include "analyze/cpu/tallies.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

int sonde_tallies_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_tallies *tallies = calloc(1, sizeof *tallies);
	size_t count = sonde_session_thread_count(session) + 1;
	if (!tallies || !(tallies->by_thread = calloc(count, sizeof *tallies->by_thread))) {
		free(tallies);
		return sonde_error(ENOMEM, "out of memory for %zu threads", count);
	}
	tallies->session = session;
	tallies->options = *options;
	tallies->count = count;
	tallies->period_ns = sonde_session_period_ns(session);
	*state = tallies;
	return 0;
}

int sonde_tallies_feed(void *state, const struct sonde_batch *batch)
{
	struct sonde_tallies *tallies = state;
	for (size_t i = 0; batch->type == SONDE_CHUNK_SAMPLES && i < batch->count; i++) {
		uint32_t thread = batch->samples.thread[i] < tallies->count ? batch->samples.thread[i] : 0;
		uint64_t weight_ns = batch->samples.weight_ns[i];
		if (!sonde_pass_takes(&tallies->options, batch->samples.time_ns[i], batch->samples.thread[i]))
			continue;
		struct sonde_weight weight = {weight_ns, (uint64_t)sonde_sample_counts(batch->samples.status[i])};
		sonde_weight_add(&tallies->by_thread[thread], weight);
		sonde_weight_add(&tallies->all, weight);
		if (sonde_sample_status(batch->samples.status[i]) == SONDE_STACK_MEASURED)
			tallies->measured_ns += weight_ns;
		if (!batch->samples.stack[i] && !(batch->samples.status[i] & SONDE_SAMPLE_KERNEL))
			continue;
		tallies->taken_ns += weight_ns;
		tallies->square += sonde_samples_square(weight_ns, batch->samples.status[i], tallies->period_ns);
	}
	return 0;
}

int sonde_tallies_merge(void *state, void *other_state)
{
	struct sonde_tallies *tallies = state, *other = other_state;
	for (size_t i = 0; i < tallies->count && i < other->count; i++) {
		tallies->by_thread[i].ns += other->by_thread[i].ns;
		tallies->by_thread[i].count += other->by_thread[i].count;
	}
	tallies->all.ns += other->all.ns;
	tallies->all.count += other->all.count;
	tallies->taken_ns += other->taken_ns;
	tallies->measured_ns += other->measured_ns;
	tallies->square += other->square;
	return 0;
}

void sonde_tallies_end(void *state)
{
	struct sonde_tallies *tallies = state;
	if (tallies)
		free(tallies->by_thread);
	free(tallies);
}

void sonde_tallies_cells(const struct sonde_tallies *tallies, struct sonde_weight part, struct sonde_cell *share,
			 struct sonde_cell *sampled_ns, struct sonde_cell *samples)
{
	if (!sonde_weight_is_any(tallies->all)) {
		*share = *sampled_ns = *samples =
		    sonde_cell_absent(sonde_samples_why_none(tallies->session, &tallies->options));
		return;
	}
	double ratio = fmin(sonde_stats_share((double)part.ns, (double)tallies->all.ns), 1);
	double n = sonde_stats_effective_n((double)tallies->taken_ns, tallies->square);
	*share = sonde_cell_real(ratio, sonde_stats_share_half(ratio, n));
	*sampled_ns = sonde_cell_int(part.ns);
	*samples = sonde_cell_int(part.count);
}

struct sonde_cell sonde_tallies_clock(const struct sonde_tallies *tallies, uint64_t clock_ns)
{
	if (tallies->options.from_ns || tallies->options.to_ns)
		return sonde_cell_absent("measured for the whole run only");
	return clock_ns ? sonde_cell_int(clock_ns) : sonde_cell_absent("not measured");
}

int sonde_tallies_note(const struct sonde_tallies *tallies, struct sonde_report *report, struct sonde_section *section)
{
	if (!sonde_weight_is_any(tallies->all))
		return sonde_report_note(report, section, 1, "no shares: %s",
					 sonde_samples_why_none(tallies->session, &tallies->options));
	char whole[192];
	sonde_samples_say_whole(tallies->all, tallies->measured_ns, whole, sizeof whole);
	int rc = sonde_report_note(report, section, 0, "%s", whole);
	uint64_t nobodys_ns = tallies->by_thread[0].ns;
	if (rc < 0 || !nobodys_ns)
		return rc;
	return sonde_report_note(report, section, 1, "of no thread that is known: %.3f s (%.1f %% of the 100 %%)",
				 (double)nobodys_ns / 1e9,
				 100 * sonde_stats_share((double)nobodys_ns, (double)tallies->all.ns));
}
