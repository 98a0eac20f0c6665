/* thread_counters.c: sums samples by thread. */
#include "analyze/cpu/thread_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/marks.h"

#include "analyze/statistics/stats.h"
#include "util/error.h"

int sonde_thread_counters_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_thread_counters *counters = state;
	size_t count = sonde_session_thread_count(session) + 1;
	counters->by_thread = calloc(count, sizeof *counters->by_thread);
	if (!counters->by_thread)
		return sonde_error(ENOMEM, "out of memory for %zu threads", count);
	counters->session = session;
	counters->options = *options;
	counters->count = count;
	counters->period_ns = sonde_session_period_ns(session);
	return 0;
}

int sonde_thread_counters_feed(void *state, const struct sonde_batch *batch)
{
	struct sonde_thread_counters *counters = state;
	for (size_t i = 0; batch->type == SONDE_CHUNK_SAMPLES && i < batch->count; i++) {
		uint32_t thread = batch->samples.thread[i] < counters->count ? batch->samples.thread[i] : 0;
		uint64_t weight_ns = batch->samples.weight_ns[i];
		if (!sonde_pass_takes(&counters->options, batch->samples.time_ns[i], batch->samples.thread[i]))
			continue;
		struct sonde_weight weight = {weight_ns, (uint64_t)sonde_sample_counts(batch->samples.status[i])};
		sonde_weight_add(&counters->by_thread[thread], weight);
		sonde_weight_add(&counters->all, weight);
		if (sonde_sample_status(batch->samples.status[i]) == SONDE_STACK_MEASURED)
			counters->measured_ns += weight_ns;
		if (!batch->samples.stack[i] && !(batch->samples.status[i] & SONDE_SAMPLE_KERNEL))
			continue;
		counters->taken_ns += weight_ns;
		counters->square += sonde_samples_square(weight_ns, batch->samples.status[i], counters->period_ns);
	}
	return 0;
}

int sonde_thread_counters_merge(void *state, void *other_state)
{
	struct sonde_thread_counters *counters = state, *other = other_state;
	for (size_t i = 0; i < counters->count && i < other->count; i++) {
		counters->by_thread[i].ns += other->by_thread[i].ns;
		counters->by_thread[i].count += other->by_thread[i].count;
	}
	counters->all.ns += other->all.ns;
	counters->all.count += other->all.count;
	counters->taken_ns += other->taken_ns;
	counters->measured_ns += other->measured_ns;
	counters->square += other->square;
	return 0;
}

void sonde_thread_counters_end(void *state)
{
	free(((struct sonde_thread_counters *)state)->by_thread);
}

void sonde_thread_counters_cells(const struct sonde_thread_counters *counters, struct sonde_weight part,
				 struct sonde_cell *share, struct sonde_cell *sampled_ns, struct sonde_cell *samples)
{
	if (!sonde_weight_is_any(counters->all)) {
		*share = *sampled_ns = *samples =
		    sonde_cell_absent(sonde_samples_why_none(counters->session, &counters->options));
		return;
	}
	double ratio = fmin(sonde_stats_share((double)part.ns, (double)counters->all.ns), 1);
	double n = sonde_stats_effective_n((double)counters->taken_ns, counters->square);
	*share = sonde_cell_real(ratio, sonde_stats_share_half(ratio, n));
	*sampled_ns = sonde_cell_int(part.ns);
	*samples = sonde_cell_int(part.count);
}

struct sonde_cell sonde_thread_counters_clock(const struct sonde_thread_counters *counters, uint64_t clock_ns)
{
	if (counters->options.selection.from_ns || counters->options.selection.to_ns)
		return sonde_cell_absent("measured for the whole run only");
	return clock_ns ? sonde_cell_int(clock_ns) : sonde_cell_absent("not measured");
}

void sonde_thread_counters_note(const struct sonde_thread_counters *counters, struct sonde_report *report,
				struct sonde_section *section)
{
	if (!sonde_weight_is_any(counters->all)) {
		const char *missing = sonde_pass_missing(counters->session, SONDE_NEEDS(CPU), report);
		sonde_report_note(report, section, 1, "no shares: %s",
				  missing ? missing : sonde_samples_why_none(counters->session, &counters->options));
		return;
	}
	char whole[192];
	sonde_samples_say_whole(counters->all, counters->measured_ns, whole, sizeof whole);
	sonde_report_note(report, section, 0, "%s", whole);
	uint64_t nobodys_ns = counters->by_thread[0].ns;
	if (!nobodys_ns)
		return;
	sonde_report_note(report, section, 1, "%.3f s (%.1f %% of the 100 %%) belong to unknown threads",
			  (double)nobodys_ns / 1e9,
			  100 * sonde_stats_share((double)nobodys_ns, (double)counters->all.ns));
}
