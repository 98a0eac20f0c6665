/* query.h: SQL over a recording, read-only: tables as tables.def has them, through SQLite's virtual tables.
 *
 * Nothing is written: no statement but SELECT (and EXPLAIN, and PRAGMAs that only tell), no file is attached, what is
 * sorted stays in memory. Time and memory are bounded; the bound of memory is the whole process's, of SQLite alone.
 * One thread at a time.
 */
#ifndef SONDE_QUERY_QUERY_H
#define SONDE_QUERY_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_query;

struct sonde_query_limits {
	uint64_t timeout_ns; /* from sonde_query_start() on; 0 = none */
	uint64_t memory_b;   /* 0 = none */
};

enum sonde_query_kind {
	SONDE_QUERY_NULL = 0,
	SONDE_QUERY_INT,
	SONDE_QUERY_FLOAT,
	SONDE_QUERY_STRING,
	SONDE_QUERY_BLOB
};

struct sonde_query_value {
	enum sonde_query_kind kind;
	int64_t integer;
	double real;
	const char *text; /* of STRING, with a NUL behind it; and BLOB: until the next row */
	size_t text_b;
};

/* The session stays the caller's, and outlives the query. -ENOSYS: there is no SQLite. */
int sonde_query_open(struct sonde_query **out, struct sonde_session *session, const struct sonde_query_limits *limits);
void sonde_query_close(struct sonde_query *query);

/* One statement. -EINVAL: SQLite does not understand it, or it would change something. Another one may follow. */
int sonde_query_start(struct sonde_query *query, const char *sql);

/* Of the statement: at least 1; names are unique, and live until the next start. */
size_t sonde_query_columns(const struct sonde_query *query);
const char *sonde_query_column(const struct sonde_query *query, size_t i);

/* 1 and a row, 0 at the end, or a negative errno: -ETIMEDOUT, -ENOMEM: beyond a limit; -EINVAL: the statement cannot be
 * carried out. */
int sonde_query_next(struct sonde_query *query);
/* Whether chunks that could not be read or decoded are missing from the answer so far. */
int sonde_query_lacks(const struct sonde_query *query);
void sonde_query_value(const struct sonde_query *query, size_t i, struct sonde_query_value *out);

/* How many tables there are, their names and meanings; of each column its name, type (INTEGER, REAL, TEXT), unit ("" =
 * none) and meaning. NULL and 0 behind the last. */
struct sonde_query_about {
	const char *name, *type, *unit, *meaning; /* of a table: type and unit NULL */
};
int sonde_query_about(size_t table, struct sonde_query_about *out);
int sonde_query_about_column(size_t table, size_t column, struct sonde_query_about *out);

/* The same as lines for a manual: a heading a table, then "column\tmeaning". To be freed; NULL without memory. */
char *sonde_query_manual(void);

#endif
