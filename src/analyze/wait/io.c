/* io.c: files, sockets and pipes by the time spent in calls on them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/wait/io_seen.h"
#include "analyze/marks.h"
#include "analyze/wait/losses.h"
#include "analyze/wait/sums.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum {
	TIME,
	READS,
	READ_B,
	WRITES,
	WRITTEN_B,
	OTHERS,
	MEAN,
	LONGEST,
	FILE_NAME,
	WHERE,
	SIZE,
	READ_TIME,
	WRITE_TIME,
	READ_WHERE,
	WRITE_WHERE,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [TIME] = {"total_ns", "time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [READS] = {SONDE_COLUMN_KEY(io, reads), "reads", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [READ_B] = {SONDE_COLUMN_KEY(io, read_b), "read", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [WRITES] = {SONDE_COLUMN_KEY(io, writes), "writes", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [WRITTEN_B] = {SONDE_COLUMN_KEY(io, written_b), "written", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [OTHERS] = {"other_calls", "others", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [MEAN] = {"mean_ns", "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [LONGEST] = {"longest_ns", "longest", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [FILE_NAME] = {SONDE_COLUMN_KEY(io, file), "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [WHERE] = {SONDE_COLUMN_KEY(io, most_in), "most in", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [SIZE] = {"mean_b", "mean size", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 5},
    [READ_TIME] = {SONDE_COLUMN_KEY(io, read_ns), "in reads", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 6},
    [WRITE_TIME] = {SONDE_COLUMN_KEY(io, write_ns), "in writes", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 6},
    [READ_WHERE] = {SONDE_COLUMN_KEY(io, most_reads_in), "most reads in", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 7},
    [WRITE_WHERE] = {SONDE_COLUMN_KEY(io, most_writes_in), "most writes in", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0,
		     7},
};

/* The stack with the most time. */
struct most {
	uint32_t stack;
	uint64_t ns;
};

struct file {
	const char *name;
	struct sonde_wait_sum reads, writes, others;
	struct most most, most_reads, most_writes; /* a pipe's readers and writers have different stacks */
};

struct io {
	struct sonde_wait_sums sums;
	struct sonde_io_seen seen;
};

static int is_read(uint32_t kind)
{
	return kind == SONDE_WAIT_READ || kind == SONDE_WAIT_RECEIVE;
}

static int is_write(uint32_t kind)
{
	return kind == SONDE_WAIT_WRITE || kind == SONDE_WAIT_SEND;
}

static uint64_t time_of(const struct file *file)
{
	return file->reads.total_ns + file->writes.total_ns + file->others.total_ns;
}

static void most_add(struct most *into, const struct most *from)
{
	if (!into->stack || from->ns > into->ns)
		*into = *from;
}

static void file_add(struct file *into, const struct file *from)
{
	sonde_wait_sum_add(&into->reads, &from->reads);
	sonde_wait_sum_add(&into->writes, &from->writes);
	sonde_wait_sum_add(&into->others, &from->others);
	most_add(&into->most, &from->most);
	most_add(&into->most_reads, &from->most_reads);
	most_add(&into->most_writes, &from->most_writes);
}

static int compare_names(const void *left, const void *right)
{
	const struct file *a = left, *b = right;
	return strcmp(a->name, b->name);
}

static int compare_times(const void *left, const void *right)
{
	const struct file *a = left, *b = right;
	if (time_of(a) != time_of(b))
		return time_of(a) < time_of(b) ? 1 : -1;
	return compare_names(left, right);
}

/* An object without a name gets the reason instead. */
static const char *name_of(const struct sonde_wait_sums *sums, const struct sonde_wait_cell *cell,
			   struct sonde_report *report)
{
	if (cell->object)
		return sonde_wait_object_name(sums, report, cell->object);
	return cell->kind == SONDE_WAIT_CLOSE ? "(closed unused)" : "(its name exceeded the limit)";
}

static struct file file_of(const struct sonde_wait_cell *cell, const char *name)
{
	struct file file = {.name = name, .most = {cell->stack, cell->sum.total_ns}};
	if (is_read(cell->kind)) {
		file.reads = cell->sum;
		file.most_reads = file.most;
	} else if (is_write(cell->kind)) {
		file.writes = cell->sum;
		file.most_writes = file.most;
	} else {
		file.others = cell->sum;
	}
	return file;
}

/* Merges objects of the same name: processes and descriptors have separate objects. */
static ptrdiff_t files_make(struct file **out, const struct sonde_wait_sums *sums, struct sonde_report *report)
{
	struct file *files = calloc(sums->measured.count + 1, sizeof *files);
	size_t count = 0, kept = 0;
	*out = files;
	for (size_t i = 0; files && i < sums->measured.count; i++) {
		const struct sonde_wait_cell *cell = &sums->measured.rows[i];
		if (sonde_wait_group_of(cell) != SONDE_WAIT_GROUP_IO)
			continue;
		files[count] = file_of(cell, name_of(sums, cell, report));
		if (!files[count++].name)
			return -1;
	}
	if (!files)
		return -1;
	qsort(files, count, sizeof *files, compare_names);
	for (size_t i = 0; i < count; i++) {
		if (kept && !compare_names(&files[kept - 1], &files[i]))
			file_add(&files[kept - 1], &files[i]);
		else
			files[kept++] = files[i];
	}
	qsort(files, kept, sizeof *files, compare_times);
	return (ptrdiff_t)kept;
}

static void row_add(const struct sonde_wait_sums *sums, const struct file *file, struct sonde_report *report,
		    struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *where = sonde_wait_place_text(sums, report, file->most.stack);
	const char *reads_in = sonde_wait_place_text(sums, report, file->most_reads.stack);
	const char *writes_in = sonde_wait_place_text(sums, report, file->most_writes.stack);
	uint64_t transfers = file->reads.calls + file->writes.calls, calls = transfers + file->others.calls;
	uint64_t longest_ns = file->reads.longest_ns;
	longest_ns = file->writes.longest_ns > longest_ns ? file->writes.longest_ns : longest_ns;
	longest_ns = file->others.longest_ns > longest_ns ? file->others.longest_ns : longest_ns;
	row[TIME] = sonde_cell_int(time_of(file));
	row[READS] = sonde_cell_int(file->reads.calls);
	row[READ_B] = sonde_cell_int(file->reads.amount);
	row[WRITES] = sonde_cell_int(file->writes.calls);
	row[WRITTEN_B] = sonde_cell_int(file->writes.amount);
	row[OTHERS] = sonde_cell_int(file->others.calls);
	row[MEAN] = calls ? sonde_cell_int(time_of(file) / calls) : sonde_cell_absent("started before");
	row[LONGEST] = sonde_cell_int(longest_ns);
	row[FILE_NAME] = sonde_cell_text(file->name);
	row[WHERE] = sonde_cell_text(where);
	row[SIZE] = transfers ? sonde_cell_int((file->reads.amount + file->writes.amount) / transfers)
			      : sonde_cell_absent("nothing was read or written");
	row[READ_TIME] = sonde_cell_int(file->reads.total_ns);
	row[WRITE_TIME] = sonde_cell_int(file->writes.total_ns);
	row[READ_WHERE] = file->reads.calls ? sonde_cell_text(reads_in) : sonde_cell_absent("nothing was read");
	row[WRITE_WHERE] = file->writes.calls ? sonde_cell_text(writes_in) : sonde_cell_absent("nothing was written");
}

static void note_all(const struct sonde_wait_sums *sums, const struct file *files, size_t count,
		     struct sonde_report *report, struct sonde_section *section)
{
	struct file all = {0};
	for (size_t i = 0; i < count; i++)
		file_add(&all, &files[i]);
	sonde_report_note(
	    report, section, 0,
	    "reads: %llu, %.3f MB; writes: %llu, %.3f MB; other calls: %llu; %.3f s in all (all threads; run: %.3f s)",
	    (unsigned long long)all.reads.calls, (double)all.reads.amount / 1e6, (unsigned long long)all.writes.calls,
	    (double)all.writes.amount / 1e6, (unsigned long long)all.others.calls, (double)time_of(&all) / 1e9,
	    sonde_window_s(&sums->window));
}

/* Notes "3 closed without having been used, 1 …". */
static void note_nameless(const struct file *files, size_t count, struct sonde_report *report,
			  struct sonde_section *section)
{
	const char *list = "";
	uint64_t all = 0;
	for (size_t i = 0; i < count && list; i++) {
		const struct file *file = &files[i];
		uint64_t calls = file->reads.calls + file->writes.calls + file->others.calls;
		size_t length = strlen(file->name);
		if (file->name[0] != '(' || !calls)
			continue;
		all += calls;
		list = sonde_report_text(report, "%s%s%llu %.*s", list, *list ? ", " : "", (unsigned long long)calls,
					 (int)length - 2, file->name + 1);
	}
	if (all)
		sonde_report_note(report, section, 0, "%llu call%s on an unknown file: %s", (unsigned long long)all,
				  sonde_plural(all), list);
}

static void note_maps(const struct sonde_io_seen_process *all, struct sonde_report *report,
		      struct sonde_section *section)
{
	static const char others[] = "io_uring, raw system calls, static programs, and C libraries other than glibc";
	if (!all->maps)
		sonde_report_note(report, section, 0, "not seen: %s", others);
	else
		sonde_report_note(report, section, 0, "not seen: reads of mapped files (%llu time%s), %s",
				  (unsigned long long)all->maps, sonde_plural(all->maps), others);
}

/* Notes how much of the kernel's byte counts the hooks saw; a process with missing bytes gets a row of its own
 * (wait/io_shares.c). */
static void note_seen(const struct sonde_io_seen *seen, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_io_seen_process all;
	int is_known = sonde_io_seen_all(seen, &all);
	uint64_t bytes = all.counted.read_b + all.counted.written_b, short_of = 0, loading = 0;
	for (uint32_t i = 1; is_known && i < seen->count; i++) {
		short_of += (uint64_t)sonde_io_seen_is_short(seen, i);
		loading += (uint64_t)sonde_io_seen_is_loading(seen, i);
	}
	note_maps(&all, report, section);
	if (!is_known || !bytes)
		return;
	if (!short_of)
		sonde_report_note(report, section, 0,
				  "%.1f %% of the %.3f MB that the kernel counted for system calls were seen%s",
				  100 * sonde_io_seen_share(&all), (double)bytes / 1e6,
				  loading ? ": the rest is small enough to be program loading" : "");
	else
		sonde_report_note(report, section, 1,
				  "%.1f %% of %.3f MB of system calls were seen; for %llu process%s, less than %.0f %% "
				  "(section io-seen)",
				  100 * sonde_io_seen_share(&all), (double)bytes / 1e6, (unsigned long long)short_of,
				  sonde_word(short_of, "", "es"), 100 * SONDE_IO_SEEN_SHARE);
}

static void table_fill(const struct io *io, const struct file *files, size_t count, struct sonde_report *report)
{
	const struct sonde_wait_sums *sums = &io->sums;
	size_t limit = sums->options.limit ? sums->options.limit : DEFAULT_ROWS;
	struct sonde_section *section = sonde_report_table(report, "io", "Files by time in I/O", columns, COLUMNS);
	for (size_t i = 0; i < count && i < limit; i++)
		row_add(sums, &files[i], report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	note_all(sums, files, count, report, section);
	note_nameless(files, count, report, section);
	sonde_wait_losses_note(sums, report, section);
	note_seen(&io->seen, report, section);
}

static void io_end(void *state)
{
	struct io *io = state;
	sonde_wait_sums_end(&io->sums);
	sonde_io_seen_fini(&io->seen);
}

static int io_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct io *io = state;
	int rc = sonde_wait_sums_begin(&io->sums, session, options);
	return rc ? rc : sonde_io_seen_init(&io->seen, session, options);
}

static int io_feed(void *state, const struct sonde_batch *batch)
{
	struct io *io = state;
	sonde_io_seen_feed(&io->seen, batch);
	return batch->type == SONDE_CHUNK_WAITS ? sonde_wait_sums_feed(&io->sums, batch) : 0;
}

static int io_merge(void *state, void *other_state)
{
	struct io *io = state, *other = other_state;
	sonde_io_seen_merge(&io->seen, &other->seen);
	return sonde_wait_sums_merge(&io->sums, &other->sums);
}

static int io_finish(void *state, struct sonde_report *report)
{
	const struct io *io = state;
	const struct sonde_wait_sums *sums = &io->sums;
	struct file *files;
	ptrdiff_t count = files_make(&files, sums, report);
	if (count > 0)
		table_fill(io, files, (size_t)count, report);
	else if (count == 0)
		sonde_pass_nothing(&sums->options, report, "io", "I/O",
				   "no read or write was recorded: use sonde record --io");
	free(files);
	return count < 0 ? sonde_error(ENOMEM, "out of memory for files") : 0;
}

const struct sonde_pass sonde_pass_io = {
    .name = "io",
    .needs = SONDE_NEEDS(FILES),
    .has = sonde_has_waits,
    .nothing = "no call on a file or socket was made",
    .title = "files, sockets and pipes: calls, bytes, time",
    .types = 1u << SONDE_CHUNK_WAITS | 1u << SONDE_CHUNK_SERIES,
    .standard = 1,
    .state_b = sizeof(struct io),
    .begin = io_begin,
    .feed = io_feed,
    .merge = io_merge,
    .finish = io_finish,
    .end = io_end,
};
