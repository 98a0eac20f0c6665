/* gaps.c: the longest times in which a GPU was idle, and what the host did meanwhile. */
#include "analyze/device/gaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/cpu/by_function.h"
#include "analyze/device/rows.h"
#include "analyze/device/sums.h"
#include "analyze/marks.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20, SPARE = 4096 };
enum {
	LENGTH,
	AT,
	REQUESTED,
	SYNC,
	BUILD,
	API,
	IO,
	WAIT,
	RUNNING,
	UNKNOWN,
	ZONE,
	FUNCTION,
	NEXT,
	THREAD,
	DEVICE,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [LENGTH] = {SONDE_COLUMN_KEY(device_gaps, gap_ns), "gap", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [AT] = {SONDE_COLUMN_KEY(device_gaps, at_ns), "at", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [REQUESTED] = {SONDE_COLUMN_KEY(device_gaps, asked_share), "submitted", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0,
		   0},
    [SYNC] = {SONDE_COLUMN_KEY(device_gaps, sync_share), "waiting", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [BUILD] = {"build_share", "compiling", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 3},
    [API] = {SONDE_COLUMN_KEY(device_gaps, api_share), "in calls", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
    [IO] = {SONDE_COLUMN_KEY(device_gaps, io_share), "in I/O", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
    [WAIT] = {"wait_share", "other waits", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 2},
    [RUNNING] = {SONDE_COLUMN_KEY(device_gaps, running_share), "running", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0,
		 0},
    [UNKNOWN] = {"unknown_share", "unknown", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [ZONE] = {SONDE_COLUMN_KEY(device_gaps, zone), "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [FUNCTION] = {SONDE_COLUMN_KEY(device_gaps, function), "most in", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 1},
    [NEXT] = {SONDE_COLUMN_KEY(device_gaps, next), "next", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [THREAD] = {SONDE_COLUMN_KEY(device_gaps, thread), "thread", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 3},
    [DEVICE] = {SONDE_COLUMN_KEY(device_gaps, device), "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
};

/* --- finding them ------------------------------------------------------------------------------------------------ */

struct finding {
	struct sonde_gap *all; /* capacity: limit + SPARE */
	size_t count, limit;
	uint64_t found, total_ns;
};

static int by_length(const void *left, const void *right)
{
	const struct sonde_gap *a = left, *b = right;
	uint64_t a_ns = a->to_ns - a->from_ns, b_ns = b->to_ns - b->from_ns;
	if (a_ns != b_ns)
		return a_ns > b_ns ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->device > b->device) - (a->device < b->device);
}

static int by_start(const void *left, const void *right)
{
	const struct sonde_gap *a = left, *b = right;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->device > b->device) - (a->device < b->device);
}

static void keep_longest(struct finding *finding)
{
	qsort(finding->all, finding->count, sizeof *finding->all, by_length);
	finding->count = finding->count < finding->limit ? finding->count : finding->limit;
}

static void found(struct finding *finding, struct sonde_gap gap)
{
	finding->found++;
	finding->total_ns += gap.to_ns - gap.from_ns;
	finding->all[finding->count++] = gap;
	if (finding->count == finding->limit + SPARE)
		keep_longest(finding);
}

static int find(struct finding *out, const struct sonde_device_times *times)
{
	size_t devices = sonde_session_device_count(times->session);
	uint64_t *ends_ns = calloc(devices + 1, sizeof *ends_ns);
	out->all = calloc(out->limit + SPARE, sizeof *out->all);
	if (!ends_ns || !out->all) {
		free(ends_ns);
		return sonde_error(ENOMEM, "out of memory for gaps of devices");
	}
	for (size_t i = 0; i < times->count; i++) {
		const struct sonde_device_time *row = &times->rows[i];
		uint64_t from_ns, to_ns;
		if (!sonde_device_times_busy(times, row, &from_ns, &to_ns))
			continue;
		uint32_t device = sonde_device_of_queue(times->session, row->queue);
		uint64_t end_ns = ends_ns[device];
		if (end_ns && from_ns > end_ns)
			found(out, (struct sonde_gap){.from_ns = end_ns,
						      .to_ns = from_ns,
						      .queued_ns = row->queued_ns,
						      .device = device,
						      .operation = row->operation,
						      .thread = row->thread});
		ends_ns[device] = to_ns > end_ns ? to_ns : end_ns;
	}
	free(ends_ns);
	keep_longest(out);
	return 0;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static struct sonde_cell text_or(int is_known, const char *text, const char *why)
{
	return is_known ? sonde_cell_text(text) : sonde_cell_absent(why);
}

static void names(struct sonde_cell *row, const struct sonde_gap *gap, const struct sonde_session *session,
		  struct sonde_report *report)
{
	const struct sonde_site *site = sonde_session_site(session, gap->zone_site);
	const struct sonde_thread *thread = sonde_session_thread(session, gap->thread);
	row[ZONE] = text_or(gap->zone_depth && site, site ? site->name : "", "no zone covered half of it");
	row[FUNCTION] = text_or(gap->has_function, sonde_function_name(session, gap->function),
				"no sample of the thread falls in it");
	row[NEXT] = sonde_cell_text(sonde_session_operation(session, gap->operation)->name);
	row[THREAD] = text_or(thread != NULL,
			      thread ? sonde_report_text(report, "%s (%" PRIu32 ")", thread->name, thread->tid) : "",
			      "who submitted the next work is unknown");
}

static int row_add(const struct sonde_device_times *times, const struct sonde_gap *gap, struct sonde_report *report,
		   struct sonde_section *section)
{
	double ns = (double)(gap->to_ns - gap->from_ns);
	uint64_t known_ns = 0;
	const char *device = sonde_device_label(times->session, gap->device, report);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[LENGTH] = sonde_cell_int(gap->to_ns - gap->from_ns);
	row[AT] = sonde_cell_int(gap->from_ns - sonde_session_run(times->session)->start_ns);
	for (size_t cause = 0; cause < SONDE_GAP_CAUSES; cause++) {
		known_ns += gap->cause_ns[cause];
		row[REQUESTED + cause] = sonde_cell_real((double)gap->cause_ns[cause] / ns, 0);
	}
	row[UNKNOWN] = sonde_cell_real((ns - (double)known_ns) / ns, 0);
	names(row, gap, times->session, report);
	row[DEVICE] = sonde_cell_text(device);
	return 0;
}

/* Orders the share columns so that a narrow terminal hides empty ones first, then all but the three largest over all
 * rows. */
static void order_shares(struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_table *table = &section->table;
	struct sonde_column *own = sonde_report_columns(report, columns, COLUMNS);
	double total_ns[COLUMNS] = {0};
	for (size_t i = 0; i < table->row_count; i++)
		for (size_t c = REQUESTED; c <= UNKNOWN; c++) {
			const struct sonde_cell *row = &table->cells[i * COLUMNS];
			total_ns[c] += row[c].real * (double)row[LENGTH].integer;
		}
	for (size_t c = REQUESTED; c <= UNKNOWN; c++) {
		size_t before = 0;
		for (size_t other = REQUESTED; other <= UNKNOWN; other++)
			before += total_ns[other] > total_ns[c] || (total_ns[other] == total_ns[c] && other < c);
		own[c].detail = total_ns[c] <= 0 ? 5 : before < 3 ? 0 : 2;
	}
	table->columns = own;
}

static void notes(const struct finding *finding, const struct sonde_gaps *gaps, const struct sonde_device_times *times,
		  struct sonde_report *report, struct sonde_section *section)
{
	sonde_report_note(
	    report, section, 0,
	    "%llu gap%s, %s in all: no queue of the GPU was active, between its first and last activity (%s)",
	    (unsigned long long)finding->found, sonde_plural(finding->found),
	    sonde_device_length(report, finding->total_ns), times->window.what);
	sonde_report_note(
	    report, section, 0,
	    "shares: activity of the thread that submitted the next work; zone: the innermost over half the "
	    "gap");
	if (gaps->left_out)
		sonde_report_note(report, section, 1,
				  "%llu calls and samples exceeded the memory limit: the unknown share is too large",
				  (unsigned long long)gaps->left_out);
	if (gaps->is_incomplete)
		sonde_report_note(report, section, 1,
				  "parts of the recording cannot be read: the unknown share is too large");
	sonde_device_times_note(times, report, section);
}

static int gaps_finish(void *state, struct sonde_report *report)
{
	struct sonde_device_times *times = state;
	struct finding finding = {.limit = times->options.limit ? times->options.limit : DEFAULT_ROWS};
	sonde_device_times_sort(times);
	finding.limit = finding.limit < times->count ? finding.limit : times->count;
	int rc = find(&finding, times);
	struct sonde_gaps gaps = {.all = finding.all, .count = rc ? 0 : finding.count};
	if (gaps.count)
		qsort(gaps.all, gaps.count, sizeof *gaps.all, by_start);
	rc = rc ? rc : sonde_gaps_explain(&gaps, times);
	if (gaps.count)
		qsort(gaps.all, gaps.count, sizeof *gaps.all, by_length);
	struct sonde_section *section =
	    gaps.count && !rc ? sonde_report_table(report, "device-gaps", "GPU gaps", columns, COLUMNS) : NULL;
	for (size_t i = 0; !rc && i < gaps.count; i++)
		rc = row_add(times, &gaps.all[i], report, section);
	if (!rc && section) {
		section->table.omitted = finding.found - gaps.count;
		order_shares(report, section);
		sonde_device_rows_apart(report, section);
		notes(&finding, &gaps, times, report, section);
	} else if (!rc) {
		rc = sonde_pass_nothing(&times->options, report, "device-gaps", "GPU gaps",
					"no GPU had a gap between two recorded activities");
	}
	sonde_gaps_fini(&gaps);
	return rc;
}

const struct sonde_pass sonde_pass_device_gaps = {
    .name = "device-gaps",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "when GPUs were idle, and what the host did then",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_times),
    .begin = sonde_device_times_begin,
    .feed = sonde_device_times_feed,
    .merge = sonde_device_times_merge,
    .finish = gaps_finish,
    .end = sonde_device_times_end,
};
