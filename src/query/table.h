/* table.h: what a table of a query is made of: a row of tables.def.
 *
 * A table is columns and a walk. The walk hands out blocks of rows; for each column a block says where its first value
 * lies and how far it is to the next, so that one virtual-table module reads them all. Values are the session's own,
 * where they lie: nothing is copied but what SQLite asks for.
 */
#ifndef SONDE_QUERY_TABLE_H
#define SONDE_QUERY_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

#define SONDE_QUERY_COLUMNS_MAX 24

/* How a value lies in memory. */
enum sonde_query_type {
	SONDE_QUERY_U8 = 0,
	SONDE_QUERY_U16,
	SONDE_QUERY_U32,
	SONDE_QUERY_U64,
	SONDE_QUERY_I32,
	SONDE_QUERY_I64,
	SONDE_QUERY_REAL,
	SONDE_QUERY_TEXT, /* const char *, NULL or "" = NULL */
	SONDE_QUERY_TIME, /* uint64_t, CLOCK_MONOTONIC ns: comes out as ns since the start of the recording */
	SONDE_QUERY_ROW,  /* nowhere: the number of the row, from 1: the id of what has ids */
};

/* What SQLite may be spared by a condition on a column. */
enum sonde_query_key {
	SONDE_QUERY_NO_KEY = 0,
	SONDE_QUERY_KEY_START, /* rows lie in time from here … */
	SONDE_QUERY_KEY_END,   /* … to here */
	SONDE_QUERY_KEY_PROCESS,
	SONDE_QUERY_KEY_THREAD,
	SONDE_QUERY_KEY_SITE,
	SONDE_QUERY_KEY_ROW, /* the row with this number */
};

enum sonde_query_flag {
	SONDE_QUERY_ZERO_NULL = 1, /* 0 = not known, or none: NULL */
	SONDE_QUERY_OF_BATCH = 2,  /* in the struct sonde_batch itself, of all its rows */
	SONDE_QUERY_MINUS_ONE = 4, /* stored + 1: with ZERO_NULL */
	SONDE_QUERY_PASSING = 16,  /* a text that is gone with its block */
	SONDE_QUERY_SPARSE = 8,    /* not an id or a kind: may be any number */
};

struct sonde_query_column {
	const char *name;    /* "start_ns" */
	const char *unit;    /* "ns"; "" = none, or a count */
	const char *meaning; /* no full stop */
	enum sonde_query_type type;
	enum sonde_query_key key;
	unsigned flags;
	uint64_t mask; /* not 0: comes out as 1 where one of these bits is set, else 0 */
	size_t at;     /* in the row, or of the pointer in struct sonde_batch */
	size_t plus;   /* not 0: of a pointer to uint64_t there that is added */
	/* What an id or a kind is called; NULL: the value itself. */
	const char *(*text)(const struct sonde_session *session, uint64_t value);
	/* A number that follows from the value; negative: NULL. */
	int64_t (*number)(const struct sonde_session *session, uint64_t value);
	/* Of batches, when_mask not 0: NULL unless these bits of the bytes at when_at are set (when_set), or none is.
	 */
	size_t when_at;
	uint8_t when_mask;
	int when_set;
};

struct sonde_query_scan;

struct sonde_query_walk {
	int (*begin)(struct sonde_query_scan *scan);
	/* The next block: 1, 0 at the end, or a negative errno: -EBADMSG can be gone on from. */
	int (*next)(struct sonde_query_scan *scan);
	void (*end)(struct sonde_query_scan *scan);
};

/* Rows that a query has computed, once, and kept. */
struct sonde_query_made {
	void *rows; /* malloc'ed, also 0 of them */
	size_t count;
	int known;
	uint64_t end_ns; /* CLOCK_MONOTONIC: then it is given up: -ETIMEDOUT */
	size_t most_b;   /* of rows: more is -ENOMEM */
	int lacks;       /* chunks could not be read, and are left out */
};

struct sonde_query_table {
	const char *name, *meaning;
	const struct sonde_query_column *columns;
	size_t column_count;
	const struct sonde_query_walk *walk;
	uint32_t types;  /* chunk types that are read: bits 1 << enum sonde_chunk_type */
	uint32_t events; /* of EVENTS: bits 1 << enum sonde_event_type */
	size_t row_b;
	/* Rows that the session has. */
	size_t (*count)(const struct sonde_session *session);
	const void *(*at)(const struct sonde_session *session, size_t i);
	/* Rows that are computed: sets rows and count, or fails. */
	int (*make)(struct sonde_session *session, struct sonde_query_made *made);
};

extern const struct sonde_query_table sonde_query_tables[];
extern const size_t sonde_query_table_count;

/* Where the values of a column lie. */
struct sonde_query_place {
	const uint8_t *first, *plus, *when;
	size_t step_b, plus_step_b; /* from a row to the next; 0 = one for all */
};

/* A reading of a table. Zeroed but for the first four, and `wanted`. */
struct sonde_query_scan {
	const struct sonde_query_table *table;
	struct sonde_session *session;
	struct sonde_query_made *made; /* of this table */
	uint64_t start_ns;             /* of the recording */
	struct sonde_cursor_wanted wanted;
	uint64_t row_wanted; /* a number; 0 = all */
	/* the block */
	size_t i, count;
	uint64_t before; /* rows in blocks before this one */
	struct sonde_query_place places[SONDE_QUERY_COLUMNS_MAX];
	uint32_t *order; /* of its rows; NULL = as they lie there */
	int is_copy;     /* the values are the scan's own: order.h */
	int lacks;       /* chunks could not be read, and are left out */
	/* the walk's own */
	struct sonde_cursor *cursor;
	void *state;
	size_t next;
};

extern const struct sonde_query_walk sonde_query_walk_rows, sonde_query_walk_made, sonde_query_walk_batches,
    sonde_query_walk_events, sonde_query_walk_frames;

/* A value of a row of the block, as it lies there, with `plus` added; not of TEXT and REAL. Here, since it is called a
 * few times a row. */
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

/* Bytes of a value where it lies. */
size_t sonde_query_size_b(enum sonde_query_type type);

/* "INTEGER", "REAL" or "TEXT". */
const char *sonde_query_type_name(const struct sonde_query_column *column);

/* Points the columns at rows of the table's size. */
void sonde_query_place_rows(struct sonde_query_scan *scan, const void *rows, size_t count);

#endif
