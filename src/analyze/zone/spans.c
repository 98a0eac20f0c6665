/* spans.c: asynchronous spans by name: their number and durations, and how many had no counterpart. */
#include "analyze/zone/durations.h"
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"
#include "analyze/zone/span_pairs.h"
#include "analyze/window.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { NAME, COUNT, MEAN, UNFINISHED = MEAN + SONDE_DURATION_CELLS, RATE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"span", "span", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [COUNT] = {"count", "count", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    SONDE_DURATION_COLUMNS(MEAN),
    [UNFINISHED] = {"unfinished", "not ended", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [RATE] = {"rate_hz", "rate", SONDE_UNIT_HZ, SONDE_BASIS_MEASURED, 0, 0},
};

struct span {
	struct sonde_durations durations;
	uint64_t unfinished;
};

struct fold {
	struct sonde_annotations *marks;
	struct span *spans; /* by site */
	size_t sites;
	uint64_t unmatched;
};

static int spans_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	sonde_marks_init(state, session, options, 1u << SONDE_EVENT_SPAN_BEGIN | 1u << SONDE_EVENT_SPAN_END);
	return 0;
}

static int take(void *context, const struct sonde_mark *begin, uint64_t dur_ns)
{
	struct fold *fold = context;
	struct span *span = &fold->spans[begin->site < fold->sites ? begin->site : 0];
	if (dur_ns != SONDE_SPAN_OPEN)
		return sonde_durations_add(&span->durations, dur_ns);
	span->unfinished++;
	return 0;
}

static void row_add(const struct fold *fold, uint32_t id, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_site *site = sonde_session_site(fold->marks->session, id);
	struct sonde_window window = sonde_window_of(fold->marks->session, &fold->marks->options);
	const struct span *span = &fold->spans[id];
	row[NAME] = sonde_cell_text(site ? site->name : "(unnamed)");
	row[COUNT] = sonde_cell_int(span->durations.count);
	sonde_durations_cells(&span->durations, &row[MEAN]);
	row[UNFINISHED] = sonde_cell_int(span->unfinished);
	row[RATE] = sonde_cell_real(sonde_stats_share((double)span->durations.count, sonde_window_s(&window)), 0);
}

static int compare_spans(const void *left, const void *right, void *state)
{
	const struct fold *fold = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct sonde_durations *x = &fold->spans[a].durations, *y = &fold->spans[b].durations;
	double x_sum = sonde_durations_mean(x) * (double)x->count, y_sum = sonde_durations_mean(y) * (double)y->count;
	if (fold->marks->options.sort == SONDE_SORT_COUNT) {
		x_sum = (double)x->count;
		y_sum = (double)y->count;
	}
	return x_sum < y_sum ? 1 : x_sum > y_sum ? -1 : (a > b) - (a < b);
}

static int section_build(struct fold *fold, struct sonde_report *report)
{
	size_t limit = fold->marks->options.limit ? fold->marks->options.limit : DEFAULT_ROWS, count = 0;
	uint32_t *ids = malloc(fold->sites * sizeof *ids);
	struct sonde_section *section = sonde_report_table(report, "spans", "Spans by total time", columns, COLUMNS);
	int rc = ids ? 0 : sonde_error(ENOMEM, "out of memory for spans");
	uint64_t fewest = UINT64_MAX;
	for (uint32_t id = 0; ids && id < fold->sites; id++) {
		uint64_t n = fold->spans[id].durations.count;
		if (!n && !fold->spans[id].unfinished)
			continue;
		fewest = n < fewest ? n : fewest;
		ids[count++] = id;
	}
	if (ids)
		qsort_r(ids, count, sizeof *ids, compare_spans, fold);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		row_add(fold, ids[i], report, section);
	free(ids);
	if (rc < 0)
		return rc;
	section->table.omitted = count > limit ? count - limit : 0;
	struct sonde_window window = sonde_window_of(fold->marks->session, &fold->marks->options);
	sonde_durations_note(fewest, report, section);
	if (rc == 0 && (window.held || sonde_pass_selects(&fold->marks->options)))
		sonde_report_note(report, section, 0, "rates: ended spans ÷ %.3f s of %s", sonde_window_s(&window),
				  window.what);
	if (fold->unmatched)
		sonde_report_note(report, section, 1, "%llu end%s without a start %s not counted",
				  (unsigned long long)fold->unmatched, sonde_plural(fold->unmatched),
				  sonde_word(fold->unmatched, "was", "were"));
	return 0;
}

static int spans_finish(void *state, struct sonde_report *report)
{
	struct sonde_annotations *marks = state;
	struct fold fold = {.marks = marks, .sites = sonde_session_site_count(marks->session) + 1};
	if (!marks->count)
		return sonde_pass_nothing(
		    &marks->options, report, "spans", "Spans",
		    "no spans: mark them with sonde_span_begin() and sonde_span_end() (sonde/sonde.h)");
	fold.spans = calloc(fold.sites, sizeof *fold.spans);
	int rc = fold.spans ? sonde_span_pairs(marks, take, &fold, &fold.unmatched)
			    : sonde_error(ENOMEM, "out of memory for spans");
	if (rc == 0)
		rc = section_build(&fold, report);
	for (size_t i = 0; fold.spans && i < fold.sites; i++)
		sonde_durations_fini(&fold.spans[i].durations);
	free(fold.spans);
	return rc;
}

const struct sonde_pass sonde_pass_spans = {
    .name = "spans",
    .needs = SONDE_NEEDS(API),
    .has = sonde_has_spans,
    .title = "asynchronous spans: count, durations, unmatched",
    .types = 1u << SONDE_CHUNK_EVENTS,
    .standard = 1,
    .state_b = sizeof(struct sonde_annotations),
    .begin = spans_begin,
    .feed = sonde_marks_feed,
    .merge = sonde_marks_merge,
    .finish = spans_finish,
    .end = sonde_marks_end,
};
