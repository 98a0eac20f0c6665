/* spool.h: stores the rows of many groups in unnamed files, so that memory does not grow with them. Rows are produced
 * interleaved, but needed group by group and column by column.
 *
 * Rows are added, then grouped once; within a group they are ordered by `time`, and rows of equal time by the order in
 * which they were added. Texts may be stored with them.
 */
#ifndef SONDE_EXPORT_SPOOL_H
#define SONDE_EXPORT_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sonde_spool_row {
	uint64_t time, value; /* the caller's */
	uint64_t text_at;     /* offset of its text */
	uint32_t text_b, group;
	uint32_t name, kind; /* the caller's */
};

struct sonde_spool {
	FILE *file, *texts;
	uint64_t *counts; /* by group */
	uint32_t groups;
	uint64_t row_count;
	struct sonde_spool_row *rows; /* the mapped rows; NULL until they are grouped */
	size_t rows_b;
	uint64_t *begins; /* by group: index of its first row; then the index after the last row */
	char *text;       /* the text last requested */
};

/* 0 or a negative errno with a message; free with sonde_spool_fini(), after an error too. */
int sonde_spool_init(struct sonde_spool *out, uint32_t groups);
void sonde_spool_fini(struct sonde_spool *spool);

/* Adds a row. The caller must ensure that the row's group exists. */
int sonde_spool_add(struct sonde_spool *spool, const struct sonde_spool_row *row);

/* Between the two calls, everything written to spool->texts is the row's text, without a final newline. */
void sonde_spool_text_begin(struct sonde_spool *spool, struct sonde_spool_row *row);
void sonde_spool_text_end(struct sonde_spool *spool, struct sonde_spool_row *row);

/* Call once, after all rows are added. */
int sonde_spool_gather(struct sonde_spool *spool);

/* A row's text, valid until the next call; NULL if it could not be read. */
const char *sonde_spool_text(struct sonde_spool *spool, const struct sonde_spool_row *row);

#endif
