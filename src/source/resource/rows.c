/* rows.c: reads one process after the other and writes points.
 *
 * Bytes are written at the end of a round. Each parent is read before its children (parents have lower ids). So if a
 * child still exists when it is read, the count read from its parent did not yet include the child's bytes. If a child
 * has exited, its parent is read once more, and the child's bytes are subtracted (resource/bytes.h). Dead processes are
 * remembered until they have been waited for.
 *
 * Expensive details are read for one process after the other, within their budgets: PSS, which walks page tables, may
 * take 0.1 % of a CPU; context switches of multi-threaded processes may take 0.05 %.
 */
#include "source/resource/rows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/launch.h"
#include "source/resource/files.h"
#include "source/resource/bytes.h"
#include "util/array.h"

#define PSS_SHARE 1000u
#define SWITCHES_SHARE 2000u
#define LEFT_DEAR_NS 500000
#define PSS_LEAST_NS 50000u /* minimum estimate of a PSS reading's cost */
#define PAGES_TO_MEASURE 256u
#define PSS_PAGE_NS 40u /* initial estimate */
#define TASK_NS 20000u
#define SETTLE_NS 300000000u /* maximum delay until a process's own exit report is read */
#define FDS_A_PROCESS 5u
#define KEPT_MAX 512u      /* maximum of processes with open descriptors */
#define DEAD_MAX 64u       /* maximum of dead processes among them */
#define SERIES_EASY 16384u /* if there are more series, only processes that exist in two rounds get new ones */

struct sonde_resources_row {
	struct sonde_recorder_live live;
	struct sonde_resources_process process;
	struct sonde_resources_bytes bytes;
	pid_t parent;
	uint32_t series[SONDE_RESOURCE_COUNT];
	int is_open, is_kept, is_gone, is_new;
	int is_unread;          /* one reading failed for lack of descriptors */
	int has_bytes;          /* read, but not reported yet */
	int is_behind;          /* a child has exited since its bytes were read */
	uint64_t gone_ns;       /* when it was found to have exited, unreported; 0 = not, or reported since */
	int64_t threads, rss_b; /* last readings */
	int64_t peak_b;
	char name[32];
};

/* --- points ------------------------------------------------------------------------------------------------------- */

#define BYTES                                                                                                \
	(1u << SONDE_RESOURCE_IO_READ | 1u << SONDE_RESOURCE_IO_WRITTEN | 1u << SONDE_RESOURCE_IO_READ_ALL | \
	 1u << SONDE_RESOURCE_IO_WRITTEN_ALL)

static void put(struct sonde_resources_rows *rows, struct sonde_resources_row *row, const struct sonde_resources *now)
{
	uint64_t now_ns = sonde_clock_now_ns();
	for (unsigned i = 0; i < SONDE_RESOURCE_COUNT; i++) {
		if (!(now->known & 1u << i) || (i == SONDE_RESOURCE_MEMORY_RSS && !rows->reads_rss))
			continue;
		if (!row->series[i]) {
			row->series[i] = sonde_recorder_series(
			    rows->recorder, sonde_resource_metric((enum sonde_resource)i), row->live.id, 0, NULL);
			rows->series_count++;
		}
		sonde_recorder_point(rows->recorder, now_ns, row->series[i], now->value[i]);
	}
}

static struct sonde_resources_row *row_at(const struct sonde_resources_rows *rows, size_t i)
{
	return (struct sonde_resources_row *)rows->list.rows + i;
}

/* --- a process ---------------------------------------------------------------------------------------------------- */

static void close_row(struct sonde_resources_rows *rows, struct sonde_resources_row *row)
{
	if (row->is_open)
		sonde_resources_process_close(&row->process);
	rows->kept -= (size_t)row->is_kept;
	row->is_open = row->is_kept = 0;
	row->is_gone = 1;
}

/* Keeps the row of a dead process whose bytes have been written, because its bytes will be added to the counts of the
 * process that waits for it. */
static void keep_dead(struct sonde_resources_rows *rows, struct sonde_resources_row *row)
{
	if (SONDE_ARRAY_RESERVE(rows->dead, rows->dead_cap, rows->dead_count + 1)) {
		close_row(rows, row);
		return;
	}
	rows->dead[rows->dead_count++] = *row;
	row->is_open = row->is_kept = row->has_bytes = row->is_behind = 0; /* the copy now owns these */
	row->is_gone = 1;
}

/* Handles a process that was found to be dead or gone. */
static void went(struct sonde_resources_rows *rows, struct sonde_resources_row *row, enum sonde_resources_found found)
{
	rows->hidden += found == SONDE_RESOURCES_HIDDEN && !row->is_gone;
	if (found == SONDE_RESOURCES_GONE && row->bytes.known)
		keep_dead(rows, row);
	else
		close_row(rows, row);
	if (rows->finds_processes)
		row->gone_ns = sonde_clock_now_ns();
}

/* Handles a failed reading. If only descriptors were lacking, the process is read again in the next round. */
static void missed(struct sonde_resources_rows *rows, struct sonde_resources_row *row, enum sonde_resources_found found)
{
	if (found != SONDE_RESOURCES_UNREAD) {
		went(rows, row, found);
		return;
	}
	rows->unread += !row->is_unread;
	row->is_unread = 1;
}

static int open_row(struct sonde_resources_rows *rows, struct sonde_resources_row *row)
{
	int keep = rows->kept < rows->kept_max;
	enum sonde_resources_found found = sonde_resources_process_open(&row->process, "", row->live.pid, keep);
	if (found != SONDE_RESOURCES_FOUND) {
		missed(rows, row, found);
		return -1;
	}
	row->is_open = 1;
	row->is_kept = keep;
	rows->kept += (size_t)keep;
	return 0;
}

/* Records an exec if the name has changed and perf events do not report it. An exited process has reported its own last
 * name. Recording a name for its pid now would create a new process in the recording. */
static void see_name(struct sonde_resources_rows *rows, struct sonde_resources_row *row,
		     const struct sonde_resources *now)
{
	pid_t pid = row->live.pid;
	int is_alive = sonde_recorder_alive(rows->recorder, pid) == row->live.id;
	if (rows->finds_processes && is_alive && strcmp(now->name, row->name) != 0)
		sonde_recorder_comm(rows->recorder, pid, pid, now->name, 1, sonde_clock_now_ns());
	memcpy(row->name, now->name, sizeof row->name);
}

/* Raises the known peak RSS to the current RSS. The kernel's own peak is read only with the details, and is lost when
 * the process exits. */
static void raise_peak(struct sonde_resources_row *row, struct sonde_resources *now)
{
	const uint32_t rss = 1u << SONDE_RESOURCE_MEMORY_RSS, peak = 1u << SONDE_RESOURCE_MEMORY_PEAK_RSS;
	int64_t rss_b = now->known & rss ? now->value[SONDE_RESOURCE_MEMORY_RSS] : 0;
	if (!(now->known & peak) && rss_b > row->peak_b) {
		now->known |= peak;
		now->value[SONDE_RESOURCE_MEMORY_PEAK_RSS] = rss_b;
	}
	if (now->known & peak)
		row->peak_b = now->value[SONDE_RESOURCE_MEMORY_PEAK_RSS];
}

static void see_bytes(struct sonde_resources_row *row, struct sonde_resources *now)
{
	if (!(now->known & BYTES))
		return;
	sonde_resources_bytes_see(&row->bytes, now);
	row->parent = now->parent;
	row->has_bytes = 1;
	now->known &= ~BYTES;
}

static void read_row(struct sonde_resources_rows *rows, struct sonde_resources_row *row, int is_detailed, int is_final)
{
	struct sonde_resources now;
	int is_first = row->is_new;
	if (is_first && rows->series_count > SERIES_EASY && !is_final) {
		row->is_new = 0;
		return;
	}
	if (row->is_gone || (!row->is_open && open_row(rows, row)))
		return;
	enum sonde_resources_found found = sonde_resources_process_read(&row->process, is_detailed || is_first, &now);
	if (found != SONDE_RESOURCES_FOUND) {
		missed(rows, row, found);
		return;
	}
	rows->had_children |= row->process.had_children;
	see_name(rows, row, &now);
	rows->crowded += is_detailed && row->threads > SONDE_RESOURCES_TASKS_MAX;
	raise_peak(row, &now);
	row->threads = now.known & 1u << SONDE_RESOURCE_THREADS ? now.value[SONDE_RESOURCE_THREADS] : 1;
	row->rss_b = now.known & 1u << SONDE_RESOURCE_MEMORY_RSS ? now.value[SONDE_RESOURCE_MEMORY_RSS] : 0;
	if (row->process.missing_files)
		missed(rows, row, SONDE_RESOURCES_UNREAD);
	else if (is_first && !now.is_dead && !(now.known & 1u << SONDE_RESOURCE_IO_READ_ALL))
		rows->closed++;
	see_bytes(row, &now);
	put(rows, row, &now);
	row->is_new = 0;
	if (now.is_dead)
		went(rows, row, SONDE_RESOURCES_GONE);
}

static void came(void *context, void *row)
{
	struct sonde_resources_rows *rows = context;
	struct sonde_resources_row *process = row;
	process->is_new = 1;
	if (!rows->command || process->live.pid != rows->command)
		return;
	sonde_resources_bytes_begin(&process->bytes, SONDE_LAUNCH_READ_B, SONDE_LAUNCH_WRITTEN_B);
	rows->command = 0;
}

/* Called when the recorder knows that the process exited. Until it has been waited for, its final values can be
 * read. */
static void left(void *context, void *row)
{
	struct sonde_resources_rows *rows = context;
	struct sonde_resources_row *process = row;
	if (process->is_open)
		read_row(rows, process, 1, 1);
	if (!process->is_gone)
		went(rows, process, SONDE_RESOURCES_GONE);
}

static const struct sonde_live_kind kind = {sizeof(struct sonde_resources_row), came, left};

/* --- bytes -------------------------------------------------------------------------------------------------------- */

/* The row of the process with this pid, if the process is readable or has exited in this round, too. */
static struct sonde_resources_row *find(const struct sonde_resources_rows *rows, pid_t pid)
{
	uint32_t id = sonde_recorder_alive(rows->recorder, pid);
	struct sonde_resources_row *row = id ? sonde_live_list_find(&rows->list, &kind, id) : NULL;
	if (row && !row->is_gone)
		return row;
	for (size_t i = rows->dead_count; i-- > 0;)
		if (rows->dead[i].live.pid == pid)
			return &rows->dead[i];
	return NULL;
}

static void read_again(struct sonde_resources_row *row)
{
	struct sonde_resources now;
	if (!row->is_behind)
		return;
	row->is_behind = 0;
	sonde_resources_process_bytes(&row->process, &now);
	sonde_resources_bytes_see_again(&row->bytes, &now);
	row->has_bytes |= now.known != 0;
}

/* Subtracts the bytes of an exited process from its parent's. The bytes of its own children have been subtracted from
 * it before. */
static int hand_one(struct sonde_resources_rows *rows, struct sonde_resources_row *row)
{
	for (size_t i = 0; i < rows->dead_count; i++)
		if (rows->dead[i].is_behind && rows->dead[i].parent == row->live.pid)
			return 0;
	row->is_behind = 0;
	struct sonde_resources_row *parent = find(rows, row->parent);
	if (!parent)
		return 1;
	int was_read = parent->has_bytes; /* the parent was read in this round; otherwise it has exited, too */
	if (!(was_read && sonde_resources_bytes_take(&parent->bytes, &row->bytes)) && parent->is_gone)
		sonde_resources_bytes_join(&parent->bytes, &row->bytes);
	return 1;
}

/* Finds the dead processes that have been waited for, and subtracts their bytes from their parents. */
static void hand_over(struct sonde_resources_rows *rows)
{
	for (size_t i = 0; i < rows->dead_count; i++) {
		struct sonde_resources_row *row = &rows->dead[i], *parent;
		row->is_gone = !sonde_resources_process_is_there(&row->process);
		parent = row->is_gone ? find(rows, row->parent) : NULL;
		if (parent)
			parent->is_behind = 1;
	}
	for (size_t i = 0; rows->dead_count && i < rows->list.count; i++)
		read_again(row_at(rows, i));
	for (size_t i = 0; i < rows->dead_count; i++) {
		read_again(&rows->dead[i]);
		rows->dead[i].is_behind = rows->dead[i].is_gone; /* its bytes must still be subtracted */
	}
	for (int is_moving = 1; is_moving;) {
		is_moving = 0;
		for (size_t i = 0; i < rows->dead_count; i++)
			is_moving |= rows->dead[i].is_behind && hand_one(rows, &rows->dead[i]);
	}
}

static void record_bytes(struct sonde_resources_rows *rows, struct sonde_resources_row *row)
{
	struct sonde_resources own;
	if (!row->has_bytes)
		return;
	row->has_bytes = 0;
	sonde_resources_bytes_record(&row->bytes, &own);
	put(rows, row, &own);
}

static void end_bytes(struct sonde_resources_rows *rows)
{
	size_t kept = 0;
	hand_over(rows);
	for (size_t i = 0; i < rows->list.count; i++)
		record_bytes(rows, row_at(rows, i));
	for (size_t i = 0; i < rows->dead_count; i++) {
		record_bytes(rows, &rows->dead[i]);
		if (rows->dead[i].is_gone || kept == DEAD_MAX)
			close_row(rows, &rows->dead[i]);
		else
			rows->dead[kept++] = rows->dead[i];
	}
	rows->dead_count = kept;
}

/* --- expensive details ------------------------------------------------------------------------------------------- */

static uint64_t pages_of(const struct sonde_resources_row *row)
{
	return (uint64_t)row->rss_b / (uint64_t)getpagesize() + 1;
}

/* The estimated cost of the detail for a process; 0 = nothing to read. */
static uint64_t price_of(const struct sonde_resources_rows *rows, const struct sonde_resources_turn *turn,
			 const struct sonde_resources_row *row)
{
	if (!row->is_open)
		return 0;
	if (turn == &rows->pss)
		return row->process.has_no_pss || !row->rss_b ? 0 : pages_of(row) * rows->page_ns + PSS_LEAST_NS;
	int wanted = row->process.was_multi && row->threads <= SONDE_RESOURCES_TASKS_MAX;
	return wanted ? (uint64_t)row->threads * TASK_NS : 0;
}

/* Reads one detail of processes in turn, within its budget; where it stops, the next round continues. */
static void read_turn(struct sonde_resources_rows *rows, struct sonde_resources_turn *turn)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		struct sonde_resources_row *row = row_at(rows, turn->at % rows->list.count);
		struct sonde_resources now;
		uint64_t now_ns = sonde_clock_now_ns(), price_ns = price_of(rows, turn, row);
		if (price_ns && !sonde_budget_allows(&turn->budget, price_ns, now_ns))
			return;
		turn->at++;
		if (!price_ns)
			continue;
		uint64_t before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		if (turn == &rows->pss)
			sonde_resources_process_pss(&row->process, &now);
		else
			sonde_resources_process_switches(&row->process, &now);
		uint64_t took_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
		sonde_budget_spend(&turn->budget, took_ns, now_ns);
		put(rows, row, &now);
		if (turn == &rows->pss && pages_of(row) > PAGES_TO_MEASURE)
			rows->page_ns = (rows->page_ns + took_ns / pages_of(row) + 1) / 2;
	}
}

/* --- public functions -------------------------------------------------------------------------------------------- */

void sonde_resources_rows_init(struct sonde_resources_rows *rows, struct sonde_recorder *recorder)
{
	*rows = (struct sonde_resources_rows){.recorder = recorder, .page_ns = PSS_PAGE_NS};
	rows->files_max = sonde_files_max();
	rows->kept_max = sonde_files_share(KEPT_MAX * FDS_A_PROCESS, 8) / FDS_A_PROCESS;
}

void sonde_resources_rows_start(struct sonde_resources_rows *rows, pid_t command, uint64_t now_ns)
{
	rows->command = command;
	sonde_budget_init(&rows->pss.budget, PSS_SHARE, LEFT_DEAR_NS, now_ns);
	sonde_budget_init(&rows->switches.budget, SWITCHES_SHARE, LEFT_DEAR_NS, now_ns);
}

void sonde_resources_rows_fini(struct sonde_resources_rows *rows)
{
	for (size_t i = 0; i < rows->list.count; i++)
		close_row(rows, row_at(rows, i));
	sonde_live_list_fini(&rows->list, &kind, rows);
	for (size_t i = 0; i < rows->dead_count; i++)
		close_row(rows, &rows->dead[i]);
	free(rows->dead);
}

void sonde_resources_rows_read(struct sonde_resources_rows *rows, int is_detailed, int is_final)
{
	sonde_live_list_refresh(&rows->list, &kind, rows->recorder, rows);
	for (size_t i = 0; i < rows->list.count; i++)
		read_row(rows, row_at(rows, i), is_detailed, is_final);
	end_bytes(rows);
	if (!is_detailed)
		return;
	read_turn(rows, &rows->pss);
	read_turn(rows, &rows->switches);
}

void sonde_resources_rows_end_gone(struct sonde_resources_rows *rows, uint64_t now_ns, int is_final)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		struct sonde_resources_row *row = row_at(rows, i);
		if (!row->gone_ns || (!is_final && now_ns < row->gone_ns + SETTLE_NS))
			continue;
		/* a process with hooks reports its own exit, and this report may still arrive */
		if (sonde_recorder_alive(rows->recorder, row->live.pid) == row->live.id)
			sonde_recorder_exit(rows->recorder, row->live.pid, row->live.pid, 0, row->gone_ns);
		row->gone_ns = 0;
	}
}
