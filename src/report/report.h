/* report.h: the one result model between analyses and report formats.
 *
 * A report is a list of sections in reading order. A section is a table or a tree (more kinds come with their first
 * user), with notes: sentences that belong to its figures (denominators, what was lost). Passes build it, formats
 * render it; neither knows the other. Everything lives in the report's arena. Texts are raw: formats escape.
 *
 * When memory is out, building goes on with parts that no format will see: sections, rows and texts are never NULL.
 * sonde_report_status() says in the end whether the report is complete.
 */
#ifndef SONDE_REPORT_REPORT_H
#define SONDE_REPORT_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/buf.h"

/* The unit of a stored value. Formats scale for people, but never in JSON or CSV. */
enum sonde_unit {
	SONDE_UNIT_TEXT = 0,
	SONDE_UNIT_COUNT,
	SONDE_UNIT_NS,
	SONDE_UNIT_BYTES,
	SONDE_UNIT_RATIO, /* 0.278: shown as 27.8 % */
	SONDE_UNIT_HZ,
	SONDE_UNIT_FACTOR, /* 1.25: shown as 1.25× */
	SONDE_UNIT_NUMBER, /* no unit, or one named in the column */
	SONDE_UNIT_ADDRESS,
	SONDE_UNIT_ID,  /* a number that identifies something: a pid, a line; never scaled or grouped */
	SONDE_UNIT_BAR, /* a ratio; formats for people draw a bar of that length */
	SONDE_UNIT_JOULES,
	SONDE_UNIT_GRAMS,
};

/* How a figure was obtained; every output format shows it. */
enum sonde_basis { SONDE_BASIS_MEASURED = 0, SONDE_BASIS_ESTIMATED, SONDE_BASIS_MODELLED };

enum { SONDE_COLUMNS_MOST = 64 };

struct sonde_column {
	const char *key;   /* stable: JSON and CSV: "self_ns" */
	const char *title; /* for people: "self" */
	enum sonde_unit unit;
	enum sonde_basis basis;
	int wide;   /* text column that takes the remaining width */
	int detail; /* 0 = always shown; on a narrow terminal the columns with the highest number are hidden first */
};

enum sonde_cell_kind { SONDE_CELL_ABSENT = 0, SONDE_CELL_TEXT, SONDE_CELL_INT, SONDE_CELL_REAL };

struct sonde_cell {
	enum sonde_cell_kind kind;
	int label;         /* TEXT: 1 + the value of an enum that the text stands for (analyze/columns.def); 0 = none */
	const char *text;  /* TEXT; ABSENT: why, may be NULL */
	uint64_t integer;  /* INT */
	double real;       /* REAL */
	double plus_minus; /* half width of the 95 % interval in the same unit; 0 = exact or not known */
};

struct sonde_table {
	const struct sonde_column *columns;
	size_t column_count;
	struct sonde_cell *cells; /* row after row */
	size_t row_count;
	size_t row_cap;
	size_t omitted; /* rows beyond the limit */
};

/* A weighted tree, such as a call tree. Children are a list, sorted by total, largest first. */
struct sonde_tree_node {
	const char *name;
	const char *module; /* "" = none */
	const char *file;   /* "" = none */
	uint32_t line;
	uint64_t self;
	uint64_t total;
	uint64_t count; /* samples or calls */
	struct sonde_tree_node *child, *next;
};

struct sonde_tree {
	enum sonde_unit unit;         /* unit of self and total */
	const char *value;            /* what self and total mean: "CPU time" */
	struct sonde_tree_node *root; /* an unnamed root: total = the denominator */
};

enum sonde_section_kind { SONDE_SECTION_TABLE = 1, SONDE_SECTION_TREE };

/* What a note suggests to do next. The action's text is a part of the note's text and names command-line options; a
 * page replaces it with something to click. */
enum sonde_action_kind {
	SONDE_ACTION_NONE = 0,
	SONDE_ACTION_RECORD,   /* record again, with these options: "--heap" */
	SONDE_ACTION_TIME,     /* select a time range: "choose a part with --from and --to" */
	SONDE_ACTION_THREAD,   /* select a thread: "--thread" */
	SONDE_ACTION_FUNCTION, /* select a function: "--focus NAME" */
	SONDE_ACTION_SECTION,  /* show another section: "--section heaps" */
	SONDE_ACTION_METRIC,   /* show the call tree by another metric: "--metric live-at-exit" */
	SONDE_ACTION_HEAP,     /* select a kind of heap: "by --heap-of" */
	SONDE_ACTION_PROCESS,  /* select the process whose heap is drawn */
	SONDE_ACTION_KINDS
};

struct sonde_action {
	enum sonde_action_kind kind;
	const char *text; /* NULL with NONE */
};

struct sonde_note {
	const char *text;
	int warning; /* lost or not measured */
	struct sonde_action action;
	struct sonde_note *next;
};

struct sonde_section {
	const char *id;    /* "functions" */
	const char *title; /* "Functions by self time" */
	enum sonde_section_kind kind;
	struct sonde_table table;
	struct sonde_tree tree;
	struct sonde_note *notes;
	const char *recorded; /* whether its data was recorded: "yes", "in part", "no"; NULL = no single kind */
	const char *missing;  /* why it was not, or not fully; NULL with "yes" */
	struct sonde_section *next;
};

/* A value of the whole report, outside any section, such as a verdict. */
struct sonde_fact {
	const char *key;
	struct sonde_cell cell;
	struct sonde_fact *next;
};

struct sonde_report {
	struct sonde_arena arena;
	int is_short;             /* something could not be added */
	const char *title;        /* the command that was recorded */
	const char *path;         /* path of the recording */
	uint64_t duration_ns;     /* duration of the recording; 0 = not known */
	struct sonde_note *notes; /* about the whole run: what was recorded, lost or not measured, and the overhead */
	struct sonde_fact *facts; /* top-level keys of the JSON document; formats for people have them in notes */
	struct sonde_section *first, *last;
	/* Given out when memory is out. */
	struct sonde_section spare;
	struct sonde_tree_node spare_root;
	struct sonde_cell spare_row[SONDE_COLUMNS_MOST];
	struct sonde_column spare_columns[SONDE_COLUMNS_MOST];
};

int sonde_report_new(struct sonde_report **out);
void sonde_report_free(struct sonde_report *report);

/* 0, or -ENOMEM with a message if anything could not be added. */
int sonde_report_status(const struct sonde_report *report);

/* printf into the arena. */
const char *sonde_report_text(struct sonde_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends; `id` and `title` are static or from the arena. At most SONDE_COLUMNS_MOST columns. */
struct sonde_section *sonde_report_table(struct sonde_report *report, const char *id, const char *title,
					 const struct sonde_column *columns, size_t column_count);
struct sonde_section *sonde_report_tree(struct sonde_report *report, const char *id, const char *title,
					enum sonde_unit unit, const char *value);

/* A copy of a table's columns to change, for the whole table. */
struct sonde_column *sonde_report_columns(struct sonde_report *report, const struct sonde_column *columns,
					  size_t column_count);

/* A zeroed (absent) row of the section's table to fill in. */
struct sonde_cell *sonde_report_row(struct sonde_report *report, struct sonde_section *section);

/* The first section with that id, if it is a table; else NULL, also if `report` is NULL. */
const struct sonde_section *sonde_report_find(const struct sonde_report *report, const char *id);

/* A cell of a table by its column's key; an absent cell if there is no section, no such row or no such column.
 * Borrowed from the section. */
const struct sonde_cell *sonde_report_cell(const struct sonde_section *section, size_t row, const char *key);
/* The same as text; "" if it is not text. */
const char *sonde_report_cell_text(const struct sonde_section *section, size_t row, const char *key);
/* The same as an integer; 0 if it is not one. */
uint64_t sonde_report_cell_uint(const struct sonde_section *section, size_t row, const char *key);

/* Notes keep their order. `section` NULL: of the whole report. */
void sonde_report_note(struct sonde_report *report, struct sonde_section *section, int warning, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A note of the whole report with the buffer's text; frees the buffer. */
void sonde_report_note_of(struct sonde_report *report, int warning, struct sonde_buf *text);
/* Sets the action of the last note of the section, or of the report if NULL. `text` is a part of that note's text,
 * static or from the arena. */
void sonde_report_advise(struct sonde_report *report, struct sonde_section *section, enum sonde_action_kind kind,
			 const char *text);
/* The name in JSON: "record". */
const char *sonde_action_name(enum sonde_action_kind kind);
/* A warning about the whole report, placed before all other notes. */
void sonde_report_note_first(struct sonde_report *report, const char *text);

/* Facts keep their order. `key` is static. */
void sonde_report_fact(struct sonde_report *report, const char *key, struct sonde_cell cell);

static inline struct sonde_cell sonde_cell_text(const char *text)
{
	return (struct sonde_cell){.kind = SONDE_CELL_TEXT, .text = text};
}

/* A text that stands for the value of an enum. Other passes read the value, so the text may be reworded. */
static inline struct sonde_cell sonde_cell_label(const char *text, int value)
{
	return (struct sonde_cell){.kind = SONDE_CELL_TEXT, .label = value + 1, .text = text};
}

static inline struct sonde_cell sonde_cell_int(uint64_t value)
{
	return (struct sonde_cell){.kind = SONDE_CELL_INT, .integer = value};
}

static inline struct sonde_cell sonde_cell_real(double value, double plus_minus)
{
	return (struct sonde_cell){.kind = SONDE_CELL_REAL, .real = value, .plus_minus = plus_minus};
}

static inline struct sonde_cell sonde_cell_absent(const char *why)
{
	return (struct sonde_cell){.kind = SONDE_CELL_ABSENT, .text = why};
}

#endif
