/* columns.h: typed access to cells of sections: the compiler checks column names and units.
 *
 * For each section of columns.def there is a struct with a member for each of its columns. The member's type states
 * what the cells contain: nanoseconds, bytes, a count, text, a label. So a misspelt column, a column of another
 * section, and nanoseconds read as bytes do not compile. A label is a text that stands for the value of an enum: the
 * value is read instead of the text, and cannot be compared with the values of another enum. The columns are looked
 * up once, by sonde_columns_read(); reading a cell then compares no names. Absent cells, and columns that are missing
 * from the section of this report, read as NAN, "", or no value of the enum.
 *
 *	const struct sonde_columns_waits *waits = &columns->waits;
 *	for (size_t i = 0; i < waits->of.rows; i++)
 *		sum_ns += sonde_column_ns(waits, i, mean_ns);
 */
#ifndef SONDE_ANALYZE_COLUMNS_H
#define SONDE_ANALYZE_COLUMNS_H

#include <stddef.h>

#include "analyze/labels.h"
#include "format/device.h"
#include "format/meta.h"
#include "format/metric.h"
#include "report/report.h"
#include "roof/roof.h"

/* The column's position in the table; -1 = the section does not have it. */
struct sonde_column_at_text {
	int at;
};
struct sonde_column_at_ns {
	int at;
};
struct sonde_column_at_bytes {
	int at;
};
struct sonde_column_at_count {
	int at;
};
struct sonde_column_at_ratio {
	int at;
};
struct sonde_column_at_joules {
	int at;
};
struct sonde_column_at_id {
	int at;
};
struct sonde_column_at_number { /* without a unit, or with a unit that the key names */
	int at;
};

/* Rows of a section; none if there is no such section. */
struct sonde_columns_rows {
	const struct sonde_table *table; /* NULL without rows */
	size_t rows;
};

#define SONDE_COLUMNS_OF(section, id)    \
	struct sonde_columns_##section { \
		struct sonde_columns_rows of;
#define SONDE_COLUMN(kind, key) struct sonde_column_at_##kind key;
/* `value` is never set: it only carries the type of the values. It is a pointer, because the enums of sonde/device.h
 * are not complete here. That header and session/recorded.h define the same names, so only files that need
 * sonde/device.h include it, as their last header. */
#define SONDE_COLUMN_LABEL(type, key) \
	struct {                      \
		int at;               \
		type *value;          \
	} key;
#define SONDE_COLUMNS_END(section) \
	}                          \
	;
#include "analyze/columns.def"

/* Rows of the summary: SONDE_SUMMARY_timing_wall_time_s. */
enum sonde_summary_row {
#define SONDE_SUMMARY(group, key) SONDE_SUMMARY_##group##_##key,
#include "analyze/metrics.def"
#undef SONDE_SUMMARY
	SONDE_SUMMARY_ROWS
};

struct sonde_columns {
#define SONDE_COLUMNS_OF(section, id) struct sonde_columns_##section section;
#include "analyze/columns.def"
	double summarised[SONDE_SUMMARY_ROWS]; /* NAN = absent */
};

#define sonde_summary_value(columns, group, key) ((columns)->summarised[SONDE_SUMMARY_##group##_##key])

/* The key of a column, for the table of its section: does not compile unless columns.def has that column. */
#define SONDE_COLUMN_KEY(section, key) (&#key[0 * sizeof(((struct sonde_columns_##section *)NULL)->key)])
/* The same for a row of the summary: "timing.wall_time_s". */
#define SONDE_SUMMARY_KEY(group, key) (&#group "." #key[0 * SONDE_SUMMARY_##group##_##key])

/* Borrows from the report, to which no section may be added afterwards. */
void sonde_columns_read(struct sonde_columns *out, const struct sonde_report *report);

#define sonde_column_text(view, row, key) sonde_columns_text(&(view)->of, (row), (view)->key)
/* The value of a label; if the cell has none, a value that the enum does not have. */
#define sonde_column_label(view, row, key) \
	((__typeof__(*(view)->key.value))sonde_columns_label(&(view)->of, (row), (view)->key.at))
/* The text of a label, for display only: passes compare values of the enum, never texts. */
#define sonde_column_label_text(view, row, key) \
	sonde_columns_text(&(view)->of, (row), (struct sonde_column_at_text){(view)->key.at})
#define sonde_column_ns(view, row, key) sonde_columns_ns(&(view)->of, (row), (view)->key)
#define sonde_column_bytes(view, row, key) sonde_columns_bytes(&(view)->of, (row), (view)->key)
#define sonde_column_count(view, row, key) sonde_columns_count(&(view)->of, (row), (view)->key)
#define sonde_column_ratio(view, row, key) sonde_columns_ratio(&(view)->of, (row), (view)->key)
#define sonde_column_joules(view, row, key) sonde_columns_joules(&(view)->of, (row), (view)->key)
#define sonde_column_id(view, row, key) sonde_columns_id(&(view)->of, (row), (view)->key)
#define sonde_column_number(view, row, key) sonde_columns_number(&(view)->of, (row), (view)->key)

/* A cell as a number; NAN if it is absent, or there is no such row or column (-1). */
double sonde_columns_value(const struct sonde_columns_rows *of, size_t row, int at);
/* The value of a label; -1 if the cell has none. */
int sonde_columns_label(const struct sonde_columns_rows *of, size_t row, int at);
/* The text of a cell, borrowed from the report; "" if the cell has none. */
const char *sonde_columns_text(const struct sonde_columns_rows *of, size_t row, struct sonde_column_at_text column);

#define SONDE_COLUMNS_READER(kind)                                                                 \
	static inline double sonde_columns_##kind(const struct sonde_columns_rows *of, size_t row, \
						  struct sonde_column_at_##kind column)            \
	{                                                                                          \
		return sonde_columns_value(of, row, column.at);                                    \
	}
SONDE_COLUMNS_READER(ns)
SONDE_COLUMNS_READER(bytes)
SONDE_COLUMNS_READER(count)
SONDE_COLUMNS_READER(ratio)
SONDE_COLUMNS_READER(joules)
SONDE_COLUMNS_READER(id)
SONDE_COLUMNS_READER(number)
#undef SONDE_COLUMNS_READER

#endif
