/* manual.c: lists the tables for the man page. Column names include their units. */
#include <string.h>

#include "query/query.h"
#include "query/table.h"
#include "util/buf.h"

#define MANUAL_MAX_B ((size_t)1 << 20)

char *sonde_query_manual(void)
{
	struct sonde_buf text;
	sonde_buf_init(&text, MANUAL_MAX_B);
	for (size_t i = 0; i < sonde_query_table_count; i++) {
		const struct sonde_query_table *table = &sonde_query_tables[i];
		sonde_buf_printf(&text, "Table %s, %s\n", table->name, table->meaning);
		for (size_t k = 0; k < table->column_count; k++)
			sonde_buf_printf(&text, "%s\t%s\n", table->columns[k].name, table->columns[k].meaning);
	}
	const char *string = sonde_buf_string(&text);
	char *copy = text.error ? NULL : strdup(string);
	sonde_buf_fini(&text);
	return copy;
}
