/* io.c: rules about files. */
#include <math.h>
#include <string.h>

#include "analyze/findings/rules.h"

#define BLOCK_B 65536.0 /* assumed size of a buffer */
#define CALLS_LEAST 1000
#define QUICK_NS 20000 /* a call this short did not wait for anyone */
#define MOSTLY 0.5

static int is_stream(const char *name)
{
	return !strncmp(name, "pipe:", 5) || !strncmp(name, "socket:", 7) || !strncmp(name, "/dev/", 5);
}

/* The row of all calls of a kind; SIZE_MAX = none. */
static size_t kind_row(const struct sonde_facts *facts, enum sonde_wait_kind kind)
{
	const struct sonde_columns_wait_kinds *kinds = &facts->columns.wait_kinds;
	for (size_t i = 0; i < kinds->of.rows; i++)
		if (sonde_column_label(kinds, i, kind) == kind)
			return i;
	return SIZE_MAX;
}

static double calls_of(const struct sonde_facts *facts, enum sonde_wait_kind kind)
{
	size_t row = kind_row(facts, kind);
	return row == SIZE_MAX ? 0 : sonde_column_count(&facts->columns.wait_kinds, row, calls);
}

static double time_of(const struct sonde_facts *facts, enum sonde_wait_kind kind)
{
	size_t row = kind_row(facts, kind);
	return row == SIZE_MAX ? 0 : sonde_column_ns(&facts->columns.wait_kinds, row, total_ns);
}

/* The number of calls on all files in one direction: like a file's row, it includes send() or recv(), for sockets. */
static double both_of(const struct sonde_facts *facts, int is_write)
{
	return calls_of(facts, is_write ? SONDE_WAIT_WRITE : SONDE_WAIT_READ) +
	       calls_of(facts, is_write ? SONDE_WAIT_SEND : SONDE_WAIT_RECEIVE);
}

/* CPU time of the functions that make the calls. It includes system call entry and the recorder's overhead, which the
 * timing of calls does not. */
static double sampled_ns(const struct sonde_facts *facts, int is_write)
{
	static const char *const writes[] = {"write", "__libc_write", "__write", "ksys_write", "__x64_sys_write"};
	static const char *const reads[] = {"read", "__libc_read", "__read", "ksys_read", "__x64_sys_read"};
	return sonde_facts_cpu_on_path(facts, NULL, 0, sonde_facts_most_total_ns(facts, is_write ? writes : reads, 5));
}

/* The share of reads of pipes and sockets that put the thread to sleep, because another thread or program had not
 * written yet. A thread's switches are split in proportion to its blocked time. 0 if thread states are unknown. */
static double waiting_reads(const struct sonde_facts *facts)
{
	const struct sonde_columns_threads *threads = &facts->columns.threads;
	const struct sonde_columns_io *io = &facts->columns.io;
	double sleeps = 0, reads = 0;
	for (size_t i = 0; i < threads->of.rows; i++) {
		double blocked_ns = sonde_column_ns(threads, i, blocked_ns);
		double part = sonde_column_ns(threads, i, blocked_io_ns) / blocked_ns;
		double switches = sonde_column_count(threads, i, voluntary_switches);
		if (blocked_ns > 0 && part > 0 && switches > 0)
			sleeps += switches * fmin(part, 1);
	}
	for (size_t i = 0; i < io->of.rows; i++)
		if (is_stream(sonde_column_text(io, i, file)))
			reads += sonde_column_count(io, i, reads);
	return reads > 0 ? fmin(sleeps / reads, 1) : 0;
}

/* Calls of one kind on one file: the time saved if each transferred BLOCK_B. Sampled CPU time cannot be attributed to
 * files, so every call is assumed to have the mean. */
static int small_add(const struct sonde_facts *facts, const struct sonde_columns_io *io, size_t row, int is_write,
		     struct sonde_found *found)
{
	const char *file = sonde_column_text(io, row, file);
	const char *where =
	    is_write ? sonde_column_text(io, row, most_writes_in) : sonde_column_text(io, row, most_reads_in);
	double calls = is_write ? sonde_column_count(io, row, writes) : sonde_column_count(io, row, reads);
	double bytes = is_write ? sonde_column_bytes(io, row, written_b) : sonde_column_bytes(io, row, read_b);
	double all = both_of(facts, is_write), part = all > 0 ? fmin(calls / all, 1) : 0;
	if (!(calls > CALLS_LEAST) || !(bytes / calls < facts->threshold[SONDE_THRESHOLD_SMALL_B]) || !(part > 0))
		return 0;
	double timed_ns = is_write ? sonde_column_ns(io, row, write_ns) : sonde_column_ns(io, row, read_ns);
	double sampled = is_stream(file) ? 0 : sampled_ns(facts, is_write) * part;
	double time_ns = fmin(fmax(timed_ns, sampled), facts->span_ns);
	double saves_ns = time_ns * (1 - fmin(bytes / BLOCK_B / calls, 1));
	if ((is_stream(file) && (timed_ns / calls > QUICK_NS || (!is_write && waiting_reads(facts) > MOSTLY))) ||
	    !(time_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_SMALL_SHARE]))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = sonde_report_text(found->report, "%s%s%s", file, *where ? ", most in " : "", where),
		       .evidence = sonde_report_text(
			   found->report,
			   "%.0f %s of %.0f bytes (mean), %.2f µs each: %.3f s; blocks of 64 KB would take "
			   "%.0f",
			   calls, is_write ? "writes" : "reads", bytes / calls, time_ns / calls / 1e3, time_ns / 1e9,
			   ceil(bytes / BLOCK_B)),
		       .saves_ns = saves_ns,
		       .place = {.function = *where ? where : NULL},
		       .weighs = saves_ns / facts->span_ns});
}

static int small_find(const struct sonde_facts *facts, int is_write, struct sonde_found *found)
{
	const struct sonde_columns_io *io = &facts->columns.io;
	int rc = 0;
	for (size_t i = 0; !rc && i < io->of.rows; i++)
		rc = small_add(facts, io, i, is_write, found);
	return rc;
}

SONDE_EVALUATE(small_writes)
{
	return small_find(facts, 1, found);
}

SONDE_EVALUATE(small_reads)
{
	return small_find(facts, 0, found);
}

/* Time on the path of a kind of call. In a single-threaded run, all time of such calls is on the path. */
static double path_of(const struct sonde_facts *facts, enum sonde_wait_kind kind)
{
	double on_path_ns =
	    sonde_facts_on_path(facts, sonde_critical_element_of_wait(kind), NULL, SONDE_CRITICAL_KINDS);
	return sonde_summary_value(&facts->columns, run, threads) == 1 ? fmin(time_of(facts, kind), facts->span_ns)
								       : on_path_ns;
}

static const char *most_in(const struct sonde_facts *facts, enum sonde_wait_kind kind)
{
	const struct sonde_columns_waits *waits = &facts->columns.waits;
	for (size_t i = 0; i < waits->of.rows; i++)
		if (sonde_column_label(waits, i, kind) == kind)
			return sonde_column_text(waits, i, function);
	return "";
}

SONDE_EVALUATE(sync)
{
	double calls = calls_of(facts, SONDE_WAIT_SYNC), time_ns = path_of(facts, SONDE_WAIT_SYNC),
	       share = time_ns / facts->span_ns;
	if (!(share > facts->threshold[SONDE_THRESHOLD_SYNC]))
		return 0;
	const char *where = most_in(facts, SONDE_WAIT_SYNC);
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = *where ? sonde_report_text(found->report, "%s", where) : "fsync",
		       .evidence = sonde_report_text(found->report,
						     "%.0f fsync-like calls took %.3f s of the critical path (%.1f "
						     "%%)",
						     calls, time_ns / 1e9, 100 * share),
		       .saves_ns = time_ns,
		       .place = {.waits = SONDE_PLACE_WAITS(SYNC)},
		       .weighs = fmin(share, 1)});
}

/* Time on the path of calls on regular files. Others do not count: waits for pipes and sockets take as long as their
 * writers do. */
static double files_on_path_ns(const struct sonde_facts *facts, enum sonde_wait_kind kind)
{
	const struct sonde_columns_critical_path *path = &facts->columns.critical_path;
	double sum_ns = 0;
	for (size_t i = 0; i < path->of.rows; i++)
		if (sonde_column_label(path, i, kind) == sonde_critical_element_of_wait(kind) &&
		    !is_stream(sonde_column_text(path, i, name)) &&
		    sonde_column_label(path, i, state) == SONDE_CRITICAL_BLOCKED)
			sum_ns += sonde_column_ns(path, i, time_ns);
	return sum_ns;
}

/* Time of waits for pipes and sockets on the critical path. There are no phases for such reads; the path shows when
 * nothing else was done. */
static double waits_for_streams_ns(const struct sonde_facts *facts)
{
	const struct sonde_columns_critical_path *path = &facts->columns.critical_path;
	double sum_ns = 0;
	for (size_t i = 0; i < path->of.rows; i++) {
		enum sonde_critical_element_kind kind = sonde_column_label(path, i, kind);
		if ((kind == sonde_critical_element_of_wait(SONDE_WAIT_READ) ||
		     kind == sonde_critical_element_of_wait(SONDE_WAIT_RECEIVE)) &&
		    is_stream(sonde_column_text(path, i, name)) &&
		    sonde_column_label(path, i, state) == SONDE_CRITICAL_BLOCKED)
			sum_ns += sonde_column_ns(path, i, time_ns);
	}
	return sum_ns;
}

/* Loading phases in which no other thread of the program ran. Prefetching can hide at most as much time of these phases
 * as there is other work to do. */
SONDE_EVALUATE(loading)
{
	const struct sonde_columns_io_phases *phases = &facts->columns.io_phases;
	double alone_ns = 0, read_b = 0, count = 0;
	const char *where = "", *file = "";
	for (size_t i = 0; i < phases->of.rows; i++) {
		double part = sonde_column_ratio(phases, i, share_blocked);
		if (!(part > 0))
			continue;
		alone_ns += part * sonde_column_ns(phases, i, duration_ns);
		read_b += sonde_column_bytes(phases, i, read_b);
		count++;
		where = *where ? where : sonde_column_text(phases, i, most_in);
		file = *file ? file : sonde_column_text(phases, i, file);
	}
	double streams_ns = waits_for_streams_ns(facts);
	int is_streams = streams_ns > alone_ns;
	alone_ns = fmin(fmax(alone_ns, streams_ns), facts->span_ns);
	double saves_ns = fmin(alone_ns, facts->span_ns - alone_ns), share = saves_ns / facts->span_ns;
	if (!(share > facts->threshold[SONDE_THRESHOLD_LOADING]))
		return 0;
	/* Copying from the page cache is work: another thread could do it, but little of it is waiting. */
	double blocked = is_streams ? 1 : fmin(files_on_path_ns(facts, SONDE_WAIT_READ) / alone_ns, 1);
	if (is_streams) {
		return sonde_found_add(
		    found, &(struct sonde_finding){
			       .subject = *most_in(facts, SONDE_WAIT_READ)
					      ? sonde_report_text(found->report, "%s", most_in(facts, SONDE_WAIT_READ))
					      : "pipes and sockets",
			       .evidence = sonde_report_text(
				   found->report,
				   "%.3f s of the critical path were spent waiting for data from pipes and sockets "
				   "(%.0f reads)",
				   alone_ns / 1e9, both_of(facts, 0)),
			       .saves_ns = saves_ns,
			       .place = {.waits = SONDE_PLACE_WAITS(READ) | SONDE_PLACE_WAITS(RECEIVE)},
			       .confidence = 0.5,
			       .limiter = "latency",
			       .weighs = fmin(share, 1)});
	}
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = *where ? sonde_report_text(found->report, "%s", where)
					 : sonde_report_text(found->report, "%s", file),
		       .evidence = sonde_report_text(
			   found->report, "%.0f loading phases, %.1f MB: for %.3f s no other thread of the program ran",
			   count, read_b / 1e6, alone_ns / 1e9),
		       .confidence = 0.2 + 0.6 * blocked,
		       .saves_ns = saves_ns,
		       .place = {.waits = SONDE_PLACE_WAITS(READ)},
		       .weighs = fmin(share, 1)});
}

/* The file with the most time. */
static const char *slowest_file(const struct sonde_facts *facts, struct sonde_report *report)
{
	const struct sonde_columns_io *io = &facts->columns.io;
	for (size_t i = 0; i < io->of.rows; i++) {
		const char *file = sonde_column_text(io, i, file), *where = sonde_column_text(io, i, most_in);
		if (!is_stream(file))
			return sonde_report_text(report, "%s%s%s", file, *where ? ", most in " : "", where);
	}
	return "files";
}

SONDE_EVALUATE(files)
{
	static const enum sonde_wait_kind kinds[] = {SONDE_WAIT_OPEN,  SONDE_WAIT_READ, SONDE_WAIT_WRITE,
						     SONDE_WAIT_CLOSE, SONDE_WAIT_STAT, SONDE_WAIT_FAULT};
	double blocked_ns = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		blocked_ns += files_on_path_ns(facts, kinds[i]);
	double share = blocked_ns / facts->span_ns;
	for (size_t i = 0; i < found->count; i++)
		if (!strcmp(found->rows[i].rule->id, "loading") && found->rows[i].weighs > 0.5 * share)
			return 0; /* the same time is already reported */
	if (!(share > facts->threshold[SONDE_THRESHOLD_FILES]))
		return 0;
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = slowest_file(facts, found->report),
		.evidence =
		    sonde_report_text(found->report, "%.3f s of the critical path were blocked in file calls (%.1f %%)",
				      blocked_ns / 1e9, 100 * share),
		.saves_ns = blocked_ns,
		.place = {.waits = SONDE_PLACE_WAITS(OPEN) | SONDE_PLACE_WAITS(READ) | SONDE_PLACE_WAITS(WRITE) |
				   SONDE_PLACE_WAITS(CLOSE) | SONDE_PLACE_WAITS(STAT) | SONDE_PLACE_WAITS(FAULT)},
		.weighs = fmin(share, 1)});
}
