/* merged_notes.c: notes on a merged recording: its parts, how their clocks were aligned, and what was left out
 * (summary/facts.h). */
#include <stdlib.h>
#include <string.h>

#include "analyze/summary/facts.h"
#include "analyze/words.h"
#include "util/buf.h"

enum { NAMED_MOST = 6, LINE_MAX_B = 1 << 14 };
#define MOVED_LEAST_NS 1000000u /* drift of a wall clock, e.g. by being set, that deserves a note */

static void names_put(struct sonde_buf *line, const struct sonde_session *session,
		      int (*is_wanted)(const struct sonde_part *part))
{
	size_t printed = 0, left = 0;
	for (size_t i = 0; i < sonde_session_part_count(session); i++) {
		const struct sonde_part *part = sonde_session_part(session, i);
		if (is_wanted && !is_wanted(part))
			continue;
		if (printed == NAMED_MOST) {
			left++;
			continue;
		}
		sonde_buf_printf(line, "%s%s", printed++ ? ", " : "", part->name);
	}
	if (left)
		sonde_buf_printf(line, " and %zu more", left);
}

static uint64_t number(const struct sonde_session *session, const char *key)
{
	const char *text = sonde_session_info(session, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

/* How the clocks were aligned. */
static void clocks_put(struct sonde_buf *line, const struct sonde_session *session)
{
	const char *aligned = sonde_session_info(session, "merged.aligned");
	uint64_t moved_ns = number(session, "merged.clock_moved_ns");
	if (!aligned)
		sonde_buf_text(line, "on one clock");
	else if (!strcmp(aligned, "wall clock"))
		sonde_buf_text(line, "aligned by the wall clocks, whose offset is unknown");
	else
		sonde_buf_printf(line, "aligned by their first %s, as requested", aligned);
	if (aligned && moved_ns >= MOVED_LEAST_NS)
		sonde_buf_printf(line, " (one of them moved by %.3g ms)", (double)moved_ns / 1e6);
}

static size_t machines_of(const struct sonde_session *session)
{
	size_t count = 0;
	for (size_t i = 0; i < sonde_session_part_count(session); i++) {
		int is_new = *sonde_session_part(session, i)->machine != '\0';
		for (size_t k = 0; k < i && is_new; k++)
			is_new = strcmp(sonde_session_part(session, k)->machine,
					sonde_session_part(session, i)->machine) != 0;
		count += (size_t)is_new;
	}
	return count;
}

static void note_parts(const struct sonde_session *session, struct sonde_report *report)
{
	struct sonde_buf line;
	size_t machines = machines_of(session);
	sonde_buf_init(&line, LINE_MAX_B);
	sonde_buf_printf(&line, "merged of %zu recordings (", sonde_session_part_count(session));
	names_put(&line, session, NULL);
	sonde_buf_text(&line, ")");
	if (machines > 1)
		sonde_buf_printf(&line, " from %zu machines", machines);
	sonde_buf_text(&line, ", ");
	clocks_put(&line, session);
	sonde_buf_text(&line, "; wall time is from the first start to the last end");
	if (machines > 1)
		sonde_buf_text(&line, "; figures of each machine: series@HOST of sonde query");
	sonde_report_note_of(report, 0, &line);
}

static int is_open(const struct sonde_part *part)
{
	return !part->closed;
}

static void note_open(const struct sonde_session *session, struct sonde_report *report)
{
	struct sonde_buf line;
	size_t count = 0;
	for (size_t i = 0; i < sonde_session_part_count(session); i++)
		count += (size_t)is_open(sonde_session_part(session, i));
	if (!count)
		return;
	sonde_buf_init(&line, LINE_MAX_B);
	sonde_buf_text(&line, "incomplete, so the end is missing: ");
	names_put(&line, session, is_open);
	sonde_report_note_of(report, 1, &line);
}

static void note_left_out(const struct sonde_session *session, struct sonde_report *report)
{
	size_t printed = 0, left = 0;
	for (size_t i = 0; i < sonde_session_part_count(session); i++) {
		const struct sonde_part *part = sonde_session_part(session, i);
		if (!*part->note)
			continue;
		if (printed++ < NAMED_MOST)
			sonde_report_note(report, NULL, 0, "%s: %s", part->name, part->note);
		else
			left++;
	}
	if (left)
		sonde_report_note(report, NULL, 0, "and also of %zu more", left);
}

void sonde_merged_notes(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const struct sonde_session *session = facts->session;
	uint64_t skipped = number(session, "merged.skipped_chunks");
	if (sonde_session_part_count(session) > 1) {
		note_parts(session, report);
		note_open(session, report);
		note_left_out(session, report);
	}
	if (skipped)
		sonde_report_note(report, NULL, 1,
				  "%llu merged chunk%s or records could not be understood, and %s left out",
				  (unsigned long long)skipped, sonde_plural(skipped), sonde_word(skipped, "is", "are"));
}
