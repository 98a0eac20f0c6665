/* sqlite.h: the SQLite functions that queries use, resolved in libsqlite3.so.0.
 *
 * The library is loaded when a query is opened, so other commands neither load it nor require it to be installed.
 */
#ifndef SONDE_QUERY_SQLITE_H
#define SONDE_QUERY_SQLITE_H

#include <sqlite3.h>

#define SONDE_SQLITE_FUNCTIONS(X) \
	X(close_v2)               \
	X(column_blob)            \
	X(column_bytes)           \
	X(column_count)           \
	X(column_double)          \
	X(column_int64)           \
	X(column_name)            \
	X(column_text)            \
	X(column_type)            \
	X(config)                 \
	X(create_module_v2)       \
	X(db_config)              \
	X(declare_vtab)           \
	X(errmsg)                 \
	X(exec)                   \
	X(finalize)               \
	X(hard_heap_limit64)      \
	X(limit)                  \
	X(malloc64)               \
	X(open_v2)                \
	X(prepare_v2)             \
	X(progress_handler)       \
	X(result_double)          \
	X(result_int64)           \
	X(result_text)            \
	X(set_authorizer)         \
	X(step)                   \
	X(stmt_readonly)          \
	X(value_double)           \
	X(value_int64)            \
	X(value_type)

struct sonde_sqlite {
#define SONDE_SQLITE_DECLARE(name) __typeof__(&sqlite3_##name) name;
	SONDE_SQLITE_FUNCTIONS(SONDE_SQLITE_DECLARE)
#undef SONDE_SQLITE_DECLARE
};

/* Set by sonde_sqlite_load(), constant afterwards. */
extern struct sonde_sqlite sonde_sqlite;

/* 0, or -ENOSYS with a message if SQLite is not installed or too old. One thread at a time. */
int sonde_sqlite_load(void);

#endif
