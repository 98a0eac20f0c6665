/* finding_fixture.h: shared by the tests of rules about devices: evaluates a recording, and returns what a rule found.
 */
#ifndef SONDE_TESTS_FINDING_FIXTURE_H
#define SONDE_TESTS_FINDING_FIXTURE_H

#include "device_fixture.h"

#include "analyze/findings/findings.h"

#define END_MS 1000

struct evaluated {
	struct sonde_session *session;
	struct sonde_report *report;
	struct sonde_found found;
};

/* In the part of the recording that was asked for. */
static inline void evaluate_in(struct evaluated *evaluated, struct recording *r,
			       const struct sonde_pass_options *options)
{
	recording_close(r, START + END_MS * MS, 0);
	assert_int_equal(
	    sonde_session_open(&evaluated->session, path, &(struct sonde_session_options){.no_symbols = 1}), 0);
	assert_int_equal(sonde_report_new(&evaluated->report), 0);
	assert_int_equal(sonde_findings_find(&evaluated->found, evaluated->session, options, evaluated->report, NULL),
			 0);
}

static inline void evaluate(struct evaluated *evaluated, struct recording *r)
{
	struct sonde_pass_options options = {0};
	evaluate_in(evaluated, r, &options);
}

static inline void forget(struct evaluated *evaluated)
{
	free(evaluated->found.rows);
	sonde_report_free(evaluated->report);
	sonde_session_close(evaluated->session);
}

static inline const struct sonde_finding *finding_of(const struct evaluated *evaluated, const char *rule)
{
	for (size_t i = 0; i < evaluated->found.count; i++)
		if (!strcmp(evaluated->found.rows[i].rule->id, rule))
			return &evaluated->found.rows[i];
	return NULL;
}

static inline int is_said(const struct evaluated *evaluated, const char *words)
{
	for (const struct sonde_note *note = evaluated->report->notes; note; note = note->next)
		if (strstr(note->text, words))
			return 1;
	return 0;
}

/* The rule and what it saves; negative: it is silent. Nothing is critical in any of these. */
static inline void expect(struct recording *r, const char *rule, double saves_ms)
{
	struct evaluated evaluated;
	evaluate(&evaluated, r);
	const struct sonde_finding *finding = finding_of(&evaluated, rule);
	for (size_t i = 0; i < evaluated.found.count; i++) {
		assert_true(evaluated.found.rows[i].saves_ns <= evaluated.found.span_ns);
		assert_true(sonde_finding_severity(&evaluated.found.rows[i]) < SONDE_SEVERITY_CRITICAL);
	}
	if (saves_ms < 0 && finding)
		fail_msg("%s: %s", rule, finding->evidence);
	if (saves_ms >= 0) {
		assert_non_null(finding);
		assert_near(finding->saves_ns / 1e6, saves_ms, 0.01);
	}
	forget(&evaluated);
}

#endif
