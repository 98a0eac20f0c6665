/* module.h: the virtual-table module of all tables of a query. */
#ifndef SONDE_QUERY_MODULE_H
#define SONDE_QUERY_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include "query/sqlite.h"
#include "query/table.h"

/* State shared by the tables of a connection. */
struct sonde_query_base {
	struct sonde_session *session;
	uint64_t end_ns;   /* deadline of the query, CLOCK_MONOTONIC */
	uint64_t memory_b; /* 0 = no limit */
	int missing;       /* unreadable chunks are missing from the result */
	int error;         /* error of the walk that failed last; the message is in `why` */
	char why[512];
	struct sonde_query_entry {
		struct sonde_query_base *base;
		const struct sonde_query_table *table;
		struct sonde_query_made made;
	} * entries; /* by table */
};

/* Registers all tables with a connection; SQLITE_OK or SQLite's error code. */
int sonde_query_module_add(sqlite3 *db, struct sonde_query_base *base);

#endif
