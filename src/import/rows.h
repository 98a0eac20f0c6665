/* rows.h: the buffered rows of out.h; private to out_records.c and rows.c. */
#ifndef SONDE_IMPORT_ROWS_H
#define SONDE_IMPORT_ROWS_H

#include "import/out.h"

int sonde_rows_init(struct sonde_out *out);
/* Writes all buffered rows. */
void sonde_rows_flush(struct sonde_import_job *job);
void sonde_rows_fini(struct sonde_out *out);

#endif
