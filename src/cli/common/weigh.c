/* weigh.c: which weight is meant, and whether the recording and the format have it.
 *
 * Only call trees and formats of stacks are weighed. Nothing given: CPU time, or where none was sampled waiting,
 * or where none was recorded the heap's peak, which is then said.
 */
#include "cli/common/weigh.h"

#include <stdio.h>
#include <string.h>

#include "util/error.h"
#include "util/quantity.h"

static int wrong(void)
{
	fputc('\n', stderr);
	return SONDE_EXIT_USAGE;
}

static int choose_by(const struct sonde_present *present, const struct sonde_session *session, enum sonde_weigh_by *out)
{
	const char *best = NULL;
	if (!present->weigh) {
		*out = present->at        ? SONDE_WEIGH_LIVE
		       : present->heap_of ? SONDE_WEIGH_PEAK
					  : sonde_weigh_default(session);
		return 0;
	}
	for (int i = 0; i < SONDE_WEIGH_COUNT; i++) {
		if (strcmp(sonde_weigh_rows[i].name, present->weigh) == 0) {
			*out = (enum sonde_weigh_by)i;
			return 0;
		}
		sonde_command_nearer(present->weigh, sonde_weigh_rows[i].name, &best);
	}
	fprintf(stderr, "sonde %s: no weight '%s'; %s%s", present->command, present->weigh,
		best ? "the nearest is " : "known are ", best ? best : "");
	for (int i = 0; !best && i < SONDE_WEIGH_COUNT; i++)
		fprintf(stderr, "%s%s", i ? ", " : "", sonde_weigh_rows[i].name);
	return wrong();
}

static int has_section(const struct sonde_present *present, const char *name)
{
	for (size_t i = 0; i < present->pass_count; i++)
		if (strcmp(present->passes[i]->name, name) == 0)
			return 1;
	return 0;
}

/* Whether what is asked for has stacks that are weighed. */
static int has_stacks(const struct sonde_present *present, const struct sonde_format *format)
{
	return format->export ? format->weighs : has_section(present, "calltree");
}

/* Whether a heap is chosen for its timeline alone. */
static int is_of_timeline(const struct sonde_present *present, const struct sonde_format *format)
{
	return present->heap_of && !present->weigh && !present->at && !format->export &&
	       has_section(present, "timeline");
}

static int refuse(const struct sonde_present *present, const struct sonde_format *format)
{
	const char *option = present->weigh ? "weigh" : present->at ? "at" : "heap-of";
	if (format->export)
		fprintf(stderr, "sonde %s: --%s is for formats of stacks, and %s is none; leave it out",
			present->command, option, format->name);
	else
		fprintf(stderr, "sonde %s: --%s is for the call tree: --section calltree", present->command, option);
	return wrong();
}

/* --at, and the range of times that some weights do not have. */
static int choose_moment(struct sonde_present *present, const struct sonde_run *run)
{
	struct sonde_weigh *weigh = &present->pass.weigh;
	uint64_t after_ns;
	if (weigh->by == SONDE_WEIGH_LIVE && !present->at)
		fprintf(stderr,
			"sonde %s: --weigh live needs a moment: --at 1.5s (peak and left have one of their own)",
			present->command);
	else if (weigh->by != SONDE_WEIGH_LIVE && present->at)
		fprintf(stderr, "sonde %s: --at is for --weigh live; leave one of them out", present->command);
	else if (!sonde_weigh_rows[weigh->by].in_range && (present->from || present->to))
		fprintf(stderr, "sonde %s: --%s has no meaning with --weigh %s; leave it out", present->command,
			present->from ? "from" : "to", sonde_weigh_rows[weigh->by].name);
	else if (!present->at)
		return 0;
	else if (sonde_quantity_duration(&after_ns, present->at))
		fprintf(stderr, "sonde %s: --at: %s", present->command, sonde_error_text());
	else if (after_ns > run->end_ns - run->start_ns)
		fprintf(stderr, "sonde %s: --at %s is after the end of the recording: it has %.3f s", present->command,
			present->at, (double)(run->end_ns - run->start_ns) / 1e9);
	else {
		weigh->at_ns = run->start_ns + after_ns;
		return 0;
	}
	return wrong();
}

static int choose_heap(struct sonde_present *present, const struct sonde_session *session)
{
	struct sonde_weigh *weigh = &present->pass.weigh;
	const char *wanted = present->heap_of ? present->heap_of : SONDE_WEIGH_MALLOC, *names[16];
	weigh->heap = present->heap_of;
	if (!sonde_session_heap_site_count(session)) {
		fprintf(stderr, "sonde %s: %s holds no allocations: record them with sonde record --heap -- COMMAND",
			present->command, present->file);
		return wrong();
	}
	for (uint32_t id = 1; id <= sonde_session_heap_count(session); id++)
		if (sonde_weigh_is_of(weigh, sonde_session_heap(session, id)))
			return 0;
	fprintf(stderr, "sonde %s: no blocks of %s in %s; --heap-of takes what it has: ", present->command, wanted,
		present->file);
	size_t count = sonde_weigh_heaps(session, names, sizeof names / sizeof *names);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "%s%s", i ? ", " : "", names[i]);
	return wrong();
}

static int choose_waits(const struct sonde_present *present, const struct sonde_session *session)
{
	if (sonde_weigh_has(session, SONDE_CHUNK_WAITS))
		return 0;
	fprintf(stderr, "sonde %s: %s holds no calls that wait: record them with sonde record %s -- COMMAND",
		present->command, present->file, present->pass.weigh.by == SONDE_WEIGH_IO ? "--io" : "--threads");
	return wrong();
}

int sonde_weigh_choose(struct sonde_present *present, const struct sonde_session *session,
		       const struct sonde_format *format)
{
	struct sonde_weigh *weigh = &present->pass.weigh;
	int given = sonde_weigh_is_given(present);
	if (!has_stacks(present, format) && is_of_timeline(present, format))
		return choose_heap(present, session);
	if (!has_stacks(present, format))
		return given ? refuse(present, format) : 0;
	int code = choose_by(present, session, &weigh->by);
	enum sonde_weigh_of of = sonde_weigh_of(weigh);
	if (!code && of != SONDE_WEIGH_OF_HEAP && present->heap_of) {
		fprintf(stderr, "sonde %s: --heap-of is not for %s; leave one of them out", present->command,
			sonde_weigh_rows[weigh->by].title);
		return wrong();
	}
	if (!code)
		code = choose_moment(present, sonde_session_run(session));
	if (!code && of == SONDE_WEIGH_OF_HEAP)
		code = choose_heap(present, session);
	else if (!code && of == SONDE_WEIGH_OF_WAITS)
		code = choose_waits(present, session);
	if (!code && !given && weigh->by != SONDE_WEIGH_CPU && !present->quiet)
		fprintf(stderr, "sonde %s: no CPU samples: weighed by %s (--weigh %s)\n", present->command,
			sonde_weigh_rows[weigh->by].title, sonde_weigh_rows[weigh->by].name);
	return code;
}
