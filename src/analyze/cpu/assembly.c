/* assembly.c: the instructions of one function, with the CPU time sampled on each instruction and in its callees.
 *
 * The function shown is the one that contains the machine code; the time of functions inlined into it is shown at their
 * instructions, with their names and lines. A caller's frame address lies inside its call instruction, so the time of a
 * callee is shown there. Instructions are read from the module's file if it is the build that was recorded; otherwise
 * the section says so and lists the sampled addresses. If a function is longer than the limit, only the part around its
 * hottest instruction is shown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/cpu/by_function.h"
#include "base/hash.h"
#include "session/code.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"
#include "util/search.h"

enum { DEFAULT_ROWS = 300 };
enum { ADDRESS, SELF, SELF_NS, TOTAL_NS, SAMPLES, INSTRUCTION, INLINED, LINE, FILE_NAME, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [ADDRESS] = {"address", "address", SONDE_UNIT_ADDRESS, SONDE_BASIS_MEASURED, 0, 0},
    [SELF] = {"self_share", "self", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SELF_NS] = {"self_ns", "self time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL_NS] = {"total_ns", "with callees", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [INSTRUCTION] = {"instruction", "instruction", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [INLINED] = {"function", "inlined from", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 5},
    [LINE] = {"line", "line", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 2},
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 6},
};

/* Samples at an address; later merged with the instruction there. */
struct place {
	uint64_t address;
	size_t size_b; /* 0: not decoded */
	const char *text;
	const struct sonde_location *location; /* innermost location; NULL: no sample here */
	uint32_t active;                       /* occurrences on the current path */
	struct sonde_weight self, total;
};

struct places {
	struct place *rows;
	size_t count, cap;
};

struct fold {
	const struct sonde_session *session;
	struct sonde_report *report;
	uint32_t focus;
	struct places seen; /* found through the map, later sorted by address */
	struct sonde_map map;
	struct places all; /* one per instruction */
	int error;
};

static struct place *place_put(struct places *places, const struct place *place)
{
	if (SONDE_ARRAY_RESERVE(places->rows, places->cap, places->count + 1)) {
		sonde_error(ENOMEM, "out of memory for %zu instructions", places->count + 1);
		return NULL;
	}
	places->rows[places->count] = *place;
	return &places->rows[places->count++];
}

/* --- where samples fell ------------------------------------------------------------------------------------------- */

static struct place *place_of(struct fold *fold, const struct sonde_frame *frame)
{
	uint64_t hash = sonde_hash_mix(frame->address);
	uint32_t found = sonde_map_find(&fold->map, hash, NULL, NULL); /* the mixer is bijective */
	if (found)
		return &fold->seen.rows[found - 1];
	struct place *place =
	    place_put(&fold->seen, &(struct place){.address = frame->address, .location = &frame->locations[0]});
	if (place && sonde_map_add(&fold->map, hash, (uint32_t)fold->seen.count)) {
		sonde_error(ENOMEM, "out of memory for %zu instructions", fold->seen.count);
		place = NULL;
	}
	fold->error = place ? 0 : -ENOMEM;
	return place;
}

static void visit_place(void *state, const struct sonde_visit *visit)
{
	struct fold *fold = state;
	const struct sonde_frame *frame = visit->frame;
	if (fold->error || !frame || !frame->location_count ||
	    sonde_function_of(fold->session, frame, frame->location_count - 1) != fold->focus)
		return;
	struct place *place = place_of(fold, frame);
	if (!place)
		return;
	if (visit->leaving) {
		place->active--;
		return;
	}
	if (place->active++ == 0)
		sonde_weight_add(&place->total, visit->total);
	sonde_weight_add(&place->self, visit->self);
}

static int by_address(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	return (a->address > b->address) - (a->address < b->address);
}

/* --- instructions ------------------------------------------------------------------------------------------------- */

static int take(void *context, const struct sonde_instruction *instruction)
{
	struct fold *fold = context;
	struct place place = {.address = instruction->address, .size_b = instruction->size_b};
	place.text = sonde_arena_strndup(&fold->report->arena, instruction->text, strlen(instruction->text));
	if (!place.text)
		return sonde_error(ENOMEM, "out of memory for instructions");
	return place_put(&fold->all, &place) ? 0 : -ENOMEM;
}

/* Merges samples inside an instruction into it; other samples remain separate: `outside`. */
static void places_join(struct fold *fold, struct sonde_weight *outside)
{
	const struct places *seen = &fold->seen;
	for (size_t i = 0; i < seen->count; i++) {
		const struct place *from = &seen->rows[i];
		struct place *rows = fold->all.rows;
		size_t behind = SONDE_SEARCH(k, 0, fold->all.count, rows[k].address <= from->address);
		struct place *at = behind ? &rows[behind - 1] : NULL;
		if (!at || from->address - at->address >= at->size_b) {
			sonde_weight_add(outside, from->self);
			continue;
		}
		at->location = at->location ? at->location : from->location;
		sonde_weight_add(&at->self, from->self);
		sonde_weight_add(&at->total, from->total);
	}
}

/* --- the section -------------------------------------------------------------------------------------------------- */

static int row_add(const struct fold *fold, const struct sonde_samples *samples, struct sonde_section *section,
		   const struct place *place)
{
	struct sonde_cell *row = sonde_report_row(fold->report, section);
	const struct sonde_location *location = place->location;
	row[ADDRESS] = sonde_cell_int(place->address);
	row[INSTRUCTION] = place->text ? sonde_cell_text(place->text) : sonde_cell_absent("not decoded");
	if (!location)
		return 0;
	row[SELF] = sonde_samples_share(samples, place->self.ns);
	row[SELF_NS] = sonde_cell_int(place->self.ns);
	row[TOTAL_NS] = sonde_cell_int(place->total.ns);
	row[SAMPLES] = sonde_cell_int(place->self.count);
	if (location->function != fold->focus && sonde_session_function(fold->session, location->function))
		row[INLINED] = sonde_cell_text(sonde_session_function(fold->session, location->function)->name);
	if (location->line)
		row[LINE] = sonde_cell_int(location->line);
	if (*location->file)
		row[FILE_NAME] = sonde_cell_text(location->file);
	return 0;
}

/* Adds the rows; if there are too many, only those around the hottest one. */
static int rows_add(const struct fold *fold, const struct sonde_samples *samples, struct sonde_section *section)
{
	const struct places *shown = fold->all.count ? &fold->all : &fold->seen;
	size_t limit = samples->options.limit ? samples->options.limit : DEFAULT_ROWS, hottest = 0, from = 0;
	int rc = 0;
	for (size_t i = 0; i < shown->count; i++)
		if (shown->rows[i].self.ns > shown->rows[hottest].self.ns)
			hottest = i;
	if (shown->count > limit) {
		from = hottest > limit / 2 ? hottest - limit / 2 : 0;
		from = from > shown->count - limit ? shown->count - limit : from;
		section->table.omitted = shown->count - limit;
	}
	for (size_t i = from; i < shown->count && i < from + limit && rc == 0; i++)
		rc = row_add(fold, samples, section, &shown->rows[i]);
	return rc;
}

static int notes_add(const struct fold *fold, const struct sonde_samples *samples, struct sonde_section *section,
		     const char *why_none, struct sonde_weight outside)
{
	sonde_samples_note_shares(samples, fold->report, section);
	if (why_none)
		sonde_report_note(fold->report, section, 1, "only sampled addresses: %s", why_none);
	if (!why_none && outside.ns)
		sonde_report_note(fold->report, section, 1,
				  "%.3f s of the function's self time fall outside these instructions",
				  (double)outside.ns / 1e9);
	sonde_report_note(fold->report, section, 0, "a sample may point one instruction past the slow one");
	return 0;
}

static int section_build(struct fold *fold, const struct sonde_samples *samples)
{
	const char *name = sonde_function_name(fold->session, fold->focus);
	const char *title = sonde_report_text(fold->report, "Instructions of %s", name), *why_none = NULL;
	struct sonde_section *section =
	    title ? sonde_report_table(fold->report, "assembly", title, columns, COLUMNS) : NULL;
	struct sonde_weight outside = {0};
	int rc = section ? sonde_samples_walk(samples, visit_place, fold)
			 : sonde_error(ENOMEM, "out of memory for instructions");
	rc = rc ? rc : fold->error;
	if (rc)
		return rc;
	if (!fold->seen.count) {
		sonde_report_note(fold->report, section, 1,
				  "%s was always inlined: its instructions are part of its callers", name);
		return 0;
	}
	qsort(fold->seen.rows, fold->seen.count, sizeof *fold->seen.rows, by_address);
	rc = sonde_session_instructions(fold->session, fold->focus, fold->seen.rows[fold->seen.count - 1].address, take,
					fold);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0 || !fold->all.count)
		why_none =
		    sonde_report_text(fold->report, "%s", rc < 0 ? sonde_error_text() : "its code is in no file");
	if (fold->all.count)
		places_join(fold, &outside);
	rc = rows_add(fold, samples, section);
	return rc ? rc : notes_add(fold, samples, section, why_none, outside);
}

static void focus_missing(const struct sonde_samples *samples, struct sonde_report *report)
{
	struct sonde_section *section = sonde_report_table(report, "assembly", "Instructions", columns, COLUMNS);
	sonde_report_note(report, section, 1, "no sampled stack contains the function %s", samples->options.focus);
}

static int assembly_finish(void *state, struct sonde_report *report)
{
	struct sonde_samples *samples = state;
	struct sonde_function_weight *functions;
	struct fold fold = {.session = samples->session, .report = report};
	size_t count;
	if (!sonde_weight_is_any(samples->all))
		return sonde_samples_none(samples, report, "assembly", "Instructions");
	int rc = sonde_samples_fold(samples);
	rc = rc ? rc : sonde_by_function(samples, &functions, &count);
	if (rc < 0)
		return rc;
	fold.focus = sonde_function_pick(samples->session, functions, count, samples->options.focus);
	free(functions);
	if (!fold.focus && !samples->options.focus) /* all time is measured time, which belongs to no function */
		return sonde_samples_none(samples, report, "assembly", "Instructions");
	if (fold.focus)
		rc = section_build(&fold, samples);
	else
		focus_missing(samples, report);
	free(fold.seen.rows);
	free(fold.all.rows);
	sonde_map_fini(&fold.map);
	return rc;
}

const struct sonde_pass sonde_pass_assembly = {
    .name = "assembly",
    .needs = SONDE_NEEDS(CPU),
    .has = sonde_has_samples,
    .title = "instructions of one function (--focus NAME)",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .state_b = sizeof(struct sonde_samples),
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = assembly_finish,
    .end = sonde_samples_end,
};
