/* snapshot_diff.c: compares two snapshots: by function, by line, and by size class.
 *
 * What each call site held comes from chunk summaries (sonde_session_heap_alive()). Block sizes are only in the events,
 * which are decoded for the third table only.
 */
#include "analyze/heap/snapshot_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/heap/places.h"
#include "fold/heap_class.h"
#include "fold/heap_worth.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };

/* Change per second between the two snapshots. */
static struct sonde_cell slope(const struct sonde_snapshots_pass *snapshots, uint64_t from, uint64_t to)
{
	double seconds =
	    ((double)snapshots->sides[1].snapshot->time_ns - (double)snapshots->sides[0].snapshot->time_ns) / 1e9;
	if (seconds == 0)
		return sonde_cell_absent("both were taken at the same time");
	return sonde_cell_real(to == from ? 0 : (double)(int64_t)(to - from) / seconds, 0);
}

/* --- by call site ------------------------------------------------------------------------------------------------ */

enum { BY_B, PER_SEC, FROM_B, TO_B, BY_BLOCKS, FROM_BLOCKS, TO_BLOCKS, FUNCTION, FILE_NAME, LINE, HEAP, PLACES };

#define PLACE_COLUMNS(file_detail, heap_detail)                                                                \
	{                                                                                                      \
		[BY_B] = {"change_b", "change", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},                 \
		[PER_SEC] = {"per_sec_b", "per s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},              \
		[FROM_B] = {"from_b", "first", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},                  \
		[TO_B] = {"to_b", "second", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},                     \
		[BY_BLOCKS] = {"change_blocks", "blocks", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 1},      \
		[FROM_BLOCKS] = {"from_blocks", "first blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 6}, \
		[TO_BLOCKS] = {"to_blocks", "second blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},    \
		[FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},            \
		[FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, file_detail},         \
		[LINE] = {"line", "line", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, file_detail},                \
		[HEAP] = {"heap", "heap", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, heap_detail},              \
	}

/* By function or by line; with or without the heap column, which is shown if some blocks are not malloc's. */
static const struct sonde_column place_columns[2][2][PLACES] = {{PLACE_COLUMNS(7, 8), PLACE_COLUMNS(7, 0)},
								{PLACE_COLUMNS(0, 8), PLACE_COLUMNS(0, 0)}};

/* malloc's heap at the first (0) or second snapshot. */
static uint32_t life_of(const struct sonde_snapshots_pass *snapshots, size_t side)
{
	const struct sonde_pass_options *options = &snapshots->options;
	return snapshots->moments[(side ? options->diff_to : options->diff_from) - 1].life;
}

/* In the sums, peak_b and peak_blocks are what was live at the first snapshot, left_b and left_blocks what was live at
 * the second. */
static int sides_read(const struct sonde_snapshots_pass *snapshots, struct sonde_heap_sum *sums)
{
	struct sonde_session *session = snapshots->session;
	size_t count = sonde_session_heap_site_count(session) + 1;
	struct sonde_heap_alive *alive = calloc(count, sizeof *alive);
	uint32_t *lives = calloc(sonde_session_heap_count(session) + 1, sizeof *lives);
	if (lives)
		sonde_session_heap_lives(session, lives);
	int rc = alive && lives ? 0 : sonde_error(ENOMEM, "out of memory for %zu places that allocate", count);
	for (size_t i = 0; rc != -ENOMEM && i < 2; i++) {
		const struct sonde_snapshot *snapshot = snapshots->sides[i].snapshot;
		memset(alive, 0, count * sizeof *alive);
		int bad = sonde_session_heap_alive(session, snapshot->time_ns, alive);
		rc = bad ? bad : rc;
		for (uint32_t id = 1; rc != -ENOMEM && id < count; id++) {
			const struct sonde_heap_site *site = sonde_session_heap_site(session, id);
			const struct sonde_heap *of = site ? sonde_session_heap(session, site->heap) : NULL;
			if (!of || of->process != snapshot->process || lives[of->id] != life_of(snapshots, i))
				continue;
			*(i ? &sums[id].left_blocks : &sums[id].peak_blocks) = alive[id].blocks;
			*(i ? &sums[id].left_b : &sums[id].peak_b) = alive[id].size_b;
			*(i ? &sums[id].left_variance : &sums[id].peak_variance) = alive[id].variance;
		}
	}
	free(alive);
	free(lives);
	return rc;
}

static int compare_places(const void *left, const void *right)
{
	const struct sonde_heap_sum *a = &((const struct sonde_heap_place *)left)->sum;
	const struct sonde_heap_sum *b = &((const struct sonde_heap_place *)right)->sum;
	double of_a = fabs((double)(int64_t)(a->left_b - a->peak_b));
	double of_b = fabs((double)(int64_t)(b->left_b - b->peak_b));
	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	if (a->left_b != b->left_b)
		return a->left_b < b->left_b ? 1 : -1;
	const struct sonde_heap_place *x = left, *y = right;
	return x->function != y->function ? (x->function > y->function) - (x->function < y->function)
					  : (x->line > y->line) - (x->line < y->line);
}

static void place_add(const struct sonde_snapshots_pass *snapshots, const struct sonde_heap_pass *heap,
		      const struct sonde_heap_place *place, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_heap_sum *sum = &place->sum;
	struct sonde_cell *row = sonde_report_row(report, section);
	int sampled = snapshots->sampled && place->heap->kind == SONDE_HEAP_MALLOC;
	double from_variance = sampled ? sum->peak_variance : 0, to_variance = sampled ? sum->left_variance : 0;
	row[BY_B] = sonde_snapshot_change(sum->peak_b, sum->left_b, from_variance + to_variance);
	row[PER_SEC] = slope(snapshots, sum->peak_b, sum->left_b);
	row[FROM_B] = sonde_snapshot_amount(sum->peak_b, from_variance);
	row[TO_B] = sonde_snapshot_amount(sum->left_b, to_variance);
	row[BY_BLOCKS] = sonde_snapshot_change(sum->peak_blocks, sum->left_blocks, 0);
	row[FROM_BLOCKS] = sonde_snapshot_amount(sum->peak_blocks, 0);
	row[TO_BLOCKS] = sonde_snapshot_amount(sum->left_blocks, 0);
	row[FUNCTION] = sonde_cell_text(sonde_heap_place_name(heap, place));
	row[FILE_NAME] = *place->file ? sonde_cell_text(place->file) : sonde_cell_absent("not known");
	row[LINE] = place->line ? sonde_cell_int(place->line) : sonde_cell_absent("not known");
	row[HEAP] = sonde_cell_text(sonde_heap_kind_text(place->heap));
}

static int places_add(const struct sonde_snapshots_pass *snapshots, const struct sonde_heap_pass *heap, int by_line,
		      struct sonde_report *report)
{
	size_t limit = snapshots->options.limit ? snapshots->options.limit : DEFAULT_ROWS;
	struct sonde_heap_places places;
	int rc = sonde_heap_places_make(&places, heap, by_line, SONDE_HEAP_BY_PEAK);
	if (rc < 0)
		return rc;
	qsort(places.rows, places.count, sizeof *places.rows, compare_places);
	int kinds = 0;
	for (size_t i = 0; i < places.count; i++)
		kinds |= places.rows[i].heap->kind != SONDE_HEAP_MALLOC;
	struct sonde_section *section =
	    sonde_report_table(report, by_line ? "snapshot-lines" : "snapshot-functions",
			       by_line ? "What changed, by source line" : "What changed, by function",
			       place_columns[by_line][kinds], PLACES);
	for (size_t i = 0; i < places.count && i < limit; i++)
		place_add(snapshots, heap, &places.rows[i], report, section);
	if (places.count > limit)
		section->table.omitted = places.count - limit;
	if (!places.count)
		sonde_report_note(report, section, 0, "nothing was live in either");
	sonde_heap_places_free(&places);
	return 0;
}

static int places_build(const struct sonde_snapshots_pass *snapshots, struct sonde_report *report)
{
	struct sonde_heap_pass pass = {.session = snapshots->session, .options = snapshots->options};
	size_t sites = sonde_session_heap_site_count(snapshots->session);
	pass.sums.sites = calloc(sites + 1, sizeof *pass.sums.sites);
	int rc = pass.sums.sites ? sides_read(snapshots, pass.sums.sites)
				 : sonde_error(ENOMEM, "out of memory for %zu places that allocate", sites);
	if (rc != -ENOMEM)
		rc = places_add(snapshots, &pass, 0, report);
	if (rc == 0)
		rc = places_add(snapshots, &pass, 1, report);
	free(pass.sums.sites);
	return rc;
}

/* --- by size class ------------------------------------------------------------------------------------ */

static void feed_side(struct sonde_snapshot_side *side, const struct sonde_batch *batch)
{
	uint64_t until_ns = side->snapshot->time_ns;
	for (size_t i = 0; i < batch->count && batch->heap.time_ns[i] <= until_ns; i++) {
		struct sonde_snapshot_class *class = &side->classes[sonde_heap_class(batch->heap.size_b[i])];
		struct sonde_heap_worth worth = sonde_heap_worth(batch->heap.size_b[i], batch->heap.mean_b);
		uint64_t sign = batch->heap.ends[i] ? UINT64_MAX : 1;
		class->blocks += sign * worth.blocks;
		class->size_b += sign * worth.size_b;
	}
}

void sonde_snapshot_diff_feed(struct sonde_snapshots_pass *snapshots, const struct sonde_batch *batch)
{
	const struct sonde_heap *heap = sonde_session_heap(snapshots->session, batch->heap.id);
	for (size_t i = 0; heap && heap->kind == SONDE_HEAP_MALLOC && i < 2; i++)
		if (heap->id == life_of(snapshots, i))
			feed_side(&snapshots->sides[i], batch);
}

enum { AT_LEAST, BELOW, C_BY_B, C_PER_SEC, C_FROM_B, C_TO_B, C_BY_BLOCKS, C_FROM_BLOCKS, C_TO_BLOCKS, CLASSES };

static const struct sonde_column class_columns[CLASSES] = {
    [AT_LEAST] = {"from_size_b", "from", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BELOW] = {"below_size_b", "below", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [C_BY_B] = {"change_b", "change", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [C_PER_SEC] = {"per_sec_b", "per s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [C_FROM_B] = {"from_b", "first", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [C_TO_B] = {"to_b", "second", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [C_BY_BLOCKS] = {"change_blocks", "blocks", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [C_FROM_BLOCKS] = {"from_blocks", "first blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [C_TO_BLOCKS] = {"to_blocks", "second blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
};

static void class_add(const struct sonde_snapshots_pass *snapshots, size_t c, struct sonde_report *report,
		      struct sonde_section *section)
{
	const struct sonde_snapshot_class *from = &snapshots->sides[0].classes[c],
					  *to = &snapshots->sides[1].classes[c];
	struct sonde_cell *row = sonde_report_row(report, section);
	row[AT_LEAST] = sonde_cell_int(c ? UINT64_C(1) << c : 0);
	row[BELOW] = c + 1 < SONDE_HEAP_CLASSES ? sonde_cell_int(UINT64_C(2) << c) : sonde_cell_absent("larger");
	row[C_BY_B] = sonde_snapshot_change(from->size_b, to->size_b, 0);
	row[C_PER_SEC] = slope(snapshots, from->size_b, to->size_b);
	row[C_FROM_B] = sonde_snapshot_amount(from->size_b, 0);
	row[C_TO_B] = sonde_snapshot_amount(to->size_b, 0);
	row[C_BY_BLOCKS] = sonde_snapshot_change(from->blocks, to->blocks, 0);
	row[C_FROM_BLOCKS] = sonde_snapshot_amount(from->blocks, 0);
	row[C_TO_BLOCKS] = sonde_snapshot_amount(to->blocks, 0);
}

static void classes_build(const struct sonde_snapshots_pass *snapshots, struct sonde_report *report)
{
	struct sonde_section *section =
	    sonde_report_table(report, "snapshot-sizes", "What changed, by block size", class_columns, CLASSES);
	for (size_t c = 0; c < SONDE_HEAP_CLASSES; c++)
		if (snapshots->sides[0].classes[c].blocks || snapshots->sides[1].classes[c].blocks)
			class_add(snapshots, c, report, section);
	sonde_report_note(report, section, 0, "blocks of malloc");
}

int sonde_snapshot_diff_build(const struct sonde_snapshots_pass *snapshots, struct sonde_report *report)
{
	int rc = places_build(snapshots, report);
	if (!rc)
		classes_build(snapshots, report);
	return rc;
}
