/* io_seen.c: compares bytes seen by hooks with bytes counted by the kernel, by process (wait/io_seen.h). */
#include "analyze/wait/io_seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/metric.h"
#include "util/error.h"

int sonde_io_seen_init(struct sonde_io_seen *seen, struct sonde_session *session,
		       const struct sonde_pass_options *options)
{
	size_t count = sonde_session_process_count(session) + 1;
	*seen = (struct sonde_io_seen){.session = session,
				       .processes = calloc(count, sizeof *seen->processes),
				       .count = count,
				       .whole = !options->selection.from_ns && !options->selection.to_ns &&
						!options->selection.thread};
	return seen->processes ? 0 : sonde_error(ENOMEM, "out of memory for %zu processes", count);
}

void sonde_io_seen_fini(struct sonde_io_seen *seen)
{
	free(seen->processes);
}

static void see_socket(const struct sonde_io_seen *seen, struct sonde_io_seen_process *process,
		       const struct sonde_batch *batch, size_t i)
{
	const struct sonde_object *object = sonde_session_object(seen->session, batch->waits.object[i]);
	if (!object || object->kind != SONDE_OBJECT_SOCKET)
		return;
	if (batch->waits.kind[i] == SONDE_WAIT_READ || batch->waits.kind[i] == SONDE_WAIT_RECEIVE)
		process->sockets.read_b += batch->waits.amount[i];
	else if (batch->waits.kind[i] == SONDE_WAIT_WRITE || batch->waits.kind[i] == SONDE_WAIT_SEND)
		process->sockets.written_b += batch->waits.amount[i];
}

static void see(struct sonde_io_seen *seen, const struct sonde_batch *batch, size_t i)
{
	const struct sonde_thread *thread = sonde_session_thread(seen->session, batch->waits.thread[i]);
	if (!thread || thread->process >= seen->count || batch->waits.status[i] & SONDE_WAIT_SAMPLED)
		return;
	struct sonde_io_seen_process *process = &seen->processes[thread->process];
	process->calls++;
	process->maps += batch->waits.kind[i] == SONDE_WAIT_MAP;
	see_socket(seen, process, batch, i);
	if (batch->waits.kind[i] == SONDE_WAIT_READ)
		process->seen.read_b += batch->waits.amount[i];
	else if (batch->waits.kind[i] == SONDE_WAIT_WRITE)
		process->seen.written_b += batch->waits.amount[i];
}

/* Adds a reading of the kernel's byte counts: they never decrease, so the largest reading counts. */
static void count(struct sonde_io_seen *seen, const struct sonde_batch *batch, size_t i)
{
	const struct sonde_series *series = sonde_session_series(seen->session, batch->series.series[i]);
	if (!series || !series->process || series->process >= seen->count || series->thread ||
	    batch->series.value[i] < 0)
		return;
	struct sonde_io_seen_process *process = &seen->processes[series->process];
	uint64_t *into =
	    !strcmp(series->name, sonde_metric_row(SONDE_METRIC_IO_READ_ALL)->name)      ? &process->counted.read_b
	    : !strcmp(series->name, sonde_metric_row(SONDE_METRIC_IO_WRITTEN_ALL)->name) ? &process->counted.written_b
											 : NULL;
	if (!into)
		return;
	process->is_counted = 1;
	*into = (uint64_t)batch->series.value[i] > *into ? (uint64_t)batch->series.value[i] : *into;
}

void sonde_io_seen_feed(struct sonde_io_seen *seen, const struct sonde_batch *batch)
{
	for (size_t i = 0; batch->type == SONDE_CHUNK_WAITS && i < batch->count; i++)
		see(seen, batch, i);
	for (size_t i = 0; batch->type == SONDE_CHUNK_SERIES && i < batch->count; i++)
		count(seen, batch, i);
}

static void add(struct sonde_io_seen_process *into, const struct sonde_io_seen_process *from)
{
	into->seen.read_b += from->seen.read_b;
	into->seen.written_b += from->seen.written_b;
	into->sockets.read_b += from->sockets.read_b;
	into->sockets.written_b += from->sockets.written_b;
	into->counted.read_b += from->counted.read_b;
	into->counted.written_b += from->counted.written_b;
	into->calls += from->calls;
	into->maps += from->maps;
	into->is_counted |= from->is_counted;
}

void sonde_io_seen_merge(struct sonde_io_seen *seen, const struct sonde_io_seen *other)
{
	for (size_t i = 0; i < seen->count && i < other->count; i++) {
		struct sonde_io_seen_process *into = &seen->processes[i], from = other->processes[i];
		struct sonde_io_count counted = into->counted;
		add(into, &from);
		into->counted.read_b = counted.read_b > from.counted.read_b ? counted.read_b : from.counted.read_b;
		into->counted.written_b =
		    counted.written_b > from.counted.written_b ? counted.written_b : from.counted.written_b;
	}
}

/* --- what is missing --------------------------------------------------------------------------------------------- */

int sonde_io_seen_all(const struct sonde_io_seen *seen, struct sonde_io_seen_process *out)
{
	*out = (struct sonde_io_seen_process){0};
	for (size_t i = 1; i < seen->count; i++)
		add(out, &seen->processes[i]);
	return out->is_counted && seen->whole;
}

/* Limits what the hooks saw to what the kernel counted: hooks may have counted more, because only they see bytes that
 * pipes move without copying. */
static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t missing_of(const struct sonde_io_seen_process *process)
{
	return process->counted.read_b - lesser(process->counted.read_b, process->seen.read_b) +
	       process->counted.written_b - lesser(process->counted.written_b, process->seen.written_b);
}

double sonde_io_seen_share(const struct sonde_io_seen_process *process)
{
	uint64_t all_b = process->counted.read_b + process->counted.written_b;
	return all_b ? 1 - (double)missing_of(process) / (double)all_b : -1;
}

/* True if `process` is `from` or one of its descendants. Parents have smaller ids; a process without a known parent
 * counts as a child of the command. */
static int descends(const struct sonde_session *session, uint32_t process, uint32_t from)
{
	uint32_t root = sonde_session_part_of(session, process)->root_process;
	while (process > from) {
		const struct sonde_process *row = sonde_session_process(session, process);
		uint32_t parent = row && row->parent ? row->parent : root;
		process = parent < process ? parent : 0;
	}
	return process == from;
}

uint64_t sonde_io_seen_missing(const struct sonde_io_seen *seen, uint32_t process)
{
	struct sonde_io_seen_process tree = {0};
	uint64_t own_b = missing_of(&seen->processes[process]), others_b = 0;
	if (!own_b)
		return 0;
	for (uint32_t i = process; i < seen->count; i++) {
		if (!descends(seen->session, i, process))
			continue;
		add(&tree, &seen->processes[i]);
		others_b += i == process ? 0 : missing_of(&seen->processes[i]);
	}
	return lesser(own_b, missing_of(&tree) - lesser(missing_of(&tree), others_b));
}

/* The bytes that loading programs may have read, in a process and its descendants. Which of them called exec() is
 * unknown, so each counts as a program. */
static uint64_t loading_b(const struct sonde_io_seen *seen, uint32_t process)
{
	uint64_t programs = 0;
	for (uint32_t i = process; i < seen->count; i++)
		programs += descends(seen->session, i, process) != 0;
	return SONDE_IO_SEEN_LEAST_B + programs * SONDE_IO_SEEN_PROGRAM_B;
}

/* Missing bytes, if they are a twentieth or more. */
static uint64_t large_missing(const struct sonde_io_seen *seen, uint32_t process)
{
	const struct sonde_io_seen_process *row = &seen->processes[process];
	uint64_t all_b = row->counted.read_b + row->counted.written_b, missing_b = 0;
	if (seen->whole && row->is_counted && missing_of(row) >= SONDE_IO_SEEN_LEAST_B)
		missing_b = sonde_io_seen_missing(seen, process);
	return (double)missing_b > (1 - SONDE_IO_SEEN_SHARE) * (double)all_b ? missing_b : 0;
}

int sonde_io_seen_is_short(const struct sonde_io_seen *seen, uint32_t process)
{
	uint64_t missing_b = large_missing(seen, process);
	return missing_b && missing_b >= loading_b(seen, process);
}

int sonde_io_seen_is_loading(const struct sonde_io_seen *seen, uint32_t process)
{
	uint64_t missing_b = large_missing(seen, process);
	return missing_b && missing_b < loading_b(seen, process);
}
