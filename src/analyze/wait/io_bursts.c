/* io_bursts.c: collects reads of files as they arrive, merging a thread's reads that follow each other closely
 * (wait/io_phases.h).
 *
 * Gaps up to 10 µs are merged; whenever there are too many rows the limit doubles and the rows are merged again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/wait/io_phases.h"
#include "analyze/wait/io_seen.h"
#include "util/array.h"
#include "util/error.h"

#define BRIDGE_NS 10000u
#define MOST_ROWS 1000000u

/* True for files in a file system. Reading from a device is not loading data: it returns what the device has at the
 * time, or what someone types. */
static int is_data(const struct sonde_object *object)
{
	static const char *const others[] = {"/dev/", "/proc/", "/sys/"};
	if (object->kind != SONDE_OBJECT_FILE)
		return 0;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strncmp(object->name, others[i], strlen(others[i])))
			return 0;
	return 1;
}

int sonde_io_bursts_init(struct sonde_io_bursts *bursts, struct sonde_session *session,
			 const struct sonde_pass_options *options)
{
	size_t threads = sonde_session_thread_count(session) + 1, objects = sonde_session_object_count(session) + 1;
	*bursts = (struct sonde_io_bursts){.session = session,
					   .options = *options,
					   .window = sonde_window_of(session, options),
					   .most = MOST_ROWS,
					   .bridge_ns = BRIDGE_NS,
					   .last = calloc(threads, sizeof *bursts->last),
					   .is_file = calloc(objects, 1),
					   .threads = threads,
					   .objects = objects};
	if (!bursts->last || !bursts->is_file)
		return sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	for (uint32_t id = 1; id < objects; id++)
		bursts->is_file[id] = (uint8_t)is_data(sonde_session_object(session, id));
	return 0;
}

void sonde_io_bursts_fini(struct sonde_io_bursts *bursts)
{
	free(bursts->rows);
	free(bursts->last);
	free(bursts->is_file);
}

static void join(struct sonde_io_burst *into, const struct sonde_io_burst *from)
{
	into->from_ns = from->from_ns < into->from_ns ? from->from_ns : into->from_ns;
	into->to_ns = from->to_ns > into->to_ns ? from->to_ns : into->to_ns;
	into->reading_ns += from->reading_ns;
	into->read_b += from->read_b;
	into->reads += from->reads;
	if (from->most_b <= into->most_b)
		return;
	into->most_b = from->most_b;
	into->stack = from->stack;
	into->object = from->object;
}

static int compare(const void *left, const void *right)
{
	const struct sonde_io_burst *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

void sonde_io_bursts_sort(struct sonde_io_bursts *bursts)
{
	if (bursts->count)
		qsort(bursts->rows, bursts->count, sizeof *bursts->rows, compare);
}

static void put_together(struct sonde_io_bursts *bursts)
{
	size_t kept = 0;
	sonde_io_bursts_sort(bursts);
	for (size_t i = 0; i < bursts->count; i++) {
		struct sonde_io_burst *last = kept ? &bursts->rows[kept - 1] : NULL;
		const struct sonde_io_burst *next = &bursts->rows[i];
		if (last && last->thread == next->thread && next->from_ns <= last->to_ns + bursts->bridge_ns)
			join(last, next);
		else
			bursts->rows[kept++] = *next;
	}
	bursts->count = kept;
	memset(bursts->last, 0, bursts->threads * sizeof *bursts->last);
	for (size_t i = 0; i < kept; i++)
		bursts->last[bursts->rows[i].thread] = i + 1;
}

static int ensure_capacity(struct sonde_io_bursts *bursts, size_t more)
{
	while (bursts->count > bursts->most) {
		bursts->bridge_ns *= 2;
		put_together(bursts);
	}
	return SONDE_ARRAY_RESERVE(bursts->rows, bursts->cap, bursts->count + more)
		   ? sonde_error(ENOMEM, "out of memory for %zu reads", bursts->count + more)
		   : 0;
}

static int burst_add(struct sonde_io_bursts *bursts, const struct sonde_io_burst *burst)
{
	size_t at = bursts->last[burst->thread];
	struct sonde_io_burst *last = at ? &bursts->rows[at - 1] : NULL;
	if (last && burst->from_ns >= last->from_ns && burst->from_ns <= last->to_ns + bursts->bridge_ns) {
		join(last, burst);
		return 0;
	}
	if (ensure_capacity(bursts, 1))
		return -ENOMEM;
	bursts->rows[bursts->count++] = *burst;
	bursts->last[burst->thread] = bursts->count;
	return 0;
}

/* Converts a call to a burst: returns 1, or 0 if the call does not load data or is outside the selected part. */
static int burst_of(struct sonde_io_burst *out, const struct sonde_io_bursts *bursts, const struct sonde_batch *batch,
		    size_t i)
{
	const struct sonde_thread *thread = sonde_session_thread(bursts->session, batch->waits.thread[i]);
	uint32_t kind = batch->waits.kind[i];
	uint64_t from_ns = batch->waits.start_ns[i], to_ns = from_ns + batch->waits.dur_ns[i];
	if (!thread || thread->id >= bursts->threads ||
	    (bursts->options.selection.thread && !bursts->options.selection.thread[thread->id]) ||
	    (kind != SONDE_WAIT_READ && kind != SONDE_WAIT_OPEN && kind != SONDE_WAIT_CLOSE) ||
	    batch->waits.object[i] >= bursts->objects || !bursts->is_file[batch->waits.object[i]] ||
	    batch->waits.status[i] & SONDE_WAIT_SAMPLED)
		return 0;
	int begins = from_ns >= bursts->window.from_ns && from_ns <= bursts->window.to_ns;
	from_ns = from_ns > bursts->window.from_ns ? from_ns : bursts->window.from_ns;
	to_ns = to_ns < bursts->window.to_ns ? to_ns : bursts->window.to_ns;
	if (from_ns > to_ns)
		return 0;
	uint64_t read_b = kind == SONDE_WAIT_READ && begins ? batch->waits.amount[i] : 0;
	*out = (struct sonde_io_burst){.from_ns = from_ns,
				       .to_ns = to_ns,
				       .reading_ns = to_ns - from_ns,
				       .read_b = read_b,
				       .reads = kind == SONDE_WAIT_READ && begins,
				       .most_b = read_b,
				       .process = thread->process,
				       .thread = thread->id,
				       .stack = batch->waits.stack[i],
				       .object = batch->waits.object[i]};
	return 1;
}

int sonde_io_bursts_feed(struct sonde_io_bursts *bursts, const struct sonde_batch *batch)
{
	struct sonde_io_burst burst;
	for (size_t i = 0; i < batch->count; i++)
		if (burst_of(&burst, bursts, batch, i) && burst_add(bursts, &burst))
			return -ENOMEM;
	return 0;
}

int sonde_io_bursts_merge(struct sonde_io_bursts *bursts, const struct sonde_io_bursts *other)
{
	if (!other->count)
		return 0;
	if (ensure_capacity(bursts, other->count))
		return -ENOMEM;
	memcpy(bursts->rows + bursts->count, other->rows, other->count * sizeof *other->rows);
	bursts->count += other->count;
	bursts->bridge_ns = other->bridge_ns > bursts->bridge_ns ? other->bridge_ns : bursts->bridge_ns;
	put_together(bursts);
	return 0;
}
