/* table.h: the definition of a query table: a row of tables.def.
 *
 * A table consists of columns and a walk. The walk iterates over blocks of rows; for each column a block gives the
 * address of its first value and the stride to the next, so that one virtual-table module can read the rows of all
 * tables. Values stay where the session has them: only values that SQLite asks for are copied.
 */
#ifndef SONDE_QUERY_TABLE_H
#define SONDE_QUERY_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

#define SONDE_QUERY_COLUMNS_MAX 24

/* The memory representation of a value. */
enum sonde_query_type {
	SONDE_QUERY_U8 = 0,
	SONDE_QUERY_U16,
	SONDE_QUERY_U32,
	SONDE_QUERY_U64,
	SONDE_QUERY_I32,
	SONDE_QUERY_I64,
	SONDE_QUERY_REAL,
	SONDE_QUERY_TEXT, /* const char *, NULL or "" = NULL */
	SONDE_QUERY_TIME, /* uint64_t, CLOCK_MONOTONIC ns; shown as ns since the start of the recording */
	SONDE_QUERY_ROW,  /* not stored: the row number from 1, which is the id if the rows have ids */
};

/* How a condition on a column can reduce the rows to read. */
enum sonde_query_key {
	SONDE_QUERY_NO_KEY = 0,
	SONDE_QUERY_KEY_START, /* the start time of the row */
	SONDE_QUERY_KEY_END,   /* the end time of the row */
	SONDE_QUERY_KEY_PROCESS,
	SONDE_QUERY_KEY_THREAD,
	SONDE_QUERY_KEY_SITE,
	SONDE_QUERY_KEY_ROW, /* the row with this number */
};

enum sonde_query_flag {
	SONDE_QUERY_ZERO_NULL = 1, /* 0 = unknown or none: shown as NULL */
	SONDE_QUERY_OF_BATCH = 2,  /* in struct sonde_batch itself: one value for all rows of the batch */
	SONDE_QUERY_MINUS_ONE = 4, /* stored as the value + 1; used together with ZERO_NULL */
	SONDE_QUERY_PASSING = 16,  /* a text valid only until the next block */
	SONDE_QUERY_SPARSE = 8,    /* may be any number: it is neither an id nor a kind */
};

struct sonde_query_column {
	const char *name;    /* "start_ns" */
	const char *unit;    /* "ns"; "" = none, or a count */
	const char *meaning; /* no full stop */
	enum sonde_query_type type;
	enum sonde_query_key key;
	unsigned flags;
	uint64_t mask; /* nonzero: shown as 1 if one of these bits is set, else 0 */
	size_t at;     /* offset of the value in the row, or of the column's pointer in struct sonde_batch */
	size_t plus;   /* nonzero: offset of a pointer to uint64_t values that are added */
	/* Returns the name of an id or kind; NULL: the value itself is shown. */
	const char *(*text)(const struct sonde_session *session, uint64_t value);
	/* Returns a number derived from the value; a negative one is shown as NULL. */
	int64_t (*number)(const struct sonde_session *session, uint64_t value);
	/* Batches with nonzero when_mask: the value is NULL unless these bits of the byte at when_at are set (when_set
	 * = 1) or all are clear (when_set = 0). */
	size_t when_at;
	uint8_t when_mask;
	int when_set;
};

struct sonde_query_scan;

struct sonde_query_walk {
	int (*begin)(struct sonde_query_scan *scan);
	/* Reads the next block. Returns 1, 0 at the end, or a negative errno; after -EBADMSG the scan can continue. */
	int (*next)(struct sonde_query_scan *scan);
	void (*end)(struct sonde_query_scan *scan);
};

/* Rows computed once per query and then cached. */
struct sonde_query_made {
	void *rows; /* allocated with malloc() even if there are none */
	size_t count;
	int known;
	uint64_t end_ns; /* CLOCK_MONOTONIC deadline: -ETIMEDOUT after it */
	size_t most_b;   /* maximum size of the rows: -ENOMEM beyond it */
	int missing;     /* unreadable chunks were skipped */
};

struct sonde_query_table {
	const char *name, *meaning;
	const struct sonde_query_column *columns;
	size_t column_count;
	const struct sonde_query_walk *walk;
	uint32_t types;  /* chunk types to read: bits 1 << enum sonde_chunk_type */
	uint32_t events; /* for EVENTS: bits 1 << enum sonde_event_type */
	size_t row_b;
	/* Rows stored in the session. */
	size_t (*count)(const struct sonde_session *session);
	const void *(*at)(const struct sonde_session *session, size_t i);
	/* Computed rows: sets rows and count, or fails. */
	int (*make)(struct sonde_session *session, struct sonde_query_made *made);
};

extern const struct sonde_query_table sonde_query_tables[];
extern const size_t sonde_query_table_count;

/* Where the values of a column are. */
struct sonde_query_place {
	const uint8_t *first, *plus, *when;
	size_t step_b, plus_step_b; /* stride between rows; 0 = one value for all rows */
};

/* A scan of a table. Set the first four members and `wanted`, and zero the others, before it begins. */
struct sonde_query_scan {
	const struct sonde_query_table *table;
	struct sonde_session *session;
	struct sonde_query_made *made; /* of this table */
	uint64_t start_ns;             /* start of the recording */
	struct sonde_cursor_wanted wanted;
	uint64_t row_wanted; /* a row number; 0 = all */
	/* current block */
	size_t i, count;
	uint64_t before; /* number of rows in earlier blocks */
	struct sonde_query_place places[SONDE_QUERY_COLUMNS_MAX];
	uint32_t *order; /* row order within the block; NULL = as stored */
	int is_copy;     /* the values are copies, which the scan owns (order.h) */
	int missing;     /* unreadable chunks were skipped */
	/* state of the walk */
	struct sonde_cursor *cursor;
	void *state;
	size_t next;
};

extern const struct sonde_query_walk sonde_query_walk_rows, sonde_query_walk_made, sonde_query_walk_batches,
    sonde_query_walk_events, sonde_query_walk_frames;

/* Returns the stored value of a column in row i of the block, with its addend (`plus`) added; not for TEXT and REAL.
 * Inline, because it is called several times per row. */
static inline uint64_t sonde_query_raw(const struct sonde_query_scan *scan, size_t column, size_t i)
{
	const struct sonde_query_place *place = &scan->places[column];
	const void *at = place->first + i * place->step_b;
	uint64_t value = 0;
	switch (scan->table->columns[column].type) {
	case SONDE_QUERY_U8:
		value = *(const uint8_t *)at;
		break;
	case SONDE_QUERY_U16:
		value = *(const uint16_t *)at;
		break;
	case SONDE_QUERY_U32:
		value = *(const uint32_t *)at;
		break;
	case SONDE_QUERY_I32:
		value = (uint64_t)(int64_t) * (const int32_t *)at;
		break;
	case SONDE_QUERY_U64:
	case SONDE_QUERY_I64:
	case SONDE_QUERY_TIME:
		value = *(const uint64_t *)at;
		break;
	case SONDE_QUERY_ROW:
		return scan->before + i + 1;
	case SONDE_QUERY_REAL:
	case SONDE_QUERY_TEXT:
		return 0;
	}
	return place->plus ? value + *(const uint64_t *)(const void *)(place->plus + i * place->plus_step_b) : value;
}

/* Stored size of a value in bytes. */
size_t sonde_query_size_b(enum sonde_query_type type);

/* "INTEGER", "REAL" or "TEXT". */
const char *sonde_query_type_name(const struct sonde_query_column *column);

/* Makes the columns point into an array of the table's rows. */
void sonde_query_place_rows(struct sonde_query_scan *scan, const void *rows, size_t count);

#endif
