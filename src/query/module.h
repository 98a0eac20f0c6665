/* module.h: the virtual-table module behind all tables of a query. */
#ifndef SONDE_QUERY_MODULE_H
#define SONDE_QUERY_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include "query/sqlite.h"
#include "query/table.h"

/* What tables of one connection share. */
struct sonde_query_base {
	struct sonde_session *session;
	uint64_t end_ns;   /* CLOCK_MONOTONIC: when the query is given up */
	uint64_t memory_b; /* 0 = no limit */
	int lacks;         /* chunks could not be read: the answer is without them */
	int error;         /* of the walk that failed last; its sentence is kept in `why` */
	char why[512];
	struct sonde_query_entry {
		struct sonde_query_base *base;
		const struct sonde_query_table *table;
		struct sonde_query_made made;
	} * entries; /* by table */
};

/* Makes all tables known to a connection; SQLITE_OK or SQLite's code. */
int sonde_query_module_add(sqlite3 *db, struct sonde_query_base *base);

#endif
