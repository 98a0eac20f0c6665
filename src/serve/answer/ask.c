/* ask.c: parses a request for a report: one table row per parameter, then checks that involve several parameters.
 *
 * A weight applies to the call tree. The page has one selection for all sections, so a weight together with sections
 * that have no weights is not an error, as it is on the command line; it is ignored.
 */
#include "serve/answer/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "util/quantity.h"

struct asking {
	struct sonde_ask *ask;
	const struct sonde_session *session;
	int has_weigh, has_at;
};

/* --- single parameters ------------------------------------------------------------------------------------------- */

static int add_section(struct sonde_ask *ask, const char *name)
{
	const struct sonde_pass *pass = sonde_pass_find(name);
	if (!pass)
		return sonde_error(EINVAL, "unknown section '%s'", name);
	for (size_t i = 0; i < ask->pass_count; i++)
		if (ask->passes[i] == pass)
			return sonde_error(EINVAL, "section %s is named twice", name);
	if (ask->pass_count == SONDE_ASK_SECTIONS_MAX)
		return sonde_error(EINVAL, "more than %d sections", SONDE_ASK_SECTIONS_MAX);
	ask->passes[ask->pass_count++] = pass;
	return 0;
}

static int take_section(struct asking *asking, const char *value)
{
	int rc = 0;
	while (*value && !rc) {
		char name[64];
		size_t name_b = strcspn(value, ",");
		snprintf(name, sizeof name, "%.*s", (int)(name_b < sizeof name ? name_b : sizeof name - 1), value);
		rc = add_section(asking->ask, name);
		value += name_b + (value[name_b] == ',');
	}
	return rc;
}

/* Converts a time after the start of the recording to an absolute time. */
static int take_time(const struct asking *asking, const char *value, uint64_t *out)
{
	uint64_t after_ns, start_ns = sonde_session_run(asking->session)->start_ns;
	if (sonde_quantity_integer(&after_ns, value, 0, INT64_MAX))
		return sonde_error(EINVAL, "from, to and at are whole ns since the recording's start, not '%s'", value);
	*out = start_ns + after_ns;
	return 0;
}

static int take_from(struct asking *asking, const char *value)
{
	return take_time(asking, value, &asking->ask->pass.selection.from_ns);
}

static int take_to(struct asking *asking, const char *value)
{
	return take_time(asking, value, &asking->ask->pass.selection.to_ns);
}

static int take_thread(struct asking *asking, const char *value)
{
	struct sonde_ask *ask = asking->ask;
	size_t count = sonde_session_thread_count(asking->session);
	uint64_t id;
	if (sonde_quantity_integer(&id, value, 1, UINT32_MAX) || id > count)
		return sonde_error(EINVAL, "no thread '%s' in the recording: its threads are 1 to %zu", value, count);
	const struct sonde_thread *thread = sonde_session_thread(asking->session, (uint32_t)id);
	ask->threads = (struct sonde_thread_selection){.threads = calloc(count + 1, 1), .count = 1};
	if (!ask->threads.threads)
		return sonde_error(ENOMEM, "out of memory for %zu threads", count);
	ask->threads.threads[id] = 1;
	ask->thread = (uint32_t)id;
	snprintf(ask->thread_is, sizeof ask->thread_is, "1 thread with tid %u", thread->tid);
	ask->pass.selection.thread = ask->threads.threads;
	ask->pass.thread_is = ask->thread_is;
	return 0;
}

static int take_focus(struct asking *asking, const char *value)
{
	asking->ask->pass.focus = value;
	return 0;
}

static int take_weigh(struct asking *asking, const char *value)
{
	enum sonde_weigh_by by = sonde_weigh_named(value);
	if (by == SONDE_WEIGH_COUNT)
		return sonde_error(EINVAL, "unknown metric '%s'", value);
	asking->ask->pass.weigh.by = by;
	asking->has_weigh = 1;
	return 0;
}

static int take_at(struct asking *asking, const char *value)
{
	asking->has_at = 1;
	return take_time(asking, value, &asking->ask->pass.weigh.at_ns);
}

static int take_heap(struct asking *asking, const char *value)
{
	struct sonde_weigh *weigh = &asking->ask->pass.weigh;
	weigh->heap = value;
	for (uint32_t id = 1; id <= sonde_session_heap_count(asking->session); id++)
		if (sonde_weigh_is_of(weigh, sonde_session_heap(asking->session, id)))
			return 0;
	return sonde_error(EINVAL, "no blocks of '%s' in the recording", value);
}

static int take_limit(struct asking *asking, const char *value)
{
	uint64_t limit;
	if (sonde_quantity_integer(&limit, value, 1, SONDE_ASK_LIMIT_MAX))
		return sonde_error(EINVAL, "limit is a number of rows from 1 to %d, not '%s'", SONDE_ASK_LIMIT_MAX,
				   value);
	asking->ask->pass.limit = (size_t)limit;
	return 0;
}

static int take_nothing(struct asking *asking, const char *value)
{
	(void)asking, (void)value;
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct asking *asking, const char *value);
} rows[] = {
    {"section", take_section}, {"from", take_from},     {"to", take_to}, {"thread", take_thread},
    {"focus", take_focus},     {"weigh", take_weigh},   {"at", take_at}, {"heap", take_heap},
    {"limit", take_limit},     {"token", take_nothing},
};

static int take(struct asking *asking, const struct sonde_param *param)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].name, param->name) == 0)
			return rows[i].take(asking, param->value);
	return sonde_error(EINVAL, "unknown parameter '%s'", param->name);
}

/* --- checks of all parameters ------------------------------------------------------------------------------------- */

static int check_time(const struct sonde_pass_options *pass, const struct sonde_run *run)
{
	double length_s = (double)(run->end_ns - run->start_ns) / 1e9;
	if (pass->selection.from_ns >= run->end_ns && pass->selection.from_ns > run->start_ns)
		return sonde_error(EINVAL, "from is past the end of the recording (%.3f s)", length_s);
	if (pass->selection.to_ns &&
	    pass->selection.to_ns <= (pass->selection.from_ns ? pass->selection.from_ns : run->start_ns))
		return sonde_error(EINVAL, "to must be later than from");
	return 0;
}

/* Returns the weight of a call tree if none is requested, as implied by the other parameters. */
static enum sonde_weigh_by weigh_default(const struct asking *asking)
{
	return asking->has_at                 ? SONDE_WEIGH_LIVE
	       : asking->ask->pass.weigh.heap ? SONDE_WEIGH_PEAK
					      : sonde_weigh_default(asking->session);
}

static int check_moment(const struct asking *asking)
{
	const struct sonde_weigh *weigh = &asking->ask->pass.weigh;
	const struct sonde_run *run = sonde_session_run(asking->session);
	if (weigh->by == SONDE_WEIGH_LIVE && !asking->has_at)
		return sonde_error(EINVAL, "metric live needs a time, at=NS (peak and live-at-exit have their own)");
	if (weigh->by != SONDE_WEIGH_LIVE && asking->has_at)
		return sonde_error(EINVAL, "at is for metric live: leave one of them out");
	if (weigh->at_ns > run->end_ns)
		return sonde_error(EINVAL, "at is past the end of the recording (%.3f s)",
				   (double)(run->end_ns - run->start_ns) / 1e9);
	return 0;
}

static int check_weigh(struct asking *asking)
{
	struct sonde_ask *ask = asking->ask;
	struct sonde_pass_options *pass = &ask->pass;
	int has_stacks = 0;
	for (size_t i = 0; i < ask->pass_count; i++)
		has_stacks |= strcmp(ask->passes[i]->name, "calltree") == 0;
	if (!has_stacks) {
		pass->weigh = (struct sonde_weigh){.heap = pass->weigh.heap};
		return 0;
	}
	if (!asking->has_weigh)
		pass->weigh.by = weigh_default(asking);
	const struct sonde_weigh_row *row = &sonde_weigh_rows[pass->weigh.by];
	if (row->of != SONDE_WEIGH_OF_HEAP && pass->weigh.heap)
		return sonde_error(EINVAL, "heap does not work with metric %s: leave one of them out", row->name);
	if (!row->in_range && (pass->selection.from_ns || pass->selection.to_ns))
		return sonde_error(EINVAL, "metric %s always covers the whole recording: leave from and to out",
				   row->name);
	return check_moment(asking);
}

int sonde_ask_make(struct sonde_ask *out, const struct sonde_session *session, const struct sonde_params *params)
{
	*out = (struct sonde_ask){.pass.requested = 1};
	struct asking asking = {.ask = out, .session = session};
	int rc = 0;
	for (size_t i = 0; i < params->count && !rc; i++)
		rc = take(&asking, &params->all[i]);
	if (!rc && !out->pass_count)
		rc = sonde_error(EINVAL, "which section? For example section=functions,threads");
	if (!rc)
		rc = check_time(&out->pass, sonde_session_run(session));
	return rc ? rc : check_weigh(&asking);
}

int sonde_ask_part(struct sonde_ask *out, const struct sonde_session *session, const struct sonde_params *params,
		   const char *const *known)
{
	*out = (struct sonde_ask){.pass.requested = 1};
	struct asking asking = {.ask = out, .session = session};
	int rc = sonde_params_check(params, known);
	for (size_t i = 0; i < params->count && !rc; i++)
		rc = take(&asking, &params->all[i]);
	return rc ? rc : check_time(&out->pass, sonde_session_run(session));
}

void sonde_ask_fini(struct sonde_ask *ask)
{
	free(ask->threads.threads);
	*ask = (struct sonde_ask){0};
}
