/* states.c: what threads did, for formats with a track of it: which intervals keep a slice, and which share one. */
#include "export/states.h"

#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

const char *const sonde_export_states_keys[SONDE_INTERVAL_STATES] = {[SONDE_INTERVAL_ON_CPU] = "running_ns",
								     [SONDE_INTERVAL_RUNNABLE] = "runnable_ns",
								     [SONDE_INTERVAL_BLOCKED] = "blocked_ns"};

/* Cuts an interval to what is wanted; 0: nothing of it, or nobody saw what it was. */
static int cut(const struct sonde_export_states *states, struct sonde_interval *interval)
{
	const struct sonde_format_options *options = states->options;
	if (interval->from_ns < options->from_ns)
		interval->from_ns = options->from_ns;
	if (options->to_ns && interval->to_ns > options->to_ns)
		interval->to_ns = options->to_ns;
	return interval->state != SONDE_INTERVAL_UNSEEN && interval->from_ns < interval->to_ns &&
	       interval->thread < states->threads && (!options->thread || options->thread[interval->thread]);
}

static int count(void *context, const struct sonde_interval *interval)
{
	struct sonde_export_states *states = context;
	struct sonde_interval part = *interval;
	if (!cut(states, &part))
		return 0;
	sonde_chrome_share_count(&states->share, part.to_ns - part.from_ns);
	states->share.lives_ns += part.to_ns - part.from_ns;
	return 0;
}

static void end_shared(struct sonde_export_states *states, uint32_t thread)
{
	struct sonde_export_states_shared *shared = &states->open[thread];
	if (!shared->count)
		return;
	states->put_shared(states->context, thread, shared);
	states->shared_count += shared->count;
	*shared = (struct sonde_export_states_shared){0};
}

static int put(void *context, const struct sonde_interval *interval)
{
	struct sonde_export_states *states = context;
	struct sonde_interval part = *interval;
	if (interval->thread >= states->threads)
		return 0;
	struct sonde_export_states_shared *shared = &states->open[interval->thread];
	int is_wanted = cut(states, &part), is_short = is_wanted && part.to_ns - part.from_ns < states->share.least_ns;
	if (!is_short || (shared->count && part.to_ns - shared->from_ns > states->share.grid_ns))
		end_shared(states, interval->thread);
	if (!is_short)
		return is_wanted ? states->put(states->context, interval, &part) : 0;
	if (!shared->count)
		shared->from_ns = part.from_ns;
	shared->to_ns = part.to_ns;
	shared->ns[part.state] += part.to_ns - part.from_ns;
	shared->count++;
	return 0;
}

int sonde_export_states_count(struct sonde_export_states *states)
{
	struct sonde_intervals seen;
	states->threads = sonde_session_thread_count(states->session) + 1;
	int rc = sonde_intervals_walk(&seen, states->session, count, states);
	sonde_chrome_share_choose(&states->share);
	return rc < 0 ? rc : states->share.lives_ns != 0;
}

int sonde_export_states_put(struct sonde_export_states *states)
{
	struct sonde_intervals seen;
	states->open = calloc(states->threads, sizeof *states->open);
	int rc = states->open ? sonde_intervals_walk(&seen, states->session, put, states)
			      : sonde_error(ENOMEM, "out of memory for %zu threads", states->threads);
	for (uint32_t id = 1; rc == 0 && id < states->threads; id++)
		end_shared(states, id);
	free(states->open);
	states->open = NULL;
	return rc;
}
