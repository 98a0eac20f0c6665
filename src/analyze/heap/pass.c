/* pass.c: shared by the sections about allocations. */
#include "analyze/heap/pass.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/marks.h"
#include "analyze/cpu/samples.h"

int sonde_heap_pass_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_heap_pass *pass = state;
	pass->session = session;
	pass->options = *options;
	pass->window = sonde_window_of(session, options);
	pass->range = (struct sonde_selection)options->selection;
	return 0;
}

void sonde_heap_pass_end(void *state)
{
	struct sonde_heap_pass *pass = state;
	sonde_heap_sums_free(&pass->sums);
}

static const char *why_none(const struct sonde_session *session)
{
	const struct sonde_source_row *row = sonde_session_source_named(session, "heap");
	if (row && row->state == SONDE_SOURCE_UNAVAILABLE && *row->detail)
		return row->detail;
	if (row && row->state == SONDE_SOURCE_ON)
		return "nothing was allocated, or no block was sampled";
	if (!sonde_session_run(session)->closed)
		return "allocations were not recorded, or the recording broke off before the first one";
	return "allocations were not recorded: sonde record --heap -- …";
}

int sonde_heap_pass_read(struct sonde_heap_pass *pass, struct sonde_report *report, const char *id, const char *title)
{
	if (!sonde_session_heap_site_count(pass->session)) {
		int rc = sonde_pass_nothing(&pass->options, report, id, title, why_none(pass->session));
		return rc < 0 ? rc : 1;
	}
	int rc = sonde_session_heap_sums_of(pass->session, &pass->range, &pass->sums);
	pass->unread = rc < 0;
	if (rc == -ENOMEM)
		return rc;
	if (sonde_heap_used(pass, NULL))
		return 0;
	const struct sonde_pass_options *options = &pass->options;
	int all = !options->selection.from_ns && !options->selection.to_ns && !options->selection.thread;
	rc = sonde_pass_nothing(options, report, id, title,
				all && !sonde_session_run(pass->session)->closed
				    ? "no allocation was written before the recording broke off"
				    : "nothing was allocated or live in the selection");
	return rc < 0 ? rc : 1;
}

uint64_t sonde_heap_pass_mean_b(const struct sonde_heap_pass *pass)
{
	uint64_t mean_b = 0;
	for (size_t i = 0; i <= sonde_session_heap_count(pass->session); i++)
		mean_b = pass->sums.heaps[i].mean_b > mean_b ? pass->sums.heaps[i].mean_b : mean_b;
	return mean_b;
}

int sonde_heap_is_sampled(const struct sonde_heap_pass *pass, const struct sonde_heap *like)
{
	for (uint32_t id = 1; id <= sonde_session_heap_count(pass->session); id++)
		if (pass->sums.heaps[id].mean_b && sonde_heap_alike(sonde_session_heap(pass->session, id), like))
			return 1;
	return 0;
}

int sonde_heap_alike(const struct sonde_heap *a, const struct sonde_heap *b)
{
	return a == b || (a && b && a->kind == b->kind && !strcmp(a->name, b->name));
}

static int is_used(const struct sonde_heap_total *total)
{
	return total->peak_b || total->begins || total->ends;
}

/* True if any heap used is not malloc's, so that each row must name its heap. */
static int has_kinds(const struct sonde_heap_pass *pass)
{
	for (uint32_t id = 1; id <= sonde_session_heap_count(pass->session); id++)
		if (sonde_session_heap(pass->session, id)->kind != SONDE_HEAP_MALLOC && is_used(&pass->sums.heaps[id]))
			return 1;
	return 0;
}

/* False for exact columns: the boundaries of classes and intervals, and the largest block seen. */
static int is_estimate(const struct sonde_column *column)
{
	static const char *const known[] = {"from_b", "below_b", "from_ns", "below_ns", "largest_b", "bar"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(column->key, known[i]))
			return 0;
	return column->unit != SONDE_UNIT_TEXT && column->unit != SONDE_UNIT_ID;
}

const struct sonde_column *sonde_heap_columns(const struct sonde_heap_pass *pass, struct sonde_report *report,
					      const struct sonde_column *columns, size_t count)
{
	struct sonde_column *out = sonde_report_columns(report, columns, count);
	int kinds = has_kinds(pass), sampled = sonde_heap_pass_mean_b(pass) != 0;
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(columns[i].key, "heap"))
			out[i].detail = kinds ? 0 : 9;
		if (sampled && is_estimate(&columns[i]))
			out[i].basis = SONDE_BASIS_ESTIMATED;
	}
	return out;
}

struct sonde_cell sonde_heap_kind_cell(const struct sonde_heap_pass *pass, const struct sonde_heap *heap)
{
	return has_kinds(pass)
		   ? sonde_cell_label(sonde_heap_kind_text(heap), heap ? (int)heap->kind : SONDE_HEAP_MALLOC)
		   : sonde_cell_absent("all from malloc");
}

const char *sonde_heap_kind_text(const struct sonde_heap *heap)
{
	if (!heap || heap->kind == SONDE_HEAP_MALLOC)
		return "malloc";
	return heap->kind == SONDE_HEAP_MAPPING ? "mappings" : *heap->name ? heap->name : "(pool without a name)";
}

const char *sonde_heap_text(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t id)
{
	const struct sonde_heap *heap = sonde_session_heap(pass->session, id);
	const struct sonde_process *process = heap ? sonde_session_process(pass->session, heap->process) : NULL;
	const char *name = process && *process->name ? process->name : "(unknown process)";
	unsigned pid = process ? process->pid : 0;
	if (!heap || heap->kind == SONDE_HEAP_MALLOC)
		return sonde_report_text(report, "%s (%u)", name, pid);
	return sonde_report_text(report, "%s (%u): %s%s", name, pid, heap->kind == SONDE_HEAP_POOL ? "pool " : "",
				 sonde_heap_kind_text(heap));
}

uint64_t sonde_heap_peak_of(const struct sonde_heap_pass *pass, const struct sonde_heap *like)
{
	uint64_t peak_b = 0;
	for (uint32_t id = 0; id <= sonde_session_heap_count(pass->session); id++)
		if (sonde_heap_alike(sonde_session_heap(pass->session, id), like))
			peak_b += pass->sums.heaps[id].peak_b;
	return peak_b;
}

size_t sonde_heap_used(const struct sonde_heap_pass *pass, uint32_t *highest)
{
	size_t used = 0;
	uint32_t best = 0;
	for (uint32_t id = 0; id <= sonde_session_heap_count(pass->session); id++) {
		if (!is_used(&pass->sums.heaps[id]))
			continue;
		if (!used++ || pass->sums.heaps[id].peak_b > pass->sums.heaps[best].peak_b)
			best = id;
	}
	if (highest)
		*highest = best;
	return used;
}

struct sonde_cell sonde_heap_cell(const struct sonde_heap_pass *pass, uint64_t value_b, double variance)
{
	if ((int64_t)value_b < 0) /* blocks were freed whose allocation events were lost */
		return sonde_cell_absent("unknown: part of the recording is missing");
	if (!sonde_heap_pass_mean_b(pass))
		return sonde_cell_int(value_b);
	return sonde_cell_real((double)value_b, value_b && variance > 1 ? 1.96 * sqrt(variance) : 0);
}

static void note_selected(const struct sonde_heap_pass *pass, struct sonde_report *report,
			  struct sonde_section *section)
{
	const struct sonde_pass_options *options = &pass->options;
	if (options->selection.from_ns || options->selection.to_ns)
		sonde_report_note(
		    report, section, 0, "from %.3f s to %.3f s; peak and blocks live at the end include blocks allocated before it",
		    sonde_heap_second(pass, pass->window.from_ns), sonde_heap_second(pass, pass->window.to_ns));
	if (options->selection.thread)
		sonde_report_note(report, section, 0, "blocks allocated by %s, freed by any thread",
				  options->thread_is ? options->thread_is : "the selected threads");
}

/* The number of processes with a heap of the most common kind. */
static size_t processes_of(const struct sonde_heap_pass *pass)
{
	size_t processes = 0;
	for (uint32_t id = 1; id <= sonde_session_heap_count(pass->session); id++)
		processes +=
		    sonde_session_heap(pass->session, id)->kind == SONDE_HEAP_MALLOC && is_used(&pass->sums.heaps[id]);
	return processes;
}

void sonde_heap_pass_notes(const struct sonde_heap_pass *pass, struct sonde_report *report,
			   struct sonde_section *section)
{
	uint64_t mean_b = sonde_heap_pass_mean_b(pass);
	size_t processes = processes_of(pass);
	note_selected(pass, report, section);
	if (mean_b)
		sonde_report_note(
		    report, section, 0,
		    "estimated from one block per %.4g KiB on average, with 95 %% intervals; exact: --heap=full",
		    (double)mean_b / 1024);
	if (processes > 1)
		sonde_report_note(report, section, 0, "%zu processes, each at its own peak", processes);
	if (pass->window.held)
		sonde_report_note(report, section, 0, "flight recorder: allocations cover the whole run");
	if (pass->unread)
		sonde_report_note(report, section, 1, "some allocations could not be read and are left out");
}
