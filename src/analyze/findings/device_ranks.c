/* device_ranks.c: rules about communication kernels (NCCL, RCCL): time in which a GPU did nothing else, and a rank for
 * which all others wait.
 *
 * These kernels are recognised by name. A rank is a process on a device. The k-th kernel of a name in one rank
 * corresponds to the k-th kernel of that name in each other rank, if all ranks have equally many of them in the whole
 * recording (so a time window changes nothing). The correspondence is verified: none of the corresponding kernels ends
 * before the last of them has started. If it does not hold (ranks that communicate in groups, recordings that started
 * later), no rank waited for the last one, and there is no finding.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device/sums.h"
#include "analyze/findings/devices.h"
#include "analyze/findings/rules.h"
#include "base/order.h"
#include "util/error.h"

#define MATCHED_LEAST 20
#define LATE_LEAST_NS 10000 /* less may be an error: each device's clock is converted separately */
#define EVALUATED_MAX 64    /* maximum number of devices */
#define KERNELS (1u << SONDE_ACTIVITY_KERNEL | 1u << SONDE_ACTIVITY_GRAPH)

/* --- which kernels ------------------------------------------------------------------------------------------------ */

static int is_communication(const char *name)
{
	static const char *const begins[] = {"nccl", "rccl"}, *const within[] = {"ncclKernel", "ncclDevKernel"};
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (!strncmp(name, begins[i], strlen(begins[i])) || strstr(name, within[i]))
			return 1;
	return 0;
}

struct named {
	const char *name;
	uint32_t operation;
};

static int by_name(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	return strcmp(a->name, b->name);
}

/* Numbers the names of communication kernels from 1, by operation; 0 = other operations. NULL and 0 if there are
 * none. */
static int names_read(uint32_t **out, const struct sonde_session *session)
{
	size_t all = sonde_session_operation_count(session), count = 0;
	struct named *named = calloc(all + 1, sizeof *named);
	uint32_t *of = calloc(all + 1, sizeof *of), number = 0;
	*out = NULL;
	for (uint32_t id = 1; named && of && id <= all; id++) {
		const struct sonde_operation *operation = sonde_session_operation(session, id);
		if (operation && operation->kind == SONDE_ACTIVITY_KERNEL && is_communication(operation->name))
			named[count++] = (struct named){operation->name, id};
	}
	if (count) {
		qsort(named, count, sizeof *named, by_name);
		for (size_t i = 0; i < count; i++) {
			number += !i || strcmp(named[i - 1].name, named[i].name) != 0;
			of[named[i].operation] = number;
		}
		*out = of;
	}
	int rc = named && of ? 0 : sonde_error(ENOMEM, "out of memory for %zu GPU operations", all);
	if (!count)
		free(of);
	free(named);
	return rc;
}

/* Reads kernels and their names; 0 with *times NULL = nothing to evaluate. */
static int kernels_read(struct sonde_device_times **times, uint32_t **names, const struct sonde_facts *facts)
{
	*times = NULL;
	int rc = names_read(names, facts->session);
	if (rc || !*names)
		return rc;
	rc = sonde_device_rows_read(times, facts, KERNELS);
	if (rc || !*times)
		free(*names);
	return rc;
}

static void kernels_end(struct sonde_device_times *times, uint32_t *names)
{
	if (!times)
		return;
	sonde_device_rows_free(times);
	free(names);
}

/* --- exposed communication ---------------------------------------------------------------------------------------- */

struct work {
	struct sonde_device_union talks, others;
	uint64_t count;
};

/* A launch of a graph counts as another kernel, because the graph may contain kernels. */
static int works_add(struct work *works, const struct sonde_device_times *times, const uint32_t *names,
		     const uint8_t *wanted)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < times->count; i++) {
		const struct sonde_device_time *row = &times->rows[i];
		struct work *work = &works[sonde_device_of_queue(times->session, row->queue)];
		uint64_t from_ns, to_ns;
		if (!sonde_device_times_busy(times, row, &from_ns, &to_ns))
			continue;
		if (!names[row->operation])
			rc = sonde_device_union_add(&work->others, from_ns, to_ns);
		else if (!wanted || wanted[row->thread]) {
			rc = sonde_device_union_add(&work->talks, from_ns, to_ns);
			work->count++;
		}
	}
	return rc;
}

/* Communication that overlaps other kernels costs nothing. The exposed part could overlap other kernels, too, for at
 * most as long as these now run without communication. */
static int exposed_add(const struct sonde_facts *facts, struct sonde_found *found, const struct work *work,
		       uint32_t device)
{
	uint64_t beneath_ns = 0;
	for (size_t i = 0; i < work->talks.count; i++)
		beneath_ns +=
		    sonde_device_union_covers(&work->others, work->talks.all[i].from_ns, work->talks.all[i].to_ns);
	double exposed_ns = (double)(work->talks.total_ns - beneath_ns);
	double left_ns = (double)(work->others.total_ns - beneath_ns);
	double saves_ns = fmin(fmin(exposed_ns, left_ns), facts->span_ns);
	if (!(exposed_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_EXPOSED]) || !(saves_ns > 0))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){.subject = sonde_device_label(facts->session, device, found->report),
					   .evidence = sonde_report_text(
					       found->report,
					       "%.0f communication kernels (by name) took %.3f s, %.3f s of it with no "
					       "other kernel on the GPU; other kernels ran alone for %.3f s",
					       (double)work->count, (double)work->talks.total_ns / 1e9,
					       exposed_ns / 1e9, left_ns / 1e9),
					   .saves_ns = saves_ns,
					   .weighs = saves_ns / facts->span_ns});
}

SONDE_EVALUATE(exposed_communication)
{
	struct sonde_device_times *times;
	uint32_t *names;
	size_t count = sonde_session_device_count(facts->session), evaluated = 0;
	int rc = kernels_read(&times, &names, facts);
	if (rc || !times)
		return rc;
	struct work *works = calloc(count + 1, sizeof *works);
	rc = works ? works_add(works, times, names, facts->options->selection.thread)
		   : sonde_error(ENOMEM, "out of memory for %zu GPUs", count);
	for (uint32_t id = 1; !rc && id <= count; id++)
		if (works[id].talks.total_ns && evaluated++ < EVALUATED_MAX)
			rc = exposed_add(facts, found, &works[id], id);
	for (size_t i = 0; works && i <= count; i++) {
		sonde_device_union_fini(&works[i].talks);
		sonde_device_union_fini(&works[i].others);
	}
	free(works);
	kernels_end(times, names);
	return rc;
}

/* --- late ranks --------------------------------------------------------------------------------------------------- */

struct call {
	uint64_t start_ns, end_ns;
	uint32_t name, process, device;
};

/* A collective operation of several ranks: the last rank to start, and the mean start of all. */
struct meeting {
	uint64_t mean_ns, last_ns;
	uint32_t process, device;
	int is_one; /* verified: none ended before the last one started */
};

struct meetings {
	struct meeting *all;
	size_t count;
	size_t ranks; /* the largest number of ranks of any operation */
};

static int by_rank(const struct call *a, const struct call *b)
{
	int by = sonde_order(a->process, b->process);
	return by ? by : sonde_order(a->device, b->device);
}

static int by_call(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	int by = sonde_order(a->name, b->name);
	by = by ? by : by_rank(a, b);
	by = by ? by : sonde_order(a->start_ns, b->start_ns);
	return by ? by : sonde_order(a->end_ns, b->end_ns);
}

static int by_mean(const void *left, const void *right)
{
	const struct meeting *a = left, *b = right;
	int by = sonde_order(a->mean_ns, b->mean_ns);
	return by ? by : sonde_order(a->last_ns, b->last_ns);
}

/* Point-to-point operations: only two ranks take part. */
static int is_of_two(const char *name)
{
	return strstr(name, "SendRecv") || strstr(name, "P2p");
}

static size_t calls_of(struct call *calls, const struct sonde_device_times *times, const uint32_t *names)
{
	size_t count = 0;
	for (size_t i = 0; i < times->count; i++) {
		const struct sonde_device_time *row = &times->rows[i];
		const struct sonde_queue *queue = sonde_session_queue(times->session, row->queue);
		uint32_t device = sonde_device_of_queue(times->session, row->queue);
		if (!names[row->operation] || !device ||
		    is_of_two(sonde_session_operation(times->session, row->operation)->name))
			continue;
		calls[count++] =
		    (struct call){row->start_ns, row->end_ns, names[row->operation], queue->process, device};
	}
	qsort(calls, count, sizeof *calls, by_call);
	return count;
}

/* `calls` has the calls of one name, by rank; corresponding calls are `every` apart. */
static struct meeting meeting_of(const struct call *calls, size_t ranks, size_t every)
{
	const struct call *last = calls;
	uint64_t first_ns = UINT64_MAX, end_ns = UINT64_MAX;
	double after_ns = 0;
	for (size_t i = 0; i < ranks; i++) {
		const struct call *call = &calls[i * every];
		last = call->start_ns > last->start_ns ? call : last;
		first_ns = call->start_ns < first_ns ? call->start_ns : first_ns;
		end_ns = call->end_ns < end_ns ? call->end_ns : end_ns;
	}
	for (size_t i = 0; i < ranks; i++)
		after_ns += (double)(calls[i * every].start_ns - first_ns) / (double)ranks;
	uint64_t mean_ns = first_ns + (uint64_t)after_ns;
	return (struct meeting){mean_ns < last->start_ns ? mean_ns : last->start_ns, last->start_ns, last->process,
				last->device, last->start_ns <= end_ns};
}

/* Number of ranks that have calls of one name, if all have equally many; otherwise 0. */
static size_t ranks_of(const struct call *calls, size_t count)
{
	size_t ranks = 0, first = 0;
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && !by_rank(&calls[from], &calls[to]);)
			to++;
		first = ranks++ ? first : to;
		if (to - from != first)
			return 0;
	}
	return ranks;
}

/* Collects the operations within the window; `out` has capacity for all. */
static void meetings_of(struct meetings *out, const struct call *calls, size_t count, const struct sonde_window *window)
{
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && calls[to].name == calls[from].name;)
			to++;
		size_t ranks = ranks_of(&calls[from], to - from), times = ranks > 1 ? (to - from) / ranks : 0;
		for (size_t k = 0; k < times; k++) {
			struct meeting meeting = meeting_of(&calls[from + k], ranks, times);
			if (meeting.mean_ns < window->from_ns || meeting.last_ns > window->to_ns)
				continue;
			out->all[out->count++] = meeting;
			out->ranks = ranks > out->ranks ? ranks : out->ranks;
		}
	}
	qsort(out->all, out->count, sizeof *out->all, by_mean);
}

static int is_whose(const struct meeting *meeting, const struct meeting *rank)
{
	return meeting->process == rank->process && meeting->device == rank->device;
}

/* Majority vote: the only rank that can be the last in more than half of the operations. */
static const struct meeting *often_last(const struct meetings *meetings)
{
	const struct meeting *rank = NULL;
	size_t votes = 0;
	for (size_t i = 0; i < meetings->count; i++) {
		rank = votes ? rank : &meetings->all[i];
		votes = is_whose(&meetings->all[i], rank) ? votes + 1 : votes - 1;
	}
	return rank;
}

struct late {
	size_t count;
	double median_ns, union_ns;
};

static int by_size(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return sonde_order(*a, *b);
}

/* Sums how late the rank was in operations that it entered last. `sizes` has capacity for all operations. */
static int late_of(struct late *out, const struct meetings *meetings, const struct meeting *rank, uint64_t *sizes)
{
	struct sonde_device_union waits = {0};
	int rc = 0;
	*out = (struct late){0};
	for (size_t i = 0; !rc && i < meetings->count; i++) {
		const struct meeting *meeting = &meetings->all[i];
		if (!meeting->is_one || !is_whose(meeting, rank))
			continue;
		sizes[out->count++] = meeting->last_ns - meeting->mean_ns;
		rc = sonde_device_union_add(&waits, meeting->mean_ns, meeting->last_ns);
	}
	qsort(sizes, out->count, sizeof *sizes, by_size);
	out->median_ns = out->count ? (double)sizes[(out->count - 1) / 2] : 0;
	out->union_ns = (double)waits.total_ns;
	sonde_device_union_fini(&waits);
	return rc;
}

static const char *rank_text(const struct sonde_facts *facts, const struct meeting *rank, struct sonde_report *report)
{
	const struct sonde_session *session = facts->session;
	const struct sonde_process *process = sonde_session_process(session, rank->process);
	const char *part = sonde_session_part_of(session, rank->process)->name;
	const char *device = sonde_device_label(session, rank->device, report);
	if (!device)
		return NULL;
	return sonde_report_text(report, "%s (%u)%s%s on %s", process ? process->name : "", process ? process->pid : 0,
				 *part ? " of " : "", part, device);
}

/* Uses the median rather than the mean: a rank that was seconds late once, when all started, is not always late. */
static int late_add(const struct sonde_facts *facts, struct sonde_found *found, const struct meetings *meetings,
		    const struct meeting *rank, const struct late *late)
{
	const struct meeting *first = &meetings->all[0], *last = &meetings->all[meetings->count - 1];
	double every_ns = (double)(last->mean_ns - first->mean_ns) / (double)(meetings->count - 1);
	double saves_ns = fmin(fmin(late->union_ns, late->median_ns * (double)late->count), facts->span_ns);
	double least = facts->threshold[SONDE_THRESHOLD_LATE_LAST];
	if ((double)late->count < least * (double)meetings->count || late->median_ns < LATE_LEAST_NS ||
	    !(late->median_ns > facts->threshold[SONDE_THRESHOLD_LATE] * every_ns))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = rank_text(facts, rank, found->report),
		       .evidence = sonde_report_text(found->report,
						     "the last of %zu ranks to start %zu of %zu communication kernels "
						     "(by name), by a median of %.3f ms after the mean rank; such "
						     "kernels are %.3f ms apart",
						     meetings->ranks, late->count, meetings->count,
						     late->median_ns / 1e6, every_ns / 1e6),
		       .saves_ns = saves_ns,
		       .weighs = saves_ns / facts->span_ns});
}

static int meetings_evaluate(const struct sonde_facts *facts, struct sonde_found *found,
			     const struct sonde_device_times *times, const uint32_t *names)
{
	struct call *calls = calloc(times->count + 1, sizeof *calls);
	struct meetings meetings = {.all = calloc(times->count + 1, sizeof *meetings.all)};
	uint64_t *sizes = calloc(times->count + 1, sizeof *sizes);
	struct late late;
	int rc =
	    calls && meetings.all && sizes ? 0 : sonde_error(ENOMEM, "out of memory for %zu GPU kernels", times->count);
	if (!rc)
		meetings_of(&meetings, calls, calls_of(calls, times, names), &times->window);
	const struct meeting *rank = !rc && meetings.count >= MATCHED_LEAST ? often_last(&meetings) : NULL;
	if (rank)
		rc = late_of(&late, &meetings, rank, sizes);
	if (rank && !rc)
		rc = late_add(facts, found, &meetings, rank, &late);
	free(sizes);
	free(meetings.all);
	free(calls);
	return rc;
}

/* Requires a common clock of all ranks, and data of all threads. */
SONDE_EVALUATE(late_rank)
{
	struct sonde_device_times *times;
	uint32_t *names;
	if (sonde_session_info(facts->session, "merged.aligned") || facts->options->selection.thread)
		return 0;
	int rc = kernels_read(&times, &names, facts);
	if (rc || !times)
		return rc;
	rc = meetings_evaluate(facts, found, times, names);
	kernels_end(times, names);
	return rc;
}
