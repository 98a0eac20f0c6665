/* query_print.h: prints the rows of a query as text, CSV, JSON or JSON lines. */
#ifndef SONDE_CLI_QUERY_PRINT_H
#define SONDE_CLI_QUERY_PRINT_H

#include <stdio.h>

struct sonde_query;

struct sonde_query_format {
	const char *name; /* "csv" */
	/* Prints all rows of the started statement; 0, -ENOMEM, or the negative errno of the query. A write error ends
	 * printing, and can be seen with ferror(). */
	int (*print)(struct sonde_query *query, FILE *out);
};

/* Returns the format of that name; NULL = there is none. */
const struct sonde_query_format *sonde_query_format_find(const char *name);

/* Prints all tables and columns, with units and meanings, on standard output. -ENOMEM. */
int sonde_query_print_tables(void);

#endif
