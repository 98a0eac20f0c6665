/* decode.h: the columns of a chunk as arrays of values, as format/chunks.def declares them.
 *
 *     struct sonde_waits_columns waits;
 *     error = sonde_chunk_decode(&waits, &data, ids, &memory);
 *     … waits.start_ns[i], for i below data.head->count
 */
#ifndef SONDE_TRACE_DECODE_H
#define SONDE_TRACE_DECODE_H

#include <stdint.h>

#include "trace/layout.h"
#include "util/buf.h"

struct sonde_chunk_data;

/* Decodes all columns of a chunk whose type has a layout. `columns` is the type's columns struct; its pointers lead
 * into `memory`, which is emptied first, and into `data`. `ids` has the largest valid id of each kind of reference:
 * larger ones are read as 0, as are columns that the chunk does not have. −EBADMSG for a body that contradicts itself
 * (sizes, times that cannot be), −ENOMEM. */
int sonde_chunk_decode(void *columns, const struct sonde_chunk_data *data, const uint32_t ids[SONDE_REFERENCES],
		       struct sonde_buf *memory);

#endif
