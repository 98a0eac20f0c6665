/* rows.h: a growing array of rows of equal size; new rows are copies of a blank row. */
#ifndef SONDE_SESSION_ROWS_H
#define SONDE_SESSION_ROWS_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

struct sonde_rows {
	void *data;
	size_t row_b;
	size_t count;
	size_t cap;
};

static inline void sonde_rows_fini(struct sonde_rows *rows)
{
	free(rows->data);
	*rows = (struct sonde_rows){.row_b = rows->row_b};
}

/* Ensures capacity for `count` rows. */
static inline int sonde_rows_reserve(struct sonde_rows *rows, size_t count)
{
	return sonde_array_reserve(&rows->data, &rows->cap, count, rows->row_b)
		   ? sonde_error(ENOMEM, "out of memory for %zu rows", count)
		   : 0;
}

/* Grows to at least `count` rows; new rows are copies of `blank` (row_b bytes). */
static inline int sonde_rows_grow(struct sonde_rows *rows, size_t count, const void *blank)
{
	int rc = sonde_rows_reserve(rows, count);
	if (rc)
		return rc;
	for (; rows->count < count; rows->count++)
		memcpy((char *)rows->data + rows->count * rows->row_b, blank, rows->row_b);
	return 0;
}

/* Row `i`, or NULL. */
static inline void *sonde_rows_at(const struct sonde_rows *rows, size_t i)
{
	return i < rows->count ? (char *)rows->data + i * rows->row_b : NULL;
}

/* Appends a copy of `row` and returns it; NULL when out of memory. */
static inline void *sonde_rows_add(struct sonde_rows *rows, const void *row)
{
	return sonde_rows_grow(rows, rows->count + 1, row) ? NULL : sonde_rows_at(rows, rows->count - 1);
}

#endif
