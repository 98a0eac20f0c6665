/* device_staged.c: copies that seem to go from one device to another through host memory.
 *
 * Host addresses of copies are not recorded, so such copies are recognised by order and size: bytes are copied out of
 * device A, and before A's next copy of that size the same number of bytes is copied into another device of the same
 * process. Programs that distribute work and collect results of equal size look similar, but there each device both
 * sends and receives. So for each size there must be a device that only sends and one that only receives, and nearly
 * all that is sent must be forwarded.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device/sums.h"
#include "analyze/findings/devices.h"
#include "analyze/findings/rules.h"
#include "analyze/device/memory_kinds.h"
#include "base/order.h"
#include "sonde/device.h"
#include "util/error.h"

#define PAIRS_LEAST 10
#define SIZE_LEAST_B 4096 /* smaller copies are likely scalars */
#define GOES_ON 0.9       /* minimum share of the bytes sent that is forwarded */
#define LOOK_BACK 64      /* number of preceding copies of that size to search */
#define WAYS_MAX 64
#define ROWS (1u << SONDE_ACTIVITY_KERNEL | 1u << SONDE_ACTIVITY_GRAPH | 1u << SONDE_ACTIVITY_COPY)

/* A copy from a device to the host or from the host to a device. */
struct move {
	uint64_t start_ns, end_ns, size_b;
	uint32_t process, device;
	int is_in; /* into the device */
};

struct pair {
	const struct move *out, *in;
};

struct staged {
	const struct sonde_facts *facts;
	struct sonde_device_times *times;
	struct move *moves;
	size_t move_count;
	struct pair *pairs;
	size_t pair_count;
	size_t *latest; /* by device: index + 1 of its last outgoing copy that is not matched yet */
	uint8_t *gives; /* by device, for one size: flags below */
};

enum { GIVES = 1, TAKES = 2 };

/* --- copies ------------------------------------------------------------------------------------------------------- */

static int is_chosen(const struct staged *staged, const struct sonde_device_time *row)
{
	const uint8_t *thread = staged->facts->options->selection.thread;
	const struct sonde_window *window = &staged->times->window;
	return (!thread || thread[row->thread]) && row->start_ns >= window->from_ns && row->end_ns <= window->to_ns;
}

/* Source and destination of a copy that is entirely within the window. 0 = not a copy. */
static int ends_of(const struct staged *staged, const struct sonde_device_time *row, uint32_t *from, uint32_t *to,
		   int *is_hosts)
{
	const struct sonde_session *session = staged->facts->session;
	uint32_t own = sonde_device_of_queue(session, row->queue);
	if (row->kind != SONDE_ACTIVITY_COPY || !own || !is_chosen(staged, row))
		return 0;
	const struct sonde_operation *operation = sonde_session_operation(session, row->operation);
	uint8_t from_kind = sonde_memory_kind(operation->from), to_kind = sonde_memory_kind(operation->to);
	*from = sonde_device_of_end(session, operation->from_device, from_kind, own);
	*to = sonde_device_of_end(session, operation->to_device, to_kind, own);
	*is_hosts = sonde_memory_is_host(from_kind) || sonde_memory_is_host(to_kind);
	return 1;
}

static uint32_t process_of(const struct staged *staged, const struct sonde_device_time *row)
{
	const struct sonde_queue *queue = sonde_session_queue(staged->facts->session, row->queue);
	return queue ? queue->process : 0;
}

/* The time by which copies are ordered: the end of an outgoing copy, the start of an incoming one. */
static uint64_t moment_of(const struct move *move)
{
	return move->is_in ? move->start_ns : move->end_ns;
}

static int by_size(const void *left, const void *right)
{
	const struct move *a = left, *b = right;
	int by = sonde_order(a->process, b->process);
	by = by ? by : sonde_order(a->size_b, b->size_b);
	by = by ? by : sonde_order(moment_of(a), moment_of(b));
	by = by ? by : a->is_in - b->is_in;
	by = by ? by : sonde_order(a->device, b->device);
	return by ? by : sonde_order(a->start_ns, b->start_ns);
}

static void moves_read(struct staged *staged)
{
	for (size_t i = 0; i < staged->times->count; i++) {
		const struct sonde_device_time *row = &staged->times->rows[i];
		uint32_t from, to;
		int is_hosts;
		if (row->size_b < SIZE_LEAST_B || !ends_of(staged, row, &from, &to, &is_hosts) || !is_hosts ||
		    !from == !to)
			continue;
		staged->moves[staged->move_count++] = (struct move){
		    row->start_ns, row->end_ns, row->size_b, process_of(staged, row), from ? from : to, to != 0};
	}
	qsort(staged->moves, staged->move_count, sizeof *staged->moves, by_size);
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* Devices of one API may copy to each other directly; memory of a CPU device is host memory. */
static int are_peers(const struct staged *staged, uint32_t a, uint32_t b)
{
	const struct sonde_device *from = sonde_session_device(staged->facts->session, a);
	const struct sonde_device *to = sonde_session_device(staged->facts->session, b);
	return a != b && !strcmp(from->api, to->api) && from->kind != SONDE_DEVICE_CPU && to->kind != SONDE_DEVICE_CPU;
}

/* The last copy out of another device, before copy `in`, that is not matched yet. */
static const struct move *given_before(const struct staged *staged, size_t first, size_t in)
{
	size_t least = in - first > LOOK_BACK ? in - LOOK_BACK : first;
	for (size_t i = in; i-- > least;) {
		const struct move *out = &staged->moves[i];
		if (!out->is_in && staged->latest[out->device] == i + 1 &&
		    are_peers(staged, out->device, staged->moves[in].device))
			return out;
	}
	return NULL;
}

/* True if one device only sends and another only receives. */
static int has_ends(struct staged *staged, size_t from, size_t to)
{
	int has_source = 0, has_sink = 0;
	for (size_t i = from; i < to; i++)
		staged->gives[staged->moves[i].device] = 0;
	for (size_t i = from; i < to; i++)
		staged->gives[staged->moves[i].device] |= staged->moves[i].is_in ? TAKES : GIVES;
	for (size_t i = from; i < to; i++) {
		has_source |= staged->gives[staged->moves[i].device] == GIVES;
		has_sink |= staged->gives[staged->moves[i].device] == TAKES;
	}
	return has_source && has_sink;
}

/* Matches the copies of one process and size. */
static void pairs_of(struct staged *staged, size_t from, size_t to)
{
	size_t before = staged->pair_count, given = 0;
	if (!has_ends(staged, from, to))
		return;
	for (size_t i = from; i < to; i++)
		staged->latest[staged->moves[i].device] = 0;
	for (size_t i = from; i < to; i++) {
		const struct move *move = &staged->moves[i];
		const struct move *out = move->is_in ? given_before(staged, from, i) : NULL;
		if (!move->is_in) {
			given++;
			staged->latest[move->device] = i + 1;
		} else if (out) {
			staged->latest[out->device] = 0;
			staged->pairs[staged->pair_count++] = (struct pair){out, move};
		}
	}
	if ((double)(staged->pair_count - before) < GOES_ON * (double)given)
		staged->pair_count = before;
}

static int by_way(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;
	int by = sonde_order(a->out->process, b->out->process);
	by = by ? by : sonde_order(a->out->device, b->out->device);
	by = by ? by : sonde_order(a->in->device, b->in->device);
	by = by ? by : sonde_order(a->out->start_ns, b->out->start_ns);
	return by ? by : sonde_order(a->out->size_b, b->out->size_b);
}

static void pairs_read(struct staged *staged)
{
	for (size_t from = 0, to; from < staged->move_count; from = to) {
		const struct move *first = &staged->moves[from];
		for (to = from; to < staged->move_count && staged->moves[to].process == first->process &&
				staged->moves[to].size_b == first->size_b;)
			to++;
		pairs_of(staged, from, to);
	}
	qsort(staged->pairs, staged->pair_count, sizeof *staged->pairs, by_way);
}

/* --- device pairs ------------------------------------------------------------------------------------------------- */

struct times {
	double size_b, copy_ns; /* sums over both copies of all pairs */
	double exposed_ns;      /* time in which at least one of these copies ran, and no kernel of the process did */
	double saved_ns;        /* part of copy_ns that a direct copy would save */
	double b_per_s;         /* rate of direct copies between the two; 0 = none */
};

/* Rate of direct copies in that direction, in bytes per second. The times of copies are added up even where copies
 * overlap, so the result is at most the rate of the link. */
static double direct_rate(const struct staged *staged, const struct pair *way)
{
	double size_b = 0, copy_ns = 0;
	for (size_t i = 0; i < staged->times->count; i++) {
		const struct sonde_device_time *row = &staged->times->rows[i];
		uint32_t from, to;
		int is_hosts;
		if (!ends_of(staged, row, &from, &to, &is_hosts) || is_hosts || from != way->out->device ||
		    to != way->in->device)
			continue;
		size_b += (double)row->size_b;
		copy_ns += (double)(row->end_ns - row->start_ns);
	}
	return size_b > 0 && copy_ns > 0 ? size_b / copy_ns * 1e9 : 0;
}

static int by_start(const void *left, const void *right)
{
	const struct move *const *a = left, *const *b = right;
	int by = sonde_order((*a)->start_ns, (*b)->start_ns);
	return by ? by : sonde_order((*a)->end_ns, (*b)->end_ns);
}

/* Time of copies not overlapped by a kernel of the process. `moves` are sorted. */
static int exposed_of(double *out, const struct staged *staged, const struct move *const *moves, size_t count)
{
	struct sonde_device_union copies = {0}, kernels = {0};
	int rc = 0;
	for (size_t i = 0; !rc && i < count; i++)
		rc = sonde_device_union_add(&copies, moves[i]->start_ns, moves[i]->end_ns);
	for (size_t i = 0; !rc && i < staged->times->count; i++) {
		const struct sonde_device_time *row = &staged->times->rows[i];
		if (row->kind != SONDE_ACTIVITY_COPY && process_of(staged, row) == moves[0]->process)
			rc = sonde_device_union_add(&kernels, row->start_ns, row->end_ns);
	}
	*out = (double)copies.total_ns;
	for (size_t i = 0; !rc && i < copies.count; i++)
		*out -= (double)sonde_device_union_covers(&kernels, copies.all[i].from_ns, copies.all[i].to_ns);
	sonde_device_union_fini(&copies);
	sonde_device_union_fini(&kernels);
	return rc;
}

/* A direct copy is assumed to take as long as the longer of the two copies that it replaces, or as the measured rate
 * implies. */
static int times_of(struct times *out, const struct staged *staged, const struct pair *way, size_t count)
{
	*out = (struct times){.b_per_s = direct_rate(staged, way)};
	const struct move **moves = calloc(2 * count, sizeof *moves);
	if (!moves)
		return sonde_error(ENOMEM, "out of memory for %zu copies", count);
	for (size_t i = 0; i < count; i++) {
		double out_ns = (double)(way[i].out->end_ns - way[i].out->start_ns);
		double in_ns = (double)(way[i].in->end_ns - way[i].in->start_ns);
		double size_b = (double)way[i].out->size_b;
		moves[2 * i] = way[i].out;
		moves[2 * i + 1] = way[i].in;
		out->size_b += size_b;
		out->copy_ns += out_ns + in_ns;
		out->saved_ns +=
		    out->b_per_s > 0 ? fmax(out_ns + in_ns - size_b / out->b_per_s * 1e9, 0) : fmin(out_ns, in_ns);
	}
	qsort(moves, 2 * count, sizeof *moves, by_start);
	int rc = exposed_of(&out->exposed_ns, staged, moves, 2 * count);
	free(moves);
	return rc;
}

static int way_add(const struct staged *staged, struct sonde_found *found, const struct pair *way, size_t count)
{
	const struct sonde_facts *facts = staged->facts;
	struct times times;
	int rc = times_of(&times, staged, way, count);
	if (rc)
		return rc;
	double saves_ns = times.copy_ns > 0 ? times.exposed_ns * times.saved_ns / times.copy_ns : 0;
	saves_ns = fmin(saves_ns, facts->span_ns);
	if (!(saves_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_STAGED]))
		return 0;
	const char *from = sonde_device_label(facts->session, way->out->device, found->report);
	const char *to = sonde_device_label(facts->session, way->in->device, found->report);
	const char *direct = times.b_per_s > 0
				 ? sonde_report_text(found->report, "at %.3g GB/s, as measured between these two GPUs",
						     times.b_per_s / 1e9)
				 : "which takes no longer than the longer of the two copies (assumed)";
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = sonde_report_text(found->report, "%s to %s", from, to),
		.evidence = sonde_report_text(
		    found->report,
		    "%zu pairs of copies moved the same bytes to the host and on to the other GPU (%.3g GB; matched "
		    "by size and order): %.3f s of copies, %.3f s with no kernel running; P2P copies go directly, %s",
		    count, times.size_b / 1e9, times.copy_ns / 1e9, times.exposed_ns / 1e9, direct),
		.saves_ns = saves_ns,
		.weighs = saves_ns / facts->span_ns});
}

static int ways_evaluate(const struct staged *staged, struct sonde_found *found)
{
	size_t ways = 0;
	int rc = 0;
	for (size_t from = 0, to; !rc && ways < WAYS_MAX && from < staged->pair_count; from = to) {
		const struct pair *first = &staged->pairs[from];
		for (to = from; to < staged->pair_count && staged->pairs[to].out->process == first->out->process &&
				staged->pairs[to].out->device == first->out->device &&
				staged->pairs[to].in->device == first->in->device;)
			to++;
		if (to - from < PAIRS_LEAST)
			continue;
		ways++;
		rc = way_add(staged, found, first, to - from);
	}
	return rc;
}

static int staged_evaluate(struct staged *staged, struct sonde_found *found)
{
	size_t rows = staged->times->count + 1, devices = sonde_session_device_count(staged->facts->session) + 1;
	staged->moves = calloc(rows, sizeof *staged->moves);
	staged->pairs = calloc(rows, sizeof *staged->pairs);
	staged->latest = calloc(devices, sizeof *staged->latest);
	staged->gives = calloc(devices, sizeof *staged->gives);
	int rc = staged->moves && staged->pairs && staged->latest && staged->gives
		     ? 0
		     : sonde_error(ENOMEM, "out of memory for %zu GPU copies", rows);
	if (!rc) {
		moves_read(staged);
		pairs_read(staged);
		rc = ways_evaluate(staged, found);
	}
	free(staged->gives);
	free(staged->latest);
	free(staged->pairs);
	free(staged->moves);
	return rc;
}

/* True if there are copies from devices to the host, and back, on at least two devices; otherwise nothing has to be
 * read. */
static int may_be(const struct sonde_facts *facts)
{
	const struct sonde_columns_copies *copies = &facts->columns.copies;
	if (sonde_session_device_count(facts->session) < 2)
		return 0;
	for (size_t i = 1; i < copies->of.rows; i++)
		if (sonde_device_row(copies, 0, sonde_column_text(copies, i, device)) == i)
			return 1;
	return 0;
}

SONDE_EVALUATE(staged_copies)
{
	struct staged staged = {.facts = facts};
	int rc = may_be(facts) ? sonde_device_rows_read(&staged.times, facts, ROWS) : 0;
	if (rc || !staged.times)
		return rc;
	rc = staged_evaluate(&staged, found);
	sonde_device_rows_free(staged.times);
	return rc;
}
