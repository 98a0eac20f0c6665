/* query_print.h: the rows of a query as text, CSV, JSON or JSON lines. */
#ifndef SONDE_CLI_QUERY_PRINT_H
#define SONDE_CLI_QUERY_PRINT_H

#include <stdio.h>

struct sonde_query;

struct sonde_query_format {
	const char *name; /* "csv" */
	/* All rows of the statement that was started; 0 or a negative errno, of the query or of memory. Write errors
	 * stay in the stream, which ends the reading. */
	int (*print)(struct sonde_query *query, FILE *out);
};

/* NULL: there is none of that name. */
const struct sonde_query_format *sonde_query_format_find(const char *name);

/* All tables and columns, with units and meanings, on the standard output. -ENOMEM. */
int sonde_query_print_tables(void);

#endif
