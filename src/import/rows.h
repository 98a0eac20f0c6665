/* rows.h: the rows of out.h that wait to be written, for out.c. */
#ifndef SONDE_IMPORT_ROWS_H
#define SONDE_IMPORT_ROWS_H

#include "import/out.h"

int sonde_rows_init(struct sonde_out *out);
/* Writes what is left. */
void sonde_rows_flush(struct sonde_import_job *job);
void sonde_rows_fini(struct sonde_out *out);

#endif
