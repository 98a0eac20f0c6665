/* sizes.c: block sizes and lifetimes: two histograms with power-of-two classes, separate for malloc's blocks, mappings
 * and each pool, summed over processes. */
#include <errno.h>

#include "analyze/contents.h"
#include "analyze/heap/pass.h"
#include "analyze/statistics/stats.h"
#include "util/error.h"

enum { LIFE_CLASS_LEAST = SONDE_HEAP_LIFE_LEAST };
enum { FROM, BELOW, BLOCKS, SHARE, UP_TO, HEAP, BAR, COLUMNS };

#define CLASS_COLUMNS(prefix, unit)                                                                                    \
	{                                                                                                              \
		[FROM] = {"from_" prefix, "from", unit, SONDE_BASIS_MEASURED, 0, 0}, [BELOW] = {"below_" prefix,       \
												"below",               \
												unit,                  \
												SONDE_BASIS_MEASURED,  \
												0,                     \
												0},                    \
		[BLOCKS] = {"blocks", "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},                         \
		[SHARE] = {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},                            \
		[UP_TO] = {"cumulative_share", "cumulative", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 3},            \
		[HEAP] = {"heap", "heap", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1}, [BAR] = {"bar",                \
												 "",                   \
												 SONDE_UNIT_BAR,       \
												 SONDE_BASIS_MEASURED, \
												 0,                    \
												 2},                   \
	}

static const struct sonde_column size_columns[COLUMNS] = CLASS_COLUMNS("b", SONDE_UNIT_BYTES);
static const struct sonde_column life_columns[COLUMNS] = CLASS_COLUMNS("ns", SONDE_UNIT_NS);

/* Sums the classes of block sizes, or of lifetimes if `lives`, over all heaps like `like`; returns the number of
 * blocks. */
static uint64_t classes_of(const struct sonde_heap_pass *pass, const struct sonde_heap *like, int lives,
			   uint64_t classes[SONDE_HEAP_CLASSES])
{
	uint64_t all = 0;
	for (size_t c = 0; c < SONDE_HEAP_CLASSES; c++)
		classes[c] = 0;
	for (uint32_t id = 0; id <= sonde_session_heap_count(pass->session); id++) {
		const struct sonde_heap_total *total = &pass->sums.heaps[id];
		const uint64_t *from = lives ? total->life_classes : total->size_classes;
		if (!sonde_heap_alike(sonde_session_heap(pass->session, id), like))
			continue;
		for (size_t c = 0; c < SONDE_HEAP_CLASSES; c++) {
			classes[c] += from[c];
			all += from[c];
		}
	}
	return all;
}

static uint64_t most_of(const uint64_t classes[SONDE_HEAP_CLASSES])
{
	uint64_t most = 0;
	for (size_t c = 0; c < SONDE_HEAP_CLASSES; c++)
		most = classes[c] > most ? classes[c] : most;
	return most;
}

/* Merges the shortest lifetimes, which cannot be distinguished. */
static void classes_join(uint64_t classes[SONDE_HEAP_CLASSES])
{
	for (size_t c = 0; c + 1 < LIFE_CLASS_LEAST; c++) {
		classes[LIFE_CLASS_LEAST - 1] += classes[c];
		classes[c] = 0;
	}
}

/* Adds a row per class, from the smallest to the largest class with blocks, including empty ones in between. */
static void rows_add(const struct sonde_heap_pass *pass, const struct sonde_heap *heap, int lives,
		     struct sonde_report *report, struct sonde_section *section)
{
	uint64_t classes[SONDE_HEAP_CLASSES], all = classes_of(pass, heap, lives, classes), below = 0;
	size_t least = lives ? LIFE_CLASS_LEAST - 1 : 0;
	if (lives)
		classes_join(classes);
	uint64_t most = most_of(classes);
	for (size_t c = 0; c < SONDE_HEAP_CLASSES && below < all; c++) {
		if (!below && !classes[c])
			continue;
		struct sonde_cell *row = sonde_report_row(report, section);
		below += classes[c];
		row[FROM] = sonde_cell_int(c > least ? UINT64_C(1) << c : 0);
		row[BELOW] =
		    c + 1 < SONDE_HEAP_CLASSES ? sonde_cell_int(UINT64_C(2) << c) : sonde_cell_absent("larger");
		row[BLOCKS] = sonde_cell_int(classes[c]);
		row[SHARE] = sonde_cell_real(sonde_stats_share((double)classes[c], (double)all), 0);
		row[UP_TO] = sonde_cell_real(sonde_stats_share((double)below, (double)all), 0);
		row[HEAP] = sonde_heap_kind_cell(pass, heap);
		row[BAR] = sonde_cell_real(sonde_stats_share((double)classes[c], (double)most), 0);
	}
}

static int is_first_of_kind(const struct sonde_session *session, uint32_t id)
{
	for (uint32_t other = 1; other < id; other++)
		if (sonde_heap_alike(sonde_session_heap(session, other), sonde_session_heap(session, id)))
			return 0;
	return 1;
}

static void kinds_add(const struct sonde_heap_pass *pass, int lives, struct sonde_report *report,
		      struct sonde_section *section)
{
	for (uint32_t id = 1; id <= sonde_session_heap_count(pass->session); id++)
		if (is_first_of_kind(pass->session, id))
			rows_add(pass, sonde_session_heap(pass->session, id), lives, report, section);
}

static void section_add(const struct sonde_heap_pass *pass, int lives, struct sonde_report *report)
{
	const struct sonde_column *columns =
	    sonde_heap_columns(pass, report, lives ? life_columns : size_columns, COLUMNS);
	struct sonde_section *section =
	    lives ? sonde_report_table(report, "lifetimes", "Lifetimes of blocks", columns, COLUMNS)
		  : sonde_report_table(report, "sizes", "Sizes of blocks", columns, COLUMNS);
	if (lives)
		sonde_report_note(report, section, 0, "freed blocks; those still live have no lifetime yet");
	else
		sonde_heap_pass_notes(pass, report, section);
	kinds_add(pass, lives, report, section);
}

static int sizes_finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	int rc = sonde_heap_pass_read(pass, report, "sizes", "Sizes of blocks");
	if (rc)
		return rc < 0 ? rc : 0;
	section_add(pass, 0, report);
	if (rc >= 0)
		section_add(pass, 1, report);
	return rc;
}

const struct sonde_pass sonde_pass_sizes = {
    .name = "sizes",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "sizes and lifetimes of blocks",
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = sizes_finish,
    .end = sonde_heap_pass_end,
};
