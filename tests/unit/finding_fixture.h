/* finding_fixture.h: what the tests of rules about devices share: a recording is judged, and what a rule found of it.
 */
#ifndef SONDE_TESTS_FINDING_FIXTURE_H
#define SONDE_TESTS_FINDING_FIXTURE_H

#include "device_fixture.h"

#include "analyze/findings/findings.h"

#define END_MS 1000

struct judged {
	struct sonde_session *session;
	struct sonde_report *report;
	struct sonde_found found;
};

/* In the part of the recording that was asked for. */
static inline void judge_in(struct judged *judged, struct recording *r, const struct sonde_pass_options *options)
{
	recording_close(r, START + END_MS * MS, 0);
	assert_int_equal(sonde_session_open(&judged->session, path, &(struct sonde_session_options){.no_symbols = 1}),
			 0);
	assert_int_equal(sonde_report_new(&judged->report), 0);
	assert_int_equal(sonde_findings_find(&judged->found, judged->session, options, judged->report, NULL), 0);
}

static inline void judge(struct judged *judged, struct recording *r)
{
	struct sonde_pass_options options = {0};
	judge_in(judged, r, &options);
}

static inline void forget(struct judged *judged)
{
	free(judged->found.rows);
	sonde_report_free(judged->report);
	sonde_session_close(judged->session);
}

static inline const struct sonde_finding *finding_of(const struct judged *judged, const char *rule)
{
	for (size_t i = 0; i < judged->found.count; i++)
		if (!strcmp(judged->found.rows[i].rule->id, rule))
			return &judged->found.rows[i];
	return NULL;
}

static inline int is_said(const struct judged *judged, const char *words)
{
	for (const struct sonde_note *note = judged->report->notes; note; note = note->next)
		if (strstr(note->text, words))
			return 1;
	return 0;
}

/* The rule and what it saves; negative: it is silent. Nothing is critical in any of these. */
static inline void expect(struct recording *r, const char *rule, double saves_ms)
{
	struct judged judged;
	judge(&judged, r);
	const struct sonde_finding *finding = finding_of(&judged, rule);
	for (size_t i = 0; i < judged.found.count; i++) {
		assert_true(judged.found.rows[i].saves_ns <= judged.found.span_ns);
		assert_true(sonde_finding_severity(&judged.found.rows[i]) < SONDE_SEVERITY_CRITICAL);
	}
	if (saves_ms < 0 && finding)
		fail_msg("%s: %s", rule, finding->evidence);
	if (saves_ms >= 0) {
		assert_non_null(finding);
		assert_near(finding->saves_ns / 1e6, saves_ms, 0.01);
	}
	forget(&judged);
}

#endif
