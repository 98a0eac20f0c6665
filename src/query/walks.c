/* walks.c: iterates over the rows of tables: rows of the session, computed rows, and batches of cursors. */
#include "query/table.h"

#include <string.h>

static const size_t sizes[] = {
    [SONDE_QUERY_U8] = 1,
    [SONDE_QUERY_U16] = 2,
    [SONDE_QUERY_U32] = 4,
    [SONDE_QUERY_U64] = 8,
    [SONDE_QUERY_I32] = 4,
    [SONDE_QUERY_I64] = 8,
    [SONDE_QUERY_REAL] = sizeof(double),
    [SONDE_QUERY_TEXT] = sizeof(char *),
    [SONDE_QUERY_TIME] = 8,
    [SONDE_QUERY_ROW] = 0,
};

size_t sonde_query_size_b(enum sonde_query_type type)
{
	return sizes[type];
}

const char *sonde_query_type_name(const struct sonde_query_column *column)
{
	if (column->text || column->type == SONDE_QUERY_TEXT)
		return "TEXT";
	return column->type == SONDE_QUERY_REAL ? "REAL" : "INTEGER";
}

void sonde_query_place_rows(struct sonde_query_scan *scan, const void *rows, size_t count)
{
	const struct sonde_query_table *table = scan->table;
	scan->before += scan->count;
	scan->i = 0;
	scan->count = count;
	for (size_t c = 0; c < table->column_count; c++) {
		const struct sonde_query_column *column = &table->columns[c];
		scan->places[c] =
		    (struct sonde_query_place){.first = (const uint8_t *)rows + column->at, .step_b = table->row_b};
		if (column->plus) {
			scan->places[c].plus = (const uint8_t *)rows + column->plus;
			scan->places[c].plus_step_b = table->row_b;
		}
	}
}

static int begin_nothing(struct sonde_query_scan *scan)
{
	(void)scan;
	return 0;
}

static void end_nothing(struct sonde_query_scan *scan)
{
	(void)scan;
}

/* --- rows of the session: one per block, since they need not be contiguous ---------------------------------------- */

static int next_row(struct sonde_query_scan *scan)
{
	size_t count = scan->table->count(scan->session);
	if (scan->row_wanted && (scan->next || scan->row_wanted > count))
		return 0;
	size_t i = scan->row_wanted ? (size_t)scan->row_wanted - 1 : scan->next;
	if (i >= count)
		return 0;
	scan->next++;
	sonde_query_place_rows(scan, scan->table->at(scan->session, i), 1);
	scan->before = i;
	return 1;
}

const struct sonde_query_walk sonde_query_walk_rows = {begin_nothing, next_row, end_nothing};

/* --- rows computed once per query --------------------------------------------------------------------------------- */

static int begin_made(struct sonde_query_scan *scan)
{
	struct sonde_query_made *made = scan->made;
	if (made->known)
		return 0;
	int rc = scan->table->make(scan->session, made);
	made->known = !rc;
	return rc;
}

static int next_made(struct sonde_query_scan *scan)
{
	const struct sonde_query_made *made = scan->made;
	if (scan->next++ || !made->count)
		return 0;
	if (!scan->row_wanted) {
		sonde_query_place_rows(scan, made->rows, made->count);
		return 1;
	}
	if (scan->row_wanted > made->count)
		return 0;
	size_t i = (size_t)scan->row_wanted - 1;
	sonde_query_place_rows(scan, (const uint8_t *)made->rows + i * scan->table->row_b, 1);
	scan->before = i;
	return 1;
}

const struct sonde_query_walk sonde_query_walk_made = {begin_made, next_made, end_nothing};

/* --- batches ------------------------------------------------------------------------------------------------------ */

static int begin_batches(struct sonde_query_scan *scan)
{
	int rc = sonde_cursor_open(&scan->cursor, scan->session, scan->table->types);
	return rc ? rc : sonde_cursor_want(scan->cursor, &scan->wanted);
}

static const uint8_t *array_at(const struct sonde_batch *batch, size_t at)
{
	const uint8_t *array;
	memcpy(&array, (const uint8_t *)batch + at, sizeof array);
	return array;
}

static int next_batch(struct sonde_query_scan *scan)
{
	const struct sonde_query_table *table = scan->table;
	const struct sonde_batch *batch;
	int found = sonde_cursor_next(scan->cursor, &batch);
	if (found <= 0)
		return found;
	scan->before += scan->count;
	scan->i = 0;
	scan->count = batch->count;
	for (size_t c = 0; c < table->column_count; c++) {
		const struct sonde_query_column *column = &table->columns[c];
		struct sonde_query_place *place = &scan->places[c];
		*place = (struct sonde_query_place){0};
		if (column->flags & SONDE_QUERY_OF_BATCH) {
			place->first = (const uint8_t *)batch + column->at;
		} else if (column->type != SONDE_QUERY_ROW) {
			place->first = array_at(batch, column->at);
			place->step_b = sizes[column->type];
		}
		if (column->plus) {
			place->plus = array_at(batch, column->plus);
			place->plus_step_b = sizeof(uint64_t);
		}
		if (column->when_mask)
			place->when = array_at(batch, column->when_at);
	}
	return 1;
}

static void end_batches(struct sonde_query_scan *scan)
{
	sonde_cursor_close(scan->cursor);
	scan->cursor = NULL;
}

const struct sonde_query_walk sonde_query_walk_batches = {begin_batches, next_batch, end_batches};
