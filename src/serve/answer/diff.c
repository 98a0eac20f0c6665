/* diff.c: answers queries about two recordings: which files are open, and how they differ.
 *
 * The comparison uses the same code and format as `sonde diff`, so that the answer has the same bytes as its output.
 */
#include <errno.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "report/report.h"
#include "serve/answer/answer.h"
#include "serve/answer/ask.h"
#include "util/error.h"
#include "util/quantity.h"

enum { VERSION = 1 }; /* of answers that are not reports */

/* --- list of recordings ------------------------------------------------------------------------------------------- */

static void put_run(struct sonde_json *json, const char *name, const struct sonde_session *session)
{
	const char *command = sonde_session_info(session, "run.command");
	sonde_json_object(json);
	sonde_json_put_text(json, "run", name);
	sonde_json_put_text(json, "file", sonde_session_path(session));
	sonde_json_put_text(json, "command", command ? command : "");
	sonde_json_end(json);
}

int sonde_answer_runs(struct sonde_session *const runs[2], const struct sonde_params *params, struct sonde_buf *out)
{
	struct sonde_json json;
	int rc = sonde_params_check(params, (const char *const[]){NULL});
	if (rc || !sonde_answer_begin(&json, out, VERSION))
		return rc ? rc : -ENOMEM;
	sonde_json_put_array(&json, "runs");
	put_run(&json, "a", runs[0]);
	if (runs[1])
		put_run(&json, "b", runs[1]);
	sonde_json_end(&json);
	return sonde_answer_end(&json, out);
}

/* --- differences -------------------------------------------------------------------------------------------------- */

static int take(struct sonde_diff_options *out, const struct sonde_params *params)
{
	for (size_t i = 0; i < params->count; i++) {
		const struct sonde_param *param = &params->all[i];
		uint64_t limit;
		if (strcmp(param->name, "section") == 0)
			out->sections = param->value;
		else if (strcmp(param->name, "limit") == 0) {
			if (sonde_quantity_integer(&limit, param->value, 1, SONDE_ASK_LIMIT_MAX))
				return sonde_error(EINVAL, "limit is a number of rows from 1 to %d, not '%s'",
						   SONDE_ASK_LIMIT_MAX, param->value);
			out->limit = (size_t)limit;
		} else if (strcmp(param->name, "token") != 0)
			return sonde_error(EINVAL, "unknown parameter '%s'", param->name);
	}
	return sonde_diff_check_sections(out->sections);
}

int sonde_answer_diff(struct sonde_session *const runs[2], const struct sonde_params *params, struct sonde_buf *out)
{
	struct sonde_diff_options wanted = {.margin = SONDE_DIFF_MARGIN};
	struct sonde_report *report;
	int rc = take(&wanted, params);
	if (!rc && !runs[1])
		rc = sonde_error(EINVAL, "there is only one recording here: sonde view A B shows two");
	if (rc || (rc = sonde_report_new(&report)))
		return rc;
	struct sonde_diff diff = {.baseline = runs[0], .candidate = runs[1], .options = &wanted, .report = report};
	report->path = sonde_session_path(runs[1]);
	report->title = sonde_report_text(report, "%s → %s", sonde_session_path(runs[0]), report->path);
	rc = sonde_diff_run(&diff);
	rc = rc ? rc : sonde_report_status(report);
	rc = rc ? rc : sonde_answer_json(out, report);
	sonde_report_free(report);
	return rc;
}
