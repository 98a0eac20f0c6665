/* made_findings.c: the tables `findings` (results of the rules) and `finding_notes` (what the rules could not check).
 * Rows and their texts share one memory block, texts last. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/findings.h"
#include "query/made.h"
#include "util/error.h"

static const char *within_of(const struct sonde_finding *finding)
{
	return finding->within ? finding->within : "";
}

static size_t texts_b(const struct sonde_found *found)
{
	size_t sum_b = 0;
	for (size_t i = 0; i < found->count; i++)
		sum_b += strlen(found->rows[i].subject) + strlen(found->rows[i].evidence) +
			 strlen(within_of(&found->rows[i])) + 3;
	return sum_b;
}

static const char *keep(char **at, const char *text)
{
	size_t length = strlen(text) + 1;
	char *kept = memcpy(*at, text, length);
	*at += length;
	return kept;
}

static int take(const struct sonde_found *found, struct sonde_query_made *made)
{
	struct sonde_query_finding *rows = calloc(1, (found->count + 1) * sizeof *rows + texts_b(found));
	if (!rows)
		return sonde_error(ENOMEM, "out of memory for findings");
	char *at = (char *)(rows + found->count + 1);
	for (size_t i = 0; i < found->count; i++) {
		const struct sonde_finding *finding = &found->rows[i];
		const struct sonde_rule *rule = finding->rule;
		rows[i] = (struct sonde_query_finding){
		    .rule = rule->id,
		    .title = rule->title,
		    .severity = sonde_severity_name(sonde_finding_severity(finding)),
		    .limiter = finding->limiter ? finding->limiter : rule->limiter,
		    .subject = keep(&at, finding->subject),
		    .evidence = keep(&at, finding->evidence),
		    .saves_ns = finding->saves_ns > 0 ? (uint64_t)finding->saves_ns : 0,
		    .at_most_ns = finding->saves_ns > 0 ? (uint64_t)finding->at_most_ns : 0,
		    .within = keep(&at, within_of(finding)),
		    .bytes = finding->bytes > 0 ? (uint64_t)finding->bytes : 0,
		    .confidence = sonde_finding_confidence(finding),
		};
	}
	made->rows = rows;
	made->count = found->count;
	return 0;
}

static int take_notes(const struct sonde_found *found, struct sonde_query_made *made)
{
	const struct sonde_note *notes = found->report->notes;
	size_t count = 0, sum_b = 0;
	for (const struct sonde_note *note = notes; note; note = note->next, count++)
		sum_b += strlen(note->text) + 1;
	struct sonde_query_finding_note *rows = calloc(1, (count + 1) * sizeof *rows + sum_b);
	if (!rows)
		return sonde_error(ENOMEM, "out of memory for what was not found");
	char *at = (char *)(rows + count + 1);
	made->rows = rows;
	made->count = count;
	for (const struct sonde_note *note = notes; note; note = note->next)
		*rows++ = (struct sonde_query_finding_note){keep(&at, note->text), note->warning != 0};
	return 0;
}

static int make(struct sonde_session *session, struct sonde_query_made *made,
		int (*take_what)(const struct sonde_found *found, struct sonde_query_made *made))
{
	const struct sonde_pass_options options = {0};
	struct sonde_report *report;
	struct sonde_found found;
	int rc = sonde_report_new(&report);
	if (rc)
		return rc;
	rc = sonde_findings_find(&found, session, &options, report, NULL);
	rc = rc ? rc : sonde_report_status(report);
	rc = rc ? rc : take_what(&found, made);
	free(found.rows);
	sonde_report_free(report);
	return rc;
}

int sonde_query_make_findings(struct sonde_session *session, struct sonde_query_made *made)
{
	return make(session, made, take);
}

int sonde_query_make_finding_notes(struct sonde_session *session, struct sonde_query_made *made)
{
	return make(session, made, take_notes);
}
