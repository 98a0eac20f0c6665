/* heaps.c: each heap separately: malloc's, the mappings of a process, its pools, with live bytes and peak.
 *
 * Part of a default report only if there is more than malloc's heap.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/heap/pass.h"
#include "util/error.h"

#define TITLE "Heaps by peak"

enum { DEFAULT_ROWS = 20 };
enum { PEAK_B, PEAK_BLOCKS, PEAK_NS, LEFT_B, LEFT_BLOCKS, BEGUN_B, BEGINS, UNKNOWN, KIND, NAME, PROCESS, PID, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [PEAK_B] = {SONDE_COLUMN_KEY(heaps, peak_b), "peak", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_BLOCKS] = {"peak_blocks", "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [PEAK_NS] = {"peak_ns", "after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [LEFT_B] = {"left_b", "at exit", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [LEFT_BLOCKS] = {"left_blocks", "blocks at exit", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [BEGUN_B] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGINS] = {SONDE_COLUMN_KEY(heaps, allocations), "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [UNKNOWN] = {SONDE_COLUMN_KEY(heaps, unknown), "unknown ends", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [KIND] = {SONDE_COLUMN_KEY(heaps, kind), "heap", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [NAME] = {"name", "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 1},
};

static int is_used(const struct sonde_heap_total *total)
{
	return total->peak_b || total->begins || total->ends || total->unknown;
}

static int compare(const void *left, const void *right, void *state)
{
	const struct sonde_heap_pass *pass = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t a_b = pass->sums.heaps[a].peak_b, b_b = pass->sums.heaps[b].peak_b;
	return a_b != b_b ? (a_b < b_b ? 1 : -1) : (a > b) - (a < b);
}

static void row_add(const struct sonde_heap_pass *pass, uint32_t id, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_heap *heap = sonde_session_heap(pass->session, id);
	const struct sonde_heap_total *total = &pass->sums.heaps[id];
	const struct sonde_process *process = heap ? sonde_session_process(pass->session, heap->process) : NULL;
	uint64_t start_ns = sonde_session_run(pass->session)->start_ns;
	static const char *const kinds[] = {"malloc", "malloc", "mappings", "pool"};
	uint32_t kind = heap && heap->kind < sizeof kinds / sizeof *kinds ? heap->kind : 0;
	struct sonde_cell *row = sonde_report_row(report, section);
	row[PEAK_B] = sonde_cell_int(total->peak_b);
	row[PEAK_BLOCKS] = sonde_cell_int(total->peak_blocks);
	row[PEAK_NS] = sonde_cell_int(total->peak_ns > start_ns ? total->peak_ns - start_ns : 0);
	row[LEFT_B] = sonde_cell_int(total->left_b);
	row[LEFT_BLOCKS] = sonde_cell_int(total->left_blocks);
	row[BEGUN_B] = sonde_cell_int(total->begun_b);
	row[BEGINS] = sonde_cell_int(total->begins);
	row[UNKNOWN] = total->mean_b ? sonde_cell_absent("most belong to blocks that were not sampled")
				     : sonde_cell_int(total->unknown);
	row[KIND] = sonde_cell_label(kinds[kind], kind ? (int)kind : SONDE_HEAP_MALLOC);
	row[NAME] = heap && *heap->name ? sonde_cell_text(heap->name) : sonde_cell_absent("only pools have names");
	row[PROCESS] = process ? sonde_cell_text(process->name) : sonde_cell_absent("not known");
	row[PID] = process ? sonde_cell_int(process->pid) : sonde_cell_absent("not known");
}

static void notes_add(const struct sonde_heap_pass *pass, int mappings, struct sonde_report *report,
		      struct sonde_section *section)
{
	sonde_report_note(report, section, 0,
			  "heaps are not added up: pools lie inside malloc's blocks, mappings or other memory");
	if (mappings)
		sonde_report_note(report, section, 0,
				  "mappings: the program's own writable ones; a split mapping counts as several calls");
	sonde_heap_pass_notes(pass, report, section);
}

static int heaps_finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	size_t limit = pass->options.limit ? pass->options.limit : DEFAULT_ROWS, count = 0;
	int others = 0, mappings = 0;
	int rc = sonde_heap_pass_read(pass, report, "heaps", TITLE);
	if (rc)
		return rc < 0 ? rc : 0;
	uint32_t *ids = calloc(sonde_session_heap_count(pass->session) + 1, sizeof *ids);
	if (!ids)
		return sonde_error(ENOMEM, "out of memory for the heaps");
	for (uint32_t id = 1; id <= sonde_session_heap_count(pass->session); id++) {
		if (!is_used(&pass->sums.heaps[id]))
			continue;
		ids[count++] = id;
		others |= sonde_session_heap(pass->session, id)->kind != SONDE_HEAP_MALLOC;
		mappings |= sonde_session_heap(pass->session, id)->kind == SONDE_HEAP_MAPPING;
	}
	if (!others && !pass->options.requested) {
		free(ids);
		return 0;
	}
	qsort_r(ids, count, sizeof *ids, compare, pass);
	const struct sonde_column *shown = sonde_heap_columns(pass, report, columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, "heaps", TITLE, shown, COLUMNS);
	notes_add(pass, mappings, report, section);
	for (size_t i = 0; i < count && i < limit; i++)
		row_add(pass, ids[i], report, section);
	if (rc == 0)
		section->table.omitted = count > limit ? count - limit : 0;
	free(ids);
	return rc;
}

const struct sonde_pass sonde_pass_heaps = {
    .name = "heaps",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "malloc, mappings, pools (sonde_alloc()): each with its peak",
    .standard = 1,
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = heaps_finish,
    .end = sonde_heap_pass_end,
};
