/* decode.h: decodes a chunk's columns into arrays of values, as declared in format/chunks.def.
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

/* Decodes all columns of a chunk whose type has a layout. `columns` is the type's columns struct; its pointers point
 * into `memory`, which is cleared first, and into `data`. `ids` has the largest valid id of each kind of reference:
 * larger ones are read as 0, as are columns missing from the chunk. −EBADMSG for an inconsistent body (sizes,
 * impossible times), −ENOMEM. */
int sonde_chunk_decode(void *columns, const struct sonde_chunk_data *data, const uint32_t ids[SONDE_REFERENCES],
		       struct sonde_buf *memory);

#endif
