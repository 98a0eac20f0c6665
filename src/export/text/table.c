/* table.c: a table with aligned columns.
 *
 * All cells are formatted first. While the line is too long even with its texts cut to a readable minimum, detail
 * columns are hidden and listed below the table; the remaining excess width is taken from text columns, and from those
 * marked wide only at the end. Figures are never cut. If even that is not enough, each cell gets a line of its own.
 */
#include "export/text/text.h"

#include <errno.h>
#include <string.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/text/shorten.h"
#include "util/error.h"

enum {
	GAP = 2,
	TEXT_LEAST = 8,
	TEXT_WANT = 13,
	DETAIL_LEAST = 20,
	WHOLE_MOST = 32,
	WIDE_LEAST = 16,
	WIDE_WANT = 32,
	CELL_MAX_B = 1 << 20
};

enum { HIDDEN_EMPTY = 1, HIDDEN_NARROW = 2 };

struct grid {
	const struct sonde_table *table;
	const struct sonde_format_options *options;
	struct sonde_arena arena;
	const char **cells;    /* formatted, row by row */
	size_t *widths;        /* of columns */
	unsigned char *hidden; /* by column: HIDDEN_EMPTY, HIDDEN_NARROW */
	struct sonde_buf scratch;
};

static int is_text(const struct sonde_column *column)
{
	return column->unit == SONDE_UNIT_TEXT;
}

static int is_left(const struct sonde_column *column)
{
	return is_text(column) || column->unit == SONDE_UNIT_BAR;
}

/* Minimum width of a text column. Texts that are identifiers, such as names of rules, are never cut, and a detail
 * column is hidden before it becomes unreadable. */
static size_t least_of(const struct sonde_column *column, size_t least)
{
	static const char *const whole[] = {"rule", "severity"};
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (!strcmp(column->key, whole[i]))
			return WHOLE_MOST;
	return column->detail && least < DETAIL_LEAST ? DETAIL_LEAST : least;
}

static const char *format_cell(struct grid *grid, const struct sonde_column *column, const struct sonde_cell *cell)
{
	struct sonde_buf *scratch = &grid->scratch;
	sonde_buf_clear(scratch);
	if (cell->kind == SONDE_CELL_TEXT)
		sonde_clean(scratch, cell->text, grid->options->ascii);
	else
		sonde_figure(scratch, column->unit, cell, grid->options->ascii);
	if (sonde_buf_error(scratch))
		return NULL;
	return sonde_arena_strndup(&grid->arena, (const char *)scratch->data, scratch->len_b);
}

static int fill(struct grid *grid)
{
	const struct sonde_table *table = grid->table;
	size_t columns = table->column_count, count = (table->row_count + 1) * columns;
	grid->cells = sonde_arena_alloc(&grid->arena, count * sizeof *grid->cells);
	grid->widths = sonde_arena_alloc(&grid->arena, columns * sizeof *grid->widths);
	grid->hidden = sonde_arena_alloc(&grid->arena, columns);
	if (!grid->cells || !grid->widths || !grid->hidden)
		return sonde_error(ENOMEM, "out of memory for a table of %zu rows", table->row_count);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_column *column = &table->columns[i % columns];
		struct sonde_cell title = sonde_cell_text(column->title);
		const char *text = format_cell(grid, column, i < columns ? &title : &table->cells[i - columns]);
		if (!text)
			return sonde_error(ENOMEM, "out of memory for a table of %zu rows", table->row_count);
		grid->cells[i] = text;
		size_t width = sonde_clean_columns(text);
		if (width > grid->widths[i % columns])
			grid->widths[i % columns] = width;
	}
	return 0;
}

/* Narrows text columns by *excess characters in all, as far as their minimum widths allow: only wide columns (`wide`),
 * or only the others. *excess becomes the remainder. */
static void shrink(struct grid *grid, int wide, size_t least, size_t *excess)
{
	const struct sonde_table *table = grid->table;
	while (*excess) {
		size_t widest = table->column_count;
		for (size_t i = 0; i < table->column_count; i++)
			if (is_text(&table->columns[i]) && !table->columns[i].wide == !wide &&
			    grid->widths[i] > least_of(&table->columns[i], least) && !grid->hidden[i] &&
			    (widest == table->column_count || grid->widths[i] > grid->widths[widest]))
				widest = i;
		if (widest == table->column_count)
			return;
		grid->widths[widest]--;
		(*excess)--;
	}
}

/* Returns the width of a line; with `cut`, its width if all texts were cut to their minimum widths. */
static size_t line_width(const struct grid *grid, int cut)
{
	size_t total = 0;
	for (size_t i = 0; i < grid->table->column_count; i++) {
		const struct sonde_column *column = &grid->table->columns[i];
		size_t least = least_of(column, column->wide ? WIDE_WANT : TEXT_LEAST);
		int shorter = cut && is_text(column) && grid->widths[i] > least;
		total += grid->hidden[i] ? 0 : GAP + (shorter ? least : grid->widths[i]);
	}
	return total;
}

/* Hides detail columns without any value. */
static void hide_empty(struct grid *grid)
{
	const struct sonde_table *table = grid->table;
	for (size_t i = 0; i < table->column_count; i++) {
		size_t row = 0;
		while (row < table->row_count && table->cells[row * table->column_count + i].kind == SONDE_CELL_ABSENT)
			row++;
		if (row == table->row_count && table->columns[i].detail)
			grid->hidden[i] = HIDDEN_EMPTY;
	}
}

/* Hides columns, the most detailed and rightmost first, until the line can be made to fit. */
static void hide(struct grid *grid)
{
	const struct sonde_table *table = grid->table;
	while (line_width(grid, 1) > (size_t)grid->options->width) {
		size_t most = table->column_count;
		for (size_t i = 0; i < table->column_count; i++)
			if (table->columns[i].detail && !grid->hidden[i] &&
			    (most == table->column_count || table->columns[i].detail >= table->columns[most].detail))
				most = i;
		if (most == table->column_count)
			return;
		grid->hidden[most] = HIDDEN_NARROW;
	}
}

/* Makes the columns fit the width; returns 0 if that is impossible. */
static int fit(struct grid *grid)
{
	hide_empty(grid);
	hide(grid);
	size_t total = line_width(grid, 0);
	size_t width = (size_t)grid->options->width, excess = total > width ? total - width : 0;
	/* First cut extremely long cells in one step, since the loop below removes one character at a time. */
	for (size_t i = 0; i < grid->table->column_count && excess; i++) {
		if (!is_text(&grid->table->columns[i]) || grid->widths[i] <= width || grid->hidden[i])
			continue;
		size_t less = grid->widths[i] - width < excess ? grid->widths[i] - width : excess;
		grid->widths[i] -= less;
		excess -= less;
	}
	shrink(grid, 0, TEXT_WANT, &excess);
	shrink(grid, 1, WIDE_LEAST, &excess);
	shrink(grid, 0, TEXT_LEAST, &excess);
	shrink(grid, 1, TEXT_LEAST, &excess);
	return excess == 0;
}

static int is_last(const struct grid *grid, size_t column)
{
	do
		column++;
	while (column < grid->table->column_count && grid->hidden[column]);
	return column == grid->table->column_count;
}

static int put_cell(struct grid *grid, size_t column, const char *text, FILE *out)
{
	struct sonde_buf *scratch = &grid->scratch;
	size_t width = grid->widths[column];
	sonde_buf_clear(scratch);
	int is_function = !strcmp(grid->table->columns[column].key, "function");
	int used = (int)(is_function ? sonde_shorten_name(scratch, text, width, grid->options->ascii)
				     : sonde_clean_cut(scratch, text, width, grid->options->ascii));
	int pad = (int)width - used;
	if (!is_left(&grid->table->columns[column]))
		fprintf(out, "%*s", pad, "");
	fwrite(scratch->data, 1, scratch->len_b, out);
	if (is_left(&grid->table->columns[column]) && !is_last(grid, column))
		fprintf(out, "%*s", pad, "");
	return sonde_buf_error(scratch);
}

static int put_rows(struct grid *grid, FILE *out)
{
	size_t columns = grid->table->column_count;
	for (size_t row = 0; row <= grid->table->row_count; row++) {
		int dim = row == 0 && grid->options->color;
		fputs(dim ? "\033[2m" : "", out);
		for (size_t i = 0; i < columns; i++) {
			if (grid->hidden[i])
				continue;
			fprintf(out, "%*s", GAP, "");
			int rc = put_cell(grid, i, grid->cells[row * columns + i], out);
			if (rc)
				return rc;
		}
		fputs(dim ? "\033[0m\n" : "\n", out);
	}
	return 0;
}

/* Writes "title: value" lines, for a terminal too narrow for the table. */
static int put_list(struct grid *grid, FILE *out)
{
	size_t columns = grid->table->column_count, width = (size_t)grid->options->width;
	for (size_t row = 1; row <= grid->table->row_count; row++) {
		for (size_t i = 0; i < columns; i++) {
			sonde_buf_clear(&grid->scratch);
			sonde_buf_printf(&grid->scratch, "%s: %s", grid->cells[i], grid->cells[row * columns + i]);
			if (sonde_buf_append(&grid->scratch, "", 1))
				return sonde_buf_error(&grid->scratch);
			const char *line =
			    sonde_arena_strndup(&grid->arena, (const char *)grid->scratch.data, grid->scratch.len_b);
			if (!line)
				return sonde_error(ENOMEM, "out of memory for a table");
			sonde_buf_clear(&grid->scratch);
			sonde_clean_cut(&grid->scratch, line, width - 2 * GAP, grid->options->ascii);
			fprintf(out, "%*s%.*s\n", i ? 2 * GAP : GAP, "", (int)grid->scratch.len_b,
				(const char *)grid->scratch.data);
		}
	}
	return 0;
}

/* Writes what has collected in `scratch`, if anything, in as many lines as needed. */
static void put_gathered(struct grid *grid, const char *end, FILE *out)
{
	struct sonde_buf *scratch = &grid->scratch;
	if (!scratch->len_b || sonde_buf_text(scratch, end) || sonde_buf_append(scratch, "", 1))
		return;
	fputs("  ", out);
	sonde_text_wrap(out, (const char *)scratch->data, grid->options->width, 2);
}

static void put_hidden(struct grid *grid, FILE *out)
{
	struct sonde_buf *scratch = &grid->scratch;
	sonde_buf_clear(scratch);
	for (size_t i = 0; i < grid->table->column_count; i++)
		if (grid->hidden[i] == HIDDEN_NARROW)
			sonde_buf_printf(scratch, "%s%s", scratch->len_b ? ", " : "(columns hidden: ", grid->cells[i]);
	put_gathered(grid, ")", out);
}

/* Lists the figures that are not measured. */
static void put_basis(struct grid *grid, enum sonde_basis basis, const char *word, FILE *out)
{
	const struct sonde_table *table = grid->table;
	struct sonde_buf *scratch = &grid->scratch;
	sonde_buf_clear(scratch);
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].basis == basis && !is_text(&table->columns[i]) && !grid->hidden[i])
			sonde_buf_printf(scratch, "%s%s", scratch->len_b ? ", " : "", grid->cells[i]);
	put_gathered(grid, word, out);
}

int sonde_text_table(const struct sonde_table *table, const struct sonde_format_options *options, FILE *out)
{
	if (!table->column_count)
		return 0; /* the section's notes say everything */
	if (!table->row_count) {
		fputs("  (no rows)\n", out);
		return 0;
	}
	struct grid grid = {.table = table, .options = options};
	sonde_buf_init(&grid.scratch, CELL_MAX_B);
	int rc = fill(&grid);
	int fits = !rc && fit(&grid);
	if (!rc)
		rc = fits ? put_rows(&grid, out) : put_list(&grid, out);
	if (!rc) {
		if (table->omitted)
			fprintf(out, "  (%zu more row%s)\n", table->omitted, table->omitted == 1 ? "" : "s");
		if (fits)
			put_hidden(&grid, out);
		put_basis(&grid, SONDE_BASIS_ESTIMATED, ": estimated", out);
		put_basis(&grid, SONDE_BASIS_MODELLED, ": modelled", out);
	}
	sonde_buf_fini(&grid.scratch);
	sonde_arena_fini(&grid.arena);
	return rc;
}
