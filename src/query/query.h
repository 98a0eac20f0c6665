/* query.h: read-only SQL over a recording: the tables of tables.def as SQLite virtual tables.
 *
 * Nothing is written: only SELECT, EXPLAIN and PRAGMAs that report are allowed, no file can be attached, and sorting
 * happens in memory. Time and memory are limited; the memory limit covers all SQLite memory of the process and nothing
 * else. One thread at a time.
 */
#ifndef SONDE_QUERY_QUERY_H
#define SONDE_QUERY_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_query;

struct sonde_query_limits {
	uint64_t timeout_ns; /* counted from sonde_query_start(); 0 = none */
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
	const char *text; /* value of a STRING (NUL-terminated) or BLOB; valid until the next row */
	size_t text_b;
};

/* Opens a query; the session remains owned by the caller and must outlive the query. -ENOSYS: SQLite is not
 * available. */
int sonde_query_open(struct sonde_query **out, struct sonde_session *session, const struct sonde_query_limits *limits);
void sonde_query_close(struct sonde_query *query);

/* Starts one statement. -EINVAL: SQL error, or a statement that would change something; another one can be started
 * afterwards. */
int sonde_query_start(struct sonde_query *query, const char *sql);

/* Columns of the statement, at least 1. Names are unique and valid until the next start. */
size_t sonde_query_columns(const struct sonde_query *query);
const char *sonde_query_column(const struct sonde_query *query, size_t i);

/* Returns 1 and a row, 0 at the end, or a negative errno: -ETIMEDOUT or -ENOMEM if a limit is exceeded, -EINVAL if the
 * statement cannot be executed. */
int sonde_query_next(struct sonde_query *query);
/* True if the result so far lacks rows of chunks that could not be read or decoded. */
int sonde_query_missing(const struct sonde_query *query);
void sonde_query_value(const struct sonde_query *query, size_t i, struct sonde_query_value *out);

/* A table, with its name and meaning, or a column, with its name, type (INTEGER, REAL, TEXT), unit ("" = none) and
 * meaning. The functions below return NULL or 0 after the last. */
struct sonde_query_about {
	const char *name, *type, *unit, *meaning; /* for a table, type and unit are NULL */
};
int sonde_query_about(size_t table, struct sonde_query_about *out);
int sonde_query_about_column(size_t table, size_t column, struct sonde_query_about *out);

/* Returns the tables and columns as lines for a manual: a heading for each table, then "column\tmeaning". The caller
 * frees it; NULL when out of memory. */
char *sonde_query_manual(void);

#endif
