/* weigh.c: chooses the weight of stacks, and checks that the recording and the format have it.
 *
 * Only call trees and formats of stacks are weighted. The default is CPU time; if that was not sampled, waiting time;
 * if there is none either, the heap's peak. A default other than CPU time is announced.
 */
#include "cli/common/weigh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/recorded.h"
#include "util/error.h"
#include "util/quantity.h"

static int wrong(void)
{
	fputc('\n', stderr);
	return SONDE_EXIT_USAGE;
}

static int choose_by(const struct sonde_rendering *rendering, const struct sonde_session *session,
		     enum sonde_weigh_by *out)
{
	const char *best = NULL;
	if (!rendering->weigh) {
		*out = rendering->at        ? SONDE_WEIGH_LIVE
		       : rendering->heap_of ? SONDE_WEIGH_PEAK
					    : sonde_weigh_default(session);
		return 0;
	}
	*out = sonde_weigh_named(rendering->weigh);
	if (*out != SONDE_WEIGH_COUNT)
		return 0;
	for (int i = 0; i < SONDE_WEIGH_COUNT; i++)
		sonde_command_nearer(rendering->weigh, sonde_weigh_rows[i].name, &best);
	fprintf(stderr, "sonde %s: unknown metric '%s'; ", rendering->command, rendering->weigh);
	if (best)
		fprintf(stderr, "did you mean %s?", best);
	else
		fprintf(stderr, "known metrics: ");
	for (int i = 0; !best && i < SONDE_WEIGH_COUNT; i++)
		fprintf(stderr, "%s%s", i ? ", " : "", sonde_weigh_rows[i].name);
	return wrong();
}

static int has_section(const struct sonde_rendering *rendering, const char *name)
{
	for (size_t i = 0; i < rendering->pass_count; i++)
		if (strcmp(rendering->passes[i]->name, name) == 0)
			return 1;
	return 0;
}

/* True if the requested output contains weighted stacks. */
static int has_stacks(const struct sonde_rendering *rendering, const struct sonde_format *format)
{
	return format->export ? format->weighs : has_section(rendering, "calltree");
}

/* True if --heap-of was given only to select the heap that the timeline shows. */
static int is_of_timeline(const struct sonde_rendering *rendering, const struct sonde_format *format)
{
	return rendering->heap_of && !rendering->weigh && !rendering->at && !format->export &&
	       has_section(rendering, "timeline");
}

static int refuse(const struct sonde_rendering *rendering, const struct sonde_format *format)
{
	const char *option = rendering->weigh ? "metric" : rendering->at ? "at" : "heap-of";
	if (format->export)
		fprintf(stderr, "sonde %s: --%s needs a format of stacks, and %s is none; leave it out",
			rendering->command, option, format->name);
	else
		fprintf(stderr, "sonde %s: --%s is for the call tree: --section calltree", rendering->command, option);
	return wrong();
}

/* Applies --at, and the time range, which some weights do not support. */
static int choose_moment(struct sonde_rendering *rendering, const struct sonde_run *run)
{
	struct sonde_weigh *weigh = &rendering->pass.weigh;
	uint64_t after_ns;
	if (weigh->by == SONDE_WEIGH_LIVE && !rendering->at)
		fprintf(stderr,
			"sonde %s: --metric live needs a time: --at 1.5s (peak and live-at-exit have their own)",
			rendering->command);
	else if (weigh->by != SONDE_WEIGH_LIVE && rendering->at)
		fprintf(stderr, "sonde %s: --at is for --metric live; leave one of them out", rendering->command);
	else if (!sonde_weigh_rows[weigh->by].in_range && (rendering->from || rendering->to))
		fprintf(stderr, "sonde %s: --%s has no meaning with --metric %s; leave it out", rendering->command,
			rendering->from ? "from" : "to", sonde_weigh_rows[weigh->by].name);
	else if (!rendering->at)
		return 0;
	else if (sonde_quantity_duration(&after_ns, rendering->at))
		fprintf(stderr, "sonde %s: --at: %s", rendering->command, sonde_error_text());
	else if (after_ns > run->end_ns - run->start_ns)
		fprintf(stderr, "sonde %s: --at %s is past the end of the recording (%.3f s)", rendering->command,
			rendering->at, (double)(run->end_ns - run->start_ns) / 1e9);
	else {
		weigh->at_ns = run->start_ns + after_ns;
		return 0;
	}
	return wrong();
}

/* Says why there is nothing to show: it was not requested, could not be recorded, or did not happen. */
static int say_none(const struct sonde_rendering *rendering, const struct sonde_session *session, uint32_t kinds,
		    const char *what, const char *option)
{
	char why[640], with[64], *reason = why;
	const char *keep_ns = sonde_session_info(session, "option.keep_ns");
	int is_recorded = sonde_recorded_any(session, kinds, why, sizeof why) != SONDE_RECORDED_NOT;
	for (int i = 0; i < 2 && strstr(reason, ": "); i++) /* "not recorded: allocations: " */
		reason = strstr(reason, ": ") + 2;
	snprintf(with, sizeof with, "(record with %s)", option);
	fprintf(stderr, "sonde %s: %s holds no %s: ", rendering->command, rendering->file, what);
	if (!is_recorded && (!*why || strstr(why, with)))
		fprintf(stderr, "record them with sonde record %s -- COMMAND", option);
	else if (!is_recorded)
		fprintf(stderr, "%s", reason);
	else if (keep_ns)
		fprintf(stderr, "there were none in the last %.3g s before a save (--keep)",
			strtod(keep_ns, NULL) / 1e9);
	else
		fprintf(stderr, "there were none%s%s", *why ? "; " : "", why);
	return wrong();
}

static int choose_heap(struct sonde_rendering *rendering, const struct sonde_session *session)
{
	struct sonde_weigh *weigh = &rendering->pass.weigh;
	const char *wanted = rendering->heap_of ? rendering->heap_of : SONDE_WEIGH_MALLOC, *names[16];
	weigh->heap = rendering->heap_of;
	if (!sonde_session_heap_site_count(session))
		return say_none(rendering, session, SONDE_NEEDS(HEAP), "allocations", "--heap");
	for (uint32_t id = 1; id <= sonde_session_heap_count(session); id++)
		if (sonde_weigh_is_of(weigh, sonde_session_heap(session, id)))
			return 0;
	fprintf(stderr, "sonde %s: no blocks of %s in %s; --heap-of takes one of: ", rendering->command, wanted,
		rendering->file);
	size_t count = sonde_weigh_heaps(session, names, sizeof names / sizeof *names);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "%s%s", i ? ", " : "", names[i]);
	return wrong();
}

static int choose_waits(const struct sonde_rendering *rendering, const struct sonde_session *session)
{
	enum sonde_weigh_by by = rendering->pass.weigh.by;
	uint32_t kinds =
	    (by == SONDE_WEIGH_IO ? 0 : SONDE_NEEDS(LOCKS)) | (by == SONDE_WEIGH_LOCKS ? 0 : SONDE_NEEDS(FILES));
	if (sonde_weigh_has(session, SONDE_CHUNK_WAITS))
		return 0;
	return say_none(rendering, session, kinds, "blocking calls", by == SONDE_WEIGH_IO ? "--io" : "--threads");
}

int sonde_weigh_choose(struct sonde_rendering *rendering, const struct sonde_session *session,
		       const struct sonde_format *format)
{
	struct sonde_weigh *weigh = &rendering->pass.weigh;
	int given = sonde_weigh_is_given(rendering);
	if (!has_stacks(rendering, format) && is_of_timeline(rendering, format))
		return choose_heap(rendering, session);
	if (!has_stacks(rendering, format))
		return given ? refuse(rendering, format) : 0;
	int code = choose_by(rendering, session, &weigh->by);
	enum sonde_weigh_of of = sonde_weigh_of(weigh);
	if (!code && of != SONDE_WEIGH_OF_HEAP && rendering->heap_of) {
		fprintf(stderr, "sonde %s: --heap-of does not work with %s; leave one of them out", rendering->command,
			sonde_weigh_rows[weigh->by].title);
		return wrong();
	}
	if (!code)
		code = choose_moment(rendering, sonde_session_run(session));
	if (!code && of == SONDE_WEIGH_OF_HEAP)
		code = choose_heap(rendering, session);
	else if (!code && of == SONDE_WEIGH_OF_WAITS)
		code = choose_waits(rendering, session);
	if (!code && !given && weigh->by != SONDE_WEIGH_CPU && !rendering->quiet)
		fprintf(stderr, "sonde %s: no CPU samples: showing %s (--metric %s)\n", rendering->command,
			sonde_weigh_rows[weigh->by].title, sonde_weigh_rows[weigh->by].name);
	return code;
}
