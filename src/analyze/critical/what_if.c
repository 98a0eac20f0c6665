/* what_if.c: predicts how long the run would have taken if parts of it had been faster: each part alone, and all of
 * them together. */
#include <errno.h>
#include <math.h>

#include "analyze/contents.h"
#include "analyze/critical/graph.h"
#include "analyze/critical/replay.h"
#include "analyze/marks.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

#define TITLE "What if: the run with parts of it faster"

enum { WHAT_IFS_MAX = 16 };
enum { SPAN, PREDICTED, SAVED, FACTOR, KIND, NAME, SPEED, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SPAN] = {"span_ns", "recorded", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [PREDICTED] = {"predicted_ns", "predicted", SONDE_UNIT_NS, SONDE_BASIS_MODELLED, 0, 0},
    [SAVED] = {"saved_share", "saved", SONDE_UNIT_RATIO, SONDE_BASIS_MODELLED, 0, 0},
    [FACTOR] = {"speedup", "speedup", SONDE_UNIT_FACTOR, SONDE_BASIS_MODELLED, 0, 1},
    [KIND] = {"kind", "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [NAME] = {"name", "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [SPEED] = {"speed", "part sped up by", SONDE_UNIT_FACTOR, SONDE_BASIS_MEASURED, 0, 0},
};

struct asking {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_critical_scale scales[WHAT_IFS_MAX];
};

static int what_if_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct asking *asking = state;
	int rc = 0;
	if (options->what_ifs > WHAT_IFS_MAX)
		rc = sonde_error(EINVAL, "%zu times --what-if: the maximum is %d", options->what_ifs, WHAT_IFS_MAX);
	for (size_t i = 0; !rc && i < options->what_ifs; i++)
		rc = sonde_critical_scale_parse(&asking->scales[i], options->what_if[i]);
	asking->session = session;
	asking->options = *options;
	return rc;
}

static int row_add(const struct sonde_critical *critical, const struct sonde_critical_scale *scales, size_t count,
		   struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_critical_outcome outcome;
	uint64_t span_ns = critical->to_ns - critical->from_ns;
	int rc = sonde_critical_replay(&outcome, critical, scales, count);
	if (!rc && !outcome.is_found) /* of several scales, each was already checked on its own */
		rc = sonde_error(EINVAL, "--what-if: the recording has no %s '%s'", sonde_critical_of_name(scales->of),
				 scales->name);
	struct sonde_cell *row = rc ? NULL : sonde_report_row(report, section);
	const char *name = count == 1 ? sonde_report_text(report, "%s", scales->name) : "all of these";
	if (rc)
		return rc;
	row[SPAN] = sonde_cell_int(span_ns);
	row[KIND] = sonde_cell_text(count == 1 ? sonde_critical_of_name(scales->of) : "together");
	row[NAME] = sonde_cell_text(name);
	row[SPEED] = count > 1              ? sonde_cell_absent("each has its own")
		     : isinf(scales->speed) ? sonde_cell_absent("infinitely fast: it takes no time")
					    : sonde_cell_real(scales->speed, 0);
	if (count == 1 && outcome.assumed)
		sonde_report_note(report, section, 0,
				  "%s: %llu hold%s without waiters %s not recorded: the median of the others is used",
				  name, (unsigned long long)outcome.assumed, sonde_plural(outcome.assumed),
				  sonde_word(outcome.assumed, "is", "are"));
	row[PREDICTED] = sonde_cell_int(outcome.span_ns);
	row[SAVED] = sonde_cell_real(1 - sonde_stats_share((double)outcome.span_ns, (double)span_ns), 0);
	row[FACTOR] = outcome.span_ns ? sonde_cell_real((double)span_ns / (double)outcome.span_ns, 0)
				      : sonde_cell_absent("no time would remain");
	return 0;
}

static void notes_add(const struct sonde_critical *critical, const struct asking *asking, struct sonde_report *report,
		      struct sonde_section *section)
{
	int by_function = 0, by_lock = 0;
	for (size_t i = 0; i < asking->options.what_ifs; i++) {
		by_function |= asking->scales[i].of == SONDE_CRITICAL_OF_FUNCTION;
		by_lock |= asking->scales[i].of == SONDE_CRITICAL_OF_LOCK;
	}
	sonde_report_note(
	    report, section, 0,
	    "modelled: waits for threads and CPUs shrink, sleeps and file I/O do not; lock order is kept");
	if (by_function)
		sonde_report_note(report, section, 0, "functions: including callees, estimated from samples");
	if (by_lock)
		sonde_report_note(report, section, 0,
				  "locks: the owner's work while it holds the lock; time before the first waiter "
				  "is not recorded");
	if (!critical->has_switches)
		sonde_report_note(report, section, 1,
				  "no context switches were recorded: threads count as running outside blocking calls");
}

static int table_fill(const struct sonde_critical *critical, const struct asking *asking, struct sonde_report *report)
{
	size_t count = asking->options.what_ifs;
	struct sonde_section *section = sonde_report_table(report, "what-if", TITLE, columns, COLUMNS);
	int rc = 0;
	for (size_t i = 0; !rc && i < count; i++)
		rc = row_add(critical, &asking->scales[i], 1, report, section);
	if (!rc && count > 1)
		rc = row_add(critical, asking->scales, count, report, section);
	if (!rc)
		notes_add(critical, asking, report, section);
	return rc;
}

static int what_if_finish(void *state, struct sonde_report *report)
{
	const struct asking *asking = state;
	const struct sonde_critical_graph *graph;
	if (!asking->options.what_ifs)
		return sonde_pass_nothing(&asking->options, report, "what-if", TITLE,
					  "name the part to speed up: sonde advise --what-if zone=NAME,speed=2");
	int rc = sonde_critical_graph_acquire(&graph, asking->session, &asking->options);
	if (rc)
		return rc;
	rc = graph->critical.final ? table_fill(&graph->critical, asking, report)
				   : sonde_pass_nothing(&asking->options, report, "what-if", TITLE,
							"the recording has no thread in this time");
	sonde_critical_graph_release(graph);
	return rc;
}

const struct sonde_pass sonde_pass_what_if = {
    .name = "what-if",
    .has = sonde_has_nothing,
    .title = "predicted run time with parts of it faster (sonde advise --what-if)",
    .state_b = sizeof(struct asking),
    .begin = what_if_begin,
    .finish = what_if_finish,
};
