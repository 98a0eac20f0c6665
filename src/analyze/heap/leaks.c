/* leaks.c: memory still live when processes exited, and memory that grew while they ran: separate kinds of leaks.
 *
 * Unreachable (definitely lost): no pointer to the block was left, by LeakSanitizer's rules. Growing: the live bytes of
 * a call site rise persistently. On request, the section also has memory that was still reachable, and memory that
 * could not be scanned.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/heap/leak_rows.h"
#include "analyze/sizes.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20, DETAILS_MAX = 8 };
#define GROWTH_S 1.0        /* shorter runs reach no steady state */
#define GROWTH_PLAIN_S 10.0 /* the same in a default report: a short program that does one job grows all the time */
#define LEAKY 0.05          /* share of all allocated bytes from which on unreachable memory is a warning */
enum { CLASS, SIZE_B, BLOCKS, DIRECT, SHARE, SLOPE, CONFIDENCE, HEAP, FUNCTION, FILE_NAME, LINE, SITE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [CLASS] = {SONDE_COLUMN_KEY(leaks, class), "class", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [SIZE_B] = {SONDE_COLUMN_KEY(leaks, bytes), "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BLOCKS] = {SONDE_COLUMN_KEY(leaks, blocks), "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [DIRECT] = {"direct_blocks", "direct", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [SHARE] = {SONDE_COLUMN_KEY(leaks, share), "of allocated", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 3},
    [SLOPE] = {"slope_b_s", "per s", SONDE_UNIT_BYTES, SONDE_BASIS_ESTIMATED, 0, 1},
    [CONFIDENCE] = {SONDE_COLUMN_KEY(leaks, confidence), "sure", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 4},
    [HEAP] = {"heap", "heap", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 5},
    [FUNCTION] = {SONDE_COLUMN_KEY(leaks, function), "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 6},
    [LINE] = {"line", "line", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 2},
    [SITE] = {"site", "site", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 7},
};

static const char *const classes[] = {
    [SONDE_LEAK_UNREACHABLE] = "unreachable",
    [SONDE_LEAK_GROWING] = "growing",
    [SONDE_LEAK_NOT_KNOWN] = "not known",
    [SONDE_LEAK_REACHABLE] = "reachable",
};

/* True for a row that is shown by default. */
static int is_leak(const struct sonde_leak_row *row)
{
	return row->class == SONDE_LEAK_UNREACHABLE || row->class == SONDE_LEAK_GROWING;
}

static struct sonde_cell growth_cell(const struct sonde_leak_row *row)
{
	const struct sonde_growth *growth = &row->growth;
	double below = growth->slope - growth->low, above = growth->high - growth->slope;
	if (row->class != SONDE_LEAK_GROWING)
		return sonde_cell_absent("it did not grow");
	return sonde_cell_real(growth->slope, below > above ? below : above);
}

/* Returns size_b as a fraction of all bytes allocated in heaps of the same kind as `like`. */
static double share_of(const struct sonde_heap_pass *pass, const struct sonde_heap *like, uint64_t size_b)
{
	uint64_t begun_b = 0;
	for (uint32_t id = 0; id <= sonde_session_heap_count(pass->session); id++)
		if (sonde_heap_alike(sonde_session_heap(pass->session, id), like))
			begun_b += pass->sums.heaps[id].begun_b;
	return sonde_stats_share((double)size_b, (double)begun_b);
}

static void row_show(const struct sonde_heap_pass *pass, const struct sonde_leak_row *from, struct sonde_report *report,
		     struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_function *function = sonde_session_function(pass->session, from->function);
	const char *site = sonde_heap_stack_text(pass, report, from->stack);
	row[CLASS] = sonde_cell_label(classes[from->class], (int)from->class);
	row[SIZE_B] = sonde_heap_cell(pass, from->size_b, from->variance);
	row[BLOCKS] = sonde_heap_cell(pass, from->blocks, 0);
	row[DIRECT] = from->class == SONDE_LEAK_UNREACHABLE ? sonde_heap_cell(pass, from->direct_blocks, 0)
							    : sonde_cell_absent("unreachable blocks only");
	row[SHARE] = sonde_cell_real(share_of(pass, from->heap, from->size_b), 0);
	row[SLOPE] = growth_cell(from);
	row[CONFIDENCE] = from->class == SONDE_LEAK_GROWING ? sonde_cell_real(from->growth.confidence, 0)
							    : sonde_cell_absent("it did not grow");
	row[HEAP] = sonde_cell_text(sonde_heap_kind_text(from->heap));
	row[FUNCTION] = sonde_cell_text(function ? function->name : "(unknown)");
	row[FILE_NAME] = *from->file ? sonde_cell_text(from->file) : sonde_cell_absent("not known");
	row[LINE] = from->line ? sonde_cell_int(from->line) : sonde_cell_absent("not known");
	row[SITE] = sonde_cell_text(site);
}

/* --- notes ------------------------------------------------------------------------------------------------------- */

/* Notes the total of each class that occurs. */
static void note_sums(const struct sonde_heap_pass *pass, const struct sonde_leak_rows *leaks,
		      struct sonde_report *report, struct sonde_section *section)
{
	static const char *const said[] = {
	    [SONDE_LEAK_UNREACHABLE] = "%s leaked in %s block%s (unreachable at exit)",
	    [SONDE_LEAK_GROWING] = "%s in %s block%s live at exit, at call sites whose memory kept growing",
	    [SONDE_LEAK_NOT_KNOWN] = "%s in %s block%s live at exit, in memory that could not be scanned for pointers",
	    [SONDE_LEAK_REACHABLE] =
		("%s in %s block%s live at exit and still reachable; destructors of libraries may free some"),
	};
	for (int class = SONDE_LEAK_UNREACHABLE; class <= SONDE_LEAK_REACHABLE; class ++) {
		uint64_t size_b = 0, blocks = 0;
		double variance = 0;
		const struct sonde_heap *heap = NULL;
		for (size_t i = 0; i < leaks->count; i++) {
			if ((int)leaks->rows[i].class != class)
				continue;
			size_b += leaks->rows[i].size_b;
			blocks += leaks->rows[i].blocks;
			variance += leaks->rows[i].variance;
			heap = leaks->rows[i].heap;
		}
		const char *size = sonde_size_text(report, size_b, variance);
		const char *count = sonde_count_text(report, (double)blocks);
		if (!blocks)
			continue;
		char text[192];
		snprintf(text, sizeof text, said[class], size, count, sonde_plural(blocks));
		double share = class == SONDE_LEAK_UNREACHABLE ? share_of(pass, heap, size_b) : 0;
		if (share > 0)
			sonde_report_note(report, section, share > LEAKY, "%s: %.3g %% of all allocated bytes", text,
					  100 * share);
		else
			sonde_report_note(report, section, 0, "%s", text);
	}
}

/* Why a scan was impossible or incomplete: number of processes, and the first of them. */
struct detail {
	const char *text;
	uint32_t first, last; /* process ids */
	size_t processes;
};

static void detail_add(struct detail *details, size_t *count, const char *text, uint32_t process)
{
	size_t k = 0;
	while (k < *count && strcmp(details[k].text, text))
		k++;
	if (k == DETAILS_MAX)
		return;
	if (k == *count)
		details[(*count)++] = (struct detail){.text = text, .first = process};
	details[k].processes += details[k].last != process; /* details of one process are adjacent */
	details[k].last = process;
}

/* True if heap recording was not requested, as in a light recording. */
static int nobody_requested(const struct sonde_session *session)
{
	const struct sonde_source_row *source = sonde_session_source_named(session, "heap");
	return source && strstr(source->detail, SONDE_HEAP_NOT_REQUESTED);
}

static void note_details(const struct sonde_heap_pass *pass, struct sonde_report *report, struct sonde_section *section)
{
	struct detail details[DETAILS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < sonde_session_heap_remainder_count(pass->session); i++) {
		const struct sonde_heap_remainder *remainder = sonde_session_heap_remainder(pass->session, i);
		const struct sonde_heap_site *site = sonde_session_heap_site(pass->session, remainder->site);
		const struct sonde_heap *heap = site ? sonde_session_heap(pass->session, site->heap) : NULL;
		if (heap && heap->kind == SONDE_HEAP_MALLOC && *remainder->detail &&
		    strcmp(remainder->detail, SONDE_HEAP_NOT_REQUESTED) != 0)
			detail_add(details, &count, remainder->detail, heap->process);
	}
	for (size_t k = 0; k < count; k++) {
		const struct sonde_process *process = sonde_session_process(pass->session, details[k].first);
		const char *name = process ? process->name : "?";
		unsigned pid = process ? process->pid : 0;
		if (details[k].processes > 1)
			sonde_report_note(report, section, 1, "%zu processes, the first being %s (%u): %s",
					  details[k].processes, name, pid, details[k].text);
		else
			sonde_report_note(report, section, 1, "%s (%u): %s", name, pid, details[k].text);
	}
}

static void note_growth(const struct sonde_leak_rows *leaks, int requested, struct sonde_report *report,
			struct sonde_section *section)
{
	int grows = 0;
	for (size_t i = 0; i < leaks->count; i++)
		grows |= leaks->rows[i].class == SONDE_LEAK_GROWING;
	if (grows) {
		sonde_report_note(
		    report, section, 0,
		    "growing: a trend after the first fifth of the time (p < 0.001); the slope has its 95 %% interval");
	} else if (leaks->growth_s <= 0 && requested) {
		sonde_report_note(report, section, 0, "growth was not checked: the run was shorter than %g s",
				  GROWTH_S);
	}
}

static void notes_add(const struct sonde_heap_pass *pass, const struct sonde_leak_rows *leaks,
		      struct sonde_report *report, struct sonde_section *section)
{
	note_sums(pass, leaks, report, section);
	if (leaks->suppressed)
		sonde_report_note(
		    report, section, 0,
		    "%llu unreachable block%s (%llu B) suppressed by the program, or by LeakSanitizer's list",
		    (unsigned long long)leaks->suppressed, leaks->suppressed == 1 ? "" : "s",
		    (unsigned long long)leaks->suppressed_b);
	note_growth(leaks, pass->options.requested, report, section);
	note_details(pass, report, section);
	if (nobody_requested(pass->session))
		sonde_report_note(report, section, 0, "%s", SONDE_HEAP_NOT_REQUESTED);
	else if (sonde_heap_pass_mean_b(pass))
		sonde_report_note(report, section, 0,
				  "unreachable blocks are a lower bound: any memory may hold a pointer to them");
}

/* --- the section ------------------------------------------------------------------------------------------------- */

static int finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	const char *title = "Leaks and growth";
	size_t limit = pass->options.limit ? pass->options.limit : DEFAULT_ROWS, shown = 0;
	int requested = pass->options.requested;
	struct sonde_leak_rows leaks;
	int rc = sonde_heap_pass_read(pass, report, "leaks", title);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = sonde_leak_rows_make(&leaks, pass, requested ? GROWTH_S : GROWTH_PLAIN_S);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < leaks.count; i++)
		shown += requested || is_leak(&leaks.rows[i]);
	if (!shown && !requested && nobody_requested(pass->session)) {
		sonde_leak_rows_free(&leaks);
		return 0;
	}
	const struct sonde_column *as_known = sonde_heap_columns(pass, report, columns, COLUMNS);
	struct sonde_section *section =
	    sonde_report_table(report, "leaks", title, shown ? as_known : NULL, shown ? COLUMNS : 0);
	if (!shown && !nobody_requested(pass->session))
		sonde_report_note(report, section, 0, "no leaks found%s",
				  sonde_heap_pass_mean_b(pass) ? " among the sampled blocks" : "");
	for (size_t i = 0; i < leaks.count; i++) {
		if (!requested && !is_leak(&leaks.rows[i]))
			continue;
		if (section->table.row_count < limit)
			row_show(pass, &leaks.rows[i], report, section);
		else
			section->table.omitted++;
	}
	if (shown || requested)
		notes_add(pass, &leaks, report, section);
	else
		note_details(pass, report, section);
	sonde_leak_rows_free(&leaks);
	return 0;
}

const struct sonde_pass sonde_pass_leaks = {
    .name = "leaks",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "memory unreachable at exit, and memory that grows",
    .standard = 1,
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = finish,
    .end = sonde_heap_pass_end,
};
