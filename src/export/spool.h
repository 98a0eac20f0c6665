/* spool.h: rows of many groups that come mixed and are wanted group by group, column by column: kept in nameless files,
 * so that memory does not grow with them.
 *
 * Rows are added, then put together once, each group in the order of `time`, equal ones as they came. Texts may be kept
 * beside them.
 */
#ifndef SONDE_EXPORT_SPOOL_H
#define SONDE_EXPORT_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sonde_spool_row {
	uint64_t time, value; /* the caller's */
	uint64_t text_at;     /* where its text begins */
	uint32_t text_b, group;
	uint32_t name, kind; /* the caller's */
};

struct sonde_spool {
	FILE *file, *texts;
	uint64_t *counts; /* by group */
	uint32_t groups;
	uint64_t row_count;
	struct sonde_spool_row *rows; /* once put together */
	size_t rows_b;
	uint64_t *begins; /* by group, and behind the last */
	char *text;       /* the last that was asked for */
};

/* 0 or a negative errno with a sentence; free with sonde_spool_fini(), after an error too. */
int sonde_spool_init(struct sonde_spool *out, uint32_t groups);
void sonde_spool_fini(struct sonde_spool *spool);

/* A group that is not there is a bug of ours. */
int sonde_spool_add(struct sonde_spool *spool, const struct sonde_spool_row *row);

/* What is written to spool->texts between the two is the row's text, without a last newline. */
void sonde_spool_text_begin(struct sonde_spool *spool, struct sonde_spool_row *row);
void sonde_spool_text_end(struct sonde_spool *spool, struct sonde_spool_row *row);

/* Once, when all rows are there. */
int sonde_spool_gather(struct sonde_spool *spool);

/* A row's text until the next call; NULL when it could not be read. */
const char *sonde_spool_text(struct sonde_spool *spool, const struct sonde_spool_row *row);

#endif
