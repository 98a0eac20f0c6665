/* query.c: an SQLite connection without a database: only the tables of tables.def exist.
 *
 * Statements may do only what an allow-list contains; anything else is refused before it runs. There is no file to
 * write to (temporary tables stay in memory), no thread, no other database, and no extension.
 */
#include "query/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "query/module.h"
#include "query/sqlite.h"
#include "query/table.h"
#include "util/arena.h"
#include "util/error.h"

#define STEPS_PER_CHECK 2000 /* SQLite virtual-machine steps between two checks of the deadline */
#define REFUSED_B 128

struct sonde_query {
	sqlite3 *db;
	sqlite3_stmt *statement;
	struct sonde_query_base base;
	struct sonde_query_limits limits;
	struct sonde_arena arena; /* column names */
	const char **names;
	char refused[REFUSED_B]; /* the operation refused by the allow-list; "" = none */
};

/* --- limits ------------------------------------------------------------------------------------------------------- */

static const struct {
	int what, most;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 16 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},       {SQLITE_LIMIT_COLUMN, 2000},
    {SQLITE_LIMIT_EXPR_DEPTH, 500},  {SQLITE_LIMIT_COMPOUND_SELECT, 100},      {SQLITE_LIMIT_VDBE_OP, 1000000},
    {SQLITE_LIMIT_ATTACHED, 0},      {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000}, {SQLITE_LIMIT_VARIABLE_NUMBER, 0},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1}, {SQLITE_LIMIT_WORKER_THREADS, 0},
};

static int is_late(void *context)
{
	const struct sonde_query *query = context;
	return sonde_clock_now_ns() >= query->base.end_ns;
}

/* True for a PRAGMA that only reports on tables. */
static int is_harmless_pragma(const char *name)
{
	static const char *const names[] = {"table_info",  "table_xinfo", "table_list",      "function_list",
					    "pragma_list", "module_list", "compile_options", "collation_list"};
	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

static int is_harmful_function(const char *name)
{
	return name && (!strcmp(name, "load_extension") || !strncmp(name, "fts", 3) || !strcmp(name, "writefile"));
}

static int authorize(void *context, int action, const char *first, const char *second, const char *database,
		     const char *trigger)
{
	struct sonde_query *query = context;
	(void)database;
	(void)trigger;
	/* SQLite reports that a virtual-table module, even one of its own, declares a table as an update of
	 * sqlite_master. A user statement that updates it is refused later. */
	int declares = action == SQLITE_UPDATE && !strcmp(first, "sqlite_master");
	if (declares || action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ||
	    (action == SQLITE_FUNCTION && !is_harmful_function(second)) ||
	    (action == SQLITE_PRAGMA && is_harmless_pragma(first)))
		return SQLITE_OK;
	const char *what = action == SQLITE_PRAGMA     ? "this PRAGMA"
			   : action == SQLITE_FUNCTION ? "this function"
			   : action == SQLITE_ATTACH   ? "ATTACH"
						       : "a statement that changes something";
	snprintf(query->refused, sizeof query->refused, "%s", what);
	return SQLITE_DENY;
}

static int set_up(struct sonde_query *query)
{
	sqlite3 *db = query->db;
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		sonde_sqlite.limit(db, limits[i].what, limits[i].most);
	sonde_sqlite.db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sonde_sqlite.db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL); /* "zne" is a misspelt name, not a string */
	sonde_sqlite.db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (sonde_sqlite.exec(db, "PRAGMA temp_store = memory", NULL, NULL, NULL) != SQLITE_OK ||
	    sonde_query_module_add(db, &query->base) != SQLITE_OK)
		return sonde_error(ENOMEM, "SQLite does not take the tables: %s", sonde_sqlite.errmsg(db));
	sonde_sqlite.set_authorizer(db, authorize, query);
	sonde_sqlite.progress_handler(db, STEPS_PER_CHECK, is_late, query);
	return 0;
}

int sonde_query_open(struct sonde_query **out, struct sonde_session *session, const struct sonde_query_limits *wanted)
{
	int rc = sonde_sqlite_load();
	if (rc)
		return rc;
	struct sonde_query *query = calloc(1, sizeof *query);
	if (query)
		query->base.entries = calloc(sonde_query_table_count, sizeof *query->base.entries);
	if (!query || !query->base.entries) {
		free(query);
		return sonde_error(ENOMEM, "out of memory for a query");
	}
	query->base.session = session;
	query->base.end_ns = UINT64_MAX;
	query->base.memory_b = wanted->memory_b;
	query->limits = *wanted;
	sonde_sqlite.hard_heap_limit64((sqlite3_int64)wanted->memory_b);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
	if (sonde_sqlite.open_v2(":memory:", &query->db, flags, NULL) != SQLITE_OK)
		rc = sonde_error(ENOMEM, "SQLite cannot start: %s",
				 query->db ? sonde_sqlite.errmsg(query->db) : "out of memory");
	if (!rc)
		rc = set_up(query);
	if (rc) {
		sonde_query_close(query);
		return rc;
	}
	*out = query;
	return 0;
}

static void end_statement(struct sonde_query *query)
{
	if (query->statement)
		sonde_sqlite.finalize(query->statement);
	query->statement = NULL;
	query->names = NULL;
	sonde_arena_fini(&query->arena);
	sonde_arena_init(&query->arena);
}

void sonde_query_close(struct sonde_query *query)
{
	if (!query)
		return;
	end_statement(query);
	if (query->db)
		sonde_sqlite.close_v2(query->db);
	sonde_sqlite.hard_heap_limit64(0);
	for (size_t i = 0; i < sonde_query_table_count; i++)
		free(query->base.entries[i].made.rows);
	free(query->base.entries);
	sonde_arena_fini(&query->arena);
	free(query);
}

/* --- a statement -------------------------------------------------------------------------------------------------- */

/* Converts an SQLite error to ours. */
static int explain(struct sonde_query *query, int code)
{
	int primary = code & 0xff;
	if (*query->refused && primary != SQLITE_INTERRUPT)
		return sonde_error(EINVAL, "a recording is read-only: %s is refused", query->refused);
	if (primary == SQLITE_INTERRUPT)
		return sonde_error(ETIMEDOUT, "no answer after %.3g s: ask for less, or raise --timeout",
				   (double)query->limits.timeout_ns / 1e9);
	if (primary == SQLITE_NOMEM)
		return sonde_error(ENOMEM, "needs more than %llu MB of memory: ask for less, or raise --memory",
				   (unsigned long long)query->limits.memory_b / 1000000);
	if (query->base.error)
		return sonde_error(-query->base.error, "%s", query->base.why);
	const char *said = sonde_sqlite.errmsg(query->db);
	int is_unknown = !strncmp(said, "no such table", 13) || !strncmp(said, "no such column", 14);
	return sonde_error(EINVAL, "%s%s", said, is_unknown ? " (sonde query --tables lists all)" : "");
}

/* Only white space and comments may follow the statement. */
static int check_remainder(struct sonde_query *query, const char *remainder)
{
	while (*remainder) {
		sqlite3_stmt *more = NULL;
		const char *end;
		int code = sonde_sqlite.prepare_v2(query->db, remainder, -1, &more, &end);
		if (more)
			sonde_sqlite.finalize(more);
		if (more || code != SQLITE_OK)
			return sonde_error(EINVAL, "one statement at a time: '%.40s' is a second one", remainder);
		if (end == remainder)
			break;
		remainder = end;
	}
	return 0;
}

static int is_taken(const struct sonde_query *query, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(query->names[i], name) == 0)
			return 1;
	return 0;
}

/* Columns of equal name would collide in JSON, so names are made unique: "name", "name_2". */
static int name_columns(struct sonde_query *query)
{
	size_t count = sonde_query_columns(query);
	query->names = sonde_arena_alloc(&query->arena, (count + 1) * sizeof *query->names);
	for (size_t i = 0; query->names && i < count; i++) {
		const char *given = sonde_sqlite.column_name(query->statement, (int)i);
		const char *name = given ? sonde_arena_strndup(&query->arena, given, strlen(given)) : NULL;
		for (unsigned n = 2; name && is_taken(query, i, name); n++)
			name = sonde_arena_printf(&query->arena, "%s_%u", given, n);
		if (!name)
			return sonde_error(ENOMEM, "out of memory for the names of columns");
		query->names[i] = name;
	}
	return query->names ? 0 : sonde_error(ENOMEM, "out of memory for the names of columns");
}

int sonde_query_start(struct sonde_query *query, const char *sql)
{
	const char *remainder = "";
	end_statement(query);
	*query->refused = '\0';
	query->base.error = query->base.missing = 0;
	uint64_t now_ns = sonde_clock_now_ns(), timeout_ns = query->limits.timeout_ns;
	query->base.end_ns = timeout_ns && timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : UINT64_MAX;
	int code = sonde_sqlite.prepare_v2(query->db, sql, -1, &query->statement, &remainder);
	if (code != SQLITE_OK)
		return explain(query, code);
	if (!query->statement)
		return sonde_error(EINVAL, "no statement; for example: SELECT * FROM zone_stats");
	int rc = check_remainder(query, remainder);
	if (!rc && (!sonde_query_columns(query) || !sonde_sqlite.stmt_readonly(query->statement)))
		rc = sonde_error(EINVAL, "a recording is read-only: only SELECT works");
	return rc ? rc : name_columns(query);
}

size_t sonde_query_columns(const struct sonde_query *query)
{
	return query->statement ? (size_t)sonde_sqlite.column_count(query->statement) : 0;
}

const char *sonde_query_column(const struct sonde_query *query, size_t i)
{
	return query->names[i];
}

int sonde_query_next(struct sonde_query *query)
{
	int code = sonde_sqlite.step(query->statement);
	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : explain(query, code);
}

int sonde_query_missing(const struct sonde_query *query)
{
	return query->base.missing;
}

void sonde_query_value(const struct sonde_query *query, size_t i, struct sonde_query_value *out)
{
	sqlite3_stmt *statement = query->statement;
	int at = (int)i;
	*out = (struct sonde_query_value){.kind = SONDE_QUERY_NULL};
	switch (sonde_sqlite.column_type(statement, at)) {
	case SQLITE_INTEGER:
		out->kind = SONDE_QUERY_INT;
		out->integer = sonde_sqlite.column_int64(statement, at);
		break;
	case SQLITE_FLOAT:
		out->kind = SONDE_QUERY_FLOAT;
		out->real = sonde_sqlite.column_double(statement, at);
		break;
	case SQLITE_TEXT:
		out->text = (const char *)sonde_sqlite.column_text(statement, at);
		out->kind = out->text ? SONDE_QUERY_STRING : SONDE_QUERY_NULL;
		out->text_b = (size_t)sonde_sqlite.column_bytes(statement, at);
		break;
	case SQLITE_BLOB:
		out->kind = SONDE_QUERY_BLOB;
		out->text = sonde_sqlite.column_blob(statement, at);
		out->text_b = (size_t)sonde_sqlite.column_bytes(statement, at);
		break;
	default:
		break;
	}
}

/* --- queries ------------------------------------------------------------------------------------------------------ */

int sonde_query_about(size_t table, struct sonde_query_about *out)
{
	if (table >= sonde_query_table_count)
		return 0;
	*out = (struct sonde_query_about){.name = sonde_query_tables[table].name,
					  .meaning = sonde_query_tables[table].meaning};
	return 1;
}

int sonde_query_about_column(size_t table, size_t column, struct sonde_query_about *out)
{
	if (table >= sonde_query_table_count || column >= sonde_query_tables[table].column_count)
		return 0;
	const struct sonde_query_column *row = &sonde_query_tables[table].columns[column];
	*out = (struct sonde_query_about){
	    .name = row->name, .type = sonde_query_type_name(row), .unit = row->unit, .meaning = row->meaning};
	return 1;
}
