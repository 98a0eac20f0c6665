/* sharing.c: threads that seem to write the same cache line, detected without hardware counters.
 *
 * The observable symptom: several threads of a process are in one function at the same time, and nearly all samples of
 * each hit one instruction that writes memory, or the next one, which waits for it. Compute-bound loops look different,
 * because their samples are spread out. So do loops that walk over memory, because each of their writes has another
 * address. The method is not conclusive: an atomic that no other thread touches looks the same if its loop does little
 * else.
 *
 * No section has addresses, so this file reads the samples itself, twice: once for all functions, by thread and
 * address; then for each suspect over time. Only then is code decoded.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/rules.h"
#include "analyze/cpu/samples.h"
#include "base/hash.h"
#include "session/code.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

#define SAMPLES_LEAST 10 /* minimum number of samples of a thread in a function */
#define SLICE_PERIODS 10
#define SLICE_MOST_NS 20000000u /* longer slices do not prove that threads were in the function at the same time */
#define SLICES_MAX 4096         /* counted from the first sample */
#define LOOKS_MAX 64            /* functions whose samples are read a second time */
#define BUSY_PERIODS 2          /* minimum time of a thread in the function during a slice, in sampling periods */
#define SHARE_LEAST 0.05        /* share of the path below which a suspicion is not worth reporting */
#define Z_95 1.96

enum { HOT_MAX = 3 }; /* addresses attributed to an instruction: itself, the next one, and one more for skid */

/* Samples of a thread at an address. */
struct spot {
	uint32_t process, function, thread, frame;
	uint64_t count, ns, first_ns;
};

struct spots {
	const struct sonde_facts *facts;
	struct sonde_map map; /* (thread, frame) → index + 1 */
	struct spot *rows;
	size_t count, cap;
	uint64_t *thread_ns; /* by thread id: its total CPU time */
	/* Functions already reported or noted, each name once, whatever the number of processes. */
	const char *said[LOOKS_MAX];
	size_t said_count, looks;
};

/* A function in one process, and the threads that spend most of their time in it. */
struct suspect {
	const struct spot *rows; /* sorted by thread, then by count */
	size_t row_count;
	uint32_t threads;
	uint32_t hot[HOT_MAX]; /* frames */
	size_t hot_count;
	uint64_t ns, whole_ns; /* CPU time of these threads: in the function, and in total */
	uint64_t count, on_write;
	struct sonde_write write;
};

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* The function containing the code of a sample, for user code; otherwise 0. */
static uint32_t function_of(const struct sonde_session *session, const struct sonde_batch *batch, size_t i,
			    uint32_t *frame)
{
	const struct sonde_node *node = sonde_session_node(session, batch->samples.stack[i]);
	if (!node || !batch->samples.thread[i] || !sonde_sample_counts(batch->samples.status[i]) ||
	    batch->samples.status[i] & SONDE_SAMPLE_KERNEL)
		return 0;
	const struct sonde_frame *row = sonde_session_frame(session, node->frame);
	const struct sonde_module *module = row ? sonde_session_module(session, row->module) : NULL;
	if (!module || module->flags & SONDE_MODULE_KERNEL || !row->location_count)
		return 0;
	*frame = node->frame;
	return row->locations[row->location_count - 1].function;
}

/* Calls `take` for each sample that the options select. */
static int each_sample(const struct sonde_facts *facts,
		       int (*take)(void *state, const struct sonde_batch *batch, size_t i), void *state)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, facts->session, 1u << SONDE_CHUNK_SAMPLES), more;
	if (rc)
		return rc;
	while (!rc && (more = sonde_cursor_next(cursor, &batch)) != 0)
		for (size_t i = 0; !rc && more > 0 && i < batch->count; i++)
			if (sonde_pass_takes(facts->options, batch->samples.time_ns[i], batch->samples.thread[i]))
				rc = take(state, batch, i);
	sonde_cursor_close(cursor);
	return rc;
}

struct key {
	const struct spot *rows;
	uint32_t thread, frame;
};

static int is_same(const void *context, uint32_t value)
{
	const struct key *key = context;
	return key->rows[value - 1].thread == key->thread && key->rows[value - 1].frame == key->frame;
}

static struct spot *spot_of(struct spots *spots, uint32_t thread, uint32_t frame)
{
	struct key key = {spots->rows, thread, frame};
	uint64_t hash = sonde_hash_pair(thread, frame);
	uint32_t at = sonde_map_find(&spots->map, hash, is_same, &key);
	if (at)
		return &spots->rows[at - 1];
	if (SONDE_ARRAY_RESERVE(spots->rows, spots->cap, spots->count + 1))
		return NULL;
	if (sonde_map_add(&spots->map, hash, (uint32_t)++spots->count))
		return NULL;
	spots->rows[spots->count - 1] = (struct spot){.thread = thread, .frame = frame};
	return &spots->rows[spots->count - 1];
}

static int spot_add(void *state, const struct sonde_batch *batch, size_t i)
{
	struct spots *spots = state;
	const struct sonde_session *session = spots->facts->session;
	uint32_t thread = batch->samples.thread[i], frame, function = function_of(session, batch, i, &frame);
	spots->thread_ns[thread] += batch->samples.weight_ns[i];
	if (!function)
		return 0;
	struct spot *spot = spot_of(spots, thread, frame);
	if (!spot)
		return sonde_error(ENOMEM, "out of memory for sampled instructions");
	spot->process = sonde_session_thread(session, thread)->process;
	spot->function = function;
	spot->first_ns =
	    !spot->count || batch->samples.time_ns[i] < spot->first_ns ? batch->samples.time_ns[i] : spot->first_ns;
	spot->count++;
	spot->ns += batch->samples.weight_ns[i];
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct spot *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->count < b->count) - (a->count > b->count);
}

/* --- over time ---------------------------------------------------------------------------------------------------- */

struct timeline {
	const struct sonde_facts *facts;
	const struct suspect *suspect;
	uint64_t from_ns, slice_ns;
	struct slice {
		uint32_t thread; /* the first thread seen in the slice */
		uint64_t ns, others_ns;
	} slices[SLICES_MAX];
};

static int slice_add(void *state, const struct sonde_batch *batch, size_t i)
{
	struct timeline *line = state;
	const struct sonde_session *session = line->facts->session;
	uint32_t frame, function = function_of(session, batch, i, &frame);
	if (function != line->suspect->rows->function || batch->samples.time_ns[i] < line->from_ns ||
	    sonde_session_thread(session, batch->samples.thread[i])->process != line->suspect->rows->process)
		return 0;
	uint64_t at = (batch->samples.time_ns[i] - line->from_ns) / line->slice_ns;
	if (at >= SLICES_MAX)
		return 0;
	struct slice *slice = &line->slices[at];
	slice->thread = slice->thread ? slice->thread : batch->samples.thread[i];
	if (slice->thread == batch->samples.thread[i])
		slice->ns += batch->samples.weight_ns[i];
	else
		slice->others_ns += batch->samples.weight_ns[i];
	return 0;
}

/* The fraction (0 … 1) of the time in the function that falls into slices with at least two threads in the function; 0
 * if samples are too far apart to tell; negative = an errno. Covers at most SLICES_MAX slices. */
static double at_once(const struct sonde_facts *facts, const struct suspect *suspect)
{
	uint64_t slice_ns = SLICE_PERIODS * sonde_session_period_ns(facts->session), all_ns = 0, together_ns = 0;
	if (!slice_ns || slice_ns > SLICE_MOST_NS)
		return 0;
	struct timeline *line = calloc(1, sizeof *line);
	if (!line)
		return sonde_error(ENOMEM, "out of memory for samples over time");
	*line = (struct timeline){
	    .facts = facts, .suspect = suspect, .from_ns = suspect->rows->first_ns, .slice_ns = slice_ns};
	for (size_t i = 0; i < suspect->row_count; i++)
		if (suspect->rows[i].first_ns < line->from_ns)
			line->from_ns = suspect->rows[i].first_ns;
	uint64_t busy_ns = slice_ns / SLICE_PERIODS * BUSY_PERIODS;
	int rc = each_sample(facts, slice_add, line);
	for (size_t i = 0; i < SLICES_MAX; i++) {
		const struct slice *slice = &line->slices[i];
		all_ns += slice->ns + slice->others_ns;
		if (slice->ns >= busy_ns && slice->others_ns >= busy_ns)
			together_ns += slice->ns + slice->others_ns;
	}
	free(line);
	return rc ? rc : all_ns ? (double)together_ns / (double)all_ns : 0;
}

/* --- one function ------------------------------------------------------------------------------------------------- */

static int is_hot(const struct suspect *suspect, uint32_t frame)
{
	for (size_t i = 0; i < suspect->hot_count; i++)
		if (suspect->hot[i] == frame)
			return 1;
	return 0;
}

/* End of the rows of one thread that start at `from`. */
static size_t thread_end(const struct suspect *suspect, size_t from)
{
	size_t to = from + 1;
	while (to < suspect->row_count && suspect->rows[to].thread == suspect->rows[from].thread)
		to++;
	return to;
}

/* Sums the rows of a thread: all samples in the function, and those at hot addresses. */
static struct spot sum(const struct suspect *suspect, size_t from, size_t to, uint64_t *hot)
{
	struct spot all = suspect->rows[from];
	all.count = all.ns = *hot = 0;
	for (size_t i = from; i < to; i++) {
		all.count += suspect->rows[i].count;
		all.ns += suspect->rows[i].ns;
		*hot += is_hot(suspect, suspect->rows[i].frame) ? suspect->rows[i].count : 0;
	}
	return all;
}

static int is_mostly_in(const struct spots *spots, const struct spot *all)
{
	return all->count >= SAMPLES_LEAST && (double)all->ns >= spots->facts->threshold[SONDE_THRESHOLD_SHARING] *
								     (double)spots->thread_ns[all->thread];
}

/* Chooses the addresses with the most samples in the thread with the most samples. */
static void choose_hot(struct suspect *suspect)
{
	uint64_t most = 0, hot;
	for (size_t from = 0, to; from < suspect->row_count; from = to) {
		to = thread_end(suspect, from);
		struct spot all = sum(suspect, from, to, &hot);
		if (all.count <= most)
			continue;
		most = all.count;
		for (suspect->hot_count = 0; suspect->hot_count < HOT_MAX && from + suspect->hot_count < to;
		     suspect->hot_count++)
			suspect->hot[suspect->hot_count] = suspect->rows[from + suspect->hot_count].frame;
	}
}

/* True if at least two threads are mostly in the function, and each of these has nearly all samples at hot
 * addresses. */
static int is_narrow(const struct spots *spots, struct suspect *suspect)
{
	suspect->threads = 0;
	suspect->ns = suspect->whole_ns = suspect->count = suspect->on_write = 0;
	for (size_t from = 0, to; from < suspect->row_count; from = to) {
		uint64_t hot;
		to = thread_end(suspect, from);
		struct spot all = sum(suspect, from, to, &hot);
		if (!is_mostly_in(spots, &all))
			continue;
		if ((double)hot < spots->facts->threshold[SONDE_THRESHOLD_SHARING_WRITE] * (double)all.count)
			return 0;
		suspect->threads++;
		suspect->ns += all.ns;
		suspect->whole_ns += spots->thread_ns[all.thread];
		suspect->count += all.count;
		suspect->on_write += hot;
	}
	return suspect->threads >= 2;
}

/* Keeps only the hot addresses that belong to one write, the first that qualifies. 1, 0 = none, or a negative errno. */
static int find_write(const struct spots *spots, struct suspect *suspect)
{
	struct sonde_session *session = spots->facts->session;
	size_t kept = 0;
	for (size_t i = 0; i < suspect->hot_count; i++) {
		struct sonde_write write;
		int rc = sonde_session_find_write(&write, session, sonde_session_frame(session, suspect->hot[i]));
		if (rc < 0)
			return rc;
		if (!rc || (!write.is_atomic && !write.is_repeated) ||
		    (kept && write.address != suspect->write.address))
			continue;
		suspect->write = write;
		suspect->hot[kept++] = suspect->hot[i];
	}
	suspect->hot_count = kept;
	return kept && is_narrow(spots, suspect);
}

static int unjudged_add(struct sonde_found *found, const char *name)
{
	sonde_report_note(found->report, found->section, 0, "not checked: false sharing in %s (%s)", name,
			  sonde_error_text());
	return 0;
}

/* Time on the path of the function and of what is inlined at its write; *samples: number of samples on which this time
 * is based. */
static double on_path(const struct sonde_facts *facts, const char *name, const char *inlined, double *samples)
{
	const struct sonde_columns_critical_path *path = &facts->columns.critical_path;
	double time_ns = 0;
	*samples = 0;
	for (size_t i = 0; i < path->of.rows; i++) {
		const char *row = sonde_column_text(path, i, name);
		if (sonde_column_label(path, i, kind) != SONDE_CRITICAL_ELEMENT_FUNCTION ||
		    (strcmp(row, name) != 0 && strcmp(row, inlined) != 0))
			continue;
		time_ns += sonde_column_ns(path, i, time_ns);
		*samples += sonde_column_count(path, i, count);
	}
	return time_ns;
}

static int suspect_add(const struct sonde_facts *facts, const struct suspect *suspect, struct sonde_found *found)
{
	const struct sonde_session *session = facts->session;
	const struct sonde_frame *frame = sonde_session_frame(session, suspect->hot[0]);
	const char *name = sonde_session_function(session, suspect->rows->function)->name;
	const char *inlined = sonde_session_function(session, frame->locations[0].function)->name;
	double samples, time_ns = on_path(facts, name, inlined, &samples);
	if (!(time_ns > 0)) { /* the path names zones instead, or there is no path */
		time_ns = sonde_facts_cpu_on_path(facts, &name, 1, (double)suspect->ns) / facts->stretch;
		samples = (double)suspect->count;
	}
	/* As for a hot function: the upper end of the confidence interval of a binomial share. */
	double share = fmin(time_ns / facts->span_ns, 1);
	if (!(share >= SHARE_LEAST))
		return 0;
	double spread = Z_95 * share * sqrt((1 - share) / fmax(samples, 1));
	double saves_ns = sonde_facts_stretched(facts, fmin(time_ns + spread * facts->span_ns, facts->span_ns));
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = sonde_report_text(found->report, "%s", name),
		.evidence = sonde_report_text(
		    found->report,
		    "%u threads spend %.0f %% of their CPU time (%.3f s) in this function at the same time; %.0f %% "
		    "of those samples are at one instruction that writes memory, %s (%s+0x%llx); not measured: "
		    "confirm with perf c2c, or by padding each thread's data to 64 bytes",
		    suspect->threads, 100 * (double)suspect->ns / (double)suspect->whole_ns, (double)suspect->ns / 1e9,
		    100 * (double)suspect->on_write / (double)suspect->count, suspect->write.text,
		    sonde_session_module(session, frame->module)->name, (unsigned long long)suspect->write.address),
		.saves_ns = saves_ns,
		.has_waits = 1,
		.place = {.function = name},
		.weighs = fmin(saves_ns / facts->span_ns, 1)});
}

static int was_said(const struct spots *spots, const char *name)
{
	for (size_t i = 0; i < spots->said_count; i++)
		if (!strcmp(spots->said[i], name))
			return 1;
	return 0;
}

/* A function that is on a CPU for less than SHARE_LEAST of the path cannot be a larger share of the path. */
static int evaluate(struct spots *spots, struct suspect *suspect, struct sonde_found *found)
{
	const struct sonde_facts *facts = spots->facts;
	const char *name = sonde_session_function(facts->session, suspect->rows->function)->name;
	choose_hot(suspect);
	if (!is_narrow(spots, suspect) || (double)suspect->ns < SHARE_LEAST * facts->span_ns || was_said(spots, name) ||
	    spots->looks == LOOKS_MAX)
		return 0;
	spots->looks++;
	double together = at_once(facts, suspect);
	if (!(together >= facts->threshold[SONDE_THRESHOLD_SHARING_AT_ONCE]))
		return together < 0 ? (int)together : 0;
	int rc = find_write(spots, suspect);
	if (rc)
		spots->said[spots->said_count++] = name;
	if (rc < 0)
		return rc == -ENOMEM ? rc : unjudged_add(found, name);
	return rc ? suspect_add(facts, suspect, found) : 0;
}

SONDE_EVALUATE(false_sharing)
{
	struct spots spots = {.facts = facts};
	size_t threads = sonde_session_thread_count(facts->session);
	if (threads < 2 || facts->cores < 2)
		return 0;
	spots.thread_ns = calloc(threads + 1, sizeof *spots.thread_ns);
	int rc = spots.thread_ns ? each_sample(facts, spot_add, &spots)
				 : sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	if (!rc && spots.count)
		qsort(spots.rows, spots.count, sizeof *spots.rows, compare);
	for (size_t from = 0, to; !rc && from < spots.count; from = to) {
		const struct spot *first = &spots.rows[from];
		for (to = from + 1; to < spots.count && spots.rows[to].process == first->process &&
				    spots.rows[to].function == first->function;
		     to++)
			continue;
		rc = evaluate(&spots, &(struct suspect){.rows = first, .row_count = to - from}, found);
	}
	sonde_map_fini(&spots.map);
	free(spots.rows);
	free(spots.thread_ns);
	return rc;
}
