/* passes.c: the registry, and the single pass over the file that feeds all passes.
 *
 * Passes that can merge share the decoding: each worker has its own states and every n-th chunk, and the states are
 * merged at the end. Passes that cannot merge (their events must come in order) are fed by the calling thread. Small
 * recordings are read by the calling thread alone. Passes that accumulate the same data share a state, which is fed
 * once. A chunk that cannot be decoded is skipped and reported.
 */
#include "analyze/pass.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/words.h"
#include "util/error.h"

enum { MAX_WORKERS = 4, WORKER_MIN_B = 2 << 20 };

#define SONDE_PASS(name, file) extern const struct sonde_pass sonde_pass_##name;
#include "analyze/passes.def"
#undef SONDE_PASS

#define SONDE_PASS(name, file) &sonde_pass_##name,
const struct sonde_pass *const sonde_passes[] = {
#include "analyze/passes.def"
};
#undef SONDE_PASS

extern const struct sonde_pass sonde_pass_heading; /* summary/summary.c: adds notes, but no section */

const size_t sonde_pass_count = sizeof sonde_passes / sizeof *sonde_passes;

struct worker {
	struct run *run;
	void **states; /* one per pass */
	unsigned part;
	int merging; /* 1: feeds the passes that can merge; 0: feeds the others */
	int rc;
	uint64_t skipped; /* chunks */
	char error[256];  /* copy of the thread-local message of rc, or of the first skipped chunk */
};

struct run {
	struct sonde_session *session;
	const struct sonde_pass **passes;
	size_t count;
	const struct sonde_pass_options *options;
	unsigned parts;
	struct worker workers[MAX_WORKERS + 1]; /* the last one: passes that cannot merge */
};

const struct sonde_pass *sonde_pass_find(const char *name)
{
	for (size_t i = 0; i < sonde_pass_count; i++)
		if (strcmp(sonde_passes[i]->name, name) == 0)
			return sonde_passes[i];
	return NULL;
}

/* The pass whose state this one shares: an earlier one, or itself. */
static size_t owner_of(const struct run *run, size_t i)
{
	const struct sonde_pass *pass = run->passes[i];
	for (size_t k = 0; pass->is_shared && k < i; k++) {
		const struct sonde_pass *other = run->passes[k];
		if (other->is_shared && other->begin == pass->begin && other->feed == pass->feed &&
		    other->merge == pass->merge && other->wants == pass->wants && other->types == pass->types)
			return k;
	}
	return i;
}

static int is_fed(const struct worker *worker, size_t i)
{
	const struct sonde_pass *pass = worker->run->passes[i];
	return pass->feed && (pass->merge != NULL) == worker->merging && owner_of(worker->run, i) == i;
}

static uint32_t wants(const struct worker *worker, size_t i)
{
	const struct sonde_pass *pass = worker->run->passes[i];
	return pass->wants ? pass->types & pass->wants(worker->states[i]) : pass->types;
}

static uint32_t types_of(const struct worker *worker)
{
	uint32_t types = 0;
	for (size_t i = 0; i < worker->run->count; i++)
		if (is_fed(worker, i))
			types |= wants(worker, i);
	return types;
}

static void keep_error(struct worker *worker)
{
	if (!*worker->error)
		snprintf(worker->error, sizeof worker->error, "%s", sonde_error_text());
}

static int feed(struct worker *worker, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < worker->run->count; i++) {
		if (!is_fed(worker, i) || !(wants(worker, i) & 1u << batch->type))
			continue;
		int rc = worker->run->passes[i]->feed(worker->states[i], batch);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_part(struct worker *worker, uint32_t types)
{
	struct run *run = worker->run;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = worker->merging ? sonde_cursor_open_part(&cursor, run->session, types, worker->part, run->parts)
				 : sonde_cursor_open(&cursor, run->session, types);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0) {
		if (rc == -ENOMEM)
			break;
		if (rc < 0) {
			keep_error(worker);
			worker->skipped++;
			continue;
		}
		rc = feed(worker, batch);
		if (rc < 0)
			break;
	}
	sonde_cursor_close(cursor);
	return rc;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	uint32_t types = types_of(worker);
	if (types)
		worker->rc = read_part(worker, types);
	if (worker->rc < 0) {
		*worker->error = 0;
		keep_error(worker);
	}
	return NULL;
}

static int states_begin(struct run *run, struct worker *worker)
{
	worker->run = run;
	worker->states = calloc(run->count + 1, sizeof *worker->states);
	if (!worker->states)
		return sonde_error(ENOMEM, "out of memory for passes");
	for (size_t i = 0; i < run->count; i++) {
		const struct sonde_pass *pass = run->passes[i];
		if (!worker->merging != !pass->merge)
			continue;
		size_t owner = owner_of(run, i);
		if (owner != i) {
			worker->states[i] = worker->states[owner];
			continue;
		}
		worker->states[i] = calloc(1, pass->state_b);
		int rc = worker->states[i] ? pass->begin(worker->states[i], run->session, run->options)
					   : sonde_error(ENOMEM, "out of memory for section %s", pass->name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void states_end(struct run *run, struct worker *worker)
{
	for (size_t i = 0; worker->states && i < run->count; i++) {
		if (!worker->states[i] || owner_of(run, i) != i)
			continue;
		if (run->passes[i]->end)
			run->passes[i]->end(worker->states[i]);
		free(worker->states[i]);
	}
	free(worker->states);
}

/* Workers 1 … parts − 1 run in threads of their own, worker 0 and the ordered passes here. */
static int read_all(struct run *run)
{
	pthread_t threads[MAX_WORKERS];
	unsigned started = 1;
	int rc = 0;
	for (; started < run->parts; started++)
		if (pthread_create(&threads[started], NULL, work, &run->workers[started]) != 0)
			break;
	work(&run->workers[0]);
	work(&run->workers[MAX_WORKERS]);
	for (unsigned i = started; i < run->parts; i++)
		work(&run->workers[i]);
	for (unsigned i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i <= MAX_WORKERS && rc == 0; i++)
		if (run->workers[i].rc < 0)
			rc = sonde_error(-run->workers[i].rc, "%s", run->workers[i].error);
	return rc;
}

static int merge_all(struct run *run)
{
	for (unsigned part = 1; part < run->parts; part++) {
		for (size_t i = 0; i < run->count; i++) {
			const struct sonde_pass *pass = run->passes[i];
			int rc = pass->merge && owner_of(run, i) == i
				     ? pass->merge(run->workers[0].states[i], run->workers[part].states[i])
				     : 0;
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* A section without rows must not be read as "it did not happen" if the data was not recorded. */
static void section_settle(const struct sonde_pass *pass, struct sonde_session *session, struct sonde_report *report,
			   struct sonde_section *section)
{
	char why[640];
	enum sonde_recorded state = sonde_recorded_any(session, pass->needs, why, sizeof why);
	int is_empty = section->kind == SONDE_SECTION_TREE ? !section->tree.root || !section->tree.root->child
							   : !section->table.row_count;
	if (!is_empty && state == SONDE_RECORDED_NOT)
		return;
	section->recorded = state == SONDE_RECORDED ? "yes" : state == SONDE_RECORDED_NOT ? "no" : "in part";
	section->missing = *why ? sonde_report_text(report, "%s", why) : NULL;
	if (!is_empty)
		return;
	if (pass->nothing || (state == SONDE_RECORDED_NOT && !sonde_session_run(session)->incomplete))
		section->notes = NULL;
	if (state != SONDE_RECORDED_NOT && pass->nothing)
		sonde_report_note(report, section, 0, "%s", pass->nothing);
	if (section->missing)
		sonde_report_note(report, section, 1, "%s", section->missing);
	const char *option = section->missing ? sonde_recorded_option(pass->needs, section->missing) : NULL;
	if (option)
		sonde_report_advise(report, section, SONDE_ACTION_RECORD, option);
}

static int finish(const struct sonde_pass *pass, void *state, struct sonde_session *session,
		  struct sonde_report *report)
{
	struct sonde_section *before = report->last;
	int rc = pass->finish(state, report);
	rc = rc ? rc : sonde_report_status(report);
	struct sonde_section *section = before ? before->next : report->first;
	for (; rc >= 0 && pass->needs && section; section = section->next)
		section_settle(pass, session, report, section);
	return rc;
}

static int finish_all(struct run *run, struct sonde_report *report)
{
	uint64_t skipped = 0;
	const char *why = "";
	for (size_t i = 0; i < run->count; i++) {
		const struct worker *worker = &run->workers[run->passes[i]->merge ? 0 : MAX_WORKERS];
		int rc = finish(run->passes[i], worker->states[i], run->session, report);
		if (rc < 0)
			return rc;
	}
	for (unsigned i = 0; i <= MAX_WORKERS; i++) {
		skipped += run->workers[i].skipped;
		why = run->workers[i].skipped ? run->workers[i].error : why;
	}
	if (!skipped)
		return 0;
	sonde_report_note(report, NULL, 1, "%llu chunk%s could not be read and %s left out: %s",
			  (unsigned long long)skipped, sonde_plural(skipped), sonde_word(skipped, "is", "are"), why);
	return 0;
}

static unsigned parts_of(const struct sonde_session *session)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t most = sonde_session_run(session)->file_b / WORKER_MIN_B + 1;
	unsigned parts = cpus < 1 ? 1 : cpus > MAX_WORKERS ? MAX_WORKERS : (unsigned)cpus;
	return most < parts ? (unsigned)most : parts;
}

static int contains(const struct sonde_pass *const *passes, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(passes[i]->name, name) == 0)
			return 1;
	return 0;
}

/* Every report starts with what was recorded and lost, even if not requested. Sorting by latency has a table of its
 * own, which replaces `functions`. Lines of CPU time come with lines of allocations. `run->passes` has space for two
 * more than `count`. */
static void passes_choose(struct run *run, const struct sonde_pass *const *passes, size_t count)
{
	const struct sonde_pass *latency = sonde_pass_find("latency");
	int swap = run->options->sort == SONDE_SORT_LATENCY && !contains(passes, count, "latency");
	int lines = run->options->requested && sonde_session_heap_site_count(run->session) &&
		    !contains(passes, count, "heap-lines");
	if (!contains(passes, count, "summary"))
		run->passes[run->count++] = &sonde_pass_heading;
	for (size_t i = 0; i < count; i++) {
		run->passes[run->count++] = swap && strcmp(passes[i]->name, "functions") == 0 ? latency : passes[i];
		if (lines && strcmp(passes[i]->name, "lines") == 0)
			run->passes[run->count++] = sonde_pass_find("heap-lines");
	}
}

int sonde_pass_run(struct sonde_session *session, const struct sonde_pass *const *passes, size_t count,
		   const struct sonde_pass_options *options, struct sonde_report *report)
{
	static const struct sonde_pass_options none = {0};
	struct run run = {.session = session, .options = options ? options : &none};
	int rc = 0;
	run.passes = calloc(count + 2, sizeof *run.passes);
	if (!run.passes)
		return sonde_error(ENOMEM, "out of memory for passes");
	passes_choose(&run, passes, count);
	run.parts = parts_of(session);
	for (unsigned i = 0; i < run.parts && rc == 0; i++) {
		run.workers[i].part = i;
		run.workers[i].merging = 1;
		rc = states_begin(&run, &run.workers[i]);
	}
	if (rc == 0)
		rc = states_begin(&run, &run.workers[MAX_WORKERS]);
	if (rc == 0)
		rc = read_all(&run);
	if (rc == 0)
		rc = merge_all(&run);
	if (rc == 0)
		rc = finish_all(&run, report);
	rc = rc ? rc : sonde_report_status(report);
	for (unsigned i = 0; i <= MAX_WORKERS; i++)
		states_end(&run, &run.workers[i]);
	free(run.passes);
	return rc;
}
