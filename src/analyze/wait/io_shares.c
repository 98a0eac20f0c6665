/* io_shares.c: the fraction of bytes read and written that the hooks saw: one row per process.
 *
 * Also shows what each process received and sent through sockets. Appears in a default report only if bytes are
 * missing, with the likely cause.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/wait/io_seen.h"
#include "analyze/marks.h"
#include "util/error.h"

#define TITLE "I/O coverage: bytes counted by the kernel and seen by hooks"

enum { DEFAULT_ROWS = 20 };
enum { SHARE, READ_B, READ_SEEN_B, WRITTEN_B, WRITTEN_SEEN_B, PROCESS, PID, MISSING, RECEIVED_B, SENT_B, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SHARE] = {"share_seen", "seen", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [READ_B] = {"read_b", "read", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [READ_SEEN_B] = {"read_seen_b", "seen", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [WRITTEN_B] = {"written_b", "written", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [WRITTEN_SEEN_B] = {"written_seen_b", "seen", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 1},
    [MISSING] = {"missing", "likely missing", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [RECEIVED_B] = {"received_b", "received", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [SENT_B] = {"sent_b", "sent", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
};

struct shares {
	const struct sonde_session *session;
	struct sonde_io_seen seen;
	struct sonde_pass_options options;
};

static int shares_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct shares *shares = state;
	shares->options = *options;
	shares->session = session;
	return sonde_io_seen_init(&shares->seen, session, options);
}

static void shares_end(void *state)
{
	struct shares *shares = state;
	sonde_io_seen_fini(&shares->seen);
}

static int shares_feed(void *state, const struct sonde_batch *batch)
{
	struct shares *shares = state;
	sonde_io_seen_feed(&shares->seen, batch);
	return 0;
}

static int shares_merge(void *state, void *other)
{
	struct shares *into = state, *from = other;
	sonde_io_seen_merge(&into->seen, &from->seen);
	return 0;
}

/* Calls lost for lack of space. */
static uint64_t lost_of(const struct sonde_session *session, uint32_t process)
{
	uint64_t count = 0;
	for (size_t i = 0; i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(session, i);
		if (!strcmp(lost->source, "waits") && (!lost->process || lost->process == process))
			count += lost->count;
	}
	return count;
}

static const char *missing_of(const struct shares *shares, uint32_t id)
{
	const struct sonde_io_seen_process *process = &shares->seen.processes[id];
	if (sonde_io_seen_is_loading(&shares->seen, id))
		return "program loading";
	if (!sonde_io_seen_is_short(&shares->seen, id))
		return "";
	if (!process->calls)
		return "all calls: a static program?";
	if (lost_of(shares->seen.session, id))
		return "lost calls";
	return "raw system calls";
}

static int row_add(const struct shares *shares, uint32_t id, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_io_seen_process *row = &shares->seen.processes[id];
	const struct sonde_process *process = sonde_session_process(shares->seen.session, id);
	struct sonde_cell *cells = sonde_report_row(report, section);
	uint64_t all_b = row->counted.read_b + row->counted.written_b;
	uint64_t missing_b = sonde_io_seen_missing(&shares->seen, id);
	if (!process)
		return sonde_error(ENOMEM, "out of memory for a row");
	cells[SHARE] = all_b ? sonde_cell_real(1 - (double)missing_b / (double)all_b, 0)
			     : sonde_cell_absent("nothing was counted");
	cells[READ_B] = sonde_cell_int(row->counted.read_b);
	cells[READ_SEEN_B] = sonde_cell_int(row->seen.read_b);
	cells[WRITTEN_B] = sonde_cell_int(row->counted.written_b);
	cells[WRITTEN_SEEN_B] = sonde_cell_int(row->seen.written_b);
	cells[PROCESS] = sonde_cell_text(process->name);
	cells[PID] = sonde_cell_int(process->pid);
	cells[MISSING] = sonde_cell_text(missing_of(shares, id));
	cells[RECEIVED_B] = sonde_cell_int(row->sockets.read_b);
	cells[SENT_B] = sonde_cell_int(row->sockets.written_b);
	return 0;
}

struct order {
	uint64_t missing_b, all_b;
	uint32_t id;
};

static int compare(const void *left, const void *right)
{
	const struct order *a = left, *b = right;
	if (a->missing_b != b->missing_b)
		return a->missing_b < b->missing_b ? 1 : -1;
	if (a->all_b != b->all_b)
		return a->all_b < b->all_b ? 1 : -1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Sorted by missing bytes; only processes with missing bytes, unless all were requested. */
static size_t order_make(struct order *order, const struct shares *shares)
{
	size_t count = 0;
	for (uint32_t id = 1; id < shares->seen.count; id++) {
		const struct sonde_io_seen_process *process = &shares->seen.processes[id];
		int is_short = sonde_io_seen_is_short(&shares->seen, id);
		if (!process->is_counted || (!is_short && !shares->options.requested))
			continue;
		order[count++] = (struct order){.missing_b = is_short ? sonde_io_seen_missing(&shares->seen, id) : 0,
						.all_b = process->counted.read_b + process->counted.written_b,
						.id = id};
	}
	qsort(order, count, sizeof *order, compare);
	return count;
}

static int table_fill(const struct shares *shares, const struct order *order, size_t count, struct sonde_report *report)
{
	size_t limit = shares->options.limit ? shares->options.limit : DEFAULT_ROWS;
	struct sonde_section *section = sonde_report_table(report, "io-seen", TITLE, columns, COLUMNS);
	int rc = 0;
	for (size_t i = 0; !rc && i < count && i < limit; i++)
		rc = row_add(shares, order[i].id, report, section);
	if (rc)
		return rc;
	section->table.omitted = count > limit ? count - limit : 0;
	sonde_report_note(
	    report, section, 0,
	    "the kernel omits send, recv, mappings and io_uring; short-lived children count with their parent");
	return 0;
}

static int shares_finish(void *state, struct sonde_report *report)
{
	const struct shares *shares = state;
	struct sonde_io_seen_process all;
	struct order *order = calloc(shares->seen.count, sizeof *order);
	char why[640];
	int is_recorded =
	    sonde_recorded_any(shares->session, SONDE_NEEDS(FILES), why, sizeof why) != SONDE_RECORDED_NOT;
	int is_known = is_recorded && sonde_io_seen_all(&shares->seen, &all) && all.calls;
	size_t count = order && is_known ? order_make(order, shares) : 0;
	int rc = !order  ? sonde_error(ENOMEM, "out of memory for processes")
		 : count ? table_fill(shares, order, count, report)
			 : sonde_pass_nothing(&shares->options, report, "io-seen", TITLE,
					      "recorded by sonde record --io, for whole runs");
	free(order);
	return rc;
}

const struct sonde_pass sonde_pass_io_shares = {
    .name = "io-seen",
    .needs = SONDE_NEEDS(FILES),
    .has = sonde_has_waits,
    .title = "share of system call bytes that recorded calls cover",
    .types = 1u << SONDE_CHUNK_WAITS | 1u << SONDE_CHUNK_SERIES,
    .standard = 1,
    .state_b = sizeof(struct shares),
    .begin = shares_begin,
    .feed = shares_feed,
    .merge = shares_merge,
    .finish = shares_finish,
    .end = shares_end,
};
